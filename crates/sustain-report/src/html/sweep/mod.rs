//! The page of sweeps: a section each, with several a table of all above. Its pictures are drawn
//! here as SVG, so that they need no script. The one place of the page that knows the result of a
//! sweep; it decides nothing, best and cheapest are the document's.

mod curves;
mod dots;
mod facts;
mod heat;
mod quantity;
mod scale;
mod section;
mod tables;

use super::escape;
use super::page::{Sectioned, pages};
use super::table::Table;
use crate::ReportError;
use crate::terminal::sweep::{rate_with_interval, restrictions};
use sustain_bench::sweep::result::{SweepAnswer, SweepResult};

/// The whole page of sweeps. It has no plotting script: its pictures need none.
pub(super) fn page(results: &[SweepResult]) -> Result<String, ReportError> {
    pages(results, None)
}

impl Sectioned for SweepResult {
    const PLURAL: &'static str = "sweeps";

    fn title(&self) -> String {
        name(self)
    }

    fn version(&self) -> &str {
        &self.plan.sustain_version
    }

    fn overview(results: &[SweepResult]) -> String {
        overview(results)
    }

    fn section(&self, index: usize) -> Result<String, ReportError> {
        section::section(self, index)
    }
}

/// What was swept: `sweep of sda and sdb, write`.
fn name(result: &SweepResult) -> String {
    let names = &result.plan.target_names;
    let targets = match names.as_slice() {
        [] => result.plan.targets.join(", "),
        [only] => only.clone(),
        [first @ .., last] if first.len() < 4 => format!("{} and {last}", first.join(", ")),
        several => format!("{} targets", several.len()),
    };
    let directions = result.answers.iter().map(|one| one.direction.as_str());
    let directions: Vec<&str> = directions.collect();
    match directions.as_slice() {
        [] => format!("sweep of {targets}"),
        some => format!("sweep of {targets}, {}", some.join(" and ")),
    }
}

fn overview(results: &[SweepResult]) -> String {
    let mut table = Table::new(&["sweep", "to", "best", "rate", "cheapest within 2 %", "rate"]);
    for (index, result) in results.iter().enumerate() {
        let own = format!("{}. {}", index + 1, name(result));
        if result.answers.is_empty() {
            table.row(vec![own, String::new(), restrictions(result).join("; ")]);
            continue;
        }
        for answer in &result.answers {
            table.row(overview_row(result, answer, own.clone()));
        }
    }
    let heading = escape::text(&format!("{} sweeps", results.len()));
    format!(
        "<section>\n<h1>{heading}</h1>\n{}</section>\n",
        table.markup()
    )
}

fn overview_row(result: &SweepResult, answer: &SweepAnswer, name: String) -> Vec<String> {
    let best = &result.points[answer.best];
    let cheapest = &result.points[answer.cheapest];
    let mut row = vec![
        name,
        answer.direction.clone(),
        best.setting.words.clone(),
        rate_with_interval(best),
    ];
    if answer.cheapest == answer.best {
        row.extend(["the best".to_owned(), String::new()]);
    } else {
        row.extend([cheapest.setting.words.clone(), rate_with_interval(cheapest)]);
    }
    row
}
