//! Runs a profile from beginning to end: opens the targets, prewrites files, makes first runs that
//! do not count, visits positions in a first pass, splits where the rate changes, makes a second
//! pass and third visits, tries what the samples promise in runs without a break, and concludes.

use sustain_disk::clock::{Timestamp, unix_seconds};
use sustain_disk::target::Direction;
use sustain_document::profile::ProfileResult;
use sustain_document::setting::RECORD_SIZE;
use sustain_host::Roots;
use sustain_load::error::LoadError;
use sustain_load::observer::of_phase;
use sustain_load::prepared::PreparedTargets;
use sustain_load::session::Session;
use sustain_load::setup::PhaseSetup;
use sustain_load::watched::run_watched;
use sustain_targets::Stop;

use super::event::{ProfileEvent, ProfileObserver, Sampled, Sampling};
use super::fit::fit;
use super::open::{POSITIONS_MIN, curves, open};
use super::plan::ProfilePlan;
use super::profiled::Profiled;
use super::sample::{SampleOutcome, SampledCurve, bytes_of, outcome_of, setup_of};
use super::schedule::{CurveSoFar, coarse, second_pass, splits, spread};
use crate::error::MeasureError;

/// The first pass may take this part of the time,
pub(super) const COARSE_SHARE: f64 = 0.28;
/// and together with the splitting this part. The second pass takes as long again, and the rest is
/// for third visits and for runs without a break.
const SPLIT_SHARE: f64 = 0.44;
/// The runs without a break have this part of the time to themselves.
const HOLD_SHARE: f64 = 0.08;
pub(super) const COARSE_MAX: usize = 1025;
const POSITIONS_MAX: usize = 2048;
/// Positions of a first run; the next one is used if a position cannot be read.
const FIRST_POSITIONS: [f64; 3] = [0.0, 0.5, 0.25];
/// The longest time of a first run, for a disk as slow as a floppy.
const FIRST_NS_MAX: u64 = 5_000_000_000;
/// With several real targets, the first run of all at once is long enough to show whether one
/// driver suffices.
const FIRST_NS_MIN: u64 = 1_500_000_000;
/// A sample that takes this many times what is expected is stopped, because it has met something
/// unusual.
const PATIENCE: u64 = 6;
/// All at once each target is slower, so up to this many times as much time is allowed.
const TOGETHER_TIMES: u64 = 4;
/// The cost of a sample besides its bytes: threads, queues, a seek.
const OVERHEAD_NS: u64 = 25_000_000;

/// Samples targets over their positions and finds the rate at each.
///
/// `stop` ends the work early; the result then rests on what was measured until then.
///
/// # Errors
/// [`MeasureError`]; a target that fails at a position is part of the result instead.
pub fn profile(
    plan: &ProfilePlan,
    roots: &Roots,
    stop: &Stop,
    observer: &mut ProfileObserver<'_>,
) -> Result<ProfileResult, MeasureError> {
    plan.check()?;
    let load = plan.opened_as();
    let mut session = open(plan, roots, Session::open)?;
    let curves = curves(plan, &session);
    let sample_ns = plan.sample_ns(curves.len())?;
    run_watched(&mut session, roots, observer, |begun, observer| {
        let session = &*begun.session;
        let prepared = PreparedTargets {
            plan: &load,
            session,
            stop,
            monitor: begun.monitor,
        };
        let profiled = Profiled::new(plan, session, curves, sample_ns, begun.host);
        Profile {
            prepared,
            observer,
            threads: 1,
            profiled,
            start: session.clock.now(),
            visited: 0,
            visited_ns: 0,
        }
        .run()
    })
}

/// A profile in progress.
pub(super) struct Profile<'a, 'b> {
    pub(super) prepared: PreparedTargets<'a>,
    pub(super) observer: &'a mut ProfileObserver<'b>,
    pub(super) threads: u32,
    pub(super) profiled: Profiled<'a>,
    start: Timestamp,
    /// Number of positions that were visited, and how long that took.
    visited: u64,
    visited_ns: u64,
}

/// A pass ended before all its positions were visited.
struct Over;

impl Profile<'_, '_> {
    fn run(mut self) -> Result<ProfileResult, MeasureError> {
        self.profiled.started_unix_s = unix_seconds();
        self.prepared
            .prewrite(&mut of_phase(self.observer, ProfileEvent::Preparing))?;
        self.start = self.prepared.session.clock.now();
        self.first_runs()?;
        let over = self.passes()?;
        self.profiled.visit_ns = self.visit_ns();
        self.hold()?;
        let is_interrupted = self.prepared.stop.reason().is_some();
        if over.is_err() && !is_interrupted {
            self.profiled.is_cut_short = true;
        }
        self.profiled.threads = self.threads;
        self.profiled.elapsed_s = self.elapsed_ns() as f64 / 1e9;
        let system = self.prepared.monitor.finish(self.start);
        Ok(self.profiled.result(is_interrupted, system))
    }

    fn elapsed_ns(&self) -> u64 {
        self.prepared.session.clock.now().since_ns(self.start)
    }

    /// The time that is left of the budget.
    pub(super) fn left_ns(&self) -> u64 {
        let budget_ns = self.profiled.plan.budget_ns;
        budget_ns.saturating_sub(self.elapsed_ns())
    }

    /// The number of positions for which there is time until this part of the budget is spent.
    fn visits_until(&self, share: f64) -> usize {
        let left_ns =
            (self.profiled.plan.budget_ns as f64 * share - self.elapsed_ns() as f64).max(0.0);
        (left_ns / self.visit_ns().max(1) as f64) as usize
    }

    /// How long a position takes: as long as those before, or as long as is expected.
    fn visit_ns(&self) -> u64 {
        let curves = self.profiled.curves.iter();
        let overhead_ns = if self.prepared.session.clock.is_virtual() {
            0
        } else {
            OVERHEAD_NS
        };
        let expected: u64 = curves.map(|curve| curve.expected_ns + overhead_ns).sum();
        self.visited_ns
            .checked_div(self.visited)
            .unwrap_or(expected)
    }

    /// First runs do not count: caches fill, disks wake up, and the runs show how fast each target
    /// is and how many drivers all of them need.
    fn first_runs(&mut self) -> Result<(), MeasureError> {
        for number in 0..self.profiled.curves.len() {
            if self.prepared.stop.reason().is_some() {
                return Ok(());
            }
            if self.profiled.curves[number].is_alone() {
                self.first_run_alone(number)?;
            } else {
                self.first_run_together(number)?;
            }
        }
        Ok(())
    }

    fn first_run_alone(&mut self, number: usize) -> Result<(), MeasureError> {
        let least = self.profiled.plan.sample_bytes_min();
        let record = self.profiled.plan.load.record_bytes;
        let sample_ns = self.profiled.sample_ns;
        let target = self.profiled.curves[number].members[0];
        let most = self.prepared.session.targets[target].size_bytes / POSITIONS_MIN;
        // The first of these has a few requests, the second as many as go into a sample at the rate
        // of the first.
        for _ in 0..2 {
            self.profiled.curves[number].time_ns = FIRST_NS_MAX.max(sample_ns);
            let Some(rate) = self.first_rate(number)? else {
                return Ok(());
            };
            let fitting = (rate * sample_ns as f64 / 1e9) as u64;
            let bytes = fitting.clamp(least, most.max(least)) / record * record;
            let curve = &mut self.profiled.curves[number];
            curve.sample_bytes = vec![bytes];
            curve.expected_ns = (bytes as f64 / rate.max(1.0) * 1e9) as u64;
        }
        let curve = &mut self.profiled.curves[number];
        curve.time_ns = curve.expected_ns.max(sample_ns) * PATIENCE;
        Ok(())
    }

    /// The rate of a first run; `None` if the user wants to end.
    fn first_rate(&mut self, number: usize) -> Result<Option<f64>, MeasureError> {
        let mut failure = None;
        for position in FIRST_POSITIONS {
            let session = self.prepared.session;
            let curve = self.profiled.curves[number].clone();
            let setup = setup_of(
                &curve,
                position,
                session,
                &self.prepared.setup(self.threads),
            );
            session.machines.begin_run();
            let (phase, _) = self.prepared.run_phase(
                &setup,
                &mut of_phase(self.observer, ProfileEvent::Preparing),
            )?;
            if self.prepared.stop.reason().is_some() {
                return Ok(None);
            }
            self.profiled.remember(&phase);
            match outcome_of(&curve, session, &phase) {
                SampleOutcome::Rates(rates) if bytes_of(&phase) > 0 => {
                    return Ok(rates.first().copied());
                }
                SampleOutcome::Rates(_) => {}
                SampleOutcome::Failed { .. } => {
                    let failures = phase.collected.targets.iter().flat_map(|one| &one.failures);
                    let name = &session.targets[curve.members[0]].target.name;
                    let mut errors = failures.map(|failure| failure.on(name));
                    failure = errors.next();
                }
            }
        }
        match failure {
            Some(failure) => Err(LoadError::Prewrite(failure).into()),
            None => Err(MeasureError::Usage(format!(
                "no request of the first run completed within {}: use a smaller {RECORD_SIZE}",
                sustain_disk::units::Duration(FIRST_NS_MAX)
            ))),
        }
    }

    /// A first run of all at once, with the samples that each has alone.
    fn first_run_together(&mut self, number: usize) -> Result<(), MeasureError> {
        let session = self.prepared.session;
        let sample_ns = self.profiled.sample_ns;
        let mut curve = self.profiled.curves[number].clone();
        let alone = self.profiled.curves.iter();
        let alone: Vec<&SampledCurve> = alone
            .filter(|other| other.is_alone() && other.direction == curve.direction)
            .collect();
        curve.sample_bytes = alone.iter().map(|other| other.sample_bytes[0]).collect();
        let longest = alone.iter().map(|other| other.expected_ns).max();
        let alone_ns = longest.unwrap_or(sample_ns);
        curve.time_ns = alone_ns * TOGETHER_TIMES;
        if !session.clock.is_virtual() {
            curve.time_ns = curve.time_ns.max(FIRST_NS_MIN);
        }
        session.machines.begin_run();
        let mut report = of_phase(self.observer, ProfileEvent::Preparing);
        let change = |like: PhaseSetup| PhaseSetup {
            // It ends by time, so that a driver without CPU time left is noticed.
            bytes: None,
            wraps: Some(true),
            may_start_anew: like.may_start_anew,
            ..setup_of(&curve, 0.0, session, &like)
        };
        let (phase, threads, _) = self.prepared.run_with_threads(change, &mut report)?;
        self.threads = self.threads.max(threads);
        self.profiled.remember(&phase);
        let least = self.profiled.plan.sample_bytes_min() as f64;
        let needed = match outcome_of(&curve, session, &phase) {
            SampleOutcome::Rates(rates) => {
                let times = rates.iter().map(|rate| least / rate.max(1.0) * 1e9);
                times.fold(0.0, f64::max) as u64
            }
            SampleOutcome::Failed { .. } => alone_ns,
        };
        curve.expected_ns = needed.clamp(alone_ns, alone_ns * TOGETHER_TIMES);
        curve.time_ns = curve.expected_ns;
        self.profiled.curves[number] = curve;
        Ok(())
    }

    /// The least distance between positions at which samples do not overlap.
    fn least_gap(&self) -> f64 {
        let curves = self.profiled.curves.iter().filter(|curve| curve.is_alone());
        let gaps = curves.map(|curve| {
            let size_bytes = self.prepared.session.targets[curve.members[0]].size_bytes;
            let sample = curve.sample_bytes[0] as f64;
            sample / (size_bytes as f64 - sample)
        });
        gaps.fold(0.0, f64::max)
    }

    fn passes(&mut self) -> Result<Result<(), Over>, MeasureError> {
        let least_gap = self.least_gap();
        let apart = (1.0 / least_gap.max(1e-6)) as usize + 1;
        let fitting = self.visits_until(COARSE_SHARE);
        let count = fitting.clamp(POSITIONS_MIN as usize, COARSE_MAX).min(apart);
        let positions = coarse(count);
        self.profiled.reserve(&positions);
        let order: Vec<f64> = spread(count).into_iter().map(|at| positions[at]).collect();
        let mut visited = order.clone();
        if self.pass("first pass", &order)?.is_err() {
            return Ok(Err(Over));
        }
        loop {
            let room = self
                .visits_until(SPLIT_SHARE)
                .min(POSITIONS_MAX.saturating_sub(visited.len()));
            let most = (count / 4).max(4).min(room);
            let split = self.splits(least_gap, most);
            if split.is_empty() {
                break;
            }
            self.profiled.reserve(&split);
            let order = spread(split.len());
            let order: Vec<f64> = order.into_iter().map(|at| split[at]).collect();
            visited.extend(&order);
            if self.pass("where the rate changes", &order)?.is_err() {
                return Ok(Err(Over));
            }
        }
        if self.pass("second pass", &second_pass(&visited))?.is_err() {
            return Ok(Err(Over));
        }
        // Each further visit of a possible bad spot decides it, or makes chance a less likely
        // reason.
        loop {
            let undecided = self.profiled.undecided();
            if undecided.is_empty() {
                return Ok(Ok(()));
            }
            let before = self.profiled.readings();
            if self.pass("third visits", &undecided)?.is_err() {
                return Ok(Err(Over));
            }
            // A visit without a new reading would be asked for again, endlessly if time stands
            // still.
            if self.profiled.readings() == before {
                return Ok(Ok(()));
            }
        }
    }

    fn splits(&self, least_gap: f64, most: usize) -> Vec<f64> {
        let known: Vec<CurveSoFar> = (0..self.profiled.curves.len())
            .map(|curve| {
                let (indices, places) = self.profiled.places(curve);
                let found = fit(&places);
                let mut rates = vec![None; self.profiled.positions.len()];
                for (index, value) in indices.into_iter().zip(found.values) {
                    rates[index] = value;
                }
                CurveSoFar {
                    rates,
                    noise: found.noise,
                }
            })
            .collect();
        let positions = self.profiled.positions.iter();
        let positions: Vec<f64> = positions.map(|one| one.position).collect();
        splits(&positions, &known, least_gap, most)
    }

    /// Visits positions in this order.
    fn pass(
        &mut self,
        pass: &'static str,
        order: &[f64],
    ) -> Result<Result<(), Over>, MeasureError> {
        for (index, position) in order.iter().enumerate() {
            let left_ns = self.left_ns();
            let kept_ns = (self.profiled.plan.budget_ns as f64 * HOLD_SHARE) as u64;
            let is_over = left_ns < self.visit_ns() + kept_ns;
            if self.prepared.stop.reason().is_some() || is_over {
                return Ok(Err(Over));
            }
            let sampling = Sampling {
                pass,
                number: index + 1,
                of: order.len(),
                remaining_s: left_ns as f64 / 1e9,
                position: *position,
            };
            let before_ns = self.elapsed_ns();
            let Some(rates) = self.visit(&sampling)? else {
                return Ok(Err(Over));
            };
            self.visited += 1;
            self.visited_ns += self.elapsed_ns() - before_ns;
            (self.observer)(ProfileEvent::Sampled(Sampled {
                sampling,
                rates_bytes_per_s: rates,
            }));
        }
        Ok(Ok(()))
    }

    /// Samples every curve at a position; `None` if the user wants to end.
    fn visit(&mut self, sampling: &Sampling) -> Result<Option<Vec<Option<f64>>>, MeasureError> {
        let mut rates = Vec::new();
        let mut failed: Vec<(Direction, usize)> = Vec::new();
        for number in 0..self.profiled.curves.len() {
            let curve = self.profiled.curves[number].clone();
            let mut members = curve.members.iter();
            let is_out = members.any(|target| failed.contains(&(curve.direction, *target)));
            if is_out || self.profiled.is_given_up(&curve) {
                rates.push(None);
                continue;
            }
            let Some(outcome) = self.sample(&curve, sampling)? else {
                return Ok(None);
            };
            rates.push(match &outcome {
                SampleOutcome::Rates(rates) => Some(rates.iter().sum()),
                SampleOutcome::Failed { target, .. } => {
                    failed.push((curve.direction, *target));
                    None
                }
            });
            self.profiled.take(number, sampling.position, outcome);
        }
        Ok(Some(rates))
    }

    fn sample(
        &mut self,
        curve: &SampledCurve,
        sampling: &Sampling,
    ) -> Result<Option<SampleOutcome>, MeasureError> {
        let session = self.prepared.session;
        session.machines.begin_run();
        let like = self.prepared.setup(self.threads);
        let setup = setup_of(curve, sampling.position, session, &like);
        let moment = |live| ProfileEvent::Live(sampling.clone(), live);
        let mut report = of_phase(self.observer, moment);
        let (phase, _) = self.prepared.run_phase(&setup, &mut report)?;
        if self.prepared.stop.reason().is_some() {
            return Ok(None);
        }
        Ok(Some(outcome_of(curve, session, &phase)))
    }
}
