//! `sustain diagnose`: measures subsets, shows them as they come, says where the walls are.

use std::path::Path;

use sustain::disk::target::Direction;
use sustain::host::Roots;
use sustain::measure::Stop;
use sustain::measure::diagnose::{
    DiagnosePlan, diagnose, rehearse_diagnosis, result::DiagnoseResult,
};
use sustain::report::terminal::{DiagnoseView, LiveKind, diagnosis_sentence, diagnosis_text};
use sustain::report::{html, json};

use super::output::{self, Outputs};
use super::say;
use crate::flags::diagnose::DiagnoseFlags;
use crate::request::{UsageError, data_path, engine};
use crate::{Exit, interrupt};

pub(crate) fn run(flags: &DiagnoseFlags) -> anyhow::Result<Exit> {
    let plan = plan(flags)?;
    let roots = Roots::default();
    if flags.dry_run {
        rehearse_diagnosis(&plan, &roots)?
            .iter()
            .for_each(|statement| say(statement));
        return Ok(Exit::Done);
    }
    outputs(flags).check(&flags.targets)?;
    let stop = Stop::default();
    interrupt::watch(&stop)?;
    let simulated = flags
        .targets
        .iter()
        .all(|target| target.starts_with("sim:"));
    let kind = LiveKind::for_stderr(simulated);
    let mut view = DiagnoseView::new(kind, Box::new(std::io::stderr()));
    let result = diagnose(&plan, &roots, &stop, &mut |event| view.take(&event));
    view.finish();
    let result = result?;
    present(flags, &result)?;
    Ok(exit(&result))
}

fn outputs(flags: &DiagnoseFlags) -> Outputs<'_> {
    Outputs {
        json: flags.json.as_deref(),
        report: flags.report.as_deref(),
    }
}

fn plan(flags: &DiagnoseFlags) -> Result<DiagnosePlan, UsageError> {
    if flags.read && !flags.destroy.is_empty() {
        let text = "--read destroys nothing: leave out --destroy";
        return Err(UsageError(text.to_owned()));
    }
    Ok(DiagnosePlan {
        direction: match (flags.write, flags.read) {
            (true, _) => Some(Direction::Write),
            (_, true) => Some(Direction::Read),
            _ => None,
        },
        time_per_run_ns: flags.time_per_run,
        record_bytes: flags.record_size,
        depth: flags.depth,
        engine: engine(flags.engine),
        path: data_path(flags.path),
        size_bytes: flags.size,
        prewrite: !flags.no_prewrite,
        destroy: flags.destroy.clone(),
        seed: flags.seed,
        // A file may have a name that is no text.
        arguments: std::env::args_os()
            .map(|argument| argument.to_string_lossy().into_owned())
            .collect(),
        ..DiagnosePlan::new(flags.targets.clone())
    })
}

fn present(flags: &DiagnoseFlags, result: &DiagnoseResult) -> anyhow::Result<()> {
    let width = output::width();
    let sentence = diagnosis_sentence(result);
    let text = format!("{}\n{sentence}\n", diagnosis_text(result, width));
    // The files first: a closed pipe must not cost the result.
    if let Some(path) = &flags.json {
        output::write(path, &json::write_document(result)?)?;
    }
    if let Some(path) = &flags.report {
        output::write(path, &html::diagnose_html(std::slice::from_ref(result))?)?;
    }
    if flags
        .json
        .as_deref()
        .is_some_and(output::is_standard_output)
    {
        say(text.trim_end());
    } else {
        output::write(Path::new("-"), &text)?;
    }
    if let Some(path) = &flags.report {
        say(&format!("report: {}", path.display()));
    }
    Ok(())
}

fn exit(result: &DiagnoseResult) -> Exit {
    if result.ended == "interrupted" {
        Exit::Interrupted
    } else if result.ended == "too_noisy" || !result.dropped.is_empty() {
        Exit::Failed
    } else {
        Exit::Done
    }
}
