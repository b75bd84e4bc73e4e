//! CPU time that parity adds to recording.

use super::members::{EQUAL_BYTES_PER_S, Members};
use crate::progress::progress;
use crate::setting::Setting;
use crate::source::{Pouring, Source};
use crate::statistics::Median;
use crate::table::{Goal, Row};

/// For each parity.
const MORE_MAX_S_PER_GB: f64 = 0.05;
const BYTES_PER_GB: f64 = 1e9;

pub(super) fn run(setting: &Setting) -> anyhow::Result<Vec<Row>> {
    let members = Members::new(&EQUAL_BYTES_PER_S, setting)?;
    let source = Source::new(Pouring::Splice)?;
    let mut costs = [const { Vec::new() }; 3];
    let mut turns = [0, 1, 2];
    for _ in 0..setting.effort.cpu_rounds {
        for parities in turns {
            let recorded = members.record(parities, &source, setting)?;
            costs[parities].push(recorded.used.cpu_s * BYTES_PER_GB / recorded.bytes as f64);
        }
        // So that a drift falls on all alike.
        turns.reverse();
    }
    let rows = [1, 2].map(|parities| row(parities, &costs));
    rows.iter().for_each(|row| progress(&row.line()));
    Ok(rows.into())
}

fn row(parities: usize, costs: &[Vec<f64>; 3]) -> Row {
    let (with, without) = (&costs[parities], &costs[0]);
    let pairs = with.iter().zip(without);
    let more: Vec<f64> = pairs.map(|(with, without)| with - without).collect();
    let more = Median::of(&more);
    let more_max = parities as f64 * MORE_MAX_S_PER_GB;
    let figure = |values: &[f64]| format!("{:.4} s/GB", Median::of(values).value);
    Row {
        what: format!("equal, p = {parities}: CPU time, against recording without parity"),
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
