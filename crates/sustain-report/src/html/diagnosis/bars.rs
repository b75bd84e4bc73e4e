//! Draws the rate of each disk alone against its rate together with all: a grey bar for the rate
//! alone, inside it a bar in the colour of the wall that limits the disk, and a mark for an even
//! share. The section of a diagnosis calls it.

use sustain_document::diagnose::MemberLimit;

use super::super::bars::{Bar, BarChart};
use super::super::chart::{self, Key};
use super::super::escape;
use super::facts::{DiagnosisPicture, PictureDisk, ratio};
use crate::format::{percent, rate};

/// The chart with its heading; empty if no disk was measured.
pub(super) fn bars(facts: &DiagnosisPicture<'_>) -> String {
    let is_measured = |disk: &PictureDisk<'_>| disk.alone_bytes_per_s.is_some();
    if !facts.disks.iter().any(is_measured) {
        return String::new();
    }
    let chart = BarChart {
        caption: caption(facts),
        ..BarChart::plain(
            facts.disks.iter().map(|disk| bar(facts, disk)).collect(),
            None,
        )
    };
    format!(
        "<h2>Rate of each disk, alone and together</h2>\n{}{}{}",
        legend(facts),
        chart.markup(),
        below_fair(facts),
    )
}

fn bar(facts: &DiagnosisPicture<'_>, disk: &PictureDisk<'_>) -> Bar {
    Bar {
        name: disk.label.clone(),
        title: disk.name.to_owned(),
        is_alarming: disk.is_below_fair,
        whole: disk.alone_bytes_per_s,
        part: disk.together_bytes_per_s.unwrap_or(0.0),
        ink: facts.class(disk.limit),
        fair: disk.fair_bytes_per_s,
        words: words(disk),
    }
}

fn words(disk: &PictureDisk<'_>) -> String {
    match (disk.together_bytes_per_s, disk.alone_bytes_per_s) {
        (Some(together), Some(alone)) => format!(
            "{} of {}: {}",
            rate(together),
            rate(alone),
            ratio(together, alone).map_or_else(|| "?".to_owned(), percent)
        ),
        (Some(together), None) => format!("{}; not measured alone", rate(together)),
        (None, Some(alone)) => rate(alone),
        (None, None) => "not measured".to_owned(),
    }
}

fn legend(facts: &DiagnosisPicture<'_>) -> String {
    let mut parts: Vec<Key> = Vec::new();
    let mut part = |ink: &str, words: &str| parts.push(Key::coloured(0, words, ink));
    part("alone", "alone");
    let disks = || facts.disks.iter();
    if disks().any(|disk| disk.together_bytes_per_s.is_some()) {
        let has = |limit| disks().any(|disk| disk.limit == Some(limit));
        for (index, wall) in facts.walls.iter().enumerate() {
            if has(MemberLimit::Wall { wall: index }) {
                let limit = rate(wall.wall.limit_bytes_per_s);
                let (number, doubt) = (index + 1, facts.doubt(index));
                let words = format!("with all active: limited by wall {number}{doubt} ({limit})");
                part(&facts.ink(index), &words);
            }
        }
        if has(MemberLimit::Unknown) {
            let words = "slower than alone, and no wall explains it";
            part("lost", words);
        }
        if has(MemberLimit::Nothing) {
            part("free", "with all active: as fast as alone");
        }
        if disks().any(|disk| disk.fair_bytes_per_s.is_some()) {
            part("even", "an even share");
        }
    }
    chart::legend(&parts)
}

fn caption(facts: &DiagnosisPicture<'_>) -> String {
    let together = facts
        .disks
        .iter()
        .any(|disk| disk.together_bytes_per_s.is_some());
    if together {
        "Grey: the rate of a disk alone. Coloured, inside it: its rate while all disks are active."
            .to_owned()
    } else {
        "The rate of each disk alone. All of them together were not measured.".to_owned()
    }
}

fn below_fair(facts: &DiagnosisPicture<'_>) -> String {
    let mut items = String::new();
    for (index, wall) in facts.walls.iter().enumerate() {
        for share in wall.wall.shares.iter().filter(|share| share.below_fair) {
            let words = format!(
                "{} gets {} of wall {}; an even share is {}",
                facts.label(&share.target),
                rate(share.rate_bytes_per_s),
                index + 1,
                rate(share.fair_bytes_per_s)
            );
            items.push_str(&format!("<li>{}</li>\n", escape::text(&words)));
        }
    }
    if items.is_empty() {
        return items;
    }
    format!(
        "<div class=\"alarm\">With all disks active, less than an even share:<ul>\n{items}</ul>\
         </div>\n"
    )
}
