//! Measures subsets for the search. Each subset is one phase of the driver on the same open
//! targets. The probe reports its progress to the observers, and keeps why a target failed.

use std::collections::BTreeMap;

use sustain_disk::driver::Ending;
use sustain_disk::error::Error;
use sustain_disk::layout::Layout;
use sustain_disk::meter::MeterInterval;
use sustain_load::event::Phase;
use sustain_load::observer::of_phase;
use sustain_load::phase::PhaseOutcome;
use sustain_load::prepared::PreparedTargets;
use sustain_load::setup::{Dummy, PhaseSetup};
use sustain_statistics::walls::{Ask, Findings, Halt, Probe, SearchStep, SubsetReading};
use sustain_targets::Stop;

use super::diagnosis_words;
use super::event::{DiagnoseEvent, DiagnoseObserver, Measured, Measuring};
use super::repeats::Repeats;
use super::segments::{rate_with_pauses, reading_of_run};
use super::sums::sums;
use crate::measure::media::flushed_runs;

/// The dummy's pace, as a part of the last rate of all targets together.
const DUMMY_SHARE: f64 = 0.25;

/// A layout is tried for so many fillings of its queues, because the members of a stripe do not
/// wait for each other until the queues are full.
const WINDOWS: f64 = 16.0;
/// A trial takes no longer than so many runs.
const TRIAL_RUNS_MAX: u64 = 10;
/// Readings of each target that is measured in advance.
const REPEATS: usize = 2;

/// Measures subsets of prepared targets.
pub(super) struct SubsetProbe<'a, 'b> {
    pub(super) prepared: &'a mut PreparedTargets<'b>,
    pub(super) stop: Stop,
    pub(super) observer: &'a mut DiagnoseObserver<'b>,
    pub(super) threads: u32,
    pub(super) time_per_run_ns: u64,
    /// How many targets there are, without the dummy.
    pub(super) targets: usize,
    /// The dummy's number among the session's targets, if there is one.
    pub(super) dummy: Option<usize>,
    /// The rate from which the dummy's pace is derived.
    pub(super) together_bytes_per_s: f64,
    pub(super) measured: usize,
    /// Readings of single targets, which show how much readings differ.
    pub(super) repeats: Repeats,
    /// Readings of single targets that were made in advance, the first last.
    pub(super) in_advance: BTreeMap<usize, Vec<SubsetReading>>,
    /// Which targets failed, and why.
    pub(super) failures: Vec<(usize, String)>,
    /// The error that ended the work, if it was not the user.
    pub(super) error: Option<Error>,
    /// The engine and why it was used, as the first driver said.
    pub(super) engine: Option<(String, String)>,
    /// The highest part of a CPU that a driver took.
    pub(super) driver_cpu_share_max: f64,
    /// For each subset, the parts of its readings that are left with pauses included.
    pub(super) parts_with_pauses: BTreeMap<Vec<usize>, Vec<f64>>,
    /// The longest flush after a run, of each target of which a volatile cache had taken a part.
    pub(super) cache_flushes_s: BTreeMap<usize, f64>,
}

impl SubsetProbe<'_, '_> {
    fn setup(&self, ask: &Ask<'_>) -> PhaseSetup {
        let mut targets = ask.members.to_vec();
        let mut dummy = None;
        if let Some(target) = self.dummy.filter(|_| ask.with_dummy) {
            dummy = Some(Dummy {
                member: targets.len(),
                rate_bytes_per_s: self.together_bytes_per_s * DUMMY_SHARE,
            });
            targets.push(target);
        }
        PhaseSetup {
            dummy,
            ..self.setup_of(targets)
        }
    }

    /// The setup of a phase of these targets, each from its start, repeatedly.
    pub(super) fn setup_of(&self, targets: Vec<usize>) -> PhaseSetup {
        PhaseSetup {
            phase: Phase::Subset,
            positions_bytes: vec![0; targets.len()],
            lap_bytes: vec![None; targets.len()],
            targets,
            time_ns: Some(self.time_per_run_ns),
            wraps: Some(true),
            ..self.prepared.setup(self.threads)
        }
    }

    /// Runs a phase while observers watch it; `None` if it did not run to its end.
    pub(super) fn run(&mut self, setup: &PhaseSetup, what: &Measuring) -> Option<PhaseOutcome> {
        self.prepared.session.machines.begin_run();
        match self.run_and_flush(setup, what) {
            Ok(outcome) if self.stop.reason().is_none() => {
                self.remember(&outcome);
                Some(outcome)
            }
            Ok(_) => None,
            Err(error) => {
                self.error = Some(error);
                None
            }
        }
    }

    /// A run may not find in a volatile cache what the one before has left there.
    fn run_and_flush(
        &mut self,
        setup: &PhaseSetup,
        what: &Measuring,
    ) -> Result<PhaseOutcome, Error> {
        let moment = |live| DiagnoseEvent::Live(what.clone(), live);
        let mut report = of_phase(self.observer, moment);
        let (mut outcome, _) = self.prepared.run_phase(setup, &mut report)?;
        if self.stop.reason().is_none() {
            self.prepared
                .flush_after(setup, &mut outcome, &mut report)?;
        }
        Ok(outcome)
    }

    /// What volatile caches took counts only at the rate at which it reached the medium.
    fn hold_to_media(
        &mut self,
        reading: &mut SubsetReading,
        setup: &PhaseSetup,
        outcome: &PhaseOutcome,
    ) {
        let is_independent = setup.layout == Layout::Independent;
        let rates = &mut reading.rates_bytes_per_s;
        // In a stripe, all targets together have one flush.
        let in_part = if is_independent { 1 } else { rates.len() };
        let flushed = flushed_runs(is_independent, outcome);
        for (rates, flushed) in rates.chunks_mut(in_part).zip(flushed) {
            let Some(flushed) = flushed else { continue };
            let sum: f64 = rates.iter().sum();
            let part = (flushed.rate_bytes_per_s / sum).min(1.0);
            rates.iter_mut().for_each(|rate| *rate *= part);
        }
        // Of a stripe, too, only those are named whose own flush was long.
        for (target, flushed) in setup.targets.iter().zip(flushed_runs(true, outcome)) {
            if let Some(flushed) = flushed {
                let longest_s = self.cache_flushes_s.entry(*target).or_default();
                *longest_s = longest_s.max(flushed.flush_s);
            }
        }
    }

    fn remember(&mut self, outcome: &PhaseOutcome) {
        for driver in &outcome.drivers {
            self.driver_cpu_share_max = self.driver_cpu_share_max.max(driver.cpu_share);
        }
        if let (None, Some(driver)) = (&self.engine, outcome.drivers.first()) {
            self.engine = Some((driver.engine.to_owned(), driver.why.clone()));
        }
    }

    /// Rates of a phase's targets, in its order.
    pub(super) fn reading(&mut self, setup: &PhaseSetup, outcome: &PhaseOutcome) -> SubsetReading {
        let series = &outcome.collected.targets;
        let completions = |index: usize| -> &[MeterInterval] { series[index].intervals.as_slice() };
        let duration_ns = setup.time_ns.unwrap_or(self.time_per_run_ns);
        let targets: Vec<_> = (0..setup.targets.len()).map(completions).collect();
        let mut reading = reading_of_run(&targets, duration_ns);
        let without: f64 = reading.rates_bytes_per_s.iter().sum();
        if setup.dummy.is_none() && setup.layout == Layout::Independent && without > 0.0 {
            let with = rate_with_pauses(&targets, duration_ns);
            let parts = self.parts_with_pauses.entry(setup.targets.clone());
            parts.or_default().push(with / without);
        }
        self.hold_to_media(&mut reading, setup, outcome);
        for (series, target) in series.iter().zip(&setup.targets) {
            let name = &self.prepared.session.targets[*target].target.name;
            let message = match series.failures.first() {
                Some(failure) => failure.on(name).to_string(),
                // Each target begins again at its end: only one that has become shorter ends.
                None if series.ending == Some(Ending::EndOfDevice) => {
                    diagnosis_words::ended_sooner(name)
                }
                None => continue,
            };
            self.failures.push((*target, message));
            reading.failed.push(*target);
        }
        reading
    }
}

impl SubsetProbe<'_, '_> {
    fn report(&mut self, measuring: Measuring, setup: &PhaseSetup, reading: &SubsetReading) {
        let names = setup.targets.iter();
        let names = names.map(|target| self.prepared.session.targets[*target].target.name.clone());
        (self.observer)(DiagnoseEvent::Measured(Measured {
            measuring,
            targets: names.collect(),
            rates_bytes_per_s: reading.rates_bytes_per_s.clone(),
            failed: !reading.failed.is_empty(),
        }));
    }

    /// Tries the advice: these targets in this layout. `None` if it did not run to its end, or if
    /// one of them failed.
    pub(super) fn try_layout(
        &mut self,
        targets: Vec<usize>,
        layout: Layout,
        expected_bytes_per_s: f64,
    ) -> Option<f64> {
        let mut setup = self.setup_of(targets);
        setup.layout = layout;
        if let Layout::Stripe { chunk_bytes } = layout {
            let targets = setup.targets.iter();
            let sizes = targets.map(|target| self.prepared.session.targets[*target].size_bytes);
            setup.extent_bytes = Some(sizes.min().unwrap_or(0) / chunk_bytes * chunk_bytes);
        }
        let window_bytes = setup.targets.len() as u64 * u64::from(setup.depth) * setup.record_bytes;
        let windows_ns = WINDOWS * window_bytes as f64 / expected_bytes_per_s.max(1.0) * 1e9;
        let longest_ns = self.time_per_run_ns * TRIAL_RUNS_MAX;
        let time_ns = (windows_ns as u64).clamp(self.time_per_run_ns, longest_ns);
        setup.time_ns = Some(time_ns);
        let what = Measuring {
            number: self.measured + 1,
            remaining: 1,
            remaining_s: time_ns as f64 / 1e9,
            why: diagnosis_words::TRYING_ADVICE.to_owned(),
        };
        let reading = self.measure_now(&setup, what).ok()?;
        if !reading.failed.is_empty() {
            return None;
        }
        let rates = reading.rates_bytes_per_s.iter();
        Some(match layout {
            // Until its queues are full, the faster members run ahead; from then on whole rows
            // complete at the pace of the slowest.
            Layout::Turns | Layout::Stripe { .. } => {
                let slowest = rates.copied().fold(f64::INFINITY, f64::min);
                slowest * setup.targets.len() as f64
            }
            Layout::Independent | Layout::Span => rates.sum(),
        })
    }
}

impl SubsetProbe<'_, '_> {
    /// Measures some targets twice, so that the spread of readings is known from the beginning. The
    /// search is given these readings when it asks for them.
    pub(super) fn repeat_some(&mut self, targets: &[usize]) -> Result<(), Halt> {
        let others = self.targets - targets.len();
        // The subset of all targets comes in addition.
        let planned = targets.len() * REPEATS + others + 1;
        for target in targets {
            let mut readings = Vec::new();
            for _ in 0..REPEATS {
                let remaining = planned - self.measured;
                let what = Measuring {
                    number: self.measured + 1,
                    remaining,
                    remaining_s: remaining as f64 * self.time_per_run_ns as f64 / 1e9,
                    why: diagnosis_words::REPEATING.to_owned(),
                };
                readings.push(self.measure_now(&self.setup_of(vec![*target]), what)?);
            }
            readings.reverse();
            self.in_advance.insert(*target, readings);
        }
        Ok(())
    }

    /// Measures the combinations of these that the search has not measured, and adds them to its
    /// findings. What has a target that failed is left out.
    pub(super) fn measure_asked(&mut self, asked: &[Vec<usize>], findings: &mut Findings) {
        let known = sums(findings);
        let missing = asked.iter().filter(|set| !known.contains_key(&set[..]));
        let missing: Vec<Vec<usize>> = missing.cloned().collect();
        for (index, set) in missing.iter().enumerate() {
            if set.iter().any(|target| findings.dropped.contains(target)) {
                continue;
            }
            let remaining = missing.len() - index;
            let what = Measuring {
                number: self.measured + 1,
                remaining,
                remaining_s: remaining as f64 * self.time_per_run_ns as f64 / 1e9,
                why: diagnosis_words::step(SearchStep::Asked).to_owned(),
            };
            let Ok(reading) = self.measure_now(&self.setup_of(set.clone()), what) else {
                return;
            };
            findings.add_reading(set, SearchStep::Asked, &reading);
        }
    }

    /// Adds the readings of single targets that the search did not come to need.
    pub(super) fn hand_over_in_advance(&mut self, findings: &mut Findings) {
        for (target, readings) in std::mem::take(&mut self.in_advance) {
            for reading in &readings {
                findings.add_reading(&[target], SearchStep::Alone, reading);
            }
        }
    }

    fn measure_now(&mut self, setup: &PhaseSetup, what: Measuring) -> Result<SubsetReading, Halt> {
        if self.stop.reason().is_some() || self.error.is_some() {
            return Err(Halt);
        }
        let outcome = self.run(setup, &what).ok_or(Halt)?;
        let reading = self.reading(setup, &outcome);
        self.measured += 1;
        if let ([target], [rate]) = (&setup.targets[..], &reading.rates_bytes_per_s[..]) {
            self.repeats.add(*target, *rate);
        }
        self.report(what, setup, &reading);
        Ok(reading)
    }
}

impl Probe for SubsetProbe<'_, '_> {
    fn measure(&mut self, ask: &Ask<'_>) -> Result<SubsetReading, Halt> {
        let in_advance = match ask.members {
            [target] if !ask.with_dummy => self.in_advance.get_mut(target).and_then(Vec::pop),
            _ => None,
        };
        let mut reading = match in_advance {
            Some(reading) => reading,
            None => {
                let what = Measuring {
                    number: self.measured + 1,
                    remaining: ask.remaining,
                    remaining_s: ask.remaining as f64 * self.time_per_run_ns as f64 / 1e9,
                    why: diagnosis_words::step(ask.step).to_owned(),
                };
                self.measure_now(&self.setup(ask), what)?
            }
        };
        if ask.step == SearchStep::All {
            self.together_bytes_per_s = reading.rates_bytes_per_s.iter().sum();
        }
        for noise in &mut reading.noise {
            *noise = self.repeats.noise(*noise);
        }
        Ok(reading)
    }
}
