//! Draws the effect of an axis whose values are names: a row per value, and in it a dot with its
//! interval for each value of the second axis, for rate, CPU time and latency side by side. A dot
//! is the fastest setting that has both values. The section of a sweep calls it.

use sustain_document::sweep::SweepPoint;

use super::super::svg::Svg;
use super::curves::{DOT_RADIUS, radius};
use super::facts::{AxisCurve, DirectionPicture, DrawnAxis, Value, rate_of, value};
use super::quantity::{DrawnQuantity, all_of};
use super::scale::FigureScale;

const WIDTH: f64 = 1200.0;
const LABEL_WIDTH: f64 = 196.0;
const GAP: f64 = 70.0;
const TOP: f64 = 30.0;
const BOTTOM: f64 = 24.0;
const ROW_HEIGHT_MIN: f64 = 30.0;
const DOT_HEIGHT: f64 = 10.0;
/// With less width the labels of ticks would run into each other.
const TICK_LABEL_WIDTH: f64 = 66.0;
/// An axis may have hundreds of values; the slower ones are only in the table.
const ROWS_MAX: usize = 24;

/// The picture of an axis.
pub(super) fn picture(facts: &DirectionPicture<'_>, axis: &DrawnAxis) -> String {
    let second = facts.second(axis);
    let curves = facts.curves(second);
    let mut rows: Vec<(&Value, &SweepPoint)> = axis
        .values
        .iter()
        .filter_map(|value| Some((value, facts.fastest(&[(axis.axis, value)])?)))
        .collect();
    rows.sort_by(|(_, one), (_, other)| rate_of(other).total_cmp(&rate_of(one)));
    rows.truncate(ROWS_MAX);
    let rows: Vec<DotRow<'_>> = rows
        .into_iter()
        .map(|(value, _)| DotRow {
            value,
            points: curves
                .iter()
                .map(|curve| facts.point_on(curve, axis, second, value))
                .collect(),
        })
        .collect();
    let drawing = DotDrawing::new(facts, axis, &rows, curves.len());
    format!(
        "<div class=\"scroll\">{}</div>\n",
        drawing.draw(facts, &rows, &curves)
    )
}

/// The number of values that are not drawn.
pub(super) fn left_out(axis: &DrawnAxis) -> usize {
    axis.values.len().saturating_sub(ROWS_MAX)
}

/// A value and its point on each curve.
struct DotRow<'a> {
    value: &'a Value,
    points: Vec<Option<&'a SweepPoint>>,
}

/// A picture under construction.
struct DotDrawing<'a> {
    svg: Svg,
    axis: &'a DrawnAxis,
    row_height: f64,
    panels: Vec<(DrawnQuantity, FigureScale)>,
}

impl<'a> DotDrawing<'a> {
    /// A drawing with its frame: names, headings, ticks and the grid.
    fn new(
        facts: &DirectionPicture<'_>,
        axis: &'a DrawnAxis,
        rows: &[DotRow<'_>],
        curves: usize,
    ) -> DotDrawing<'a> {
        let row_height = (curves as f64 * DOT_HEIGHT + 8.0).max(ROW_HEIGHT_MIN);
        let foot = TOP + rows.len() as f64 * row_height;
        let mut svg = Svg::new(WIDTH, foot + BOTTOM);
        for (index, row) in rows.iter().enumerate() {
            let top = TOP + index as f64 * row_height;
            svg.line(&[(0.0, top), (WIDTH, top)], "grid", "");
            let at = (LABEL_WIDTH - 10.0, top + row_height / 2.0 + 4.5);
            svg.text(at, "end", &axis.value_words(row.value));
        }
        svg.line(&[(0.0, foot), (WIDTH, foot)], "grid", "");
        let points = rows.iter().flat_map(|row| row.points.iter().flatten());
        let points: Vec<&SweepPoint> = points.copied().collect();
        let quantities = DrawnQuantity::known_of(&points);
        let count = quantities.len() as f64;
        let width = (WIDTH - LABEL_WIDTH - GAP * (count - 1.0) - 30.0) / count;
        let mut panels = Vec::new();
        for (index, quantity) in quantities.into_iter().enumerate() {
            let left = LABEL_WIDTH + index as f64 * (width + GAP);
            let (across, ticks) = quantity.scale(facts.result, &points, left, left + width);
            svg.text((left, 18.0), "wallname", quantity.heading());
            let mut free_px = 0.0;
            for (tick, label) in &ticks {
                let x = across.at(*tick);
                svg.line(&[(x, TOP), (x, foot)], "grid", "");
                if x >= free_px {
                    svg.text((x, foot + 16.0), "soft middle", label);
                    free_px = x + TICK_LABEL_WIDTH;
                }
            }
            panels.push((quantity, across));
        }
        DotDrawing {
            svg,
            axis,
            row_height,
            panels,
        }
    }

    fn draw(
        mut self,
        facts: &DirectionPicture<'_>,
        rows: &[DotRow<'_>],
        curves: &[AxisCurve],
    ) -> String {
        let step = self.row_height / (curves.len() + 1) as f64;
        let y = |row: usize, curve: usize| {
            TOP + row as f64 * self.row_height + (curve + 1) as f64 * step
        };
        let marked = [(Some(facts.best()), "best"), (facts.cheapest(), "cheapest")];
        let marked = marked
            .into_iter()
            .filter_map(|(point, class)| Some((point?, class)));
        let marked: Vec<(f64, usize, &SweepPoint, &str)> = marked
            .filter_map(|(point, class)| {
                let (row, curve) = place(facts, self.axis, rows, curves, point)?;
                Some((y(row, curve), curve, point, class))
            })
            .collect();
        let dots = rows.iter().enumerate().flat_map(|(row, of_row)| {
            let points = of_row.points.iter().zip(curves).enumerate();
            points.filter_map(move |(place, (point, curve))| {
                Some((y(row, place), (*point)?, curve.class.as_str()))
            })
        });
        let dots: Vec<(f64, &SweepPoint, &str)> = dots.collect();
        for (y, point, class) in dots {
            self.dot(facts, point, y, class);
        }
        for (y, curve, point, class) in marked {
            let mut dots = rows.iter().flat_map(|row| row.points.iter().flatten());
            if !dots.any(|drawn| drawn.number == point.number) {
                // Its place has the dot of a faster point; it gets a dot of its own.
                self.dot(facts, point, y, &curves[curve].class);
            }
            self.mark(point, y, class);
        }
        let said = format!(
            "The rate of each {}; the figures are in the table of all settings",
            self.axis.words()
        );
        self.svg.markup(&said)
    }

    fn dot(&mut self, facts: &DirectionPicture<'_>, point: &SweepPoint, y: f64, class: &str) {
        for (quantity, across) in &self.panels {
            let Some(figure) = quantity.of(point) else {
                continue;
            };
            if let Some([low, high]) = quantity.interval(facts.result, point) {
                let ends = [(across.at(low), y), (across.at(high), y)];
                self.svg.line(&ends, &format!("whisker {class}"), "");
            }
            let class = format!("dot {class}");
            let at = (across.at(figure), y);
            self.svg.dot(at, DOT_RADIUS, &class, &all_of(point));
        }
    }

    fn mark(&mut self, point: &SweepPoint, y: f64, class: &str) {
        for (quantity, across) in &self.panels {
            if let Some(figure) = quantity.of(point) {
                let title = format!("{class}: {}", all_of(point));
                let at = (across.at(figure), y);
                self.svg.dot(at, radius(class), class, &title);
            }
        }
    }
}

/// The row and the curve of a point, whether or not it is the fastest there.
fn place(
    facts: &DirectionPicture<'_>,
    axis: &DrawnAxis,
    rows: &[DotRow<'_>],
    curves: &[AxisCurve],
    point: &SweepPoint,
) -> Option<(usize, usize)> {
    let own = value(&point.setting, axis.axis);
    let row = rows.iter().position(|row| *row.value == own)?;
    let second = facts.second(axis);
    let own = second.map(|second| value(&point.setting, second.axis));
    let curve = curves.iter().position(|curve| curve.value == own)?;
    Some((row, curve))
}
