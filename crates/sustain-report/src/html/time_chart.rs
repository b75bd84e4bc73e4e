//! Draws a measurement over time: rate, longest latency with the stalls, CPU and memory, one under
//! the other on one time axis. The burst, the steady window, idle periods, kernel messages and
//! errors are marked. The section of a measurement calls it.

use plotly::common::{DashType, Line, Marker, MarkerSymbol, Mode};
use plotly::layout::AxisType;
use plotly::{Layout, Plot, Scatter};
use sustain_document::measure::{MeasureResult, Stall};
use sustain_document::vocabulary::DataPath;

use super::chart::{
    ALARM, Chart, NEUTRAL, TimeUnit, axis, colour, empty_plot, layout, rate_axis, rounded,
    second_ticks, trace_name,
};
use super::escape;
use super::marks;
use super::panels::{LinePair, PANEL_PX, Panels, RATE_PX, hover_mode, line_pair};
use super::samples::{SystemMoment, moments};
use super::series::{ChartPoint, points};
use super::system_panels;

/// The chart of this result.
pub(super) fn time_chart(result: &MeasureResult, id: String) -> Chart {
    let processors = result
        .host
        .description
        .as_ref()
        .map(|facts| facts.cpu_count);
    let moments = moments(&result.system.samples, processors);
    let unit = TimeUnit::for_run(result.total.seconds);
    let mut plot = empty_plot();
    let top = rates(&mut plot, result, unit);
    latencies(&mut plot, result, unit);
    marks::events(&mut plot, result, unit, top);
    let mut titles = vec![
        ("Rate".to_owned(), RATE_PX),
        (
            "Longest latency of each interval, and stalls".to_owned(),
            PANEL_PX,
        ),
    ];
    if !moments.is_empty() {
        system_panels::draw(&mut plot, &moments, unit, ["y3", "y4"]);
        titles.extend(system_panels::titles().map(|title| (title, PANEL_PX)));
    }
    let panels = Panels::new(titles);
    plot.set_layout(time_layout(result, &moments, unit, top, &panels));
    Chart {
        id,
        heading: "Rate, latency, CPU and memory over time".to_owned(),
        caption: caption(result, &moments),
        height_px: panels.height_px,
        plot,
    }
}

fn caption(result: &MeasureResult, moments: &[SystemMoment]) -> String {
    let mut words = String::from(
        "Thin lines: each interval. Dashed lines: the running average, which is all bytes over all \
         seconds so far. Green: the period judged steady. Orange: the burst before it. A stall is \
         a time without a completion although requests were in flight; a cross is a stall of one \
         target, a diamond one that another target had at the same moment. ",
    );
    if result.plan.path == DataPath::Buffered {
        words.push_str(
            "Through the page cache, the rate of an interval is that of memory and disk together, \
             not that of the disk; the rate of the whole run, flushes included, is the disk's. ",
        );
    }
    if !moments.is_empty() {
        words.push_str("Grey: before and after the run. Memory below 1 MiB is drawn at 1 MiB. ");
    }
    if let Some(why) = &result.system.kernel_log_unreadable {
        words.push_str(&format!("The kernel log could not be read: {why}. "));
    }
    words.push_str("Drag to zoom all panels at once, double-click to go back.");
    words
}

/// Draws the rates; returns the top of their axis.
fn rates(plot: &mut Plot, result: &MeasureResult, unit: TimeUnit) -> f64 {
    let mut most = result.plan.rate_bytes_per_s.unwrap_or(0.0);
    for (index, target) in result.targets.iter().enumerate() {
        let series = points(&target.intervals);
        most = series
            .iter()
            .map(|point| point.rate_bytes_per_s)
            .fold(most, f64::max);
        rate_pair(plot, &target.name, colour(index), &series, unit);
    }
    if result.targets.len() > 1 {
        let series = points(&result.total.intervals);
        most = series
            .iter()
            .map(|point| point.rate_bytes_per_s)
            .fold(most, f64::max);
        rate_pair(plot, "together", NEUTRAL, &series, unit);
    }
    if let Some(asked) = result.plan.rate_bytes_per_s {
        let ends = vec![0.0, unit.at(result.total.seconds)];
        let line = Line::new().color(ALARM).dash(DashType::Dot).width(1.5);
        let trace = Scatter::new(ends, vec![asked, asked])
            .mode(Mode::Lines)
            .name("asked for (--rate)");
        plot.add_trace(trace.line(line).hover_template("%{y:.4s}B/s"));
    }
    (most * 1.12).max(1.0)
}

/// A thin line for the intervals and a dashed one for the running average.
pub(super) fn rate_pair(
    plot: &mut Plot,
    name: &str,
    colour: &'static str,
    series: &[ChartPoint],
    unit: TimeUnit,
) {
    let middle = series.iter().map(|point| unit.at(point.middle_s)).collect();
    let end = series.iter().map(|point| unit.at(point.end_s)).collect();
    let instant = series
        .iter()
        .map(|point| rounded(point.rate_bytes_per_s))
        .collect();
    let average = series
        .iter()
        .map(|point| rounded(point.average_bytes_per_s))
        .collect();
    let pair = LinePair {
        name,
        dashed_name: "average",
        colour,
        thin: (middle, instant),
        dashed: (end, average),
    };
    line_pair(plot, pair);
}

fn latencies(plot: &mut Plot, result: &MeasureResult, unit: TimeUnit) {
    for (index, target) in result.targets.iter().enumerate() {
        latency_line(
            plot,
            &target.name,
            colour(index),
            &points(&target.intervals),
            unit,
        );
    }
    let (shared, alone): (Vec<&Stall>, Vec<&Stall>) = result
        .stalls
        .iter()
        .partition(|stall| !stall.shared_with.is_empty());
    stalls(plot, "stall", MarkerSymbol::X, &alone, unit);
    stalls(
        plot,
        "stall on several",
        MarkerSymbol::Diamond,
        &shared,
        unit,
    );
}

/// The longest latency of each interval, in the panel below the rates.
pub(super) fn latency_line(
    plot: &mut Plot,
    name: &str,
    colour: &'static str,
    series: &[ChartPoint],
    unit: TimeUnit,
) {
    let name = trace_name(name);
    let seen = series.iter().filter(|point| point.latency_max_ns > 0);
    let (x, y): (Vec<f64>, Vec<f64>) = seen
        .map(|point| {
            (
                unit.at(point.middle_s),
                rounded(point.latency_max_ns as f64 / 1e9),
            )
        })
        .unzip();
    let trace = Scatter::new(x, y)
        .mode(Mode::Lines)
        .name(&name)
        .legend_group(&name)
        .show_legend(false)
        .y_axis("y2")
        .line(Line::new().color(colour).width(1.3))
        .hover_template("%{y:.3s}s");
    plot.add_trace(trace);
}

fn stalls(plot: &mut Plot, name: &str, symbol: MarkerSymbol, stalls: &[&Stall], unit: TimeUnit) {
    if stalls.is_empty() {
        return;
    }
    let x = stalls.iter().map(|stall| unit.at(stall.start_s)).collect();
    let y = stalls
        .iter()
        .map(|stall| rounded(stall.duration_ns as f64 / 1e9))
        .collect();
    let words = stalls
        .iter()
        .map(|stall| escape::label(&marks::stall_words(stall)))
        .collect();
    let trace = Scatter::new(x, y)
        .mode(Mode::Markers)
        .name(name)
        .y_axis("y2")
        .marker(Marker::new().color(ALARM).size(9).symbol(symbol))
        .text_array(words)
        .hover_template("%{text}");
    plot.add_trace(trace);
}

fn time_layout(
    result: &MeasureResult,
    moments: &[SystemMoment],
    unit: TimeUnit,
    top: f64,
    panels: &Panels,
) -> Layout {
    let begin_s = moments.first().map_or(0.0, |moment| moment.time_s.min(0.0));
    let end_s = moments
        .last()
        .map_or(0.0, |moment| moment.time_s)
        .max(result.total.seconds);
    let rates = rate_axis().range(vec![0.0, top]);
    let series = result.targets.iter().flat_map(|target| &target.intervals);
    let longest = series.map(|interval| interval.latency_max_ns);
    let stalls = result.stalls.iter().map(|stall| stall.duration_ns);
    let latencies_ns: Vec<u64> = longest.chain(stalls).collect();
    let mut layout = layout(result.targets.len())
        .hover_mode(hover_mode(result.targets.len()))
        .margin(Panels::margin())
        .x_axis(panels.time_axis(begin_s, end_s, unit))
        .y_axis(panels.place(0, rates))
        .y_axis2(panels.place(1, latency_axis(&latencies_ns)))
        .shapes(marks::periods(result, begin_s, end_s, unit))
        .annotations(panels.titles());
    if !moments.is_empty() {
        layout = layout
            .y_axis3(panels.place(2, system_panels::processor_axis()))
            .y_axis4(panels.place(3, system_panels::memory_axis(moments)));
    }
    layout
}

/// A logarithmic axis that encloses all of these.
pub(super) fn latency_axis(latencies_ns: &[u64]) -> plotly::layout::Axis {
    let seen = latencies_ns.iter().filter(|latency_ns| **latency_ns > 0);
    let least_s = seen
        .clone()
        .min()
        .map_or(1e-3, |latency_ns| *latency_ns as f64 / 1e9);
    let most_s = seen
        .max()
        .map_or(1.0, |latency_ns| *latency_ns as f64 / 1e9);
    let (values, labels) = second_ticks(least_s, most_s);
    let range = vec![(least_s * 0.7).log10(), (most_s * 1.6).log10()];
    axis()
        .type_(AxisType::Log)
        .tick_values(values)
        .tick_text(labels)
        .range(range)
}
