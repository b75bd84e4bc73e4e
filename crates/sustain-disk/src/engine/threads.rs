//! Blocking calls in `depth` threads per target. This works on every kernel, and shows what a
//! thread per request costs.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::thread::JoinHandle;

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, unbounded};
use sustain_document::setting::DEPTH;

use super::transfer::EngineTransfer;
use super::{Completion, Engine, Limits, Request, TargetFiles, Until, Waker};
use crate::clock::Clock;
use crate::error::Error;

/// `depth` threads per target, each with one blocking request.
#[derive(Debug)]
pub struct ThreadsEngine {
    clock: Clock,
    depth: u32,
    /// One sender per target; they are dropped first when the engine ends, which ends the threads.
    work: Vec<Sender<EngineTransfer>>,
    events: Receiver<ThreadEvent>,
    events_sender: Sender<ThreadEvent>,
    threads: Vec<JoinHandle<()>>,
}

#[derive(Debug)]
enum ThreadEvent {
    Complete(Completion),
    Woken,
}

impl ThreadsEngine {
    /// Starts the threads.
    ///
    /// # Errors
    /// [`Error::EngineRefused`] if the system allows no more threads.
    pub fn open(files: &TargetFiles, limits: Limits, clock: Clock) -> Result<ThreadsEngine, Error> {
        let (events_sender, events) = unbounded();
        let depth = limits.depth;
        let mut engine = ThreadsEngine {
            clock,
            depth,
            work: Vec::new(),
            events,
            events_sender,
            threads: Vec::new(),
        };
        for file in files {
            let (sender, receiver) = unbounded();
            engine.work.push(sender);
            for _ in 0..depth {
                let thread = engine.start_thread(Arc::clone(file), receiver.clone())?;
                engine.threads.push(thread);
            }
        }
        Ok(engine)
    }

    fn start_thread(
        &self,
        file: Arc<OwnedFd>,
        work: Receiver<EngineTransfer>,
    ) -> Result<JoinHandle<()>, Error> {
        let (clock, events) = (self.clock.clone(), self.events_sender.clone());
        let body = move || {
            for mut transfer in work {
                let error = transfer.run_blocking(file.as_fd());
                let completion = transfer.complete(clock.now(), error);
                if events.send(ThreadEvent::Complete(completion)).is_err() {
                    return;
                }
            }
        };
        std::thread::Builder::new()
            .name("sustain-io".to_owned())
            .spawn(body)
            .map_err(|error| Error::EngineRefused {
                engine: "threads",
                why: format!(
                    "thread {} could not be started ({error}); use a smaller {DEPTH}, or raise \
                     the limit on processes (ulimit -u)",
                    self.threads.len() + 1
                ),
            })
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
        self.work[target]
            .send(transfer)
            .expect("the threads live as long as the engine");
    }

    fn wait(&mut self, until: Until, completions: &mut Vec<Completion>) -> Result<(), Error> {
        if let Until::CompletionOr(deadline) = until {
            let left_ns = deadline.since_ns(self.clock.now());
            match self
                .events
                .recv_timeout(std::time::Duration::from_nanos(left_ns))
            {
                Ok(ThreadEvent::Complete(completion)) => completions.push(completion),
                Ok(ThreadEvent::Woken) | Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    unreachable!("the engine keeps a sender itself")
                }
            }
        }
        for event in self.events.try_iter() {
            if let ThreadEvent::Complete(completion) = event {
                completions.push(completion);
            }
        }
        Ok(())
    }

    fn waker(&self) -> Waker {
        let events = self.events_sender.clone();
        Waker::new(move || {
            // A closed channel means that the engine is gone and nobody waits.
            let _ = events.send(ThreadEvent::Woken);
        })
    }
}

impl Drop for ThreadsEngine {
    fn drop(&mut self) {
        // Closing the channels lets each thread finish what was submitted and end.
        self.work.clear();
        for thread in self.threads.drain(..) {
            // A thread that panicked has printed its message; there is nothing to add while
            // dropping.
            let _ = thread.join();
        }
    }
}
