//! The page of diagnoses: a section for each, and above them a table of all if they are several.
//! Its pictures are drawn here as SVG, so that they need no script. It is the only place of the
//! page that knows the result of a diagnosis.

mod advice;
mod bars;
mod facts;
mod hops;
mod machine;
mod matrix;
mod section;
mod tables;
mod tree;
mod walls;

use sustain_document::diagnose::DiagnoseResult;
use sustain_document::vocabulary::Direction;

use super::escape;
use super::page::Sectioned;
use super::table::Table;
use crate::ReportError;
use crate::format::{percent, rate};
use crate::terminal::diagnosis_sentence;

impl Sectioned for DiagnoseResult {
    const PLURAL: &'static str = "diagnoses";

    fn title(&self) -> String {
        name(self)
    }

    fn version(&self) -> &str {
        &self.plan.sustain_version
    }

    fn overview(results: &[DiagnoseResult]) -> String {
        overview(results)
    }

    fn section(&self, index: usize) -> Result<String, ReportError> {
        section::section(self, index)
    }
}

/// The title: `Limits that 16 targets share when writing`.
fn name(result: &DiagnoseResult) -> String {
    let names: Vec<&str> = result.order.names.iter().map(String::as_str).collect();
    let targets = match names.as_slice() {
        [] => result.plan.targets.join(", "),
        [only] => (*only).to_owned(),
        [first @ .., last] if first.len() < 4 => format!("{} and {last}", first.join(", ")),
        several => format!("{} targets", several.len()),
    };
    let doing = match result.plan.direction {
        Direction::Read => "reading",
        _ => "writing",
    };
    let simulated = if result.plan.simulated {
        ", on a simulated machine"
    } else {
        ""
    };
    format!("Limits that {targets} share when {doing}{simulated}")
}

fn overview(results: &[DiagnoseResult]) -> String {
    let mut table = Table::new(&[
        "diagnosis",
        "sum of the rates alone",
        "rate together",
        "part of the sum",
        "shared limits",
        "answer",
    ]);
    for (index, result) in results.iter().enumerate() {
        let alone = result.alone.iter().filter_map(|one| one.rate_bytes_per_s);
        let together = result.together.as_ref();
        let unknown = || "not measured".to_owned();
        table.row(vec![
            format!("{}. {}", index + 1, name(result)),
            rate(alone.sum()),
            together.map_or_else(unknown, |together| rate(together.rate_bytes_per_s)),
            together.map_or_else(unknown, |together| percent(together.share_of_sum)),
            result.walls.len().to_string(),
            diagnosis_sentence(result),
        ]);
    }
    let heading = escape::text(&format!("{} diagnoses", results.len()));
    format!(
        "<section>\n<h1>{heading}</h1>\n{}</section>\n",
        table.markup()
    )
}
