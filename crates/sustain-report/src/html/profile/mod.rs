//! The page of profiles: a section for each, and above them a table of all if they are several. It
//! is the only place of the page that knows the result of a profile.

mod curve_chart;
mod section;

use sustain_document::profile::ProfileResult;

use super::escape;
use super::page::Sectioned;
use super::table::Table;
use crate::ReportError;
use crate::format::rate;

impl Sectioned for ProfileResult {
    const PLURAL: &'static str = "profiles";

    fn title(&self) -> String {
        section::name(self)
    }

    fn version(&self) -> &str {
        &self.plan.sustain_version
    }

    fn overview(results: &[ProfileResult]) -> String {
        overview(results)
    }

    fn section(&self, index: usize) -> Result<String, ReportError> {
        section::section(self, index)
    }
}

fn overview(results: &[ProfileResult]) -> String {
    let mut table = Table::new(
        "All profiles",
        &[
            "profile",
            "target",
            "mean rate",
            "lowest rate outside bad spots",
            "answer",
        ],
    );
    for (index, result) in results.iter().enumerate() {
        for target in &result.targets {
            table.row(vec![
                format!("{}. {}", index + 1, section::name(result)),
                format!("{}, {}", target.name, target.direction),
                target.mean_rate_bytes_per_s.map_or_else(String::new, rate),
                target.inner_rate_bytes_per_s.map_or_else(String::new, rate),
                target.verdict.first().cloned().unwrap_or_default(),
            ]);
        }
    }
    let heading = escape::text(&format!("{} profiles", results.len()));
    format!(
        "<section>\n<h1>{heading}</h1>\n{}</section>\n",
        table.markup()
    )
}
