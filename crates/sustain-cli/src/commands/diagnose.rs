//! `sustain diagnose`: measures subsets of the targets, shows them as they come, and says where the
//! walls are.

use sustain::diagnose::{
    Combinations, DiagnosePlan, diagnose, diagnose_matrix, rehearse_diagnosis, rehearse_matrix,
};
use sustain::disk::target::Direction;
use sustain::document::diagnose::{DiagnoseResult, SearchEnd};
use sustain::document::matrix::MatrixResult;
use sustain::document::reader;
use sustain::host::Roots;
use sustain::measure::LoadPlan;
use sustain::report::html;
use sustain::report::terminal::{DiagnoseView, diagnosis_answer, diagnosis_text, matrix_text};

use super::begin::{CommandSetup, begin, rehearsed};
use super::output::{self, Outputs};
use crate::exit::Exit;
use crate::flags::diagnose::DiagnoseFlags;
use crate::request::{arguments, load};
use crate::usage_error::UsageError;

pub(crate) fn run(flags: &DiagnoseFlags) -> anyhow::Result<Exit> {
    let directions = directions(flags)?;
    let plan = plan(flags, &directions);
    let roots = Roots::default();
    if flags.safety.dry_run {
        return Ok(rehearsed(&match plan.combinations {
            Some(_) => rehearse_matrix(&plan, &directions, &roots)?,
            None => rehearse_diagnosis(&plan, &roots)?,
        }));
    }
    let outputs = Outputs::from(&flags.output);
    let CommandSetup { stop, live } = begin(&flags.targets, outputs)?;
    let mut view = DiagnoseView::new(live, Box::new(std::io::stderr()));
    if plan.combinations.is_some() {
        let result = diagnose_matrix(&plan, &directions, &roots, &stop, &mut |event| {
            view.take(&event);
        });
        view.finish();
        let result = result?;
        present_matrix(outputs, &result)?;
        return Ok(matrix_exit(&result));
    }
    let result = diagnose(&plan, &roots, &stop, &mut |event| view.take(&event));
    view.finish();
    let result = result?;
    present(outputs, &result)?;
    Ok(exit(&result))
}

/// The directions that are asked for; none leaves it to what the targets are.
fn directions(flags: &DiagnoseFlags) -> Result<Vec<Direction>, UsageError> {
    let usage = |text: &str| Err(UsageError(text.to_owned()));
    if flags.read && !flags.write && !flags.safety.destroy.is_empty() {
        return usage("--read destroys nothing: leave out --destroy");
    }
    Ok(match (flags.read, flags.write) {
        (true, true) if flags.matrix.is_none() => {
            return usage(
                "a diagnosis is of one direction: give --read or --write, or add --matrix all for \
                 a table of both",
            );
        }
        (true, true) => vec![Direction::Read, Direction::Write],
        (true, false) => vec![Direction::Read],
        (false, true) => vec![Direction::Write],
        (false, false) => Vec::new(),
    })
}

fn plan(flags: &DiagnoseFlags, directions: &[Direction]) -> DiagnosePlan {
    DiagnosePlan {
        load: LoadPlan {
            direction: directions.first().copied(),
            seed: flags.seed,
            ..load(&flags.targets, flags.size, &flags.safety, flags.request)
        },
        time_per_run_ns: flags.time_per_run,
        combinations: flags.matrix.as_deref().map(Combinations::parse),
        arguments: arguments(),
    }
}

/// The text about a diagnosis, also for saved ones.
pub(super) fn words(result: &DiagnoseResult) -> String {
    let width = output::width();
    format!(
        "{}\n{}",
        diagnosis_text(result, width),
        diagnosis_answer(result, width)
    )
}

fn present(outputs: Outputs<'_>, result: &DiagnoseResult) -> anyhow::Result<()> {
    outputs.deliver(
        &words(result),
        || reader::write(result),
        || html::diagnose_html(std::slice::from_ref(result)),
    )
}

/// The text about a matrix, also for saved ones.
pub(super) fn matrix_words(result: &MatrixResult) -> String {
    matrix_text(result, output::width())
}

fn present_matrix(outputs: Outputs<'_>, result: &MatrixResult) -> anyhow::Result<()> {
    outputs.deliver(
        &matrix_words(result),
        || reader::write(result),
        || html::matrix_html(std::slice::from_ref(result)),
    )
}

/// The exit code that tells most: interrupted, else failed.
fn matrix_exit(result: &MatrixResult) -> Exit {
    let exits: Vec<Exit> = result.diagnoses.iter().map(exit).collect();
    let worst = [Exit::Interrupted, Exit::Failed];
    let mut worst = worst.into_iter().filter(|one| exits.contains(one));
    worst.next().unwrap_or(Exit::Done)
}

fn exit(result: &DiagnoseResult) -> Exit {
    if result.ended == SearchEnd::Interrupted {
        Exit::Interrupted
    } else if result.ended == SearchEnd::TooNoisy || !result.dropped.is_empty() {
        Exit::Failed
    } else {
        Exit::Done
    }
}
