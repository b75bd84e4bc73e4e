//! What a phase is to do, as the run orders it, and what each of its drivers says of itself.

use sustain_disk::data::DataKind;
use sustain_disk::engine::{EngineChoice, Operation};
use sustain_disk::layout::Layout;
use sustain_disk::meter::IntervalRule;
use sustain_disk::target::DataPath;

use crate::event::Phase;

/// Time between a driver's reports.
pub(crate) const REPORT_EVERY_NS: u64 = 100_000_000;

/// What a phase is to do.
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
    /// What is written, and the seed of it.
    pub(crate) data: DataKind,
    pub(crate) data_seed: u64,
    /// Nothing beyond this is touched on any target, if bounded.
    pub(crate) extent_bytes: Option<u64>,
    /// Whether streams start again at 0; none leaves it to the target.
    pub(crate) wraps: Option<bool>,
    /// Where each target's stream begins; of a stripe or span the first entry counts.
    pub(crate) positions_bytes: Vec<u64>,
    /// After how many bytes each target comes back to its start, if it does.
    pub(crate) lap_bytes: Vec<Option<u64>>,
    /// End once every target is steady.
    pub(crate) until_steady: bool,
    /// Give up early if a driver is the limit and more drivers could help.
    pub(crate) may_start_anew: bool,
    /// A target beside the others that has a pace of its own; only where each is independent.
    pub(crate) dummy: Option<Dummy>,
}

/// A target that is no disk, driven as they are at a fixed rate: what it takes from them is taken
/// in the tool or the machine, not on their way.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Dummy {
    /// Its position in the phase's targets.
    pub(crate) member: usize,
    pub(crate) rate_bytes_per_s: f64,
}

/// What one driver says of itself.
#[derive(Debug, Clone)]
pub(crate) struct DriverOutcome {
    pub(crate) engine: &'static str,
    pub(crate) why: String,
    /// Its thread's CPU time over the wall clock.
    pub(crate) cpu_share: f64,
    /// Time it spent making bytes that are new for each write, over the wall clock.
    pub(crate) making_share: f64,
    pub(crate) submit_blocked_ns: u64,
}
