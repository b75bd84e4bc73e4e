//! The totals of several results over time, in one chart.

use super::chart::{Chart, TimeUnit, axis, colour, empty_plot, layout, rate_axis};
use super::section::name;
use super::series::points;
use super::time_chart::rate_pair;
use sustain_bench::result::{Interval, MeasureResult};

/// One pair of lines per result.
pub(super) fn overlay_chart(results: &[MeasureResult], id: String) -> Chart {
    let seconds = results
        .iter()
        .map(|result| result.total.seconds)
        .fold(0.0, f64::max);
    let unit = TimeUnit::for_run(seconds);
    let mut plot = empty_plot();
    let mut most = 1.0;
    for (index, result) in results.iter().enumerate() {
        let series = points(total_intervals(result));
        most = series
            .iter()
            .map(|point| point.rate_bytes_per_s)
            .fold(most, f64::max);
        let name = format!("{}. {}", index + 1, name(result));
        rate_pair(&mut plot, &name, colour(index), &series, unit);
    }
    let x = axis()
        .tick_suffix(unit.suffix)
        .range(vec![unit.at(seconds * -0.01), unit.at(seconds)]);
    let y = rate_axis().range(vec![0.0, most * 1.08]);
    plot.set_layout(layout(results.len()).x_axis(x).y_axis(y).show_legend(true));
    Chart {
        id,
        heading: "Rates over time, of all targets together".to_owned(),
        caption: "Thin: each interval. Dashed: running average.".to_owned(),
        height_px: 420,
        plot,
    }
}

/// The sum's series; a single target is its own sum.
fn total_intervals(result: &MeasureResult) -> &[Interval] {
    match result.targets.as_slice() {
        [only] if result.total.intervals.is_empty() => &only.intervals,
        _ => &result.total.intervals,
    }
}
