//! The order for a phase, which the run gives, and the report of each of its drivers.

use sustain_disk::data::DataKind;
use sustain_disk::engine::{EngineChoice, Operation};
use sustain_disk::layout::Layout;
use sustain_disk::meter::IntervalRule;
use sustain_disk::target::DataPath;

use crate::event::Phase;

/// Time between a driver's reports.
pub const REPORT_EVERY_NS: u64 = 100_000_000;

/// The part of a stream's positions that it keeps to: it comes back to the beginning of this.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StreamRegion {
    /// Its first byte.
    pub from_bytes: u64,
    /// The byte behind its last one.
    pub to_bytes: u64,
}

impl StreamRegion {
    /// Its length.
    #[must_use]
    pub fn length_bytes(&self) -> u64 {
        self.to_bytes - self.from_bytes
    }
}

/// The order for a phase.
#[derive(Clone)]
pub struct PhaseSetup {
    /// The part of the run, for the displays.
    pub phase: Phase,
    /// Indices into the session's targets.
    pub targets: Vec<usize>,
    /// Whether it reads or writes.
    pub operation: Operation,
    /// Bytes per request.
    pub record_bytes: u64,
    /// Requests in flight per target.
    pub depth: u32,
    /// How they are issued.
    pub engine: EngineChoice,
    /// Direct, buffered or passthrough I/O.
    pub path: DataPath,
    /// Number of drivers.
    pub threads: u32,
    /// How several targets are used.
    pub layout: Layout,
    /// Whether each driver flushes its targets at the end.
    pub flush_at_end: bool,
    /// The rule for when intervals end.
    pub interval: IntervalRule,
    /// Bound in time.
    pub time_ns: Option<u64>,
    /// Bound per target.
    pub bytes: Option<u64>,
    /// The rate of a paced source, over all targets.
    pub rate_bytes_per_s: Option<f64>,
    /// The data to write.
    pub data: DataKind,
    /// The seed of that data.
    pub data_seed: u64,
    /// No bytes beyond this are touched on any target, if bounded.
    pub extent_bytes: Option<u64>,
    /// Whether streams start again at 0; `None` leaves it to the target.
    pub wraps: Option<bool>,
    /// The position at which the stream of each target begins; for a stripe or span, the first
    /// entry counts.
    pub positions_bytes: Vec<u64>,
    /// The number of bytes after which each target comes back to its start, if it does.
    pub lap_bytes: Vec<Option<u64>>,
    /// The regions that the streams keep to, in the order of `positions_bytes`; none if they go
    /// over all of their targets.
    pub regions: Vec<StreamRegion>,
    /// The regions that are read back beside the phase's own streams, in the order of
    /// `positions_bytes`; none if nothing is. They are in no figure of the phase's own.
    pub read_back: Vec<StreamRegion>,
    /// Whether to end once every target is steady.
    pub until_steady: bool,
    /// Whether to stop early if a driver is the limit and more drivers could help.
    pub may_start_anew: bool,
    /// A target beside the others that has a pace of its own; only with independent targets.
    pub dummy: Option<Dummy>,
}

impl PhaseSetup {
    /// The session's target of a member: of the phase's own, or of one that reads beside them.
    pub(crate) fn target_of(&self, member: usize) -> usize {
        self.targets[member % self.targets.len()]
    }

    /// The number of members: each target has one, and one more if it is read back beside.
    pub(crate) fn members(&self) -> usize {
        match self.read_back.is_empty() {
            true => self.targets.len(),
            false => 2 * self.targets.len(),
        }
    }

    /// The operation of a member.
    pub(crate) fn operation_of(&self, member: usize) -> Operation {
        match member < self.targets.len() {
            true => self.operation,
            false => Operation::Read,
        }
    }
}

/// A target that is not a disk, driven as the others are, at a fixed rate. What it takes from their
/// rate is lost in this program or in the machine, not on their paths.
#[derive(Debug, Clone, Copy)]
pub struct Dummy {
    /// Its position in the phase's targets.
    pub member: usize,
    /// Its rate.
    pub rate_bytes_per_s: f64,
}

/// The report of one driver.
#[derive(Debug, Clone)]
pub struct DriverOutcome {
    /// The engine that it drove.
    pub engine: &'static str,
    /// Why it was that engine.
    pub why: String,
    /// The CPU time of its thread over the wall-clock time.
    pub cpu_share: f64,
    /// The time it spent making data that is new for each write, over the wall-clock time.
    pub making_share: f64,
    /// The time that the kernel took to take requests.
    pub submit_blocked_ns: u64,
}
