//! `sustain report`: draws saved results anew.

use std::path::PathBuf;

use sustain::measure::compare::{ComparePlan, compare};
use sustain::measure::diagnose::result::DiagnoseResult;
use sustain::measure::profile::result::ProfileResult;
use sustain::measure::result::MeasureResult;
use sustain::measure::sweep::result::SweepResult;
use sustain::record::result::RecordResult;
use sustain::report::json::Saved;
use sustain::report::{ReportError, html, json};

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
    let mut runs = Runs::default();
    for path in &flags.runs {
        let text = std::fs::read_to_string(path).map_err(|error| {
            UsageError(format!(
                "cannot read {}: {error}; check the path",
                path.display()
            ))
        })?;
        let saved = json::read_saved(&text)
            .map_err(|error| UsageError(format!("{}: {error}", path.display())))?;
        runs.take(saved);
        if let [one, other, ..] = runs.kinds()[..] {
            let first = flags.runs[0].display();
            return Err(UsageError(format!(
                "{first} and {} are {one} and {other}: make a report of each kind",
                path.display()
            ))
            .into());
        }
    }
    let labels: Vec<String> = flags
        .runs
        .iter()
        .map(|path| path.display().to_string())
        .collect();
    let page = runs.page(&labels)?;
    output::write(&flags.output, &page)?;
    say(&format!("report: {}", flags.output.display()));
    Ok(Exit::Done)
}

/// The results to be drawn, by the command that made them.
#[derive(Default)]
struct Runs {
    measurements: Vec<MeasureResult>,
    recordings: Vec<RecordResult>,
    diagnoses: Vec<DiagnoseResult>,
    profiles: Vec<ProfileResult>,
    sweeps: Vec<SweepResult>,
}

impl Runs {
    fn take(&mut self, saved: Saved) {
        match saved {
            Saved::Measure(result) => self.measurements.push(*result),
            Saved::Record(result) => self.recordings.push(*result),
            Saved::Diagnose(result) => self.diagnoses.push(*result),
            Saved::Profile(result) => self.profiles.push(*result),
            Saved::Sweep(result) => self.sweeps.push(*result),
        }
    }

    fn kinds(&self) -> Vec<&'static str> {
        let kinds = [
            (self.measurements.is_empty(), "a measurement"),
            (self.recordings.is_empty(), "a recording"),
            (self.diagnoses.is_empty(), "a diagnosis"),
            (self.profiles.is_empty(), "a profile"),
            (self.sweeps.is_empty(), "a sweep"),
        ];
        let present = kinds.into_iter().filter(|(is_empty, _)| !is_empty);
        present.map(|(_, name)| name).collect()
    }

    /// All are of one kind. Two measurements of the same work are compared too.
    fn page(&self, labels: &[String]) -> Result<String, ReportError> {
        if !self.recordings.is_empty() {
            html::record_html(&self.recordings)
        } else if !self.diagnoses.is_empty() {
            html::diagnose_html(&self.diagnoses)
        } else if !self.profiles.is_empty() {
            html::profile_html(&self.profiles)
        } else if !self.sweeps.is_empty() {
            html::sweep_html(&self.sweeps)
        } else {
            let comparison = match (self.measurements.as_slice(), labels) {
                ([a, b], [of_a, of_b]) => {
                    let plan = ComparePlan {
                        labels: [of_a.clone(), of_b.clone()],
                        ..ComparePlan::default()
                    };
                    // What is not the same work is drawn without an answer.
                    compare(a, b, &plan).ok()
                }
                _ => None,
            };
            html::side_by_side_html(&self.measurements, labels, comparison.as_ref())
        }
    }
}
