//! The run over time: rate, longest latency with the stalls, CPU and memory, one under the other on
//! one time axis. Burst, steady window, idle periods, kernel messages and errors are marked on it.

use super::chart::{
    ALARM, Chart, NEUTRAL, TimeUnit, axis, colour, empty_plot, layout, memory_ticks, rate_axis,
    rounded, second_ticks, trace_name,
};
use super::escape;
use super::marks;
use super::samples::{Moment, Processor, moments};
use super::series::{Point, points};
use plotly::common::{Anchor, DashType, Fill, Font, Line, Marker, MarkerSymbol, Mode};
use plotly::layout::{Annotation, AxisType, HoverMode};
use plotly::{Layout, Plot, Scatter};
use sustain_bench::result::{MeasureResult, Stall};

/// Height in the page of the panels, and of the gap above each that holds its title.
const RATE_PX: usize = 330;
const PANEL_PX: usize = 150;
const GAP_PX: usize = 44;
/// Above the first panel: the legend; below the last: the labels of the axis.
const LEGEND_PX: usize = 74;
const BOTTOM_PX: usize = 40;
/// Memory below this is drawn at it: a logarithmic axis has no zero.
const MEMORY_FLOOR_BYTES: u64 = 1 << 20;
/// With more targets than this the words beside the pointer would cover the chart.
const UNIFIED_HOVER_TARGETS: usize = 4;

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
    let mut titles = vec!["Rate".to_owned(), "Longest latency, and stalls".to_owned()];
    if !moments.is_empty() {
        processor(&mut plot, &moments, unit);
        own_processor(&mut plot, &moments, unit);
        memory(&mut plot, &moments, unit);
        titles.push(title_with_lines("CPU of the machine", &PROCESSOR_LINES));
        titles.push(title_with_lines("Memory", &MEMORY_LINES));
    }
    let panels = Panels::new(titles);
    plot.set_layout(time_layout(result, &moments, unit, top, &panels));
    Chart {
        id,
        heading: "Over time".to_owned(),
        caption: caption(result, &moments),
        height_px: panels.height_px,
        plot,
    }
}

fn caption(result: &MeasureResult, moments: &[Moment]) -> String {
    let mut words = String::from(
        "Thin: each interval. Dashed: running average, all bytes over all seconds so far. Green: \
         the window judged steady. Orange: the burst before it. A stall is a stretch without a \
         completion although requests were in flight; a diamond had company on another target. ",
    );
    if !moments.is_empty() {
        words.push_str("Grey: before and after the run. Memory below 1 MiB is drawn at 1 MiB. ");
    }
    if let Some(why) = &result.system.kernel_log_unreadable {
        words.push_str(&format!("The kernel log could not be read: {why}. "));
    }
    words.push_str("Drag to zoom all at once, double click to go back.");
    words
}

/// Where the panels lie, as parts of the drawing area from its bottom.
struct Panels {
    titles: Vec<String>,
    domains: Vec<[f64; 2]>,
    height_px: usize,
}

impl Panels {
    fn new(titles: Vec<String>) -> Self {
        let area_px = RATE_PX + (titles.len() - 1) * (PANEL_PX + GAP_PX);
        let mut top_px = area_px;
        let mut domains = Vec::new();
        for index in 0..titles.len() {
            let own_px = if index == 0 { RATE_PX } else { PANEL_PX };
            let bottom_px = top_px - own_px;
            let part = |px: usize| px as f64 / area_px as f64;
            domains.push([part(bottom_px), part(top_px)]);
            top_px = bottom_px.saturating_sub(GAP_PX);
        }
        Self {
            titles,
            domains,
            height_px: area_px + LEGEND_PX + BOTTOM_PX,
        }
    }
}

/// Lines of the two lower panels: their words and colours stand in the panel's title.
const PROCESSOR_LINES: [(&str, &str); 4] = [
    ("user", "#56b4e9"),
    ("system", "#2b78c4"),
    ("I/O wait", "#c9a227"),
    ("of it this tool", "#b3261e"),
];
const MEMORY_LINES: [(&str, &str); 3] = [
    ("dirty", "#d5601f"),
    ("in writeback", "#c9689d"),
    ("cached", "#0a9d73"),
];

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
            .name("asked: --rate");
        plot.add_trace(trace.line(line).hover_template("%{y:.4s}B/s"));
    }
    (most * 1.12).max(1.0)
}

/// A thin line for the intervals and a dashed one for the running average.
pub(super) fn rate_pair(
    plot: &mut Plot,
    name: &str,
    colour: &'static str,
    series: &[Point],
    unit: TimeUnit,
) {
    let name = trace_name(name);
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
    // A single interval makes no line: its mark is all that shows.
    let mode = if series.len() > 1 {
        Mode::Lines
    } else {
        Mode::LinesMarkers
    };
    let thin = Scatter::new(middle, instant)
        .mode(mode.clone())
        .name(&name)
        .legend_group(&name)
        .line(Line::new().color(colour).width(1.3))
        .hover_template("%{y:.4s}B/s");
    let dashed = Scatter::new(end, average)
        .mode(mode)
        .name(format!("{name} average"))
        .legend_group(&name)
        .show_legend(false)
        .line(Line::new().color(colour).width(2.6).dash(DashType::Dash))
        .hover_template("%{y:.4s}B/s");
    plot.add_trace(thin);
    plot.add_trace(dashed);
}

fn latencies(plot: &mut Plot, result: &MeasureResult, unit: TimeUnit) {
    for (index, target) in result.targets.iter().enumerate() {
        let name = trace_name(&target.name);
        let series = points(&target.intervals);
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
            .line(Line::new().color(colour(index)).width(1.3))
            .hover_template("%{y:.3s}s");
        plot.add_trace(trace);
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

fn processor(plot: &mut Plot, moments: &[Moment], unit: TimeUnit) {
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
            .y_axis("y3")
            .stack_group("cpu")
            .fill(Fill::ToNextY)
            .line(Line::new().color(colour).width(1.0))
            .hover_template("%{y:.1%}");
        plot.add_trace(trace);
    }
}

/// What the tool itself took of it, as a line over the stacked parts.
fn own_processor(plot: &mut Plot, moments: &[Moment], unit: TimeUnit) {
    let [.., (name, colour)] = PROCESSOR_LINES;
    let told = moments
        .iter()
        .filter_map(|moment| Some((unit.at(moment.time_s), rounded(moment.own?))));
    let (x, y) = told.unzip();
    let trace = Scatter::new(x, y)
        .mode(Mode::Lines)
        .name(name)
        .show_legend(false)
        .y_axis("y3")
        .line(Line::new().color(colour).width(1.6).dash(DashType::Dot))
        .hover_template("%{y:.1%}");
    plot.add_trace(trace);
}

fn memory(plot: &mut Plot, moments: &[Moment], unit: TimeUnit) {
    let parts: [fn(&Moment) -> u64; 3] = [
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
            .y_axis("y4")
            .line(Line::new().color(colour).width(1.6))
            .text_array(words)
            .hover_template("%{text}");
        plot.add_trace(trace);
    }
}

fn time_layout(
    result: &MeasureResult,
    moments: &[Moment],
    unit: TimeUnit,
    top: f64,
    panels: &Panels,
) -> Layout {
    let lowest = format!("y{}", panels.titles.len());
    let begin_s = moments.first().map_or(0.0, |moment| moment.time_s.min(0.0));
    let end_s = moments
        .last()
        .map_or(0.0, |moment| moment.time_s)
        .max(result.total.seconds);
    let margin_s = (end_s - begin_s) * 0.01;
    let x = axis()
        .anchor(&lowest)
        .tick_suffix(unit.suffix)
        .range(vec![unit.at(begin_s - margin_s), unit.at(end_s + margin_s)]);
    let unified = result.targets.len() <= UNIFIED_HOVER_TARGETS;
    let mut layout = layout(result.targets.len())
        .hover_mode(if unified {
            HoverMode::XUnified
        } else {
            HoverMode::Closest
        })
        .margin(marks::margin(LEGEND_PX, BOTTOM_PX))
        .x_axis(x)
        .y_axis(
            rate_axis()
                .domain(&panels.domains[0])
                .range(vec![0.0, top])
                .fixed_range(true),
        )
        .y_axis2(
            latency_axis(result)
                .domain(&panels.domains[1])
                .fixed_range(true),
        )
        .shapes(marks::periods(result, begin_s, end_s, unit))
        .annotations(titles(panels));
    if !moments.is_empty() {
        let processor = axis().tick_format(".0%").range(vec![0.0, 1.0]).n_ticks(4);
        layout = layout
            .y_axis3(processor.domain(&panels.domains[2]).fixed_range(true))
            .y_axis4(
                memory_axis(moments)
                    .domain(&panels.domains[3])
                    .fixed_range(true),
            );
    }
    layout
}

fn latency_axis(result: &MeasureResult) -> plotly::layout::Axis {
    let series = result.targets.iter().flat_map(|target| &target.intervals);
    let seen = series
        .map(|interval| interval.latency_max_ns)
        .filter(|latency_ns| *latency_ns > 0);
    let all: Vec<u64> = seen
        .chain(result.stalls.iter().map(|stall| stall.duration_ns))
        .collect();
    let least_s = all
        .iter()
        .min()
        .map_or(1e-3, |latency_ns| *latency_ns as f64 / 1e9);
    let most_s = all
        .iter()
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

fn memory_axis(moments: &[Moment]) -> plotly::layout::Axis {
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

/// A title that is a legend too.
fn title_with_lines(title: &str, lines: &[(&str, &str)]) -> String {
    let lines = lines
        .iter()
        .map(|(name, colour)| format!("   <span style=\"color:{colour}\">\u{25ac}</span> {name}"));
    format!("{title}{}", lines.collect::<String>())
}

/// A title above each panel but the first, whose place the legend has.
fn titles(panels: &Panels) -> Vec<Annotation> {
    let named = panels.titles.iter().zip(&panels.domains).skip(1);
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
