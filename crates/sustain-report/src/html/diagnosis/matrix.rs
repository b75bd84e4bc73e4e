//! Draws every subset that was measured, as a picture in a table: a row per subset in the order of
//! its first reading, a column per disk, and in each cell a bar as high as the disk's rate over its
//! rate alone. The walls stand over the columns; at the right are the sum, the predicted sum, and
//! the reason for measuring. The section of a diagnosis calls it.

use std::fmt::Write as _;

use sustain_document::diagnose::MemberLimit;

use super::super::escape;
use super::super::table::{caption, glued};
use super::facts::{DiagnosisPicture, Subset, off_by, ratio};
use crate::format::{megabytes_per_s, percent, rate};

/// With more disks than this cells have no figures, only bars.
const FIGURES_MAX: usize = 16;

/// The picture with its heading; empty if nothing was measured.
pub(super) fn matrix(facts: &DiagnosisPicture<'_>) -> String {
    if facts.subsets.is_empty() {
        return String::new();
    }
    let class = if facts.disks.len() > FIGURES_MAX {
        "matrix dense"
    } else {
        "matrix"
    };
    let sums = facts.subsets.iter().map(|subset| subset.sum_bytes_per_s);
    let most = sums.fold(1.0, f64::max);
    let rows = facts.subsets.iter().enumerate();
    let rows: String = rows
        .map(|(index, subset)| row(facts, subset, index + 1, most))
        .collect();
    format!(
        "<h2>All subsets that were measured</h2>\n\
         <figure><div class=\"{class}\"><table>\n{}<thead>\n{}{}</thead>\n<tbody>\n{rows}</tbody>\n\
         </table></div>\n<figcaption>{}</figcaption></figure>\n",
        caption("All subsets that were measured"),
        wall_rows(facts),
        name_row(facts),
        escape::text(
            "Each row is a set of disks that were active together; figures in cells are MB/s. A \
             full cell: the disk is as fast as alone. A lower bar: it is slower, in the colour of \
             the wall that limits it, or red where no wall explains it. An empty cell: it was not \
             active. The mark in the bar of the sum is the sum that the walls predict."
        ),
    )
}

/// The walls over the columns of their members, side by side where they do not overlap.
fn wall_rows(facts: &DiagnosisPicture<'_>) -> String {
    let mut lanes: Vec<Vec<Option<usize>>> = Vec::new();
    for (index, wall) in facts.walls.iter().enumerate() {
        let Some((first, last)) = wall.members.first().zip(wall.members.last()) else {
            continue;
        };
        // The space between members belongs to the wall, too, so that each number is one wall.
        let is_free = |lane: &Vec<Option<usize>>| lane[*first..=*last].iter().all(Option::is_none);
        let lane = lanes.iter().position(is_free).unwrap_or_else(|| {
            lanes.push(vec![None; facts.disks.len()]);
            lanes.len() - 1
        });
        for member in &wall.members {
            lanes[lane][*member] = Some(index);
        }
    }
    lanes.iter().map(|lane| wall_row(facts, lane)).collect()
}

fn wall_row(facts: &DiagnosisPicture<'_>, lane: &[Option<usize>]) -> String {
    let mut markup = "<tr class=\"lane\"><td></td>".to_owned();
    for run in lane.chunk_by(|one, other| one == other) {
        match run[0] {
            None => {
                let _ = write!(markup, "<td colspan=\"{}\"></td>", run.len());
            }
            Some(wall) => {
                let limit = rate(facts.walls[wall].wall.limit_bytes_per_s);
                let _ = write!(
                    markup,
                    "<td colspan=\"{}\" class=\"over {}\" title=\"wall {number}{}: {}\">{number}\
                     </td>",
                    run.len(),
                    facts.ink(wall),
                    facts.doubt(wall),
                    escape::text(&limit),
                    number = wall + 1,
                );
            }
        }
    }
    markup.push_str("<td colspan=\"5\"></td></tr>\n");
    markup
}

fn name_row(facts: &DiagnosisPicture<'_>) -> String {
    let mut markup = "<tr><th scope=\"col\">subset</th>".to_owned();
    for disk in &facts.disks {
        let _ = write!(
            markup,
            "<th scope=\"col\" class=\"name\" title=\"{}\"><span>{}</span></th>",
            escape::text(disk.name),
            escape::text(&disk.label)
        );
    }
    markup.push_str(
        "<th scope=\"colgroup\" colspan=\"2\">sum measured</th><th scope=\"col\">predicted</th>\
         <th scope=\"col\">difference</th><th scope=\"col\">reason for measuring</th></tr>\n",
    );
    markup
}

fn row(facts: &DiagnosisPicture<'_>, subset: &Subset, number: usize, most: f64) -> String {
    let rates = &subset.rates_bytes_per_s;
    let count = subset.readings_bytes_per_s.len();
    let times = match (subset.is_alone, count) {
        (true, _) => "alone".to_owned(),
        (false, 1) => number.to_string(),
        (false, count) => format!("{number} ×{count}"),
    };
    let mut markup = format!("<tr><th scope=\"row\">{}</th>", escape::text(&times));
    for (place, limit) in subset.limits.iter().enumerate() {
        markup.push_str(&cell(facts, rates, place, *limit));
    }
    let mark = subset
        .predicted_bytes_per_s
        .map_or_else(String::new, |predicted| {
            format!(";--mark:{:.1}%", (predicted / most * 100.0).min(100.0))
        });
    let _ = writeln!(
        markup,
        "<td class=\"figure\" title=\"{}\">{}</td><td class=\"sum\" style=\"--part:{:.1}%{mark}\">\
         </td>{}<td class=\"why\">{}</td></tr>",
        escape::text(&readings(subset)),
        escape::text(&glued(&rate(subset.sum_bytes_per_s))),
        subset.sum_bytes_per_s / most * 100.0,
        predicted(subset),
        escape::text(&glued(&why(subset))),
    );
    markup
}

fn cell(
    facts: &DiagnosisPicture<'_>,
    rates: &[Option<f64>],
    place: usize,
    limit: Option<MemberLimit>,
) -> String {
    let Some(own) = rates[place] else {
        return "<td></td>".to_owned();
    };
    let disk = &facts.disks[place];
    let part = disk.alone_bytes_per_s.and_then(|alone| ratio(own, alone));
    let words = part.map_or_else(String::new, |part| format!(", {} of alone", percent(part)));
    format!(
        "<td class=\"at {}\" style=\"--part:{:.0}%\" title=\"{}\">{}</td>",
        facts.class(limit),
        part.unwrap_or(1.0).clamp(0.0, 1.0) * 100.0,
        escape::text(&format!("{}: {}{words}", disk.label, rate(own))),
        escape::text(&megabytes_per_s(own)),
    )
}

fn predicted(subset: &Subset) -> String {
    let Some(predicted) = subset.predicted_bytes_per_s else {
        return "<td></td><td></td>".to_owned();
    };
    let class = match subset.is_as_predicted {
        Some(false) => " class=\"alarming\"",
        _ => "",
    };
    format!(
        "<td>{}</td><td{class}>{}</td>",
        escape::text(&glued(&rate(predicted))),
        escape::text(&glued(&off_by(subset.sum_bytes_per_s, predicted)))
    )
}

fn why(subset: &Subset) -> String {
    match subset.dummy_bytes_per_s {
        Some(dummy) => format!(
            "{}; together with a target that is not a disk, at {}",
            subset.step,
            rate(dummy)
        ),
        None => subset.step.clone(),
    }
}

/// The number of its readings, and the range of their sums.
fn readings(subset: &Subset) -> String {
    let sums = subset.readings_bytes_per_s.iter();
    let (least, most) = sums.fold((f64::INFINITY, 0.0_f64), |(least, most), sum| {
        (least.min(*sum), most.max(*sum))
    });
    match subset.readings_bytes_per_s.len() {
        1 => "1 reading".to_owned(),
        count if subset.is_alone => {
            let disks = subset.rates_bytes_per_s.iter().flatten().count();
            format!("{count} readings of {disks} disks, each alone")
        }
        count => format!("{count} readings, {} to {}", rate(least), rate(most)),
    }
}
