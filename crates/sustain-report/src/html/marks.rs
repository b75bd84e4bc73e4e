//! Marks the burst, the steady window, idle periods, kernel messages and errors on a time axis. The
//! time charts of a measurement and of a recording call it.

use plotly::common::{DashType, Label, Marker, MarkerSymbol, Mode};
use plotly::layout::{Shape, ShapeLayer, ShapeLine, ShapeType};
use plotly::{Plot, Scatter};
use sustain_document::measure::{Burst, MeasureResult, Stall, Sustained, TargetError};
use sustain_document::system::System;

use super::chart::{ALARM, NEUTRAL, TimeUnit};
use super::escape;
use crate::format::{latency, position};

const STEADY_FILL: &str = "rgba(10,157,115,0.13)";
const BURST_FILL: &str = "rgba(224,138,0,0.17)";
const IDLE_FILL: &str = "rgba(128,128,128,0.12)";
/// The heights of marks in the first panel, as parts of its top.
const AT_TOP: f64 = 0.985;
pub(super) const BELOW_TOP: f64 = 0.94;

/// One stall in words.
pub(super) fn stall_words(stall: &Stall) -> String {
    let company = match stall.shared_with.as_slice() {
        [] => String::new(),
        others => format!(", at the same moment as on {}", others.join(", ")),
    };
    format!(
        "{} on {} at offset {}{company}",
        latency(stall.duration_ns),
        stall.target,
        position(stall.offset_bytes)
    )
}

/// Kernel messages and errors as marks at the top of the first panel, with their words.
pub(super) fn events(plot: &mut Plot, result: &MeasureResult, unit: TimeUnit, top: f64) {
    kernel_messages(plot, &result.system, unit, top);
    let mut failed: Vec<(f64, String)> = Vec::new();
    for target in &result.targets {
        let words = |error: &TargetError| {
            format!("{}: {}: {}", target.name, error.operation, error.message)
        };
        failed.extend(target.errors.iter().map(|error| (error.at_s, words(error))));
    }
    let height = top * BELOW_TOP;
    event_marks(plot, "error", MarkerSymbol::Cross, &failed, unit, height);
}

/// Kernel messages as marks at the top of the first panel, with their words.
pub(super) fn kernel_messages(plot: &mut Plot, system: &System, unit: TimeUnit, top: f64) {
    let messages = system.kernel_messages.iter();
    let said: Vec<(f64, String)> = messages
        .map(|message| (message.at_s, message.text.clone()))
        .collect();
    let (symbol, height) = (MarkerSymbol::TriangleDown, top * AT_TOP);
    event_marks(plot, "kernel message", symbol, &said, unit, height);
}

/// Events at one height of the first panel, each with its moment and its words.
pub(super) fn event_marks(
    plot: &mut Plot,
    name: &str,
    symbol: MarkerSymbol,
    events: &[(f64, String)],
    unit: TimeUnit,
    height: f64,
) {
    if events.is_empty() {
        return;
    }
    let x = events.iter().map(|(at_s, _)| unit.at(*at_s)).collect();
    let y = vec![height; events.len()];
    let words = events
        .iter()
        .map(|(_, words)| escape::label(words))
        .collect();
    let trace = Scatter::new(x, y)
        .mode(Mode::Markers)
        .name(name)
        .marker(Marker::new().color(ALARM).size(11).symbol(symbol))
        .text_array(words)
        .hover_template("%{text}")
        .hover_label(Label::new().align("left"));
    plot.add_trace(trace);
}

/// Shaded periods and vertical lines.
pub(super) fn periods(
    result: &MeasureResult,
    begin_s: f64,
    end_s: f64,
    unit: TimeUnit,
) -> Vec<Shape> {
    let run_s = result.total.seconds;
    let mut shapes = idle(run_s, begin_s, end_s, unit);
    let (sustained, burst) = judged(result);
    if sustained.reached {
        let until_s = sustained.to_s.unwrap_or(run_s);
        let (from_s, axis) = (sustained.from_s, "y domain");
        shapes.push(stretch(from_s, until_s, unit, axis, STEADY_FILL));
    }
    if let Some(burst) = burst.filter(|burst| burst.rate_bytes_per_s > 0.0) {
        let until_s = (burst.bytes as f64 / burst.rate_bytes_per_s).min(run_s);
        shapes.push(stretch(0.0, until_s, unit, "y domain", BURST_FILL));
    }
    shapes.extend(verticals(&result.system, unit));
    shapes
}

/// The periods before and after the run, shaded through all panels.
pub(super) fn idle(run_s: f64, begin_s: f64, end_s: f64, unit: TimeUnit) -> Vec<Shape> {
    let before = (begin_s < 0.0).then(|| stretch(begin_s, 0.0, unit, "paper", IDLE_FILL));
    let after = (end_s > run_s).then(|| stretch(run_s, end_s, unit, "paper", IDLE_FILL));
    before.into_iter().chain(after).collect()
}

/// A line through all panels at each kernel message.
pub(super) fn verticals(system: &System, unit: TimeUnit) -> impl Iterator<Item = Shape> {
    let messages = system.kernel_messages.iter();
    messages.map(move |message| vertical(unit.at(message.at_s)))
}

/// The verdict that the first panel shows: that of all targets together, or of a single target.
fn judged(result: &MeasureResult) -> (&Sustained, Option<&Burst>) {
    match result.targets.as_slice() {
        [only] => (&only.sustained, only.burst.as_ref()),
        _ => (&result.total.sustained, result.total.burst.as_ref()),
    }
}

fn stretch(from_s: f64, to_s: f64, unit: TimeUnit, y_ref: &str, fill: &'static str) -> Shape {
    Shape::new()
        .shape_type(ShapeType::Rect)
        .layer(ShapeLayer::Below)
        .x_ref("x")
        .x0(unit.at(from_s))
        .x1(unit.at(to_s))
        .y_ref(y_ref)
        .y0(0.0)
        .y1(1.0)
        .fill_color(fill)
        .line(ShapeLine::new().width(0.0))
}

fn vertical(x: f64) -> Shape {
    Shape::new()
        .shape_type(ShapeType::Line)
        .layer(ShapeLayer::Below)
        .x_ref("x")
        .x0(x)
        .x1(x)
        .y_ref("paper")
        .y0(0.0)
        .y1(1.0)
        .line(
            ShapeLine::new()
                .color(NEUTRAL)
                .width(1.0)
                .dash(DashType::Dot),
        )
}
