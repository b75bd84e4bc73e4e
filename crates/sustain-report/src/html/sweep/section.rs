//! Draws one sweep on the page, from the answer down to everything that is needed to repeat the
//! run.

use sustain_document::sweep::{SweepAnswer, SweepResult};
use sustain_document::vocabulary::Direction;

use super::super::escape;
use super::super::section::{kernel_messages, notes};
use super::super::table::glued;
use super::facts::{DirectionPicture, DrawnAxis};
use super::{curves, dots, heat, name, tables};
use crate::ReportError;
use crate::terminal::SIMULATED;
use crate::terminal::sweep::{answer_lines, restrictions};

/// The section of this sweep; `index` keeps its anchor apart from those of others.
pub(super) fn section(result: &SweepResult, index: usize) -> Result<String, ReportError> {
    let mut markup = format!(
        "<section id=\"sweep-{index}\">\n<h1>{}</h1>\n{}",
        escape::text(&name(result)),
        answer(result),
    );
    markup.push_str(&tables::failed(result));
    let directions: Vec<DirectionPicture<'_>> = result
        .answers
        .iter()
        .map(|answer| DirectionPicture::new(result, answer))
        .collect();
    for facts in &directions {
        markup.push_str(&pictures(facts));
    }
    for facts in &directions {
        markup.push_str(&tables::settings(facts));
    }
    markup.push_str(&tables::left_out(result));
    markup.push_str(&tables::drift(result));
    markup.push_str(&notes(&result.notes));
    markup.push_str(&kernel_messages(&result.system));
    markup.push_str(&tables::asked_and_where(result)?);
    markup.push_str("</section>\n");
    Ok(markup)
}

/// The answer in the words of the terminal: the best setting in large letters, the axes as a list.
fn answer(result: &SweepResult) -> String {
    let mut markup = String::new();
    for line in restrictions(result) {
        markup.push_str(&paragraph(&line));
    }
    for answer in &result.answers {
        markup.push_str(&answer_of(result, answer));
    }
    if result.plan.simulated {
        markup.push_str(&paragraph(&format!("{SIMULATED}.")));
    }
    format!("<div class=\"answer\">{markup}</div>\n")
}

fn answer_of(result: &SweepResult, answer: &SweepAnswer) -> String {
    let lines = answer_lines(result, answer);
    // The best and the cheapest come first, then a line for each axis.
    let (named, axes) = lines.split_at(lines.len() - answer.axes.len());
    let mut markup: String = named.iter().map(|line| paragraph(line)).collect();
    if !axes.is_empty() {
        let items = axes
            .iter()
            .map(|line| format!("<li>{}</li>\n", plain(line)));
        markup.push_str(&format!("<ul>\n{}</ul>\n", items.collect::<String>()));
    }
    markup
}

fn paragraph(line: &str) -> String {
    format!("<p>{}</p>\n", plain(line))
}

fn plain(line: &str) -> String {
    escape::text(&glued(line.trim_start()))
}

/// The effect of each axis in one direction.
fn pictures(facts: &DirectionPicture<'_>) -> String {
    if facts.axes.is_empty() {
        return String::new();
    }
    let doing = match facts.answer.direction {
        Direction::Write => "Effect of each setting on writing",
        Direction::Read => "Effect of each setting on reading",
    };
    let mut markup = format!("<h2>{doing}</h2>\n");
    let map = heat::map(facts);
    for (index, axis) in facts.axes.iter().enumerate() {
        markup.push_str(&picture(facts, axis));
        // The map tells more than all pictures but the first.
        if index == 0 {
            markup.push_str(&map);
        }
    }
    markup
}

fn picture(facts: &DirectionPicture<'_>, axis: &DrawnAxis) -> String {
    let drawn = if axis.is_numeric() {
        curves::panels(facts, axis)
    } else {
        dots::picture(facts, axis)
    };
    let heading = format!("By {}", axis.words());
    format!(
        "<figure><h3>{}</h3>\n{}{drawn}<figcaption>{}</figcaption></figure>\n",
        escape::text(&heading),
        legend(facts, axis),
        escape::text(&caption(facts, axis)),
    )
}

fn legend(facts: &DirectionPicture<'_>, axis: &DrawnAxis) -> String {
    let mut parts = Vec::new();
    if let Some(second) = facts.second(axis) {
        for curve in facts.curves(Some(second)) {
            let words = curve.value.map(|value| second.named_value(&value));
            parts.push(part(&curve.class, &words.unwrap_or_default()));
        }
    }
    parts.push(part("ring", "the best setting"));
    if facts.cheapest().is_some() {
        parts.push(part("ring dashed", "the cheapest setting within 2 %"));
    }
    format!("<p class=\"legend\">{}</p>\n", parts.concat())
}

/// A colour or mark and its meaning.
fn part(class: &str, words: &str) -> String {
    let words = escape::text(&glued(words));
    format!("<span><b class=\"swatch {class}\"></b>{words}</span> ")
}

/// `a, b and c`.
fn listed(names: &[String]) -> String {
    match names {
        [first @ .., last] if !first.is_empty() => format!("{} and {last}", first.join(", ")),
        names => names.concat(),
    }
}

fn caption(facts: &DirectionPicture<'_>, axis: &DrawnAxis) -> String {
    let others: Vec<String> = facts
        .axes
        .iter()
        .filter(|other| other.axis != axis.axis)
        .map(DrawnAxis::words)
        .collect();
    let second = facts.second(axis);
    let mut words = match (second, others.len()) {
        (None, _) => "Each dot is a setting".to_owned(),
        (Some(second), 1) => format!(
            "Each {} has a colour; each dot is a setting",
            second.words()
        ),
        (Some(second), _) => format!(
            "Each {} has a colour; each dot is the fastest setting with both values, whatever its \
             {}",
            second.words(),
            listed(&others[1..])
        ),
    };
    words.push_str(
        ". The bar of a rate is its 95 % interval; the bar of any other figure reaches from the \
         lowest to the highest of the runs. Rest the pointer on a dot to see its figures.",
    );
    if let Some(second) = second {
        let (shown, all) = (facts.curves(Some(second)).len(), second.values.len());
        if shown < all {
            words.push_str(&format!(" Only {shown} of {all} values have a curve."));
        }
    }
    let left_out = if axis.is_numeric() {
        0
    } else {
        dots::left_out(axis)
    };
    match left_out {
        0 => {}
        1 => words.push_str(" 1 slower value is only in the table."),
        more => words.push_str(&format!(" {more} slower values are only in the table.")),
    }
    words
}
