//! Draws the buffer curve: for each rate of a stream, the memory that would have ridden out every
//! pause that was seen. The sections of a measurement and of a recording call it.

use plotly::common::{DashType, Line, Marker, MarkerSymbol, Mode};
use plotly::layout::{Axis, AxisType};
use plotly::{Plot, Scatter};
use sustain_document::measure::{MeasureResult, Recommendation};

use super::chart::{
    ALARM, Chart, NEUTRAL, axis, colour, empty_plot, layout, memory_ticks, rate_axis, rounded,
    title,
};
use crate::format::{memory, rate};

/// The data of the chart.
pub(super) struct DrawnBufferCurve<'a> {
    /// The rates, and the memory that each needs.
    pub(super) points: Vec<(f64, u64)>,
    /// The memory that the run had, or that was asked about.
    pub(super) bound_bytes: u64,
    /// The recommended rate, which only a measurement has.
    pub(super) recommendation: Option<&'a Recommendation>,
    /// The explanation below the chart.
    pub(super) caption: String,
}

/// The chart of a measurement; none if there are fewer than two points to draw.
pub(super) fn buffer_chart(result: &MeasureResult, id: String) -> Option<Chart> {
    let points = result.buffer_curve.iter();
    let curve = DrawnBufferCurve {
        points: points
            .map(|point| (point.rate_bytes_per_s, point.buffer_bytes))
            .collect(),
        bound_bytes: result.plan.buffer_bytes,
        recommendation: result.recommendation.as_ref(),
        caption: format!(
            "For each rate of a stream, the memory that would have ridden out every pause of {}. \
             Where the curve turns up, the targets are at their limit.",
            pauses_of(result)
        ),
    };
    curve_chart(curve, id)
}

fn pauses_of(result: &MeasureResult) -> &'static str {
    let mut targets = result.targets.iter();
    if result.targets.len() > 1 && targets.any(|target| !target.errors.is_empty()) {
        "the targets that were left after the last failure"
    } else {
        "this run"
    }
}

/// The chart of a curve; none if there are fewer than two points to draw.
pub(super) fn curve_chart(curve: DrawnBufferCurve<'_>, id: String) -> Option<Chart> {
    // A logarithmic axis has no zero, so that a rate that needs no memory cannot be drawn.
    let points = curve.points.iter().copied();
    let points: Vec<(f64, u64)> = points.filter(|(_, bytes)| *bytes > 0).collect();
    if points.len() < 2 {
        return None;
    }
    let mut plot = empty_plot();
    let x = points.iter().map(|(rate, _)| rounded(*rate)).collect();
    let y = points
        .iter()
        .map(|(_, bytes)| rounded(*bytes as f64))
        .collect();
    let words = points.iter().map(|(rate, bytes)| words(*rate, *bytes));
    let line = Scatter::new(x, y)
        .mode(Mode::LinesMarkers)
        .name("memory needed")
        .line(Line::new().color(colour(0)).width(2.2))
        .marker(Marker::new().color(colour(0)).size(4))
        .text_array(words.collect())
        .hover_template("%{text}<extra></extra>");
    plot.add_trace(line);
    let most_rate = points.iter().map(|(rate, _)| *rate).fold(0.0, f64::max);
    add_bound(&mut plot, curve.bound_bytes, most_rate);
    if let Some(found) = curve.recommendation {
        add_recommendation(&mut plot, found);
    }
    let bytes = points.iter().map(|(_, bytes)| *bytes);
    let bytes: Vec<u64> = bytes.chain([curve.bound_bytes]).collect();
    let x = rate_axis()
        .range(vec![0.0, most_rate * 1.03])
        .title(title("rate of the stream"));
    plot.set_layout(
        layout(1)
            .x_axis(x)
            .y_axis(memory_axis(&bytes))
            .show_legend(true),
    );
    Some(Chart {
        id,
        heading: "Buffer that a stream needs, by its rate".to_owned(),
        caption: curve.caption,
        height_px: 400,
        plot,
    })
}

fn words(rate_bytes_per_s: f64, buffer_bytes: u64) -> String {
    format!("{} needs {}", rate(rate_bytes_per_s), memory(buffer_bytes))
}

fn add_bound(plot: &mut Plot, bound_bytes: u64, most_rate: f64) {
    let bound = bound_bytes as f64;
    let line = Line::new().color(NEUTRAL).dash(DashType::Dash).width(1.6);
    let trace = Scatter::new(vec![0.0, rounded(most_rate * 1.03)], vec![bound, bound])
        .mode(Mode::Lines)
        .name(format!("--buffer {}", memory(bound_bytes)))
        .line(line)
        .hover_template("%{fullData.name}<extra></extra>");
    plot.add_trace(trace);
}

fn add_recommendation(plot: &mut Plot, found: &Recommendation) {
    let (name, colour) = match found.confirmed {
        Some(true) => ("recommended, confirmed", colour(2)),
        Some(false) => ("computed, but did not hold", ALARM),
        None => ("recommended, not confirmed", colour(1)),
    };
    let bytes = found.buffer_bytes.max(1) as f64;
    let trace = Scatter::new(vec![rounded(found.rate_bytes_per_s)], vec![bytes])
        .mode(Mode::Markers)
        .name(name)
        .marker(
            Marker::new()
                .color(colour)
                .size(15)
                .symbol(MarkerSymbol::Star),
        )
        .text_array(vec![words(found.rate_bytes_per_s, found.buffer_bytes)])
        .hover_template("%{text}<extra></extra>");
    plot.add_trace(trace);
}

fn memory_axis(bytes: &[u64]) -> Axis {
    let least = bytes.iter().min().copied().unwrap_or(1).max(1) as f64;
    let most = bytes.iter().max().copied().unwrap_or(1).max(2) as f64;
    let (values, labels) = memory_ticks(least, most);
    axis()
        .type_(AxisType::Log)
        .tick_values(values)
        .tick_text(labels)
        .range(vec![(least * 0.7).log10(), (most * 1.5).log10()])
        .title(title("memory"))
}
