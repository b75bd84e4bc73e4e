//! Runs a measurement from beginning to end: opens the targets, prewrites files, watches the idle
//! system, measures, flushes, watches the idle system again, tries data that is new for each write,
//! and confirms.

use sustain_disk::clock::{Timestamp, unix_seconds};
use sustain_disk::target::DataPath;
use sustain_document::measure::MeasureResult;
use sustain_host::Roots;
use sustain_load::event::{Observer, Phase};
use sustain_load::open_target::OpenTarget;
use sustain_load::phase::PhaseOutcome;
use sustain_load::prepared::PreparedTargets;
use sustain_load::rehearsal::verb;
use sustain_load::session::Session;
use sustain_load::watched::{WatchedRun, run_watched};
use sustain_targets::Stop;

use super::conclude::{Conclusion, conclude};
use super::measure_run::MeasureRun;
use super::plan::{LoadPlan, MeasurePlan};
use super::position;
use super::recommendation::recommend;
use super::statements::{Extent, Passes};
use super::{coming, measurement_words};
use crate::effect::{self, Watch};
use crate::error::MeasureError;

/// Says what `measure` would do, write and destroy, and does nothing.
///
/// # Errors
/// As for [`measure`], as far as errors show before the work begins.
pub fn rehearse(plan: &MeasurePlan, roots: &Roots) -> Result<Vec<String>, MeasureError> {
    plan.check()?;
    let session = Session::rehearse(&opened_as(plan), roots)?;
    position::check(plan, &session)?;
    plan.check_with(&session)?;
    let is_used = |direction| session.direction == direction;
    let mut statements = session.would(verb(is_used), |target| {
        measurement_words::extent(&extent(plan, target))
    });
    if plan.read_back {
        statements.push(measurement_words::WOULD_READ_BACK.to_owned());
    }
    if let Some(effect) = &plan.effect {
        statements.extend(effect::rehearse(&plan.load, effect, &session, roots)?);
    }
    Ok(statements)
}

fn extent(plan: &MeasurePlan, target: &OpenTarget) -> Extent {
    let load = &plan.load;
    let bytes = load.bytes;
    let length_bytes = bytes.map_or(target.size_bytes, |bytes| bytes.min(target.size_bytes));
    let again = (plan.confirm && load.rate_bytes_per_s.is_none()) || plan.read_back;
    Extent {
        from_bytes: target.start_bytes(load),
        length_bytes: (length_bytes != u64::MAX).then_some(length_bytes),
        passes: match (target.wraps && length_bytes == target.size_bytes, again) {
            (true, _) => Passes::Repeated,
            (false, true) => Passes::OnceAndAgain,
            (false, false) => Passes::Once,
        },
    }
}

/// Measures what the plan asks for and concludes.
///
/// `stop` ends the run early with the result of what was done.
///
/// # Errors
/// [`MeasureError`]; requests that fail on a target are part of the result instead.
pub fn measure(
    plan: &MeasurePlan,
    roots: &Roots,
    stop: &Stop,
    observer: &mut Observer<'_>,
) -> Result<MeasureResult, MeasureError> {
    plan.check()?;
    let mut session = Session::open(&opened_as(plan), roots)?;
    position::check(plan, &session)?;
    plan.check_with(&session)?;
    run_watched(&mut session, roots, observer, |begun, observer| {
        measure_on(begun, plan, roots, stop, observer)
    })
}

/// Whether the load runs with both I/O paths, on the same open files.
fn is_switched(plan: &MeasurePlan) -> bool {
    plan.effect.as_ref().is_some_and(|effect| effect.both_paths)
}

/// The plan by which targets are opened: for direct I/O if they are used with both, because direct
/// I/O has requirements.
fn opened_as(plan: &MeasurePlan) -> LoadPlan {
    let mut load = plan.load.clone();
    if is_switched(plan) && load.path == DataPath::Buffered {
        load.path = DataPath::Direct;
    }
    load
}

fn measure_on(
    begun: WatchedRun<'_>,
    plan: &MeasurePlan,
    roots: &Roots,
    stop: &Stop,
    observer: &mut Observer<'_>,
) -> Result<MeasureResult, MeasureError> {
    let session = &*begun.session;
    let asked = plan.effect.as_ref();
    let watch = asked.map(|effect| Watch::prepare(&plan.load, effect, session, roots, observer));
    let mut watch = watch.transpose()?;
    let prepared = PreparedTargets {
        plan: &plan.load,
        session,
        stop,
        monitor: begun.monitor,
    };
    let mut run = MeasureRun::new(plan, prepared);
    let mut with_time_left = coming::with_time_left(plan, &run.prepared, observer);
    let observer: &mut Observer<'_> = &mut with_time_left;
    run.prepared.prewrite(observer)?;
    if is_switched(plan) {
        session.switch_path(plan.load.path)?;
    }
    if let Some(watch) = &mut watch {
        watch.copy_memory(session, stop);
    }
    let started_unix_s = unix_seconds();
    let (outcome, threads, start) = match &mut watch {
        Some(watch) => watch.run(&mut run.prepared, observer)?,
        None => run.measure(observer)?,
    };
    let rewritten = run.pair_with_rewritten(&outcome, threads, observer)?;
    let recommended = match run.later_failures.is_empty() {
        true => recommend(plan, session, &outcome, rewritten.as_ref()),
        false => None,
    };
    let recommendation = match recommended {
        Some(recommended) => {
            let is_slower = rewritten.as_ref().is_some_and(|found| found.is_slower);
            let like = run.confirming(is_slower, threads);
            run.confirm(recommended, &outcome, &like, observer)?
        }
        None => None,
    };
    let read_back = match plan.read_back {
        true => run.read_back(&outcome, rewritten.as_ref(), threads, observer)?,
        false => None,
    };
    if let Some(watch) = &mut watch {
        watch.run_by_other_path(&mut run.prepared, threads, observer)?;
    }
    let mut system = run.prepared.monitor.finish(start);
    let effect = watch.map(|watch| watch.conclude(start, &mut system));
    Ok(conclude(Conclusion {
        plan,
        session,
        outcome,
        threads,
        rewritten,
        recommendation,
        read_back,
        later_failures: run.later_failures,
        host: begun.host,
        system,
        effect,
        started_unix_s,
        interrupted: stop.reason().is_some(),
    }))
}

impl MeasureRun<'_> {
    /// The run itself with its flush, and idle time before and after; it is repeated with more
    /// drivers if one of them turns out to be the limit.
    fn measure(
        &mut self,
        observer: &mut Observer<'_>,
    ) -> Result<(PhaseOutcome, u32, Timestamp), MeasureError> {
        let idle_ns = self.prepared.idle_ns();
        self.prepared.idle(Phase::Before, idle_ns, observer);
        let mut measured = self.prepared.run_with_threads(|setup| setup, observer)?;
        self.prepared.flush(&mut measured.0, measured.1, observer)?;
        self.prepared.idle(Phase::After, idle_ns, observer);
        Ok(measured)
    }
}
