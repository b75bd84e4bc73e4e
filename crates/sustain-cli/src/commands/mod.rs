//! The commands, one file each. Only the code here prints.

mod begin;
pub(crate) mod compare;
pub(crate) mod completions;
pub(crate) mod control;
pub(crate) mod create;
pub(crate) mod devices;
pub(crate) mod diagnose;
pub(crate) mod extract;
pub(crate) mod list;
pub(crate) mod man;
pub(crate) mod measure;
pub(crate) mod mount;
mod output;
pub(crate) mod profile;
mod progress;
pub(crate) mod record;
pub(crate) mod recover;
pub(crate) mod report;
mod standard_streams;
mod status_file;
mod stores;
pub(crate) mod sweep;
pub(crate) mod verify;

use std::io::{IsTerminal, Write};

/// Prints a message for the user on standard error, so that standard output is free for results.
pub(crate) fn say(text: &str) {
    let mut output = std::io::stderr().lock();
    let said = output::fitted(text, output.is_terminal());
    // A closed terminal must not end a measurement.
    let _ = output.write_all(said.as_bytes());
}
