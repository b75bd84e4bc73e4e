//! Draws several results over time in one chart: rates above, longest latencies below, a colour per
//! run. The section of results side by side calls it.

use sustain_document::measure::{Interval, MeasureResult};

use super::chart::{Chart, TimeUnit, colour, empty_plot, layout, rate_axis};
use super::panels::{PANEL_PX, Panels, RATE_PX, hover_mode};
use super::series::points;
use super::time_chart::{latency_axis, latency_line, rate_pair};

/// The chart: for each result a pair of lines for its rate, and a line for its longest latencies.
pub(super) fn overlay_chart(names: &[String], results: &[MeasureResult], id: String) -> Chart {
    let seconds = results
        .iter()
        .map(|result| result.total.seconds)
        .fold(0.0, f64::max);
    let unit = TimeUnit::for_run(seconds);
    let mut plot = empty_plot();
    let mut most = 1.0;
    let mut latencies_ns = Vec::new();
    for (index, (result, name)) in results.iter().zip(names).enumerate() {
        let intervals = total_intervals(result);
        let series = points(intervals);
        most = series
            .iter()
            .map(|point| point.rate_bytes_per_s)
            .fold(most, f64::max);
        rate_pair(&mut plot, name, colour(index), &series, unit);
        latency_line(&mut plot, name, colour(index), &series, unit);
        latencies_ns.extend(intervals.iter().map(|interval| interval.latency_max_ns));
    }
    let panels = Panels::new(vec![
        ("Rate".to_owned(), RATE_PX),
        ("Longest latency of each interval".to_owned(), PANEL_PX),
    ]);
    let layout = layout(results.len())
        .hover_mode(hover_mode(results.len()))
        .margin(Panels::margin())
        .x_axis(panels.time_axis(0.0, seconds, unit))
        .y_axis(panels.place(0, rate_axis().range(vec![0.0, most * 1.08])))
        .y_axis2(panels.place(1, latency_axis(&latencies_ns)))
        .annotations(panels.titles())
        .show_legend(true);
    plot.set_layout(layout);
    Chart {
        id,
        heading: "Rate and latency over time, all targets together".to_owned(),
        caption:
            "Thin lines: each interval. Dashed lines: the running average, which is all bytes \
                  over all seconds so far. Below: the longest request of each interval. Click on \
                  the name of a run in the legend to hide it or show it; drag to zoom, \
                  double-click to go back."
                .to_owned(),
        height_px: panels.height_px,
        plot,
    }
}

/// The series of all targets together; that of a single target is its own.
fn total_intervals(result: &MeasureResult) -> &[Interval] {
    match result.targets.as_slice() {
        [only] if result.total.intervals.is_empty() => &only.intervals,
        _ => &result.total.intervals,
    }
}
