//! Threads that each do one blocking thing at a time, and one place to wait for what they have
//! done. The engines that have no other way to keep several requests in flight are made of them.

use std::thread::JoinHandle;

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, unbounded};
use sustain_document::setting::DEPTH;

use super::{Completion, Until, Waker};
use crate::clock::Clock;
use crate::error::Error;

/// Threads of several targets. They take the work of their target in the order in which it was
/// given; work of type `W` may complete a request or not.
#[derive(Debug)]
pub(super) struct Crew<W> {
    clock: Clock,
    /// One sender per target; they are dropped first when the crew ends, which ends the threads.
    work: Vec<Sender<W>>,
    events: Receiver<ThreadEvent>,
    events_sender: Sender<ThreadEvent>,
    threads: Vec<JoinHandle<()>>,
}

#[derive(Debug)]
enum ThreadEvent {
    Complete(Completion),
    Woken,
}

impl<W: Send + 'static> Crew<W> {
    pub(super) fn new(clock: Clock) -> Crew<W> {
        let (events_sender, events) = unbounded();
        Crew {
            clock,
            work: Vec::new(),
            events,
            events_sender,
            threads: Vec::new(),
        }
    }

    /// Starts `count` threads for the next target, each of which does by `run` what is given to it.
    ///
    /// # Errors
    /// [`Error::EngineRefused`] if the system allows no more threads.
    pub(super) fn add_target(
        &mut self,
        count: u32,
        run: impl Fn(W) -> Option<Completion> + Clone + Send + 'static,
    ) -> Result<(), Error> {
        let (sender, receiver) = unbounded();
        self.work.push(sender);
        for _ in 0..count {
            let thread = self.start_thread(receiver.clone(), run.clone())?;
            self.threads.push(thread);
        }
        Ok(())
    }

    fn start_thread(
        &self,
        work: Receiver<W>,
        run: impl Fn(W) -> Option<Completion> + Send + 'static,
    ) -> Result<JoinHandle<()>, Error> {
        let events = self.events_sender.clone();
        let body = move || {
            for completion in work.into_iter().filter_map(run) {
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

    pub(super) fn give(&self, target: usize, work: W) {
        self.work[target]
            .send(work)
            .expect("the threads live as long as the crew");
    }

    /// Waits as `until` says, and appends what is complete.
    pub(super) fn wait(&self, until: Until, completions: &mut Vec<Completion>) {
        if let Until::CompletionOr(deadline) = until {
            let left_ns = deadline.since_ns(self.clock.now());
            match self
                .events
                .recv_timeout(std::time::Duration::from_nanos(left_ns))
            {
                Ok(ThreadEvent::Complete(completion)) => completions.push(completion),
                Ok(ThreadEvent::Woken) | Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    unreachable!("the crew keeps a sender itself")
                }
            }
        }
        for event in self.events.try_iter() {
            if let ThreadEvent::Complete(completion) = event {
                completions.push(completion);
            }
        }
    }

    pub(super) fn waker(&self) -> Waker {
        let events = self.events_sender.clone();
        Waker::new(move || {
            // A closed channel means that the crew is gone and nobody waits.
            let _ = events.send(ThreadEvent::Woken);
        })
    }
}

impl<W> Drop for Crew<W> {
    fn drop(&mut self) {
        // Closing the channels lets each thread finish what was given to it and end.
        self.work.clear();
        for thread in self.threads.drain(..) {
            // A thread that panicked has printed its message; there is nothing to add while
            // dropping.
            let _ = thread.join();
        }
    }
}
