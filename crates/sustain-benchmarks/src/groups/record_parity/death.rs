//! One of five members dies while a source gives all that they take.

use std::io::PipeWriter;
use std::path::Path;

use anyhow::{Context, ensure};
use sustain::document::record::{RecordResult, SampleResult};
use tempfile::Builder;

use super::members::{EQUAL_BYTES_PER_S, MEMBERS, Members, measure, most};
use crate::groups::rows::rate_row;
use crate::pairs::Compared;
use crate::places::{LoopDevice, MEMORY_DIRECTORY};
use crate::process;
use crate::progress::progress;
use crate::setting::Setting;
use crate::source::{Pouring, Source};
use crate::table::{Goal, Row, Verdict};
use crate::tools::Way;
use crate::tools::store_tool::{self, Recording};

/// Of the rate that the others leave a source.
const RATIO_MIN: f64 = 0.95;
/// What is recorded before the death, and behind it.
const BEFORE_BYTES: u64 = 1_200_000_000;
const BEHIND_BYTES: u64 = 1_500_000_000;
/// What the dead member had in flight is written again meanwhile.
const SETTLES_S: f64 = 1.0;
/// In the last moments the buffer empties, and nobody refills it.
const ENDS_S: f64 = 0.5;

pub(super) fn run(setting: &Setting) -> anyhow::Result<Vec<Row>> {
    let source = Source::new(Pouring::Splice)?;
    let (mut after, mut bound) = (Vec::new(), Vec::new());
    let mut differing_bytes = 0;
    for _ in 0..setting.effort.cpu_rounds {
        let mut members = Members::new(&EQUAL_BYTES_PER_S, setting)?;
        let rest = &members.paths()[1..];
        let alone = measure(rest, Way::Write, &[], setting)?;
        bound.push(most(&alone.settled_bytes_per_s, 1));
        members.create(1, setting)?;
        let result = record_through_death(&members, &source, setting)?;
        after.push(rate_after_death(&result)?);
        // The device that died gives nothing any more.
        members.devices.remove(0);
        differing_bytes += differing(&members.paths(), &source, setting)?;
    }
    let what = "one of five dies: the rate after it, against all that the others allow";
    let compared = Compared::of(&after, &bound);
    let rate = rate_row(what.to_owned(), &compared, Goal::AtLeast(RATIO_MIN));
    let lost = Row::alone(
        "one of five dies: bytes that are lost or wrong",
        differing_bytes.to_string(),
        "0".to_owned(),
        Verdict::of(differing_bytes == 0),
    );
    progress(&lost.line());
    Ok(vec![rate, lost])
}

fn record_through_death(
    members: &Members,
    source: &Source,
    setting: &Setting,
) -> anyhow::Result<RecordResult> {
    let paths = members.paths();
    let recording = Recording {
        members: &paths,
        ring: false,
        buffer_bytes: None,
        time_s: None,
    };
    let dies: &LoopDevice = &members.devices[0];
    let feed = |pipe: PipeWriter| {
        source.pour(&pipe, BEFORE_BYTES, &setting.interrupt)?;
        dies.kill()?;
        source.pour(&pipe, BEHIND_BYTES, &setting.interrupt)
    };
    // A member that fails is told by the exit code.
    let (_, result) = store_tool::record_fed(recording, (&[], &[1]), feed, setting)?;
    Ok(result)
}

/// What the members that were left took of the stream together.
fn rate_after_death(result: &RecordResult) -> anyhow::Result<f64> {
    let samples = &result.samples;
    let offered = |sample: &SampleResult| sample.offered_bytes.iter().sum::<u64>();
    let death = samples.iter().find(|sample| offered(sample) > BEFORE_BYTES);
    let from_s = death.context("sustain recorded too little")?.time_s + SETTLES_S;
    let until_s = samples.last().map_or(0.0, |sample| sample.time_s) - ENDS_S;
    let between = |sample: &&SampleResult| (from_s..until_s).contains(&sample.time_s);
    let mut between = samples.iter().filter(between);
    let first = between.next().context("the recording ended too soon")?;
    let last = between
        .next_back()
        .context("the recording ended too soon")?;
    let written = |sample: &SampleResult| sample.member_bytes[1..].iter().sum::<u64>();
    ensure!(result.members.len() == MEMBERS, "a member is not told");
    Ok((written(last) - written(first)) as f64 / (last.time_s - first.time_s))
}

/// How many bytes of what was recorded are not given back as the source gave them.
fn differing(paths: &[&Path], source: &Source, setting: &Setting) -> anyhow::Result<u64> {
    let directory = Builder::new()
        .prefix("sustain-benchmarks-")
        .tempdir_in(MEMORY_DIRECTORY)
        .context("cannot make a directory")?;
    let output = directory.path().join("stream");
    let mut command = store_tool::extract_command(paths, setting);
    command.arg("-o").arg(&output);
    process::run(&mut command, setting.scratch(), &setting.interrupt)?;
    let given = [BEFORE_BYTES, BEHIND_BYTES];
    source.differing_bytes(&given, &output)
}
