//! `sustain sweep`: measures many settings, saves the result after each point, and says which
//! setting is best.

use sustain::disk::target::Direction;
use sustain::document::reader;
use sustain::document::sweep::SweepResult;
use sustain::document::vocabulary::ExperimentEnd;
use sustain::host::Roots;
use sustain::measure::LoadPlan;
use sustain::report::html;
use sustain::report::terminal::{SweepView, sweep_answer, sweep_text};
use sustain::sweep::{LayoutKind, MemberOrders, SweepPlan, Values, rehearse_sweep, sweep};

use super::begin::{CommandSetup, begin, rehearsed};
use super::output::{self, Outputs};
use super::say;
use crate::exit::Exit;
use crate::flags::sweep::SweepFlags;
use crate::flags::{LayoutFlag, MdFlag};
use crate::request::{arguments, data_path, engine, targets_load};
use crate::usage_error::UsageError;

const CHUNK_BYTES: u64 = 1 << 20;

pub(crate) fn run(flags: &SweepFlags) -> anyhow::Result<Exit> {
    let plan = plan(flags)?;
    let roots = Roots::default();
    if flags.safety.dry_run {
        return Ok(rehearsed(&rehearse_sweep(&plan, &roots)?));
    }
    let outputs = Outputs::from(&flags.output);
    let CommandSetup { stop, live } = begin(&plan.load.targets, outputs)?;
    let mut view = SweepView::new(live, Box::new(std::io::stderr()));
    let mut not_kept = None;
    let mut keep = |result: &SweepResult| {
        // A result that cannot be saved now may be written at the end. The sweep goes on.
        if let Err(error) = keep_result(outputs, result) {
            not_kept.get_or_insert(error);
        }
    };
    let result = sweep(
        &plan,
        &roots,
        &stop,
        &mut |event| view.take(&event),
        &mut keep,
    );
    view.finish();
    let result = result?;
    if let Some(error) = not_kept {
        say(&format!(
            "the result could not be saved after each point: {error:#}"
        ));
    }
    present(outputs, &result)?;
    Ok(exit(&result))
}

/// Saves the result so far where the final result will be. A stream gets only the final result.
fn keep_result(outputs: Outputs<'_>, result: &SweepResult) -> anyhow::Result<()> {
    let Some(path) = outputs.json else {
        return Ok(());
    };
    let is_stream = path.metadata().is_ok_and(|found| !found.is_file());
    if output::is_standard_output(path) || is_stream {
        return Ok(());
    }
    output::write(path, &reader::write(result)?)
}

fn plan(flags: &SweepFlags) -> Result<SweepPlan, UsageError> {
    let usage = |text: &str| Err(UsageError(text.to_owned()));
    if flags.read && !flags.write && !flags.safety.destroy.is_empty() && flags.md.is_none() {
        return usage("--read destroys nothing: leave out --destroy");
    }
    let layouts = layouts(flags);
    let has_chunks = |layout| matches!(layout, &LayoutKind::Stripe | &LayoutKind::MdRaid0);
    if flags.chunk.is_some() && !layouts.iter().any(has_chunks) {
        return usage("--chunk can be used only with --layout stripe or with --md");
    }
    let is_all = |order: &String| order == "all";
    if flags.order.len() > 1 && flags.order.iter().any(is_all) {
        return usage("--order all includes every order: leave out the others");
    }
    let orders = match flags.order.as_slice() {
        [] => MemberOrders::AsGiven,
        [only] if is_all(only) => MemberOrders::All,
        listed => MemberOrders::Listed(listed.to_vec()),
    };
    let directions = [
        (flags.write, Direction::Write),
        (flags.read, Direction::Read),
    ];
    let asked = directions.into_iter().filter(|(asked, _)| *asked);
    let are_places = !flags.place.is_empty();
    let targets = if are_places {
        &flags.place
    } else {
        &flags.targets
    };
    let default = SweepPlan::new(targets);
    Ok(SweepPlan {
        load: LoadPlan {
            seed: flags.seed,
            ..targets_load(targets, flags.size, &flags.safety)
        },
        directions: asked.map(|(_, direction)| direction).collect(),
        engines: each(flags.engine.iter().map(|flag| engine(*flag))),
        paths: each(flags.path.iter().map(|flag| data_path(*flag))),
        record_sizes_bytes: flags.record_size.0.clone(),
        // They were parsed as numbers of 32 bits.
        depths: flags.depth.0.iter().map(|depth| *depth as u32).collect(),
        layouts,
        chunks_bytes: match &flags.chunk {
            Some(Values(chunks)) => chunks.clone(),
            None => vec![CHUNK_BYTES],
        },
        orders,
        are_places,
        time_per_point_ns: flags.time_per_point,
        rounds: flags.rounds,
        budget_ns: flags.budget,
        arguments: arguments(),
        ..default
    })
}

/// The layouts that are asked for. An array is compared with everything else that places bytes.
fn layouts(flags: &SweepFlags) -> Vec<LayoutKind> {
    let all = [
        LayoutFlag::Independent,
        LayoutFlag::Stripe,
        LayoutFlag::Span,
    ];
    let asked = match (flags.layout.as_slice(), flags.md) {
        ([], Some(_)) => &all,
        ([], None) => &all[..1],
        (asked, _) => asked,
    };
    let asked = asked.iter().map(|flag| match flag {
        LayoutFlag::Independent => LayoutKind::Independent,
        LayoutFlag::Turns => LayoutKind::Turns,
        LayoutFlag::Stripe => LayoutKind::Stripe,
        LayoutFlag::Span => LayoutKind::Span,
    });
    each(asked.chain(flags.md.map(|MdFlag::Raid0| LayoutKind::MdRaid0)))
}

/// Each value once, in the order in which they come.
fn each<T: PartialEq>(values: impl Iterator<Item = T>) -> Vec<T> {
    let mut once = Vec::new();
    for value in values {
        if !once.contains(&value) {
            once.push(value);
        }
    }
    once
}

/// The text about a sweep, also for saved ones.
pub(super) fn words(result: &SweepResult) -> String {
    let width = output::width();
    output::answered(&sweep_answer(result, width), &sweep_text(result, width))
}

fn present(outputs: Outputs<'_>, result: &SweepResult) -> anyhow::Result<()> {
    outputs.deliver(
        &words(result),
        || reader::write(result),
        || html::sweep_html(std::slice::from_ref(result)),
    )
}

fn exit(result: &SweepResult) -> Exit {
    if result.ended == ExperimentEnd::Interrupted {
        Exit::Interrupted
    } else if result.points.iter().any(|point| point.failed.is_some()) {
        Exit::Failed
    } else {
        Exit::Done
    }
}
