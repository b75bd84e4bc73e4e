//! Draws a profile: rate against position, each target alone and all at once. Samples are dots,
//! zones are steps, places that differ from their zone are marked, and the part where a shared
//! limit binds is shaded. The section of a profile calls it.

use plotly::common::{DashType, HoverInfo, Line, LineShape, Marker, MarkerSymbol, Mode};
use plotly::layout::{Shape, ShapeLayer, ShapeLine, ShapeType};
use plotly::{Plot, Scatter};
use sustain_document::profile::OutlierKind;
use sustain_document::profile::{
    ProfilePoint, ProfileResult, ProfileTarget, ProfileTogether, SharedLimit,
};
use sustain_document::vocabulary::Direction;

use super::super::chart::{
    ALARM, Chart, NEUTRAL, axis, colour, empty_plot, layout, rate_axis, rounded, title, trace_name,
};
use super::super::escape;
use crate::format::{percent, position, rate};

const HEIGHT_PX: usize = 480;
/// With more targets than this the dots would hide each other.
const DOTTED_MAX: usize = 6;

/// The scale of positions: bytes for one target, a part of each for several.
#[derive(Clone, Copy)]
enum PositionScale {
    Bytes,
    Parts,
}

impl PositionScale {
    fn of(self, byte: u64, target: &ProfileTarget) -> f64 {
        match self {
            PositionScale::Bytes => rounded(byte as f64),
            PositionScale::Parts => rounded(byte as f64 / target.size_bytes.max(1) as f64),
        }
    }
}

/// The chart of this direction.
pub(super) fn curve_chart(result: &ProfileResult, direction: Direction, id: String) -> Chart {
    let targets: Vec<&ProfileTarget> = result
        .targets
        .iter()
        .filter(|target| target.direction == direction)
        .collect();
    let together = result
        .together
        .iter()
        .find(|one| one.direction == direction);
    let scale = if targets.len() == 1 {
        PositionScale::Bytes
    } else {
        PositionScale::Parts
    };
    let mut plot = empty_plot();
    for (index, target) in targets.iter().enumerate() {
        steps(&mut plot, target, index, scale);
        if targets.len() <= DOTTED_MAX {
            dots(&mut plot, target, index, scale);
        }
    }
    marks(&mut plot, &targets, scale);
    if let Some(together) = together {
        sums(&mut plot, together);
    }
    let most = most(&targets, together) * 1.08;
    let end = match (scale, targets.first()) {
        (PositionScale::Bytes, Some(only)) => only.size_bytes as f64,
        _ => 1.0,
    };
    let x = match scale {
        PositionScale::Bytes => axis().tick_format("~s").tick_suffix("B"),
        PositionScale::Parts => axis().tick_format(".0%"),
    };
    let x = x
        .range(vec![-0.01 * end, 1.01 * end])
        .title(title(match scale {
            PositionScale::Bytes => "position, from the start of the target",
            PositionScale::Parts => "position, as a part of each target",
        }));
    let shapes = together.and_then(|one| one.shared_limit.as_ref());
    let layout = layout(targets.len() + 2)
        .x_axis(x)
        .y_axis(rate_axis().range(vec![0.0, most]))
        .shapes(shapes.map(|limit| bound(limit, most)).into_iter().collect())
        .show_legend(true);
    plot.set_layout(layout);
    Chart {
        id,
        heading: match direction {
            Direction::Read => "Read rate by position".to_owned(),
            Direction::Write => "Write rate by position".to_owned(),
        },
        caption: caption(together),
        height_px: HEIGHT_PX,
        plot,
    }
}

fn caption(together: Option<&ProfileTogether>) -> String {
    let mut words = String::from(
        "Dots: samples, without visits that were disturbed. Steps: the zones fitted to them. \
         Red crosses: places that differ from their zone. Grey crosses: places that were slow in \
         some visits only, or no more often than chance explains.",
    );
    if together.is_some() {
        words.push_str(
            " Grey: the sum of the rates of all targets, measured at once (dots, and a line \
             through their middle) and each alone (dashed). Shaded: where a limit that they share \
             binds.",
        );
    }
    words
}

fn most(targets: &[&ProfileTarget], together: Option<&ProfileTogether>) -> f64 {
    let points = targets.iter().flat_map(|target| &target.points);
    let alone = points.filter_map(|point| point.rate_bytes_per_s);
    let sums = together.into_iter().flat_map(|one| &one.points);
    let sums = sums.flat_map(|point| {
        let seen = point.sums_bytes_per_s.iter().copied();
        seen.chain(point.alone_bytes_per_s)
    });
    alone.chain(sums).fold(1.0, f64::max)
}

/// The zones, as a line of steps.
fn steps(plot: &mut Plot, target: &ProfileTarget, index: usize, scale: PositionScale) {
    let (mut x, mut y, mut said) = (Vec::new(), Vec::new(), Vec::new());
    for zone in &target.zones {
        for byte in [zone.from_byte, zone.to_byte] {
            x.push(scale.of(byte, target));
            y.push(rounded(zone.rate_bytes_per_s));
            said.push(format!(
                "{}: {} from {} to {}",
                escape::label(&target.name),
                rate(zone.rate_bytes_per_s),
                position(zone.from_byte),
                position(zone.to_byte)
            ));
        }
    }
    let trace = Scatter::new(x, y)
        .mode(Mode::Lines)
        .name(trace_name(&target.name))
        .legend_group(format!("target-{index}"))
        .line(
            Line::new()
                .color(colour(index))
                .width(2.4)
                .shape(LineShape::Linear),
        )
        .text_array(said)
        .hover_template("%{text}<extra></extra>");
    plot.add_trace(trace);
}

/// The samples.
fn dots(plot: &mut Plot, target: &ProfileTarget, index: usize, scale: PositionScale) {
    let is_regular = |point: &&ProfilePoint| point.flag.is_none();
    let points = target.points.iter().filter(is_regular);
    let (mut x, mut y, mut said) = (Vec::new(), Vec::new(), Vec::new());
    for point in points {
        let Some(found) = point.rate_bytes_per_s else {
            continue;
        };
        x.push(scale.of(point.offset_bytes, target));
        y.push(rounded(found));
        said.push(format!(
            "{}: {} at {}, {}",
            escape::label(&target.name),
            rate(found),
            position(point.offset_bytes),
            match point.rates_bytes_per_s.len() {
                1 => "1 visit".to_owned(),
                visits => format!("{visits} visits"),
            }
        ));
    }
    let trace = Scatter::new(x, y)
        .mode(Mode::Markers)
        .name(trace_name(&target.name))
        .legend_group(format!("target-{index}"))
        .show_legend(false)
        .marker(Marker::new().color(colour(index)).size(5).opacity(0.55))
        .text_array(said)
        .hover_template("%{text}<extra></extra>");
    plot.add_trace(trace);
}

/// The places that differ from their zone.
fn marks(plot: &mut Plot, targets: &[&ProfileTarget], scale: PositionScale) {
    for (is_passing, name, shade) in [
        (false, "differs from its zone", ALARM),
        (true, "slow in some visits", NEUTRAL),
    ] {
        let (mut x, mut y, mut said) = (Vec::new(), Vec::new(), Vec::new());
        for target in targets {
            for outlier in &target.outliers {
                let kind = outlier.kind;
                let passes = matches!(kind, OutlierKind::Disturbance | OutlierKind::Uncertain);
                if passes != is_passing {
                    continue;
                }
                let middle = outlier.from_byte.midpoint(outlier.to_byte);
                x.push(scale.of(middle, target));
                y.push(rounded(outlier.rate_bytes_per_s.unwrap_or(0.0)));
                said.push(escape::label(&format!(
                    "{}: {}",
                    target.name, outlier.words
                )));
            }
        }
        if x.is_empty() {
            continue;
        }
        let marker = Marker::new().color(shade).size(11);
        let trace = Scatter::new(x, y)
            .mode(Mode::Markers)
            .name(name)
            .marker(marker.symbol(MarkerSymbol::X))
            .text_array(said)
            .hover_template("%{text}<extra></extra>");
        plot.add_trace(trace);
    }
}

/// The rates of all at once, and the sum of their rates alone.
fn sums(plot: &mut Plot, together: &ProfileTogether) {
    let (mut x, mut y, mut said) = (Vec::new(), Vec::new(), Vec::new());
    let (mut alone_x, mut alone_y) = (Vec::new(), Vec::new());
    let (mut middle_x, mut middle_y) = (Vec::new(), Vec::new());
    for point in &together.points {
        middle_x.push(rounded(point.position));
        middle_y.push(rounded(point.rates_bytes_per_s.iter().sum()));
        for sum in &point.sums_bytes_per_s {
            x.push(rounded(point.position));
            y.push(rounded(*sum));
            said.push(format!(
                "all at once: {} at {}",
                rate(*sum),
                percent(point.position)
            ));
        }
        if let Some(alone) = point.alone_bytes_per_s {
            alone_x.push(rounded(point.position));
            alone_y.push(rounded(alone));
        }
    }
    let alone = Scatter::new(alone_x, alone_y)
        .mode(Mode::Lines)
        .name("sum of each alone")
        .line(Line::new().color(NEUTRAL).width(1.6).dash(DashType::Dash))
        .hover_template("sum of each alone: %{y:.3s}B/s<extra></extra>");
    plot.add_trace(alone);
    // Visits of one place may differ much, so that the line goes through their middle.
    let middle = Scatter::new(middle_x, middle_y)
        .mode(Mode::Lines)
        .name("all at once")
        .legend_group("at-once")
        .line(Line::new().color(NEUTRAL).width(1.8))
        .hover_info(HoverInfo::Skip);
    plot.add_trace(middle);
    let at_once = Scatter::new(x, y)
        .mode(Mode::Markers)
        .name("all at once")
        .legend_group("at-once")
        .show_legend(false)
        .marker(Marker::new().color(NEUTRAL).size(5))
        .text_array(said)
        .hover_template("%{text}<extra></extra>");
    plot.add_trace(at_once);
}

/// The part where the limit binds.
fn bound(limit: &SharedLimit, most: f64) -> Shape {
    Shape::new()
        .shape_type(ShapeType::Rect)
        .x0(0.0)
        .x1(limit.binds_until.unwrap_or(1.0))
        .y0(0.0)
        .y1(most)
        .fill_color("rgba(209,67,63,0.10)")
        .line(ShapeLine::new().width(0.0))
        .layer(ShapeLayer::Below)
}
