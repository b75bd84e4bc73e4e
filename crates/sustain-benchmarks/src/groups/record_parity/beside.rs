//! A member that has died is rebuilt while a paced recording goes on over the others.

use std::io::{BufRead, BufReader, PipeWriter};
use std::path::Path;
use std::process::{Child, ChildStderr, Stdio};

use anyhow::{Context, bail};
use sustain::disk::clock::Clock;
use sustain::record::repair::SETTLED_AFTER_NS;

use super::members::{EQUAL_BYTES_PER_S, Members};
use crate::groups::rows::rate_row;
use crate::pairs::Compared;
use crate::places::LoopDevice;
use crate::progress::progress;
use crate::setting::Setting;
use crate::source::{Pouring, Source};
use crate::table::{Goal, Row, Verdict};
use crate::tools::store_tool::{self, Recording};

const PACE_BYTES_PER_S: u64 = 150_000_000;
/// What is recorded before the death.
const BEFORE_BYTES: u64 = 900_000_000;
/// And from then on before the repair begins.
const NOTICED_BYTES: u64 = 150_000_000;
/// Of what a disk leaves: a throttled device limits reads by themselves, so that is all of them.
const RATIO_MIN: f64 = 0.9;
const LEFT_BYTES_PER_S: f64 = EQUAL_BYTES_PER_S[0] as f64;

pub(super) fn run(setting: &Setting) -> anyhow::Result<Vec<Row>> {
    let source = Source::new(Pouring::Splice)?;
    let (mut rates, mut lost_bytes) = (Vec::new(), 0);
    for _ in 0..setting.effort.cpu_rounds {
        let (rate, lost) = rebuild(&source, setting)?;
        rates.push(rate);
        lost_bytes += lost;
    }
    let left = vec![LEFT_BYTES_PER_S; rates.len()];
    let what = "equal, p = 1: `repair` beside a paced recording, against what one disk writes";
    let compared = Compared::of(&rates, &left);
    let rate = rate_row(what.to_owned(), &compared, Goal::AtLeast(RATIO_MIN));
    let lost = Row::alone(
        "equal, p = 1: bytes that the recording loses beside `repair`",
        lost_bytes.to_string(),
        "0".to_owned(),
        Verdict::of(lost_bytes == 0),
    );
    progress(&lost.line());
    Ok(vec![rate, lost])
}

/// The rate at which the first member is rebuilt, and what the recording loses.
fn rebuild(source: &Source, setting: &Setting) -> anyhow::Result<(f64, u64)> {
    let members = Members::new(&EQUAL_BYTES_PER_S, setting)?;
    members.create(1, setting)?;
    let onto = members.spare(EQUAL_BYTES_PER_S[0], setting)?;
    let paths = members.paths();
    let recording = Recording {
        members: &paths,
        ring: false,
        buffer_bytes: None,
        time_s: None,
    };
    let dies: &LoopDevice = &members.devices[0];
    let paced = |pipe: &PipeWriter, bytes: u64| {
        source.pour_paced(pipe, bytes, PACE_BYTES_PER_S, &setting.interrupt)
    };
    let feed = |pipe: PipeWriter| {
        paced(&pipe, BEFORE_BYTES)?;
        dies.kill()?;
        paced(&pipe, NOTICED_BYTES)?;
        rebuild_beside(&paths[1..], onto.path(), setting, || {
            paced(&pipe, PACE_BYTES_PER_S / 10)
        })
    };
    // A member that fails is told by the exit code.
    let ((mut repair, elapsed_s), result) =
        store_tool::record_fed(recording, (&[], &[1]), feed, setting)?;
    if !repair.wait()?.success() {
        bail!("sustain repair failed");
    }
    let rate = store_tool::rebuilt_bytes(setting)? as f64 / elapsed_s;
    let streams = result.streams.iter();
    Ok((rate, streams.map(|stream| stream.gap_bytes).sum()))
}

/// Begins to rebuild, and calls `go_on` until all that can be is rebuilt; the answer is how long
/// that took, without the time until groups are settled.
fn rebuild_beside(
    members: &[&Path],
    onto: &Path,
    setting: &Setting,
    mut go_on: impl FnMut() -> anyhow::Result<()>,
) -> anyhow::Result<(Child, f64)> {
    let mut command = store_tool::repair_command(members, onto, setting);
    let mut repair = command.stderr(Stdio::piped()).spawn()?;
    let said = repair.stderr.take().context("it has no standard error")?;
    let elapsed_s = std::thread::scope(|scope| {
        let listening = scope.spawn(|| elapsed_s(said));
        while !listening.is_finished() {
            go_on()?;
        }
        let heard = listening.join();
        heard.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })?;
    Ok((repair, elapsed_s))
}

fn elapsed_s(said: ChildStderr) -> anyhow::Result<f64> {
    let mut lines = BufReader::new(said).lines().map_while(Result::ok);
    let mut heard_at = |words: &str| {
        let heard = lines.any(|line| line.contains(words));
        heard
            .then(|| Clock::Real.now())
            .with_context(|| format!("sustain repair never says: {words}"))
    };
    let begun_at = heard_at("being recorded to")? + SETTLED_AFTER_NS;
    Ok(heard_at("waiting for the recording")?.since_s(begun_at))
}
