//! Merges the reports of the drivers into one series for each target and one for all together, in
//! order of time. It judges during the run what cannot wait for its end: whether all is steady, and
//! whether a driver is the limit.

use std::collections::VecDeque;

use sustain_disk::driver::{Arrival, DriverProgress, Ending, FailedRequest, TargetProgress};
use sustain_disk::engine::Operation;
use sustain_disk::meter::{BufferNeed, IntervalRule, MeterInterval, RateBeginning};
use sustain_statistics::judge::{Revisits, Step, steady};

use crate::event::{Event, Live, LiveTarget, Observer, Phase};
use crate::feed::PhaseStop;
use crate::series::Series;
pub use crate::series::rate;
use crate::setup::PhaseSetup;

mod collectors;
mod total;

pub(crate) use collectors::Collectors;
use total::{BIN_NS, MergedCompletions};

/// The time over which the instantaneous rate is taken.
const INSTANT_NS: u64 = 1_000_000_000;
/// Time between two checks of whether all targets are steady.
const STEADY_LOOK_NS: u64 = 1_000_000_000;
/// No run is called steady before this time, because a slow fall looks flat in its first seconds.
const STEADY_NS_MIN: u64 = 30_000_000_000;
/// The time at which the drivers are checked for being the limit.
const TOOL_LOOK_NS: u64 = 1_000_000_000;
/// A driver that uses this part of a CPU or more is the limit.
pub const TOOL_SHARE: f64 = 0.95;

/// One target's series.
#[derive(Debug, Default)]
pub struct TargetSeries {
    name: String,
    /// The intervals that the plan asks for.
    pub intervals: Series,
    /// About ten steps a second, for judging.
    pub steps: Series,
    /// The requests that failed.
    pub failures: Vec<FailedRequest>,
    /// Why it ended, once it has.
    pub ending: Option<Ending>,
    /// How long the flush after the run took, if there was one.
    pub flush_ns: Option<u64>,
    bytes: u64,
    interval_bytes: u64,
    in_flight: u32,
    at_ns: u64,
    recent: VecDeque<(u64, u64)>,
}

/// Everything that the drivers have reported.
#[derive(Debug)]
pub struct Collected {
    /// One series for each target of the phase.
    pub targets: Vec<TargetSeries>,
    /// The total in bins of a tenth of a second.
    pub total: Series,
    /// The first seconds of the total, completion by completion.
    pub beginning: RateBeginning,
    /// The buffer that a source of each rate would have needed.
    pub curve: Vec<BufferNeed>,
    /// With a paced source: the largest backlog.
    pub backlog_bytes_max: Option<f64>,
    /// The largest backlog so far, each time that it grew, at most one for each second.
    pub backlog_highs: Vec<BacklogHigh>,
    /// Longest time without any completion, and when it began.
    pub worst_stall_ns: u64,
    /// When that began.
    pub worst_stall_at_ns: u64,
}

/// Merges the reports of the drivers while they run.
pub(crate) struct Collector {
    phase: Phase,
    interval: IntervalRule,
    time_ns: Option<u64>,
    bytes_wanted: Option<u64>,
    lap_bytes: Vec<Option<u64>>,
    /// With a stripe or span, the targets are active as long as the stream is.
    one_stream: bool,
    targets: Vec<TargetSeries>,
    members: Vec<Vec<usize>>,
    arrivals: Vec<Arrivals>,
    total: MergedCompletions,
    stop: PhaseStop,
    until_steady: bool,
    may_start_anew: bool,
    steady_look_at_ns: u64,
}

/// Completions that one driver has reported and that are not merged yet.
#[derive(Debug, Default)]
struct Arrivals {
    waiting: VecDeque<Arrival>,
    /// No completion earlier than this will be reported.
    reported_until_ns: u64,
    ended: bool,
}

impl Collector {
    pub(crate) fn new(
        setup: &PhaseSetup,
        names: Vec<String>,
        members: Vec<Vec<usize>>,
        stop: PhaseStop,
    ) -> Collector {
        let targets: Vec<TargetSeries> = names
            .into_iter()
            .map(|name| TargetSeries {
                name,
                ..TargetSeries::default()
            })
            .collect();
        Collector {
            phase: setup.phase,
            interval: setup.interval,
            time_ns: setup.time_ns,
            bytes_wanted: setup.bytes.map(|bytes| bytes * targets.len() as u64),
            lap_bytes: setup.lap_bytes.clone(),
            one_stream: !setup.layout.has_own_streams(),
            targets,
            arrivals: members.iter().map(|_| Arrivals::default()).collect(),
            members,
            total: MergedCompletions::new(setup),
            stop,
            until_steady: setup.until_steady,
            may_start_anew: setup.may_start_anew,
            steady_look_at_ns: STEADY_NS_MIN,
        }
    }

    /// Takes the report of a driver.
    pub(crate) fn take(
        &mut self,
        driver: usize,
        progress: DriverProgress,
        cpu_share: f64,
        observer: &mut Observer<'_>,
    ) {
        let at_ns = progress.at_ns;
        let ended = progress
            .targets
            .iter()
            .all(|target| target.ending.is_some());
        for target in progress.targets {
            self.take_target(self.members[driver][target.target], at_ns, target, observer);
        }
        for failure in progress.failures {
            let target = self.members[driver][failure.target];
            self.targets[target]
                .failures
                .push(FailedRequest { target, ..failure });
            self.lose(target);
        }
        let arrivals = &mut self.arrivals[driver];
        arrivals.waiting.extend(progress.arrivals);
        arrivals.reported_until_ns = at_ns;
        arrivals.ended = ended;
        self.merge();
        self.decide(at_ns, cpu_share);
    }

    /// Notes that a target has failed: from then on the remaining targets are judged by themselves,
    /// if there are any.
    fn lose(&mut self, target: usize) {
        let is_left = |series: &TargetSeries| series.failures.is_empty();
        let failures = &self.targets[target].failures;
        if let [only] = failures.as_slice()
            && !self.one_stream
            && self.targets.iter().any(is_left)
        {
            self.total.lose_target(only.at_ns);
        }
    }

    fn take_target(
        &mut self,
        index: usize,
        at_ns: u64,
        progress: TargetProgress,
        observer: &mut Observer<'_>,
    ) {
        let of_targets = self.targets.len();
        let series = &mut self.targets[index];
        for interval in progress.intervals {
            series.interval_bytes += interval.bytes;
            series.intervals.push(interval);
            if self.phase == Phase::Measure {
                observer(Event::Interval {
                    target: series.name.clone(),
                    of_targets,
                    interval,
                    bytes_so_far: series.interval_bytes,
                });
            }
        }
        let bytes = progress.bytes - series.bytes;
        if (series.ending.is_none() || bytes > 0) && at_ns > series.at_ns {
            let (start_ns, latency_max_ns) = (series.at_ns, 0);
            series.steps.push(MeterInterval {
                start_ns,
                end_ns: at_ns,
                bytes,
                latency_max_ns,
            });
        }
        let has_failed = progress.ending == Some(Ending::Error) && of_targets > 1;
        if series.ending.is_none() && progress.ending.is_some() && !has_failed && !self.one_stream {
            let last = series.intervals.as_slice().last();
            let ended_ns = last.map_or(0, |interval| interval.end_ns);
            self.total.active_until_ns = self.total.active_until_ns.min(ended_ns);
        }
        series.bytes = progress.bytes;
        series.in_flight = progress.in_flight;
        series.ending = progress.ending;
        series.at_ns = at_ns;
        series.recent.push_back((at_ns, progress.bytes));
        while series.recent.len() > 2 && series.recent[1].0 + INSTANT_NS <= at_ns {
            series.recent.pop_front();
        }
    }

    /// Merges the completions of all drivers up to the time that all of them have reported.
    fn merge(&mut self) {
        let reported = |arrivals: &Arrivals| {
            if arrivals.ended {
                u64::MAX
            } else {
                arrivals.reported_until_ns
            }
        };
        let until_ns = self.arrivals.iter().map(reported).min().unwrap_or(0);
        loop {
            let earliest = self
                .arrivals
                .iter_mut()
                .filter(|arrivals| {
                    arrivals
                        .waiting
                        .front()
                        .is_some_and(|arrival| arrival.at_ns <= until_ns)
                })
                .min_by_key(|arrivals| arrivals.waiting.front().map(|arrival| arrival.at_ns));
            let Some(arrival) = earliest.and_then(|arrivals| arrivals.waiting.pop_front()) else {
                return;
            };
            match arrival.operation {
                Operation::Flush => self.total.flushed(arrival.at_ns),
                Operation::Read | Operation::Write => {
                    self.total.complete(arrival.at_ns, arrival.bytes);
                }
            }
        }
    }

    fn decide(&mut self, at_ns: u64, cpu_share: f64) {
        if self.may_start_anew && at_ns >= TOOL_LOOK_NS {
            self.may_start_anew = false;
            if cpu_share >= TOOL_SHARE {
                self.stop.start_anew();
            }
        }
        if self.until_steady && at_ns >= self.steady_look_at_ns {
            self.steady_look_at_ns = at_ns + STEADY_LOOK_NS;
            if self.is_steady() {
                self.stop.steady();
            }
        }
    }

    fn is_steady(&self) -> bool {
        self.targets
            .iter()
            .zip(&self.lap_bytes)
            .all(|(series, lap_bytes)| {
                let revisits = Revisits {
                    lap_bytes: *lap_bytes,
                };
                series.ending.is_some() || steady::judge(&steps(&series.steps), revisits).reached
            })
    }

    /// All targets at this moment.
    pub(crate) fn live(&self, at_ns: u64) -> Live {
        let all: u64 = self.targets.iter().map(|series| series.bytes).sum();
        let by_time = self.time_ns.map(|time_ns| at_ns as f64 / time_ns as f64);
        let by_bytes = self.bytes_wanted.map(|bytes| all as f64 / bytes as f64);
        let targets = self
            .targets
            .iter()
            .map(|series| {
                let (from_ns, from_bytes) = series.recent.front().copied().unwrap_or_default();
                let from = if series.recent.len() < 2 {
                    (0, 0)
                } else {
                    (from_ns, from_bytes)
                };
                LiveTarget {
                    name: series.name.clone(),
                    instant_bytes_per_s: rate(series.bytes - from.1, series.at_ns - from.0),
                    average_bytes_per_s: rate(series.bytes, series.at_ns),
                    share: series.bytes as f64 / all.max(1) as f64,
                    in_flight: series.in_flight,
                    ended: series.ending,
                }
            })
            .collect();
        Live {
            phase: self.phase,
            elapsed_s: at_ns as f64 / 1e9,
            remaining_s: self
                .time_ns
                .map(|time_ns| time_ns.saturating_sub(at_ns) as f64 / 1e9),
            then_s: None,
            done: by_time
                .into_iter()
                .chain(by_bytes)
                .reduce(f64::max)
                .map(|done| done.min(1.0)),
            targets,
        }
    }

    /// Bytes of each target so far.
    pub(crate) fn bytes(&self) -> Vec<u64> {
        self.targets.iter().map(|series| series.bytes).collect()
    }

    /// Ends the drivers after a failure.
    pub(crate) fn give_up(&self) {
        self.stop.give_up();
    }

    /// Whether the phase was stopped so that it can be repeated with more drivers.
    pub(crate) fn started_anew(&self) -> bool {
        self.stop.is_started_anew()
    }

    pub(crate) fn finish(mut self) -> Collected {
        for arrivals in &mut self.arrivals {
            arrivals.ended = true;
        }
        self.merge();
        // After the last completion, what failed was waited for until it failed.
        let failures = self.targets.iter().flat_map(|series| &series.failures);
        let requests = failures.filter(|failure| failure.operation != Operation::Flush);
        if let Some(failed_ns) = requests.map(|failure| failure.at_ns).max() {
            self.total.end_stall(failed_ns, false);
        }
        let ends = self.targets.iter().map(|series| series.at_ns);
        self.total.finish(ends.max().unwrap_or(0));
        self.total.bins.join_short_end(BIN_NS / 2);
        for series in &mut self.targets {
            series.steps.join_short_end(BIN_NS / 2);
            if let IntervalRule::Time(length_ns) = self.interval {
                series.intervals.join_short_end(length_ns / 2);
            }
        }
        let paced = self.total.rate_bytes_per_s.is_some();
        Collected {
            targets: self.targets,
            total: self.total.bins,
            curve: self.total.curve.points(),
            beginning: self.total.beginning,
            backlog_bytes_max: paced.then_some(self.total.backlog_bytes_max),
            backlog_highs: self.total.backlog_highs,
            worst_stall_ns: self.total.worst_stall_ns,
            worst_stall_at_ns: self.total.worst_stall_at_ns,
        }
    }
}

/// A backlog larger than any before.
#[derive(Debug, Clone, Copy)]
pub struct BacklogHigh {
    /// When, since the start.
    pub at_ns: u64,
    /// How large it was.
    pub bytes: f64,
}
/// A series as the judge takes it.
pub fn steps(series: &Series) -> Vec<Step> {
    series
        .as_slice()
        .iter()
        .map(|interval| Step {
            start_s: interval.start_ns as f64 / 1e9,
            end_s: interval.end_ns as f64 / 1e9,
            bytes: interval.bytes,
        })
        .collect()
}
