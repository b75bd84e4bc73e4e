//! Tries at the end whether what the samples promise holds: a run without a break in the slowest
//! zone of each curve, and one in the fastest. The run calls it.

use sustain_disk::meter::Meter;
use sustain_disk::target::Direction;
use sustain_load::collect::rate;
use sustain_load::observer::of_phase;
use sustain_load::phase::PhaseOutcome;
use sustain_load::series::bytes_until;
use sustain_load::setup::PhaseSetup;

use super::event::{ProfileEvent, Sampling};
use super::fit::fit;
use super::held::{HeldRate, promised_rate, zones_to_try};
use super::run::Profile;
use super::sample::{SampledCurve, outcome_of, setup_of};
use crate::error::MeasureError;

/// Runs without a break take up to this part of the time if the passes leave it.
const SHARE_MAX: f64 = 0.16;
/// A run that takes less than this many times the time of a sample shows no more than one.
const SAMPLES_MIN: u64 = 6;
/// The rate counts from this part of a run on: before it a cache fills and a credit is used up.
const STEADY_FROM: f64 = 0.5;

/// A run to be made: its curve, and where it begins and how long it may take.
struct HeldTrial {
    curve: usize,
    from: f64,
    time_ns: u64,
}

impl Profile<'_, '_> {
    /// Makes these runs.
    pub(super) fn hold(&mut self) -> Result<(), MeasureError> {
        let trials = self.trials();
        let count = trials.len();
        for (index, trial) in trials.iter().enumerate() {
            let left_ns = self.left_ns().min(trial.time_ns);
            let is_stopped = self.prepared.stop.reason().is_some();
            if is_stopped || left_ns < SAMPLES_MIN * self.profiled.curves[trial.curve].expected_ns {
                self.profiled.untried.push(trial.curve);
                continue;
            }
            let sampling = Sampling {
                pass: "without a break",
                number: index + 1,
                of: count,
                remaining_s: self.left_ns() as f64 / 1e9,
                position: trial.from,
            };
            self.hold_at(trial, left_ns, &sampling)?;
        }
        Ok(())
    }

    fn trials(&self) -> Vec<HeldTrial> {
        let mut trials = Vec::new();
        for curve in 0..self.profiled.curves.len() {
            if self.profiled.is_given_up(&self.profiled.curves[curve]) {
                continue;
            }
            let zones = zones_to_try(&fit(&self.profiled.places(curve).1));
            trials.extend(zones.into_iter().map(|zone| (curve, zone)));
        }
        let share_ns = (self.profiled.plan.budget_ns as f64 * SHARE_MAX) as u64;
        let time_ns = self.left_ns().min(share_ns) / trials.len().max(1) as u64;
        let trial = |(curve, zone): (usize, super::zone::FittedZone)| HeldTrial {
            curve,
            // In the middle of its zone, or as near to it as the end of the target allows.
            from: {
                let length = self.part_in(curve, time_ns);
                let middle = f64::midpoint(zone.from, zone.to) - length / 2.0;
                middle.max(zone.from).min(1.0 - length).max(0.0)
            },
            time_ns,
        };
        trials.into_iter().map(trial).collect()
    }

    /// The part of its first target that a curve goes over in this time.
    fn part_in(&self, curve: usize, time_ns: u64) -> f64 {
        let curve = &self.profiled.curves[curve];
        let size_bytes = self.profiled.facts[curve.members[0]].size_bytes;
        let times = time_ns as f64 / curve.expected_ns.max(1) as f64;
        curve.sample_bytes[0] as f64 * times / size_bytes as f64
    }

    fn hold_at(
        &mut self,
        trial: &HeldTrial,
        time_ns: u64,
        sampling: &Sampling,
    ) -> Result<(), MeasureError> {
        let session = self.prepared.session;
        session.machines.begin_run();
        let curve = SampledCurve {
            time_ns,
            ..self.profiled.curves[trial.curve].clone()
        };
        let sizes = curve.members.iter();
        let sizes = sizes.map(|target| session.targets[*target].size_bytes);
        let starts = sizes.map(|size_bytes| {
            let at = (size_bytes as f64 * trial.from) as u64;
            at / curve.record_bytes * curve.record_bytes
        });
        let setup = PhaseSetup {
            positions_bytes: starts.collect(),
            bytes: None,
            wraps: Some(true),
            ..setup_of(&curve, 0.0, session, &self.prepared.setup(self.threads))
        };
        let moment = |live| ProfileEvent::Live(sampling.clone(), live);
        let (phase, _) = self
            .prepared
            .run_phase(&setup, &mut of_phase(self.observer, moment))?;
        let mut series = phase.collected.targets.iter();
        let has_failed = series.any(|one| !one.failures.is_empty());
        if has_failed {
            let outcome = outcome_of(&curve, session, &phase);
            self.profiled.note_failure(trial.curve, trial.from, outcome);
        }
        let is_whole = !has_failed && self.prepared.stop.reason().is_none();
        match self.held(trial, &curve, &phase).filter(|_| is_whole) {
            Some(held) => self.profiled.held.push(held),
            None => self.profiled.untried.push(trial.curve),
        }
        Ok(())
    }

    fn held(
        &self,
        trial: &HeldTrial,
        curve: &SampledCurve,
        phase: &PhaseOutcome,
    ) -> Option<HeldRate> {
        let fit = fit(&self.profiled.places(trial.curve).1);
        let size_bytes = self.profiled.facts[curve.members[0]].size_bytes as f64;
        let steady = steady(phase)?;
        let part = |bytes: f64| bytes / size_bytes;
        if self.crosses_bad_spot_alone(curve, phase, trial.from) {
            return None;
        }
        let from = trial.from + part(steady.before_bytes);
        let promised = promised_rate(&fit, from, part(steady.bytes))?;
        let mut held = steady.rate;
        if curve.direction == Direction::Write {
            // What a cache holds has to reach the disk as well.
            let whole: f64 = phase
                .meters
                .iter()
                .map(|meter| rate(meter.bytes(), meter.last_ns()))
                .sum();
            let length = part(steady.before_bytes + steady.bytes);
            let promised_of_whole = promised_rate(&fit, trial.from, length)?;
            held = held.min(promised * whole / promised_of_whole);
        }
        Some(HeldRate {
            curve: trial.curve,
            from: trial.from,
            elapsed_s: steady.end_ns / 1e9,
            promised,
            held,
        })
    }
}

impl Profile<'_, '_> {
    /// Whether a run of several targets went over a bad spot that one of them shows alone. While
    /// that one crawls, the others go on: what the sum is then, samples cannot promise.
    fn crosses_bad_spot_alone(
        &self,
        curve: &SampledCurve,
        phase: &PhaseOutcome,
        from: f64,
    ) -> bool {
        let profiled = &self.profiled;
        let crosses = |(target, meter): (&usize, &Meter)| {
            let is_of = |other: &SampledCurve| {
                other.members == [*target] && other.direction == curve.direction
            };
            let Some(alone) = profiled.curves.iter().position(is_of) else {
                return false;
            };
            let length = meter.bytes() as f64 / profiled.facts[*target].size_bytes as f64;
            let spots = fit(&profiled.places(alone).1).bad_spots;
            spots
                .iter()
                .any(|spot| is_within(spot.from, spot.to, from, length))
        };
        curve.members.len() > 1 && curve.members.iter().zip(&phase.meters).any(crosses)
    }
}

/// Whether a run over a part `length` of a target from `from` on, which goes on at the start behind
/// the end, touches the stretch.
fn is_within(stretch_from: f64, stretch_to: f64, from: f64, length: f64) -> bool {
    [0.0, 1.0].into_iter().any(|round| {
        let (begins, ends) = (stretch_from + round, stretch_to + round);
        begins < from + length && ends > from
    })
}

/// The steady part of a run.
struct Steady {
    /// The sum of the targets' rates.
    rate: f64,
    /// What the first target transferred before it, and in it.
    before_bytes: f64,
    bytes: f64,
    end_ns: f64,
}

fn steady(phase: &PhaseOutcome) -> Option<Steady> {
    let series = phase.collected.targets.iter();
    let series: Vec<_> = series.map(|one| one.intervals.as_slice()).collect();
    let ends = series
        .iter()
        .map(|one| one.last().map(|last| last.end_ns as f64));
    let end_ns = ends
        .collect::<Option<Vec<f64>>>()?
        .into_iter()
        .reduce(f64::min)?;
    let from_ns = end_ns * STEADY_FROM;
    let moved = |one: &&[_]| bytes_until(one, end_ns) - bytes_until(one, from_ns);
    let sum: f64 = series.iter().map(moved).sum();
    let first = series.first()?;
    (sum > 0.0 && moved(first) > 0.0).then(|| Steady {
        rate: sum / (end_ns - from_ns) * 1e9,
        before_bytes: bytes_until(first, from_ns),
        bytes: moved(first),
        end_ns,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_touches_what_it_goes_over_also_behind_the_end() {
        assert!(is_within(0.1, 0.2, 0.0, 0.15));
        assert!(is_within(0.1, 0.2, 0.15, 0.01));
        assert!(!is_within(0.1, 0.2, 0.2, 0.3));
        assert!(!is_within(0.1, 0.2, 0.0, 0.1));
        assert!(is_within(0.1, 0.2, 0.9, 0.25));
        assert!(!is_within(0.1, 0.2, 0.9, 0.15));
    }
}
