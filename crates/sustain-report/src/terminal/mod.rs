//! The text that a person reads in a terminal or a pipe: the answer, the tables, the live lines and
//! the log. The command calls this module and prints what it returns; nothing here decides or
//! measures.

mod columns;
pub(crate) mod compare;
mod control;
mod devices;
pub(crate) mod diagnosis;
mod dskwtst;
mod effect;
mod forecast;
mod live;
pub(crate) mod matrix;
mod profile;
mod progress;
mod recorded;
mod recorded_frames;
mod recording;
mod recordings;
mod sentence;
mod summary;
pub(crate) mod sweep;
mod wrapped;

pub use compare::{compare_answer, compare_sentence, compare_text};
pub(crate) use control::marks_line;
pub use control::{control_text, mark_line};
pub use devices::devices_text;
pub use diagnosis::{DiagnoseView, diagnosis_answer, diagnosis_sentence, diagnosis_text};
pub use dskwtst::dskwtst_line;
pub use live::{LiveKind, LiveView};
pub use matrix::matrix_text;
pub use profile::{ProfileView, profile_answer, profile_text};
pub use progress::ProgressView;
pub use recorded::{record_outcome, record_sentence, record_summary};
pub use recording::{RecordRates, RecordView, record_line};
pub use recordings::{
    create_text, list_text, places_text, recover_text, repair_text, retire_text, scrub_text,
    unpin_text, verify_text,
};
pub use sentence::sentence;
pub(crate) use sentence::{held_words, while_doing};
pub use summary::summary;
pub(crate) use summary::{cause_words, latency_of};
pub use sweep::{SweepView, sweep_answer, sweep_text};
pub use wrapped::wrapped;

/// The statement that every answer about a simulated machine has.
pub(crate) const SIMULATED: &str = "These figures are of a simulated machine, not of real disks";

/// Joins clauses to one text in which each is a sentence with its full stop.
pub(crate) fn sentences(clauses: &[String]) -> String {
    let ended = clauses
        .iter()
        .map(|one| format!("{}.", one.trim_end_matches('.')));
    ended.collect::<Vec<_>>().join(" ")
}

/// A line that stays above the redrawn ones, wrapped to the terminal on standard error.
fn noted(text: &str) -> String {
    let (_rows, columns) = console::Term::stderr().size();
    let mut lines = wrapped(&without_controls(text), usize::from(columns));
    lines.truncate(lines.trim_end().len());
    lines
}

/// Replaces the control and format characters in text from outside (names, kernel lines, messages),
/// by which it could move the cursor, recolour a terminal, or turn what stands behind it around.
#[must_use]
pub fn without_controls(text: &str) -> String {
    text.chars()
        .map(|c| match c.is_control() || is_format(c) {
            true => '\u{fffd}',
            false => c,
        })
        .collect()
}

/// Whether it is of the category Cf of Unicode 17.0, characters that are not seen themselves: marks
/// of direction, joiners, tags.
fn is_format(c: char) -> bool {
    matches!(
        c,
        '\u{ad}'
            | '\u{600}'..='\u{605}'
            | '\u{61c}'
            | '\u{6dd}'
            | '\u{70f}'
            | '\u{890}'..='\u{891}'
            | '\u{8e2}'
            | '\u{180e}'
            | '\u{200b}'..='\u{200f}'
            | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{2064}'
            | '\u{2066}'..='\u{206f}'
            | '\u{feff}'
            | '\u{fff9}'..='\u{fffb}'
            | '\u{110bd}'
            | '\u{110cd}'
            | '\u{13430}'..='\u{1343f}'
            | '\u{1bca0}'..='\u{1bca3}'
            | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0001}'
            | '\u{e0020}'..='\u{e007f}'
    )
}
