//! Rows and sections of the tables, as several groups make them.

use std::process::{Command, Stdio};

use sustain::disk::units::Rate;

use crate::group::Group;
use crate::pairs::{Compared, Side, compare};
use crate::progress::progress;
use crate::setting::Setting;
use crate::table::{Goal, Row, Section};
use crate::tools::{Work, fio, sustain_tool};

/// Headings where a group compares with fio.
pub(super) const AGAINST_FIO: [&str; 4] = ["", "sustain", "fio", "ratio [95 %]"];

/// A section that could not be measured here.
pub(super) fn skipped(group: Group, why: &str) -> Section {
    let note = format!("Skipped: {why}.");
    progress(&format!("  {note}"));
    Section {
        name: group.name(),
        columns: AGAINST_FIO,
        rows: Vec::new(),
        notes: vec![note],
    }
}

/// Compares the rates of both programs at the same work.
pub(super) fn compare_rates(
    work: &Work<'_>,
    mode: fio::Mode,
    setting: &Setting,
) -> anyhow::Result<Compared> {
    compare(setting.effort.pairs, |side| {
        let done = match side {
            Side::Ours => sustain_tool::run(work, setting)?,
            Side::Theirs => fio::run(work, mode, setting)?,
        };
        Ok(done.rate_bytes_per_s)
    })
}

/// A row of rates.
pub(super) fn rate_row(what: String, compared: &Compared, goal: Goal) -> Row {
    let row = Row::compared(what, compared, goal, rate);
    progress(&row.line());
    row
}

pub(super) fn rate(bytes_per_s: f64) -> String {
    Rate(bytes_per_s).to_string()
}

/// Whether a program can be run here.
pub(super) fn is_there(program: &str) -> bool {
    let mut command = Command::new(program);
    command.arg("--version").stdin(Stdio::null());
    command.output().is_ok_and(|output| output.status.success())
}
