//! Runs a measurement from beginning to end: opens the targets, prewrites files, watches the idle
//! system, measures, flushes, watches the idle system again, tries data that is new for each write,
//! and confirms.

use sustain_disk::clock::{Timestamp, unix_seconds};
use sustain_disk::target::{DataPath, Direction};
use sustain_disk::units::Size;
use sustain_document::measure::MeasureResult;
use sustain_host::Roots;
use sustain_session::Stop;

use crate::conclude::{Conclusion, conclude};
use crate::effect::{self, Watch};
use crate::error::MeasureError;
use crate::event::{Observer, Phase};
use crate::phase::PhaseOutcome;
use crate::plan::MeasurePlan;
use crate::position::{self, start_bytes};
use crate::recommendation::recommend;
use crate::session::Session;
use crate::stage::{PreparedTargets, StageStart, on_stage};

/// Says what `measure` would do, write and destroy, and does nothing.
///
/// # Errors
/// As for [`measure`], as far as errors show before the work begins.
pub fn rehearse(plan: &MeasurePlan, roots: &Roots) -> Result<Vec<String>, MeasureError> {
    let plan = MeasurePlan {
        dry_run: true,
        ..plan.clone()
    };
    let session = Session::open(&opened_as(&plan), roots)?;
    position::check(&plan, &session)?;
    let mut statements = session.notes.clone();
    let beside = effect::rehearse(&plan, &session, roots)?;
    for target in &session.targets {
        let verb = match session.direction {
            Direction::Read => "read",
            Direction::Write => "write",
        };
        let extent = plan
            .bytes
            .map_or(target.size_bytes, |bytes| bytes.min(target.size_bytes));
        let region = if extent == u64::MAX {
            "without end".to_owned()
        } else {
            let again = plan.confirm && plan.rate_bytes_per_s.is_none();
            let times = match (target.wraps && extent == target.size_bytes, again) {
                (true, _) => ", repeatedly",
                (false, true) => ", at most once, and again to confirm the rate",
                (false, false) => ", at most once",
            };
            let from = match start_bytes(&plan, target) {
                0 => "its start".to_owned(),
                start => format!("offset {}", Size(start)),
            };
            format!("{} from {from}{times}", Size(extent))
        };
        statements.push(format!(
            "would {verb} {} ({}): {region}",
            target.target.name, target.target.kind
        ));
    }
    statements.extend(beside);
    Ok(statements)
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
    let mut session = Session::open(&opened_as(plan), roots)?;
    position::check(plan, &session)?;
    on_stage(&mut session, roots, observer, |begun, observer| {
        measure_on(begun, plan, roots, stop, observer)
    })
}

/// Whether the load runs with both I/O paths, on the same open files.
fn is_switched(plan: &MeasurePlan) -> bool {
    plan.effect.as_ref().is_some_and(|effect| effect.both_paths)
}

/// The plan by which targets are opened: for direct I/O if they are used with both, because direct
/// I/O has requirements.
fn opened_as(plan: &MeasurePlan) -> MeasurePlan {
    let mut plan = plan.clone();
    if is_switched(&plan) && plan.path == DataPath::Buffered {
        plan.path = DataPath::Direct;
    }
    plan
}

fn measure_on(
    begun: StageStart<'_>,
    plan: &MeasurePlan,
    roots: &Roots,
    stop: &Stop,
    observer: &mut Observer<'_>,
) -> Result<MeasureResult, MeasureError> {
    let session = &*begun.session;
    let mut watch = Watch::prepare(plan, session, roots, observer)?;
    let mut run = PreparedTargets {
        plan,
        session,
        stop,
        monitor: begun.monitor,
    };
    run.prewrite(observer)?;
    if is_switched(plan) {
        session.switch_path(plan.path)?;
    }
    if let Some(watch) = &mut watch {
        watch.copy_memory(session, stop);
    }
    let started_unix_s = unix_seconds();
    let (outcome, threads, start) = match &mut watch {
        Some(watch) => watch.run(&mut run, observer)?,
        None => run.measure(observer)?,
    };
    let rewritten = run.pair_with_rewritten(&outcome, threads, observer)?;
    let recommended = recommend(plan, session, &outcome, rewritten.as_ref());
    let recommendation = match recommended {
        Some(recommended) => {
            let is_slower = rewritten.as_ref().is_some_and(|found| found.is_slower);
            let like = run.confirming(is_slower, threads);
            Some(run.confirm(recommended, &outcome, &like, observer)?)
        }
        None => None,
    };
    if let Some(watch) = &mut watch {
        watch.run_by_other_path(&mut run, threads, observer)?;
    }
    let mut system = run.monitor.finish(start);
    let effect = watch.map(|watch| watch.conclude(start, &mut system));
    Ok(conclude(Conclusion {
        plan,
        session,
        outcome,
        threads,
        rewritten,
        recommendation,
        host: begun.host,
        system,
        effect,
        started_unix_s,
        interrupted: stop.reason().is_some(),
    }))
}

/// The steps of a measurement on a stage.
impl PreparedTargets<'_> {
    /// The run itself with its flush, and idle time before and after; it is repeated with more
    /// drivers if one of them turns out to be the limit.
    fn measure(
        &mut self,
        observer: &mut Observer<'_>,
    ) -> Result<(PhaseOutcome, u32, Timestamp), MeasureError> {
        self.idle(Phase::Before, observer);
        let mut measured = self.run_with_threads(|setup| setup, observer)?;
        self.flush(&mut measured.0, measured.1, observer)?;
        self.idle(Phase::After, observer);
        Ok(measured)
    }
}
