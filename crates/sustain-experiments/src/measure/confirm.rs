//! Paced runs that confirm a recommendation. The recommended rate was computed from a run with
//! full queues; only a paced run shows what a source that does not wait would have met. If a rate
//! does not hold, lower ones are tried until one does, in bounded time, because a rate that holds
//! is what the user asked for. The run calls this module.

use sustain_disk::data::DataKind;
use sustain_disk::layout::Layout;
use sustain_disk::meter::Meter;
use sustain_document::measure::{Attempt, Recommendation};
use sustain_load::collect::steps;
use sustain_load::event::{Event, Observer, Phase};
use sustain_load::phase::PhaseOutcome;
use sustain_load::setup::PhaseSetup;
use sustain_statistics::judge::Step;
use sustain_statistics::judge::growth::steady_growth;
use sustain_statistics::judge::recommend::{CurvePoint, recommend_by_all};
use sustain_statistics::judge::worst::{WORST_S, worst};

use super::active::active_steps;
use super::measure_run::MeasureRun;
use super::measurement_words;
use super::plan::MeasurePlan;
use super::recommendation::{BufferAllowance, curve_of_run, curve_points, whole_steps};
use super::statements::FailedAttempt;
use crate::error::MeasureError;

/// A paced run is no longer than this.
pub(super) const CONFIRM_NS_MAX: u64 = 10_000_000_000;
/// After a run that did not hold, the next is paced at most at this part of the rate. So there are
/// at most six runs, which take a minute in all.
const STEPS_DOWN: [f64; 5] = [0.95, 0.9, 0.8, 0.65, 0.5];
/// The most paced runs.
pub(super) const CONFIRM_RUNS_MAX: u32 = 1 + STEPS_DOWN.len() as u32;

/// A paced run in which fewer records than this fell due on each target shows nothing of the
/// rate.
const RECORDS_DUE_MIN: u64 = 2;

/// A backlog that ends at more than this part of its largest has not come down again.
pub(super) const STILL_GROWS: f64 = 0.9;

/// Ten seconds of a paced run at this part of its rate or more had the pace of the source.
const SOURCE_PACE: f64 = 0.99;

/// A longer stall is a pause, which a buffer rides out; a run that falls behind without one is too
/// slow.
const PAUSE_NS_MIN: u64 = 2_500_000_000;

/// The state of the search for a rate that holds.
struct RateSearch {
    recommended: Recommendation,
    /// The lowest rate of a paced run that fell behind to its end without a pause.
    level_bytes_per_s: f64,
    /// The curve of the run itself, and of each paced run that did not hold.
    curves: Vec<Vec<CurvePoint>>,
    /// The series of the run itself, while all targets were active.
    run_steps: Vec<Step>,
    positions_bytes: Vec<u64>,
}

impl MeasureRun<'_> {
    /// Makes paced runs at the recommended rate, and at lower ones until one is held. Nothing is
    /// recommended if a target fails in one of them.
    pub(crate) fn confirm(
        &mut self,
        recommended: Recommendation,
        outcome: &PhaseOutcome,
        like: &PhaseSetup,
        observer: &mut Observer<'_>,
    ) -> Result<Option<Recommendation>, MeasureError> {
        if !confirms(self.plan) {
            return Ok(Some(recommended));
        }
        let time_ns = self
            .plan
            .load
            .time_ns
            .unwrap_or(outcome.elapsed_ns)
            .min(CONFIRM_NS_MAX);
        let mut search = RateSearch {
            recommended,
            level_bytes_per_s: f64::INFINITY,
            curves: vec![curve_of_run(self.plan, outcome)],
            run_steps: active_steps(self.plan, outcome),
            positions_bytes: self.prepared.positions_after(
                &like.positions_bytes,
                &like.regions,
                outcome,
            ),
        };
        for step in STEPS_DOWN.map(Some).into_iter().chain([None]) {
            if self.prepared.stop.reason().is_some() {
                break;
            }
            let setup = self.paced(&search, time_ns, like);
            let (paced, _) = self.prepared.run_phase(&setup, observer)?;
            if self.note_failures(&paced, setup.rate_bytes_per_s) {
                return Ok(None);
            }
            if self.prepared.stop.reason().is_some() {
                break;
            }
            self.took(&mut search, &paced, time_ns);
            let is_over = search.recommended.confirmed != Some(false);
            let Some(step) = step.filter(|_| !is_over) else {
                break;
            };
            if !search.step_down(step, &BufferAllowance::of(self.plan, self.prepared.session)) {
                break;
            }
            observer(search.note_of_attempt(self.plan.buffer_bytes));
            search.positions_bytes =
                self.prepared
                    .positions_after(&search.positions_bytes, &like.regions, &paced);
        }
        Ok(Some(search.recommended))
    }

    /// The setup of a confirming phase, but for its rate. Its data is new for each write where
    /// that is slower, because the data of a recorder is.
    pub(crate) fn confirming(&self, is_slower_rewritten: bool, threads: u32) -> PhaseSetup {
        let setup = self.prepared.setup(threads);
        if !is_slower_rewritten {
            return setup;
        }
        PhaseSetup {
            data: DataKind::Rewritten,
            depth: self.depth_to_rewrite(),
            ..setup
        }
    }

    fn paced(&self, search: &RateSearch, time_ns: u64, like: &PhaseSetup) -> PhaseSetup {
        PhaseSetup {
            phase: Phase::Confirm,
            rate_bytes_per_s: Some(search.recommended.rate_bytes_per_s),
            time_ns: Some(time_ns),
            bytes: None,
            until_steady: false,
            wraps: Some(true),
            extent_bytes: self.prepared.extent_bytes(),
            positions_bytes: match self.plan.load.bytes {
                Some(_) => vec![0; self.prepared.session.targets.len()],
                None => search.positions_bytes.clone(),
            },
            ..like.clone()
        }
    }

    /// Notes the outcome of a paced run in which nothing failed.
    fn took(&self, search: &mut RateSearch, paced: &PhaseOutcome, time_ns: u64) {
        let collected = &paced.collected;
        let used_bytes = collected.backlog_bytes_max.unwrap_or(0.0).ceil() as u64;
        let pause_bytes = (search.recommended.rate_bytes_per_s * self.pause_s(paced)) as u64;
        // The source may have ended while a pause went on, whose backlog this run then did not see.
        let backlog_max_bytes = match pause_bytes > self.plan.buffer_bytes {
            true => used_bytes.max(pause_bytes),
            false => used_bytes,
        };
        let seconds = time_ns as f64 / 1e9;
        let worst_stall_ns = worst_stall_ns(paced);
        let grows_steadily = self.grows_steadily(search, paced, seconds);
        let found = &mut search.recommended;
        let grows = grows_steadily || self.grows(found, paced, seconds, backlog_max_bytes);
        let held = backlog_max_bytes <= self.plan.buffer_bytes && !grows;
        found.held_seconds = Some(seconds);
        if held && self.is_too_short(found.rate_bytes_per_s * seconds) {
            return;
        }
        if held {
            // What this run needed is needed too, and what its pauses may call for.
            let room = BufferAllowance::of(self.plan, self.prepared.session);
            let used_bytes = whole_steps(used_bytes).min(self.plan.buffer_bytes);
            let needed_bytes = room.needed_bytes(pause_bytes as f64).max(used_bytes);
            found.buffer_bytes = found.buffer_bytes.max(needed_bytes);
        }
        found.attempts.push(Attempt {
            rate_bytes_per_s: found.rate_bytes_per_s,
            held,
            seconds,
            backlog_max_bytes,
            worst_stall_ns,
        });
        found.confirmed = Some(held);
        found.backlog_max_bytes = Some(backlog_max_bytes);
        if !held {
            let least = worst(&steps(&collected.total), WORST_S);
            // What was no slower than its source says nothing of the disks.
            let is_slow = |least: &f64| *least < SOURCE_PACE * found.rate_bytes_per_s;
            let seen = [found.worst_10_s_bytes_per_s, least.filter(is_slow)];
            found.worst_10_s_bytes_per_s = seen.into_iter().flatten().reduce(f64::min);
            search.curves.push(self.curve_with_pauses(paced));
            let moved: u64 = paced.meters.iter().map(Meter::bytes).sum();
            let left_bytes = found.rate_bytes_per_s * seconds - moved as f64;
            let fell_behind = left_bytes > STILL_GROWS * backlog_max_bytes as f64;
            if (fell_behind || grows_steadily) && worst_stall_ns < PAUSE_NS_MIN {
                // A curve of so few seconds does not show how large a backlog becomes that only
                // grows.
                let got = least.unwrap_or(moved as f64 / seconds);
                search.level_bytes_per_s = search.level_bytes_per_s.min(got);
            }
        }
    }

    /// The pause of the whole stream if the longest stalls of all targets of a paced run met: each
    /// holds up its part of the stream.
    fn pause_s(&self, paced: &PhaseOutcome) -> f64 {
        let stall_s = |meter: &Meter| {
            let stalls = meter.stalls().stalls().into_iter();
            stalls.map(|stall| stall.duration_ns).max().unwrap_or(0) as f64 / 1e9
        };
        let meters = paced.meters.iter();
        if self.plan.load.layout != Layout::Independent {
            return meters.map(stall_s).fold(0.0, f64::max);
        }
        let all_bytes: u64 = paced.meters.iter().map(Meter::bytes).sum();
        let part = |meter: &Meter| meter.bytes() as f64 / all_bytes.max(1) as f64;
        meters.map(|meter| part(meter) * stall_s(meter)).sum()
    }

    /// The buffer curve of a paced run, also for pauses that its source did not meet.
    fn curve_with_pauses(&self, paced: &PhaseOutcome) -> Vec<CurvePoint> {
        let pause_s = self.pause_s(paced);
        let mut points = curve_points(paced);
        for point in &mut points {
            point.buffer_bytes = point.buffer_bytes.max(pause_s * point.rate_bytes_per_s);
        }
        points
    }

    /// Whether a paced run whose source gave so many bytes had too few records to show anything.
    fn is_too_short(&self, offered_bytes: f64) -> bool {
        let targets = self.prepared.session.targets.len() as u64;
        let least_bytes = self.plan.load.record_bytes.saturating_mul(targets);
        offered_bytes < least_bytes.saturating_mul(RECORDS_DUE_MIN) as f64
    }

    /// Whether the backlog of a paced run grew steadily, and no stretch of the run itself that was
    /// as slow explains that. It may be small beside the buffer: a rate that is 1 % too high needs
    /// more than the ten seconds of a paced run to fill that, and a recording has more.
    fn grows_steadily(&self, search: &RateSearch, paced: &PhaseOutcome, seconds: f64) -> bool {
        let rate_bytes_per_s = search.recommended.rate_bytes_per_s;
        let blur_bytes = self.plan.load.record_bytes as f64 * paced.meters.len() as f64;
        let growth = |steps: &[Step], until_s: f64| {
            steady_growth(steps, rate_bytes_per_s, until_s, blur_bytes)
        };
        let Some(grown_bytes) = growth(&steps(&paced.collected.total), seconds) else {
            return false;
        };
        let run = &search.run_steps;
        let is_whole = |step: &&Step| {
            run.last()
                .is_some_and(|last| step.start_s + seconds <= last.end_s)
        };
        let mut stretches = run.iter().enumerate().filter(|(_, step)| is_whole(step));
        !stretches.any(|(first, step)| {
            let grown = growth(&run[first..], step.start_s + seconds);
            grown.is_some_and(|bytes| bytes >= grown_bytes)
        })
    }

    /// Whether a paced run ended with a backlog that was as large as it ever was, and larger than
    /// the curves seen before would explain. As far as is known, a longer run would then fill any
    /// buffer.
    fn grows(
        &self,
        found: &Recommendation,
        paced: &PhaseOutcome,
        seconds: f64,
        backlog_max_bytes: u64,
    ) -> bool {
        let moved: u64 = paced.meters.iter().map(Meter::bytes).sum();
        let left_bytes = found.rate_bytes_per_s * seconds - moved as f64;
        // Requests in flight at the end are no backlog.
        let streams = paced.meters.len() as u64;
        let in_flight_bytes =
            self.plan.load.record_bytes * u64::from(self.plan.load.depth) * streams;
        let explained_bytes = (found.buffer_bytes + in_flight_bytes) as f64;
        left_bytes > explained_bytes && left_bytes > STILL_GROWS * backlog_max_bytes as f64
    }
}

/// Whether paced runs follow a recommendation. The bytes that a bounded run touched elsewhere are
/// not known as a part of each target that begins at 0.
pub(super) fn confirms(plan: &MeasurePlan) -> bool {
    let is_elsewhere = plan.load.at.is_some() && plan.load.bytes.is_some();
    plan.confirm && !is_elsewhere
}

/// The longest stall of all targets together, or of a single one.
fn worst_stall_ns(paced: &PhaseOutcome) -> u64 {
    let stalls = paced
        .meters
        .iter()
        .flat_map(|meter| meter.stalls().stalls());
    let longest_ns = stalls.map(|stall| stall.duration_ns).max().unwrap_or(0);
    longest_ns.max(paced.collected.worst_stall_ns)
}

impl RateSearch {
    /// Goes to a lower rate, whose backlog all that was seen so far would have kept within the
    /// buffer. Whether there is one.
    fn step_down(&mut self, step: f64, room: &BufferAllowance) -> bool {
        let rate_max = (self.recommended.rate_bytes_per_s * step).min(self.level_bytes_per_s);
        let Some(found) = recommend_by_all(&self.curves, rate_max, room.for_curve_bytes()) else {
            return false;
        };
        self.recommended = Recommendation {
            rate_bytes_per_s: found.rate_bytes_per_s,
            buffer_bytes: room.needed_bytes(found.buffer_bytes),
            confirmed: None,
            held_seconds: None,
            backlog_max_bytes: None,
            ..self.recommended.clone()
        };
        true
    }

    /// What did not hold, and what is tried next.
    fn note_of_attempt(&self, buffer_bytes: u64) -> Event {
        let last = self.recommended.attempts.last();
        let (rate_bytes_per_s, backlog_bytes) = last.map_or((0.0, 0), |attempt| {
            (attempt.rate_bytes_per_s, attempt.backlog_max_bytes)
        });
        Event::Note(measurement_words::did_not_hold(&FailedAttempt {
            rate_bytes_per_s,
            backlog_bytes,
            still_grew: backlog_bytes <= buffer_bytes,
            buffer_bytes,
            next_bytes_per_s: self.recommended.rate_bytes_per_s,
        }))
    }
}
