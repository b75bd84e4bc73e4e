//! Owns one engine with its targets' queues and meters; it shares nothing with other drivers.
//!
//! A [`Feed`] says what is done next; measuring and recording differ only in that. A completion on
//! a queue refills that queue at once, whatever the others do, unless the queues are fed in turns.

use std::collections::VecDeque;

use crate::clock::{Clock, Timestamp};
use crate::engine::{Completion, Engine, Operation, Request, Until};
use crate::error::{Error, IoFault};
use crate::layout::Turns;
use crate::meter::{IntervalRule, Meter};

pub use self::progress::{Arrival, DriverProgress, FailedRequest, TargetProgress};

mod progress;
#[cfg(test)]
mod tests;

/// The answer of a feed for a queue that has space.
#[derive(Debug)]
pub enum Next {
    /// Submit this request.
    Request(Request),
    /// Nothing is due before the given time, or before [`Feed::has_news`]: ask again then.
    WaitUntil(Timestamp),
    /// Nothing is left to do.
    Done(Ending),
}

pub use sustain_document::vocabulary::Ending;

/// Says what queues do next and takes their memory back.
pub trait Feed {
    /// The next request for `queue`, which has space for it. The memory belongs to the feed until
    /// then.
    fn next(&mut self, queue: usize, now: Timestamp) -> Next;

    /// A request is done; its memory belongs to the feed again.
    fn complete(&mut self, queue: usize, completion: Completion);

    /// Whether a request that has failed ends its queue. If not, the feed handles the failure
    /// itself.
    fn ends_queue(&self, _completion: &Completion) -> bool {
        true
    }

    /// Whether requests in flight on a queue are no longer waited for, and nothing more is asked of
    /// it.
    fn is_given_up(&self, _queue: usize) -> bool {
        false
    }

    /// Whether waiting queues should be asked before their time: something came in from outside, or
    /// a completion on one queue concerns the others.
    fn has_news(&mut self, _now: Timestamp) -> bool {
        false
    }
}

/// One bounded window of requests in flight, on one target or, in lockstep, on several.
#[derive(Debug, Clone)]
pub struct QueueSetup {
    /// The targets that it serves.
    pub targets: Vec<usize>,
    /// The number of requests that it keeps in flight.
    pub depth: u32,
}

#[derive(Debug)]
struct Queue {
    targets: Vec<usize>,
    depth: u32,
    in_flight: u32,
    state: QueueState,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum QueueState {
    /// The queue may be asked for more at any time.
    Open,
    /// The queue is to be asked at this time.
    Waiting(Timestamp),
    /// No more requests are submitted, and those in flight complete.
    Draining(Ending),
    /// The closing flushes are in flight.
    Flushing(Ending),
    Closed(Ending),
}

/// The settings of a driver.
#[derive(Debug, Clone, Copy)]
pub struct DriverSetup {
    /// The moment from which times count.
    pub start: Timestamp,
    /// The rule for when intervals end.
    pub interval: IntervalRule,
    /// Time between reports to the views.
    pub report_every_ns: u64,
    /// Whether each target is flushed at its end, inside the time, as buffered I/O needs it.
    pub flush_at_end: bool,
}

/// Drives queues on one engine until their feed is done.
pub struct Driver {
    engine: Box<dyn Engine>,
    clock: Clock,
    setup: DriverSetup,
    queues: Vec<Queue>,
    /// Queue of each target.
    queue_of: Vec<usize>,
    meters: Vec<Meter>,
    /// Queues with space that are to be asked.
    ready: VecDeque<usize>,
    /// The queues that submit only when it is their turn, in groups of which each takes its own.
    turns: Vec<Turns>,
    first_to_wake: usize,
    arrivals: Vec<Arrival>,
    failures: Vec<FailedRequest>,
    report_at: Timestamp,
}

impl Driver {
    /// A driver over the engine's targets, each of which belongs to one queue.
    ///
    /// # Panics
    /// Panics if a target is in no queue or in two.
    pub fn new(
        engine: Box<dyn Engine>,
        clock: Clock,
        queues: &[QueueSetup],
        setup: DriverSetup,
    ) -> Driver {
        let targets: usize = queues.iter().map(|queue| queue.targets.len()).sum();
        let mut queue_of = vec![usize::MAX; targets];
        for (index, queue) in queues.iter().enumerate() {
            for target in &queue.targets {
                assert_eq!(
                    queue_of[*target],
                    usize::MAX,
                    "a target belongs to one queue"
                );
                queue_of[*target] = index;
            }
        }
        let queues: Vec<Queue> = queues
            .iter()
            .map(|queue| Queue {
                targets: queue.targets.clone(),
                depth: queue.depth,
                in_flight: 0,
                state: QueueState::Open,
            })
            .collect();
        Driver {
            engine,
            clock,
            setup,
            ready: (0..queues.len()).collect(),
            turns: Vec::new(),
            queues,
            queue_of,
            meters: (0..targets)
                .map(|target| Meter::new(target, setup.start, setup.interval))
                .collect(),
            first_to_wake: 0,
            arrivals: Vec::new(),
            failures: Vec::new(),
            report_at: setup.start + setup.report_every_ns,
        }
    }

    /// The same driver, which feeds the queues of each of these groups in turns: each submits one
    /// record when it is its turn. A queue that is full then, or has nothing to submit yet, holds
    /// its whole group back; one that has ended is passed over. Queues of no group go on by
    /// themselves.
    #[must_use]
    pub fn in_turns(mut self, turns: Vec<Turns>) -> Driver {
        self.turns = turns;
        self
    }

    /// Runs until all queues are closed, and reports to `report`.
    ///
    /// # Errors
    /// [`Error::EngineFailed`] if the engine itself breaks. Failed requests close their queue only
    /// and are reported.
    pub fn run(
        &mut self,
        feed: &mut impl Feed,
        report: &mut dyn FnMut(DriverProgress),
    ) -> Result<(), Error> {
        let mut completions = Vec::new();
        loop {
            let now = self.clock.now();
            self.refill(feed, now);
            if self.is_closed() {
                break;
            }
            let until = self.next_time();
            self.engine
                .wait(Until::CompletionOr(until), &mut completions)?;
            self.take(feed, &mut completions);
            let now = self.clock.now();
            let has_news = feed.has_news(now);
            self.close_given_up(feed);
            self.wake_waiting(has_news, now);
            if self.clock.now() >= self.report_at {
                report(self.progress());
            }
        }
        let now = self.clock.now();
        for meter in &mut self.meters {
            meter.finish(now);
        }
        report(self.progress());
        Ok(())
    }

    /// What each target has done.
    pub fn meters(&self) -> &[Meter] {
        &self.meters
    }

    /// What each target has done, as values to keep.
    ///
    /// An engine with requests that are no longer waited for is not dropped, because that would
    /// wait for them: it keeps their memory, and their targets open, for as long as the process
    /// lives.
    pub fn into_meters(self) -> Vec<Meter> {
        self.into_parts().1
    }

    /// The same with the engine, if nothing is in flight on it: another driver may go on with it.
    pub fn into_parts(self) -> (Option<Box<dyn Engine>>, Vec<Meter>) {
        let is_waited_for = self.queues.iter().all(|queue| queue.in_flight == 0);
        if is_waited_for {
            return (Some(self.engine), self.meters);
        }
        std::mem::forget(self.engine);
        (None, self.meters)
    }

    /// The engine, for its description of itself.
    pub fn engine(&self) -> &dyn Engine {
        self.engine.as_ref()
    }

    fn refill(&mut self, feed: &mut impl Feed, now: Timestamp) {
        while let Some(index) = self.ready.pop_front() {
            if self.turns.iter().any(|turns| turns.has(index)) {
                self.settle(index, now);
            } else {
                self.refill_queue(feed, index, now);
            }
        }
        for group in 0..self.turns.len() {
            self.take_turns(feed, group, now);
        }
    }

    fn refill_queue(&mut self, feed: &mut impl Feed, index: usize, now: Timestamp) {
        while self.queues[index].state == QueueState::Open && self.has_space(index) {
            self.ask(feed, index, now);
        }
        self.settle(index, now);
    }

    /// Lets the queues of a group submit one record each in turn, until one must be waited for.
    fn take_turns(&mut self, feed: &mut impl Feed, group: usize, now: Timestamp) {
        while let Some(index) = self.turns[group].holder() {
            match self.queues[index].state {
                QueueState::Open if self.has_space(index) => {
                    if self.ask(feed, index, now) {
                        self.turns[group].pass();
                    }
                    self.settle(index, now);
                }
                QueueState::Open | QueueState::Waiting(_) => return,
                QueueState::Draining(_) | QueueState::Flushing(_) | QueueState::Closed(_) => {
                    self.turns[group].leave();
                }
            }
        }
    }

    fn has_space(&self, index: usize) -> bool {
        let Queue {
            in_flight, depth, ..
        } = self.queues[index];
        in_flight < depth && (in_flight == 0 || self.engine.takes_more())
    }

    /// Asks the feed for the next request of a queue with space, and says whether it was a record.
    fn ask(&mut self, feed: &mut impl Feed, index: usize, now: Timestamp) -> bool {
        match feed.next(index, now) {
            Next::Request(request) => {
                let is_record = request.operation != Operation::Flush;
                self.submit(index, request, now);
                return is_record;
            }
            Next::WaitUntil(time) => self.queues[index].state = QueueState::Waiting(time),
            Next::Done(ending) => self.queues[index].state = QueueState::Draining(ending),
        }
        false
    }

    fn submit(&mut self, queue: usize, request: Request, now: Timestamp) {
        self.queues[queue].in_flight += 1;
        self.meters[request.target].submitted(now);
        self.engine.submit(request);
    }

    /// Moves a queue that has run dry on towards its end.
    fn settle(&mut self, index: usize, now: Timestamp) {
        if self.queues[index].in_flight > 0 {
            return;
        }
        match self.queues[index].state {
            QueueState::Draining(ending) if self.setup.flush_at_end && ending != Ending::Error => {
                self.queues[index].state = QueueState::Flushing(ending);
                for target in self.queues[index].targets.clone() {
                    self.submit(index, Request::flush(target), now);
                }
            }
            QueueState::Draining(ending) | QueueState::Flushing(ending) => {
                self.queues[index].state = QueueState::Closed(ending);
            }
            QueueState::Open | QueueState::Waiting(_) | QueueState::Closed(_) => {}
        }
    }

    fn take(&mut self, feed: &mut impl Feed, completions: &mut Vec<Completion>) {
        for completion in completions.drain(..) {
            let target = completion.request.target;
            let index = self.queue_of[target];
            self.meters[target].completed(&completion);
            self.arrived(&completion);
            self.queues[index].in_flight -= 1;
            if let Some(errno) = completion.error
                && feed.ends_queue(&completion)
            {
                self.fail(&completion, errno);
            }
            feed.complete(index, completion);
            if self.ready.back() != Some(&index) {
                self.ready.push_back(index);
            }
        }
    }

    /// Notes bytes for the buffer curve; requests seen complete together are one entry. A flush is
    /// an entry of no bytes: until then, none of it may be on the medium.
    fn arrived(&mut self, completion: &Completion) {
        let arrival = Arrival {
            at_ns: completion.completed_at.since_ns(self.setup.start),
            operation: completion.request.operation,
            bytes: completion.bytes,
        };
        let is_flush = arrival.operation == Operation::Flush;
        if arrival.bytes == 0 && !is_flush {
            return;
        }
        let last = self.arrivals.last_mut();
        let together = |last: &&mut Arrival| {
            !is_flush && last.at_ns >= arrival.at_ns && last.operation == arrival.operation
        };
        match last.filter(together) {
            Some(last) => last.bytes += arrival.bytes,
            None => self.arrivals.push(arrival),
        }
    }

    /// A failed request ends its queue; the others go on.
    fn fail(&mut self, completion: &Completion, fault: IoFault) {
        let request = &completion.request;
        self.failures.push(FailedRequest {
            at_ns: completion.completed_at.since_ns(self.setup.start),
            target: request.target,
            operation: request.operation,
            offset_bytes: request.offset_bytes + completion.bytes,
            fault,
        });
        let queue = &mut self.queues[self.queue_of[request.target]];
        // A queue that is no longer waited for stays closed, whatever completes.
        if !matches!(queue.state, QueueState::Closed(_)) {
            queue.state = QueueState::Draining(Ending::Error);
        }
    }

    fn close_given_up(&mut self, feed: &impl Feed) {
        for (index, queue) in self.queues.iter_mut().enumerate() {
            if feed.is_given_up(index) {
                queue.state = QueueState::Closed(Ending::Error);
            }
        }
    }

    /// Asks queues again whose time has come, or all that wait if there is news: before those that
    /// just completed something, and each time starting with another one. Otherwise a paced source
    /// would give all it has to a few.
    fn wake_waiting(&mut self, has_news: bool, now: Timestamp) {
        let count = self.queues.len();
        self.first_to_wake = (self.first_to_wake + 1) % count;
        for step in (0..count).rev() {
            let index = (self.first_to_wake + step) % count;
            if let QueueState::Waiting(time) = self.queues[index].state
                && (has_news || time <= now)
            {
                self.queues[index].state = QueueState::Open;
                self.ready.push_front(index);
            }
        }
    }

    /// The time at which something must be done even if nothing completes.
    fn next_time(&self) -> Timestamp {
        self.queues
            .iter()
            .fold(self.report_at, |earliest, queue| match queue.state {
                QueueState::Waiting(time) => earliest.min(time),
                _ => earliest,
            })
    }

    fn is_closed(&self) -> bool {
        self.queues
            .iter()
            .all(|queue| matches!(queue.state, QueueState::Closed(_)))
    }

    fn progress(&mut self) -> DriverProgress {
        let now = self.clock.now();
        self.report_at = now + self.setup.report_every_ns;
        let queues = &self.queues;
        let queue_of = &self.queue_of;
        let targets = self
            .meters
            .iter_mut()
            .enumerate()
            .map(|(target, meter)| {
                let ending = match queues[queue_of[target]].state {
                    QueueState::Closed(ending) => Some(ending),
                    _ => {
                        meter.tick(now);
                        None
                    }
                };
                TargetProgress {
                    target,
                    bytes: meter.bytes(),
                    in_flight: meter.in_flight(),
                    intervals: meter.take_intervals(),
                    ending,
                }
            })
            .collect();
        DriverProgress {
            at_ns: now.since_ns(self.setup.start),
            targets,
            arrivals: std::mem::take(&mut self.arrivals),
            failures: std::mem::take(&mut self.failures),
        }
    }
}
