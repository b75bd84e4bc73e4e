//! The page of recordings: a section for each, and above them a table of all if they are several.
//! It is the only place of the page that knows the result of a recording.

mod append_chart;
mod frame_charts;
mod member_charts;
mod protection_chart;
mod section;
mod series;
mod tables;
mod time_chart;

use sustain_document::record::RecordResult;
use sustain_record::verdicts::average_bytes_per_s;

use super::escape;
use super::page::Sectioned;
use super::table::Table;
use crate::ReportError;
use crate::format::{position, rate, stretch};
use crate::terminal::record_sentence;

impl Sectioned for RecordResult {
    const PLURAL: &'static str = "recordings";

    fn title(&self) -> String {
        section::name(self)
    }

    fn version(&self) -> &str {
        &self.plan.sustain_version
    }

    fn overview(results: &[RecordResult]) -> String {
        overview(results)
    }

    fn section(&self, index: usize) -> Result<String, ReportError> {
        section::section(self, index)
    }
}

fn overview(results: &[RecordResult]) -> String {
    let mut table = Table::new(
        "All recordings",
        &[
            "recording",
            "offered",
            "lost",
            "recorded on average",
            "length",
            "answer",
        ],
    );
    for (index, result) in results.iter().enumerate() {
        let sum = |part: fn(&sustain_document::record::StreamResult) -> u64| {
            position(result.streams.iter().map(part).sum())
        };
        table.row(vec![
            format!("{}. {}", index + 1, section::name(result)),
            sum(|stream| stream.offered_bytes),
            sum(|stream| stream.gap_bytes),
            rate(average_bytes_per_s(result)),
            stretch(result.seconds),
            record_sentence(result),
        ]);
    }
    let heading = escape::text(&format!("{} recordings", results.len()));
    format!(
        "<section>\n<h1>{heading}</h1>\n{}</section>\n",
        table.markup()
    )
}
