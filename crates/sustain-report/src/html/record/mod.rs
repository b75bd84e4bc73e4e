//! The page of recordings: a section each, with several a table of all above. The one place of the
//! page that knows the result of a recording.

mod append_chart;
mod member_charts;
mod section;
mod series;
mod tables;
mod time_chart;

use super::escape;
use super::page::{Sectioned, pages};
use super::table::Table;
use crate::ReportError;
use crate::format::{rate, size, stretch};
use crate::terminal::record_sentence;
use sustain_record::result::RecordResult;

/// The whole page of recordings.
pub(super) fn page(results: &[RecordResult], plotting: &str) -> Result<String, ReportError> {
    pages(results, Some(plotting))
}

impl Sectioned for RecordResult {
    const PLURAL: &'static str = "recordings";

    fn title(&self) -> String {
        name(self)
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

/// What was recorded: `recording 3: left and right`.
fn name(result: &RecordResult) -> String {
    let names: Vec<&str> = result
        .streams
        .iter()
        .map(|stream| stream.name.as_str())
        .collect();
    let streams = match names.as_slice() {
        [] => "no stream".to_owned(),
        [only] => (*only).to_owned(),
        [first @ .., last] if first.len() < 4 => format!("{} and {last}", first.join(", ")),
        [first, second, rest @ ..] => format!("{first}, {second} and {} more", rest.len()),
    };
    format!("recording {}: {streams}", result.recording)
}

fn overview(results: &[RecordResult]) -> String {
    let mut table = Table::new(&["recording", "offered", "lost", "rate", "for", "in short"]);
    for (index, result) in results.iter().enumerate() {
        let sum = |part: fn(&sustain_record::result::StreamResult) -> u64| {
            size(result.streams.iter().map(part).sum())
        };
        table.row(vec![
            format!("{}. {}", index + 1, name(result)),
            sum(|stream| stream.offered_bytes),
            sum(|stream| stream.gap_bytes),
            rate(result.total.wall_clock_bytes_per_s),
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
