//! How soon a recording takes its first byte, how fast its first seconds are, and how long the
//! whole process takes beside what people do today: what starting up costs a source that does not
//! wait.

use std::fs::File;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, bail};
use sustain::disk::units::Size;

use super::rows::rate_row;
use crate::group::Group;
use crate::pairs::Compared;
use crate::places::WrittenFile;
use crate::process::{self, Fed};
use crate::progress::progress;
use crate::setting::Setting;
use crate::source::{EARLY_NS, Pouring, Source};
use crate::statistics::Median;
use crate::table::{Goal, Row, Section, Verdict, interval};
use crate::tools::store_tool;

const BUFFERS_BYTES: [u64; 3] = [64 << 20, 512 << 20, 4 << 30];
/// What a store takes besides the stream.
const BESIDES_BYTES: u64 = 256 << 20;
/// Enough for a full pipe and some reads; the process ends soon after.
const FIRST_BYTES: u64 = 8 << 20;
const FIRST_BYTE_S_MAX: f64 = 0.050;
const EARLY_RATIO_MIN: f64 = 0.95;
const DD_RATIO_MIN: f64 = 1.30;
const MBUFFER_RATIO_MIN: f64 = 1.50;
/// As `record` has it, and `mbuffer` is given.
const BUFFER_BYTES: u64 = 512 << 20;

struct Bench<'a> {
    file: WrittenFile,
    source: Source,
    setting: &'a Setting,
}

pub(super) fn run(setting: &Setting) -> anyhow::Result<Section> {
    let file_bytes = setting.effort.stream_bytes + BESIDES_BYTES;
    let bench = Bench {
        file: WrittenFile::new(&setting.directory, file_bytes, &setting.interrupt)?,
        source: Source::new(Pouring::Splice)?,
        setting,
    };
    let mut rows = Vec::new();
    for buffer_bytes in BUFFERS_BYTES {
        rows.push(bench.first_byte(buffer_bytes)?);
    }
    rows.extend(bench.first_seconds()?);
    rows.extend(bench.whole_process()?);
    let mut notes = vec![format!(
        "{} starts for each buffer; {} MiB for each whole process, {} rounds.",
        setting.effort.starts,
        setting.effort.stream_bytes >> 20,
        setting.effort.stream_rounds,
    )];
    if let Some(baseline) = &setting.baseline {
        let name = baseline.file_name().unwrap_or_default().to_string_lossy();
        notes.push(format!("The other build of sustain is `{name}`."));
    }
    Ok(Section {
        name: Group::RecordStart.name(),
        columns: ["", "sustain record", "other", "ratio [95 %]"],
        rows,
        notes,
    })
}

impl Bench<'_> {
    /// From the start of the process to the first byte that it takes, in turns with the other
    /// build.
    fn first_byte(&self, buffer_bytes: u64) -> anyhow::Result<Row> {
        let one = |binary: &Path| -> anyhow::Result<f64> {
            let fed = self.record(binary, buffer_bytes, FIRST_BYTES)?;
            fed.first_byte_s.context("no byte was taken")
        };
        let starts = self.setting.effort.starts;
        let (ours, theirs) = self.in_turns(starts, one)?;
        let median = Median::of(&ours);
        let milliseconds = |seconds: f64| format!("{:.1} ms", seconds * 1e3);
        let row = Row {
            what: format!("first byte, `--buffer {}`", Size(buffer_bytes))
                .replace(" MiB", "MiB")
                .replace(" GiB", "GiB"),
            ours: milliseconds(median.value),
            other: theirs
                .as_deref()
                .map_or_else(String::new, |theirs| milliseconds(Median::of(theirs).value)),
            ratio: theirs.as_deref().map_or_else(String::new, |theirs| {
                interval(Compared::of(&ours, theirs).ratio)
            }),
            goal: format!("<= {}", milliseconds(FIRST_BYTE_S_MAX)),
            verdict: Verdict::of(median.value <= FIRST_BYTE_S_MAX),
        };
        progress(&row.line());
        Ok(row)
    }

    /// The rate at which the first seconds are taken, where there is another build to compare with.
    fn first_seconds(&self) -> anyhow::Result<Option<Row>> {
        let one = |binary: &Path| -> anyhow::Result<f64> {
            let fed = self.record(binary, BUFFER_BYTES, self.setting.effort.stream_bytes)?;
            let seconds = EARLY_NS as f64 / 1e9;
            let early = fed.early_bytes.map(|bytes| bytes as f64 / seconds);
            // A stream that was over before: all of it.
            Ok(early.unwrap_or(fed.bytes as f64 / fed.elapsed_s))
        };
        let (ours, theirs) = self.in_turns(self.setting.effort.stream_rounds * 2, one)?;
        let Some(theirs) = theirs else {
            return Ok(None);
        };
        let compared = Compared::of(&ours, &theirs);
        let what = "the first 2 s, the other build".to_owned();
        Ok(Some(rate_row(
            what,
            &compared,
            Goal::AtLeast(EARLY_RATIO_MIN),
        )))
    }

    /// From the start of the process to its end, its start-up and last flush included.
    fn whole_process(&self) -> anyhow::Result<Vec<Row>> {
        let has_mbuffer = super::rows::is_there("mbuffer");
        let (mut record, mut dd, mut mbuffer) = (Vec::new(), Vec::new(), Vec::new());
        for round in 0..self.setting.effort.stream_rounds {
            let mut turns = [0, 1, 2];
            if !round.is_multiple_of(2) {
                turns.reverse();
            }
            for turn in turns {
                match turn {
                    0 => record.push(self.whole_record()?),
                    1 => dd.push(self.whole(dd_command(self.file.path()), None)?),
                    _ if has_mbuffer => mbuffer.push(self.whole_mbuffer()?),
                    _ => {}
                }
            }
        }
        let row = |what: &str, other: &[f64], goal| {
            rate_row(what.to_owned(), &Compared::of(&record, other), goal)
        };
        let mut rows = vec![row(
            "whole process, `dd oflag=direct bs=1M`",
            &dd,
            Goal::AtLeast(DD_RATIO_MIN),
        )];
        if has_mbuffer {
            let goal = Goal::AtLeast(MBUFFER_RATIO_MIN);
            rows.push(row("whole process, `mbuffer`", &mbuffer, goal));
        }
        Ok(rows)
    }

    /// A figure of our build and of the other one, if there is one, A B B A.
    fn in_turns(
        &self,
        rounds: usize,
        one: impl Fn(&Path) -> anyhow::Result<f64>,
    ) -> anyhow::Result<(Vec<f64>, Option<Vec<f64>>)> {
        let binaries = [Some(&self.setting.sustain), self.setting.baseline.as_ref()];
        let mut figures = [Vec::new(), Vec::new()];
        for round in 0..rounds {
            let order = if round.is_multiple_of(2) {
                [0, 1]
            } else {
                [1, 0]
            };
            for side in order {
                if let Some(binary) = binaries[side] {
                    figures[side].push(one(binary)?);
                }
            }
        }
        let [ours, theirs] = figures;
        Ok((ours, self.setting.baseline.is_some().then_some(theirs)))
    }

    fn record(&self, binary: &Path, buffer_bytes: u64, bytes: u64) -> anyhow::Result<Fed> {
        store_tool::create(&[self.file.path()], &[], self.setting)?;
        let mut command = Command::new(binary);
        command.arg("record").arg(self.file.path());
        command.args(["--buffer", &buffer_bytes.to_string()]);
        let fed = process::run_fed(command, None, &self.source, bytes, self.setting)?;
        if fed.bytes < bytes {
            bail!("only {} of {bytes} bytes were taken", fed.bytes);
        }
        Ok(fed)
    }

    fn whole_record(&self) -> anyhow::Result<f64> {
        let bytes = self.setting.effort.stream_bytes;
        let fed = self.record(&self.setting.sustain, BUFFER_BYTES, bytes)?;
        Ok(bytes as f64 / fed.used.wall_s)
    }

    fn whole_mbuffer(&self) -> anyhow::Result<f64> {
        let output = File::options().write(true).open(self.file.path());
        let output = output.context("cannot open the file that was written")?;
        let mut command = Command::new("mbuffer");
        let memory = format!("{}M", BUFFER_BYTES >> 20);
        command.args(["-q", "-s", "1M", "-m", &memory, "-o", "/dev/fd/1"]);
        self.whole(command, Some(output))
    }

    fn whole(&self, command: Command, output: Option<File>) -> anyhow::Result<f64> {
        let bytes = self.setting.effort.stream_bytes;
        let fed = process::run_fed(command, output, &self.source, bytes, self.setting)?;
        if fed.bytes < bytes {
            bail!("only {} of {bytes} bytes were taken", fed.bytes);
        }
        Ok(bytes as f64 / fed.used.wall_s)
    }
}

/// Into the same file, which keeps its size, so that it need not be allocated again.
fn dd_command(file: &Path) -> Command {
    let mut command = Command::new("dd");
    command
        .arg(format!("of={}", file.display()))
        .args(["bs=1M", "iflag=fullblock", "oflag=direct"])
        .args(["conv=fdatasync,notrunc", "status=none"]);
    command
}
