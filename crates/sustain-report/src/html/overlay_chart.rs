//! Draws several results over time in one chart: rates above, longest latencies below, a colour per
//! run. The section of results side by side calls it.

use sustain_document::measure::{Interval, MeasureResult};

use super::chart::{Arrangement, Figure, Key, Scale, TimeUnit};
use super::series::{points, points_max};
use super::time_chart::{DrawnSeries, latency_panel, rate_panel};

/// The lines of a run: its rate, the average, its longest latencies, and the ends of a band.
const LINES_PER_RUN: usize = 4;

/// The chart: for each result a pair of lines for its rate, and a line for its longest latencies.
pub(super) fn overlay_chart(names: &[String], results: &[MeasureResult], id: String) -> Figure {
    let lengths = results.iter().map(|result| result.total.seconds);
    let seconds = lengths.fold(0.0, f64::max);
    let across = Scale::time(0.0, seconds, TimeUnit::for_run(seconds));
    let most = points_max(results.len() * LINES_PER_RUN);
    let runs = results.iter().zip(names).enumerate();
    let drawn: Vec<DrawnSeries> = runs
        .map(|(index, (result, name))| DrawnSeries {
            key: Key::new(index, name),
            points: points(total_intervals(result), most),
        })
        .collect();
    let panels = vec![
        rate_panel(&drawn, None, seconds, &across),
        latency_panel("Longest latency of each interval", &drawn, &across, &[]),
    ];
    Figure {
        id,
        heading: "Rate and latency over time, all targets together".to_owned(),
        caption: "Thin lines: each interval. Dashed lines: the average so far, which is all bytes \
                  over all seconds. Below: the longest request of each interval. The name of a run \
                  in the legend hides it and shows it."
            .to_owned(),
        keys: drawn.into_iter().map(|one| one.key).collect(),
        panels,
        arrangement: Arrangement::OverTime,
    }
}

/// The series of all targets together; that of a single target is its own.
fn total_intervals(result: &MeasureResult) -> &[Interval] {
    match result.targets.as_slice() {
        [only] if result.total.intervals.is_empty() => &only.intervals,
        _ => &result.total.intervals,
    }
}
