//! Tells our own readers on the same disks what waits for them, twenty times a second, so that they
//! yield. A reader costs a recorder most when it comes without a word.

use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use sustain_document::block_device::BlockDevice;
use sustain_targets::{PublishedNeed, runtime_directory, whole_disks};

use super::RecordPlan;
use crate::recorder::{Recorder, append_bytes};
use crate::store::Store;

const EVERY: Duration = Duration::from_millis(50);

/// What waits is told as long as this lives.
pub(super) struct NeedPublisher {
    end: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl NeedPublisher {
    /// Begins to tell. Where it cannot be told nothing else is lost, and nobody is bothered.
    pub(super) fn start(
        plan: &RecordPlan,
        devices: &[BlockDevice],
        usual_bytes: u64,
        recorder: &Recorder,
    ) -> NeedPublisher {
        let (gauge, board) = (recorder.gauge(), recorder.board());
        let disks: Vec<_> = whole_disks(devices)
            .into_iter()
            .map(|(_, number)| number)
            .collect();
        let need = (!disks.is_empty())
            .then(|| PublishedNeed::create(&runtime_directory().ok()?, &disks).ok())
            .flatten();
        let Some(mut need) = need else {
            return NeedPublisher {
                end: None,
                thread: None,
            };
        };
        let buffer_bytes = plan.options.buffer_bytes;
        let (end, is_ended) = channel();
        let publish = move || {
            while is_ended.recv_timeout(EVERY) == Err(RecvTimeoutError::Timeout) {
                // What waits until a pin is freed waits for no disk.
                let pins = board.read().pins;
                let waiting_bytes = match pins.is_some_and(|pins| pins.leave_nothing) {
                    true => 0,
                    false => gauge.used_bytes().saturating_sub(usual_bytes),
                };
                if need.publish(waiting_bytes, buffer_bytes).is_err() {
                    return;
                }
            }
        };
        let thread = std::thread::Builder::new().name("sustain-need".to_owned());
        NeedPublisher {
            end: Some(end),
            thread: thread.spawn(publish).ok(),
        }
    }
}

impl Drop for NeedPublisher {
    fn drop(&mut self) {
        self.end.take();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// What is in use while the disks keep up: an append that each stream fills, and two that each
/// member has in flight. It is no backlog.
pub(super) fn usual_bytes(plan: &RecordPlan, store: &Store) -> u64 {
    let appends = (plan.sources.len() + 2 * store.members.len()) as u64;
    appends * u64::from(append_bytes(store, &plan.options))
}
