//! What a sweep takes besides measuring: starting, stopping and settling at each point.

use std::path::Path;
use std::process::Command;

use anyhow::Context;
use sustain::document::sweep::SweepResult;

use super::disk::FILE_BYTES;
use crate::group::Group;
use crate::places::WrittenFile;
use crate::process;
use crate::progress::progress;
use crate::setting::Setting;
use crate::table::{Row, Section, Verdict};

const OVERHEAD_MAX: f64 = 0.10;
const AXES: [&str; 6] = [
    "--record-size",
    "64KiB..4MiB",
    "--depth",
    "1..8",
    "--rounds",
    "2",
];

pub(super) fn run(setting: &Setting) -> anyhow::Result<Section> {
    let file = WrittenFile::new(&setting.directory, FILE_BYTES, &setting.interrupt)?;
    let rows = vec![
        row("a file, read", file.path(), &["--read"], setting)?,
        row("a file, written", file.path(), &["--write"], setting)?,
        row("null:", Path::new("null:"), &["--write"], setting)?,
    ];
    Ok(Section {
        name: Group::Sweep.name(),
        columns: ["", "besides measuring", "measuring", ""],
        rows,
        notes: Vec::new(),
    })
}

fn row(what: &str, target: &Path, way: &[&str], setting: &Setting) -> anyhow::Result<Row> {
    let result = sweep(target, way, setting)?;
    let plan = &result.plan;
    let measuring_s = result.measurements.len() as f64 * plan.time_per_point_s;
    let overhead_s = (plan.elapsed_s - measuring_s).max(0.0);
    let share = overhead_s / measuring_s;
    let row = Row {
        what: what.to_owned(),
        ours: format!("{:.1} %", 100.0 * share),
        other: format!(
            "{} settings of {} s, {} times",
            result.points.len(),
            plan.time_per_point_s,
            plan.rounds
        ),
        ratio: String::new(),
        goal: format!("<= {:.0} %", 100.0 * OVERHEAD_MAX),
        verdict: Verdict::of(share <= OVERHEAD_MAX),
    };
    progress(&row.line());
    Ok(row)
}

fn sweep(target: &Path, way: &[&str], setting: &Setting) -> anyhow::Result<SweepResult> {
    let json = setting.scratch().join("sweep.json");
    let mut command = Command::new(&setting.sustain);
    command.arg("sweep").arg(target).args(way).args(AXES);
    command.args(["--time-per-point", setting.effort.sweep_point]);
    command.arg("--no-prewrite").arg("--json").arg(&json);
    // Neither reading nor null: destroys anything.
    if target.is_absolute() && way.contains(&"--write") {
        command.arg("--destroy").arg(target);
    }
    process::run(&mut command, setting.scratch(), &setting.interrupt)?;
    let text = std::fs::read_to_string(&json).context("sustain wrote no result")?;
    serde_json::from_str(&text)
        .context("sustain's result has another form: build both anew, cargo build --release")
}
