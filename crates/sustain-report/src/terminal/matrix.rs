//! Shows a matrix to a person: a row for each combination of targets, a column for each direction,
//! and the diagnosis of each direction below.

use comfy_table::{Table, presets};

use sustain_document::diagnose::SearchEnd;
use sustain_document::matrix::{Combination, MatrixResult};
use sustain_document::vocabulary::Direction;

use super::columns::text_of;
use super::diagnosis::{diagnosis_answer, failures_and_notes};
use super::without_controls;
use crate::format::rate;

/// The table and the answers, each line ending with a newline. `width` is the terminal's, in
/// columns.
#[must_use]
pub fn matrix_text(result: &MatrixResult, width: usize) -> String {
    let mut text = table(result);
    if result.ended == SearchEnd::Interrupted {
        text.push_str("The run was ended early: what stands as - was not measured.\n");
    } else if has_failed(result) {
        text.push_str("Where a target failed, - stands for what was not measured.\n");
    }
    for diagnosis in &result.diagnoses {
        let heading = match diagnosis.plan.direction {
            Direction::Read => "Reading",
            _ => "Writing",
        };
        let answer = diagnosis_answer(diagnosis, width);
        text.push_str(&format!("\n{heading}:\n{answer}"));
        text.push_str(&failures_and_notes(diagnosis, width));
    }
    text
}

/// Whether a target failed in one direction.
fn has_failed(result: &MatrixResult) -> bool {
    result.diagnoses.iter().any(|one| !one.dropped.is_empty())
}

/// What the best combination reaches in each direction, in one sentence; empty if nothing was
/// measured.
pub(crate) fn matrix_sentence(result: &MatrixResult) -> String {
    let best = result.directions.iter().filter_map(|direction| {
        let rates = result.combinations.iter();
        let rates = rates.filter_map(|one| Some((one.rate(*direction)?.sum_bytes_per_s, one)));
        let (sum, combination) = rates.max_by(|(one, _), (other, _)| one.total_cmp(other))?;
        let doing = match direction {
            Direction::Read => "reading",
            _ => "writing",
        };
        Some(format!(
            "{} when {doing}, by {}",
            rate(sum),
            names(combination)
        ))
    });
    let best: Vec<String> = best.collect();
    match best.is_empty() {
        true => String::new(),
        false => format!("The most is {}.", best.join(", and ")),
    }
}

/// The names of the targets of a combination.
pub(crate) fn names(combination: &Combination) -> String {
    without_controls(&combination.members.join(" "))
}

/// The word over the column of a direction.
pub(crate) fn column(direction: Direction) -> &'static str {
    match direction {
        Direction::Read => "read",
        _ => "write",
    }
}

/// The rate of a combination in a direction.
pub(crate) fn cell(combination: &Combination, direction: Direction) -> String {
    let reached = combination.rate(direction);
    reached.map_or_else(|| "-".to_owned(), |reached| rate(reached.sum_bytes_per_s))
}

fn table(result: &MatrixResult) -> String {
    let mut table = Table::new();
    table.load_preset(presets::NOTHING);
    let head = result.directions.iter().map(|one| column(*one).to_owned());
    table.set_header(std::iter::once("targets".to_owned()).chain(head));
    for combination in &result.combinations {
        let directions = result.directions.iter();
        let cells = directions.map(|direction| cell(combination, *direction));
        table.add_row(std::iter::once(names(combination)).chain(cells));
    }
    text_of(table, 1..=result.directions.len())
}
