//! Draws the effect of an axis whose values are names: a row per value, and in it a dot with its
//! interval for each value of the second axis, for rate, CPU time and latency side by side. A dot
//! is the fastest setting that has both values. The section of a sweep calls it.

use sustain_document::sweep::SweepPoint;

use super::super::chart::{Panel, Scale};
use super::facts::{AxisCurve, DirectionPicture, DrawnAxis, Value, rate_of, value};
use super::quantity::{DrawnQuantity, all_of};

const ROW_HEIGHT_PX_MIN: usize = 30;
const DOT_HEIGHT_PX: usize = 10;
/// An axis may have hundreds of values; the slower ones are only in the table.
const ROWS_MAX: usize = 24;

/// A dot at its place: the row with the part of it where its curve is, and its colour.
struct Dot<'a> {
    up: f64,
    point: &'a SweepPoint,
    ink: &'a str,
}

/// The panels of an axis, one per quantity.
pub(super) fn panels(facts: &DirectionPicture<'_>, axis: &DrawnAxis) -> Vec<Panel> {
    let second = facts.second(axis);
    let curves = facts.curves(second);
    let rows = rows(facts, axis);
    let up = |row: usize, curve: usize| {
        row as f64 - 0.5 + (curve + 1) as f64 / (curves.len() + 1) as f64
    };
    let mut dots: Vec<Dot<'_>> = Vec::new();
    for (row, value) in rows.iter().enumerate() {
        for (index, curve) in curves.iter().enumerate() {
            if let Some(point) = facts.point_on(curve, axis, second, value) {
                let (up, ink) = (up(row, index), curve.class.as_str());
                dots.push(Dot { up, point, ink });
            }
        }
    }
    let mut named: Vec<(f64, &SweepPoint, &str)> = Vec::new();
    for (point, class) in facts.named() {
        let Some((row, index)) = place(facts, axis, &rows, &curves, point) else {
            continue;
        };
        let (up, ink) = (up(row, index), curves[index].class.as_str());
        if !dots.iter().any(|dot| dot.point.number == point.number) {
            // Its place has the dot of a faster point; it gets a dot of its own.
            dots.push(Dot { up, point, ink });
        }
        named.push((up, point, class));
    }
    let points: Vec<&SweepPoint> = dots.iter().map(|dot| dot.point).collect();
    let height_px = (curves.len() * DOT_HEIGHT_PX + 8).max(ROW_HEIGHT_PX_MIN) * rows.len();
    let names: Vec<String> = rows.iter().map(|value| axis.value_words(value)).collect();
    let quantities = DrawnQuantity::known_of(&points).into_iter();
    let panels = quantities.map(|quantity| {
        let across = quantity.scale(facts.result, &points);
        let rows = Scale::names(names.clone());
        let mut panel = Panel::new(quantity.heading(), height_px, &across, rows);
        draw(&mut panel, facts, quantity, &dots);
        for (up, point, class) in &named {
            if let Some(figure) = quantity.of(point) {
                let words = format!("{class}: {}", all_of(point));
                panel.event(class, (figure, *up), &words);
            }
        }
        panel
    });
    panels.collect()
}

/// The number of values that are not drawn.
pub(super) fn left_out(axis: &DrawnAxis) -> usize {
    axis.values.len().saturating_sub(ROWS_MAX)
}

/// The values that are drawn, the fastest first.
fn rows<'a>(facts: &DirectionPicture<'_>, axis: &'a DrawnAxis) -> Vec<&'a Value> {
    let mut rows: Vec<(&Value, &SweepPoint)> = axis
        .values
        .iter()
        .filter_map(|value| Some((value, facts.fastest(&[(axis.axis, value)])?)))
        .collect();
    rows.sort_by(|(_, one), (_, other)| rate_of(other).total_cmp(&rate_of(one)));
    rows.truncate(ROWS_MAX);
    rows.into_iter().map(|(value, _)| value).collect()
}

fn draw(
    panel: &mut Panel,
    facts: &DirectionPicture<'_>,
    quantity: DrawnQuantity,
    dots: &[Dot<'_>],
) {
    for Dot { up, point, ink } in dots {
        let Some(figure) = quantity.of(point) else {
            continue;
        };
        if let Some([low, high]) = quantity.interval(facts.result, point) {
            panel.stroke(ink, "whisker", [(low, *up), (high, *up)]);
        }
        panel.mark(&format!("dot {ink}"), (figure, *up), &all_of(point));
    }
}

/// The row and the curve of a point, whether or not it is the fastest there.
fn place(
    facts: &DirectionPicture<'_>,
    axis: &DrawnAxis,
    rows: &[&Value],
    curves: &[AxisCurve],
    point: &SweepPoint,
) -> Option<(usize, usize)> {
    let own = value(&point.setting, axis.axis);
    let row = rows.iter().position(|row| **row == own)?;
    let second = facts.second(axis);
    let own = second.map(|second| value(&point.setting, second.axis));
    let curve = curves.iter().position(|curve| curve.value == own)?;
    Some((row, curve))
}
