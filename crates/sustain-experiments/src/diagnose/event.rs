//! Events that a diagnosis reports while it runs. The worker never prints: observers such as the
//! terminal draw these.

use sustain_load::event::Live;
use sustain_load::observer::RunObserver;

/// Which subset is being measured.
#[derive(Debug, Clone, PartialEq)]
pub struct Measuring {
    /// Its number, from 1.
    pub number: usize,
    /// How many subsets are still to come, this one included, as far as the readings so far tell.
    pub remaining: usize,
    /// How long these will take.
    pub remaining_s: f64,
    /// Why it is measured, in words.
    pub why: String,
}

/// A subset that was measured.
#[derive(Debug, Clone, PartialEq)]
pub struct Measured {
    /// The one that was measured.
    pub measuring: Measuring,
    /// The targets that were active.
    pub targets: Vec<String>,
    /// Their rates, in that order.
    pub rates_bytes_per_s: Vec<f64>,
    /// Whether a target failed in it, so that it does not count.
    pub failed: bool,
}

/// An event.
#[derive(Debug, Clone, PartialEq)]
pub enum DiagnoseEvent {
    /// A note for the user, before or during the run.
    Note(String),
    /// Sent about ten times a second while files are prewritten.
    Preparing(Live),
    /// Sent about ten times a second.
    Live(Measuring, Live),
    /// A subset is done.
    Measured(Measured),
}

impl RunObserver for DiagnoseEvent {
    fn is_passing(&self) -> bool {
        matches!(self, DiagnoseEvent::Live(..) | DiagnoseEvent::Preparing(_))
    }

    fn note(text: String) -> DiagnoseEvent {
        DiagnoseEvent::Note(text)
    }
}

/// The type of an observer of these events.
pub type DiagnoseObserver<'a> = dyn FnMut(DiagnoseEvent) + Send + 'a;
