//! Draws a recording over time: rates with losses, the buffer, the limits of the rate, and the
//! machine, one under the other on one time axis. Kernel messages and the time before and after are
//! marked. The section of a recording calls it.

use plotly::common::{Fill, Line, MarkerSymbol, Mode};
use plotly::{Layout, Plot, Scatter};
use sustain_document::record::{RecordResult, SampleResult};

use super::super::chart::{
    ALARM, Chart, NEUTRAL, TimeUnit, axis, colour, empty_plot, layout, rate_axis, rounded,
    trace_name,
};
use super::super::marks;
use super::super::panels::{LinePair, PANEL_PX, Panels, RATE_PX, hover_mode, line_pair};
use super::super::samples::{SystemMoment, moments};
use super::super::system_panels;
use super::series::{count, drawn, gaps, rates};
use crate::format::{memory, percent, size, stretch};
use crate::limits::{LimitPeriod, limits, meaning, seconds_by};

/// The height in the page of one line of the panel of limits.
const LIMIT_PX: usize = 26;
/// The colours of limits: first the source, which is no trouble.
const LIMIT_COLOURS: [&str; 3] = ["#0a9d73", "#e08a00", ALARM];

/// The chart of this recording.
pub(super) fn time_chart(result: &RecordResult, id: String) -> Chart {
    let description = result.host.description.as_ref();
    let processors = description.map(|facts| facts.cpu_count);
    let machine = moments(&result.system.samples, processors);
    let samples = drawn(&result.samples);
    let limits = limits(&result.samples);
    let unit = TimeUnit::for_run(result.seconds);
    let mut plot = empty_plot();
    let top = draw_rates(&mut plot, result, &samples, unit);
    draw_gaps(&mut plot, result, &samples, unit, top);
    marks::kernel_messages(&mut plot, &result.system, unit, top);
    draw_buffer(&mut plot, &result.samples, unit);
    let held_by = draw_limits(&mut plot, &limits, unit);
    let mut titles = vec![
        ("Rate".to_owned(), RATE_PX),
        (
            format!("Fill of the {} buffer", memory(result.plan.buffer_bytes)),
            PANEL_PX,
        ),
        (
            "What limited the rate".to_owned(),
            LIMIT_PX * (held_by.len() + 1),
        ),
    ];
    if !machine.is_empty() {
        system_panels::draw(&mut plot, &machine, unit, ["y4", "y5"]);
        titles.extend(system_panels::titles().map(|title| (title, PANEL_PX)));
    }
    let panels = Panels::new(titles);
    let axes = TimeChartAxes {
        top,
        held_by: &held_by,
        machine: &machine,
        unit,
    };
    plot.set_layout(chart_layout(result, &panels, &axes));
    Chart {
        id,
        heading: "Rate, buffer, limits and machine over time".to_owned(),
        caption: caption(result, &machine),
        height_px: panels.height_px,
        plot,
    }
}

fn caption(result: &RecordResult, machine: &[SystemMoment]) -> String {
    let mut words = String::from(
        "Thin lines: the rate that the source offered. Dashed lines: the rate at which bytes \
         became durable, which comes in steps, one for each flush. Red cross: bytes that had been \
         lost by then. The buffer holds bytes that wait for members; its highest fill is drawn. \
         What limited the rate is as seen at the samples. ",
    );
    if !machine.is_empty() {
        words.push_str(
            "Grey: before and after the recording. Memory below 1 MiB is drawn at 1 MiB. ",
        );
    }
    if let Some(why) = &result.system.kernel_log_unreadable {
        words.push_str(&format!("The kernel log could not be read: {why}. "));
    }
    words.push_str("Drag to zoom all panels at once, double-click to go back.");
    words
}

/// Draws the rates; returns the top of their axis.
fn draw_rates(
    plot: &mut Plot,
    result: &RecordResult,
    samples: &[&SampleResult],
    unit: TimeUnit,
) -> f64 {
    let mut most = 0.0;
    let mut draw = |name: &str, colour, counted: &dyn Fn(&SampleResult) -> (u64, u64)| {
        let offered = samples.iter().map(|at| (at.time_s, counted(at).0));
        let durable = samples.iter().map(|at| (at.time_s, counted(at).1));
        let (offered, durable) = (rates(offered), rates(durable));
        most = offered
            .iter()
            .chain(&durable)
            .map(|(_, bytes_per_s)| *bytes_per_s)
            .fold(most, f64::max);
        let pair = LinePair {
            name,
            dashed_name: "durable",
            colour,
            thin: line(&offered, unit),
            dashed: line(&durable, unit),
        };
        line_pair(plot, pair);
    };
    for (index, stream) in result.streams.iter().enumerate() {
        draw(&stream.name, colour(index), &|at| {
            (
                count(&at.offered_bytes, index),
                count(&at.durable_bytes, index),
            )
        });
    }
    if result.streams.len() > 1 {
        draw("together", NEUTRAL, &|at| {
            let sum = |counts: &[u64]| counts.iter().sum::<u64>();
            (sum(&at.offered_bytes), sum(&at.durable_bytes))
        });
    }
    (most * 1.12).max(1.0)
}

fn line(rates: &[(f64, f64)], unit: TimeUnit) -> (Vec<f64>, Vec<f64>) {
    let points = rates.iter();
    points
        .map(|(at_s, bytes_per_s)| (unit.at(*at_s), rounded(*bytes_per_s)))
        .unzip()
}

fn draw_gaps(
    plot: &mut Plot,
    result: &RecordResult,
    samples: &[&SampleResult],
    unit: TimeUnit,
    top: f64,
) {
    let streams = result.streams.iter().enumerate();
    let lost: Vec<(f64, String)> = streams
        .flat_map(|(index, stream)| {
            gaps(samples, index).into_iter().map(|(at_s, bytes)| {
                let words = format!("{}: {} lost ({bytes} bytes)", stream.name, size(bytes));
                (at_s, words)
            })
        })
        .collect();
    let height = top * marks::BELOW_TOP;
    marks::event_marks(plot, "lost", MarkerSymbol::X, &lost, unit, height);
}

fn draw_buffer(plot: &mut Plot, samples: &[SampleResult], unit: TimeUnit) {
    let fill = samples
        .iter()
        .map(|at| (unit.at(at.time_s), rounded(at.buffer_fill)));
    let (x, y): (Vec<f64>, Vec<f64>) = fill.unzip();
    let words = samples.iter().map(|at| percent(at.buffer_fill)).collect();
    let trace = Scatter::new(x, y)
        .mode(Mode::Lines)
        .name("buffer")
        .show_legend(false)
        .y_axis("y2")
        .fill(Fill::ToZeroY)
        .line(Line::new().color(colour(4)).width(1.6))
        .text_array(words)
        .hover_template("%{text}");
    plot.add_trace(trace);
}

/// Draws a bar for each period, in a line for each cause; returns the causes from below.
fn draw_limits<'a>(plot: &mut Plot, limits: &[LimitPeriod<'a>], unit: TimeUnit) -> Vec<&'a str> {
    let causes: Vec<&str> = seconds_by(limits).into_iter().map(|(by, _)| by).collect();
    for (height, by) in causes.iter().enumerate() {
        let own = limits.iter().filter(|limit| limit.by == *by);
        // An empty point between two periods breaks the line there.
        let moments = own.flat_map(|limit| [Some(limit.from_s), Some(limit.to_s), None]);
        let x: Vec<Option<f64>> = moments.map(|at_s| at_s.map(|at_s| unit.at(at_s))).collect();
        let y = x.iter().map(|at| at.map(|_| height as f64)).collect();
        let colour = match *by {
            "source" => LIMIT_COLOURS[0],
            "members" => LIMIT_COLOURS[1],
            _ => LIMIT_COLOURS[2],
        };
        let trace = Scatter::new(x, y)
            .mode(Mode::Lines)
            .name(trace_name(by))
            .show_legend(false)
            .y_axis("y3")
            .line(Line::new().color(colour).width(12.0))
            .hover_template(meaning(by));
        plot.add_trace(trace);
    }
    causes
}

/// The data of the axes.
struct TimeChartAxes<'a> {
    top: f64,
    held_by: &'a [&'a str],
    machine: &'a [SystemMoment],
    unit: TimeUnit,
}

fn chart_layout(result: &RecordResult, panels: &Panels, axes: &TimeChartAxes<'_>) -> Layout {
    let machine = axes.machine;
    let begin_s = machine.first().map_or(0.0, |at| at.time_s.min(0.0));
    let end_s = machine
        .last()
        .map_or(0.0, |at| at.time_s)
        .max(result.seconds);
    let (streams, unit) = (result.streams.len(), axes.unit);
    let mut shapes = marks::idle(result.seconds, begin_s, end_s, unit);
    shapes.extend(marks::verticals(&result.system, unit));
    let fill = axis().tick_format(".0%").range(vec![0.0, 1.02]).n_ticks(4);
    let names: Vec<String> = axes.held_by.iter().map(|by| trace_name(by)).collect();
    let lines = names.len() as f64;
    let limits = axis()
        .tick_values((0..names.len()).map(|line| line as f64).collect())
        .tick_text(names)
        .range(vec![-0.8, lines.max(1.0) - 0.2])
        .show_grid(false);
    let mut layout = layout(streams)
        .hover_mode(hover_mode(streams))
        .margin(Panels::margin())
        .show_legend(true)
        .x_axis(panels.time_axis(begin_s, end_s, unit))
        .y_axis(panels.place(0, rate_axis().range(vec![0.0, axes.top])))
        .y_axis2(panels.place(1, fill))
        .y_axis3(panels.place(2, limits))
        .shapes(shapes)
        .annotations(panels.titles());
    if !machine.is_empty() {
        layout = layout
            .y_axis4(panels.place(3, system_panels::processor_axis()))
            .y_axis5(panels.place(4, system_panels::memory_axis(machine)));
    }
    layout
}

/// A row of the table that explains the panel of limits.
pub(super) fn limit_row(
    limits: &[LimitPeriod<'_>],
    by: &str,
    seconds: f64,
    all_s: f64,
) -> Vec<String> {
    /// Nobody reads more periods than this; the chart has them all.
    const STRETCHES_SHOWN: usize = 8;
    let own: Vec<&LimitPeriod<'_>> = limits.iter().filter(|limit| limit.by == by).collect();
    let shown = own.iter().take(STRETCHES_SHOWN);
    let mut when: Vec<String> = shown
        .map(|limit| format!("{} to {}", stretch(limit.from_s), stretch(limit.to_s)))
        .collect();
    if own.len() > STRETCHES_SHOWN {
        let more = own.len() - STRETCHES_SHOWN;
        let periods = if more == 1 { "period" } else { "periods" };
        when.push(format!("and {more} more {periods}"));
    }
    vec![
        by.to_owned(),
        percent(seconds / all_s),
        stretch(seconds),
        meaning(by).to_owned(),
        when.join(", "),
    ]
}
