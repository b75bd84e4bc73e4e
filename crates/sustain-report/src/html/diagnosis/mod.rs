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

use super::escape;
use super::page::Sectioned;
use super::table::Table;
use crate::ReportError;
use crate::format::{percent, rate};
use crate::terminal::diagnosis_sentence;

impl Sectioned for DiagnoseResult {
    const PLURAL: &'static str = "diagnoses";

    fn title(&self) -> String {
        section::name(self)
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

fn overview(results: &[DiagnoseResult]) -> String {
    let mut table = Table::new(
        "All diagnoses",
        &[
            "diagnosis",
            "sum of the rates alone",
            "rate together",
            "part of the sum",
            "shared limits",
            "answer",
        ],
    );
    for (index, result) in results.iter().enumerate() {
        let alone = result.alone.iter().filter_map(|one| one.rate_bytes_per_s);
        let together = result.together.as_ref();
        let unknown = || "not measured".to_owned();
        table.row(vec![
            format!("{}. {}", index + 1, section::name(result)),
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
