//! Draws the rate of each disk alone against its rate together with all: a grey bar for the rate
//! alone, inside it a bar in the colour of the wall that limits the disk, and a mark for an even
//! share. The section of a diagnosis calls it.

use super::super::escape;
use super::super::svg::Svg;
use super::facts::{DiagnosisPicture, PictureDisk, SubsetStanding, ratio, wall_class};
use crate::format::{percent, rate};

/// More disks than this have flat bars, in two columns.
const DISKS_LARGE_MAX: usize = 20;
const WIDTH: f64 = 1200.0;
const LABEL_WIDTH: f64 = 142.0;
const WORDS_WIDTH: f64 = 190.0;
const GAP: f64 = 24.0;

/// The picture with its heading; empty if no disk was measured.
pub(super) fn bars(facts: &DiagnosisPicture<'_>) -> String {
    let is_measured = |disk: &PictureDisk<'_>| disk.alone_bytes_per_s.is_some();
    if !facts.disks.iter().any(is_measured) {
        return String::new();
    }
    let (columns, row_height) = if facts.disks.len() > DISKS_LARGE_MAX {
        (2, 16.0)
    } else {
        (1, 28.0)
    };
    let rows = facts.disks.len().div_ceil(columns);
    let column_width = (WIDTH - GAP * (columns - 1) as f64) / columns as f64;
    let scale = (column_width - LABEL_WIDTH - WORDS_WIDTH) / facts.most_bytes_per_s();
    let mut svg = Svg::new(WIDTH, rows as f64 * row_height + 2.0);
    for (index, disk) in facts.disks.iter().enumerate() {
        let x = (index / rows) as f64 * (column_width + GAP);
        let y = (index % rows) as f64 * row_height;
        bar(&mut svg, disk, (x, y), row_height, scale);
    }
    format!(
        "<h2>Rate of each disk, alone and together</h2>\n\
         {}<figure>{}<figcaption>{}</figcaption></figure>\n{}",
        legend(facts),
        svg.markup("The rate of each disk alone, and with all disks active"),
        escape::text(&caption(facts)),
        below_fair(facts),
    )
}

fn bar(svg: &mut Svg, disk: &PictureDisk<'_>, at: (f64, f64), row_height: f64, scale: f64) {
    let (left, thick) = (at.0 + LABEL_WIDTH, row_height * 0.72);
    let baseline = at.1 + thick * 0.5 + 4.5;
    let words = words(disk);
    let title = format!("{}: {words}", disk.name);
    let label_class = if disk.is_below_fair {
        "end alarming"
    } else {
        "end"
    };
    let label_at = (left - 8.0, baseline);
    svg.titled_text(label_at, label_class, &disk.label, &title);
    let alone = disk.alone_bytes_per_s.unwrap_or(0.0);
    svg.rect((left, at.1), (alone * scale, thick), "alone", &title);
    let together = disk.together_bytes_per_s.unwrap_or(0.0);
    let class = format!("got {}", disk.standing.class());
    let inset = thick * 0.14;
    svg.rect(
        (left, at.1 + inset),
        (together * scale, thick - 2.0 * inset),
        &class,
        &title,
    );
    if let Some(fair) = disk.fair_bytes_per_s {
        let x = left + fair * scale;
        let title = format!("even share: {}", rate(fair));
        svg.line(&[(x, at.1 - 2.0), (x, at.1 + thick + 2.0)], "fair", &title);
    }
    let right = left + alone.max(together) * scale + 8.0;
    svg.text((right, baseline), "soft", &words);
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
    let mut parts = vec![part("alone", "alone")];
    let disks = || facts.disks.iter();
    if disks().any(|disk| disk.together_bytes_per_s.is_some()) {
        let stands = |standing| disks().any(|disk| disk.standing == standing);
        parts.push("<span>with all disks active:</span> ".to_owned());
        for (index, wall) in facts.walls.iter().enumerate() {
            if stands(SubsetStanding::HeldBy(index)) {
                let limit = rate(wall.wall.limit_bytes_per_s);
                let words = format!("limited by wall {} ({limit})", index + 1);
                parts.push(part(&wall_class(index), &words));
            }
        }
        if stands(SubsetStanding::Lost) {
            parts.push(part("lost", "slower than alone, and no wall explains it"));
        }
        if stands(SubsetStanding::Free) {
            parts.push(part("free", "as fast as alone"));
        }
        if disks().any(|disk| disk.fair_bytes_per_s.is_some()) {
            parts.push(part("even", "an even share"));
        }
    }
    format!("<p class=\"legend\">{}</p>\n", parts.concat())
}

/// A colour and its meaning.
fn part(class: &str, words: &str) -> String {
    let words = escape::text(words);
    format!("<span><b class=\"swatch {class}\"></b>{words}</span> ")
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
