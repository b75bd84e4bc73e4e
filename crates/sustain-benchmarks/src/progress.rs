//! Tells the person who waits what is going on.

use std::io::Write;

/// Writes a line to standard error.
pub(crate) fn progress(line: &str) {
    // Nobody may be listening; the measurement goes on.
    let _ = writeln!(std::io::stderr(), "{line}");
}
