//! Draws a measurement over time: rate, longest latency with the stalls, CPU and memory, one under
//! the other on one time axis. The burst, the steady window, idle periods, kernel messages and
//! errors are marked. The section of a measurement calls it.

use sustain_document::measure::{Interval, MeasureResult, Stall};
use sustain_document::vocabulary::DataPath;

use super::chart::{ALARM, Arrangement, Figure, Key, NEUTRAL, Panel, Quantity, Scale, TimeUnit};
use super::marks;
use super::samples::{SystemMoment, moments};
use super::series::{ChartPoint, points, points_max};
use super::system_panels::{self, PANEL_PX};

/// The height of the panel of rates in the page.
pub(super) const RATE_PX: usize = 300;
/// The lines of a target: its rate, the average, its longest latencies, and the ends of a band.
const LINES_PER_TARGET: usize = 4;

/// The chart of this result.
pub(super) fn time_chart(result: &MeasureResult, id: String) -> Figure {
    let description = result.host.description.as_ref();
    let processors = description.map(|facts| facts.cpu_count);
    let moments = moments(&result.system.samples, processors);
    let run_s = result.total.seconds;
    let ends_s = ends(&moments, run_s);
    let across = Scale::time(ends_s.0, ends_s.1, TimeUnit::for_run(run_s));
    let drawn = drawn(result);
    let mut rates = rate_panel(&drawn, result.plan.rate_bytes_per_s, run_s, &across);
    marks::judged_periods(&mut rates, result);
    marks::events(&mut rates, result);
    let own = &drawn[..result.targets.len()];
    let mut latencies = latency_panel(
        "Longest latency of each interval, and stalls",
        own,
        &across,
        &result.stalls,
    );
    stalls(&mut latencies, result);
    let mut panels = vec![rates, latencies];
    panels.extend(system_panels::panels(&moments, &across));
    for panel in &mut panels {
        marks::around(panel, run_s, ends_s, Some(&result.system));
    }
    let mut keys: Vec<Key> = drawn.into_iter().map(|one| one.key).collect();
    keys.extend(result.plan.rate_bytes_per_s.map(|_| asked_key()));
    Figure {
        id,
        heading: "Rate, latency, CPU and memory over time".to_owned(),
        caption: caption(result, &moments),
        keys,
        panels,
        arrangement: Arrangement::OverTime,
    }
}

/// The begin and the end of all that was seen.
pub(super) fn ends(moments: &[SystemMoment], run_s: f64) -> (f64, f64) {
    let begin_s = moments.first().map_or(0.0, |at| at.time_s.min(0.0));
    let end_s = moments.last().map_or(0.0, |at| at.time_s).max(run_s);
    (begin_s, end_s)
}

fn asked_key() -> Key {
    Key::coloured(marks::NO_KEY, "asked for (--rate)", ALARM)
}

/// What is drawn of one target or run.
pub(super) struct DrawnSeries {
    pub(super) key: Key,
    pub(super) points: Vec<ChartPoint>,
}

/// The series of each target, and of all together if they are several.
fn drawn(result: &MeasureResult) -> Vec<DrawnSeries> {
    let most = points_max((result.targets.len() + 1) * LINES_PER_TARGET);
    let series = |key: Key, intervals: &[Interval]| DrawnSeries {
        key,
        points: points(intervals, most),
    };
    let targets = result.targets.iter().enumerate();
    let mut all: Vec<DrawnSeries> = targets
        .map(|(index, target)| series(Key::new(index, &target.name), &target.intervals))
        .collect();
    if result.targets.len() > 1 {
        let key = Key::coloured(all.len(), "together", NEUTRAL);
        all.push(series(key, &result.total.intervals));
    }
    all
}

/// The rates: a thin line for the intervals and a dashed one for the running average.
pub(super) fn rate_panel(
    drawn: &[DrawnSeries],
    asked_bytes_per_s: Option<f64>,
    run_s: f64,
    across: &Scale,
) -> Panel {
    let rates = drawn.iter().flat_map(|one| &one.points);
    let rates = rates.map(|point| point.rate_range_bytes_per_s[1]);
    let most = rates.chain(asked_bytes_per_s).fold(1.0, f64::max);
    let up = Scale::from_zero(Quantity::Rate, most * 1.05);
    let mut panel = Panel::new("Rate", RATE_PX, across, up);
    for DrawnSeries { key, points } in drawn {
        let instant = points.iter().map(|point| {
            let range = point.rate_range_bytes_per_s;
            (point.middle_s, point.rate_bytes_per_s, range)
        });
        panel.line_in_band(key, &key.name, &instant.collect::<Vec<_>>());
        let average = points.iter();
        let average = average.map(|point| (point.end_s, point.average_bytes_per_s));
        let average: Vec<(f64, f64)> = average.collect();
        panel.line(
            key,
            &format!("{}, average so far", key.name),
            "dashed",
            &average,
        );
    }
    if let Some(asked) = asked_bytes_per_s {
        let key = asked_key();
        panel.line(&key, &key.name, "dotted", &[(0.0, asked), (run_s, asked)]);
    }
    panel
}

/// The longest latency of each interval, with room for these stalls.
pub(super) fn latency_panel(
    title: &str,
    drawn: &[DrawnSeries],
    across: &Scale,
    stalls: &[Stall],
) -> Panel {
    let seen = drawn.iter().flat_map(|one| &one.points);
    let stalls = stalls.iter().map(|stall| stall.duration_ns);
    let all_ns = seen.map(|point| point.latency_max_ns).chain(stalls);
    let mut panel = Panel::new(title, PANEL_PX, across, latency_scale(all_ns));
    for DrawnSeries { key, points } in drawn {
        let points = points.iter().filter(|point| point.latency_max_ns > 0);
        let points = points.map(|point| (point.middle_s, point.latency_max_ns as f64 / 1e9));
        panel.line(key, &key.name, "thin", &points.collect::<Vec<_>>());
    }
    panel
}

/// A logarithmic scale that encloses all of these that are above zero.
pub(super) fn latency_scale(latencies_ns: impl Iterator<Item = u64>) -> Scale {
    let seen = latencies_ns.filter(|latency_ns| *latency_ns > 0);
    let ends = seen.fold(None, |ends: Option<(u64, u64)>, one| {
        let (least, most) = ends.unwrap_or((one, one));
        Some((least.min(one), most.max(one)))
    });
    let (least_ns, most_ns) = ends.unwrap_or((1_000_000, 1_000_000_000));
    Scale::decades(
        Quantity::Latency,
        least_ns as f64 / 1e9,
        most_ns as f64 / 1e9,
    )
}

fn stalls(panel: &mut Panel, result: &MeasureResult) {
    for stall in &result.stalls {
        let class = if stall.shared_with.is_empty() {
            "cross"
        } else {
            "diamond"
        };
        let at = (stall.start_s, stall.duration_ns as f64 / 1e9);
        panel.event(class, at, &marks::stall_words(stall));
    }
}

fn caption(result: &MeasureResult, moments: &[SystemMoment]) -> String {
    let mut words = String::from(
        "Thin lines: each interval; where neighbours are joined, the shade around a line reaches \
         from the lowest to the highest of them. Dashed lines: the average so far, which is all \
         bytes over all seconds. Green: the period judged steady. Orange: the burst before it. A \
         stall is a time without a completion although requests were in flight; a cross is a stall \
         of one target, a diamond one that another target had at the same moment. ",
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
        words.push_str(&format!("The kernel log could not be read: {why}."));
    }
    words
}
