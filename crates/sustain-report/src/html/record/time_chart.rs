//! Draws a recording over time: rates with losses, the buffer, the limits of the rate, and the
//! machine, one under the other on one time axis. Kernel messages and the time before and after are
//! marked. The section of a recording calls it.

use sustain_document::record::{LimitedBy, RecordResult};
use sustain_record::verdicts::{LimitCause, LimitPeriod, limits, seconds_by};

use super::super::chart::svg;
use super::super::chart::{
    ALARM, Arrangement, Figure, Key, NEUTRAL, Panel, Quantity, Scale, TimeUnit,
};
use super::super::marks;
use super::super::samples::{SystemMoment, moments};
use super::super::series::points_max;
use super::super::system_panels::{self, PANEL_PX};
use super::super::time_chart::{RATE_PX, ends};
use super::series::{count, drawn, gaps, rates, rates_in_range};
use crate::format::{memory, percent, size, stretch};
use crate::limits::meaning;

/// The height in the page of one line of the panel of limits.
const LIMIT_PX: usize = 28;
/// The lines of a stream: its rate in and its durable rate.
const LINES_PER_STREAM: usize = 2;

/// The chart of this recording.
pub(super) fn time_chart(result: &RecordResult, id: String) -> Figure {
    let description = result.host.description.as_ref();
    let processors = description.map(|facts| facts.cpu_count);
    let machine = moments(&result.system.samples, processors);
    let ends_s = ends(&machine, result.seconds);
    let across = Scale::time(ends_s.0, ends_s.1, TimeUnit::for_run(result.seconds));
    let keys = keys(result);
    let mut panels = vec![
        rate_panel(result, &keys, &across),
        buffer_panel(result, &across),
    ];
    panels.extend(limit_panel(&limits(&result.samples), &across));
    panels.extend(system_panels::panels(&machine, &across));
    for panel in &mut panels {
        marks::around(panel, result.seconds, ends_s, Some(&result.system));
    }
    Figure {
        id,
        heading: "Rate, buffer, limits and machine over time".to_owned(),
        caption: caption(result, &machine),
        keys,
        panels,
        arrangement: Arrangement::OverTime,
    }
}

/// A key for each stream, and one for all together if they are several.
fn keys(result: &RecordResult) -> Vec<Key> {
    let streams = result.streams.iter().enumerate();
    let mut keys: Vec<Key> = streams
        .map(|(index, stream)| Key::new(index, &stream.name))
        .collect();
    if keys.len() > 1 {
        keys.push(Key::coloured(keys.len(), "together", NEUTRAL));
    }
    keys
}

fn caption(result: &RecordResult, machine: &[SystemMoment]) -> String {
    let mut words = String::from(
        "Thin lines: the rate that the source offered; where neighbours are joined, the shade \
         reaches from the lowest to the highest of them. Dashed lines: the rate at which bytes \
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
        words.push_str(&format!("The kernel log could not be read: {why}."));
    }
    words
}

/// The bytes counted for one line: of a stream, or the sum of all.
fn counted(counts: &[u64], stream: Option<usize>) -> u64 {
    match stream {
        Some(stream) => count(counts, stream),
        None => counts.iter().sum(),
    }
}

fn rate_panel(result: &RecordResult, keys: &[Key], across: &Scale) -> Panel {
    let samples = drawn(&result.samples, keys.len() * LINES_PER_STREAM);
    let of = |index: usize| (index < result.streams.len()).then_some(index);
    let lines: Vec<_> = (0..keys.len())
        .map(|index| {
            let durable = samples.iter();
            let durable = durable.map(|at| (at.time_s, counted(&at.durable_bytes, of(index))));
            let offered = rates_in_range(&samples, &result.samples, |at| {
                counted(&at.offered_bytes, of(index))
            });
            (offered, rates(durable))
        })
        .collect();
    let offered = lines.iter().flat_map(|(offered, _)| offered);
    let durable = lines.iter().flat_map(|(_, durable)| durable);
    let all = offered.map(|(_, _, [_, most])| *most);
    let all = all.chain(durable.map(|(_, rate)| *rate));
    let up = Scale::from_zero(Quantity::Rate, all.fold(1.0, f64::max) * 1.05);
    let mut panel = Panel::new("Rate", RATE_PX, across, up);
    for (key, (offered, durable)) in keys.iter().zip(&lines) {
        panel.line_in_band(key, &key.name, offered);
        panel.line(key, &format!("{}, durable", key.name), "dashed", durable);
    }
    for (index, stream) in result.streams.iter().enumerate() {
        for (at_s, bytes) in gaps(&samples, index) {
            let words = format!("{}: {} lost ({bytes} bytes)", stream.name, size(bytes));
            panel.event_on_top("cross", at_s, &words);
        }
    }
    marks::kernel_messages(&mut panel, &result.system);
    panel
}

fn buffer_panel(result: &RecordResult, across: &Scale) -> Panel {
    let title = format!("Fill of the {} buffer", memory(result.plan.buffer_bytes));
    let mut panel = Panel::new(&title, PANEL_PX, across, Scale::parts());
    let joined = result.samples.len().div_ceil(points_max(1)).max(1);
    // Of neighbours that are joined the highest is drawn, so that no peak is lost.
    let fills = result.samples.chunks(joined).filter_map(|neighbours| {
        let highest = neighbours
            .iter()
            .map(|at| at.buffer_fill)
            .fold(0.0, f64::max);
        Some((neighbours.last()?.time_s, highest))
    });
    let key = Key::coloured(marks::NO_KEY, "buffer", "w4");
    panel.line(&key, "fill", "area", &fills.collect::<Vec<_>>());
    panel
}

/// A bar for each period, in a row for each cause; none without periods.
fn limit_panel(limits: &[LimitPeriod<'_>], across: &Scale) -> Option<Panel> {
    let causes: Vec<LimitCause<'_>> = seconds_by(limits).into_iter().map(|(by, _)| by).collect();
    if causes.is_empty() {
        return None;
    }
    let names = causes
        .iter()
        .map(|by| svg::cut(by.words(), 14, 6))
        .collect();
    let height_px = LIMIT_PX * causes.len() + 8;
    let up = Scale::names(names);
    let mut panel = Panel::new("What limited the rate", height_px, across, up);
    for (row, by) in causes.iter().enumerate() {
        let row = row as f64;
        let own = limits.iter().filter(|limit| limit.by == *by);
        let periods = own.map(|limit| [(limit.from_s, row), (limit.to_s, row)]);
        // The source is no trouble; all members together are less than one of them.
        let ink = match *by {
            LimitCause::By(LimitedBy::Source) => "w2",
            LimitCause::By(LimitedBy::Members) => "w1",
            LimitCause::By(LimitedBy::Member(_) | LimitedBy::Pins) | LimitCause::Loss => ALARM,
        };
        let key = Key::coloured(marks::NO_KEY, by.words(), ink);
        let name = format!("{}: {}", by.words(), meaning(*by));
        panel.strokes(&key, &name, "wide", &periods.collect::<Vec<_>>());
    }
    Some(panel)
}

/// A row of the table that explains the panel of limits.
pub(super) fn limit_row(
    limits: &[LimitPeriod<'_>],
    by: LimitCause<'_>,
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
        by.words().to_owned(),
        percent(seconds / all_s),
        stretch(seconds),
        meaning(by).to_owned(),
        when.join(", "),
    ]
}
