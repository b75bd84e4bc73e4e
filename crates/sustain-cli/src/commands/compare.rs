//! `sustain compare`: says whether two saved runs differ, or two settings that are measured in
//! turn. The exit code is for scripts.

use std::path::Path;

use clap::Parser;
use sustain::compare::{ComparePlan, TrialPlan, TrialSetting, compare, rehearse_trial, trial};
use sustain::document::compare::{CompareResult, LimitOutcome, TrialEnd};
use sustain::document::measure::MeasureResult;
use sustain::document::reader;
use sustain::host::Roots;
use sustain::measure::LoadPlan;
use sustain::report::html;
use sustain::report::terminal::{SweepView, compare_answer, compare_text};

use super::begin::{CommandSetup, begin, rehearsed};
use super::output::{self, Outputs};
use crate::exit::Exit;
use crate::flags::compare::{CompareFlags, TypedSetting};
use crate::request::{arguments, data, data_path, engine, layout, targets_load};
use crate::usage_error::UsageError;

pub(crate) fn run(flags: &CompareFlags) -> anyhow::Result<Exit> {
    match flags.ab.as_deref() {
        Some([a, b]) => run_trial(flags, [a, b]),
        _ => run_saved(flags),
    }
}

fn run_saved(flags: &CompareFlags) -> anyhow::Result<Exit> {
    let usage = |text: String| Err(UsageError(text).into());
    let [a, b] = flags.inputs.as_slice() else {
        return usage(format!(
            "compare two results, A.json and B.json, not {}: to draw several side by side use \
             `sustain report`, to measure settings in turn use --ab",
            flags.inputs.len()
        ));
    };
    if let Some(flag) = flags.flag_of_measuring() {
        return usage(format!(
            "{flag} can be used only with --ab: saved runs are compared as they are"
        ));
    }
    let outputs = Outputs::from(&flags.output);
    for run in [a, b] {
        not_overwritten(outputs, Path::new(run))?;
    }
    outputs.check(&[])?;
    let runs = [read(a)?, read(b)?];
    let labels = [a.clone(), b.clone()];
    let plan = ComparePlan {
        labels: labels.clone(),
        fail_if_slower: flags.fail_if_slower,
        arguments: arguments(),
    };
    let result = compare(&runs[0], &runs[1], &plan)?;
    outputs.deliver(
        &words(&result),
        || reader::write(&result),
        || html::side_by_side_html(&runs, &labels, Some(&result)),
    )?;
    Ok(exit(&result))
}

/// Refuses to write the comparison over one of the results that it compares.
fn not_overwritten(outputs: Outputs<'_>, run: &Path) -> Result<(), UsageError> {
    let is_run = |path: &&Path| !output::is_standard_output(path) && output::is_same(path, run);
    let mut written = outputs.json.into_iter().chain(outputs.report);
    match written.find(is_run) {
        None => Ok(()),
        Some(path) => Err(UsageError(format!(
            "{} is the result {} itself: write the comparison to another file",
            path.display(),
            run.display()
        ))),
    }
}

/// Reads a saved measurement. Any other document is refused by its name.
fn read(file: &str) -> Result<MeasureResult, UsageError> {
    let text = std::fs::read_to_string(file).map_err(|error| {
        UsageError(format!(
            "cannot read {file}: {error}; give a result written by `sustain measure --json`"
        ))
    })?;
    reader::read::<MeasureResult>(&text).map_err(|error| UsageError(format!("{file}: {error}")))
}

fn run_trial(flags: &CompareFlags, typed: [&String; 2]) -> anyhow::Result<Exit> {
    let plan = plan(flags, typed)?;
    let roots = Roots::default();
    if flags.safety.dry_run {
        return Ok(rehearsed(&rehearse_trial(&plan, &roots)?));
    }
    let outputs = Outputs::from(&flags.output);
    let CommandSetup { stop, live } = begin(&plan.load.targets, outputs)?;
    let mut view = SweepView::new(live, Box::new(std::io::stderr()));
    let result = trial(&plan, &roots, &stop, &mut |event| view.take(&event));
    view.finish();
    let result = result?;
    outputs.deliver(
        &words(&result),
        || reader::write(&result),
        || html::compare_html(std::slice::from_ref(&result)),
    )?;
    Ok(exit(&result))
}

fn plan(flags: &CompareFlags, [a, b]: [&String; 2]) -> Result<TrialPlan, UsageError> {
    let default = TrialPlan::new(&flags.inputs, [setting("A", a)?, setting("B", b)?]);
    Ok(TrialPlan {
        load: LoadPlan {
            direction: flags.direction.direction(&flags.safety)?,
            seed: flags.seed.unwrap_or(0),
            ..targets_load(&default.load.targets, flags.size, &flags.safety)
        },
        time_per_run_ns: flags.time_per_run.unwrap_or(default.time_per_run_ns),
        time_ns: flags.time.unwrap_or(default.time_ns),
        alike: flags.alike.unwrap_or(default.alike),
        fail_if_slower: flags.fail_if_slower,
        arguments: arguments(),
        ..default
    })
}

/// Parses the flags of a setting. A flag that it cannot have is named.
fn setting(side: &str, typed: &str) -> Result<TrialSetting, UsageError> {
    let refuse = |why: &str| {
        UsageError(format!(
            "{side} ({typed:?}): {why}; a setting takes --record-size, --depth, --engine, \
             --path, --threads, --layout, --order, --chunk and --data, and targets of its own; \
             give other flags outside of it, for both"
        ))
    };
    let words = shlex::split(typed).ok_or_else(|| refuse("a quote is not closed"))?;
    let parsed = TypedSetting::try_parse_from(words).map_err(|error| {
        let text = error.render().to_string();
        let first = text.lines().next().unwrap_or_default();
        refuse(first.trim_start_matches("error: "))
    })?;
    let flags = parsed.flags;
    let layout = layout(&flags).map_err(|error| refuse(&error.0))?;
    Ok(TrialSetting {
        words: if typed.trim().is_empty() {
            "defaults".to_owned()
        } else {
            typed.trim().to_owned()
        },
        targets: parsed.targets,
        engine: engine(flags.request.engine),
        threads: flags.threads,
        path: data_path(flags.request.path),
        layout,
        order: flags.order,
        record_bytes: flags.request.record_size,
        depth: flags.request.depth,
        data: data(flags.data),
    })
}

/// The text about a comparison, also for saved ones.
pub(super) fn words(result: &CompareResult) -> String {
    let width = output::width();
    output::answered(&compare_answer(result, width), &compare_text(result, width))
}

fn exit(result: &CompareResult) -> Exit {
    let ended = result.trial.as_ref().map(|trial| trial.ended);
    let limit = result.limit.as_ref().map(|limit| limit.outcome);
    match (ended, limit) {
        (Some(TrialEnd::Interrupted), _) => Exit::Interrupted,
        (Some(TrialEnd::Failed), _) | (_, Some(LimitOutcome::Slower | LimitOutcome::Failed)) => {
            Exit::Failed
        }
        _ => Exit::Done,
    }
}
