//! Runs a sweep from beginning to end: opens the targets, prewrites files, makes a first run that
//! does not count, measures point after point, and concludes.

use std::collections::BTreeSet;

use sustain_disk::clock::{Timestamp, unix_seconds};
use sustain_disk::engine::EngineChoice;
use sustain_disk::error::Error;
use sustain_disk::layout::Layout;
use sustain_disk::meter::Meter;
use sustain_disk::target::{DataPath, Direction};
use sustain_document::compare::ComparedTarget;
use sustain_document::host::Host;
use sustain_document::sweep::{SweepMeasurement, SweepResult};
use sustain_document::system::System;
use sustain_host::Roots;
use sustain_load::error::LoadError;
use sustain_load::observer::of_phase;
use sustain_load::plan::LoadPlan;
use sustain_load::prepared::{PreparedTargets, forget_cached};
use sustain_load::session::Session;
use sustain_load::watched::run_watched;
use sustain_statistics::points::PointReading;
use sustain_targets::{Monitor, Stop};

use super::array::{ArrayCost, Arrays};
use super::axes::{Grid, LeftOut};
use super::conclude::{PointObservation, Swept};
use super::event::{MeasuredPoint, MeasuringPoint, SweepEvent, SweepObserver};
use super::open::{announcement, left_out_note, names, open, places};
use super::plan::SweepPlan;
use super::point::{PointOutcome, outcome_of, run_point, setup_of};
use super::run_times::{FirstRun, RunTimes, lockstep_part};
use super::schedule::{RoundsSoFar, Schedule};
use super::setting::{Axis, Setting};
use super::too_long::leave_out_long_windows;
use crate::error::MeasureError;
use crate::sweep::setting::AXES;
use crate::ways::{Way, compared_target, notes};

/// The first run uses the setting that is nearest to this.
const FIRST_RECORD_BYTES: u64 = 1 << 20;
const FIRST_DEPTH: u32 = 8;
/// With several real targets, the first run is long enough to show whether one driver suffices.
const FIRST_NS_MIN: u64 = 1_500_000_000;
/// Through the page cache, the first run is given this much for each target.
const FIRST_BUFFERED_BYTES: u64 = 64 << 20;

/// Measures settings and says which is best.
///
/// After each point, `keep` is given the result so far. `stop` ends the work early; the result then
/// rests on what was measured until then.
///
/// # Errors
/// [`MeasureError`]; a target that fails in a point is part of the result instead.
pub fn sweep(
    plan: &SweepPlan,
    roots: &Roots,
    stop: &Stop,
    observer: &mut SweepObserver<'_>,
    keep: &mut dyn FnMut(&SweepResult),
) -> Result<SweepResult, MeasureError> {
    plan.check()?;
    let load = plan.opened_as();
    let (mut session, grid) = open(plan, roots, Session::open)?;
    let place_notes = notes_of_places(plan, &session, roots);
    run_watched(&mut session, roots, observer, |begun, observer| {
        Sweep {
            plan,
            load: &load,
            arrays: Arrays::new(plan, load.path, begun.session, roots),
            session: begun.session,
            stop,
            monitor: begun.monitor,
            observer,
            keep,
            threads: 1,
        }
        .run(grid, begun.host, place_notes)
    })
}

/// What differs between the places besides the way to them.
fn notes_of_places(plan: &SweepPlan, session: &Session, roots: &Roots) -> Vec<String> {
    if !plan.are_places {
        return Vec::new();
    }
    let targets = |way: &Way| {
        let targets = way.targets.iter();
        let compared = targets.map(|target| compared_target(session, *target, roots));
        compared.collect()
    };
    let ways: Vec<Vec<ComparedTarget>> = places(plan, session).iter().map(targets).collect();
    notes("the places", &ways)
}

/// The axes that have more than one value among the points.
fn varying(grid: &Grid, names: &[String]) -> Vec<Axis> {
    let differs = |axis: &Axis| {
        let points = grid.points.iter();
        let values = points.map(|point| point.setting.value(*axis, names));
        let each: BTreeSet<Option<String>> = values.collect();
        each.len() > 1
    };
    AXES.into_iter().filter(differs).collect()
}

/// A sweep in progress.
struct Sweep<'a, 'b> {
    plan: &'a SweepPlan,
    load: &'a LoadPlan,
    session: &'a mut Session,
    stop: &'a Stop,
    monitor: &'a mut Monitor,
    arrays: Arrays<'a>,
    observer: &'a mut SweepObserver<'b>,
    keep: &'a mut dyn FnMut(&SweepResult),
    threads: u32,
}

/// How the loop over the points ended.
enum Ended {
    /// Everything was measured, or the budget is spent.
    Done,
    Interrupted,
}

impl Sweep<'_, '_> {
    fn run(
        mut self,
        mut grid: Grid,
        host: Host,
        place_notes: Vec<String>,
    ) -> Result<SweepResult, MeasureError> {
        let started_unix_s = unix_seconds();
        self.prewrite()?;
        let start = self.session.clock.now();
        let first = self.first_run(&grid)?;
        let names = names(self.session);
        // Also an axis of which only one value is left must be named.
        let varying = varying(&grid, &names);
        if self.stop.reason().is_none() {
            leave_out_long_windows(
                &mut grid,
                self.plan.time_per_point_ns,
                &first,
                (&names, &varying),
            )?;
        }
        let deadline = self.plan.budget_ns.map(|budget_ns| start + budget_ns);
        let mut swept = Swept {
            plan: self.plan,
            place_notes,
            names,
            grid: &grid,
            varying: &varying,
            readings: Vec::new(),
            measurements: Vec::new(),
            seen: vec![PointObservation::default(); grid.points.len()],
            refused: Vec::new(),
            threads: self.threads,
            arrays: ArrayCost::default(),
            host,
            elapsed_s: 0.0,
            is_cut_short: false,
            started_unix_s,
            is_simulated: self.session.clock.is_virtual(),
        };
        let ended = self.points(&mut swept, deadline, &first);
        let taken_down = self.arrays.end(self.session);
        swept.arrays = self.arrays.cost();
        // An array that is left behind is worse than the error that ended the points.
        taken_down?;
        let is_interrupted = match ended? {
            Ended::Done => false,
            Ended::Interrupted => true,
        };
        let system = self.monitor.finish(start);
        Ok(swept.result(is_interrupted, system))
    }

    fn note(&mut self, note: String) {
        (self.observer)(SweepEvent::Note(note));
    }

    fn prewrite(&mut self) -> Result<(), MeasureError> {
        let mut report = of_phase(self.observer, SweepEvent::Preparing);
        let mut prepared = PreparedTargets {
            plan: self.load,
            session: self.session,
            stop: self.stop,
            monitor: self.monitor,
        };
        Ok(prepared.prewrite(&mut report)?)
    }

    /// Makes a run that does not count: caches fill, disks wake up, and the run shows how fast they
    /// are and how many drivers they need.
    fn first_run(&mut self, grid: &Grid) -> Result<FirstRun, MeasureError> {
        let distance = |setting: &Setting| {
            let record = setting
                .record_bytes
                .ilog2()
                .abs_diff(FIRST_RECORD_BYTES.ilog2());
            let depth = setting.depth.ilog2().abs_diff(FIRST_DEPTH.ilog2());
            let path = match setting.path {
                DataPath::Direct => 0,
                DataPath::Buffered => 1,
                DataPath::Passthrough => 2,
            };
            (path, record + depth)
        };
        let settings = grid.points.iter().map(|point| &point.setting);
        let nearest = settings.min_by_key(|setting| distance(setting));
        let mut setting = nearest.expect("a grid has points").clone();
        setting.layout = Layout::Independent;
        setting.is_array = false;
        // An engine that is refused here must not end the sweep before the others had their turn.
        setting.engine = EngineChoice::Auto;
        self.take_path(setting.path)?;
        let session = &*self.session;
        let mut time_ns = self.plan.time_per_point_ns;
        if !session.clock.is_virtual() && session.targets.len() > 1 {
            time_ns = time_ns.max(FIRST_NS_MIN);
        }
        let bytes = (setting.path == DataPath::Buffered).then_some(FIRST_BUFFERED_BYTES);
        let mut report = of_phase(self.observer, SweepEvent::Preparing);
        session.machines.begin_run();
        let change = |like| setup_of(&setting, session, time_ns, bytes, &like);
        let mut prepared = PreparedTargets {
            plan: self.load,
            session,
            stop: self.stop,
            monitor: self.monitor,
        };
        let (mut phase, threads, _) = prepared.run_with_threads(change, &mut report)?;
        self.threads = threads;
        let setup = change(prepared.setup(threads));
        let ended = session.clock.now();
        if self.stop.reason().is_none() {
            prepared.flush_after(&setup, &mut phase, &mut report)?;
        }
        let flush_ns = session.clock.now().since_ns(ended);
        let rate = outcome_of(&setting, &setup, session, &phase).rate_bytes_per_s;
        let lockstep_part = lockstep_part(phase.meters.iter().map(Meter::bytes));
        let series = phase.collected.targets.iter().zip(&setup.targets);
        let mut failures = series.filter_map(|(series, target)| {
            let name = &session.targets[*target].target.name;
            Some(series.failures.first()?.on(name))
        });
        match failures.next() {
            // A target that still fails will fail in the points that follow.
            Some(failure) if rate <= 0.0 => Err(LoadError::Prewrite(failure).into()),
            _ => Ok(FirstRun {
                rate_bytes_per_s: rate,
                lockstep_part,
                flush_ns,
            }),
        }
    }

    fn take_path(&mut self, path: DataPath) -> Result<(), MeasureError> {
        if !self.plan.paths.contains(&DataPath::Buffered) {
            return Ok(());
        }
        // A point may not find in memory what was read or written before, nor may direct I/O have
        // to pay for evicting it.
        forget_cached(self.session);
        Ok(self.session.switch_path(path)?)
    }

    fn points(
        &mut self,
        swept: &mut Swept<'_>,
        deadline: Option<Timestamp>,
        first: &FirstRun,
    ) -> Result<Ended, MeasureError> {
        let start = self.session.clock.now();
        let mut times = RunTimes::new(self.plan, first, start, deadline);
        let runs = times.runs_left(swept, start);
        let mut schedule = Schedule::new(swept.grid, self.plan.rounds, runs, self.plan.load.seed);
        self.note(announcement(
            self.plan,
            swept.grid,
            &schedule,
            times.run_ns(swept, start),
        ));
        for left_out in &swept.grid.left_out {
            self.note(left_out_note(left_out));
        }
        times.planned = schedule.runs();
        let mut out = BTreeSet::new();
        for round in 0.. {
            if self.stop.reason().is_some() {
                return Ok(Ended::Interrupted);
            }
            let judgement = swept.judgement();
            let answers = swept.answers(&judgement);
            let known = RoundsSoFar {
                judgement: &judgement,
                answers: &answers,
                out: &out,
            };
            let runs_left = times.runs_left(swept, self.session.clock.now());
            let Some(points) = schedule.next_round(&known, runs_left) else {
                return Ok(Ended::Done);
            };
            // Of the rounds of all points, only whole ones count the points alike.
            let must_fit = times.planned.is_some() && round > 0;
            if must_fit && runs_left.is_some_and(|runs| runs < points.len()) {
                swept.is_cut_short = true;
                return Ok(Ended::Done);
            }
            if let Some(ended) = self.round(swept, &mut out, (round, &points), &times)? {
                return Ok(ended);
            }
        }
        Ok(Ended::Done)
    }

    /// Measures the points of a round; how the sweep ended, if it ended in it.
    fn round(
        &mut self,
        swept: &mut Swept<'_>,
        out: &mut BTreeSet<usize>,
        (round, points): (usize, &[usize]),
        times: &RunTimes<'_>,
    ) -> Result<Option<Ended>, MeasureError> {
        let clock = self.session.clock.clone();
        for &point in points {
            // The point, or its engine, may have failed since the round was chosen.
            if out.contains(&point) {
                continue;
            }
            let now = clock.now();
            // There is always time for one: a budget shorter than that is refused.
            if times.runs_left(swept, now) == Some(0) && !swept.measurements.is_empty() {
                swept.is_cut_short = true;
                return Ok(Some(Ended::Done));
            }
            let measuring = MeasuringPoint {
                number: swept.measurements.len() + 1,
                of: times.planned,
                remaining_s: times.remaining_s(swept, now),
                setting: swept.words(&swept.grid.points[point].setting),
            };
            let at_s = times.elapsed_s(now);
            let setting = &swept.grid.points[point].setting;
            let outcome = match self.measure(setting, &measuring, times.first) {
                Ok(Some(outcome)) => outcome,
                Ok(None) => return Ok(Some(Ended::Interrupted)),
                Err(refusal) => {
                    self.refuse(swept, out, point, refusal)?;
                    continue;
                }
            };
            swept.arrays = self.arrays.cost();
            swept.elapsed_s = times.elapsed_s(clock.now());
            self.take(swept, out, (point, round, at_s), &outcome);
            self.report(measuring, &outcome);
            (self.keep)(&swept.result(true, System::default()));
        }
        Ok(None)
    }

    /// Runs a point; `None` if it did not run to its end.
    fn measure(
        &mut self,
        setting: &Setting,
        measuring: &MeasuringPoint,
        first: &FirstRun,
    ) -> Result<Option<PointOutcome>, MeasureError> {
        if setting.array_shape().is_none() {
            self.arrays.end(self.session)?;
            self.take_path(setting.path)?;
        }
        self.session.machines.begin_run();
        let time_ns = self.plan.time_per_point_ns;
        // Memory takes more in that time than the disks do: no more is written than the disks would
        // take.
        let through_memory =
            setting.path == DataPath::Buffered && setting.direction == Direction::Write;
        let all_bytes = first.rate_bytes_per_s * time_ns as f64 / 1e9;
        let bytes = through_memory.then(|| {
            let each = (all_bytes / setting.order.len() as f64) as u64;
            (each / setting.record_bytes).max(1) * setting.record_bytes
        });
        let moment = |live| SweepEvent::Live(measuring.clone(), live);
        let mut report = of_phase(self.observer, moment);
        let mut run =
            |setting: &Setting, session: &Session| -> Result<PointOutcome, MeasureError> {
                let mut prepared = PreparedTargets {
                    plan: self.load,
                    session,
                    stop: self.stop,
                    monitor: self.monitor,
                };
                let like = prepared.setup(self.threads);
                let setup = setup_of(setting, session, time_ns, bytes, &like);
                let phase = run_point(&mut prepared, &setup, &mut report)?;
                Ok(outcome_of(setting, &setup, session, &phase))
            };
        let outcome = match setting.array_shape() {
            None => run(setting, self.session)?,
            Some(_) if self.session.clock.is_virtual() => run(&setting.by_chunks(), self.session)?,
            Some(shape) => match self.arrays.session_on(shape, self.session, self.stop)? {
                Ok(array) => run(&setting.on_array(), array)?,
                Err(why) => PointOutcome::without_run(why),
            },
        };
        Ok(self.stop.reason().is_none().then_some(outcome))
    }

    /// Leaves out all points with an engine that was refused for one point; the sweep goes on with
    /// the others, unless there are none.
    fn refuse(
        &mut self,
        swept: &mut Swept<'_>,
        out: &mut BTreeSet<usize>,
        point: usize,
        refusal: MeasureError,
    ) -> Result<(), MeasureError> {
        // The kernel may take ordinary requests and no commands of passthrough.
        let engine = |setting: &Setting| (setting.engine, setting.path == DataPath::Passthrough);
        let refused_engine = engine(&swept.grid.points[point].setting);
        let is_refusal = matches!(
            &refusal,
            MeasureError::Load(LoadError::Target(Error::EngineRefused { .. }))
        );
        let points = swept.grid.points.iter().enumerate();
        let refused: Vec<usize> = points
            .filter(|(number, other)| {
                engine(&other.setting) == refused_engine && !out.contains(number)
            })
            .map(|(number, _)| number)
            .collect();
        if !is_refusal || out.len() + refused.len() == swept.grid.points.len() {
            return Err(refusal);
        }
        let left_out = LeftOut {
            longer: None,
            why: refusal.to_string(),
            count: refused.len(),
            first: swept.grid.points[point].setting.clone(),
        };
        self.note(left_out_note(&left_out));
        swept.refused.push(left_out);
        out.extend(refused);
        Ok(())
    }

    fn take(
        &self,
        swept: &mut Swept<'_>,
        out: &mut BTreeSet<usize>,
        (point, round, at_s): (usize, usize, f64),
        outcome: &PointOutcome,
    ) {
        let seen = &mut swept.seen[point];
        let rate_bytes_per_s = outcome.rate_bytes_per_s;
        if let Some(why) = &outcome.failed {
            seen.failed = Some(why.clone());
        } else if rate_bytes_per_s <= 0.0 {
            seen.failed = Some("no request completed in its time".to_owned());
        }
        swept.measurements.push(SweepMeasurement {
            point,
            round,
            at_s,
            rate_bytes_per_s,
            cpu_seconds_per_gb: outcome.cpu_seconds_per_gb,
            latency_p99_9_ns: outcome.tail.p99_9_ns(),
        });
        if seen.failed.is_some() {
            out.insert(point);
            swept.readings.retain(|reading| reading.point != point);
            return;
        }
        seen.add(&swept.grid.points[point].setting, outcome);
        swept.readings.push(PointReading {
            point,
            round: swept.grid.round_of(point, round),
            rate_bytes_per_s,
            stall_share: outcome.stall_share,
        });
    }

    fn report(&mut self, measuring: MeasuringPoint, outcome: &PointOutcome) {
        (self.observer)(SweepEvent::Measured(MeasuredPoint {
            measuring,
            rate_bytes_per_s: outcome.rate_bytes_per_s,
            failed: outcome.failed.clone(),
        }));
    }
}
