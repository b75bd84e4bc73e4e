//! CPU time that parity adds to recording.

use std::io::PipeWriter;

use super::members::{EQUAL_BYTES_PER_S, Members};
use crate::progress::progress;
use crate::setting::Setting;
use crate::source::{Pouring, Source};
use crate::statistics::Median;
use crate::table::{Goal, Row};
use crate::tools::store_tool::{self, Recording};

/// What a source gives that leaves the members time, so that an append goes to one as soon as it is
/// full. With two parities they take a quarter more.
const PACE_BYTES_PER_S: u64 = 240_000_000;
/// For each parity.
const MORE_MAX_S_PER_GB: f64 = 0.05;
const BYTES_PER_GB: f64 = 1e9;

pub(super) fn run(setting: &Setting) -> anyhow::Result<Vec<Row>> {
    let members = Members::new(&EQUAL_BYTES_PER_S, setting)?;
    let source = Source::new(Pouring::Splice)?;
    let at_full_rate = costs(setting, |parities| {
        let recorded = members.record(parities, &source, setting)?;
        Ok(recorded.used.cpu_s * BYTES_PER_GB / recorded.bytes as f64)
    })?;
    let paced = costs(setting, |parities| {
        record_paced(&members, parities, &source, setting)
    })?;
    let mut rows = Vec::new();
    for (which, costs) in [("at full rate", at_full_rate), ("at 240 MB/s", paced)] {
        rows.extend([1, 2].map(|parities| row(which, parities, &costs)));
    }
    rows.iter().for_each(|row| progress(&row.line()));
    Ok(rows)
}

/// What `record` takes without parity, with one and with two, in CPU seconds for a GB, for each
/// round.
fn costs(
    setting: &Setting,
    mut record: impl FnMut(usize) -> anyhow::Result<f64>,
) -> anyhow::Result<[Vec<f64>; 3]> {
    let mut costs = [const { Vec::new() }; 3];
    let mut turns = [0, 1, 2];
    for _ in 0..setting.effort.cpu_rounds {
        for parities in turns {
            costs[parities].push(record(parities)?);
        }
        // So that a drift falls on all alike.
        turns.reverse();
    }
    Ok(costs)
}

fn record_paced(
    members: &Members,
    parities: usize,
    source: &Source,
    setting: &Setting,
) -> anyhow::Result<f64> {
    members.create(parities, setting)?;
    let recording = Recording {
        members: &members.paths(),
        ring: true,
        buffer_bytes: None,
        time_s: None,
    };
    let bytes = PACE_BYTES_PER_S * setting.effort.record_run_s;
    let feed =
        |pipe: PipeWriter| source.pour_paced(&pipe, bytes, PACE_BYTES_PER_S, &setting.interrupt);
    let (_, result) = store_tool::record_fed(recording, (&[], &[0]), feed, setting)?;
    Ok(result.total.cpu_seconds_per_gb)
}

fn row(which: &str, parities: usize, costs: &[Vec<f64>; 3]) -> Row {
    let (with, without) = (&costs[parities], &costs[0]);
    let pairs = with.iter().zip(without);
    let more: Vec<f64> = pairs.map(|(with, without)| with - without).collect();
    let more = Median::of(&more);
    let more_max = parities as f64 * MORE_MAX_S_PER_GB;
    let figure = |values: &[f64]| format!("{:.4} s/GB", Median::of(values).value);
    Row {
        what: format!("equal, p = {parities}: CPU time {which}, against recording without parity"),
        ours: figure(with),
        other: figure(without),
        ratio: format!(
            "{:+.4} [{:+.4}, {:+.4}] s/GB",
            more.value, more.low, more.high
        ),
        goal: format!("<= {more_max:+.2} s/GB"),
        verdict: Goal::AtMost(more_max).judge(more),
    }
}
