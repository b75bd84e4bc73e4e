//! Tries at the end whether what the samples promise holds: a run without a break in the slowest
//! zone of each curve, and one in the fastest. The run calls it.

use sustain_disk::meter::Meter;
use sustain_disk::target::Direction;
use sustain_load::collect::rate;
use sustain_load::observer::of_phase;
use sustain_load::phase::PhaseOutcome;
use sustain_load::series::bytes_until;
use sustain_load::setup::PhaseSetup;

use super::clean::{MemberStretch, centred_start, clean_start, is_within, reaches};
use super::event::{ProfileEvent, Sampling};
use super::fit::fit;
use super::lasting_rate::{HeldRate, WhyUntried, promised_rate, zones_to_try};
use super::run::Profile;
use super::sample::{SampledCurve, outcome_of, setup_of};
use super::zone::FittedZone;
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
    /// `None` if bad spots leave no room for it.
    from: Option<f64>,
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
            let least_ns = self.least_ns(trial.curve);
            let from = match trial.from {
                _ if is_stopped || left_ns < least_ns => Err(WhyUntried::Time),
                None => Err(WhyUntried::BadSpots),
                Some(from) => Ok(from),
            };
            let from = match from {
                Ok(from) => from,
                Err(why) => {
                    self.profiled.untried.push((trial.curve, why));
                    continue;
                }
            };
            let sampling = Sampling {
                pass: "without a break",
                number: index + 1,
                of: count,
                remaining_s: self.left_ns() as f64 / 1e9,
                position: from,
            };
            self.hold_at(trial.curve, left_ns, &sampling)?;
        }
        Ok(())
    }

    fn trials(&self) -> Vec<HeldTrial> {
        let mut zones = Vec::new();
        for curve in 0..self.profiled.curves.len() {
            if self.profiled.is_given_up(&self.profiled.curves[curve]) {
                continue;
            }
            let of_curve = zones_to_try(&fit(&self.profiled.places(curve).1));
            zones.extend(of_curve.into_iter().map(|zone| (curve, zone)));
        }
        let share_ns = (self.profiled.plan.budget_ns as f64 * SHARE_MAX) as u64;
        let time_ns = self.left_ns().min(share_ns) / zones.len().max(1) as u64;
        let zones = zones.iter();
        zones
            .map(|(curve, zone)| self.trial(*curve, zone, time_ns))
            .collect()
    }

    /// A run in a zone that meets no bad spot, and is shorter for that if need be. What one target
    /// does over a bad spot, samples can promise; what several do together, they cannot.
    fn trial(&self, curve: usize, zone: &FittedZone, most_ns: u64) -> HeldTrial {
        let is_alone = self.profiled.curves[curve].is_alone();
        let least_ns = if is_alone {
            most_ns
        } else {
            self.least_ns(curve)
        };
        let mut time_ns = most_ns;
        let mut from = None;
        while from.is_none() && time_ns >= least_ns.max(1) {
            from = clean_start(zone, &self.stretches(curve, zone, time_ns));
            time_ns = if from.is_some() { time_ns } else { time_ns / 2 };
        }
        if from.is_some() {
            return HeldTrial {
                curve,
                from,
                time_ns,
            };
        }
        let stretches = self.stretches(curve, zone, most_ns);
        let centred = stretches.first().filter(|_| is_alone);
        HeldTrial {
            curve,
            from: centred.map(|stretch| centred_start(zone, stretch.length)),
            time_ns: most_ns,
        }
    }

    /// The least time in which a run shows more than a sample.
    fn least_ns(&self, curve: usize) -> u64 {
        SAMPLES_MIN * self.profiled.curves[curve].expected_ns
    }

    /// What a run of this time goes over in a zone on each target of a curve, at most: as much as
    /// the target does alone.
    fn stretches(&self, curve: usize, zone: &FittedZone, time_ns: u64) -> Vec<MemberStretch> {
        let profiled = &self.profiled;
        let of_member = |(member, target): (usize, &usize)| {
            let size_bytes = profiled.facts[*target].size_bytes as f64;
            let of_sample = &profiled.curves[curve];
            let times = time_ns as f64 / of_sample.expected_ns.max(1) as f64;
            let as_sampled = of_sample.sample_bytes[member] as f64 * times / size_bytes;
            let Some(alone) = profiled.curve_alone(&profiled.curves[curve], *target) else {
                return MemberStretch {
                    length: as_sampled,
                    avoided: Vec::new(),
                };
            };
            let places = profiled.places(alone).1;
            let fit = fit(&places);
            let near = fit
                .zones
                .iter()
                .filter(|one| one.to > zone.from && one.from < zone.to);
            let rate = near.map(|one| one.rate).reduce(f64::max);
            MemberStretch {
                length: rate.map_or(as_sampled, |rate| rate * time_ns as f64 / 1e9 / size_bytes),
                avoided: reaches(&fit, &places),
            }
        };
        let members = profiled.curves[curve].members.iter().enumerate();
        members.map(of_member).collect()
    }

    fn hold_at(
        &mut self,
        number: usize,
        time_ns: u64,
        sampling: &Sampling,
    ) -> Result<(), MeasureError> {
        let session = self.prepared.session;
        session.machines.begin_run();
        let from = sampling.position;
        let curve = SampledCurve {
            time_ns,
            ..self.profiled.curves[number].clone()
        };
        let sizes = curve.members.iter();
        let sizes = sizes.map(|target| session.targets[*target].size_bytes);
        let starts = sizes.map(|size_bytes| {
            let at = (size_bytes as f64 * from) as u64;
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
            self.profiled.note_failure(number, from, outcome);
        }
        let held = if has_failed {
            Err(WhyUntried::Failure)
        } else if self.prepared.stop.reason().is_some() {
            Err(WhyUntried::Time)
        } else {
            self.held(number, from, &curve, &phase)
        };
        match held {
            Ok(held) => self.profiled.held.push(held),
            Err(why) => self.profiled.untried.push((number, why)),
        }
        Ok(())
    }

    fn held(
        &self,
        number: usize,
        from: f64,
        curve: &SampledCurve,
        phase: &PhaseOutcome,
    ) -> Result<HeldRate, WhyUntried> {
        if self.crosses_bad_spot_alone(curve, phase, from) {
            return Err(WhyUntried::BadSpots);
        }
        let fit = fit(&self.profiled.places(number).1);
        let size_bytes = self.profiled.facts[curve.members[0]].size_bytes as f64;
        let steady = steady(phase).ok_or(WhyUntried::Failure)?;
        let part = |bytes: f64| bytes / size_bytes;
        let promise = |from: f64, bytes: f64| {
            promised_rate(&fit, from, part(bytes)).ok_or(WhyUntried::Failure)
        };
        let promised = promise(from + part(steady.before_bytes), steady.bytes)?;
        let mut held = steady.rate;
        if curve.direction == Direction::Write {
            // What a cache holds has to reach the disk as well.
            let whole: f64 = phase
                .meters
                .iter()
                .map(|meter| rate(meter.bytes(), meter.last_ns()))
                .sum();
            let promised_of_whole = promise(from, steady.before_bytes + steady.bytes)?;
            held = held.min(promised * whole / promised_of_whole);
        }
        Ok(HeldRate {
            curve: number,
            from,
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
            let Some(alone) = profiled.curve_alone(curve, *target) else {
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
