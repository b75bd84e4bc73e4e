//! What is compared: one file per group, one group per table of docs/benchmarks.md.

mod cpu;
mod disk;
mod extract;
mod isolation;
mod many;
mod null_engine;
mod record_library;
mod record_memory;
mod record_start;
mod record_stdin;
mod record_throttled;
mod share;
mod small;
mod sweep;
mod throttled;

use std::process::{Command, Stdio};

use clap::ValueEnum;
use sustain::disk::units::Rate;

use crate::pairs::{Compared, Side, compare};
use crate::progress;
use crate::setting::Setting;
use crate::table::{Goal, Row, Section};
use crate::tools::{Work, fio, sustain_tool};

/// A group of comparisons.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Group {
    /// Rates of large records on the disk.
    Disk,
    /// Rates on a device throttled to 1 GB/s.
    Throttled,
    /// CPU time per GB.
    Cpu,
    /// Small requests per second of CPU time.
    Small,
    /// 64 targets at once.
    Many,
    /// A slow target beside fast ones.
    Isolation,
    /// What metering and the seam cost.
    NullEngine,
    /// What a sweep takes besides measuring.
    Sweep,
    /// Recording from a pipe, beside what others do with it.
    RecordStdin,
    /// How soon recording begins, and how fast its first seconds are.
    RecordStart,
    /// Recording through the library, in lent buffers.
    RecordLibrary,
    /// Recording on four members, one of them slow.
    RecordThrottled,
    /// The memory that recording takes.
    RecordMemory,
    /// Recording beside programs that use every CPU.
    Share,
    /// Giving back, checking and opening what was recorded.
    Extract,
}

impl Group {
    pub(crate) const ALL: [Group; 15] = [
        Group::Disk,
        Group::Throttled,
        Group::Cpu,
        Group::Small,
        Group::Many,
        Group::Isolation,
        Group::NullEngine,
        Group::Sweep,
        Group::RecordStdin,
        Group::RecordStart,
        Group::RecordLibrary,
        Group::RecordThrottled,
        Group::RecordMemory,
        Group::Share,
        Group::Extract,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Group::Disk => "disk",
            Group::Throttled => "throttled",
            Group::Cpu => "cpu",
            Group::Small => "small",
            Group::Many => "many",
            Group::Isolation => "isolation",
            Group::NullEngine => "null-engine",
            Group::Sweep => "sweep",
            Group::RecordStdin => "record-stdin",
            Group::RecordStart => "record-start",
            Group::RecordLibrary => "record-library",
            Group::RecordThrottled => "record-throttled",
            Group::RecordMemory => "record-memory",
            Group::Share => "share",
            Group::Extract => "extract",
        }
    }

    pub(crate) fn run(self, setting: &Setting) -> anyhow::Result<Section> {
        match self {
            Group::Disk => disk::run(setting),
            Group::Throttled => throttled::run(setting),
            Group::Cpu => cpu::run(setting),
            Group::Small => small::run(setting),
            Group::Many => many::run(setting),
            Group::Isolation => isolation::run(setting),
            Group::NullEngine => null_engine::run(setting),
            Group::Sweep => sweep::run(setting),
            Group::RecordStdin => record_stdin::run(setting),
            Group::RecordStart => record_start::run(setting),
            Group::RecordLibrary => record_library::run(setting),
            Group::RecordThrottled => record_throttled::run(setting),
            Group::RecordMemory => record_memory::run(setting),
            Group::Share => share::run(setting),
            Group::Extract => extract::run(setting),
        }
    }
}

/// Headings where a group compares with fio.
const AGAINST_FIO: [&str; 4] = ["", "sustain", "fio", "ratio [95 %]"];

/// A section that could not be measured here.
fn skipped(group: Group, why: &str) -> Section {
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
fn compare_rates(work: &Work<'_>, mode: fio::Mode, setting: &Setting) -> anyhow::Result<Compared> {
    compare(setting.effort.pairs, |side| {
        let done = match side {
            Side::Ours => sustain_tool::run(work, setting)?,
            Side::Theirs => fio::run(work, mode, setting)?,
        };
        Ok(done.rate_bytes_per_s)
    })
}

/// A row of rates.
fn rate_row(what: String, compared: &Compared, goal: Goal) -> Row {
    let row = Row::compared(what, compared, goal, rate);
    progress(&row.line());
    row
}

fn rate(bytes_per_s: f64) -> String {
    Rate(bytes_per_s).to_string()
}

/// Whether a program can be run here.
fn is_there(program: &str) -> bool {
    let mut command = Command::new(program);
    command.arg("--version").stdin(Stdio::null());
    command.output().is_ok_and(|output| output.status.success())
}
