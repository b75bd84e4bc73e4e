//! `sustain report`: shows saved results again, as an HTML page or as the text that was printed for
//! them.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use sustain::compare::{ComparePlan, compare};
use sustain::document::compare::CompareResult;
use sustain::document::diagnose::DiagnoseResult;
use sustain::document::matrix::MatrixResult;
use sustain::document::measure::MeasureResult;
use sustain::document::profile::ProfileResult;
use sustain::document::reader;
use sustain::document::reader::Saved;
use sustain::document::record::RecordResult;
use sustain::document::repair::RepairDocument;
use sustain::document::sweep::SweepResult;
use sustain::report::terminal::{record_summary, repair_text};
use sustain::report::{ReportError, html};

use super::output::{self, OutputKind};
use super::{diagnose, measure, profile, say, sweep};
use crate::exit::Exit;
use crate::flags::ReportFlags;
use crate::usage_error::UsageError;

pub(crate) fn run(flags: &ReportFlags) -> anyhow::Result<Exit> {
    if let Some(output) = &flags.report {
        check(output, &flags.runs)?;
    }
    let mut runs = Runs::default();
    let mut first = None;
    for path in &flags.runs {
        let saved = read(path)?;
        let kind = kind(&saved);
        let (first_path, first_kind) = *first.get_or_insert((path, kind));
        if kind != first_kind {
            return Err(UsageError(format!(
                "{} is {first_kind} and {} is {kind}: make a report for each kind",
                first_path.display(),
                path.display()
            ))
            .into());
        }
        runs.take(saved);
    }
    let labels: Vec<String> = flags
        .runs
        .iter()
        .map(|path| path.display().to_string())
        .collect();
    match &flags.report {
        Some(output) => {
            output::save(output, &runs.page(&labels)?)?;
            say(&format!("report: {}", output.display()));
        }
        None => output::write(Path::new("-"), &runs.words(&labels))?,
    }
    Ok(Exit::Done)
}

/// Checks that the page may be written there, and does not replace one of the results.
fn check(output: &Path, runs: &[PathBuf]) -> Result<(), UsageError> {
    let mut runs = runs.iter();
    let drawn = runs.find(|run| output::is_same(run, output));
    if let Some(run) = drawn.filter(|_| !output::is_standard_output(output)) {
        return Err(UsageError(format!(
            "{} is the result {} itself: write the report to another file",
            output.display(),
            run.display()
        )));
    }
    output::check(output, OutputKind::Page)
}

fn read(path: &Path) -> Result<Saved, UsageError> {
    let text = std::fs::read_to_string(path).map_err(|error| {
        let path = path.display();
        UsageError(match error.kind() {
            ErrorKind::InvalidData => format!(
                "{path} is not a result but other data: name the JSON that --json of measure, \
                 record, repair, diagnose, sweep, profile or compare wrote"
            ),
            _ => format!("cannot read {path}: {error}; check the path"),
        })
    })?;
    reader::read_saved(&text).map_err(|error| UsageError(format!("{}: {error}", path.display())))
}

fn kind(saved: &Saved) -> &'static str {
    match saved {
        Saved::Measure(_) => "a measurement",
        Saved::Record(_) => "a recording",
        Saved::Repair(_) => "a repair",
        Saved::Diagnose(_) => "a diagnosis",
        Saved::Matrix(_) => "a matrix",
        Saved::Profile(_) => "a profile",
        Saved::Sweep(_) => "a sweep",
        Saved::Compare(_) => "a comparison",
    }
}

/// The results to draw, by the command that made them.
#[derive(Default)]
struct Runs {
    measurements: Vec<MeasureResult>,
    recordings: Vec<RecordResult>,
    repairs: Vec<RepairDocument>,
    diagnoses: Vec<DiagnoseResult>,
    matrices: Vec<MatrixResult>,
    profiles: Vec<ProfileResult>,
    sweeps: Vec<SweepResult>,
    comparisons: Vec<CompareResult>,
}

impl Runs {
    fn take(&mut self, saved: Saved) {
        match saved {
            Saved::Measure(result) => self.measurements.push(*result),
            Saved::Record(result) => self.recordings.push(*result),
            Saved::Repair(result) => self.repairs.push(*result),
            Saved::Diagnose(result) => self.diagnoses.push(*result),
            Saved::Matrix(result) => self.matrices.push(*result),
            Saved::Profile(result) => self.profiles.push(*result),
            Saved::Sweep(result) => self.sweeps.push(*result),
            Saved::Compare(result) => self.comparisons.push(*result),
        }
    }

    /// Compares two measurements if they did the same work. Otherwise they are drawn without an
    /// answer.
    fn comparison(&self, labels: &[String]) -> Option<CompareResult> {
        let ([a, b], [of_a, of_b]) = (self.measurements.as_slice(), labels) else {
            return None;
        };
        let plan = ComparePlan {
            labels: [of_a.clone(), of_b.clone()],
            ..ComparePlan::default()
        };
        compare(a, b, &plan).ok()
    }

    /// Draws the page. All results are of one kind. Two measurements of the same work are compared,
    /// too.
    fn page(&self, labels: &[String]) -> Result<String, ReportError> {
        if !self.recordings.is_empty() {
            html::record_html(&self.recordings)
        } else if !self.repairs.is_empty() {
            html::repair_html(&self.repairs)
        } else if !self.diagnoses.is_empty() {
            html::diagnose_html(&self.diagnoses)
        } else if !self.matrices.is_empty() {
            html::matrix_html(&self.matrices)
        } else if !self.profiles.is_empty() {
            html::profile_html(&self.profiles)
        } else if !self.sweeps.is_empty() {
            html::sweep_html(&self.sweeps)
        } else if !self.comparisons.is_empty() {
            html::compare_html(&self.comparisons)
        } else {
            let comparison = self.comparison(labels);
            html::side_by_side_html(&self.measurements, labels, comparison.as_ref())
        }
    }

    /// The text that the commands printed, each under the name of its file if there are several.
    fn words(&self, labels: &[String]) -> String {
        let measured = self.measurements.iter().map(measure::words);
        let recorded = self.recordings.iter();
        let recorded = recorded.map(|result| output::prose(&record_summary(result)));
        let repaired = self.repairs.iter();
        let repaired = repaired.map(|result| repair_text(result, output::width()));
        let texts: Vec<String> = measured
            .chain(recorded)
            .chain(repaired)
            .chain(self.diagnoses.iter().map(diagnose::words))
            .chain(self.matrices.iter().map(diagnose::matrix_words))
            .chain(self.profiles.iter().map(profile::words))
            .chain(self.sweeps.iter().map(sweep::words))
            .chain(self.comparisons.iter().map(super::compare::words))
            .collect();
        if let [only] = texts.as_slice() {
            return only.clone();
        }
        let named = labels.iter().zip(&texts);
        let mut parts: Vec<String> = named
            .map(|(label, text)| format!("{label}:\n{text}"))
            .collect();
        let comparison = self.comparison(labels);
        parts.extend(comparison.as_ref().map(super::compare::words));
        parts.join("\n")
    }
}
