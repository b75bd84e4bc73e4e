//! Draws the buffer curve: for each rate of a stream, the memory that would have ridden out every
//! pause that was seen. The sections of a measurement and of a recording call it.

use sustain_document::measure::{MeasureResult, Recommendation};

use super::chart::{ALARM, Arrangement, Figure, Key, NEUTRAL, Panel, Quantity, Scale, colour};
use crate::format::{memory, rate};

const HEIGHT_PX: usize = 320;

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
pub(super) fn buffer_chart(result: &MeasureResult, id: String) -> Option<Figure> {
    let points = result.buffer_curve.iter();
    let curve = DrawnBufferCurve {
        points: points
            .map(|point| (point.rate_bytes_per_s, point.buffer_bytes))
            .collect(),
        bound_bytes: result.plan.buffer_bytes,
        recommendation: result.recommendation.as_ref(),
        caption: format!(
            "For each rate of a stream, the memory that would have ridden out every stall of {}. \
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
pub(super) fn curve_chart(curve: DrawnBufferCurve<'_>, id: String) -> Option<Figure> {
    // A logarithmic axis has no zero, so that a rate that needs no memory cannot be drawn.
    let points = curve.points.iter().filter(|(_, bytes)| *bytes > 0);
    let points: Vec<(f64, f64)> = points.map(|(rate, bytes)| (*rate, *bytes as f64)).collect();
    if points.len() < 2 {
        return None;
    }
    let most_rate = points.iter().map(|(rate, _)| *rate).fold(0.0, f64::max);
    let bound = curve.bound_bytes as f64;
    let bytes = || points.iter().map(|(_, bytes)| *bytes).chain([bound]);
    let up = Scale::memory(
        bytes().fold(f64::INFINITY, f64::min),
        bytes().fold(0.0, f64::max),
    );
    let across = Scale::from_zero(Quantity::Rate, most_rate);
    let mut panel = Panel::new("Memory, by the rate of the stream", HEIGHT_PX, &across, up);
    let needed = Key::new(0, "memory needed");
    panel.line(&needed, &needed.name, "bold", &points);
    let asked = Key::coloured(
        1,
        &format!("--buffer {}", memory(curve.bound_bytes)),
        NEUTRAL,
    );
    panel.line(
        &asked,
        &asked.name,
        "dashed",
        &[(0.0, bound), (most_rate, bound)],
    );
    let mut keys = vec![needed, asked];
    if let Some(found) = curve.recommendation {
        keys.push(recommend(&mut panel, found));
    }
    Some(Figure {
        id,
        heading: "Buffer that a stream needs, by its rate".to_owned(),
        caption: curve.caption,
        keys,
        panels: vec![panel],
        arrangement: Arrangement::Stacked,
    })
}

fn recommend(panel: &mut Panel, found: &Recommendation) -> Key {
    let (name, ink) = match found.confirmed {
        Some(true) => ("recommended, confirmed", colour(2)),
        Some(false) => ("computed, but did not hold", ALARM.to_owned()),
        None => ("recommended, not confirmed", colour(1)),
    };
    let words = format!(
        "{name}: {} needs {}",
        rate(found.rate_bytes_per_s),
        memory(found.buffer_bytes)
    );
    let at = (found.rate_bytes_per_s, found.buffer_bytes.max(1) as f64);
    panel.event(&format!("star {ink}"), at, &words);
    Key::coloured(2, name, &format!("star {ink}"))
}
