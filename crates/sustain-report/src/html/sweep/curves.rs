//! Draws the effect of an axis whose values are numbers: rate, CPU time and latency over its
//! values, by powers of two, each in a panel of its own, with a curve per value of the second axis.
//! A dot is the fastest setting that has both values; a whisker is its interval. The section of a
//! sweep calls it.

use sustain_document::sweep::SweepPoint;

use super::super::chart::{Key, Panel, Scale};
use super::facts::{AxisCurve, DirectionPicture, DrawnAxis, Value, value};
use super::quantity::{DrawnQuantity, all_of};

const HEIGHT_PX: usize = 200;
/// More labels of values would run into each other.
const LABELS_MAX: usize = 7;

/// The points of a curve, with their numbers on the axis.
type Along<'a> = Vec<(f64, &'a SweepPoint)>;

/// The panels of an axis, one per quantity; `keys` are those of the curves.
pub(super) fn panels(facts: &DirectionPicture<'_>, axis: &DrawnAxis, keys: &[Key]) -> Vec<Panel> {
    let second = facts.second(axis);
    let curves = facts.curves(second);
    let drawn: Vec<Along<'_>> = curves
        .iter()
        .map(|curve| along(facts, curve, axis, second))
        .collect();
    let points: Vec<&SweepPoint> = drawn.iter().flatten().map(|(_, point)| *point).collect();
    let across = across(axis);
    let quantities = DrawnQuantity::known_of(&points).into_iter();
    let panels = quantities.map(|quantity| {
        let up = quantity.scale(facts.result, &points);
        let title = format!("{}, by {}", quantity.heading(), axis.words());
        let mut panel = Panel::new(&title, HEIGHT_PX, &across, up);
        for (key, points) in keys.iter().zip(&drawn) {
            curve(&mut panel, facts, quantity, key, points);
        }
        named(&mut panel, facts, axis, quantity, &curves, &drawn);
        panel
    });
    panels.collect()
}

/// The scale of the axis, with a label at some of its values.
fn across(axis: &DrawnAxis) -> Scale {
    let numbers = axis.values.iter().filter_map(|value| match value {
        Value::Number(number) => Some((*number as f64, axis.value_words(value))),
        Value::None | Value::Name(_) => None,
    });
    let mut ticks: Vec<(f64, String)> = numbers.collect();
    let step = ticks.len().div_ceil(LABELS_MAX).max(1);
    for (index, (_, label)) in ticks.iter_mut().enumerate() {
        if index % step > 0 {
            label.clear();
        }
    }
    Scale::labelled(ticks)
}

fn along<'a>(
    facts: &DirectionPicture<'a>,
    curve: &AxisCurve,
    axis: &DrawnAxis,
    second: Option<&DrawnAxis>,
) -> Along<'a> {
    let values = axis.values.iter();
    let points = values.filter_map(|value| match value {
        Value::Number(number) => {
            let point = facts.point_on(curve, axis, second, value)?;
            Some((*number as f64, point))
        }
        Value::None | Value::Name(_) => None,
    });
    points.collect()
}

/// A curve with its dots and their intervals.
fn curve(
    panel: &mut Panel,
    facts: &DirectionPicture<'_>,
    quantity: DrawnQuantity,
    key: &Key,
    points: &Along<'_>,
) {
    let figures = points.iter();
    let figures = figures.filter_map(|(number, point)| Some((*number, quantity.of(point)?)));
    panel.line(key, &key.name, "curve", &figures.collect::<Vec<_>>());
    for (number, point) in points {
        dot(panel, facts, quantity, &key.ink, *number, point);
    }
}

fn dot(
    panel: &mut Panel,
    facts: &DirectionPicture<'_>,
    quantity: DrawnQuantity,
    ink: &str,
    number: f64,
    point: &SweepPoint,
) {
    let Some(figure) = quantity.of(point) else {
        return;
    };
    if let Some([low, high]) = quantity.interval(facts.result, point) {
        panel.stroke(ink, "whisker", [(number, low), (number, high)]);
    }
    panel.mark(&format!("dot {ink}"), (number, figure), &all_of(point));
}

/// Rings around the points that the answer names. If the place of one has the dot of a faster
/// point, it also gets a dot in the colour of its curve, whether or not it is the fastest there.
fn named(
    panel: &mut Panel,
    facts: &DirectionPicture<'_>,
    axis: &DrawnAxis,
    quantity: DrawnQuantity,
    curves: &[AxisCurve],
    drawn: &[Along<'_>],
) {
    for (point, class) in facts.named() {
        let own = value(&point.setting, axis.axis);
        let (Value::Number(number), Some(figure)) = (own, quantity.of(point)) else {
            continue;
        };
        let mut dots = drawn.iter().flatten();
        if !dots.any(|(_, drawn)| drawn.number == point.number) {
            let second = facts.second(axis);
            let own = second.map(|second| value(&point.setting, second.axis));
            if let Some(curve) = curves.iter().find(|curve| curve.value == own) {
                dot(panel, facts, quantity, &curve.class, number as f64, point);
            }
        }
        let words = format!("{class}: {}", all_of(point));
        panel.mark(class, (number as f64, figure), &words);
    }
}
