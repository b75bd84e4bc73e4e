//! Draws what each member took: its share as a bar, and its bytes over time. The section of a
//! recording calls it.

use plotly::common::{Line, Marker, Mode, Orientation, TextPosition};
use plotly::layout::Axis;
use plotly::{Bar, Scatter};
use sustain_document::record::{MemberResult, MemberState, RecordResult};

use super::super::chart::{Chart, TimeUnit, axis, colour, empty_plot, layout, rounded, trace_name};
use super::super::panels::hover_mode;
use super::series::{count, drawn};
use crate::format::{percent, rate, size};

/// The height of one bar in the page, with the gap below it.
const BAR_PX: usize = 34;
/// The height of everything around the bars.
const AROUND_PX: usize = 84;

/// A chart with a bar per member; none without a member.
pub(super) fn share_chart(result: &RecordResult, id: String) -> Option<Chart> {
    let members = &result.members;
    if members.is_empty() {
        return None;
    }
    let mut plot = empty_plot();
    for (index, member) in members.iter().enumerate() {
        let bar = Bar::new(vec![rounded(member.share)], vec![index as f64])
            .orientation(Orientation::Horizontal)
            .name(trace_name(&member.name))
            .marker(Marker::new().color(colour(index)))
            .text_array(vec![words(member)])
            .text_position(TextPosition::Auto)
            .hover_template("%{text}");
        plot.add_trace(bar);
    }
    let most = members
        .iter()
        .map(|member| member.share)
        .fold(0.0, f64::max);
    let names = members.iter().map(|member| trace_name(&member.name));
    let names_axis = axis()
        .tick_values((0..members.len()).map(|index| index as f64).collect())
        .tick_text(names.collect())
        // The first member is on top, as in the tables.
        .range(vec![members.len() as f64 - 0.5, -0.5])
        .show_grid(false);
    let share_axis = axis()
        .tick_format(".0%")
        .range(vec![0.0, (most * 1.02).max(0.01)]);
    let layout = layout(1)
        .x_axis(share_axis)
        .y_axis(names_axis)
        .show_legend(false);
    plot.set_layout(layout);
    Some(Chart {
        id,
        heading: "Share of each member".to_owned(),
        caption: "The part of the payload that each member took. Each append goes to the member \
                  that is expected to finish it first, so that faster members take more."
            .to_owned(),
        height_px: BAR_PX * members.len() + AROUND_PX + AROUND_PX / 2,
        plot,
    })
}

fn words(member: &MemberResult) -> String {
    let state = match member.state {
        MemberState::Active | MemberState::Closed => String::new(),
        state => format!(", {state}"),
    };
    format!(
        "{}: {} at {}{}",
        percent(member.share),
        size(member.bytes),
        rate(member.rate_bytes_per_s),
        super::super::escape::label(&state),
    )
}

/// A chart with a line per member; none without samples.
pub(super) fn bytes_chart(result: &RecordResult, id: String) -> Option<Chart> {
    let samples = drawn(&result.samples);
    if samples.is_empty() || result.members.is_empty() {
        return None;
    }
    let unit = TimeUnit::for_run(result.seconds);
    let mut plot = empty_plot();
    let mut most = 1;
    for (index, member) in result.members.iter().enumerate() {
        let bytes: Vec<u64> = samples
            .iter()
            .map(|at| count(&at.member_bytes, index))
            .collect();
        most = bytes.iter().copied().fold(most, u64::max);
        let times = samples.iter().map(|at| unit.at(at.time_s));
        let x = std::iter::once(0.0).chain(times).collect();
        let y = std::iter::once(0).chain(bytes.iter().copied());
        let said = std::iter::once(0).chain(bytes.iter().copied()).map(size);
        let trace = Scatter::new(x, y.map(|bytes| rounded(bytes as f64)).collect())
            .mode(Mode::Lines)
            .name(trace_name(&member.name))
            .line(Line::new().color(colour(index)).width(1.8))
            .text_array(said.collect())
            .hover_template("%{text}");
        plot.add_trace(trace);
    }
    let layout = layout(result.members.len())
        .hover_mode(hover_mode(result.members.len()))
        .x_axis(time_axis(result.seconds, unit))
        .y_axis(
            axis()
                .tick_format("~s")
                .tick_suffix("B")
                .range(vec![0.0, most as f64 * 1.06]),
        )
        .show_legend(true);
    plot.set_layout(layout);
    Some(Chart {
        id,
        heading: "Payload on each member over time".to_owned(),
        caption:
            "The payload written since the start. Where a line turns flat, the member took no \
                  more: it was full, failed or stalled."
                .to_owned(),
        height_px: 340,
        plot,
    })
}

fn time_axis(seconds: f64, unit: TimeUnit) -> Axis {
    axis()
        .tick_suffix(unit.suffix)
        .range(vec![unit.at(seconds * -0.01), unit.at(seconds * 1.01)])
}
