//! `sustain sweep`: measures many settings, keeps what is known after each point, says which is
//! best.

use std::path::Path;

use sustain::disk::target::Direction;
use sustain::host::Roots;
use sustain::measure::Stop;
use sustain::measure::sweep::{
    LayoutKind, Orders, SweepPlan, Values, rehearse_sweep, result::SweepResult, sweep,
};
use sustain::report::json;
use sustain::report::terminal::{LiveKind, SweepView, sweep_answer, sweep_text};

use super::output::{self, Outputs};
use super::say;
use crate::flags::sweep::SweepFlags;
use crate::flags::{LayoutFlag, MdFlag};
use crate::request::{UsageError, data_path, engine};
use crate::{Exit, interrupt};

const CHUNK_BYTES: u64 = 1 << 20;

pub(crate) fn run(flags: &SweepFlags) -> anyhow::Result<Exit> {
    let plan = plan(flags)?;
    let roots = Roots::default();
    if flags.dry_run {
        rehearse_sweep(&plan, &roots)?
            .iter()
            .for_each(|statement| say(statement));
        return Ok(Exit::Done);
    }
    let outputs = Outputs {
        json: flags.json.as_deref(),
        report: None,
    };
    outputs.check(&flags.targets)?;
    let stop = Stop::default();
    interrupt::watch(&stop)?;
    let simulated = flags
        .targets
        .iter()
        .all(|target| target.starts_with("sim:"));
    let kind = LiveKind::for_stderr(simulated);
    let mut view = SweepView::new(kind, Box::new(std::io::stderr()));
    let mut not_kept = None;
    let mut keep = |result: &SweepResult| {
        // What cannot be kept now may be written at the end; the sweep goes on.
        if let Err(error) = keep_result(flags, result) {
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
        say(&format!("not kept after each point: {error:#}"));
    }
    present(flags, &result)?;
    Ok(exit(&result))
}

/// Writes what is known so far where the result will be. A stream takes only the whole result.
fn keep_result(flags: &SweepFlags, result: &SweepResult) -> anyhow::Result<()> {
    let Some(path) = flags.json.as_deref() else {
        return Ok(());
    };
    let is_stream = path.metadata().is_ok_and(|found| !found.is_file());
    if output::is_standard_output(path) || is_stream {
        return Ok(());
    }
    output::write(path, &json::write_document(result)?)
}

fn plan(flags: &SweepFlags) -> Result<SweepPlan, UsageError> {
    let usage = |text: &str| Err(UsageError(text.to_owned()));
    if flags.read && !flags.write && !flags.destroy.is_empty() && flags.md.is_none() {
        return usage("--read destroys nothing: leave out --destroy");
    }
    let layouts = layouts(flags);
    let has_chunks = |layout| matches!(layout, &LayoutKind::Stripe | &LayoutKind::MdRaid0);
    if flags.chunk.is_some() && !layouts.iter().any(has_chunks) {
        return usage("--chunk goes with --layout stripe and with --md");
    }
    let is_all = |order: &String| order == "all";
    if flags.order.len() > 1 && flags.order.iter().any(is_all) {
        return usage("--order all has every order: leave out the others");
    }
    let orders = match flags.order.as_slice() {
        [] => Orders::AsGiven,
        [only] if is_all(only) => Orders::All,
        listed => Orders::Listed(listed.to_vec()),
    };
    let directions = [
        (flags.write, Direction::Write),
        (flags.read, Direction::Read),
    ];
    let asked = directions.into_iter().filter(|(asked, _)| *asked);
    let default = SweepPlan::new(flags.targets.clone());
    Ok(SweepPlan {
        directions: asked.map(|(_, direction)| direction).collect(),
        engines: each(flags.engine.iter().map(|flag| engine(*flag))),
        paths: each(flags.path.iter().map(|flag| data_path(*flag))),
        record_sizes_bytes: flags.record_size.0.clone(),
        // They were read as numbers of 32 bits.
        depths: flags.depth.0.iter().map(|depth| *depth as u32).collect(),
        layouts,
        chunks_bytes: match &flags.chunk {
            Some(Values(chunks)) => chunks.clone(),
            None => vec![CHUNK_BYTES],
        },
        orders,
        time_per_point_ns: flags.time_per_point,
        rounds: flags.rounds,
        budget_ns: flags.budget,
        size_bytes: flags.size,
        prewrite: !flags.no_prewrite,
        destroy: flags.destroy.clone(),
        seed: flags.seed,
        // A file may have a name that is no text.
        arguments: std::env::args_os()
            .map(|argument| argument.to_string_lossy().into_owned())
            .collect(),
        ..default
    })
}

/// What is asked for; an array is to be seen beside all that needs none.
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

fn present(flags: &SweepFlags, result: &SweepResult) -> anyhow::Result<()> {
    let width = output::width();
    let text = format!(
        "{}{}",
        sweep_answer(result, width),
        sweep_text(result, width)
    );
    // The file first: a closed pipe must not cost the result.
    if let Some(path) = &flags.json {
        output::write(path, &json::write_document(result)?)?;
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
    Ok(())
}

fn exit(result: &SweepResult) -> Exit {
    if result.ended == "interrupted" {
        Exit::Interrupted
    } else if result.points.iter().any(|point| point.failed.is_some()) {
        Exit::Failed
    } else {
        Exit::Done
    }
}
