//! Runs a diagnosis from beginning to end: opens the targets, prewrites files, warms up, searches,
//! tries the advice, and concludes.

use std::collections::BTreeMap;

use sustain_disk::clock::unix_seconds;
use sustain_disk::layout::Layout;
use sustain_disk::target::{Direction, TargetKind, open_dummy};
use sustain_disk::units::Size;
use sustain_document::diagnose::DiagnoseResult;
use sustain_document::effect::MemoryCopy;
use sustain_host::Roots;
use sustain_load::observer::of_phase;
use sustain_load::open_target::OpenTarget;
use sustain_load::plan::LoadPlan;
use sustain_load::prepared::PreparedTargets;
use sustain_load::rehearsal::verb;
use sustain_load::session::Session;
use sustain_load::setup::PhaseSetup;
use sustain_load::watched::{WatchedRun, run_watched};
use sustain_statistics::walls::{Findings, SearchBasis, expected_readings, find};
use sustain_targets::{Stop, TargetName, check_distinct};

use super::basis::{advised, fastest};
use super::conclude::conclude;
use super::diagnosed::Diagnosed;
use super::event::{DiagnoseEvent, DiagnoseObserver};
use super::plan::DiagnosePlan;
use super::probe::SubsetProbe;
use super::repeats::Repeats;
use super::suggestion::{SuggestedLayout, Suggestion};
use super::sums::sums;
use super::topology_paths::{TopologyPaths, shared_words, ways};
use super::tried::{exceeded, faster_measured, missed, rank};
use crate::error::MeasureError;
use crate::memory_copy;

/// So many targets are measured twice at first, which is enough to know how much readings differ.
const REPEATED: usize = 8;
/// If there are only a few targets, only so many are measured twice, because each takes a
/// noticeable part of the whole time.
const REPEATED_OF_FEW: usize = 3;

/// Says what `diagnose` would do, write and destroy, and does nothing.
///
/// # Errors
/// As for [`diagnose`], as far as errors show before the work begins.
pub fn rehearse_diagnosis(plan: &DiagnosePlan, roots: &Roots) -> Result<Vec<String>, MeasureError> {
    check(plan, roots)?;
    let session = Session::rehearse(&plan.load.in_runs_of(plan.time_per_run_ns), roots)?;
    let is_used = |direction| session.direction == direction;
    let mut statements = session.would(verb(is_used), |target| match target.size_bytes {
        u64::MAX => "without end".to_owned(),
        size_bytes => format!("up to {} from its start, over and over", Size(size_bytes)),
    });
    let targets = session.targets.len();
    check_count(targets)?;
    let asked = asked_sets(plan, &session)?.len();
    statements.extend(shared_words(&session.targets, roots));
    let (few, many) = expected_readings(targets);
    let time = |readings: usize| seconds(readings as f64 * plan.time_per_run_ns as f64);
    statements.push(format!(
        "would measure each of the {targets} targets alone and all together ({}), then the \
         subsets that the results call for: about {few} readings in all ({}) if one limit is \
         shared, {many} ({}) if several are",
        time(targets + 1),
        time(few),
        time(many)
    ));
    if asked > 0 {
        statements.push(format!(
            "would measure those of the {asked} combinations asked for that are still missing then \
             ({} for all of them)",
            time(asked)
        ));
    }
    Ok(statements)
}

/// Measures subsets of the targets and says which shared limits explain them.
///
/// `stop` ends it early; the result then rests on what was measured until then.
///
/// # Errors
/// [`MeasureError`]; a target that fails during the diagnosis is part of the result instead.
pub fn diagnose(
    plan: &DiagnosePlan,
    roots: &Roots,
    stop: &Stop,
    observer: &mut DiagnoseObserver<'_>,
) -> Result<DiagnoseResult, MeasureError> {
    diagnose_with(plan, roots, stop, observer).map(|diagnosed| diagnosed.result)
}

/// A diagnosis, and what was measured beside it.
pub(super) struct WithCombinations {
    pub(super) result: DiagnoseResult,
    /// The combinations that were asked for, by the names of their targets.
    pub(super) combinations: Vec<Vec<String>>,
}

/// As [`diagnose`]; the combinations that the plan asks for are named.
pub(super) fn diagnose_with(
    plan: &DiagnosePlan,
    roots: &Roots,
    stop: &Stop,
    observer: &mut DiagnoseObserver<'_>,
) -> Result<WithCombinations, MeasureError> {
    check(plan, roots)?;
    let load = plan.load.in_runs_of(plan.time_per_run_ns);
    let mut session = Session::open(&load, roots)?;
    check_count(session.targets.len())?;
    let asked = asked_sets(plan, &session)?;
    let names = names(&session);
    let named = |set: &Vec<usize>| set.iter().map(|target| names[*target].clone()).collect();
    let combinations = asked.iter().map(named).collect();
    let diagnosis = Diagnosis {
        plan,
        load: &load,
        targets: session.targets.len(),
        asked,
        dummy: add_dummy(&mut session)?,
        roots,
    };
    let result = run_watched(&mut session, roots, observer, |begun, observer| {
        diagnosis.run(begun, stop, observer)
    })?;
    Ok(WithCombinations {
        result,
        combinations,
    })
}

fn names(session: &Session) -> Vec<String> {
    let targets = session.targets.iter();
    targets.map(|target| target.target.name.clone()).collect()
}

/// The combinations that the plan asks for.
fn asked_sets(plan: &DiagnosePlan, session: &Session) -> Result<Vec<Vec<usize>>, MeasureError> {
    match &plan.combinations {
        Some(combinations) => combinations.of_targets(&names(session), plan.time_per_run_ns),
        None => Ok(Vec::new()),
    }
}

fn check(plan: &DiagnosePlan, roots: &Roots) -> Result<(), MeasureError> {
    plan.check()?;
    let names = plan.load.targets.iter().map(|name| TargetName::parse(name));
    let names: Vec<TargetName> = names.collect::<Result<_, _>>()?;
    check_distinct(&plan.load.targets, &names, Direction::Write, roots)?;
    Ok(())
}

fn check_count(targets: usize) -> Result<(), MeasureError> {
    if targets < 2 {
        return Err(MeasureError::Usage(
            "one target alone shares no limit: name two or more, or use `sustain measure`"
                .to_owned(),
        ));
    }
    Ok(())
}

/// Opens a target that is not a disk, in order to tell limits of this program from those on the
/// paths of the disks. A simulated machine has no such limit.
fn add_dummy(session: &mut Session) -> Result<Option<usize>, MeasureError> {
    if session.clock.is_virtual() {
        return Ok(None);
    }
    session
        .targets
        .push(OpenTarget::keeping_nothing(open_dummy(session.direction)?));
    Ok(Some(session.targets.len() - 1))
}

/// A duration as people say it.
fn seconds(time_ns: f64) -> String {
    let seconds = (time_ns / 1e9).round();
    if seconds < 120.0 {
        format!("{seconds:.0} s")
    } else {
        format!("{:.0} min", seconds / 60.0)
    }
}

fn repeated(targets: usize) -> usize {
    if targets < REPEATED {
        targets.min(REPEATED_OF_FEW)
    } else {
        REPEATED
    }
}

struct Diagnosis<'a> {
    plan: &'a DiagnosePlan,
    load: &'a LoadPlan,
    /// The number of targets, without the dummy.
    targets: usize,
    /// The combinations that are measured beside those that the search needs.
    asked: Vec<Vec<usize>>,
    dummy: Option<usize>,
    roots: &'a Roots,
}

impl Diagnosis<'_> {
    fn run(
        &self,
        begun: WatchedRun<'_>,
        stop: &Stop,
        observer: &mut DiagnoseObserver<'_>,
    ) -> Result<DiagnoseResult, MeasureError> {
        let session = &*begun.session;
        observer(DiagnoseEvent::Note(self.announcement()));
        let shared = shared_words(&session.targets[..self.targets], self.roots);
        for note in shared.into_iter().chain(self.mixed_kinds(session)) {
            observer(DiagnoseEvent::Note(note));
        }
        let mut ways = ways(session, self.targets, self.roots);
        let memory_copy = self.copy_memory(session, &mut ways, stop, observer);
        let started_unix_s = unix_seconds();
        let start = session.clock.now();
        let mut prepared = PreparedTargets {
            plan: self.load,
            session,
            stop,
            monitor: begun.monitor,
        };
        let threads = self.prepare(&mut prepared, observer)?;
        let mut probe = self.probe(&mut prepared, stop, observer, threads);
        let some: Vec<usize> = (0..repeated(self.targets)).collect();
        // If this is interrupted, the search meets the interruption again and concludes from
        // nothing.
        let _ = probe.repeat_some(&some);
        let mut findings = find(&self.setting(&ways), &mut probe);
        probe.hand_over_in_advance(&mut findings);
        probe.measure_asked(&self.asked, &mut findings);
        let advice = self.advise(&findings, &ways, &mut probe);
        let refuted = missed(&advice, findings.resolution);
        if let Some(refuted) = refuted.or_else(|| exceeded(&advice, &findings)) {
            findings.unexplained = Some(refuted);
            findings.complete = false;
        }
        let SubsetProbe {
            failures,
            error,
            engine,
            driver_cpu_share_max,
            cache_flushes_s,
            parts_with_pauses,
            measured,
            ..
        } = probe;
        if let Some(error) = error {
            return Err(error.into());
        }
        Ok(conclude(Diagnosed {
            plan: self.plan,
            session,
            targets: self.targets,
            ways,
            findings,
            advice,
            failures,
            engine,
            threads,
            driver_cpu_share_max,
            cache_flushes_s,
            parts_with_pauses,
            runs: measured,
            memory_copy,
            host: begun.host,
            system: prepared.monitor.finish(start),
            started_unix_s,
            is_interrupted: stop.reason().is_some(),
        }))
    }

    /// Measures how fast memory is copied, and has the memory on the way of the targets carry that.
    /// A simulated machine has its memory in its file, if at all.
    fn copy_memory(
        &self,
        session: &Session,
        ways: &mut TopologyPaths,
        stop: &Stop,
        observer: &mut DiagnoseObserver<'_>,
    ) -> Option<MemoryCopy> {
        if session.clock.is_virtual() {
            return None;
        }
        match memory_copy::measure(&session.clock, self.roots, stop) {
            Ok(copied) => {
                let (most, formula) = memory_copy::most(copied.as_ref()?, self.load.path);
                ways.know_memory(most, &formula);
                copied
            }
            Err(why) => {
                observer(DiagnoseEvent::Note(why));
                None
            }
        }
    }

    fn probe<'a, 'b>(
        &self,
        prepared: &'a mut PreparedTargets<'b>,
        stop: &Stop,
        observer: &'a mut DiagnoseObserver<'b>,
        threads: u32,
    ) -> SubsetProbe<'a, 'b> {
        SubsetProbe {
            prepared,
            stop: stop.clone(),
            observer,
            threads,
            time_per_run_ns: self.plan.time_per_run_ns,
            targets: self.targets,
            dummy: self.dummy,
            together_bytes_per_s: 0.0,
            measured: 0,
            repeats: Repeats::default(),
            in_advance: BTreeMap::new(),
            failures: Vec::new(),
            error: None,
            engine: None,
            driver_cpu_share_max: 0.0,
            cache_flushes_s: BTreeMap::new(),
            parts_with_pauses: BTreeMap::new(),
        }
    }

    /// Says what will be measured, and how long it takes.
    fn announcement(&self) -> String {
        let repeated = repeated(self.targets);
        // These are the warm-up, each target alone, some of them again, and all together.
        let first = 1 + self.targets + repeated + 1;
        let (few, many) = expected_readings(self.targets);
        let time = |readings: usize| seconds(readings as f64 * self.plan.time_per_run_ns as f64);
        format!(
            "{} targets: each alone ({repeated} of them twice) and all together, {}; then the \
             subsets that the results call for: about {} in all if one limit is shared, about {} \
             if several are, and less if none is",
            self.targets,
            time(first),
            time(few + repeated + 1),
            time(many + repeated + 1)
        )
    }

    /// The rate through a file system includes the cost of that file system.
    fn mixed_kinds(&self, session: &Session) -> Option<String> {
        let kind = |target: &OpenTarget| target.target.kind == TargetKind::BlockDevice;
        let devices = session.targets[..self.targets]
            .iter()
            .filter(|one| kind(one))
            .count();
        (devices > 0 && devices < self.targets).then(|| {
            "some targets are devices and others are files: what a file system costs counts as \
             part of a file's rate"
                .to_owned()
        })
    }

    fn setting(&self, ways: &TopologyPaths) -> SearchBasis {
        SearchBasis {
            targets: self.targets,
            order: ways.order.clone(),
            // The readings themselves show the noise.
            noise: 0.0,
            dummy: self.dummy.is_some(),
        }
    }

    /// Prewrites files, then runs all targets at once for one run that does not count: caches fill,
    /// disks wake up, and the run shows how many drivers the work needs.
    fn prepare(
        &self,
        prepared: &mut PreparedTargets<'_>,
        observer: &mut DiagnoseObserver<'_>,
    ) -> Result<u32, MeasureError> {
        let mut report = of_phase(observer, DiagnoseEvent::Preparing);
        prepared.prewrite(&mut report)?;
        let warm_up = |setup: PhaseSetup| PhaseSetup {
            positions_bytes: vec![0; self.targets],
            lap_bytes: vec![None; self.targets],
            targets: (0..self.targets).collect(),
            time_ns: Some(self.plan.time_per_run_ns),
            wraps: Some(true),
            ..setup
        };
        let (mut outcome, threads, _) = prepared.run_with_threads(warm_up, &mut report)?;
        let setup = warm_up(prepared.setup(threads));
        prepared.flush_after(&setup, &mut outcome, &mut report)?;
        Ok(threads)
    }

    /// The advice, each piece with the rate that it reached if it could be tried.
    fn advise(
        &self,
        findings: &Findings,
        ways: &TopologyPaths,
        probe: &mut SubsetProbe<'_, '_>,
    ) -> Vec<(Suggestion, Option<f64>)> {
        let session = probe.prepared.session;
        let suggestions = advised(findings, &session.targets[..self.targets], ways, self.plan);
        let fastest = fastest(findings);
        let mut advice = Vec::new();
        for suggestion in suggestions {
            let measured = self.tried(&suggestion, findings, probe);
            let better = measured.and_then(|rate| {
                faster_measured(&suggestion, rate, findings.resolution, fastest.as_ref()?)
            });
            advice.push((suggestion, measured));
            advice.extend(better);
        }
        rank(&mut advice);
        advice
    }

    fn tried(
        &self,
        suggestion: &Suggestion,
        findings: &Findings,
        probe: &mut SubsetProbe<'_, '_>,
    ) -> Option<f64> {
        if !suggestion.move_elsewhere.is_empty() {
            return None;
        }
        let expected = suggestion.expected_bytes_per_s;
        match suggestion.layout {
            SuggestedLayout::Stripe { chunk_bytes } => {
                let layout = Layout::Stripe { chunk_bytes };
                probe.try_layout(suggestion.order.clone(), layout, expected)
            }
            // A span reaches what its targets reach alone, and these rates are known.
            SuggestedLayout::Span => None,
            SuggestedLayout::Independent => {
                let mut members = suggestion.order.clone();
                members.sort_unstable();
                let known = sums(findings).get(&members[..]).copied();
                known.or_else(|| probe.try_layout(members, Layout::Independent, expected))
            }
        }
    }
}
