//! Threads that each do one blocking thing at a time, and one place to wait for what they have
//! done. The engines that have no other way to keep several requests in flight are made of them.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
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
    /// Of each target. They are dropped first when the crew ends, which ends the threads.
    targets: Vec<TargetWork<W>>,
    events: Receiver<ThreadEvent>,
    events_sender: Sender<ThreadEvent>,
    threads: Vec<JoinHandle<()>>,
}

/// The work of one target.
struct TargetWork<W> {
    given: Sender<W>,
    taken: Receiver<W>,
    run: Arc<dyn Fn(W) -> Option<Completion> + Send + Sync>,
    threads: u32,
    threads_max: u32,
    /// What was given and is not done.
    undone: Arc<AtomicU32>,
}

impl<W> fmt::Debug for TargetWork<W> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let threads = format_args!("{} of {}", self.threads, self.threads_max);
        formatter
            .debug_struct("TargetWork")
            .field("threads", &threads)
            .finish_non_exhaustive()
    }
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
            targets: Vec::new(),
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
        run: impl Fn(W) -> Option<Completion> + Send + Sync + 'static,
    ) -> Result<(), Error> {
        self.add_target_on_demand(count, run);
        let target = self.targets.len() - 1;
        (0..count).try_for_each(|_| self.start_thread(target))
    }

    /// The same, and each thread is started when it is needed first: when all that there are have
    /// something to do.
    pub(super) fn add_target_on_demand(
        &mut self,
        count: u32,
        run: impl Fn(W) -> Option<Completion> + Send + Sync + 'static,
    ) {
        let (given, taken) = unbounded();
        self.targets.push(TargetWork {
            given,
            taken,
            run: Arc::new(run),
            threads: 0,
            threads_max: count,
            undone: Arc::default(),
        });
    }

    fn start_thread(&mut self, target: usize) -> Result<(), Error> {
        let target_work = &mut self.targets[target];
        let (work, run) = (target_work.taken.clone(), Arc::clone(&target_work.run));
        let undone = Arc::clone(&target_work.undone);
        let events = self.events_sender.clone();
        let body = move || {
            for one in work {
                let completion = run(one);
                // Before anybody sees that it is done: the next one needs no further thread.
                undone.fetch_sub(1, Ordering::Relaxed);
                let Some(completion) = completion else {
                    continue;
                };
                if events.send(ThreadEvent::Complete(completion)).is_err() {
                    return;
                }
            }
        };
        let started = std::thread::Builder::new()
            .name("sustain-io".to_owned())
            .spawn(body);
        let thread = started.map_err(|error| Error::EngineRefused {
            engine: "threads",
            why: format!(
                "thread {} could not be started ({error}); use a smaller {DEPTH}, or raise the \
                 limit on processes (ulimit -u)",
                self.threads.len() + 1
            ),
        })?;
        target_work.threads += 1;
        self.threads.push(thread);
        Ok(())
    }

    pub(super) fn give(&mut self, target: usize, work: W) {
        let target_work = &self.targets[target];
        let undone = target_work.undone.fetch_add(1, Ordering::Relaxed);
        if undone >= target_work.threads && target_work.threads < target_work.threads_max {
            // Where the system allows no more, those that there are do it.
            let _ = self.start_thread(target);
        }
        let target_work = &self.targets[target];
        if target_work.threads == 0 {
            self.do_here(target_work, work);
            return;
        }
        target_work
            .given
            .send(work)
            .expect("the crew keeps a receiver itself");
    }

    /// Does what no thread could be started for.
    fn do_here(&self, target_work: &TargetWork<W>, work: W) {
        let completion = (target_work.run)(work);
        target_work.undone.fetch_sub(1, Ordering::Relaxed);
        if let Some(completion) = completion {
            self.events_sender
                .send(ThreadEvent::Complete(completion))
                .expect("the crew keeps a receiver itself");
        }
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
        self.targets.clear();
        for thread in self.threads.drain(..) {
            // A thread that panicked has printed its message; there is nothing to add while
            // dropping.
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A crew of at most three threads on one target, each of which waits until it is told to go on.
    fn held_crew() -> (Crew<()>, Sender<()>) {
        let (go_on, told) = unbounded();
        let mut crew = Crew::new(Clock::Real);
        crew.add_target_on_demand(3, move |()| {
            told.recv().expect("the test holds its end");
            None
        });
        (crew, go_on)
    }

    fn wait_until_done(crew: &Crew<()>) {
        while crew.targets[0].undone.load(Ordering::Relaxed) > 0 {
            std::thread::yield_now();
        }
    }

    #[test]
    fn one_thread_does_what_comes_one_after_the_other() {
        let (mut crew, go_on) = held_crew();
        assert_eq!(crew.threads.len(), 0);
        for _ in 0..5 {
            crew.give(0, ());
            go_on.send(()).unwrap();
            wait_until_done(&crew);
        }
        assert_eq!(crew.threads.len(), 1);
    }

    #[test]
    fn as_many_threads_as_are_needed_are_started_up_to_the_most() {
        let (mut crew, go_on) = held_crew();
        for threads in [1, 2, 3, 3, 3] {
            crew.give(0, ());
            assert_eq!(crew.threads.len(), threads);
        }
        (0..5).for_each(|_| go_on.send(()).unwrap());
        wait_until_done(&crew);
    }
}
