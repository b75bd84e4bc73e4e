//! `sustain report`: draws saved results anew.

use anyhow::Context;
use sustain::report::{html, json};

use super::{say, write_result};
use crate::Exit;
use crate::flags::ReportFlags;

pub(crate) fn run(flags: &ReportFlags) -> anyhow::Result<Exit> {
    let mut results = Vec::new();
    for path in &flags.runs {
        let text = std::fs::read_to_string(path)
            .with_context(|| format!("cannot read {}", path.display()))?;
        results.push(json::read_measure(&text).with_context(|| path.display().to_string())?);
    }
    write_result(&flags.output, &html::measure_html(&results)?)?;
    say(&format!("report: {}", flags.output.display()));
    Ok(Exit::Done)
}
