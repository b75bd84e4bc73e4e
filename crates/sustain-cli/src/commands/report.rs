//! `sustain report`: draws saved results anew.

use std::path::PathBuf;

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
    let mut results = Vec::new();
    for path in &flags.runs {
        let text = std::fs::read_to_string(path).map_err(|error| {
            UsageError(format!(
                "cannot read {}: {error}; check the path",
                path.display()
            ))
        })?;
        let result = json::read_measure(&text)
            .map_err(|error| UsageError(format!("{}: {error}", path.display())))?;
        results.push(result);
    }
    output::write(&flags.output, &html::measure_html(&results)?)?;
    say(&format!("report: {}", flags.output.display()));
    Ok(Exit::Done)
}
