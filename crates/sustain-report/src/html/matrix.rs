//! Draws a matrix on the page: a row for each combination of targets with its rate in each
//! direction, as a figure and a bar, and below it the diagnosis of each direction.

use sustain_document::diagnose::{DiagnoseResult, SearchEnd};
use sustain_document::matrix::{Combination, MatrixResult};
use sustain_document::vocabulary::Direction;

use super::escape;
use super::page::Sectioned;
use super::table::{Table, caption, glued};
use super::tiles::{self, Standing, Tiles};
use super::title::{on_simulated, targets};
use crate::ReportError;
use crate::format::rate;
use crate::terminal::matrix::{cell, column, matrix_sentence, names};

impl Sectioned for MatrixResult {
    const PLURAL: &'static str = "matrices";

    fn title(&self) -> String {
        let first = self.diagnoses.first();
        let simulated = on_simulated(first.is_some_and(|one| one.plan.simulated));
        let all = targets(&self.targets, &self.targets);
        format!("The rates of combinations of {all}{simulated}")
    }

    fn version(&self) -> &str {
        &self.sustain_version
    }

    fn overview(results: &[MatrixResult]) -> String {
        let mut table = Table::new("All matrices", &["matrix", "answer"]);
        for (index, result) in results.iter().enumerate() {
            let title = format!("{}. {}", index + 1, result.title());
            table.row(vec![title, matrix_sentence(result)]);
        }
        let heading = format!("{} matrices", results.len());
        format!(
            "<section>\n<h1>{heading}</h1>\n{}</section>\n",
            table.markup()
        )
    }

    fn section(&self, index: usize) -> Result<String, ReportError> {
        let mut markup = format!(
            "<section id=\"matrix-{index}\">\n<h1>{}</h1>\n{}{}</section>\n",
            escape::text(&self.title()),
            answer(self),
            combinations(self),
        );
        let several = self.diagnoses.len();
        for (number, diagnosis) in self.diagnoses.iter().enumerate() {
            markup.push_str(&diagnosis.section(index * several + number)?);
        }
        Ok(markup)
    }
}

fn answer(result: &MatrixResult) -> String {
    let said = match result.ended {
        SearchEnd::Interrupted => "The run was ended early, so combinations may be missing.",
        SearchEnd::TooNoisy => "The readings differ too much for shared limits to be found.",
        SearchEnd::Done => "",
    };
    let standing = match result.ended {
        SearchEnd::Done => Standing::Plain,
        _ => Standing::Open,
    };
    let mut tiles = Tiles::default();
    for diagnosis in &result.diagnoses {
        if let Some(together) = &diagnosis.together {
            tiles.add(&rate(together.rate_bytes_per_s), together_words(diagnosis));
        }
    }
    let sentence = matrix_sentence(result);
    tiles::answer(standing, format!("{sentence} {said}").trim(), &tiles)
}

fn together_words(diagnosis: &DiagnoseResult) -> &'static str {
    match diagnosis.plan.direction {
        Direction::Read => "all together, read",
        _ => "all together, written",
    }
}

/// The rates of all combinations; bars of both directions have one scale.
fn combinations(result: &MatrixResult) -> String {
    let sums = result.combinations.iter().flat_map(|combination| {
        let directions = result.directions.iter();
        directions.filter_map(|direction| combination.rate(*direction))
    });
    let most = sums.fold(1.0, |most: f64, one| most.max(one.sum_bytes_per_s));
    let head: String = result
        .directions
        .iter()
        .map(|one| format!("<th scope=\"col\" colspan=\"2\">{}</th>", column(*one)))
        .collect();
    let rows: String = result
        .combinations
        .iter()
        .map(|combination| row(result, combination, most))
        .collect();
    format!(
        "<h2>All combinations</h2>\n<figure><div class=\"matrix\"><table>\n{}<thead>\n<tr>\
         <th scope=\"col\">targets</th>{head}</tr></thead>\n<tbody>\n{rows}</tbody>\n</table>\
         </div>\n<figcaption>The sum of the targets of each row, active together and by \
         themselves. All bars have one scale.</figcaption></figure>\n",
        caption("All combinations"),
    )
}

fn row(result: &MatrixResult, combination: &Combination, most: f64) -> String {
    let cells = result.directions.iter().map(|direction| {
        let reached = combination.rate(*direction);
        let part = reached.map_or(0.0, |reached| reached.sum_bytes_per_s / most * 100.0);
        let each = reached.map_or_else(String::new, |reached| {
            let rates = combination.members.iter().zip(&reached.rates_bytes_per_s);
            let rates = rates.map(|(name, own)| format!("{name}: {}", rate(*own)));
            rates.collect::<Vec<String>>().join(", ")
        });
        format!(
            "<td class=\"figure\" title=\"{}\">{}</td><td class=\"sum\" \
             style=\"--part:{part:.1}%\"></td>",
            escape::text(&each),
            escape::text(&glued(&cell(combination, *direction))),
        )
    });
    format!(
        "<tr><th scope=\"row\">{}</th>{}</tr>\n",
        escape::text(&names(combination)),
        cells.collect::<String>()
    )
}
