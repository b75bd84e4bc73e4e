//! Blocking calls in `depth` threads per target. This works on every kernel, and shows what a
//! thread per request costs.

use std::os::fd::AsFd;
use std::sync::Arc;

use super::crew::Crew;
use super::transfer::EngineTransfer;
use super::{Completion, Engine, Limits, Request, TargetFiles, Until, Waker};
use crate::clock::Clock;
use crate::error::Error;

/// `depth` threads per target, each with one blocking request.
#[derive(Debug)]
pub struct ThreadsEngine {
    clock: Clock,
    depth: u32,
    crew: Crew<EngineTransfer>,
}

impl ThreadsEngine {
    /// Starts the threads.
    ///
    /// # Errors
    /// [`Error::EngineRefused`] if the system allows no more threads.
    pub fn open(files: &TargetFiles, limits: Limits, clock: Clock) -> Result<ThreadsEngine, Error> {
        let depth = limits.depth;
        let mut crew = Crew::new(clock.clone());
        for file in files {
            let (file, clock) = (Arc::clone(file), clock.clone());
            crew.add_target(depth, move |mut transfer: EngineTransfer| {
                let error = transfer.run_blocking(file.as_fd());
                Some(transfer.complete(clock.now(), error))
            })?;
        }
        Ok(ThreadsEngine { clock, depth, crew })
    }
}

impl Engine for ThreadsEngine {
    fn name(&self) -> &'static str {
        "threads"
    }

    fn describe(&self) -> String {
        format!("{} blocking threads per target", self.depth)
    }

    fn submit(&mut self, request: Request) {
        let target = request.target;
        let transfer = EngineTransfer::new(request, self.clock.now());
        self.crew.give(target, transfer);
    }

    fn wait(&mut self, until: Until, completions: &mut Vec<Completion>) -> Result<(), Error> {
        self.crew.wait(until, completions);
        Ok(())
    }

    fn waker(&self) -> Waker {
        self.crew.waker()
    }
}
