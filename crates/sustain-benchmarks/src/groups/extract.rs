//! What was recorded, given back, checked and found: against reading the member as it is.

use std::path::Path;
use std::process::Command;

use anyhow::Context;
use sustain::disk::units::Size;
use tempfile::Builder;

use super::rows::{rate, rate_row};
use crate::group::Group;
use crate::pairs::{Side, compare};
use crate::places::{self, LoopDevice, WrittenFile};
use crate::process;
use crate::progress::progress;
use crate::roles;
use crate::setting::Setting;
use crate::source::{Pouring, Source};
use crate::statistics::Median;
use crate::table::{Goal, Row, Section, Verdict};
use crate::tools::store_tool::{self, Recording};
use crate::tools::{Interface, Way, Work, sustain_tool};

/// What a store takes besides the stream.
const BESIDES_BYTES: u64 = 256 << 20;
const RATIO_MIN: f64 = 0.90;
const MIB_BYTES: u64 = 1 << 20;
/// Divided into slots of 64 KiB this gives a million.
const LARGE_BYTES: u64 = 64 << 30;
const SLOT_BYTES: u64 = 64 << 10;
const LARGE_STREAM_BYTES: u64 = 512 << 20;

/// A recording in a file, and how long its stream is.
struct Recorded<'a> {
    file: WrittenFile,
    stream_bytes: u64,
    setting: &'a Setting,
}

pub(super) fn run(setting: &Setting) -> anyhow::Result<Section> {
    let source = Source::new(Pouring::Splice)?;
    let recorded = Recorded::make(&source, setting)?;
    let goal = Goal::AtLeast(RATIO_MIN);
    let pairs = setting.effort.extract_pairs;
    let to_pipe = compare(pairs, |side| recorded.to_pipe(side))?;
    let to_pipe = rate_row("`extract` into a pipe".to_owned(), &to_pipe, goal);
    let to_file = compare(pairs, |side| recorded.to_file(side))?;
    let to_file = rate_row("`extract` into a new file".to_owned(), &to_file, goal);
    let verify = compare(pairs, |side| recorded.verify(side))?;
    let verify = Row::shown("`verify`".to_owned(), &verify, rate);
    progress(&verify.line());
    drop(recorded);
    let mut rows = vec![to_pipe, to_file, verify];
    let mut notes = vec![format!(
        "{} MiB each time. The other reads the same member: `dd iflag=direct bs=1M` beside \
         `extract`, `sustain measure --read` beside `verify`.",
        setting.effort.stream_bytes / 2 / MIB_BYTES
    )];
    if let Some(why) = places::refused() {
        notes.push(format!("No store of a million slots: {why}."));
    } else {
        rows.extend(open_large(&source, setting)?);
    }
    Ok(Section {
        name: Group::Extract.name(),
        columns: ["", "sustain", "direct read", "ratio [95 %]"],
        rows,
        notes,
    })
}

impl Recorded<'_> {
    fn make<'a>(source: &Source, setting: &'a Setting) -> anyhow::Result<Recorded<'a>> {
        let stream_bytes = setting.effort.stream_bytes / 2;
        let file_bytes = stream_bytes + BESIDES_BYTES;
        let file = WrittenFile::new(&setting.directory, file_bytes, &setting.interrupt)?;
        store_tool::create(&[file.path()], &[], setting)?;
        store_tool::record(recording(&[file.path()]), source, stream_bytes, setting)?;
        Ok(Recorded {
            file,
            stream_bytes,
            setting,
        })
    }

    /// From the start of the program that reads to the end of the one that throws away.
    fn to_pipe(&self, side: Side) -> anyhow::Result<f64> {
        let from = match side {
            Side::Ours => store_tool::extract_command(&[self.file.path()], self.setting),
            Side::Theirs => self.dd(),
        };
        let elapsed_s = process::run_into(from, roles::command("discard")?, self.setting)?;
        Ok(self.stream_bytes as f64 / elapsed_s)
    }

    fn to_file(&self, side: Side) -> anyhow::Result<f64> {
        let directory = Builder::new()
            .prefix("sustain-benchmarks-")
            .tempdir_in(&self.setting.directory)
            .context("cannot make a directory")?;
        let output = directory.path().join("stream");
        let mut command = match side {
            Side::Ours => {
                let mut command = store_tool::extract_command(&[self.file.path()], self.setting);
                command.arg("-o").arg(&output);
                command
            }
            Side::Theirs => {
                let mut command = self.dd();
                command.arg(format!("of={}", output.display()));
                command
            }
        };
        let scratch = self.setting.scratch();
        let used = process::run(&mut command, scratch, &self.setting.interrupt)?;
        let written_bytes = output.metadata().context("nothing was written")?.len();
        anyhow::ensure!(
            written_bytes == self.stream_bytes,
            "{written_bytes} of {} bytes were written",
            self.stream_bytes
        );
        Ok(self.stream_bytes as f64 / used.wall_s)
    }

    /// As many bytes of the member as the stream has.
    fn dd(&self) -> Command {
        let mut command = Command::new("dd");
        command
            .arg(format!("if={}", self.file.path().display()))
            .args(["iflag=direct", "bs=1M", "status=none"])
            .arg(format!("count={}", self.stream_bytes / MIB_BYTES));
        command
    }

    fn verify(&self, side: Side) -> anyhow::Result<f64> {
        if side == Side::Ours {
            return store_tool::verify(self.file.path(), self.setting);
        }
        let work = Work {
            path: self.file.path(),
            way: Way::Read,
            interface: Interface::IoUring,
            record_bytes: MIB_BYTES,
            depth: 8,
            size_bytes: self.stream_bytes,
            time_s: self.setting.effort.run_s,
        };
        Ok(sustain_tool::run(&work, self.setting)?.rate_bytes_per_s)
    }
}

fn recording<'a>(members: &'a [&'a Path]) -> Recording<'a> {
    Recording {
        members,
        ring: false,
        buffer_bytes: None,
        time_s: None,
    }
}

/// How long it takes to find out what is on a store of a million slots: of a recording that ended
/// in order, and of one that a crash ended.
fn open_large(source: &Source, setting: &Setting) -> anyhow::Result<[Row; 2]> {
    let device = LoopDevice::sparse(&setting.directory, LARGE_BYTES)?;
    let members = [device.path()];
    let slot = SLOT_BYTES.to_string();
    store_tool::create(&members, &["--slot", &slot], setting)?;
    store_tool::record(recording(&members), source, LARGE_STREAM_BYTES, setting)?;
    let ended = opening_row("after an end in order", &device, false, setting)?;
    store_tool::record_and_kill(recording(&members), source, LARGE_STREAM_BYTES, setting)?;
    let killed = opening_row("after a crash", &device, true, setting)?;
    Ok([ended, killed])
}

fn opening_row(
    when: &str,
    device: &LoopDevice,
    has_open_end: bool,
    setting: &Setting,
) -> anyhow::Result<Row> {
    let mut times_s = Vec::new();
    for _ in 0..setting.effort.extract_pairs {
        times_s.push(store_tool::list(device.path(), has_open_end, setting)?);
    }
    let Median {
        value, low, high, ..
    } = Median::of(&times_s);
    let row = Row::alone(
        &format!(
            "`list`, {} in slots of {}, {when}",
            Size(LARGE_BYTES),
            Size(SLOT_BYTES)
        ),
        format!("{value:.3} s [{low:.3}, {high:.3}]"),
        String::new(),
        Verdict::None,
    );
    progress(&row.line());
    Ok(row)
}
