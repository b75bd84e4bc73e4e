//! The order for a phase, which the run gives, and the report of each of its drivers.

use sustain_disk::data::DataKind;
use sustain_disk::engine::{EngineChoice, Operation};
use sustain_disk::layout::Layout;
use sustain_disk::meter::IntervalRule;
use sustain_disk::target::DataPath;

use crate::event::Phase;

/// Time between a driver's reports.
pub(crate) const REPORT_EVERY_NS: u64 = 100_000_000;

/// The order for a phase.
#[derive(Clone)]
pub(crate) struct PhaseSetup {
    pub(crate) phase: Phase,
    /// Indices into the session's targets.
    pub(crate) targets: Vec<usize>,
    pub(crate) operation: Operation,
    pub(crate) record_bytes: u64,
    pub(crate) depth: u32,
    pub(crate) engine: EngineChoice,
    pub(crate) path: DataPath,
    pub(crate) threads: u32,
    pub(crate) layout: Layout,
    pub(crate) flush_at_end: bool,
    pub(crate) interval: IntervalRule,
    pub(crate) time_ns: Option<u64>,
    /// Bound per target.
    pub(crate) bytes: Option<u64>,
    pub(crate) rate_bytes_per_s: Option<f64>,
    /// The data to write, and its seed.
    pub(crate) data: DataKind,
    pub(crate) data_seed: u64,
    /// No bytes beyond this are touched on any target, if bounded.
    pub(crate) extent_bytes: Option<u64>,
    /// Whether streams start again at 0; `None` leaves it to the target.
    pub(crate) wraps: Option<bool>,
    /// The position at which the stream of each target begins; for a stripe or span, the first
    /// entry counts.
    pub(crate) positions_bytes: Vec<u64>,
    /// The number of bytes after which each target comes back to its start, if it does.
    pub(crate) lap_bytes: Vec<Option<u64>>,
    /// Whether to end once every target is steady.
    pub(crate) until_steady: bool,
    /// Whether to stop early if a driver is the limit and more drivers could help.
    pub(crate) may_start_anew: bool,
    /// A target beside the others that has a pace of its own; only with independent targets.
    pub(crate) dummy: Option<Dummy>,
}

/// A target that is not a disk, driven as the others are, at a fixed rate. What it takes from their
/// rate is lost in this program or in the machine, not on their paths.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Dummy {
    /// Its position in the phase's targets.
    pub(crate) member: usize,
    pub(crate) rate_bytes_per_s: f64,
}

/// The report of one driver.
#[derive(Debug, Clone)]
pub(crate) struct DriverOutcome {
    pub(crate) engine: &'static str,
    pub(crate) why: String,
    /// The CPU time of its thread over the wall-clock time.
    pub(crate) cpu_share: f64,
    /// The time it spent making data that is new for each write, over the wall-clock time.
    pub(crate) making_share: f64,
    pub(crate) submit_blocked_ns: u64,
}
