//! The order of steps with `--effect`: the probe workloads are started, watched idle, watched
//! beside the load, watched idle again, and ended; this is done once for each I/O path of the load.

use std::cell::RefCell;

use sustain_disk::clock::Timestamp;
use sustain_disk::meter::Meter;
use sustain_disk::target::DataPath;
use sustain_document::effect::{EffectResult, MemoryCopy, Stretches};
use sustain_document::system::{KernelCounters, System};
use sustain_host::{Roots, read_kernel_counters};
use sustain_load::event::{Event, Observer, Phase};
use sustain_load::phase::PhaseOutcome;
use sustain_load::plan::LoadPlan;
use sustain_load::prepared::{PreparedTargets, forget_cached};
use sustain_load::session::Session;
use sustain_load::setup::PhaseSetup;
use sustain_targets::Stop;

use super::EffectPlan;
use super::board::ObservedPhase;
use super::figures::{self, EndedStretch, WatchedLoad};
use super::place::{ProbeFile, choose};
use super::probes::Probes;
use super::{idle_ns, no_place, other, statements};
use crate::error::MeasureError;
use crate::memory_copy;

/// The outcome of a run, its number of drivers, and its start.
type Ran = (PhaseOutcome, u32, Timestamp);

/// Says what would be done besides the load.
///
/// # Errors
/// [`MeasureError::Usage`] if the directory of the probe workload cannot be used.
pub(crate) fn rehearse(
    load: &LoadPlan,
    effect: &EffectPlan,
    session: &Session,
    roots: &Roots,
) -> Result<Vec<String>, MeasureError> {
    let place = choose(effect.victim.as_deref(), session, roots)?;
    Ok(statements(load, effect, place.as_ref()))
}

/// Watches what the loads of a run do to other programs.
pub(crate) struct Watch<'a> {
    load: &'a LoadPlan,
    both_paths: bool,
    roots: &'a Roots,
    place: Option<ProbeFile>,
    copy: Option<MemoryCopy>,
    runs: Vec<WatchedLoad>,
    unmeasured: Vec<String>,
}

impl<'a> Watch<'a> {
    /// Prepares what is asked for, and says it.
    ///
    /// # Errors
    /// [`MeasureError::Usage`] if the directory of the probe workload cannot be used.
    pub(crate) fn prepare(
        load: &'a LoadPlan,
        effect: &EffectPlan,
        session: &Session,
        roots: &'a Roots,
        observer: &mut Observer<'_>,
    ) -> Result<Watch<'a>, MeasureError> {
        let place = choose(effect.victim.as_deref(), session, roots)?;
        for statement in statements(load, effect, place.as_ref()) {
            observer(Event::Note(statement));
        }
        let unmeasured = place.is_none().then(no_place);
        Ok(Watch {
            load,
            both_paths: effect.both_paths,
            roots,
            place,
            copy: None,
            runs: Vec::new(),
            unmeasured: unmeasured.into_iter().collect(),
        })
    }

    /// Measures how fast memory is copied; this is done before the load, while nothing else is
    /// active.
    pub(crate) fn copy_memory(&mut self, session: &Session, stop: &Stop) {
        match memory_copy::measure(&session.clock, self.roots, stop) {
            Ok(Some(copied)) => self.copy = Some(copied),
            Ok(None) => self
                .unmeasured
                .push("memory copies: interrupted".to_owned()),
            Err(why) => self.unmeasured.push(why),
        }
    }

    /// Runs the load of the plan and watches its effect.
    pub(crate) fn run(
        &mut self,
        prepared: &mut PreparedTargets<'_>,
        observer: &mut Observer<'_>,
    ) -> Result<Ran, MeasureError> {
        let path = self.load.path;
        self.around(prepared, path, observer, |prepared, begin, observer| {
            // A run that starts again with more drivers is a new load: the last one counts.
            let begun = |setup| {
                begin();
                setup
            };
            let mut ran = prepared.run_with_threads(begun, observer)?;
            prepared.flush(&mut ran.0, ran.1, observer)?;
            Ok(ran)
        })
    }

    /// Runs the same load with the other I/O path and watches it, if the plan asks for it.
    pub(crate) fn run_by_other_path(
        &mut self,
        prepared: &mut PreparedTargets<'_>,
        threads: u32,
        observer: &mut Observer<'_>,
    ) -> Result<(), MeasureError> {
        if !self.both_paths {
            return Ok(());
        }
        let path = other(self.load.path);
        if prepared.stop.reason().is_some() {
            let why = format!(
                "the {} path: interrupted before it was measured",
                path.name()
            );
            self.unmeasured.push(why);
            return Ok(());
        }
        observer(Event::Note(format!(
            "effect: the same load with {} I/O",
            path.name()
        )));
        prepared.session.switch_path(path)?;
        forget_cached(prepared.session);
        let setup = PhaseSetup {
            phase: Phase::Subset,
            ..prepared.setup_by(path, threads)
        };
        self.around(prepared, path, observer, |prepared, begin, observer| {
            begin();
            let (outcome, start) = prepared.run_phase(&setup, observer)?;
            Ok((outcome, threads, start))
        })?;
        Ok(())
    }

    /// Runs a load beside the probe workloads; `load` calls the function that it is given when it
    /// begins.
    fn around(
        &mut self,
        prepared: &mut PreparedTargets<'_>,
        path: DataPath,
        observer: &mut Observer<'_>,
        run: impl FnOnce(
            &mut PreparedTargets<'_>,
            &dyn Fn(),
            &mut Observer<'_>,
        ) -> Result<Ran, MeasureError>,
    ) -> Result<Ran, MeasureError> {
        let idle_ns = idle_ns(self.load);
        let (clock, roots) = (prepared.session.clock.clone(), self.roots);
        let file = self
            .place
            .as_ref()
            .and_then(|place| place.file.file.clone());
        let victims = Probes::start(&clock, file);
        let open = |is_load: bool| {
            let kernel = read_kernel_counters(roots);
            (victims.begin(is_load), clock.now(), kernel)
        };
        let close = |(number, start, kernel): (ObservedPhase, Timestamp, KernelCounters)| {
            victims.pause();
            EndedStretch {
                number,
                start,
                end: clock.now(),
                kernel: read_kernel_counters(roots).since(&kernel),
            }
        };
        let before = open(false);
        prepared.idle(Phase::Before, idle_ns, observer);
        let before = close(before);
        let begun = RefCell::new(None);
        let begin = || *begun.borrow_mut() = Some(open(true));
        let (mut outcome, threads, start) = run(prepared, &begin, observer)?;
        let during = begun.take().map(close);
        let after = prepared.stop.reason().is_none().then(|| {
            let after = open(false);
            prepared.idle(Phase::After, idle_ns, observer);
            close(after)
        });
        let bytes = outcome.meters.iter().map(Meter::bytes).sum();
        let run = WatchedLoad {
            path,
            start,
            bytes,
            last_ns: outcome.meters.iter().map(Meter::last_ns).max().unwrap_or(0),
            errors: outcome
                .collected
                .targets
                .iter()
                .map(|series| series.failures.len() as u64)
                .sum(),
            cpu_ns: outcome.cpu_ns,
            elapsed_ns: outcome.elapsed_ns,
            marked: Stretches {
                before: Some(before),
                // A load that was interrupted before it began has had no effect.
                during: during.filter(|_| bytes > 0),
                after,
            },
            seen: victims.finish(),
        };
        outcome.cpu_ns = run.own_cpu_ns();
        self.runs.push(run);
        Ok((outcome, threads, start))
    }

    /// Concludes what was seen. The machine's samples during the load of the other I/O path are
    /// taken out of `system`, which is about the run itself.
    pub(crate) fn conclude(self, start: Timestamp, system: &mut System) -> EffectResult {
        let mut unmeasured = self.unmeasured;
        let place = self.place.map(|place| place.facts);
        let mut paths = Vec::new();
        for run in self.runs {
            for why in &run.seen.unmeasured {
                unmeasured.push(format!("{}: {why}", run.path.name()));
            }
            paths.push((
                run.watched_s(start),
                figures::path_effect(
                    &run,
                    start,
                    place.as_ref(),
                    self.copy.as_ref(),
                    &system.samples,
                ),
            ));
        }
        if let [_, (others, _), ..] = paths.as_slice() {
            system
                .samples
                .retain(|sample| sample.time_s < others.start_s);
        }
        EffectResult {
            idle_s: idle_ns(self.load) as f64 / 1e9,
            writes_on: place,
            memory_copy: self.copy,
            paths: paths.into_iter().map(|(_, effect)| effect).collect(),
            unmeasured,
        }
    }
}
