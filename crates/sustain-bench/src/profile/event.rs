//! What a profile tells while it goes on. The worker never prints: the faces draw these.

use crate::event::Live;
use crate::faces::Told;

/// Which sample is being taken.
#[derive(Debug, Clone, PartialEq)]
pub struct Sampling {
    /// `first pass`, `where it changes`, `second pass` or `third visits`.
    pub pass: &'static str,
    /// The number of the position in its pass, from 1.
    pub number: usize,
    /// How many the pass has.
    pub of: usize,
    /// How long all that is still to come takes at most.
    pub remaining_s: f64,
    /// Where, as a part of each target.
    pub position: f64,
}

/// A position that was sampled.
#[derive(Debug, Clone, PartialEq)]
pub struct Sampled {
    /// Which it was.
    pub sampling: Sampling,
    /// Of each target alone the rate and, last, the sum of several at once; none where a request
    /// failed. Of several directions one after the other.
    pub rates_bytes_per_s: Vec<Option<f64>>,
}

/// Something that happened.
#[derive(Debug, Clone, PartialEq)]
pub enum ProfileEvent {
    /// What the user should know before or while it runs.
    Note(String),
    /// About ten times a second while files are written beforehand and in the first runs.
    Preparing(Live),
    /// About ten times a second.
    Live(Sampling, Live),
    /// A position is done.
    Sampled(Sampled),
}

impl Told for ProfileEvent {
    fn is_passing(&self) -> bool {
        matches!(self, ProfileEvent::Live(..) | ProfileEvent::Preparing(_))
    }

    fn note(text: String) -> ProfileEvent {
        ProfileEvent::Note(text)
    }
}

/// Takes events.
pub type ProfileObserver<'a> = dyn FnMut(ProfileEvent) + Send + 'a;
