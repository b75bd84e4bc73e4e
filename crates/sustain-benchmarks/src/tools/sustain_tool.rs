//! Gives work to the release build of `sustain`, and reads its JSON.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, bail};
use sustain::document::measure::{MeasureResult, TargetResult};

use super::{Done, Way, Work};
use crate::process::{self, Used};
use crate::setting::Setting;

/// `sustain` watches an idle system for one second before and one after a short run, two each for
/// a longer one.
const SHORT_RUN_S: u64 = 10;
const SETTLES_S: f64 = 1.0;
const ENDS_S: f64 = 0.5;

/// The release build of `sustain`, which cargo puts beside this program.
pub(crate) fn find() -> anyhow::Result<PathBuf> {
    let own = std::env::current_exe().context("cannot tell where this program lies")?;
    let path = own.with_file_name("sustain");
    if !path.is_file() {
        bail!(
            "{} is not there: build it first, cargo build --release",
            path.display()
        );
    }
    Ok(path)
}

/// What several targets did at once.
#[derive(Debug)]
pub(crate) struct Several {
    /// All together.
    pub(crate) done: Done,
    /// In the order given.
    pub(crate) rates_bytes_per_s: Vec<f64>,
    /// The same without the beginning and the last moments.
    pub(crate) settled_bytes_per_s: Vec<f64>,
    /// What the process took besides measuring and watching an idle system.
    pub(crate) start_up_s: f64,
}

/// Runs the work.
pub(crate) fn run(work: &Work<'_>, setting: &Setting) -> anyhow::Result<Done> {
    Ok(run_several(work, &[work.path], setting)?.done)
}

/// Runs the work on all `paths` at once.
pub(crate) fn run_several(
    work: &Work<'_>,
    paths: &[&Path],
    setting: &Setting,
) -> anyhow::Result<Several> {
    run_with(work, paths, &[], setting)
}

/// Runs the work on all `paths` at once, with more arguments.
pub(crate) fn run_with(
    work: &Work<'_>,
    paths: &[&Path],
    more: &[&str],
    setting: &Setting,
) -> anyhow::Result<Several> {
    let result_path = setting.scratch().join("sustain.json");
    let mut command = Command::new(&setting.sustain);
    command.arg("measure").args(paths);
    command.args(arguments(work)).args(more);
    if work.way == Way::Write {
        for path in paths {
            command.arg("--destroy").arg(path);
        }
    }
    command.arg("--json").arg(&result_path);
    let used = process::run(&mut command, setting.scratch(), &setting.interrupt)?;
    let text = std::fs::read_to_string(&result_path).context("sustain wrote no result")?;
    let result: MeasureResult = serde_json::from_str(&text)
        .context("sustain's result has another form: build both anew, cargo build --release")?;
    Ok(several(&result, work, used))
}

fn arguments(work: &Work<'_>) -> Vec<String> {
    let mut arguments: Vec<String> = [
        "--record-size",
        &work.record_bytes.to_string(),
        "--depth",
        &work.depth.to_string(),
        "--size",
        &work.size_bytes.to_string(),
        "--time",
        &format!("{}s", work.time_s),
        "--engine",
        work.interface.name(),
        "--no-prewrite",
        "--no-confirm",
    ]
    .map(str::to_owned)
    .to_vec();
    arguments.push(format!("--{}", work.way.name()));
    arguments
}

fn several(result: &MeasureResult, work: &Work<'_>, used: Used) -> Several {
    let idle_s = if work.time_s < SHORT_RUN_S { 2.0 } else { 4.0 };
    Several {
        done: Done {
            bytes: result.total.bytes,
            rate_bytes_per_s: result.total.wall_clock_bytes_per_s,
            used,
        },
        rates_bytes_per_s: result
            .targets
            .iter()
            .map(|target| target.rate_bytes_per_s)
            .collect(),
        settled_bytes_per_s: result.targets.iter().map(settled).collect(),
        start_up_s: used.wall_s - result.total.seconds - idle_s,
    }
}

/// What a target gave without its first second, in which a throttled device lets more through, and
/// without its last moments.
fn settled(target: &TargetResult) -> f64 {
    let until_s = target.seconds - ENDS_S;
    let intervals = target.intervals.iter();
    let settled = intervals.filter(|one| one.start_s >= SETTLES_S && one.end_s <= until_s);
    let (bytes, seconds) = settled.fold((0, 0.0), |(bytes, seconds), one| {
        (bytes + one.bytes, seconds + one.end_s - one.start_s)
    });
    bytes as f64 / seconds
}
