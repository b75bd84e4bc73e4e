//! Draws record size by depth as a map: each cell has the rate of the fastest setting with both
//! values, and the deeper its colour, the higher the rate. It is a table, so that a reader who
//! cannot see the colours can read the figures. The section of a sweep calls it.

use std::fmt::Write as _;

use sustain_document::sweep::Axis;

use super::super::escape;
use super::super::table::caption;
use super::facts::{DirectionPicture, DrawnAxis, Value, rate_of, value};
use super::quantity::all_of;
use crate::format::megabytes_per_s;

/// A figure must be legible on the deepest colour.
const DEEPEST_PERCENT: f64 = 62.0;

/// The map; empty unless both vary.
pub(super) fn map(facts: &DirectionPicture<'_>) -> String {
    let both = facts.axis(Axis::RecordSize).zip(facts.axis(Axis::Depth));
    let Some((sizes, depths)) = both else {
        return String::new();
    };
    let mut markup = "<thead>\n<tr><td></td>".to_owned();
    let _ = writeln!(
        markup,
        "<th scope=\"colgroup\" colspan=\"{}\">depth, requests in flight per target</th></tr>",
        depths.values.len()
    );
    markup.push_str("<tr><th scope=\"col\">record size</th>");
    for depth in &depths.values {
        let _ = write!(
            markup,
            "<th scope=\"col\" class=\"column\">{}</th>",
            escape::text(&depths.value_words(depth))
        );
    }
    markup.push_str("</tr>\n</thead>\n<tbody>\n");
    for size in &sizes.values {
        markup.push_str(&row(facts, sizes, size, depths));
    }
    format!(
        "<h3>Rate in MB/s by record size and depth</h3>\n\
         <figure><div class=\"heat\"><table>\n{}{markup}</tbody>\n\
         </table></div>\n<figcaption>{}</figcaption></figure>\n",
        caption("Rate in MB/s by record size and depth"),
        escape::text(
            "Each figure is the rate in MB/s of the fastest setting with this record size and \
             depth, whatever its other settings are; the deeper the colour, the higher the rate. \
             Bold: it does not differ from the best by more than noise. Full frame: the best \
             setting. Dashed frame: the cheapest setting within 2 %. A dot stands for settings \
             that were not measured, a dash for settings that are no part of this sweep."
        )
    )
}

fn row(
    facts: &DirectionPicture<'_>,
    sizes: &DrawnAxis,
    size: &Value,
    depths: &DrawnAxis,
) -> String {
    let name = escape::text(&sizes.value_words(size));
    let mut markup = format!("<tr><th scope=\"row\">{name}</th>");
    for depth in &depths.values {
        markup.push_str(&cell(facts, size, depth));
    }
    markup.push_str("</tr>\n");
    markup
}

fn cell(facts: &DirectionPicture<'_>, size: &Value, depth: &Value) -> String {
    let wanted = [(Axis::RecordSize, size), (Axis::Depth, depth)];
    let Some(point) = facts.fastest(&wanted) else {
        let unknown = facts.unknown_with(&wanted);
        let failed = unknown.iter().find_map(|point| point.failed.as_deref());
        return match (failed, unknown.is_empty()) {
            (Some(why), _) => {
                let title = escape::text(&format!("failed: {why}"));
                format!("<td class=\"failed\" title=\"{title}\">failed</td>")
            }
            (None, false) => "<td class=\"empty\" title=\"not measured\">·</td>".to_owned(),
            (None, true) => "<td class=\"empty\" title=\"left out\">–</td>".to_owned(),
        };
    };
    let best = facts.best();
    let answer = facts.answer;
    let mut class = "at".to_owned();
    if point.number == answer.best || answer.alike.contains(&point.number) {
        class.push_str(" alike");
    }
    let has_both = |number: usize| {
        let setting = &facts.result.points[number].setting;
        value(setting, Axis::RecordSize) == *size && value(setting, Axis::Depth) == *depth
    };
    if has_both(answer.best) {
        class.push_str(" best");
    } else if has_both(answer.cheapest) {
        class.push_str(" cheapest");
    }
    let part = part_of(rate_of(point), rate_of(best));
    format!(
        "<td class=\"{class}\" style=\"--part:{:.0}%\" title=\"{}\">{}</td>",
        part * DEEPEST_PERCENT,
        escape::text(&all_of(point)),
        megabytes_per_s(rate_of(point)),
    )
}

/// A rate as a part of the best, from 0 to 1, also where there is no rate.
fn part_of(rate: f64, best: f64) -> f64 {
    if best > 0.0 {
        (rate / best).clamp(0.0, 1.0)
    } else {
        0.0
    }
}
