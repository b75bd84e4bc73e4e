//! Draws the effect of an axis whose values are numbers: rate, CPU time and latency over its
//! values, by powers of two, each in a panel of its own, with a curve per value of the second axis.
//! A dot is the fastest setting that has both values; a whisker is its interval. The section of a
//! sweep calls it.

use sustain_document::sweep::SweepPoint;

use super::super::svg::Svg;
use super::facts::{AxisCurve, DirectionPicture, DrawnAxis, Value, value};
use super::quantity::{DrawnQuantity, all_of};
use super::scale::FigureScale;

const HEIGHT: f64 = 264.0;
const LEFT: f64 = 78.0;
const RIGHT: f64 = 18.0;
const TOP: f64 = 34.0;
const BOTTOM: f64 = 42.0;
/// The width of all panels together.
const WIDTH: f64 = 1200.0;
/// The largest width of a single panel.
const PANEL_WIDTH_MAX: f64 = 580.0;
/// With less width the labels of values would run into each other.
const LABEL_WIDTH: f64 = 54.0;
/// The radius of the dot of a point.
pub(super) const DOT_RADIUS: f64 = 3.6;

/// The panels of an axis, one after the other.
pub(super) fn panels(facts: &DirectionPicture<'_>, axis: &DrawnAxis) -> String {
    let second = facts.second(axis);
    let curves = facts.curves(second);
    let drawn: Vec<Vec<(u64, &SweepPoint)>> = curves
        .iter()
        .map(|curve| along(facts, curve, axis, second))
        .collect();
    let points: Vec<&SweepPoint> = drawn.iter().flatten().map(|(_, point)| *point).collect();
    let quantities = DrawnQuantity::known_of(&points);
    let width = (WIDTH / quantities.len() as f64).min(PANEL_WIDTH_MAX);
    let panel = |quantity: &DrawnQuantity| {
        let panel = Panel::new(facts, axis, *quantity, &points, width);
        panel.draw(facts, &curves, &drawn)
    };
    let panels: String = quantities.iter().map(panel).collect();
    format!("<div class=\"panels\">\n{panels}</div>\n")
}

/// The points of a curve, with their numbers on the axis.
fn along<'a>(
    facts: &DirectionPicture<'a>,
    curve: &AxisCurve,
    axis: &DrawnAxis,
    second: Option<&DrawnAxis>,
) -> Vec<(u64, &'a SweepPoint)> {
    let values = axis.values.iter();
    let points = values.filter_map(|value| match value {
        Value::Number(number) => {
            let point = facts.point_on(curve, axis, second, value)?;
            Some((*number, point))
        }
        Value::None | Value::Name(_) => None,
    });
    points.collect()
}

/// A panel under construction.
struct Panel<'a> {
    svg: Svg,
    axis: &'a DrawnAxis,
    quantity: DrawnQuantity,
    across: FigureScale,
    up: FigureScale,
}

impl<'a> Panel<'a> {
    /// A panel with its frame: headings, ticks and the grid.
    fn new(
        facts: &DirectionPicture<'_>,
        axis: &'a DrawnAxis,
        quantity: DrawnQuantity,
        points: &[&SweepPoint],
        width: f64,
    ) -> Panel<'a> {
        let numbers = axis.values.iter().filter_map(|value| match value {
            Value::Number(number) => Some(*number),
            Value::None | Value::Name(_) => None,
        });
        let numbers: Vec<u64> = numbers.collect();
        let ends = (numbers.first(), numbers.last());
        let (least, most) = (ends.0.copied().unwrap_or(1), ends.1.copied().unwrap_or(1));
        let (from_px, to_px) = (LEFT + 14.0, width - RIGHT - 14.0);
        let across = FigureScale::logarithmic(least as f64, most as f64, from_px, to_px);
        let (up, ticks) = quantity.scale(facts.result, points, HEIGHT - BOTTOM, TOP);
        let mut svg = Svg::new(width, HEIGHT);
        svg.text((LEFT, 18.0), "wallname", quantity.heading());
        for (tick, label) in &ticks {
            let y = up.at(*tick);
            svg.line(&[(LEFT, y), (width - RIGHT, y)], "grid", "");
            svg.text((LEFT - 8.0, y + 4.0), "soft end", label);
        }
        let mut free_px = 0.0;
        for number in &numbers {
            let x = across.at(*number as f64);
            let foot = HEIGHT - BOTTOM;
            svg.line(&[(x, foot), (x, foot + 4.0)], "grid", "");
            if x >= free_px {
                let label = axis.value_words(&Value::Number(*number));
                svg.text((x, foot + 17.0), "soft middle", &label);
                free_px = x + LABEL_WIDTH;
            }
        }
        let middle = ((LEFT + width - RIGHT) / 2.0, HEIGHT - 6.0);
        svg.text(middle, "soft middle", &axis.words());
        Panel {
            svg,
            axis,
            quantity,
            across,
            up,
        }
    }

    fn draw(
        mut self,
        facts: &DirectionPicture<'_>,
        curves: &[AxisCurve],
        drawn: &[Vec<(u64, &SweepPoint)>],
    ) -> String {
        for (curve, points) in curves.iter().zip(drawn) {
            let places = points.iter().filter_map(|(number, point)| {
                let figure = self.quantity.of(point)?;
                Some((self.across.at(*number as f64), self.up.at(figure)))
            });
            let places: Vec<(f64, f64)> = places.collect();
            if places.len() > 1 {
                self.svg
                    .line(&places, &format!("curve {}", curve.class), "");
            }
            for (number, point) in points {
                self.dot(facts, *number, point, &curve.class);
            }
        }
        let named = [(Some(facts.best()), "best"), (facts.cheapest(), "cheapest")];
        for (point, class) in named {
            let Some(point) = point else {
                continue;
            };
            let mut dots = drawn.iter().flatten();
            let has_dot = dots.any(|(_, drawn)| drawn.number == point.number);
            let own = || self.curve_of(facts, curves, point);
            let curve = if has_dot { None } else { own() };
            self.mark(facts, point, curve, class);
        }
        let said = format!(
            "{} by {}; the figures are in the table of all settings",
            self.quantity.heading(),
            self.axis.words()
        );
        self.svg.markup(&said)
    }

    fn dot(&mut self, facts: &DirectionPicture<'_>, number: u64, point: &SweepPoint, class: &str) {
        let Some(figure) = self.quantity.of(point) else {
            return;
        };
        let x = self.across.at(number as f64);
        if let Some([low, high]) = self.quantity.interval(facts.result, point) {
            let ends = [(x, self.up.at(low)), (x, self.up.at(high))];
            self.svg.line(&ends, &format!("whisker {class}"), "");
        }
        let at = (x, self.up.at(figure));
        self.svg
            .dot(at, DOT_RADIUS, &format!("dot {class}"), &all_of(point));
    }

    /// The curve to which a point belongs, whether or not it is the fastest in its place.
    fn curve_of<'c>(
        &self,
        facts: &DirectionPicture<'_>,
        curves: &'c [AxisCurve],
        point: &SweepPoint,
    ) -> Option<&'c AxisCurve> {
        let second = facts.second(self.axis);
        let own = second.map(|second| value(&point.setting, second.axis));
        curves.iter().find(|curve| curve.value == own)
    }

    /// A ring around a point that the answer names. If its place has the dot of a faster point, it
    /// also gets a dot in the colour of this curve.
    fn mark(
        &mut self,
        facts: &DirectionPicture<'_>,
        point: &SweepPoint,
        dot: Option<&AxisCurve>,
        class: &str,
    ) {
        let value = value(&point.setting, self.axis.axis);
        if let (Value::Number(number), Some(figure)) = (value, self.quantity.of(point)) {
            if let Some(curve) = dot {
                self.dot(facts, number, point, &curve.class);
            }
            let at = (self.across.at(number as f64), self.up.at(figure));
            let title = format!("{class}: {}", all_of(point));
            self.svg.dot(at, radius(class), class, &title);
        }
    }
}

/// The radius of a ring. That of the cheapest fits inside that of the best, where both are in one
/// place.
pub(super) fn radius(class: &str) -> f64 {
    if class == "best" { 8.5 } else { 6.0 }
}
