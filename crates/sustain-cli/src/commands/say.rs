//! Prints messages for the user.

use std::io::{IsTerminal, Write};

use super::prose::fitted;

/// Prints a message for the user on standard error, so that standard output is free for results.
pub(crate) fn say(text: &str) {
    let mut output = std::io::stderr().lock();
    let said = fitted(text, output.is_terminal());
    // A closed terminal must not end a measurement.
    let _ = output.write_all(said.as_bytes());
}
