//! What a run tells while it goes on. The worker never prints: the faces draw these.

use sustain_disk::meter::Interval;

/// The part of a run that is under way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// Files are written once, so that the measured rate is that of a prepared store.
    Prewrite,
    /// A little idle time, for the system's own figures.
    Before,
    /// The run.
    Measure,
    /// One subset of a diagnosis, one point of a sweep, or the load once more by another path.
    Subset,
    /// What the run has written is flushed, outside its time.
    Flush,
    /// Idle again.
    After,
    /// Bytes that have lain still and bytes that are new for each write, in turn.
    Rewrite,
    /// A paced run at the recommended rate.
    Confirm,
}

/// One target at this moment.
#[derive(Debug, Clone, PartialEq)]
pub struct LiveTarget {
    /// Its name.
    pub name: String,
    /// Over about the last second.
    pub instant_bytes_per_s: f64,
    /// Since the start of the phase.
    pub average_bytes_per_s: f64,
    /// Its part of the bytes of all targets, 0 to 1.
    pub share: f64,
    /// Requests in flight.
    pub in_flight: u32,
    /// Why it ended, if it has.
    pub ended: Option<&'static str>,
}

/// All targets at this moment.
#[derive(Debug, Clone, PartialEq)]
pub struct Live {
    /// Which phase.
    pub phase: Phase,
    /// Since its start.
    pub elapsed_s: f64,
    /// Until its end, where that is bounded in time.
    pub remaining_s: Option<f64>,
    /// How much of it is done, 0 to 1, where that is known.
    pub done: Option<f64>,
    /// One entry per target.
    pub targets: Vec<LiveTarget>,
}

/// Something that happened.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// What the user should know before or while it runs: free space, what is destroyed, engine.
    Note(String),
    /// About ten times a second.
    Live(Live),
    /// An interval of the measured run ended.
    Interval {
        /// Its target.
        target: String,
        /// How many targets the run has.
        of_targets: usize,
        /// The interval.
        interval: Interval,
        /// All bytes of the target so far.
        bytes_so_far: u64,
    },
}

/// Takes events.
pub type Observer<'a> = dyn FnMut(Event) + Send + 'a;
