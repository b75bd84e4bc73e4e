//! Events that a run reports while it goes on. The worker never prints: observers such as the
//! terminal draw these.

use sustain_disk::meter::MeterInterval;
use sustain_document::vocabulary::Ending;

/// The current part of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// Files are prewritten, so that the measured rate is that of a prepared store.
    Prewrite,
    /// A short idle time, for the figures of the system.
    Before,
    /// The run.
    Measure,
    /// One subset of a diagnosis, one point of a sweep, or the load once more with another I/O
    /// path.
    Subset,
    /// What the run has written is flushed, outside the measured time.
    Flush,
    /// Idle again.
    After,
    /// Data that stays the same and data that is new for each write are written in turn.
    Rewrite,
    /// A paced run at the recommended rate.
    Confirm,
    /// What the run has written is read back while the run's load goes on.
    ReadBack,
    /// What the run has written is read back, and nothing is written.
    ReadAlone,
}

/// One target at this moment.
#[derive(Debug, Clone, PartialEq)]
pub struct LiveTarget {
    /// Its name.
    pub name: String,
    /// The rate over about the last second.
    pub instant_bytes_per_s: f64,
    /// The rate since the start of the phase.
    pub average_bytes_per_s: f64,
    /// Its part of the bytes of all targets, 0 to 1.
    pub share: f64,
    /// Requests in flight.
    pub in_flight: u32,
    /// Why it ended, if it has.
    pub ended: Option<Ending>,
}

/// All targets at this moment.
#[derive(Debug, Clone, PartialEq)]
pub struct Live {
    /// The current phase.
    pub phase: Phase,
    /// The time since its start.
    pub elapsed_s: f64,
    /// The time until its end, if that is bounded.
    pub remaining_s: Option<f64>,
    /// The least and the most time of what is to come after it, if the run knows that.
    pub then_s: Option<[f64; 2]>,
    /// How much of it is done, from 0 to 1, if that is known.
    pub done: Option<f64>,
    /// One entry per target.
    pub targets: Vec<LiveTarget>,
}

/// An event.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// A note for the user, before or during the run: free space, what is destroyed, the engine.
    Note(String),
    /// Sent about ten times a second.
    Live(Live),
    /// An interval of the measured run ended.
    Interval {
        /// Its target.
        target: String,
        /// How many targets the run has.
        of_targets: usize,
        /// The interval.
        interval: MeterInterval,
        /// All bytes of the target so far.
        bytes_so_far: u64,
    },
}

/// The type of an observer of these events.
pub type Observer<'a> = dyn FnMut(Event) + Send + 'a;
