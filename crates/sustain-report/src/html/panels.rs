//! Lays out a time chart of several panels, one under the other on one time axis: their places,
//! their titles, and the pair of lines with which rates are drawn. All time charts call it.

use super::chart::{TimeUnit, axis, trace_name};
use plotly::common::{Anchor, DashType, Font, Line, Mode};
use plotly::layout::{Annotation, Axis, HoverMode, Margin};
use plotly::{Plot, Scatter};

/// The height of the panel of rates in the page.
pub(super) const RATE_PX: usize = 330;
/// The height of each panel below it.
pub(super) const PANEL_PX: usize = 150;
/// The gap between two panels, which holds the lower one's title.
const GAP_PX: usize = 44;
/// The space above the first panel, which holds the legend.
const LEGEND_PX: usize = 74;
/// The space below the last panel, which holds the labels of the axis.
const BOTTOM_PX: usize = 40;
/// With more lines than this the words beside the pointer would cover the chart.
const UNIFIED_HOVER_LINES: usize = 4;

/// The places of the panels, as parts of the drawing area from its bottom.
pub(super) struct Panels {
    titles: Vec<String>,
    /// The bottom and top of each.
    pub(super) domains: Vec<[f64; 2]>,
    /// The height of all, with legend and axis.
    pub(super) height_px: usize,
}

impl Panels {
    /// Panels from the top, each a title and a height in the page.
    pub(super) fn new(panels: Vec<(String, usize)>) -> Self {
        let gaps_px = panels.len().saturating_sub(1) * GAP_PX;
        let area_px = panels.iter().map(|(_, own_px)| own_px).sum::<usize>() + gaps_px;
        let mut top_px = area_px;
        let mut domains = Vec::new();
        for (_, own_px) in &panels {
            let bottom_px = top_px - own_px;
            let part = |px: usize| px as f64 / area_px as f64;
            domains.push([part(bottom_px), part(top_px)]);
            top_px = bottom_px.saturating_sub(GAP_PX);
        }
        Self {
            titles: panels.into_iter().map(|(title, _)| title).collect(),
            domains,
            height_px: area_px + LEGEND_PX + BOTTOM_PX,
        }
    }

    /// The margin around all panels.
    pub(super) fn margin() -> Margin {
        Margin::new()
            .left(92)
            .right(24)
            .top(LEGEND_PX)
            .bottom(BOTTOM_PX)
    }

    /// The vertical axis of a panel. It does not zoom, so that dragging zooms the time axis.
    pub(super) fn place(&self, index: usize, axis: Axis) -> Axis {
        axis.domain(&self.domains[index]).fixed_range(true)
    }

    /// The time axis under all panels.
    pub(super) fn time_axis(&self, begin_s: f64, end_s: f64, unit: TimeUnit) -> Axis {
        let lowest = match self.titles.len() {
            1 => "y".to_owned(),
            several => format!("y{several}"),
        };
        let margin_s = (end_s - begin_s) * 0.01;
        axis()
            .anchor(&lowest)
            .tick_suffix(unit.suffix)
            .range(vec![unit.at(begin_s - margin_s), unit.at(end_s + margin_s)])
    }

    /// A title above each panel but the first, where the legend stands.
    pub(super) fn titles(&self) -> Vec<Annotation> {
        let named = self.titles.iter().zip(&self.domains).skip(1);
        let annotation = |(title, domain): (&String, &[f64; 2])| {
            Annotation::new()
                .text(title)
                .font(Font::new().size(13))
                .show_arrow(false)
                .x_ref("paper")
                .x(0.0)
                .x_anchor(Anchor::Left)
                .y_ref("paper")
                .y(domain[1])
                .y_anchor(Anchor::Bottom)
                .x_shift(6.0)
                .y_shift(5.0)
        };
        named.map(annotation).collect()
    }
}

/// A title that is a legend as well.
pub(super) fn title_with_lines(title: &str, lines: &[(&str, &str)]) -> String {
    let lines = lines
        .iter()
        .map(|(name, colour)| format!("   <span style=\"color:{colour}\">\u{25ac}</span> {name}"));
    format!("{title}{}", lines.collect::<String>())
}

/// The pointer shows words for all lines at its moment, or only for the nearest of many lines.
pub(super) fn hover_mode(lines: usize) -> HoverMode {
    if lines <= UNIFIED_HOVER_LINES {
        HoverMode::XUnified
    } else {
        HoverMode::Closest
    }
}

/// Two rates of one thing, such as a target.
pub(super) struct LinePair<'a> {
    /// The name of the thing and of the thin line.
    pub(super) name: &'a str,
    /// The word after the name for the dashed line.
    pub(super) dashed_name: &'a str,
    pub(super) colour: &'static str,
    /// The times on the axis, and the rates.
    pub(super) thin: (Vec<f64>, Vec<f64>),
    pub(super) dashed: (Vec<f64>, Vec<f64>),
}

/// Draws a thin line and a dashed one; the legend has one entry for both.
pub(super) fn line_pair(plot: &mut Plot, pair: LinePair<'_>) {
    let name = trace_name(pair.name);
    // A single point makes no line, so that it needs a mark to be visible.
    let mode = if pair.thin.0.len() > 1 {
        Mode::Lines
    } else {
        Mode::LinesMarkers
    };
    let thin = Scatter::new(pair.thin.0, pair.thin.1)
        .mode(mode.clone())
        .name(&name)
        .legend_group(&name)
        .line(Line::new().color(pair.colour).width(1.3))
        .hover_template("%{y:.4s}B/s");
    let dashed = Scatter::new(pair.dashed.0, pair.dashed.1)
        .mode(mode)
        .name(format!("{name} {}", pair.dashed_name))
        .legend_group(&name)
        .show_legend(false)
        .line(
            Line::new()
                .color(pair.colour)
                .width(2.6)
                .dash(DashType::Dash),
        )
        .hover_template("%{y:.4s}B/s");
    plot.add_trace(thin);
    plot.add_trace(dashed);
}
