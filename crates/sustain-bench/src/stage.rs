//! Prepares targets and runs phases on them, as every command that drives disks does: observers run
//! beside the work, the monitor watches the system, files are prewritten, and a phase is run. The
//! commands order here what happens when.

use std::path::Path;

use sustain_disk::clock::Timestamp;
use sustain_disk::data::DataKind;
use sustain_disk::engine::{EngineChoice, Operation};
use sustain_disk::error::Error;
use sustain_disk::layout::Layout;
use sustain_disk::meter::Meter;
use sustain_disk::target::{DataPath, Direction, TargetKind};
use sustain_document::host::{Host, TargetFileSystem};
use sustain_host::{Roots, file_system_of};
use sustain_session::{
    Counted, Growing, Idle, Monitor, Stop, counted, devices_under, fit_free_space,
};

use crate::closing_flush::ClosingFlush;
use crate::effect;
use crate::error::MeasureError;
use crate::event::{Event, Live, Observer, Phase};
use crate::observer::{RunObserver, beside};
use crate::phase::{self, PhaseOutcome};
use crate::plan::MeasurePlan;
use crate::position::start_bytes;
use crate::session::{OpenTarget, Session};
use crate::setup::PhaseSetup;

/// Idle time that is watched before and after a run.
const IDLE_NS: u64 = 2_000_000_000;
/// Shorter runs are watched for half of that.
const SHORT_RUN_NS: u64 = 10_000_000_000;
/// Prewriting uses records of this size, whatever the run uses.
const PREWRITE_RECORD_BYTES: u64 = 1 << 20;
const PREWRITE_DEPTH: u32 = 8;

/// What a run has at its disposal when its work begins.
pub(crate) struct StageStart<'a> {
    pub(crate) session: &'a mut Session,
    /// The monitor of the system, which has begun to watch.
    pub(crate) monitor: &'a mut Monitor,
    /// The machine as it is now.
    pub(crate) host: Host,
}

/// Lets a run do its work on open targets while observers draw it. First they are given the notes
/// for the user. Files that were created for the run are kept if it has a result.
///
/// # Errors
/// The error of the work.
pub(crate) fn on_stage<E: RunObserver, T>(
    session: &mut Session,
    roots: &Roots,
    observer: &mut (dyn FnMut(E) + Send),
    work: impl FnOnce(StageStart<'_>, &mut (dyn FnMut(E) + Send)) -> Result<T, MeasureError>,
) -> Result<T, MeasureError> {
    let clock = session.clock.clone();
    let result = beside(&clock, observer, |observer| {
        let host = host(session, roots);
        let mut monitor = Monitor::start(roots, &clock, &host.devices, once(session, roots));
        let unreadable = monitor.unreadable().map(str::to_owned);
        for note in session.notes.iter().cloned().chain(unreadable) {
            observer(E::note(note));
        }
        let begun = StageStart {
            session,
            monitor: &mut monitor,
            host,
        };
        work(begun, observer)
    });
    if result.is_ok() {
        session.created.keep();
    }
    result
}

/// Open targets, ready to be driven.
pub(crate) struct PreparedTargets<'a> {
    pub(crate) plan: &'a MeasurePlan,
    pub(crate) session: &'a Session,
    pub(crate) stop: &'a Stop,
    pub(crate) monitor: &'a mut Monitor,
}

impl PreparedTargets<'_> {
    fn idle_ns(&self) -> u64 {
        if self.plan.effect.is_some() {
            return effect::idle_ns(self.plan);
        }
        match self.plan.time_ns {
            Some(time_ns) if time_ns < SHORT_RUN_NS => IDLE_NS / 2,
            _ => IDLE_NS,
        }
    }

    /// Watches the system without the run's own load.
    pub(crate) fn idle(&mut self, phase: Phase, observer: &mut Observer<'_>) {
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
        self.monitor.idle(for_ns, self.stop, &mut tell);
    }

    pub(crate) fn operation(&self) -> Operation {
        match self.session.direction {
            Direction::Read => Operation::Read,
            Direction::Write => Operation::Write,
        }
    }

    /// The setup of the plan's run.
    pub(crate) fn setup(&self, threads: u32) -> PhaseSetup {
        self.setup_by(self.plan.path, threads)
    }

    /// The setup of the same run with this I/O path, to which the targets must have been switched.
    pub(crate) fn setup_by(&self, path: DataPath, threads: u32) -> PhaseSetup {
        let plan = self.plan;
        let targets: Vec<usize> = (0..self.session.targets.len()).collect();
        let is_written_through_memory =
            path == DataPath::Buffered && self.operation() == Operation::Write;
        PhaseSetup {
            phase: Phase::Measure,
            positions_bytes: targets
                .iter()
                .map(|target| start_bytes(plan, &self.session.targets[*target]))
                .collect(),
            lap_bytes: self.session.targets.iter().map(lap_bytes).collect(),
            targets,
            operation: self.operation(),
            record_bytes: plan.record_bytes,
            depth: plan.depth,
            engine: plan.engine,
            path,
            threads,
            layout: plan.layout,
            flush_at_end: is_written_through_memory,
            interval: plan.interval,
            time_ns: plan.time_ns,
            bytes: plan.bytes,
            rate_bytes_per_s: plan.rate_bytes_per_s,
            data: plan.data,
            data_seed: plan.seed,
            extent_bytes: None,
            wraps: None,
            // Requests that complete in memory do not show when the disk is steady.
            until_steady: plan.until_steady && !is_written_through_memory,
            may_start_anew: false,
            dummy: None,
        }
    }

    pub(crate) fn run_phase(
        &mut self,
        setup: &PhaseSetup,
        observer: &mut Observer<'_>,
    ) -> Result<(PhaseOutcome, Timestamp), Error> {
        if setup.path == DataPath::Buffered && setup.operation == Operation::Read {
            // Data that a copy has just left in memory would be read from there.
            sync_and_forget(self.session);
        }
        let through_memory =
            setup.path == DataPath::Buffered && setup.operation == Operation::Write;
        if through_memory {
            self.monitor.writes_through_memory();
        }
        let mut started = self.session.clock.now();
        let monitor = &mut *self.monitor;
        let session = self.session;
        let name = |target: &usize| session.targets[*target].target.name.as_str();
        let names: Vec<&str> = setup.targets.iter().map(name).collect();
        let direction = match setup.operation {
            Operation::Read => Direction::Read,
            _ => Direction::Write,
        };
        let mut told = vec![0; names.len()];
        let mut tell = |monitor: &mut Monitor, bytes: &[u64]| {
            for ((name, told), bytes) in names.iter().zip(&mut told).zip(bytes) {
                let more = bytes.saturating_sub(std::mem::replace(told, *bytes));
                monitor.drove(name, direction, more);
            }
        };
        let stop = self.stop;
        let fills_cache = setup.path == DataPath::Buffered && direction == Direction::Write;
        let mut closing = ClosingFlush::default();
        // Whatever ends the process from now on waits until the kernel has written all that is for
        // a device. Of a scratch file, which is gone with the process, it waits for a flush alone.
        let mut targets = setup.targets.iter();
        let is_device =
            |target: &usize| session.targets[*target].target.kind == TargetKind::BlockDevice;
        let keeps = fills_cache && targets.any(is_device);
        let mut unwritten = keeps.then(|| stop.flush());
        let mut tick = |start: Timestamp, now: Timestamp, bytes: &[u64]| {
            started = start;
            tell(monitor, bytes);
            monitor.tick(now);
            let waits = fills_cache && stop.reason().is_some();
            if waits {
                unwritten.get_or_insert_with(|| stop.flush());
            }
            waits.then(|| closing.words(now, monitor.unwritten_bytes()))?
        };
        let outcome = phase::run(session, setup, stop, observer, &mut tick)?;
        let bytes: Vec<u64> = outcome.meters.iter().map(Meter::bytes).collect();
        tell(self.monitor, &bytes);
        let mut targets = outcome.collected.targets.iter();
        let is_flushed = setup.flush_at_end && targets.all(|series| series.failures.is_empty());
        if through_memory && is_flushed {
            self.monitor.flushed();
        }
        Ok((outcome, started))
    }

    /// Runs a phase, and repeats it with more drivers if one of them turns out to be the limit.
    /// `change` derives its setup from that of the plan's run.
    pub(crate) fn run_with_threads(
        &mut self,
        change: impl Fn(PhaseSetup) -> PhaseSetup,
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
            let setup = change(PhaseSetup {
                may_start_anew: can_grow,
                ..self.setup(threads)
            });
            let (outcome, start) = self.run_phase(&setup, observer)?;
            if !outcome.started_anew || self.stop.reason().is_some() {
                return Ok((outcome, threads, start));
            }
            threads = (threads * 2).min(most);
            observer(Event::Note(format!(
                "a driver had no CPU time left after one second: starting again with {threads} \
                 drivers"
            )));
        }
    }

    pub(crate) fn prewrite(&mut self, observer: &mut Observer<'_>) -> Result<(), MeasureError> {
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
            path: DataPath::Direct,
            layout: Layout::Independent,
            flush_at_end: true,
            time_ns: None,
            bytes: None,
            rate_bytes_per_s: None,
            data: DataKind::Fresh,
            data_seed: self.plan.seed ^ 1,
            wraps: Some(false),
            until_steady: false,
            ..self.setup(1)
        };
        let (outcome, _) = self.run_phase(&setup, observer)?;
        for (series, target) in outcome.collected.targets.iter().zip(&setup.targets) {
            if let Some(failure) = series.failures.first() {
                let name = &self.session.targets[*target].target.name;
                return Err(MeasureError::Prewrite(crate::figures::request_error(
                    failure, name,
                )));
            }
        }
        forget_cached(self.session);
        Ok(())
    }
}

/// Drops what was just written from memory, so that it is not read back from there.
pub(crate) fn forget_cached(session: &Session) {
    for target in &session.targets {
        if let Some(file) = &target.target.file {
            // This is only advice: direct I/O does not need it, and a failure changes no result.
            let _ = rustix::fs::fadvise(file, 0, None, rustix::fs::Advice::DontNeed);
        }
    }
}

/// The same for data that other programs may have written and that is not on the disk yet, because
/// the kernel drops only data that is.
fn sync_and_forget(session: &Session) {
    for target in &session.targets {
        if let Some(file) = &target.target.file {
            let _ = rustix::fs::fdatasync(file);
        }
    }
    forget_cached(session);
}

/// The number of bytes after which a target comes back to its start.
fn lap_bytes(target: &OpenTarget) -> Option<u64> {
    (target.wraps && target.target.kind != TargetKind::Null).then_some(target.size_bytes)
}

/// The devices whose counters see each request to the targets exactly once.
fn once(session: &Session, roots: &Roots) -> Counted {
    let places = session.targets.iter();
    let places = places.map(|target| (&target.target, target.path.as_deref()));
    counted(places, roots)
}

/// The machine, with the disks under the targets.
fn host(session: &Session, roots: &Roots) -> Host {
    let places = session.targets.iter();
    let places = places.map(|target| (&target.target, target.path.as_deref()));
    let devices = devices_under(places, roots);
    let file_systems = file_systems(session, roots);
    let description = if session.clock.is_virtual() {
        None
    } else {
        sustain_host::describe_host(roots).ok()
    };
    Host {
        description,
        devices,
        file_systems,
    }
}

/// The file systems of the files among the targets, and the sizes that the files may reach there.
fn file_systems(session: &Session, roots: &Roots) -> Vec<TargetFileSystem> {
    let is_file = |target: &&OpenTarget| {
        matches!(
            target.target.kind,
            TargetKind::File | TargetKind::ScratchFile
        )
    };
    let files = session.targets.iter().filter(is_file);
    let files = files.filter_map(|file| Some((file, file.path.as_deref()?)));
    let files: Vec<(&OpenTarget, &Path)> = files.collect();
    let growing = files.iter().map(|(file, path)| Growing {
        target: &file.target,
        path,
        wanted_bytes: u64::MAX,
        unit_bytes: 1,
    });
    let growing: Vec<Growing<'_>> = growing.collect();
    // If a file system does not report its free space, that space is unknown, and the target is
    // measured nevertheless.
    let rooms = fit_free_space(&growing).unwrap_or_else(|_| vec![None; files.len()]);
    let found = files.iter().zip(rooms).filter_map(|((file, path), room)| {
        Some(TargetFileSystem {
            target: file.target.name.clone(),
            file_system: file_system_of(roots, path).ok()?,
            room_bytes: room.map(|fitted| fitted.size_bytes),
        })
    });
    found.collect()
}
