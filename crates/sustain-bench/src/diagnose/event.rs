//! What a diagnosis tells while it goes on. The worker never prints: the faces draw these.

use crate::event::Live;
use crate::faces::Told;

/// Which subset is being measured.
#[derive(Debug, Clone, PartialEq)]
pub struct Measuring {
    /// Its number, from 1.
    pub number: usize,
    /// How many are still to come, this one included, as far as the answers so far tell.
    pub remaining: usize,
    /// How long these take.
    pub remaining_s: f64,
    /// Why it is measured, in words.
    pub why: String,
}

/// A subset that was measured.
#[derive(Debug, Clone, PartialEq)]
pub struct Measured {
    /// Which it was.
    pub measuring: Measuring,
    /// The targets at work.
    pub targets: Vec<String>,
    /// Their rates, in that order.
    pub rates_bytes_per_s: Vec<f64>,
    /// A target failed in it, so that it does not count.
    pub failed: bool,
}

/// Something that happened.
#[derive(Debug, Clone, PartialEq)]
pub enum DiagnoseEvent {
    /// What the user should know before or while it runs.
    Note(String),
    /// About ten times a second while files are written beforehand.
    Preparing(Live),
    /// About ten times a second.
    Live(Measuring, Live),
    /// A subset is done.
    Measured(Measured),
}

impl Told for DiagnoseEvent {
    fn is_passing(&self) -> bool {
        matches!(self, DiagnoseEvent::Live(..) | DiagnoseEvent::Preparing(_))
    }

    fn note(text: String) -> DiagnoseEvent {
        DiagnoseEvent::Note(text)
    }
}

/// Takes events.
pub type DiagnoseObserver<'a> = dyn FnMut(DiagnoseEvent) + Send + 'a;
