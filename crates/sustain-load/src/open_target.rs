//! One open target of a run, and the part of it that is used.

use std::path::PathBuf;

use sustain_disk::engine::SimulatedTarget;
use sustain_disk::target::{Passthrough, Target};

use crate::plan::{At, LoadPlan};

/// An open target and the part of it that the run uses.
#[derive(Debug, Clone)]
pub struct OpenTarget {
    /// The target.
    pub target: Target,
    /// Its path in the file system, if it has one.
    pub path: Option<PathBuf>,
    /// The simulated disk that it is, if it is one.
    pub simulated: Option<SimulatedTarget>,
    /// Bytes from its start that are used.
    pub size_bytes: u64,
    /// Whether the run starts again at 0 after these bytes.
    pub wraps: bool,
    /// Whether its bytes must be written once before anything else.
    pub needs_prewrite: bool,
    /// The way past the block layer, if that is wanted and possible.
    pub passthrough: Option<Passthrough>,
    /// Whether an existing file has blocks for all its bytes; reading a hole touches no disk.
    pub has_all_blocks: bool,
}

impl OpenTarget {
    /// A target that takes all bytes and keeps none.
    pub fn keeping_nothing(target: Target) -> OpenTarget {
        OpenTarget {
            target,
            path: None,
            simulated: None,
            size_bytes: u64::MAX,
            wraps: false,
            needs_prewrite: false,
            passthrough: None,
            has_all_blocks: true,
        }
    }

    /// The position at which a run on it begins, a whole number of records from its start.
    pub fn start_bytes(&self, plan: &LoadPlan) -> u64 {
        let record = plan.record_bytes;
        let start = match plan.at {
            None => return 0,
            Some(At::Part(part)) => (self.size_bytes as f64 * part) as u64,
            Some(At::Byte(byte)) => byte,
        };
        // Even from 100 % on, there is one record left to use.
        start.min(self.size_bytes.saturating_sub(record)) / record * record
    }
}
