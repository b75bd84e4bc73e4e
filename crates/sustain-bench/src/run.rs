//! A measuring run from beginning to end: open, prewrite, watch idle, measure, watch idle, confirm.

use sustain_disk::clock::{Timestamp, unix_seconds};
use sustain_disk::engine::{EngineChoice, Operation};
use sustain_disk::error::Error;
use sustain_disk::layout::Layout;
use sustain_disk::target::{DataPath, Direction, TargetKind};
use sustain_host::{FileSystem, Roots};
use sustain_session::{Alongside, Idle, Stop, devices_under};

use crate::conclude::{Conclusion, conclude, recommend};
use crate::error::MeasureError;
use crate::event::{Event, Live, Observer, Phase};
use crate::phase::{self, PhaseOutcome};
use crate::plan::Plan;
use crate::result::{Host, MeasureResult, Recommendation, TargetFileSystem};
use crate::session::{OpenTarget, Session};
use crate::setup::PhaseSetup;

/// Moments that may wait to be drawn.
const EVENTS_WAITING_MAX: usize = 16;
/// Idle time watched before and after a run.
const IDLE_NS: u64 = 2_000_000_000;
/// Shorter runs get half of it.
const SHORT_RUN_NS: u64 = 10_000_000_000;
/// The confirming run is no longer than this.
const CONFIRM_NS_MAX: u64 = 10_000_000_000;
/// Prewriting goes in records of this size, whatever the run does.
const PREWRITE_RECORD_BYTES: u64 = 1 << 20;
const PREWRITE_DEPTH: u32 = 8;

/// Says what `measure` would do, write and destroy, and does nothing.
///
/// # Errors
/// As [`measure`], as far as that shows before the work begins.
pub fn rehearse(plan: &Plan, roots: &Roots) -> Result<Vec<String>, MeasureError> {
    let plan = Plan {
        dry_run: true,
        ..plan.clone()
    };
    let session = Session::open(&plan, roots)?;
    let mut statements = session.notes.clone();
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
                (true, _) => ", again and again",
                (false, true) => ", once at most, and again to confirm",
                (false, false) => ", once at most",
            };
            format!(
                "{} from its start{times}",
                sustain_disk::units::Size(extent)
            )
        };
        statements.push(format!(
            "would {verb} {} ({}): {region}",
            target.target.name, target.target.kind
        ));
    }
    Ok(statements)
}

/// Measures what the plan asks for and concludes.
///
/// `stop` ends the run early with the result of what was done.
///
/// # Errors
/// [`MeasureError`]; requests that fail on a target are part of the result instead.
pub fn measure(
    plan: &Plan,
    roots: &Roots,
    stop: &Stop,
    observer: &mut Observer<'_>,
) -> Result<MeasureResult, MeasureError> {
    let mut session = Session::open(plan, roots)?;
    let result = if session.clock.is_virtual() {
        // No disk waits in virtual time, and a repeated run is to be told alike.
        measure_session(plan, &session, roots, stop, observer)
    } else {
        beside(observer, |observer| {
            measure_session(plan, &session, roots, stop, observer)
        })
    };
    if result.is_ok() {
        session.created.keep();
    }
    result
}

/// Lets the faces draw in a thread of their own: a terminal that has been stopped must not stop the
/// disks. Moments that nobody draws in time are dropped; what must not be lost waits.
fn beside<T>(observer: &mut Observer<'_>, work: impl FnOnce(&mut Observer<'_>) -> T) -> T {
    let (sender, events) = crossbeam_channel::unbounded();
    std::thread::scope(|scope| {
        scope.spawn(move || events.iter().for_each(observer));
        // It goes with the work's end, which ends the thread.
        let mut tell = move |event: Event| {
            let dropped = matches!(event, Event::Live(_)) && sender.len() >= EVENTS_WAITING_MAX;
            if !dropped {
                // The other end closes only when the observer has panicked.
                let _ = sender.send(event);
            }
        };
        let result = work(&mut tell);
        drop(tell);
        result
    })
}

fn measure_session(
    plan: &Plan,
    session: &Session,
    roots: &Roots,
    stop: &Stop,
    observer: &mut Observer<'_>,
) -> Result<MeasureResult, MeasureError> {
    for note in &session.notes {
        observer(Event::Note(note.clone()));
    }
    let host = host(session, roots);
    let mut run = Run {
        plan,
        session,
        stop,
        alongside: Alongside::start(roots, &session.clock, &host.devices),
    };
    if let Some(why) = run.alongside.unreadable() {
        observer(Event::Note(why.to_owned()));
    }
    run.prewrite(observer)?;
    run.idle(Phase::Before, observer);
    let started_unix_s = unix_seconds();
    let (outcome, threads, start) = run.measure(observer)?;
    run.idle(Phase::After, observer);
    let recommended = recommend(plan, session, &outcome);
    let recommendation = match recommended {
        Some(recommended) => Some(run.confirm(recommended, &outcome, threads, observer)?),
        None => None,
    };
    let system = run.alongside.finish(start);
    Ok(conclude(Conclusion {
        plan,
        session,
        outcome,
        threads,
        recommendation,
        host,
        system,
        started_unix_s,
    }))
}

struct Run<'a> {
    plan: &'a Plan,
    session: &'a Session,
    stop: &'a Stop,
    alongside: Alongside,
}

impl Run<'_> {
    fn idle_ns(&self) -> u64 {
        match self.plan.time_ns {
            Some(time_ns) if time_ns < SHORT_RUN_NS => IDLE_NS / 2,
            _ => IDLE_NS,
        }
    }

    /// Watches the system without the run's own load.
    fn idle(&mut self, phase: Phase, observer: &mut Observer<'_>) {
        let mut tell = |idle: Idle| {
            observer(Event::Live(Live {
                phase,
                elapsed_s: idle.elapsed_s,
                remaining_s: Some(idle.remaining_s),
                done: None,
                targets: Vec::new(),
            }));
        };
        let for_ns = self.idle_ns();
        self.alongside.idle(for_ns, self.stop, &mut tell);
    }

    fn operation(&self) -> Operation {
        match self.session.direction {
            Direction::Read => Operation::Read,
            Direction::Write => Operation::Write,
        }
    }

    /// The run as the plan has it.
    fn setup(&self, threads: u32) -> PhaseSetup {
        let plan = self.plan;
        let targets: Vec<usize> = (0..self.session.targets.len()).collect();
        PhaseSetup {
            phase: Phase::Measure,
            positions_bytes: vec![0; targets.len()],
            lap_bytes: self.session.targets.iter().map(lap_bytes).collect(),
            targets,
            operation: self.operation(),
            record_bytes: plan.record_bytes,
            depth: plan.depth,
            engine: plan.engine,
            threads,
            layout: plan.layout,
            flush_at_end: plan.path == DataPath::Buffered && self.operation() == Operation::Write,
            interval: plan.interval,
            time_ns: plan.time_ns,
            bytes: plan.bytes,
            rate_bytes_per_s: plan.rate_bytes_per_s,
            data_seed: plan.fresh_data.then_some(plan.seed),
            extent_bytes: None,
            wraps: None,
            until_steady: plan.until_steady,
            may_start_anew: false,
        }
    }

    fn run_phase(
        &mut self,
        setup: &PhaseSetup,
        observer: &mut Observer<'_>,
    ) -> Result<(PhaseOutcome, Timestamp), Error> {
        let mut started = self.session.clock.now();
        let alongside = &mut self.alongside;
        let mut tick = |start: Timestamp, now: Timestamp| {
            started = start;
            alongside.tick(now);
        };
        let outcome = phase::run(self.session, setup, self.stop, observer, &mut tick)?;
        Ok((outcome, started))
    }

    fn prewrite(&mut self, observer: &mut Observer<'_>) -> Result<(), MeasureError> {
        let targets: Vec<usize> = (0..self.session.targets.len())
            .filter(|index| self.session.targets[*index].needs_prewrite)
            .collect();
        if targets.is_empty() {
            return Ok(());
        }
        let setup = PhaseSetup {
            phase: Phase::Prewrite,
            positions_bytes: vec![0; targets.len()],
            lap_bytes: vec![None; targets.len()],
            targets,
            operation: Operation::Write,
            record_bytes: PREWRITE_RECORD_BYTES,
            depth: PREWRITE_DEPTH,
            engine: EngineChoice::Auto,
            layout: Layout::Independent,
            flush_at_end: true,
            time_ns: None,
            bytes: None,
            rate_bytes_per_s: None,
            data_seed: Some(self.plan.seed ^ 1),
            wraps: Some(false),
            until_steady: false,
            ..self.setup(1)
        };
        let (outcome, _) = self.run_phase(&setup, observer)?;
        for (series, target) in outcome.collected.targets.iter().zip(&setup.targets) {
            if let Some(failure) = series.failures.first() {
                let name = &self.session.targets[*target].target.name;
                return Err(MeasureError::Prewrite(crate::conclude::request_error(
                    failure, name,
                )));
            }
        }
        self.forget_cached();
        Ok(())
    }

    /// What was just written must not be read back from memory.
    fn forget_cached(&self) {
        for target in &self.session.targets {
            if let Some(file) = &target.target.file {
                // Advice only: direct I/O does not need it, and failing it changes no result.
                let _ = rustix::fs::fadvise(file, 0, None, rustix::fs::Advice::DontNeed);
            }
        }
    }

    /// The run itself; again with more drivers if one of them turns out to be the limit.
    fn measure(
        &mut self,
        observer: &mut Observer<'_>,
    ) -> Result<(PhaseOutcome, u32, Timestamp), MeasureError> {
        let processors = std::thread::available_parallelism().map_or(1, |count| count.get() as u32);
        let real = self
            .session
            .targets
            .iter()
            .filter(|target| target.simulated.is_none())
            .count() as u32;
        let most = processors.min(real).max(1);
        let mut threads = self.plan.threads.unwrap_or(1);
        loop {
            let can_grow = self.plan.threads.is_none()
                && self.plan.layout == Layout::Independent
                && threads < most;
            let setup = PhaseSetup {
                may_start_anew: can_grow,
                ..self.setup(threads)
            };
            let (outcome, start) = self.run_phase(&setup, observer)?;
            if !outcome.started_anew || self.stop.reason().is_some() {
                return Ok((outcome, threads, start));
            }
            threads = (threads * 2).min(most);
            observer(Event::Note(format!(
                "one driver had no CPU time left after a second: starting anew with {threads} drivers"
            )));
        }
    }

    /// A run paced at the recommended rate.
    fn confirm(
        &mut self,
        recommended: Recommendation,
        outcome: &PhaseOutcome,
        threads: u32,
        observer: &mut Observer<'_>,
    ) -> Result<Recommendation, MeasureError> {
        if !self.plan.confirm || self.stop.reason().is_some() {
            return Ok(recommended);
        }
        let time_ns = self
            .plan
            .time_ns
            .unwrap_or(outcome.wall_ns)
            .min(CONFIRM_NS_MAX);
        let setup = PhaseSetup {
            phase: Phase::Confirm,
            rate_bytes_per_s: Some(recommended.rate_bytes_per_s),
            time_ns: Some(time_ns),
            bytes: None,
            until_steady: false,
            wraps: Some(true),
            extent_bytes: self.extent_bytes(),
            positions_bytes: match self.plan.bytes {
                Some(_) => vec![0; self.session.targets.len()],
                None => self.positions_after(outcome),
            },
            ..self.setup(threads)
        };
        let (confirming, _) = self.run_phase(&setup, observer)?;
        if self.stop.reason().is_some() {
            return Ok(recommended);
        }
        let collected = &confirming.collected;
        let backlog = collected.backlog_bytes_max.unwrap_or(0.0).ceil() as u64;
        let failed = collected
            .targets
            .iter()
            .any(|series| !series.failures.is_empty());
        Ok(Recommendation {
            confirmed: Some(backlog <= self.plan.buffer_bytes && !failed),
            held_seconds: Some(time_ns as f64 / 1e9),
            backlog_max_bytes: Some(backlog),
            ..recommended
        })
    }

    /// With `--bytes`, what the run has touched: the confirming run goes over it again, no further.
    fn extent_bytes(&self) -> Option<u64> {
        let unit = match self.plan.layout {
            Layout::Stripe { chunk_bytes } => chunk_bytes.max(self.plan.record_bytes),
            Layout::Independent | Layout::Span => self.plan.record_bytes,
        };
        Some(self.plan.bytes?.next_multiple_of(unit))
    }

    /// Where the streams stood at the end of the run.
    fn positions_after(&self, outcome: &PhaseOutcome) -> Vec<u64> {
        let record = self.plan.record_bytes;
        let moved = |index: usize| outcome.meters[index].bytes();
        let in_stream = |bytes: u64, size: u64| (bytes / record * record) % size.max(record);
        if self.plan.layout == Layout::Independent {
            return self
                .session
                .targets
                .iter()
                .enumerate()
                .map(|(index, target)| in_stream(moved(index), target.size_bytes))
                .collect();
        }
        let all: u64 = (0..self.session.targets.len()).map(moved).sum();
        let size = self
            .session
            .targets
            .iter()
            .fold(0u64, |sum, target| sum.saturating_add(target.size_bytes));
        vec![in_stream(all, size / record * record); self.session.targets.len()]
    }
}

/// After how many bytes a target comes back to its start.
fn lap_bytes(target: &OpenTarget) -> Option<u64> {
    (target.wraps && target.target.kind != TargetKind::Null).then_some(target.size_bytes)
}

/// The machine, and the disks under the targets.
fn host(session: &Session, roots: &Roots) -> Host {
    let places = session.targets.iter();
    let places = places.map(|target| (&target.target, target.path.as_deref()));
    let devices = devices_under(places, roots);
    let mut file_systems = Vec::new();
    for target in &session.targets {
        let is_file = matches!(
            target.target.kind,
            TargetKind::File | TargetKind::ScratchFile
        );
        if let Some(path) = target.path.as_ref().filter(|_| is_file)
            && let Ok(file_system) = FileSystem::of(roots, path)
        {
            let name = target.target.name.clone();
            file_systems.push(TargetFileSystem {
                target: name,
                file_system,
            });
        }
    }
    let description = if session.clock.is_virtual() {
        None
    } else {
        sustain_host::Description::read(roots).ok()
    };
    Host {
        description,
        devices,
        file_systems,
    }
}
