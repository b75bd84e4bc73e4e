//! Draws one sweep on the page, from the answer down to everything that is needed to repeat the
//! run.

use sustain_document::sweep::{SweepAnswer, SweepPoint, SweepResult};
use sustain_document::vocabulary::Direction;

use super::super::chart::{Arrangement, Figure, Key};
use super::super::escape;
use super::super::section::{kernel_messages, notes};
use super::super::table::glued;
use super::super::tiles::{self, Standing, Tiles};
use super::super::title::{on_simulated, targets};
use super::facts::{DirectionPicture, DrawnAxis};
use super::{curves, dots, heat, tables};
use crate::ReportError;
use crate::format::rate;
use crate::terminal::SIMULATED;
use crate::terminal::sweep::{answer_lines, doing, restrictions};

/// The title: `Settings compared on sda and sdb, for writing`.
pub(super) fn name(result: &SweepResult) -> String {
    let plan = &result.plan;
    let targets = targets(&plan.target_names, &plan.targets);
    let simulated = on_simulated(plan.simulated);
    let directions = result.answers.iter().map(|one| doing(one.direction));
    let directions: Vec<&str> = directions.collect();
    if directions.is_empty() {
        return format!("Settings compared on {targets}{simulated}");
    }
    let directions = directions.join(" and ");
    format!("Settings compared on {targets}, for {directions}{simulated}")
}

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
    for (number, facts) in directions.iter().enumerate() {
        markup.push_str(&pictures(facts, &format!("sweep-{index}-{number}")));
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

/// The answer in the words of the terminal: the best setting as a headline with its figures, then
/// the cheapest, and the axes as a list.
fn answer(result: &SweepResult) -> String {
    let mut markup = String::new();
    for line in restrictions(result) {
        markup.push_str(&tiles::answer(Standing::Open, &line, &Tiles::default()));
    }
    for answer in &result.answers {
        markup.push_str(&answer_of(result, answer));
    }
    if result.plan.simulated {
        markup.push_str(&paragraph(&format!("{SIMULATED}.")));
    }
    markup
}

fn answer_of(result: &SweepResult, answer: &SweepAnswer) -> String {
    let lines = answer_lines(result, answer);
    // The best and the cheapest come first, then the axes.
    let (named, axes) = lines.split_at(2.min(lines.len()));
    let best = named.first().map_or("", String::as_str);
    let mut markup = tiles::answer(Standing::Plain, best, &figures(result, answer));
    markup.extend(named.iter().skip(1).map(|line| paragraph(line)));
    if !axes.is_empty() {
        let items = axes
            .iter()
            .map(|line| format!("<li>{}</li>\n", plain(line)));
        markup.push_str(&format!("<ul>\n{}</ul>\n", items.collect::<String>()));
    }
    markup
}

fn figures(result: &SweepResult, answer: &SweepAnswer) -> Tiles {
    let mut tiles = Tiles::default();
    let (best, cheapest) = (&result.points[answer.best], &result.points[answer.cheapest]);
    let found = |point: &SweepPoint| point.rate_bytes_per_s.map_or_else(|| "?".to_owned(), rate);
    tiles.add(&found(best), &format!("best: {}", best.setting.words));
    if answer.cheapest != answer.best {
        let words = format!("cheapest within 2 %: {}", cheapest.setting.words);
        tiles.add(&found(cheapest), &words);
    }
    if let Some(cost) = best.cpu_seconds_per_gb {
        tiles.add(
            &format!("{cost:.3} s"),
            "CPU time per GB at the best setting",
        );
    }
    let measured = result.points.iter();
    let of_direction = measured.filter(|point| point.setting.direction == answer.direction);
    let known = of_direction
        .filter(|point| point.rate_bytes_per_s.is_some())
        .count();
    tiles.add(&known.to_string(), "settings measured");
    if !answer.measured_once.is_empty() {
        let figure = answer.measured_once.len().to_string();
        let words = "settings cannot be told from the best: measured too few times";
        tiles.stand(Standing::Open, &figure, words);
    }
    tiles
}

fn paragraph(line: &str) -> String {
    format!("<p>{}</p>\n", plain(line))
}

fn plain(line: &str) -> String {
    escape::text(&glued(line.trim_start()))
}

/// The effect of each axis in one direction.
fn pictures(facts: &DirectionPicture<'_>, id: &str) -> String {
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
        markup.push_str(&picture(facts, axis, id));
        // The map tells more than all pictures but the first.
        if index == 0 {
            markup.push_str(&map);
        }
    }
    markup
}

fn picture(facts: &DirectionPicture<'_>, axis: &DrawnAxis, id: &str) -> String {
    let mut keys = curve_keys(facts, axis);
    let panels = if axis.is_numeric() {
        curves::panels(facts, axis, &keys)
    } else {
        dots::panels(facts, axis)
    };
    if facts.second(axis).is_none() {
        keys.clear();
    }
    let mut ring = |class: &str, words: &str| keys.push(Key::coloured(0, words, class));
    ring("ring", "the best setting");
    if facts.cheapest().is_some() {
        ring("ring dashed", "the cheapest setting within 2 %");
    }
    let figure = Figure {
        id: format!("{id}-{}", axis.axis.name()),
        heading: format!("By {}", axis.words()),
        caption: caption(facts, axis),
        keys,
        panels,
        arrangement: Arrangement::Apart,
    };
    figure.markup()
}

/// A key for each value of the second axis; without one, a key for the only curve.
fn curve_keys(facts: &DirectionPicture<'_>, axis: &DrawnAxis) -> Vec<Key> {
    let second = facts.second(axis);
    let curves = facts.curves(second).into_iter().enumerate();
    let keys = curves.map(|(index, curve)| {
        let words = match (second, &curve.value) {
            (Some(second), Some(value)) => second.named_value(value),
            _ => "all".to_owned(),
        };
        Key::coloured(index, &words, &curve.class)
    });
    keys.collect()
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
         lowest to the highest of the runs. The figures of all dots are in the table of settings.",
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
