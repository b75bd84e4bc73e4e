//! Draws one diagnosis on the page, from the answer down to everything that is needed to repeat the
//! run.

use sustain_document::diagnose::{DiagnoseResult, SearchEnd, Wall};
use sustain_document::vocabulary::Direction;

use super::super::escape;
use super::super::section::{kernel_messages, notes};
use super::super::table::glued;
use super::super::tiles::{self, Standing, Tiles};
use super::super::title::{on_simulated, targets};
use super::facts::DiagnosisPicture;
use super::{advice, bars, machine, matrix, tables, walls};
use crate::ReportError;
use crate::format::{percent, rate, stretch};
use crate::terminal::diagnosis::{ending_words, share, together_words, unexplained_words};
use crate::terminal::{SIMULATED, diagnosis_sentence, sentences};

/// A longer answer cannot be taken in at a glance, so that a short one comes first.
const SENTENCE_MAX: usize = 500;
/// The number of walls in the short answer.
const WALLS_IN_SHORT: usize = 2;
/// The number of names in a list of the short answer; of longer lists only the number is given.
const NAMES_IN_SHORT: usize = 4;

/// The title: `Limits that 16 targets share when writing`.
pub(super) fn name(result: &DiagnoseResult) -> String {
    let plan = &result.plan;
    let targets = targets(&result.order.names, &plan.targets);
    let doing = match plan.direction {
        Direction::Read => "reading",
        _ => "writing",
    };
    let simulated = on_simulated(plan.simulated);
    format!("Limits that {targets} share when {doing}{simulated}")
}

/// The section of this diagnosis; `index` keeps its anchors apart from those of others.
pub(super) fn section(result: &DiagnoseResult, index: usize) -> Result<String, ReportError> {
    let facts = DiagnosisPicture::new(result);
    let mut markup = format!(
        "<section id=\"diagnosis-{index}\">\n<h1>{}</h1>\n{}",
        escape::text(&name(result)),
        answer(&facts),
    );
    markup.push_str(&tables::dropped(result));
    markup.push_str(&bars::bars(&facts));
    markup.push_str(&machine::machine(&facts));
    markup.push_str(&tables::chain(result));
    markup.push_str(&walls::walls(&facts));
    markup.push_str(&matrix::matrix(&facts));
    markup.push_str(&advice::advice(&facts));
    markup.push_str(&notes(&result.notes));
    markup.push_str(&tables::drift(result));
    markup.push_str(&tables::alone(&facts));
    markup.push_str(&kernel_messages(&result.system));
    markup.push_str(&tables::asked_and_where(result)?);
    markup.push_str("</section>\n");
    Ok(markup)
}

/// The answer and its figures; a long one, with many walls or names, comes after a short one.
fn answer(facts: &DiagnosisPicture<'_>) -> String {
    let result = facts.result;
    let is_open = result.unexplained.is_some() || result.ended == SearchEnd::TooNoisy;
    let standing = match (result.dropped.is_empty(), is_open) {
        (false, _) => Standing::Bad,
        (true, true) => Standing::Open,
        (true, false) => Standing::Plain,
    };
    let sentence = diagnosis_sentence(result);
    if sentence.chars().count() <= SENTENCE_MAX {
        return tiles::answer(standing, &sentence, &cards(facts));
    }
    format!(
        "{}<details><summary>The whole answer</summary><p>{}</p></details>\n",
        tiles::answer(standing, &in_short(facts), &cards(facts)),
        escape::text(&glued(&sentence))
    )
}

/// The answer with only the first walls, and with numbers instead of long lists of names.
fn in_short(facts: &DiagnosisPicture<'_>) -> String {
    let result = facts.result;
    let mut clauses = Vec::new();
    clauses.extend(together_words(result));
    for wall in result.walls.iter().take(WALLS_IN_SHORT) {
        let at = wall.hop.as_ref();
        clauses.push(format!(
            "{} {} a limit of {}{}",
            members(facts, &wall.members),
            share(wall),
            rate(wall.limit_bytes_per_s),
            at.map_or_else(String::new, |hop| format!(" at {}", hop.name)),
        ));
    }
    clauses.extend(more_walls(result));
    clauses.extend(ending_words(result));
    clauses.extend(unexplained_words(result));
    if let Some(best) = result.advice.first() {
        let (found, how) = match best.measured_bytes_per_s {
            Some(measured) => (measured, "measured"),
            None => (best.expected_bytes_per_s, "expected"),
        };
        clauses.push(format!(
            "The best layout is {} on {} targets ({} {how})",
            best.layout,
            best.order.len(),
            rate(found)
        ));
    }
    if result.plan.simulated {
        clauses.push(SIMULATED.to_owned());
    }
    sentences(&clauses)
}

/// How many walls the short answer leaves out, the uncertain ones counted by themselves.
fn more_walls(result: &DiagnoseResult) -> Option<String> {
    let left_out = result.walls.iter().skip(WALLS_IN_SHORT);
    let (certain, possible): (Vec<&Wall>, Vec<&Wall>) = left_out.partition(|wall| wall.is_likely());
    let (verb, certain_words) = match certain.len() {
        1 => ("is", "1 more shared limit".to_owned()),
        more => ("are", format!("{more} more shared limits")),
    };
    match (certain.len(), possible.len()) {
        (0, 0) => None,
        (_, 0) => Some(format!("There {verb} {certain_words}")),
        (0, 1) => Some("There may be 1 more shared limit".to_owned()),
        (0, may) => Some(format!("There may be {may} more shared limits")),
        (_, 1) => Some(format!(
            "There {verb} {certain_words}, and there may be 1 other"
        )),
        (_, may) => Some(format!(
            "There {verb} {certain_words}, and there may be {may} others"
        )),
    }
}

/// A few targets by name, many by number.
fn members(facts: &DiagnosisPicture<'_>, members: &[String]) -> String {
    if members.len() <= NAMES_IN_SHORT {
        return facts.list(members);
    }
    format!("{} of {} targets", members.len(), facts.disks.len())
}

/// The answer in figures.
fn cards(facts: &DiagnosisPicture<'_>) -> Tiles {
    let result = facts.result;
    let mut cards = Tiles::default();
    cards.add(
        &rate(facts.alone_bytes_per_s()),
        "the sum of the rates alone",
    );
    match &result.together {
        Some(together) => {
            let sum = rate(together.rate_bytes_per_s);
            cards.add(&sum, "the rate of all together");
            let share = percent(together.share_of_sum);
            let words = "of the sum is reached together";
            cards.gauge(together.share_of_sum, &share, words);
        }
        None => cards.stand(
            Standing::Open,
            "?",
            "the rate of all together was not measured",
        ),
    }
    walls_card(&mut cards, result);
    if !result.dropped.is_empty() {
        let figure = result.dropped.len().to_string();
        cards.stand(Standing::Bad, &figure, "targets failed");
    }
    let runs = result.runs.unwrap_or(result.measurements.len() as u64);
    let words = format!(
        "runs of {}, {} in all",
        stretch(result.plan.time_per_run_s),
        stretch(result.plan.time_per_run_s * runs as f64)
    );
    cards.add(&runs.to_string(), &words);
    cards
}

fn walls_card(cards: &mut Tiles, result: &DiagnoseResult) {
    let a_wall = "a wall is a limit that several targets share";
    match (result.walls.len(), result.ended, &result.no_wall) {
        (0, _, Some(none)) => {
            let words = format!(
                "no limit that several targets share lies below {} of the sum",
                percent(none.none_below_share)
            );
            cards.add("0 walls", &words);
        }
        (0, ended, None) => {
            let words = match (result.unexplained.is_some(), ended) {
                (true, _) => "no shared limit that was found explains the loss",
                (_, SearchEnd::TooNoisy) => "the readings differ too much to tell shared limits",
                _ => "shared limits were not known by then",
            };
            cards.stand(Standing::Open, "?", words);
        }
        (count, _, _) => {
            let certain = result.walls.iter().filter(|wall| wall.is_likely()).count();
            let words = match count - certain {
                0 => a_wall.to_owned(),
                1 => format!("and 1 that is not certain; {a_wall}"),
                more => format!("and {more} that are not certain; {a_wall}"),
            };
            let figure = match certain {
                1 => "1 wall".to_owned(),
                certain => format!("{certain} walls"),
            };
            match certain {
                0 => cards.stand(Standing::Open, &figure, &words),
                _ => cards.add(&figure, &words),
            }
        }
    }
}
