//! Open targets, ready to be driven: watches the idle system, prewrites files, and runs phases on
//! them. The experiments order here what happens when.

use sustain_disk::clock::Timestamp;
use sustain_disk::data::DataKind;
use sustain_disk::engine::{EngineChoice, Operation};
use sustain_disk::error::Error;
use sustain_disk::layout::Layout;
use sustain_disk::meter::Meter;
use sustain_disk::target::{DataPath, Direction, TargetKind};
use sustain_targets::{Idle, Monitor, Stop};

use crate::closing_flush::ClosingFlush;
use crate::error::LoadError;
use crate::event::{Event, Live, Observer, Phase};
use crate::open_target::OpenTarget;
use crate::phase::{self, PhaseOutcome};
use crate::plan::LoadPlan;
use crate::session::Session;
use crate::setup::PhaseSetup;

/// Idle time that is watched before and after a run.
const IDLE_NS: u64 = 2_000_000_000;
/// Shorter runs are watched for half of that.
const SHORT_RUN_NS: u64 = 10_000_000_000;
/// Prewriting uses records of this size, whatever the run uses.
const PREWRITE_RECORD_BYTES: u64 = 1 << 20;
const PREWRITE_DEPTH: u32 = 8;

/// Open targets, ready to be driven.
pub struct PreparedTargets<'a> {
    /// What was asked for.
    pub plan: &'a LoadPlan,
    /// The open targets.
    pub session: &'a Session,
    /// The user's wish to end.
    pub stop: &'a Stop,
    /// The monitor of the system.
    pub monitor: &'a mut Monitor,
}

impl PreparedTargets<'_> {
    /// How long the system is watched before and after the run.
    pub fn idle_ns(&self) -> u64 {
        match self.plan.time_ns {
            Some(time_ns) if time_ns < SHORT_RUN_NS => IDLE_NS / 2,
            _ => IDLE_NS,
        }
    }

    /// Watches the system for so long without the run's own load.
    pub fn idle(&mut self, phase: Phase, for_ns: u64, observer: &mut Observer<'_>) {
        let mut report = |idle: Idle| {
            observer(Event::Live(Live {
                phase,
                elapsed_s: idle.elapsed_s,
                remaining_s: Some(idle.remaining_s),
                then_s: None,
                done: None,
                targets: Vec::new(),
            }));
        };
        self.monitor.idle(for_ns, self.stop, &mut report);
    }

    /// Whether the session reads or writes.
    pub fn operation(&self) -> Operation {
        match self.session.direction {
            Direction::Read => Operation::Read,
            Direction::Write => Operation::Write,
        }
    }

    /// The setup of the plan's run.
    pub fn setup(&self, threads: u32) -> PhaseSetup {
        self.setup_by(self.plan.path, threads)
    }

    /// The setup of the same run with this I/O path, to which the targets must have been switched.
    pub fn setup_by(&self, path: DataPath, threads: u32) -> PhaseSetup {
        let plan = self.plan;
        let targets: Vec<usize> = (0..self.session.targets.len()).collect();
        let is_written_through_memory =
            path == DataPath::Buffered && self.operation() == Operation::Write;
        PhaseSetup {
            phase: Phase::Measure,
            positions_bytes: targets
                .iter()
                .map(|target| self.session.targets[*target].start_bytes(plan))
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
            regions: Vec::new(),
            read_back: Vec::new(),
            extent_bytes: None,
            wraps: None,
            // Requests that complete in memory do not show when the disk is steady.
            until_steady: plan.until_steady && !is_written_through_memory,
            may_start_anew: false,
            dummy: None,
        }
    }

    /// Runs one phase, while the monitor watches the system. Returns its outcome and its start.
    ///
    /// # Errors
    /// [`Error`] if the engine cannot be opened or breaks.
    pub fn run_phase(
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
        let own = names.iter().map(|name| (*name, direction));
        let read_back = names.iter().map(|name| (*name, Direction::Read));
        let members: Vec<(&str, Direction)> = own.chain(read_back).collect();
        let mut reported = vec![0; members.len()];
        let mut report = |monitor: &mut Monitor, bytes: &[u64]| {
            for (((name, direction), reported), bytes) in
                members.iter().zip(&mut reported).zip(bytes)
            {
                let more = bytes.saturating_sub(std::mem::replace(reported, *bytes));
                monitor.drove(name, *direction, more);
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
            report(monitor, bytes);
            monitor.tick(now);
            let waits = fills_cache && stop.reason().is_some();
            if waits {
                unwritten.get_or_insert_with(|| stop.flush());
            }
            waits.then(|| closing.words(now, monitor.unwritten_bytes()))?
        };
        let outcome = phase::run(session, setup, stop, observer, &mut tick)?;
        let read_back = outcome.read_back.iter();
        let meters = outcome
            .meters
            .iter()
            .chain(read_back.flat_map(|read| &read.meters));
        let bytes: Vec<u64> = meters.map(Meter::bytes).collect();
        report(self.monitor, &bytes);
        let mut targets = outcome.collected.targets.iter();
        let is_flushed = setup.flush_at_end && targets.all(|series| series.failures.is_empty());
        if through_memory && is_flushed {
            self.monitor.flushed();
        }
        Ok((outcome, started))
    }

    /// Runs a phase, and repeats it with more drivers if one of them turns out to be the limit.
    /// `change` derives its setup from that of the plan's run. Returns the outcome, the number of
    /// drivers, and the start.
    ///
    /// # Errors
    /// As for [`PreparedTargets::run_phase`].
    pub fn run_with_threads(
        &mut self,
        change: impl Fn(PhaseSetup) -> PhaseSetup,
        observer: &mut Observer<'_>,
    ) -> Result<(PhaseOutcome, u32, Timestamp), LoadError> {
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

    /// Writes once what must have been written before it is measured.
    ///
    /// # Errors
    /// [`LoadError::Prewrite`] if a request fails.
    pub fn prewrite(&mut self, observer: &mut Observer<'_>) -> Result<(), LoadError> {
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
                return Err(LoadError::Prewrite(failure.on(name)));
            }
        }
        forget_cached(self.session);
        Ok(())
    }
}

/// Drops what was just written from memory, so that it is not read back from there.
pub fn forget_cached(session: &Session) {
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
