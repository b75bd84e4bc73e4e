//! The simplest engine: each request is a blocking call in the calling thread, with the targets in
//! turn. It does what `dd oflag=direct` does, and shows how much asynchrony gains.

use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::transfer::EngineTransfer;
use super::{Completion, Engine, Request, TargetFiles, Until, Waker};
use crate::clock::{Clock, Timestamp};
use crate::error::Error;

/// How often a wait without work checks for a wake-up.
const LOOK_NS: u64 = 1_000_000;

/// One thread, one request.
#[derive(Debug)]
pub struct SyncEngine {
    files: TargetFiles,
    clock: Clock,
    complete: Vec<Completion>,
    woken: Arc<AtomicBool>,
}

impl SyncEngine {
    /// An engine over open files.
    pub fn open(files: TargetFiles, clock: Clock) -> SyncEngine {
        SyncEngine {
            files,
            clock,
            complete: Vec::new(),
            woken: Arc::default(),
        }
    }
}

impl Engine for SyncEngine {
    fn name(&self) -> &'static str {
        "sync"
    }

    fn describe(&self) -> String {
        "one blocking request at a time, targets in turn".to_owned()
    }

    fn submit(&mut self, request: Request) {
        let file = Arc::clone(&self.files[request.target]);
        let mut transfer = EngineTransfer::new(request, self.clock.now());
        let error = transfer.run_blocking(file.as_fd());
        self.complete
            .push(transfer.complete(self.clock.now(), error));
    }

    fn wait(&mut self, until: Until, completions: &mut Vec<Completion>) -> Result<(), Error> {
        if self.complete.is_empty()
            && let Until::CompletionOr(deadline) = until
        {
            // Nothing can be in flight here: only the time or a wake-up ends the wait.
            let mut now = self.clock.now();
            while now < deadline && !self.woken.load(Ordering::Acquire) {
                self.clock
                    .wait_until(deadline.min(Timestamp(now.0 + LOOK_NS)));
                now = self.clock.now();
            }
            self.woken.store(false, Ordering::Release);
        }
        completions.append(&mut self.complete);
        Ok(())
    }

    fn waker(&self) -> Waker {
        let woken = Arc::clone(&self.woken);
        Waker::new(move || woken.store(true, Ordering::Release))
    }
}
