//! The owner of one engine, its targets' queues and meters; it shares nothing with other drivers.
//!
//! A [`Feed`] says what is to be done next; measuring and recording differ only in that. A
//! completion on a queue refills that queue at once, whatever the others do.

use std::collections::VecDeque;

use crate::clock::{Clock, Timestamp};
use crate::engine::{Completion, Engine, Operation, Request, Until};
use crate::error::{Errno, Error};
use crate::meter::{Interval, IntervalRule, Meter};

/// What a feed wants of a queue that has room.
#[derive(Debug)]
pub enum Next {
    /// This request.
    Request(Request),
    /// Nothing before the given time, or before [`Feed::has_news`]: ask again then.
    WaitUntil(Timestamp),
    /// Nothing any more.
    Done(Ending),
}

/// Why a target's run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// Its time was over.
    Time,
    /// All bytes asked for were moved.
    Bytes,
    /// The end of the device was reached.
    EndOfDevice,
    /// The rate was steady.
    Steady,
    /// The user stopped it.
    Interrupted,
    /// A request failed.
    Error,
    /// There was no room left.
    Full,
    /// The source had no more.
    Source,
}

impl Ending {
    /// As the result document calls it.
    pub fn name(self) -> &'static str {
        match self {
            Ending::Time => "time",
            Ending::Bytes => "bytes",
            Ending::EndOfDevice => "end_of_device",
            Ending::Steady => "steady",
            Ending::Interrupted => "interrupted",
            Ending::Error => "error",
            Ending::Full => "full",
            Ending::Source => "source",
        }
    }
}

/// Says what queues do next and takes their memory back.
pub trait Feed {
    /// The next request for `queue`, which has room for it. Its memory is the feed's until here.
    fn next(&mut self, queue: usize, now: Timestamp) -> Next;

    /// A request is done; its memory is the feed's again.
    fn complete(&mut self, queue: usize, completion: Completion);

    /// Whether a request that has failed ends its queue. If not, the feed has its own way with it.
    fn ends_queue(&self, _completion: &Completion) -> bool {
        true
    }

    /// Whether what is in flight on a queue is waited for no longer, and nothing more is asked of it.
    fn is_given_up(&self, _queue: usize) -> bool {
        false
    }

    /// Whether queues that wait should be asked before their time: something came in from outside,
    /// or what one queue completed concerns the others.
    fn has_news(&mut self, _now: Timestamp) -> bool {
        false
    }
}

/// One bounded window of requests in flight, on one target or, in lockstep, on several.
#[derive(Debug, Clone)]
pub struct QueueSetup {
    /// Which targets it serves.
    pub targets: Vec<usize>,
    /// How many requests it keeps in flight.
    pub depth: u32,
}

/// A request that failed: when, and the request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// From the start.
    pub at_ns: u64,
    /// Index of the target.
    pub target: usize,
    /// What was tried.
    pub operation: Operation,
    /// Where.
    pub offset_bytes: u64,
    /// Why.
    pub errno: Errno,
}

/// What a driver tells the views, about ten times a second.
#[derive(Debug, Clone, Default)]
pub struct Progress {
    /// From the start.
    pub at_ns: u64,
    /// One entry per target of this driver.
    pub targets: Vec<TargetProgress>,
    /// Completions since the last report on all targets: time from the start and bytes; a flush
    /// has none.
    pub arrivals: Vec<(u64, u64)>,
    /// Requests that failed since the last report.
    pub failures: Vec<Failure>,
}

/// One target in a [`Progress`].
#[derive(Debug, Clone, Default)]
pub struct TargetProgress {
    /// Index of the target.
    pub target: usize,
    /// Bytes completed so far.
    pub bytes: u64,
    /// Requests in flight now.
    pub in_flight: u32,
    /// Intervals closed since the last report.
    pub intervals: Vec<Interval>,
    /// Why it ended, if it has.
    pub ending: Option<Ending>,
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
    /// May be asked for more at any time.
    Open,
    /// To be asked at this time.
    Waiting(Timestamp),
    /// No more requests; what is in flight comes in.
    Draining(Ending),
    /// The closing flushes are under way.
    Flushing(Ending),
    Closed(Ending),
}

/// How a driver runs.
#[derive(Debug, Clone, Copy)]
pub struct DriverSetup {
    /// Where times count from.
    pub start: Timestamp,
    /// When intervals end.
    pub interval: IntervalRule,
    /// Time between reports to the views.
    pub report_every_ns: u64,
    /// Whether each target is flushed at its end, inside the time: for the buffered path.
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
    /// Queues with room that are to be asked.
    ready: VecDeque<usize>,
    first_to_wake: usize,
    arrivals: Vec<(u64, u64)>,
    failures: Vec<Failure>,
    report_at: Timestamp,
}

impl Driver {
    /// A driver over the engine's targets, each of which belongs to one queue.
    ///
    /// # Panics
    /// If a target is in no queue or in two.
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

    /// Runs until all queues are closed, telling `report` about it.
    ///
    /// # Errors
    /// [`Error::EngineFailed`] if the engine itself breaks. Failed requests close their queue only
    /// and are reported.
    pub fn run(
        &mut self,
        feed: &mut impl Feed,
        report: &mut dyn FnMut(Progress),
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
            self.wake_waiting(feed);
            if self.clock.now() >= self.report_at {
                report(self.progress());
            }
        }
        for meter in &mut self.meters {
            meter.finish();
        }
        report(self.progress());
        Ok(())
    }

    /// What each target has done.
    pub fn meters(&self) -> &[Meter] {
        &self.meters
    }

    /// What each target has done, for keeps.
    ///
    /// An engine with requests that were given up is not dropped, because that would wait for them:
    /// it keeps their memory, and their targets open, for as long as the process lives.
    pub fn into_meters(self) -> Vec<Meter> {
        let is_waited_for = self.queues.iter().all(|queue| queue.in_flight == 0);
        if !is_waited_for {
            std::mem::forget(self.engine);
        }
        self.meters
    }

    /// The engine, for what it says of itself.
    pub fn engine(&self) -> &dyn Engine {
        self.engine.as_ref()
    }

    fn refill(&mut self, feed: &mut impl Feed, now: Timestamp) {
        while let Some(index) = self.ready.pop_front() {
            self.refill_queue(feed, index, now);
        }
    }

    fn refill_queue(&mut self, feed: &mut impl Feed, index: usize, now: Timestamp) {
        while self.queues[index].state == QueueState::Open
            && self.queues[index].in_flight < self.queues[index].depth
        {
            match feed.next(index, now) {
                Next::Request(request) => self.submit(index, request, now),
                Next::WaitUntil(time) => self.queues[index].state = QueueState::Waiting(time),
                Next::Done(ending) => self.queues[index].state = QueueState::Draining(ending),
            }
        }
        self.settle(index, now);
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

    /// Notes bytes for the buffer curve; what was seen complete together is one entry.
    /// A flush is an entry of no bytes: until then nothing of it may be on the medium.
    fn arrived(&mut self, completion: &Completion) {
        let at_ns = completion.completed_at.since_ns(self.setup.start);
        if completion.request.operation == Operation::Flush {
            self.arrivals.push((at_ns, 0));
            return;
        }
        if completion.bytes == 0 {
            return;
        }
        match self.arrivals.last_mut() {
            Some((last_ns, bytes)) if *last_ns >= at_ns => *bytes += completion.bytes,
            _ => self.arrivals.push((at_ns, completion.bytes)),
        }
    }

    /// A failed request ends its queue; the others go on.
    fn fail(&mut self, completion: &Completion, errno: Errno) {
        let request = &completion.request;
        self.failures.push(Failure {
            at_ns: completion.completed_at.since_ns(self.setup.start),
            target: request.target,
            operation: request.operation,
            offset_bytes: request.offset_bytes + completion.bytes,
            errno,
        });
        let queue = &mut self.queues[self.queue_of[request.target]];
        // One that was given up stays closed, whatever comes back.
        if !matches!(queue.state, QueueState::Closed(_)) {
            queue.state = QueueState::Draining(Ending::Error);
        }
    }

    /// Queues whose time has come are asked again: before those that just completed something, and
    /// each time another one first. A paced source would else give all it has to a few.
    fn wake_waiting(&mut self, feed: &mut impl Feed) {
        let now = self.clock.now();
        let has_news = feed.has_news(now);
        let count = self.queues.len();
        self.first_to_wake = (self.first_to_wake + 1) % count;
        for step in (0..count).rev() {
            let index = (self.first_to_wake + step) % count;
            if feed.is_given_up(index) {
                self.queues[index].state = QueueState::Closed(Ending::Error);
            }
            if let QueueState::Waiting(time) = self.queues[index].state
                && (has_news || time <= now)
            {
                self.queues[index].state = QueueState::Open;
                self.ready.push_front(index);
            }
        }
    }

    /// When something must be done even if nothing completes.
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

    fn progress(&mut self) -> Progress {
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
        Progress {
            at_ns: now.since_ns(self.setup.start),
            targets,
            arrivals: std::mem::take(&mut self.arrivals),
            failures: std::mem::take(&mut self.failures),
        }
    }
}
