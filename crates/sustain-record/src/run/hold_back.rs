//! Others held back while a recording needs its disks, if that was asked for. It has a thread of
//! its own, because limits are set by writing to the kernel, which may take its time.

use std::path::PathBuf;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use sustain_disk::clock::Clock;
use sustain_disk::engine::take_cpu_priority;
use sustain_document::block_device::BlockDevice;
use sustain_document::hold_back::HoldBackResult;
use sustain_hold_back::{HoldBack, HoldBackError, HoldBackSetup};
use sustain_host::{DeviceNumber, Roots};
use sustain_targets::{RecordersBeside, check_runtime_directory, runtime_directory, whole_disks};

use super::RecordPlan;
use super::need::usual_bytes;
use crate::recorder::BufferGauge;
use crate::store::Store;

/// The kernel accounts for limits in steps of this length.
const STEP: Duration = Duration::from_millis(100);
/// Part of the buffer at which the backlog is held.
const TARGET_PART: u64 = 16;

/// What comes of the wish to hold others back.
pub(super) struct HoldingBack {
    ready: Option<HoldBack>,
    /// Other recorders, which are spared.
    beside: Option<RecordersBeside>,
    running: Option<HoldingThread>,
    rehearsed: Option<HoldBackResult>,
}

/// The thread, which ends when nobody can tell it anything any more.
struct HoldingThread {
    end: Sender<()>,
    thread: JoinHandle<HoldBackResult>,
}

impl HoldingBack {
    /// Prepares what the plan asks for. What is in the way is told, and ends no recording.
    pub(super) fn prepare(
        plan: &RecordPlan,
        store: &Store,
        devices: &[BlockDevice],
        roots: &Roots,
    ) -> HoldingBack {
        let mut holding = HoldingBack {
            ready: None,
            beside: None,
            running: None,
            rehearsed: None,
        };
        let Some(supervisor) = &plan.hold_back else {
            return holding;
        };
        let ready = runtime_directory()
            .map_err(HoldBackError::Directory)
            .and_then(|directory| {
                let setup = setup(plan, devices, store, directory);
                let rehearsed = HoldBack::rehearse(&setup, roots)?;
                Ok((rehearsed, HoldBack::start(&setup, supervisor, roots)?))
            });
        holding.beside = Some(RecordersBeside::on(numbers(devices)));
        match ready {
            Ok((rehearsed, ready)) => {
                holding.rehearsed = Some(rehearsed);
                holding.ready = Some(ready);
            }
            Err(error) => holding.rehearsed = Some(refused(&error)),
        }
        holding
    }

    /// Starts to hold others back, as this buffer fills.
    pub(super) fn watch(&mut self, gauge: BufferGauge, has_priority: bool) {
        let (Some(hold_back), Some(beside)) = (self.ready.take(), self.beside.take()) else {
            return;
        };
        let (end, is_ended) = channel();
        let follow = move || {
            if has_priority {
                // Whoever holds back those that use every CPU must not wait for them.
                let _ = take_cpu_priority();
            }
            follow(hold_back, beside, &gauge, || is_ended.recv_timeout(STEP))
        };
        let thread = std::thread::Builder::new().name("sustain-hold".to_owned());
        match thread.spawn(follow) {
            Ok(thread) => self.running = Some(HoldingThread { end, thread }),
            Err(error) => {
                self.rehearsed = Some(refused(&HoldBackError::Supervisor(error)));
            }
        }
    }

    /// What can be said before the first byte.
    pub(super) fn rehearsed(&self) -> Option<HoldBackResult> {
        self.rehearsed.clone()
    }

    /// Puts every limit back, and tells what was done.
    pub(super) fn finish(mut self) -> Option<HoldBackResult> {
        self.end().or(self.rehearsed.take())
    }

    fn end(&mut self) -> Option<HoldBackResult> {
        let HoldingThread { end, thread } = self.running.take()?;
        drop(end);
        thread.join().ok()
    }
}

impl Drop for HoldingBack {
    fn drop(&mut self) {
        // A recording that failed leaves no limits either.
        let _ = self.end();
    }
}

/// What would be held back, and nothing else.
pub(super) fn rehearsed(
    plan: &RecordPlan,
    devices: &[BlockDevice],
    store: &Store,
    roots: &Roots,
) -> Option<HoldBackResult> {
    plan.hold_back.as_ref()?;
    let rehearsed = check_runtime_directory()
        .map_err(HoldBackError::Directory)
        .and_then(|()| {
            let setup = setup(plan, devices, store, PathBuf::new());
            HoldBack::rehearse(&setup, roots)
        });
    Some(rehearsed.unwrap_or_else(|error| refused(&error)))
}

fn follow(
    mut hold_back: HoldBack,
    mut beside: RecordersBeside,
    gauge: &BufferGauge,
    wait: impl Fn() -> Result<(), RecvTimeoutError>,
) -> HoldBackResult {
    let clock = Clock::Real;
    let start = clock.now();
    while wait() == Err(RecvTimeoutError::Timeout) {
        let mut others = beside.processes();
        others.retain(|process| *process != std::process::id());
        hold_back.spare(&others);
        hold_back.step(clock.now().since_ns(start), gauge.used_bytes());
    }
    hold_back.finish()
}

fn numbers(devices: &[BlockDevice]) -> Vec<DeviceNumber> {
    let disks = whole_disks(devices).into_iter();
    disks.map(|(_, number)| number).collect()
}

fn setup(
    plan: &RecordPlan,
    devices: &[BlockDevice],
    store: &Store,
    directory: PathBuf,
) -> HoldBackSetup {
    let options = &plan.options;
    let usual_bytes = usual_bytes(plan, store);
    let target_bytes = (options.buffer_bytes / TARGET_PART).max(usual_bytes);
    HoldBackSetup {
        devices: whole_disks(devices),
        target_bytes: target_bytes.min(options.buffer_bytes / 2),
        directory,
    }
}

fn refused(error: &HoldBackError) -> HoldBackResult {
    let mut words = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        words.push_str(&format!(": {error}"));
        cause = error.source();
    }
    HoldBackResult {
        refused: Some(words),
        ..HoldBackResult::default()
    }
}
