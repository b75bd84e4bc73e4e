//! Recording from a pipe: against what the pipe and the disk give at most, against the least that
//! one could write by hand, and against what people do today with a stream.

use std::fs::File;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, bail};
use tempfile::{Builder, TempPath};

use super::rows::{is_there, rate, rate_row};
use crate::group::Group;
use crate::pairs::Compared;
use crate::places::WrittenFile;
use crate::process;
use crate::progress::progress;
use crate::roles::{self, BarelyWritten};
use crate::setting::Setting;
use crate::source::{Pouring, Source};
use crate::table::{Goal, Row, Section, Verdict};
use crate::tools::store_tool::{self, Recording};
use crate::tools::{Interface, Way, Work, sustain_tool};

/// What a store takes besides the stream: a block or two per MiB, rests of slots, superblocks.
const BESIDES_BYTES: u64 = 256 << 20;
/// What `dd` and `mbuffer` write at once.
const BLOCK: &str = "1M";
/// As much as `sustain` has by itself.
const MBUFFER_MEMORY: &str = "512M";
/// Ends a measurement on a disk on which the bytes would take longer; its rate is known by then.
const MEASURE_S_MAX: u64 = 9;
/// Making the data takes its time in between; so many keep the disk busy meanwhile.
const REWRITTEN_DEPTH: u32 = 32;
const LIMIT_RATIO_MIN: f64 = 0.90;
const DD_RATIO_MIN: f64 = 1.30;
const MBUFFER_RATIO_MIN: f64 = 1.50;

/// Who takes the stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Taker {
    Record,
    Bare,
    Discard,
    Measure,
    MeasureRewritten,
    RecordWritten,
    DiscardWritten,
    Dd,
    Mbuffer,
    Cat,
}

const TAKERS: [Taker; 10] = [
    Taker::Record,
    Taker::Bare,
    Taker::Discard,
    Taker::Measure,
    Taker::MeasureRewritten,
    Taker::RecordWritten,
    Taker::DiscardWritten,
    Taker::Dd,
    Taker::Mbuffer,
    Taker::Cat,
];

/// What they have in common.
struct Bench<'a> {
    file: WrittenFile,
    file_bytes: u64,
    spliced: Source,
    written: Source,
    setting: &'a Setting,
}

/// Rates, round by round.
#[derive(Debug, Default)]
struct Rates([Vec<f64>; TAKERS.len()]);

pub(super) fn run(setting: &Setting) -> anyhow::Result<Section> {
    let file_bytes = setting.effort.stream_bytes + BESIDES_BYTES;
    let bench = Bench {
        file: WrittenFile::new(&setting.directory, file_bytes, &setting.interrupt)?,
        file_bytes,
        spliced: Source::new(Pouring::Splice)?,
        written: Source::new(Pouring::Write)?,
        setting,
    };
    let has_mbuffer = is_there("mbuffer");
    let mut rates = Rates::default();
    for round in 0..setting.effort.stream_rounds {
        // Each round in the other direction, so that a drift falls on all alike.
        let mut turns = TAKERS.to_vec();
        if !round.is_multiple_of(2) {
            turns.reverse();
        }
        turns.retain(|taker| has_mbuffer || *taker != Taker::Mbuffer);
        for taker in turns {
            let rate_bytes_per_s = bench.rate_of(taker)?;
            rates.0[taker as usize].push(rate_bytes_per_s);
        }
    }
    let mut notes = vec![format!(
        "{} MiB each time, {} rounds. Best of all rounds: record {}, pipe {}; by `write`: record \
         {}, pipe {}; disk {}, every byte new {}.",
        setting.effort.stream_bytes >> 20,
        setting.effort.stream_rounds,
        rate(rates.best(Taker::Record)),
        rate(rates.best(Taker::Discard)),
        rate(rates.best(Taker::RecordWritten)),
        rate(rates.best(Taker::DiscardWritten)),
        rate(rates.best(Taker::Measure)),
        rate(rates.best(Taker::MeasureRewritten)),
    )];
    if !has_mbuffer {
        let note = "No comparison with mbuffer: install the package `mbuffer`.";
        progress(&format!("  {note}"));
        notes.push(note.to_owned());
    }
    Ok(Section {
        name: Group::RecordStdin.name(),
        columns: ["", "sustain record", "other", "ratio [95 %]"],
        rows: rates.rows(has_mbuffer),
        notes,
    })
}

impl Bench<'_> {
    fn rate_of(&self, taker: Taker) -> anyhow::Result<f64> {
        match taker {
            Taker::Record => self.record(&self.spliced),
            Taker::Bare => self.bare(),
            Taker::Discard => self.discard(&self.spliced),
            Taker::RecordWritten => self.record(&self.written),
            Taker::DiscardWritten => self.discard(&self.written),
            Taker::Measure => self.measure(8, "fresh"),
            Taker::MeasureRewritten => self.measure(REWRITTEN_DEPTH, "rewritten"),
            Taker::Dd => self.dd(),
            Taker::Mbuffer => self.mbuffer(),
            Taker::Cat => self.cat(),
        }
    }

    fn record(&self, source: &Source) -> anyhow::Result<f64> {
        let members = [self.file.path()];
        // The others have overwritten it.
        store_tool::create(&members, &[], self.setting)?;
        let recording = Recording {
            members: &members,
            ring: false,
            buffer_bytes: None,
            time_s: None,
        };
        let bytes = self.setting.effort.stream_bytes;
        let recorded = store_tool::record(recording, source, bytes, self.setting)?;
        Ok(recorded.bytes as f64 / recorded.own_s)
    }

    /// By its own account, as `sustain record`: both leave out their start-up.
    fn bare(&self) -> anyhow::Result<f64> {
        let json = self.setting.scratch().join("bare.json");
        let mut command = roles::command("bare")?;
        command.arg(self.file.path()).arg("--json").arg(&json);
        self.fed(command, None, &self.spliced)?;
        let written: BarelyWritten = serde_json::from_str(&std::fs::read_to_string(&json)?)?;
        Ok(written.bytes as f64 / written.seconds)
    }

    fn discard(&self, source: &Source) -> anyhow::Result<f64> {
        self.fed(roles::command("discard")?, None, source)
    }

    fn measure(&self, depth: u32, data: &str) -> anyhow::Result<f64> {
        let work = Work {
            path: self.file.path(),
            way: Way::Write,
            interface: Interface::IoUring,
            record_bytes: 1 << 20,
            depth,
            size_bytes: self.file_bytes,
            time_s: MEASURE_S_MAX,
        };
        let bytes = self.setting.effort.stream_bytes.to_string();
        let more = ["--bytes", &bytes, "--data", data];
        let several = sustain_tool::run_with(&work, &[work.path], &more, self.setting)?;
        Ok(several.done.rate_bytes_per_s)
    }

    /// Into the same file, which keeps its size, so that it need not be allocated again.
    fn dd(&self) -> anyhow::Result<f64> {
        let mut command = Command::new("dd");
        command
            .arg(format!("of={}", self.file.path().display()))
            .arg(format!("bs={BLOCK}"))
            .args(["iflag=fullblock", "oflag=direct", "conv=fdatasync,notrunc"])
            .arg("status=none");
        self.fed(command, None, &self.spliced)
    }

    /// Past the page cache and with a flush at the end, which are its defaults. With `-f` it would
    /// truncate a file that it opens by name.
    fn mbuffer(&self) -> anyhow::Result<f64> {
        let output = File::options().write(true).open(self.file.path());
        let output = output.context("cannot open the file that was written")?;
        let mut command = Command::new("mbuffer");
        command.args(["-q", "-s", BLOCK, "-m", MBUFFER_MEMORY, "-o", "/dev/fd/1"]);
        self.fed(command, Some(output), &self.spliced)
    }

    /// Into a new file, as in a shell.
    fn cat(&self) -> anyhow::Result<f64> {
        let file: TempPath = Builder::new()
            .prefix("sustain-benchmarks-")
            .tempfile_in(&self.setting.directory)
            .context("cannot make a file")?
            .into_temp_path();
        let path: &Path = &file;
        let mut command = Command::new("sh");
        command
            .args(["-c", "cat > \"$1\" && sync \"$1\"", "sh"])
            .arg(path);
        self.fed(command, None, &self.spliced)
    }

    fn fed(&self, command: Command, output: Option<File>, source: &Source) -> anyhow::Result<f64> {
        let bytes = self.setting.effort.stream_bytes;
        let fed = process::run_fed(command, output, source, bytes, self.setting)?;
        if fed.bytes < bytes {
            bail!("only {} of {bytes} bytes were taken", fed.bytes);
        }
        Ok(bytes as f64 / fed.elapsed_s)
    }
}

impl Rates {
    fn of(&self, taker: Taker) -> &[f64] {
        &self.0[taker as usize]
    }

    fn best(&self, taker: Taker) -> f64 {
        self.of(taker).iter().copied().fold(0.0, f64::max)
    }

    fn compared(&self, taker: Taker) -> Compared {
        Compared::of(self.of(Taker::Record), self.of(taker))
    }

    fn best_row(&self, how: &str, ours: Taker, pipe: Taker) -> Row {
        let best = self.best(ours);
        let limit = self.best(pipe).min(self.best(Taker::Measure));
        Row {
            what: format!("best against the lower limit's best{how}"),
            ours: rate(best),
            other: rate(limit),
            ratio: format!("{:.3}", best / limit),
            goal: Goal::AtLeast(LIMIT_RATIO_MIN).text(),
            verdict: Verdict::of(best / limit >= LIMIT_RATIO_MIN),
        }
    }

    fn rows(&self, has_mbuffer: bool) -> Vec<Row> {
        let mut rows = vec![
            self.best_row("", Taker::Record, Taker::Discard),
            self.best_row(", by `write`", Taker::RecordWritten, Taker::DiscardWritten),
        ];
        for (what, taker) in [
            ("the pipe, read and thrown away", Taker::Discard),
            ("the disk, `sustain measure --write`", Taker::Measure),
            (
                "the disk, `sustain measure --write --data rewritten`",
                Taker::MeasureRewritten,
            ),
            ("a bare loop: read, CRC, write", Taker::Bare),
            ("`cat > file && sync file`", Taker::Cat),
        ] {
            rows.push(Row::shown(what.to_owned(), &self.compared(taker), rate));
        }
        rows.iter().for_each(|row| progress(&row.line()));
        let dd = self.compared(Taker::Dd);
        let goal = Goal::AtLeast(DD_RATIO_MIN);
        rows.push(rate_row("`dd oflag=direct bs=1M`".to_owned(), &dd, goal));
        if has_mbuffer {
            let mbuffer = self.compared(Taker::Mbuffer);
            let goal = Goal::AtLeast(MBUFFER_RATIO_MIN);
            rows.push(rate_row("`mbuffer`".to_owned(), &mbuffer, goal));
        }
        rows
    }
}
