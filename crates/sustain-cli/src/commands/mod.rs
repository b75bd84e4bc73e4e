//! One file per command. Only here does the tool print.

pub(crate) mod measure;
pub(crate) mod report;

use std::io::Write;
use std::path::Path;

use anyhow::Context;

/// Says a line to the person: on standard error, so that standard output stays for results.
pub(crate) fn say(line: &str) {
    // A closed terminal must not end a measurement.
    let _ = writeln!(std::io::stderr().lock(), "{line}");
}

/// Writes a result to a file, or to standard output for `-`.
pub(crate) fn write_result(path: &Path, text: &str) -> anyhow::Result<()> {
    if path == Path::new("-") {
        return std::io::stdout()
            .lock()
            .write_all(text.as_bytes())
            .context("standard output");
    }
    std::fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
}
