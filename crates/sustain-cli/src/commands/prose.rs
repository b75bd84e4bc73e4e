//! Text for the terminal: wrapped at its width, with the answer where it can still be seen.

use std::io::IsTerminal;

use sustain::report::terminal::{without_controls, wrapped};

/// The width of tables: that of the terminal, or one that fits most places.
pub(crate) fn width() -> usize {
    const WIDTH_COLUMNS: usize = 100;
    terminal_size::terminal_size().map_or(WIDTH_COLUMNS, |(terminal_size::Width(columns), _)| {
        usize::from(columns)
    })
}

/// An answer with what explains it. Where that is longer than the terminal, the answer has scrolled
/// away and is repeated below.
pub(crate) fn answered(answer: &str, explanation: &str) -> String {
    let terminal = std::io::stdout().is_terminal();
    let height = terminal.then(terminal_size::terminal_size).flatten();
    let height = height.map(|(_, terminal_size::Height(lines))| usize::from(lines));
    answered_within(answer, explanation, height)
}

pub(super) fn answered_within(answer: &str, explanation: &str, height: Option<usize>) -> String {
    let lines = answer.lines().count() + explanation.lines().count();
    // The prompt takes the last line.
    if height.is_some_and(|height| lines >= height) {
        format!("{answer}{explanation}\n{}\n", answer.trim_end())
    } else {
        format!("{answer}{explanation}")
    }
}

/// Wraps text for standard output, and ends each line with a newline.
pub(crate) fn prose(text: &str) -> String {
    fitted(text, std::io::stdout().is_terminal())
}

/// Wraps text to the width of a terminal. Otherwise lines stay whole, because scripts search for
/// words in them. What is not to be seen in it, of names or words of users, is made harmless.
pub(super) fn fitted(text: &str, is_terminal: bool) -> String {
    let width = if is_terminal { width() } else { usize::MAX };
    let lines = text.lines().map(without_controls);
    lines.map(|line| wrapped(&line, width)).collect()
}
