//! What a sweep tells while it goes on. The worker never prints: the faces draw these.

use crate::event::Live;
use crate::faces::Told;

/// Which point is being measured.
#[derive(Debug, Clone, PartialEq)]
pub struct MeasuringPoint {
    /// The number of the measurement, from 1.
    pub number: usize,
    /// How many there are, where that is known.
    pub of: Option<usize>,
    /// How long all that is still to come takes at most, this one included.
    pub remaining_s: f64,
    /// The setting on the axes that have more than one value.
    pub setting: String,
}

/// A point that was measured.
#[derive(Debug, Clone, PartialEq)]
pub struct MeasuredPoint {
    /// Which it was.
    pub measuring: MeasuringPoint,
    /// Its rate over all targets.
    pub rate_bytes_per_s: f64,
    /// Why it does not count, if so.
    pub failed: Option<String>,
}

/// Something that happened.
#[derive(Debug, Clone, PartialEq)]
pub enum SweepEvent {
    /// What the user should know before or while it runs.
    Note(String),
    /// About ten times a second while files are written beforehand and in the first run.
    Preparing(Live),
    /// About ten times a second.
    Live(MeasuringPoint, Live),
    /// A point is done.
    Measured(MeasuredPoint),
}

impl Told for SweepEvent {
    fn is_passing(&self) -> bool {
        matches!(self, SweepEvent::Live(..) | SweepEvent::Preparing(_))
    }

    fn note(text: String) -> SweepEvent {
        SweepEvent::Note(text)
    }
}

/// Takes events.
pub type SweepObserver<'a> = dyn FnMut(SweepEvent) + Send + 'a;
