//! `sustain diagnose`: measures subsets of the targets, shows them as they come, and says where the
//! walls are.

use sustain::diagnose::{DiagnosePlan, diagnose, rehearse_diagnosis};
use sustain::document::diagnose::{DiagnoseResult, SearchEnd};
use sustain::document::reader;
use sustain::host::Roots;
use sustain::measure::LoadPlan;
use sustain::report::html;
use sustain::report::terminal::{DiagnoseView, diagnosis_answer, diagnosis_text};

use super::begin::{CommandSetup, begin, rehearsed};
use super::output::{self, Outputs};
use crate::exit::Exit;
use crate::flags::diagnose::DiagnoseFlags;
use crate::request::{arguments, load};
use crate::usage_error::UsageError;

pub(crate) fn run(flags: &DiagnoseFlags) -> anyhow::Result<Exit> {
    let plan = plan(flags)?;
    let roots = Roots::default();
    if flags.safety.dry_run {
        return Ok(rehearsed(&rehearse_diagnosis(&plan, &roots)?));
    }
    let outputs = Outputs::from(&flags.output);
    let CommandSetup { stop, live } = begin(&flags.targets, outputs)?;
    let mut view = DiagnoseView::new(live, Box::new(std::io::stderr()));
    let result = diagnose(&plan, &roots, &stop, &mut |event| view.take(&event));
    view.finish();
    let result = result?;
    present(outputs, &result)?;
    Ok(exit(&result))
}

fn plan(flags: &DiagnoseFlags) -> Result<DiagnosePlan, UsageError> {
    Ok(DiagnosePlan {
        load: LoadPlan {
            direction: flags.direction.direction(&flags.safety)?,
            seed: flags.seed,
            ..load(&flags.targets, flags.size, &flags.safety, flags.request)
        },
        time_per_run_ns: flags.time_per_run,
        arguments: arguments(),
    })
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

fn exit(result: &DiagnoseResult) -> Exit {
    if result.ended == SearchEnd::Interrupted {
        Exit::Interrupted
    } else if result.ended == SearchEnd::TooNoisy || !result.dropped.is_empty() {
        Exit::Failed
    } else {
        Exit::Done
    }
}
