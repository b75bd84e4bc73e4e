//! `sustain report`: draws saved results anew.

use sustain::report::{html, json};

use super::{say, write_result};
use crate::Exit;
use crate::flags::ReportFlags;
use crate::request::UsageError;

pub(crate) fn run(flags: &ReportFlags) -> anyhow::Result<Exit> {
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
    write_result(&flags.output, &html::measure_html(&results)?)?;
    say(&format!("report: {}", flags.output.display()));
    Ok(Exit::Done)
}
