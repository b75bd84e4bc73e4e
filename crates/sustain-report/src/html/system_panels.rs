//! Draws the machine during a run, as two panels of a time chart: CPU and memory. The time charts
//! of a measurement and of a recording call it.

use super::chart::{TimeUnit, axis, memory_ticks, rounded};
use super::panels::title_with_lines;
use super::samples::{Processor, SystemMoment};
use plotly::common::{DashType, Fill, Line, Mode};
use plotly::layout::{Axis, AxisType};
use plotly::{Plot, Scatter};

/// Less memory is drawn as this much: a logarithmic axis has no zero.
const MEMORY_FLOOR_BYTES: u64 = 1 << 20;
/// The lines of the panels. Their words and colours stand in the panel's title.
const PROCESSOR_LINES: [(&str, &str); 4] = [
    ("user", "#56b4e9"),
    ("system", "#2b78c4"),
    ("I/O wait", "#c9a227"),
    ("part of this program", "#b3261e"),
];
const MEMORY_LINES: [(&str, &str); 3] = [
    ("dirty", "#d5601f"),
    ("in writeback", "#c9689d"),
    ("cached", "#0a9d73"),
];

/// The titles of both panels.
pub(super) fn titles() -> [String; 2] {
    [
        title_with_lines("CPU of the machine", &PROCESSOR_LINES),
        title_with_lines("Memory of the machine", &MEMORY_LINES),
    ]
}

/// Draws both panels on these axes.
pub(super) fn draw(plot: &mut Plot, moments: &[SystemMoment], unit: TimeUnit, axes: [&str; 2]) {
    let [processor_axis, memory_axis] = axes;
    processor(plot, moments, unit, processor_axis);
    own_processor(plot, moments, unit, processor_axis);
    memory(plot, moments, unit, memory_axis);
}

fn processor(plot: &mut Plot, moments: &[SystemMoment], unit: TimeUnit, y_axis: &str) {
    let parts: [fn(&Processor) -> f64; 3] = [
        |parts| parts.user,
        |parts| parts.system,
        |parts| parts.iowait,
    ];
    for ((name, colour), part) in PROCESSOR_LINES.into_iter().zip(parts) {
        let told = moments.iter().filter_map(|moment| {
            let processor = moment.processor.as_ref()?;
            Some((unit.at(moment.time_s), rounded(part(processor))))
        });
        let (x, y) = told.unzip();
        let trace = Scatter::new(x, y)
            .mode(Mode::Lines)
            .name(name)
            .show_legend(false)
            .y_axis(y_axis)
            .stack_group("cpu")
            .fill(Fill::ToNextY)
            .line(Line::new().color(colour).width(1.0))
            .hover_template("%{y:.1%}");
        plot.add_trace(trace);
    }
}

/// The part that the program itself took, as a line over the stacked parts.
fn own_processor(plot: &mut Plot, moments: &[SystemMoment], unit: TimeUnit, y_axis: &str) {
    let [.., (name, colour)] = PROCESSOR_LINES;
    let told = moments
        .iter()
        .filter_map(|moment| Some((unit.at(moment.time_s), rounded(moment.own?))));
    let (x, y) = told.unzip();
    let trace = Scatter::new(x, y)
        .mode(Mode::Lines)
        .name(name)
        .show_legend(false)
        .y_axis(y_axis)
        .line(Line::new().color(colour).width(1.6).dash(DashType::Dot))
        .hover_template("%{y:.1%}");
    plot.add_trace(trace);
}

fn memory(plot: &mut Plot, moments: &[SystemMoment], unit: TimeUnit, y_axis: &str) {
    let parts: [fn(&SystemMoment) -> u64; 3] = [
        |moment| moment.dirty_bytes,
        |moment| moment.writeback_bytes,
        |moment| moment.cached_bytes,
    ];
    for ((name, colour), part) in MEMORY_LINES.into_iter().zip(parts) {
        let x = moments
            .iter()
            .map(|moment| unit.at(moment.time_s))
            .collect();
        let y = moments
            .iter()
            .map(|moment| rounded(part(moment).max(MEMORY_FLOOR_BYTES) as f64));
        let words = moments
            .iter()
            .map(|moment| crate::format::memory(part(moment)))
            .collect();
        let trace = Scatter::new(x, y.collect())
            .mode(Mode::Lines)
            .name(name)
            .show_legend(false)
            .y_axis(y_axis)
            .line(Line::new().color(colour).width(1.6))
            .text_array(words)
            .hover_template("%{text}");
        plot.add_trace(trace);
    }
}

/// The axis of the CPU panel.
pub(super) fn processor_axis() -> Axis {
    axis().tick_format(".0%").range(vec![0.0, 1.0]).n_ticks(4)
}

/// The axis of the memory panel.
pub(super) fn memory_axis(moments: &[SystemMoment]) -> Axis {
    let floor = MEMORY_FLOOR_BYTES as f64;
    let all = moments
        .iter()
        .flat_map(|m| [m.dirty_bytes, m.writeback_bytes, m.cached_bytes]);
    let most = all.max().unwrap_or(0) as f64;
    let (values, labels) = memory_ticks(floor, most.max(floor * 16.0));
    let range = vec![
        (floor * 0.8).log10(),
        (most.max(floor * 16.0) * 2.0).log10(),
    ];
    axis()
        .type_(AxisType::Log)
        .tick_values(values)
        .tick_text(labels)
        .range(range)
}
