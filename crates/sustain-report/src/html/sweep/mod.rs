//! The page of sweeps: a section for each, and above them a table of all if they are several. Its
//! pictures are drawn here as SVG, so that they need no script. It is the only place of the page
//! that knows the result of a sweep. It decides nothing: the document names the best and the
//! cheapest setting.

mod curves;
mod dots;
mod facts;
mod heat;
mod quantity;
mod section;
mod tables;

use sustain_document::sweep::{SweepAnswer, SweepResult};

use super::escape;
use super::page::Sectioned;
use super::table::Table;
use crate::ReportError;
use crate::terminal::sweep::{rate_with_interval, restrictions};

impl Sectioned for SweepResult {
    const PLURAL: &'static str = "sweeps";

    fn title(&self) -> String {
        section::name(self)
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

fn overview(results: &[SweepResult]) -> String {
    let mut table = Table::new(
        "All sweeps",
        &[
            "sweep",
            "direction",
            "best setting",
            "its rate",
            "cheapest setting within 2 %",
            "its rate",
        ],
    );
    for (index, result) in results.iter().enumerate() {
        let own = format!("{}. {}", index + 1, section::name(result));
        if result.answers.is_empty() {
            table.row(vec![own, String::new(), restrictions(result).join(" ")]);
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
        answer.direction.to_string(),
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
