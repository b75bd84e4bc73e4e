//! What a person reads in a terminal or a pipe: the sentence, the table, the live lines, the log.
//! The command calls it and does the printing; nothing here decides or measures.

mod dskwtst;
mod live;
mod sentence;
mod summary;

pub use dskwtst::dskwtst_line;
pub use live::{LiveKind, LiveView};
pub(crate) use sentence::half_width;
pub use sentence::sentence;
pub use summary::summary;

/// Text from outside (names, kernel lines, messages) without the control characters by which it
/// could move the cursor or recolour a terminal.
pub(crate) fn without_controls(text: &str) -> String {
    text.chars()
        .map(|c| if c.is_control() { '\u{fffd}' } else { c })
        .collect()
}
