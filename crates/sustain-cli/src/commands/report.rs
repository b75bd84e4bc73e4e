//! `sustain report`: draws saved results anew.

use std::path::PathBuf;

use sustain::report::json::Saved;
use sustain::report::{html, json};

use super::output::{self, Document};
use super::say;
use crate::Exit;
use crate::flags::ReportFlags;
use crate::request::UsageError;

pub(crate) fn run(flags: &ReportFlags) -> anyhow::Result<Exit> {
    let drawn = |run: &&PathBuf| output::is_same(run, &flags.output);
    if !output::is_standard_output(&flags.output)
        && let Some(run) = flags.runs.iter().find(drawn)
    {
        return Err(UsageError(format!(
            "{} is the result {} itself: write the report to another file",
            flags.output.display(),
            run.display()
        ))
        .into());
    }
    output::check(&flags.output, Document::Page)?;
    let mut measurements = Vec::new();
    let mut recordings = Vec::new();
    for path in &flags.runs {
        let text = std::fs::read_to_string(path).map_err(|error| {
            UsageError(format!(
                "cannot read {}: {error}; check the path",
                path.display()
            ))
        })?;
        let saved = json::read_saved(&text)
            .map_err(|error| UsageError(format!("{}: {error}", path.display())))?;
        match saved {
            Saved::Measure(result) => measurements.push(*result),
            Saved::Record(result) => recordings.push(*result),
        }
        if !measurements.is_empty() && !recordings.is_empty() {
            let first = flags.runs[0].display();
            return Err(UsageError(format!(
                "{first} and {} are a measurement and a recording: make a report of each kind",
                path.display()
            ))
            .into());
        }
    }
    let page = if recordings.is_empty() {
        html::measure_html(&measurements)?
    } else {
        html::record_html(&recordings)?
    };
    output::write(&flags.output, &page)?;
    say(&format!("report: {}", flags.output.display()));
    Ok(Exit::Done)
}
