//! Blocking calls in `depth` threads per target. This works on every kernel, and shows what a
//! thread per request costs.

use std::os::fd::{AsFd, OwnedFd};
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
            crew.add_target(depth, blocking_on(file, &clock))?;
        }
        Ok(ThreadsEngine { clock, depth, crew })
    }

    /// The same, and each thread is started when it is needed first: for those who make a few
    /// requests and are gone again.
    pub fn on_demand(files: &TargetFiles, limits: Limits, clock: Clock) -> ThreadsEngine {
        let depth = limits.depth;
        let mut crew = Crew::new(clock.clone());
        for file in files {
            crew.add_target_on_demand(depth, blocking_on(file, &clock));
        }
        ThreadsEngine { clock, depth, crew }
    }
}

/// Makes requests of one target, one at a time.
fn blocking_on(
    file: &Arc<OwnedFd>,
    clock: &Clock,
) -> impl Fn(EngineTransfer) -> Option<Completion> + Send + Sync + 'static {
    let (file, clock) = (Arc::clone(file), clock.clone());
    move |mut transfer| {
        let error = transfer.run_blocking(file.as_fd());
        Some(transfer.complete(clock.now(), error))
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
