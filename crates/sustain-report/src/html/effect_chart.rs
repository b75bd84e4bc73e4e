//! Draws the latencies of the probe workloads beside a load, and the dirty memory, one under the
//! other on one time axis: direct against buffered where the load ran by both I/O paths. The
//! section on the effect of a load calls it.

use plotly::common::{DashType, Line, Mode};
use plotly::layout::{Axis, AxisType, Shape, ShapeLayer, ShapeLine, ShapeType};
use plotly::{Plot, Scatter};
use sustain_document::effect::{EffectResult, MemoryMoment, PathEffect, ProbeInterval};

use super::chart::{
    Chart, TimeUnit, axis, colour, empty_plot, layout, memory_ticks, rounded, second_ticks,
    trace_name,
};
use super::marks;
use super::panels::{PANEL_PX, Panels, hover_mode};

/// The panel of a probe workload is a little higher than one of the machine.
const VICTIM_PX: usize = 190;
/// Less memory is drawn as this much: a logarithmic axis has no zero.
const MEMORY_FLOOR_BYTES: u64 = 1 << 20;

/// The latencies of one probe workload beside a load by one I/O path.
type Seen = fn(&PathEffect) -> &[ProbeInterval];

/// The chart; none if there is no probe workload to draw.
pub(super) fn effect_chart(effect: &EffectResult, id: String) -> Option<Chart> {
    let victims: [(&str, Seen); 2] = [
        ("Longest write of 4 KiB with fsync", |path| {
            path.writes_over_time.as_slice()
        }),
        (
            "Largest delay of a timer that fires each millisecond",
            |path| path.timer_over_time.as_slice(),
        ),
    ];
    let seen: Vec<_> = victims
        .into_iter()
        .filter(|(_, of)| effect.paths.iter().any(|path| !of(path).is_empty()))
        .collect();
    let with_memory = effect
        .paths
        .iter()
        .any(|path| !path.memory_over_time.is_empty());
    let mut titles: Vec<(String, usize)> = seen
        .iter()
        .map(|(title, _)| ((*title).to_owned(), VICTIM_PX))
        .collect();
    if with_memory {
        titles.push(("Memory dirty or in writeback".to_owned(), PANEL_PX));
    }
    // The legend stands in the place of the first title.
    let first = titles.first()?.0.clone();
    let panels = Panels::new(titles);
    let times = Times::of(effect)?;
    let mut plot = empty_plot();
    let mut axes: Vec<Axis> = Vec::new();
    for (_, of) in &seen {
        let all: Vec<&[ProbeInterval]> = effect.paths.iter().map(of).collect();
        axes.push(panels.place(axes.len(), latency_axis(&all)));
        draw_victims(&mut plot, effect, &all, times.unit, axes.len());
    }
    if with_memory {
        axes.push(panels.place(axes.len(), memory_axis(effect)));
        draw_memory(&mut plot, effect, times.unit, axes.len());
    }
    plot.set_layout(effect_layout(effect, &times, &panels, axes));
    Some(Chart {
        id,
        heading: format!("Probe workloads beside the load. {first}"),
        caption: "Grey: before and after the load. Dotted line: the end of a load. Each point is \
                  the worst of its quarter of a second. Drag to zoom all panels at once, \
                  double-click to go back."
            .to_owned(),
        height_px: panels.height_px,
        plot,
    })
}

/// The time axis of all I/O paths together.
struct Times {
    begin_s: f64,
    /// The end of the load that took longest.
    load_s: f64,
    end_s: f64,
    unit: TimeUnit,
}

impl Times {
    fn of(effect: &EffectResult) -> Option<Times> {
        let stretches = || effect.paths.iter().map(|path| &path.stretches);
        let most = |ends: &mut dyn Iterator<Item = f64>| ends.reduce(f64::max);
        let load_s = most(&mut stretches().filter_map(|all| Some(all.during?.end_s)))?;
        let begins = stretches().filter_map(|all| Some(all.before?.start_s));
        Some(Times {
            begin_s: begins.fold(0.0, f64::min),
            load_s,
            end_s: most(&mut stretches().filter_map(|all| Some(all.after?.end_s)))
                .unwrap_or(load_s),
            unit: TimeUnit::for_run(load_s),
        })
    }
}

/// The name of a panel's axis: `y`, `y2`, `y3`.
fn axis_name(panel: usize) -> String {
    if panel == 1 {
        "y".to_owned()
    } else {
        format!("y{panel}")
    }
}

fn draw_victims(
    plot: &mut Plot,
    effect: &EffectResult,
    all: &[&[ProbeInterval]],
    unit: TimeUnit,
    panel: usize,
) {
    for (index, (path, intervals)) in effect.paths.iter().zip(all).enumerate() {
        let middle = |step: &ProbeInterval| unit.at(f64::midpoint(step.start_s, step.end_s));
        let x = intervals.iter().map(middle).collect();
        let y = intervals
            .iter()
            .map(|step| rounded(step.max_ns as f64 / 1e9))
            .collect();
        let trace = Scatter::new(x, y)
            .mode(Mode::Lines)
            .name(trace_name(&path.path))
            .legend_group(trace_name(&path.path))
            .show_legend(panel == 1)
            .y_axis(axis_name(panel))
            .line(Line::new().color(colour(index)).width(1.5))
            .hover_template("%{y:.3s}s");
        plot.add_trace(trace);
    }
}

fn draw_memory(plot: &mut Plot, effect: &EffectResult, unit: TimeUnit, panel: usize) {
    for (index, path) in effect.paths.iter().enumerate() {
        let moments = &path.memory_over_time;
        let x = moments
            .iter()
            .map(|moment| unit.at(moment.time_s))
            .collect();
        let y = moments
            .iter()
            .map(|moment| rounded(moment.dirty_bytes.max(MEMORY_FLOOR_BYTES) as f64))
            .collect();
        let words = moments
            .iter()
            .map(|moment| crate::format::memory(moment.dirty_bytes))
            .collect();
        let trace = Scatter::new(x, y)
            .mode(Mode::Lines)
            .name(trace_name(&path.path))
            .legend_group(trace_name(&path.path))
            .show_legend(panel == 1)
            .y_axis(axis_name(panel))
            .line(Line::new().color(colour(index)).width(1.5))
            .text_array(words)
            .hover_template("%{text}");
        plot.add_trace(trace);
    }
}

fn latency_axis(all: &[&[ProbeInterval]]) -> Axis {
    let seen = || {
        all.iter()
            .flat_map(|intervals| intervals.iter())
            .map(|step| step.max_ns.max(1) as f64 / 1e9)
    };
    let least_s = seen().reduce(f64::min).unwrap_or(1e-4);
    let most_s = seen().reduce(f64::max).unwrap_or(1e-2);
    let (values, labels) = second_ticks(least_s, most_s);
    axis()
        .type_(AxisType::Log)
        .tick_values(values)
        .tick_text(labels)
        .range(vec![(least_s * 0.7).log10(), (most_s * 1.6).log10()])
}

fn memory_axis(effect: &EffectResult) -> Axis {
    let floor = MEMORY_FLOOR_BYTES as f64;
    let all = effect.paths.iter().flat_map(|path| &path.memory_over_time);
    let dirty = all.map(|moment: &MemoryMoment| moment.dirty_bytes);
    let most = (dirty.max().unwrap_or(0) as f64).max(floor * 16.0);
    let (values, labels) = memory_ticks(floor, most);
    axis()
        .type_(AxisType::Log)
        .tick_values(values)
        .tick_text(labels)
        .range(vec![(floor * 0.8).log10(), (most * 2.0).log10()])
}

fn effect_layout(
    effect: &EffectResult,
    times: &Times,
    panels: &Panels,
    axes: Vec<Axis>,
) -> plotly::Layout {
    let mut shapes = marks::idle(times.load_s, times.begin_s, times.end_s, times.unit);
    for (index, path) in effect.paths.iter().enumerate() {
        let end = path.stretches.during.map(|during| during.end_s);
        shapes.extend(end.map(|end_s| end_of_load(times.unit.at(end_s), colour(index))));
    }
    let mut layout = layout(effect.paths.len())
        .show_legend(true)
        .hover_mode(hover_mode(effect.paths.len()))
        .margin(Panels::margin())
        .x_axis(panels.time_axis(times.begin_s, times.end_s, times.unit))
        .shapes(shapes)
        .annotations(panels.titles());
    let mut axes = axes.into_iter();
    if let Some(axis) = axes.next() {
        layout = layout.y_axis(axis);
    }
    if let Some(axis) = axes.next() {
        layout = layout.y_axis2(axis);
    }
    if let Some(axis) = axes.next() {
        layout = layout.y_axis3(axis);
    }
    layout
}

fn end_of_load(x: f64, colour: &'static str) -> Shape {
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
                .color(colour)
                .width(1.5)
                .dash(DashType::Dot),
        )
}
