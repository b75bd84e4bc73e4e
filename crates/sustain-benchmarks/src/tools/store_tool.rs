//! Gives stores to the release build of `sustain`: makes them, records on them, reads them back.

use std::io::PipeWriter;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, bail};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use sustain::document::record::RecordResult;
use sustain::document::repair::RepairDocument;

use crate::process::{self, Used};
use crate::setting::Setting;
use crate::source::Source;

const REPAIR_JSON: &str = "repair.json";

/// How it is recorded.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Recording<'a> {
    pub(crate) members: &'a [&'a Path],
    pub(crate) ring: bool,
    /// Else as `sustain` has it.
    pub(crate) buffer_bytes: Option<u64>,
    /// Else to the source's end.
    pub(crate) time_s: Option<u64>,
}

/// What came of it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Recorded {
    /// What is on the members of the stream.
    pub(crate) bytes: u64,
    /// From before its first byte to after its last flush, by its own account: it then watches the
    /// idle machine for a while, so its end says nothing.
    pub(crate) own_s: f64,
    /// The fullest that its buffer was seen, from 0 to 1.
    pub(crate) buffer_fill_max: f64,
    pub(crate) used: Used,
}

/// What `sustain verify` says, of which we need this.
#[derive(Debug, Clone, Copy, Deserialize)]
struct Verified {
    ok: bool,
    checked_bytes: u64,
}

/// What `sustain list` says, of which we need this.
#[derive(Debug, Deserialize)]
struct Listed {
    recordings: Vec<ListedRecording>,
}

#[derive(Debug, Deserialize)]
struct ListedRecording {
    ended: Option<String>,
}

/// Makes a store of `members`, whatever is on them. Files that were written once stay so.
pub(crate) fn create(members: &[&Path], flags: &[&str], setting: &Setting) -> anyhow::Result<()> {
    let mut command = sustain("create", members, setting);
    command.arg("--no-prewrite").args(flags);
    for member in members {
        command.arg("--destroy").arg(member);
    }
    process::run(&mut command, setting.scratch(), &setting.interrupt)?;
    Ok(())
}

/// Records what `source` gives, at most `bytes`.
pub(crate) fn record(
    recording: Recording<'_>,
    source: &Source,
    bytes: u64,
    setting: &Setting,
) -> anyhow::Result<Recorded> {
    let mut command = record_command(recording, setting);
    let json = setting.scratch().join("record.json");
    command.arg("--json").arg(&json);
    let fed = process::run_fed(command, None, source, bytes, setting)?;
    let result: RecordResult = read(&json)?;
    let [stream] = result.streams.as_slice() else {
        bail!("one stream was recorded, and sustain tells of others");
    };
    if recording.time_s.is_none() && stream.recorded_bytes != fed.bytes {
        let recorded = stream.recorded_bytes;
        bail!("{recorded} of {} bytes were recorded", fed.bytes);
    }
    let fills = result.samples.iter().map(|sample| sample.buffer_fill);
    Ok(Recorded {
        bytes: stream.recorded_bytes,
        own_s: result.seconds,
        buffer_fill_max: fills.fold(0.0, f64::max),
        used: fed.used,
    })
}

/// Records what `feed` puts into its pipe, which is closed with it, and gives both accounts.
pub(crate) fn record_fed<T: Send>(
    recording: Recording<'_>,
    (flags, exit_codes): (&[&str], &[i32]),
    feed: impl FnOnce(PipeWriter) -> anyhow::Result<T> + Send,
    setting: &Setting,
) -> anyhow::Result<(T, RecordResult)> {
    let mut command = record_command(recording, setting);
    let json = setting.scratch().join("record.json");
    command.arg("--json").arg(&json).args(flags);
    let fed = process::run_beside(command, exit_codes, feed, setting)?;
    Ok((fed, read(&json)?))
}

/// Records so many bytes and is killed then, so that the recording has an open end.
pub(crate) fn record_and_kill(
    recording: Recording<'_>,
    source: &Source,
    bytes: u64,
    setting: &Setting,
) -> anyhow::Result<()> {
    let command = record_command(recording, setting);
    process::run_fed_and_kill(command, source, bytes, setting)
}

/// The command that gives the newest recording's only stream back, to be told where.
pub(crate) fn extract_command(members: &[&Path], setting: &Setting) -> Command {
    sustain("extract", members, setting)
}

/// Rebuilds the member that is not among `members` onto `onto`; the answer is the rate, over the
/// whole run of the program.
pub(crate) fn repair(members: &[&Path], onto: &Path, setting: &Setting) -> anyhow::Result<f64> {
    let mut command = repair_command(members, onto, setting);
    let used = process::run(&mut command, setting.scratch(), &setting.interrupt)?;
    Ok(rebuilt_bytes(setting)? as f64 / used.wall_s)
}

/// The command that does so.
pub(crate) fn repair_command(members: &[&Path], onto: &Path, setting: &Setting) -> Command {
    let mut command = sustain("repair", members, setting);
    command.arg("--same-disk");
    command.arg("--onto").arg(onto).arg("--destroy").arg(onto);
    command
        .arg("--json")
        .arg(setting.scratch().join(REPAIR_JSON));
    command
}

/// What the last repair has put on its member, of data and of parity. Not all members have alike.
pub(crate) fn rebuilt_bytes(setting: &Setting) -> anyhow::Result<u64> {
    let repaired: RepairDocument = read(&setting.scratch().join(REPAIR_JSON))?;
    Ok(repaired.data.bytes + repaired.parity.bytes)
}

/// Checks all that is recorded; the answer is the rate, over the whole run of the program.
pub(crate) fn verify(member: &Path, setting: &Setting) -> anyhow::Result<f64> {
    let json = setting.scratch().join("verify.json");
    let mut command = sustain("verify", &[member], setting);
    command.arg("--json").arg(&json);
    let used = process::run(&mut command, setting.scratch(), &setting.interrupt)?;
    let verified: Verified = read(&json)?;
    if !verified.ok {
        bail!("sustain verify found flaws in what was recorded just now");
    }
    Ok(verified.checked_bytes as f64 / used.wall_s)
}

/// Lists what is recorded; the answer is how long that took. The newest recording must have ended
/// in order, or not, as `has_open_end` says.
pub(crate) fn list(member: &Path, has_open_end: bool, setting: &Setting) -> anyhow::Result<f64> {
    let json = setting.scratch().join("list.json");
    let mut command = sustain("list", &[member], setting);
    command.arg("--json").arg(&json);
    let used = process::run(&mut command, setting.scratch(), &setting.interrupt)?;
    let listed: Listed = read(&json)?;
    let newest = listed.recordings.last().context("nothing is recorded")?;
    if newest.ended.is_none() != has_open_end {
        bail!("sustain list tells of another end: {:?}", newest.ended);
    }
    Ok(used.wall_s)
}

fn sustain(name: &str, members: &[&Path], setting: &Setting) -> Command {
    let mut command = Command::new(&setting.sustain);
    command.arg(name).args(members);
    command
}

fn record_command(recording: Recording<'_>, setting: &Setting) -> Command {
    let mut command = sustain("record", recording.members, setting);
    if recording.ring {
        command.arg("--ring");
    }
    if let Some(buffer_bytes) = recording.buffer_bytes {
        command.args(["--buffer", &buffer_bytes.to_string()]);
    }
    if let Some(time_s) = recording.time_s {
        command.args(["--time", &format!("{time_s}s")]);
    }
    command
}

fn read<T: DeserializeOwned>(path: &Path) -> anyhow::Result<T> {
    let text = std::fs::read_to_string(path).context("sustain wrote no result")?;
    // The next run must not be taken for this one.
    std::fs::remove_file(path).context("cannot remove a result")?;
    serde_json::from_str(&text)
        .context("sustain's result has another form: build both anew, cargo build --release")
}
