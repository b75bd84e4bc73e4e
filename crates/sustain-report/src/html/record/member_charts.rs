//! Draws what each member took: its share as a bar, and its bytes over time. The section of a
//! recording calls it.

use sustain_document::record::{MemberResult, MemberState, RecordResult};

use super::super::bars::{Bar, BarChart};
use super::super::chart::{Arrangement, Figure, Key, Panel, Quantity, Scale, TimeUnit, colour};
use super::series::{count, drawn};
use crate::format::{percent, rate, size};

const HEIGHT_PX: usize = 240;

/// A chart with a bar per member; empty without a member.
pub(super) fn share_chart(result: &RecordResult, id: &str) -> String {
    let members = result.members.iter().enumerate();
    let bars = members.map(|(index, member)| Bar {
        name: member.name.clone(),
        title: member.name.clone(),
        is_alarming: member.error.is_some(),
        whole: None,
        part: member.share,
        ink: colour(index),
        fair: None,
        words: words(member),
    });
    BarChart {
        id: id.to_owned(),
        heading: "Share of each member".to_owned(),
        caption: "The part of the payload that each member took. Each append goes to the member \
                  that is expected to finish it first, so that faster members take more."
            .to_owned(),
        bars: bars.collect(),
        most: None,
    }
    .markup()
}

fn words(member: &MemberResult) -> String {
    let state = match member.state {
        MemberState::Active | MemberState::Closed => String::new(),
        state => format!(", {state}"),
    };
    format!(
        "{}: {} at {}{state}",
        percent(member.share),
        size(member.bytes),
        rate(member.rate_bytes_per_s),
    )
}

/// A chart with a line per member; none without samples.
pub(super) fn bytes_chart(result: &RecordResult, id: String) -> Option<Figure> {
    let samples = drawn(&result.samples, result.members.len());
    if samples.is_empty() || result.members.is_empty() {
        return None;
    }
    let all = samples
        .iter()
        .flat_map(|at| at.member_bytes.iter().copied());
    let most = all.max().unwrap_or(1).max(1);
    let across = Scale::time(0.0, result.seconds, TimeUnit::for_run(result.seconds));
    let up = Scale::from_zero(Quantity::Data, most as f64);
    let mut panel = Panel::new("Payload written", HEIGHT_PX, &across, up);
    let mut keys = Vec::new();
    for (index, member) in result.members.iter().enumerate() {
        let key = Key::new(index, &member.name);
        let written = samples.iter();
        let written = written.map(|at| (at.time_s, count(&at.member_bytes, index) as f64));
        let points: Vec<(f64, f64)> = std::iter::once((0.0, 0.0)).chain(written).collect();
        panel.line(&key, &key.name, "thin", &points);
        keys.push(key);
    }
    Some(Figure {
        id,
        heading: "Payload on each member over time".to_owned(),
        caption:
            "The payload written since the start. Where a line turns flat, the member took no \
                  more: it was full, failed or stalled."
                .to_owned(),
        keys,
        panels: vec![panel],
        arrangement: Arrangement::OverTime,
    })
}
