//! Draws how long requests took: bars over a logarithmic time axis, a colour per target. The
//! section of a measurement calls it; the chart of appends uses its bars and axes.

use std::collections::BTreeMap;

use plotly::Bar;
use plotly::common::Marker;
use plotly::layout::{Axis, AxisType, BarMode};
use sustain_document::measure::MeasureResult;

use super::chart::{Chart, axis, colour, empty_plot, layout, second_ticks, title, trace_name};
use crate::format::latency;

/// The number of bars in a decade of time: each is a quarter longer than the one before.
const BARS_PER_DECADE: f64 = 10.0;

/// Bars of several targets stand in one place, so that those behind must show through.
const BAR_OPACITY: f64 = 0.65;

/// The chart of this result; none if nothing was completed.
pub(super) fn histogram_chart(result: &MeasureResult, id: String) -> Option<Chart> {
    let mut plot = empty_plot();
    let (mut least, mut most, mut most_count) = (i32::MAX, i32::MIN, 0_u64);
    for (index, target) in result.targets.iter().enumerate() {
        let bins = target.latency_histogram.iter();
        let bars = bars(bins.map(|bin| (bin.from_ns, bin.to_ns, bin.count)));
        let (Some(first), Some(last)) = (bars.keys().next(), bars.keys().next_back()) else {
            continue;
        };
        least = least.min(*first);
        most = most.max(*last);
        most_count = most_count.max(bars.values().copied().max().unwrap_or(0));
        let drawn = bar_trace(&target.name, colour(index), &bars, "requests");
        plot.add_trace(drawn);
    }
    if most_count == 0 {
        return None;
    }
    let layout = layout(result.targets.len())
        .bar_mode(BarMode::Overlay)
        .bar_gap(0.05)
        .x_axis(time_axis(least, most))
        .y_axis(count_axis(most_count).title(title("requests")))
        .show_legend(true);
    plot.set_layout(layout);
    Some(Chart {
        id,
        heading: "Latency of requests".to_owned(),
        caption: "How many requests took how long. Both axes are logarithmic, so that the few \
                  slowest requests, which a stream must ride out, can be seen."
            .to_owned(),
        height_px: 380,
        plot,
    })
}

/// The count of each bar, by the bar's number: bar n covers 10^(n/10) to 10^((n+1)/10) nanoseconds.
/// Bins are given by lower end, upper end and count.
pub(super) fn bars(bins: impl Iterator<Item = (u64, u64, u64)>) -> BTreeMap<i32, u64> {
    let mut bars = BTreeMap::new();
    for (from_ns, to_ns, count) in bins {
        let middle_ns = ((from_ns.max(1) as f64) * (to_ns.max(1) as f64)).sqrt();
        let number = (middle_ns.log10() * BARS_PER_DECADE).floor() as i32;
        *bars.entry(number).or_insert(0) += count;
    }
    bars
}

/// The bars of one series; `what` is counted, such as requests or appends.
pub(super) fn bar_trace(
    name: &str,
    colour: &'static str,
    bars: &BTreeMap<i32, u64>,
    what: &str,
) -> Box<Bar<f64, f64>> {
    let edge = |number: i32| 10_f64.powf(f64::from(number) / BARS_PER_DECADE);
    let x = bars
        .keys()
        .map(|number| (f64::from(*number) + 0.5) / BARS_PER_DECADE - 9.0)
        .collect();
    let y = bars.values().map(|count| *count as f64).collect();
    let words = bars.iter().map(|(number, count)| {
        let (from, to) = (
            latency(edge(*number) as u64),
            latency(edge(number + 1) as u64),
        );
        format!("{count} {what} took {from} to {to}")
    });
    Bar::new(x, y)
        .name(trace_name(name))
        .opacity(BAR_OPACITY)
        .marker(Marker::new().color(colour))
        .hover_text_array(words.collect())
        .hover_template("%{hovertext}")
}

/// A time axis that is linear in the logarithm, so that all bars have the same width.
pub(super) fn time_axis(least: i32, most: i32) -> Axis {
    let decade = |number: i32| 10_f64.powf(f64::from(number) / BARS_PER_DECADE - 9.0);
    let (values, labels) = second_ticks(decade(least), decade(most + 1));
    let positions = values.iter().map(|tick_s| tick_s.log10()).collect();
    let range = vec![decade(least - 1).log10(), decade(most + 2).log10()];
    axis()
        .tick_values(positions)
        .tick_text(labels)
        .range(range)
        .title(title("latency"))
}

/// A logarithmic axis of counts.
pub(super) fn count_axis(most_count: u64) -> Axis {
    let decades = (most_count.max(2) as f64).log10().ceil() as i32;
    axis()
        .type_(AxisType::Log)
        .tick_values((0..=decades).map(|decade| 10_f64.powi(decade)).collect())
        .tick_format("~s")
        .range(vec![-0.3, (most_count.max(2) as f64 * 1.5).log10()])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_fall_into_bars_of_equal_ratio() {
        let bins = [(1000, 1007, 3), (1100, 1107, 4), (1_000_000, 1_008_000, 5)];
        let bars = bars(bins.into_iter());
        assert_eq!(bars.into_iter().collect::<Vec<_>>(), [(30, 7), (60, 5)]);
    }
}
