//! Computes figures from completions: intervals, latency, depth, stalls. There is one meter per
//! target, owned by its driver; measuring and recording use the same.

mod beginning;
mod buffer_curve;
mod latency;
mod stall;

pub use beginning::RateBeginning;
pub use buffer_curve::*;
pub use latency::{LatencyMax, LatencyMeter};
pub use stall::*;

use crate::clock::Timestamp;
use crate::engine::{Completion, Operation};

/// The rule for when an interval ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IntervalRule {
    /// At each multiple of so many nanoseconds from the start; alike for all targets.
    Time(u64),
    /// With the completion that fills it to so many bytes.
    Bytes(u64),
}

/// Completions summed over a stretch; times from the start of the run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MeterInterval {
    /// Start.
    pub start_ns: u64,
    /// End.
    pub end_ns: u64,
    /// Bytes completed.
    pub bytes: u64,
    /// Longest latency; 0 if nothing completed.
    pub latency_max_ns: u64,
}

/// What one target has done so far.
#[derive(Debug)]
pub struct Meter {
    start: Timestamp,
    rule: IntervalRule,
    current: MeterInterval,
    closed: Vec<MeterInterval>,
    beginning: RateBeginning,
    latency: LatencyMeter,
    stalls: StallLedger,
    bytes: u64,
    requests: u64,
    in_flight: u32,
    depth_reached: u32,
    last_ns: u64,
    longest_flush_ns: Option<u64>,
}

impl Meter {
    /// A meter for target number `target` that counts from `start`.
    pub fn new(target: usize, start: Timestamp, rule: IntervalRule) -> Meter {
        Meter {
            start,
            rule,
            current: MeterInterval::default(),
            closed: Vec::new(),
            beginning: RateBeginning::default(),
            latency: LatencyMeter::new(),
            stalls: StallLedger::new(target),
            bytes: 0,
            requests: 0,
            in_flight: 0,
            depth_reached: 0,
            last_ns: 0,
            longest_flush_ns: None,
        }
    }

    /// Notes that a request was handed over.
    #[inline]
    pub fn submitted(&mut self, now: Timestamp) {
        if self.in_flight == 0 {
            self.stalls.begin(now.since_ns(self.start));
        }
        self.in_flight += 1;
        self.depth_reached = self.depth_reached.max(self.in_flight);
    }

    /// Counts a request that completed: the only place where the bytes of a target are counted,
    /// those that were read and those that were written alike.
    #[inline]
    pub fn completed(&mut self, completion: &Completion) {
        let at_ns = completion.completed_at.since_ns(self.start);
        self.in_flight -= 1;
        self.last_ns = self.last_ns.max(at_ns);
        if completion.request.operation == Operation::Flush {
            let flush_ns = completion.completed_at.since_ns(completion.submitted_at);
            self.longest_flush_ns = self.longest_flush_ns.max(Some(flush_ns));
        }
        if completion.bytes > 0 {
            let from = completion.request.due_at.unwrap_or(completion.submitted_at);
            let latency_ns = completion.completed_at.since_ns(from);
            let offset = completion.request.offset_bytes;
            self.close_until(at_ns);
            self.latency.record(latency_ns, at_ns, offset);
            self.beginning.complete(at_ns, completion.bytes);
            self.stalls.complete(at_ns, offset);
            self.bytes += completion.bytes;
            self.requests += 1;
            self.current.bytes += completion.bytes;
            self.current.latency_max_ns = self.current.latency_max_ns.max(latency_ns);
            self.close_full(at_ns);
        } else if completion.error.is_some() && completion.request.operation != Operation::Flush {
            // A request that was kept for long and then failed was waited for as well.
            self.stalls.complete(at_ns, completion.request.offset_bytes);
        }
        if self.in_flight == 0 {
            self.stalls.idle();
        }
    }

    /// Closes the intervals that time has ended by `now`.
    pub fn tick(&mut self, now: Timestamp) {
        self.close_until(now.since_ns(self.start));
    }

    /// Closes the last interval, which may be shorter, with the last completion. Requests that are
    /// still in flight at `now` are no longer waited for.
    pub fn finish(&mut self, now: Timestamp) {
        if self.in_flight > 0 {
            self.stalls.cut_off(now.since_ns(self.start));
        }
        self.close_until(self.last_ns);
        if self.current.bytes > 0 {
            self.close(self.last_ns);
        }
    }

    fn close_until(&mut self, at_ns: u64) {
        let IntervalRule::Time(length_ns) = self.rule else {
            return;
        };
        while at_ns >= self.current.start_ns + length_ns {
            self.close(self.current.start_ns + length_ns);
        }
    }

    fn close_full(&mut self, at_ns: u64) {
        if let IntervalRule::Bytes(bytes) = self.rule
            && self.current.bytes >= bytes
        {
            self.close(at_ns);
        }
    }

    /// Threads complete out of order, so the completion that ends an interval may be earlier than
    /// the one that began it: such an interval has no length.
    fn close(&mut self, at_ns: u64) {
        let end_ns = at_ns.max(self.current.start_ns);
        self.closed.push(MeterInterval {
            end_ns,
            ..self.current
        });
        self.current = MeterInterval {
            start_ns: end_ns,
            ..MeterInterval::default()
        };
    }

    /// Takes the intervals closed since the last call.
    pub fn take_intervals(&mut self) -> Vec<MeterInterval> {
        std::mem::take(&mut self.closed)
    }

    /// Bytes completed.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Requests completed.
    pub fn requests(&self) -> u64 {
        self.requests
    }

    /// Requests in flight now.
    pub fn in_flight(&self) -> u32 {
        self.in_flight
    }

    /// The most requests that were in flight at once.
    pub fn depth_reached(&self) -> u32 {
        self.depth_reached
    }

    /// Time of the last completion, from the start.
    pub fn last_ns(&self) -> u64 {
        self.last_ns
    }

    /// The first seconds, completion by completion.
    pub fn beginning(&self) -> &RateBeginning {
        &self.beginning
    }

    /// The flush that took longest, if there was one.
    pub fn longest_flush_ns(&self) -> Option<u64> {
        self.longest_flush_ns
    }

    /// Latencies so far.
    pub fn latency(&self) -> &LatencyMeter {
        &self.latency
    }

    /// Stalls so far.
    pub fn stalls(&self) -> &StallLedger {
        &self.stalls
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Request;
    use crate::error::IoFault;

    fn write() -> Request {
        Request {
            operation: Operation::Write,
            ..Request::flush(0)
        }
    }

    fn complete(meter: &mut Meter, submitted_ns: u64, completed_ns: u64, bytes: u64) {
        meter.submitted(Timestamp(submitted_ns));
        meter.completed(&Completion {
            request: write(),
            submitted_at: Timestamp(submitted_ns),
            completed_at: Timestamp(completed_ns),
            bytes,
            error: None,
        });
    }

    #[test]
    fn intervals_by_time_lie_on_the_common_grid_and_show_silence() {
        let mut meter = Meter::new(0, Timestamp(1000), IntervalRule::Time(100));
        complete(&mut meter, 1010, 1050, 7);
        complete(&mut meter, 1050, 1320, 9);
        meter.finish(Timestamp(1320));
        let bytes: Vec<(u64, u64, u64)> = meter
            .take_intervals()
            .iter()
            .map(|interval| (interval.start_ns, interval.end_ns, interval.bytes))
            .collect();
        assert_eq!(
            bytes,
            [(0, 100, 7), (100, 200, 0), (200, 300, 0), (300, 320, 9)]
        );
    }

    #[test]
    fn intervals_by_bytes_end_with_the_completion_that_fills_them() {
        let mut meter = Meter::new(0, Timestamp(0), IntervalRule::Bytes(20));
        for at in [10, 20, 30] {
            complete(&mut meter, at - 5, at, 10);
        }
        meter.finish(Timestamp(30));
        let ends: Vec<(u64, u64)> = meter
            .take_intervals()
            .iter()
            .map(|interval| (interval.end_ns, interval.bytes))
            .collect();
        assert_eq!(ends, [(20, 20), (30, 10)]);
    }

    #[test]
    fn no_interval_ends_before_it_begins_when_completions_are_out_of_order() {
        let mut meter = Meter::new(0, Timestamp(0), IntervalRule::Bytes(20));
        for (at, bytes) in [(10, 20), (40, 20), (30, 20), (50, 20), (45, 7)] {
            complete(&mut meter, 5, at, bytes);
        }
        meter.finish(Timestamp(50));
        let intervals = meter.take_intervals();
        let intervals: Vec<(u64, u64, u64)> = intervals
            .iter()
            .map(|interval| (interval.start_ns, interval.end_ns, interval.bytes))
            .collect();
        let expected = [
            (0, 10, 20),
            (10, 40, 20),
            (40, 40, 20),
            (40, 50, 20),
            (50, 50, 7),
        ];
        assert_eq!(intervals, expected);
    }

    #[test]
    fn a_paced_request_counts_from_when_its_data_was_ready() {
        let mut meter = Meter::new(0, Timestamp(0), IntervalRule::Time(1000));
        meter.submitted(Timestamp(50));
        let request = Request {
            due_at: Some(Timestamp(10)),
            ..write()
        };
        meter.completed(&Completion {
            request,
            submitted_at: Timestamp(50),
            completed_at: Timestamp(70),
            bytes: 1,
            error: None,
        });
        assert_eq!(meter.latency().max().latency_ns, 60);
    }

    #[test]
    fn a_request_that_fails_or_never_returns_was_waited_for() {
        let completion = |completed_ns, error: Option<IoFault>| Completion {
            request: write(),
            submitted_at: Timestamp(0),
            completed_at: Timestamp(completed_ns),
            bytes: u64::from(error.is_none()),
            error,
        };
        let mut meter = Meter::new(0, Timestamp(0), IntervalRule::Time(1000));
        meter.submitted(Timestamp(0));
        meter.submitted(Timestamp(0));
        meter.completed(&completion(46, None));
        meter.completed(&completion(3000, Some(IoFault::Kernel(5))));
        assert_eq!(meter.stalls().worst_ns(), 2954);
        meter.submitted(Timestamp(3000));
        meter.finish(Timestamp(41_000));
        assert_eq!(meter.stalls().worst_ns(), 38_000);
        assert!(meter.stalls().is_worst_unreturned());
    }

    #[test]
    fn depth_reached_is_the_most_in_flight_at_once() {
        let mut meter = Meter::new(0, Timestamp(0), IntervalRule::Time(1000));
        meter.submitted(Timestamp(0));
        meter.submitted(Timestamp(0));
        complete(&mut meter, 1, 2, 1);
        assert_eq!((meter.depth_reached(), meter.in_flight()), (3, 2));
    }
}
