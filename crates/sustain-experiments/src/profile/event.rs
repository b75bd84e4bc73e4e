//! Events that a profile reports while it runs. The worker never prints: observers such as the
//! terminal draw these.

use sustain_load::event::Live;
use sustain_load::observer::RunObserver;

/// The sample that is being taken.
#[derive(Debug, Clone, PartialEq)]
pub struct Sampling {
    /// `first pass`, `where the rate changes`, `second pass` or `third visits`.
    pub pass: &'static str,
    /// The number of the position in its pass, from 1.
    pub number: usize,
    /// The number of positions in the pass.
    pub of: usize,
    /// How long everything that is still to come takes at most.
    pub remaining_s: f64,
    /// The position, as a part of each target.
    pub position: f64,
}

/// A position that was sampled.
#[derive(Debug, Clone, PartialEq)]
pub struct Sampled {
    /// The one that was measured.
    pub sampling: Sampling,
    /// The rate of each target alone and, last, the sum of all at once; `None` if a request failed.
    /// With several directions, one follows the other.
    pub rates_bytes_per_s: Vec<Option<f64>>,
}

/// An event.
#[derive(Debug, Clone, PartialEq)]
pub enum ProfileEvent {
    /// A note for the user, before or during the run.
    Note(String),
    /// Sent about ten times a second while files are prewritten and during the first runs.
    Preparing(Live),
    /// Sent about ten times a second.
    Live(Sampling, Live),
    /// A position is done.
    Sampled(Sampled),
}

impl RunObserver for ProfileEvent {
    fn is_passing(&self) -> bool {
        matches!(self, ProfileEvent::Live(..) | ProfileEvent::Preparing(_))
    }

    fn note(text: String) -> ProfileEvent {
        ProfileEvent::Note(text)
    }
}

/// The type of an observer of these events.
pub type ProfileObserver<'a> = dyn FnMut(ProfileEvent) + Send + 'a;
