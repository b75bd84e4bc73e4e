//! Draws how long requests took in several runs, as lines that can lie over each other: for each
//! latency, the part of all requests that took longer. The section of results side by side calls
//! it.

use std::collections::BTreeMap;

use plotly::Scatter;
use plotly::common::{Line, LineShape, Mode};
use plotly::layout::AxisType;
use sustain_document::measure::MeasureResult;

use super::chart::{
    Chart, axis, colour, empty_plot, layout, rounded, second_ticks, title, trace_name,
};
use crate::format::latency;

/// The chart of these results; none if no run completed anything.
pub(super) fn tail_chart(names: &[String], results: &[MeasureResult], id: String) -> Option<Chart> {
    let mut plot = empty_plot();
    let (mut least_ns, mut most_ns, mut least_part) = (u64::MAX, 0, 1.0_f64);
    for (index, (result, name)) in results.iter().zip(names).enumerate() {
        let tail = tail(result);
        let (Some(first), Some(last)) = (tail.first(), tail.last()) else {
            continue;
        };
        (least_ns, most_ns) = (least_ns.min(first.0), most_ns.max(last.0));
        least_part = tail
            .iter()
            .map(|(_, part)| *part)
            .fold(least_part, f64::min);
        let words = tail
            .iter()
            .map(|(from_ns, part)| format!("{} took {} or more", share(*part), latency(*from_ns)));
        let trace = Scatter::new(
            tail.iter()
                .map(|(from_ns, _)| rounded(*from_ns as f64 / 1e9))
                .collect(),
            tail.iter()
                .map(|(_, part)| rounded(*part))
                .collect::<Vec<f64>>(),
        );
        let trace = trace
            .mode(Mode::Lines)
            .name(trace_name(name))
            .line(
                Line::new()
                    .color(colour(index))
                    .width(1.8)
                    .shape(LineShape::Hv),
            )
            .text_array(words.collect())
            .hover_template("%{text}");
        plot.add_trace(trace);
    }
    if most_ns == 0 {
        return None;
    }
    let (values, labels) = second_ticks(least_ns as f64 / 1e9, most_ns as f64 / 1e9);
    let range = |low: f64, high: f64| vec![low.log10(), high.log10()];
    let x = axis()
        .type_(AxisType::Log)
        .tick_values(values)
        .tick_text(labels)
        .range(range(least_ns as f64 * 0.8e-9, most_ns as f64 * 1.25e-9))
        .title(title("latency"));
    let decades = (-least_part.log10()).ceil().max(1.0) as i32;
    let parts: Vec<f64> = (0..=decades).map(|decade| 10_f64.powi(-decade)).collect();
    let y = axis()
        .type_(AxisType::Log)
        .tick_text(parts.iter().map(|part| share(*part)).collect())
        .tick_values(parts)
        .range(range(least_part * 0.7, 1.4))
        .title(title("requests that took longer"));
    plot.set_layout(layout(results.len()).x_axis(x).y_axis(y).show_legend(true));
    Some(Chart {
        id,
        heading: "Latency of requests, all targets together".to_owned(),
        caption: "For each latency, the part of all requests that took longer. Further left is \
                  better; the lower end shows the few slowest requests, which a stream must ride \
                  out."
            .to_owned(),
        height_px: 380,
        plot,
    })
}

/// The lower ends of the bins, each with the part of all requests that are in this bin or above.
fn tail(result: &MeasureResult) -> Vec<(u64, f64)> {
    let mut bins: BTreeMap<u64, u64> = BTreeMap::new();
    for bin in result
        .targets
        .iter()
        .flat_map(|target| &target.latency_histogram)
    {
        *bins.entry(bin.from_ns.max(1)).or_default() += bin.count;
    }
    let all: u64 = bins.values().sum();
    let mut left = all;
    let mut tail = Vec::new();
    for (from_ns, count) in bins {
        tail.push((from_ns, left as f64 / all.max(1) as f64));
        left -= count;
    }
    tail
}

/// A part of a whole: `0.01 %`, without zeros at its end.
fn share(part: f64) -> String {
    let percent = rounded(part * 100.0);
    let digits = match percent {
        p if p >= 1.0 => 1,
        p => (1.0 - p.max(1e-12).log10()).ceil() as usize,
    };
    let text = format!("{percent:.digits$}");
    format!("{} %", text.trim_end_matches('0').trim_end_matches('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_have_as_many_digits_as_they_need() {
        let shown = [1.0, 0.1, 0.015, 0.001, 0.000_01].map(share);
        assert_eq!(shown, ["100 %", "10 %", "1.5 %", "0.1 %", "0.001 %"]);
    }
}
