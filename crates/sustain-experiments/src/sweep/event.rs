//! Events that a sweep reports while it runs. The worker never prints: observers such as the
//! terminal draw these.

use sustain_load::event::Live;
use sustain_load::observer::RunObserver;

/// The point that is being measured.
#[derive(Debug, Clone, PartialEq)]
pub struct MeasuringPoint {
    /// The number of the measurement, from 1.
    pub number: usize,
    /// How many there are, if known.
    pub of: Option<usize>,
    /// How long everything that is still to come takes at most, this one included.
    pub remaining_s: f64,
    /// The setting on the axes that have more than one value.
    pub setting: String,
}

/// A point that was measured.
#[derive(Debug, Clone, PartialEq)]
pub struct MeasuredPoint {
    /// The one that was measured.
    pub measuring: MeasuringPoint,
    /// Its rate over all targets.
    pub rate_bytes_per_s: f64,
    /// Why it does not count, if it does not.
    pub failed: Option<String>,
}

/// An event.
#[derive(Debug, Clone, PartialEq)]
pub enum SweepEvent {
    /// A note for the user, before or during the run.
    Note(String),
    /// Sent about ten times a second while files are prewritten and during the first run.
    Preparing(Live),
    /// Sent about ten times a second.
    Live(MeasuringPoint, Live),
    /// A point is done.
    Measured(MeasuredPoint),
}

impl RunObserver for SweepEvent {
    fn is_passing(&self) -> bool {
        matches!(self, SweepEvent::Live(..) | SweepEvent::Preparing(_))
    }

    fn note(text: String) -> SweepEvent {
        SweepEvent::Note(text)
    }
}

/// The type of an observer of these events.
pub type SweepObserver<'a> = dyn FnMut(SweepEvent) + Send + 'a;
