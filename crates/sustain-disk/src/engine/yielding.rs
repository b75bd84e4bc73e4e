//! Reads that yield to a recorder on the same disks. An engine around another one: it hands
//! requests on while the recorder keeps up, holds them while data waits there, and lets one through
//! each second whatever happens. Called by whoever reads what may be recorded to meanwhile.

use std::collections::VecDeque;

use super::{Completion, Engine, Request, Until, Waker};
use crate::clock::{Clock, Timestamp};
use crate::error::Error;

/// A recorder is content while less than this part of its buffer waits for the disks.
const SHORT_PART: f64 = 0.07;
/// Below this part a reader takes more.
const PLENTY_PART: f64 = 0.04;
/// How often a recorder's need is looked at.
const LOOK_NS: u64 = 10_000_000;
/// What is held may wait for this long at most while nothing else is in flight.
const HELD_NS_MAX: u64 = 1_000_000_000;

/// Tells how much a recorder on the same disks is behind.
pub trait RecorderBacklog {
    /// The part of its buffer that waits for the disks now, from 0 to 1; the largest of several
    /// recorders. `None` if nobody records there.
    fn part(&mut self, now: Timestamp) -> Option<f64>;
}

impl<F: FnMut(Timestamp) -> Option<f64>> RecorderBacklog for F {
    fn part(&mut self, now: Timestamp) -> Option<f64> {
        self(now)
    }
}

/// An engine that yields.
pub struct YieldingEngine<B> {
    inner: Box<dyn Engine>,
    backlog: B,
    clock: Clock,
    held: VecDeque<Request>,
    in_flight: usize,
    /// Requests that may be in flight; `None` while nobody records.
    window: Option<usize>,
    is_short: bool,
    looked_at: Option<Timestamp>,
    passed_at: Timestamp,
}

impl<B: RecorderBacklog> YieldingEngine<B> {
    /// Around an engine that has nothing in flight.
    pub fn new(inner: Box<dyn Engine>, backlog: B, clock: Clock) -> YieldingEngine<B> {
        YieldingEngine {
            inner,
            backlog,
            passed_at: clock.now(),
            clock,
            held: VecDeque::new(),
            in_flight: 0,
            // Until the first look somebody may record.
            window: Some(1),
            is_short: false,
            looked_at: None,
        }
    }

    /// Looks at the recorder's need, if that is due.
    fn look(&mut self, now: Timestamp) {
        let is_due = |at: Timestamp| now.since_ns(at) >= LOOK_NS;
        if !self.looked_at.is_none_or(is_due) {
            return;
        }
        self.looked_at = Some(now);
        let Some(part) = self.backlog.part(now) else {
            self.window = None;
            self.is_short = false;
            return;
        };
        // As senders share a line: slowly more while there is plenty, half when it is short.
        let window = self.window.unwrap_or(1);
        let was_short = std::mem::replace(&mut self.is_short, part >= SHORT_PART);
        self.window = Some(if self.is_short && !was_short {
            (window / 2).max(1)
        } else if part < PLENTY_PART && self.in_flight >= window {
            window + 1
        } else {
            window
        });
    }

    /// Hands on what may go now.
    fn pass(&mut self) {
        let now = self.clock.now();
        self.look(now);
        while !self.held.is_empty() && self.may_pass(now) {
            if let Some(request) = self.held.pop_front() {
                self.passed_at = now;
                self.in_flight += 1;
                self.inner.submit(request);
            }
        }
    }

    fn may_pass(&self, now: Timestamp) -> bool {
        match self.window {
            None => true,
            Some(_) if self.is_short => {
                self.in_flight == 0 && now.since_ns(self.passed_at) >= HELD_NS_MAX
            }
            Some(window) => self.in_flight < window,
        }
    }

    /// Waits on the engine within, and counts what comes back.
    fn wait_within(&mut self, until: Until, done: &mut Vec<Completion>) -> Result<usize, Error> {
        let before = done.len();
        self.inner.wait(until, done)?;
        let count = done.len() - before;
        self.in_flight -= count;
        Ok(count)
    }
}

impl<B: RecorderBacklog> Engine for YieldingEngine<B> {
    fn name(&self) -> &'static str {
        self.inner.name()
    }

    fn describe(&self) -> String {
        self.inner.describe()
    }

    fn submit(&mut self, request: Request) {
        // A reader alone pays for one look at the clock with each wait, and nothing else.
        if self.window.is_none() && self.held.is_empty() {
            self.in_flight += 1;
            return self.inner.submit(request);
        }
        self.held.push_back(request);
    }

    fn wait(&mut self, until: Until, completions: &mut Vec<Completion>) -> Result<(), Error> {
        loop {
            self.pass();
            let Until::CompletionOr(end) = until else {
                return self.wait_within(until, completions).map(|_| ());
            };
            if self.held.is_empty() {
                return self.wait_within(until, completions).map(|_| ());
            }
            let look_at = self.clock.now() + LOOK_NS;
            let step = if end < look_at { end } else { look_at };
            let count = self.wait_within(Until::CompletionOr(step), completions)?;
            // Back before its time and with nothing, it was woken.
            let now = self.clock.now();
            if count > 0 || now < step || now >= end {
                return Ok(());
            }
        }
    }

    fn takes_more(&self) -> bool {
        self.window
            .is_none_or(|window| self.held.len() + self.in_flight <= window)
    }

    fn waker(&self) -> Waker {
        self.inner.waker()
    }

    fn submit_blocked_ns(&self) -> u64 {
        self.inner.submit_blocked_ns()
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::rc::Rc;

    use super::*;
    use crate::buffer::SharedPool;
    use crate::engine::{Operation, Vector, Vectors};

    const STEP_NS: u64 = 1_000_000;
    const REQUEST_BYTES: f64 = 1048576.0;
    const BUFFER_BYTES: f64 = 64.0 * REQUEST_BYTES;
    /// Requests that the recorder has in flight at most.
    const RECORDER_DEPTH: f64 = 8.0;

    /// A disk of 100 MB/s that serves all requests in flight alike, and a recorder on it.
    struct Disk {
        clock: Clock,
        waker: Waker,
        queue: VecDeque<(Request, f64)>,
        recorder: Rc<RefCell<Recorder>>,
    }

    #[derive(Default)]
    struct Recorder {
        source_bytes_per_s: f64,
        backlog_bytes: f64,
        backlog_bytes_max: f64,
    }

    impl Disk {
        fn step(&mut self, done: &mut Vec<Completion>) {
            let mut recorder = self.recorder.borrow_mut();
            let step_s = STEP_NS as f64 / 1e9;
            recorder.backlog_bytes += recorder.source_bytes_per_s * step_s;
            let theirs = (recorder.backlog_bytes / REQUEST_BYTES)
                .ceil()
                .min(RECORDER_DEPTH);
            let ours = self.queue.len() as f64;
            let share = 100e6 * step_s / (ours + theirs).max(1.0);
            recorder.backlog_bytes = (recorder.backlog_bytes - theirs * share).max(0.0);
            recorder.backlog_bytes_max = recorder.backlog_bytes_max.max(recorder.backlog_bytes);
            for (_, left) in &mut self.queue {
                *left -= share;
            }
            let Clock::Virtual(now) = &self.clock else {
                unreachable!("the test made it so");
            };
            now.fetch_add(STEP_NS, std::sync::atomic::Ordering::Relaxed);
            let now = self.clock.now();
            while self.queue.front().is_some_and(|(_, left)| *left <= 0.0) {
                let Some((request, _)) = self.queue.pop_front() else {
                    break;
                };
                done.push(Completion {
                    request,
                    submitted_at: now,
                    completed_at: now,
                    bytes: REQUEST_BYTES as u64,
                    error: None,
                });
            }
        }
    }

    impl Engine for Disk {
        fn name(&self) -> &'static str {
            "disk"
        }

        fn describe(&self) -> String {
            String::new()
        }

        fn submit(&mut self, request: Request) {
            self.queue.push_back((request, REQUEST_BYTES));
        }

        fn wait(&mut self, until: Until, completions: &mut Vec<Completion>) -> Result<(), Error> {
            let Until::CompletionOr(end) = until else {
                return Ok(());
            };
            let before = completions.len();
            while completions.len() == before && self.clock.now() < end {
                self.step(completions);
            }
            Ok(())
        }

        fn waker(&self) -> Waker {
            self.waker.clone()
        }
    }

    /// Reads with 32 requests for so many seconds beside a recorder of this rate. Returns what was
    /// read, in bytes per second, and the recorder's largest backlog as a part of its buffer.
    fn read_beside(source_bytes_per_s: f64, seconds: u64) -> (f64, f64) {
        let clock = Clock::simulated();
        let recorder = Rc::new(RefCell::new(Recorder {
            source_bytes_per_s,
            ..Recorder::default()
        }));
        let disk = Disk {
            clock: clock.clone(),
            waker: Waker::new(|| ()),
            queue: VecDeque::new(),
            recorder: Rc::clone(&recorder),
        };
        let told = Rc::clone(&recorder);
        let part = move |_| {
            let told = told.borrow();
            (told.source_bytes_per_s > 0.0).then(|| told.backlog_bytes / BUFFER_BYTES)
        };
        let mut engine = YieldingEngine::new(Box::new(disk), part, clock.clone());
        let pool = SharedPool::new(32, 4096).unwrap();
        for _ in 0..32 {
            engine.submit(read(&pool));
        }
        let (mut count, mut done) = (0, Vec::new());
        let end = Timestamp::default() + seconds * 1_000_000_000;
        while clock.now() < end {
            engine.wait(Until::CompletionOr(end), &mut done).unwrap();
            for completion in done.drain(..) {
                count += 1;
                engine.submit(completion.request);
            }
        }
        let backlog_part = recorder.borrow().backlog_bytes_max / BUFFER_BYTES;
        (count as f64 * REQUEST_BYTES / seconds as f64, backlog_part)
    }

    fn read(pool: &SharedPool) -> Request {
        let buffer = pool.take().unwrap();
        Request {
            target: 0,
            operation: Operation::Read,
            offset_bytes: 0,
            vectors: Vectors::One(Vector::new(buffer, 0, 4096)),
            durable: false,
            due_at: None,
            token: 0,
        }
    }

    #[test]
    fn a_reader_leaves_a_recorder_its_buffer_and_takes_what_is_left() {
        for (source, least) in [(70e6, 20e6), (30e6, 50e6), (95e6, 1e6)] {
            let (rate, backlog_part) = read_beside(source, 20);
            assert!(backlog_part < 0.1, "{backlog_part} at {source}");
            assert!(rate >= least, "{rate} beside {source}");
        }
    }

    #[test]
    fn a_reader_alone_has_the_whole_disk() {
        let (rate, _) = read_beside(0.0, 5);
        // Requests that began together end together, and the last of them after the end.
        assert!(rate > 90e6, "{rate}");
    }

    #[test]
    fn a_reader_beside_a_recorder_that_falls_behind_still_gets_one_request_a_second() {
        let (rate, _) = read_beside(120e6, 30);
        let per_second = rate / REQUEST_BYTES;
        assert!((0.8..4.0).contains(&per_second), "{per_second}");
    }
}
