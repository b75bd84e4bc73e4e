//! Measures one point of a sweep as a phase on prepared targets: the orders for its drivers, and
//! the outcome.

use std::collections::BTreeMap;

use sustain_disk::engine::Operation;
use sustain_disk::error::Error;
use sustain_disk::layout::Layout;
use sustain_disk::meter::{IntervalRule, Meter};
use sustain_disk::target::{DataPath, Direction};
use sustain_load::collect::{TOOL_SHARE, rate};
use sustain_load::event::{Observer, Phase};
use sustain_load::phase::PhaseOutcome;
use sustain_load::prepared::PreparedTargets;
use sustain_load::series::bytes_until;
use sustain_load::session::Session;
use sustain_load::setup::PhaseSetup;

use super::setting::Setting;
use crate::measure::media::{FlushedRun, flushed_runs};

/// The first part of a point does not count: queues fill, and heads find their place.
const SKIPPED: f64 = 1.0 / 8.0;
/// A request that took more than this many times the median, and more than this part of the run,
/// waited in a stall.
const STALL_MEDIANS: f64 = 4.0;
const STALL_SHARE_MIN: f64 = 0.01;
/// Members of a stripe that are further apart than this are not in lockstep yet,
const LOCKSTEP: f64 = 0.99;
/// if each of the others is ahead of the slowest by more than this many requests as well: so much
/// is under way at the ends of the time that counts.
const REQUESTS_APART: f64 = 1.0;

/// The outcome of a point.
#[derive(Debug, Clone)]
pub(crate) struct PointOutcome {
    pub(crate) rate_bytes_per_s: f64,
    pub(crate) bytes: u64,
    /// `None` if time is simulated.
    pub(crate) cpu_seconds_per_gb: Option<f64>,
    pub(crate) tail: LatencyTail,
    /// The part of its time that the targets stalled, if it shows in its rate.
    pub(crate) stall_share: f64,
    /// How long the flush after it was, if volatile caches had taken part of what it wrote.
    pub(crate) cache_flush_s: Option<f64>,
    /// Whether a driver had no CPU time left.
    pub(crate) is_tool_limited: bool,
    /// Whether some target was gone over more than once.
    pub(crate) is_wrapped: bool,
    /// The failure of a target: what happened and what to do next.
    pub(crate) failed: Option<String>,
    /// The engine that did the work.
    pub(crate) engine: &'static str,
}

impl PointOutcome {
    /// The outcome of a point that could not even begin.
    pub(super) fn without_run(why: String) -> PointOutcome {
        PointOutcome {
            rate_bytes_per_s: 0.0,
            bytes: 0,
            cpu_seconds_per_gb: None,
            tail: LatencyTail::default(),
            stall_share: 0.0,
            cache_flush_s: None,
            is_tool_limited: false,
            is_wrapped: false,
            failed: Some(why),
            engine: "none",
        }
    }
}

/// Latencies of all targets and all repeats, for the few longest of them.
#[derive(Debug, Clone, Default)]
pub(crate) struct LatencyTail {
    /// The number of requests by the upper end of their bin.
    bins: BTreeMap<u64, u64>,
    max_ns: u64,
}

impl LatencyTail {
    fn of(meter: &Meter) -> LatencyTail {
        let mut tail = LatencyTail::default();
        tail.add(meter);
        tail
    }

    fn add(&mut self, meter: &Meter) {
        for (_, to_ns, count) in meter.latency().bins() {
            *self.bins.entry(to_ns).or_default() += count;
        }
        self.max_ns = self.max_ns.max(meter.latency().max().latency_ns);
    }

    pub(crate) fn join(&mut self, other: &LatencyTail) {
        for (to_ns, count) in &other.bins {
            *self.bins.entry(*to_ns).or_default() += count;
        }
        self.max_ns = self.max_ns.max(other.max_ns);
    }

    pub(crate) fn max_ns(&self) -> u64 {
        self.max_ns
    }

    /// The part of a run of `time_ns` that the longest request waited in a stall; 0 if it did not,
    /// or for too little to show in the rate.
    fn stall_share(&self, time_ns: u64) -> f64 {
        let median_ns = self.within(0.5) as f64;
        let longest_ns = self.max_ns as f64;
        let share = longest_ns / time_ns as f64;
        if longest_ns > median_ns * STALL_MEDIANS && share > STALL_SHARE_MIN {
            share
        } else {
            0.0
        }
    }

    /// The latency that 999 of 1000 requests stay within.
    pub(crate) fn p99_9_ns(&self) -> u64 {
        self.within(0.999)
    }

    /// The latency that this part of the requests stays within.
    fn within(&self, part: f64) -> u64 {
        let all: u64 = self.bins.values().sum();
        let rank = (all as f64 * part).ceil() as u64;
        let mut seen = 0;
        for (to_ns, count) in &self.bins {
            seen += count;
            if seen >= rank {
                return (*to_ns).min(self.max_ns);
            }
        }
        self.max_ns
    }
}

/// The phase of a setting, on prepared targets. `bytes` bounds what each target is given.
pub(crate) fn setup_of(
    setting: &Setting,
    session: &Session,
    time_ns: u64,
    bytes: Option<u64>,
    like: &PhaseSetup,
) -> PhaseSetup {
    let writes = setting.direction == Direction::Write;
    let extent_bytes = match setting.layout {
        Layout::Stripe { chunk_bytes } => {
            let sizes = session.targets.iter().map(|target| target.size_bytes);
            Some(sizes.min().unwrap_or(0) / chunk_bytes * chunk_bytes)
        }
        Layout::Independent | Layout::Turns | Layout::Span => None,
    };
    PhaseSetup {
        phase: Phase::Subset,
        targets: setting.order.clone(),
        positions_bytes: vec![0; setting.order.len()],
        lap_bytes: vec![None; setting.order.len()],
        operation: if writes {
            Operation::Write
        } else {
            Operation::Read
        },
        record_bytes: setting.record_bytes,
        depth: setting.depth,
        engine: setting.engine,
        path: setting.path,
        layout: setting.layout,
        flush_at_end: writes && setting.path == DataPath::Buffered,
        // Each request is reported by itself, because a slow disk has only a few of them in a
        // point.
        interval: IntervalRule::Bytes(setting.request_bytes()),
        time_ns: Some(time_ns),
        bytes,
        extent_bytes,
        wraps: Some(true),
        // More drivers than targets would be idle.
        may_start_anew: like.may_start_anew
            && setting.layout == Layout::Independent
            && (like.threads as usize) < setting.order.len(),
        ..like.clone()
    }
}

/// Runs the phase of a point, and flushes what it wrote: a point may not find in a volatile cache
/// what another has left there, and the flush shows what this one leaves.
pub(crate) fn run_point(
    prepared: &mut PreparedTargets<'_>,
    setup: &PhaseSetup,
    observer: &mut Observer<'_>,
) -> Result<PhaseOutcome, Error> {
    let (mut phase, _) = prepared.run_phase(setup, observer)?;
    if prepared.stop.reason().is_none() {
        prepared.flush_after(setup, &mut phase, observer)?;
    }
    Ok(phase)
}

/// The outcome of a phase of this setting.
pub(crate) fn outcome_of(
    setting: &Setting,
    setup: &PhaseSetup,
    session: &Session,
    outcome: &PhaseOutcome,
) -> PointOutcome {
    let bytes: u64 = outcome.meters.iter().map(Meter::bytes).sum();
    let mut tail = LatencyTail::default();
    outcome.meters.iter().for_each(|meter| tail.add(meter));
    // A slow target beside a fast one is no stall, so each is judged by its own requests.
    let stall_share =
        |meter: &Meter| LatencyTail::of(meter).stall_share(setup.time_ns.unwrap_or(u64::MAX));
    let series = outcome.collected.targets.iter().zip(&setup.targets);
    let failed = series.clone().find_map(|(series, target)| {
        let name = &session.targets[*target].target.name;
        let failure = series.failures.first()?;
        Some(failure.on(name).to_string())
    });
    let mut parts = outcome.meters.iter().zip(&setup.targets);
    let is_wrapped =
        parts.any(|(meter, target)| meter.bytes() > session.targets[*target].size_bytes);
    let is_virtual = session.clock.is_virtual();
    let flushed = flushed_runs(setting.layout == Layout::Independent, outcome);
    PointOutcome {
        rate_bytes_per_s: rate_of(setting, setup, outcome, &flushed),
        bytes,
        cpu_seconds_per_gb: (!is_virtual && bytes > 0)
            .then(|| outcome.cpu_ns as f64 / bytes as f64),
        stall_share: outcome.meters.iter().map(stall_share).fold(0.0, f64::max),
        cache_flush_s: flushed
            .iter()
            .flatten()
            .map(|one| one.flush_s)
            .reduce(f64::max),
        tail,
        is_tool_limited: !is_virtual
            && outcome
                .drivers
                .iter()
                .any(|driver| driver.cpu_share >= TOOL_SHARE),
        is_wrapped,
        failed,
        engine: outcome
            .drivers
            .first()
            .map_or("none", |driver| driver.engine),
    }
}

/// All targets' bytes over the time that counts. What a volatile cache took counts only at the rate
/// at which it reached the medium.
fn rate_of(
    setting: &Setting,
    setup: &PhaseSetup,
    outcome: &PhaseOutcome,
    flushed: &[Option<FlushedRun>],
) -> f64 {
    let last_ns = outcome.meters.iter().map(Meter::last_ns).max().unwrap_or(0);
    if setup.flush_at_end {
        // Written data is on the disks only after the flush.
        return rate(outcome.meters.iter().map(Meter::bytes).sum(), last_ns);
    }
    let until_ns = setup.time_ns.unwrap_or(last_ns) as f64;
    let from_ns = until_ns * SKIPPED;
    let series = outcome.collected.targets.iter();
    let rates: Vec<f64> = series
        .map(|series| {
            let completions = series.intervals.as_slice();
            let moved = bytes_until(completions, until_ns) - bytes_until(completions, from_ns);
            moved / (until_ns - from_ns) * 1e9
        })
        .collect();
    let on_media = |rate: f64, flushed: &Option<FlushedRun>| {
        flushed.map_or(rate, |flushed| rate.min(flushed.rate_bytes_per_s))
    };
    let sum: f64 = rates.iter().sum();
    match setting.layout {
        Layout::Independent => {
            let parts = rates.iter().zip(flushed);
            parts.map(|(rate, flushed)| on_media(*rate, flushed)).sum()
        }
        // Until the window is full, the faster members run ahead; from then on, rows complete at
        // the pace of the slowest.
        Layout::Turns | Layout::Stripe { .. } => {
            let requests_bytes = REQUESTS_APART * setting.request_bytes() as f64;
            let rows = rate_of_rows(&rates, requests_bytes / (until_ns - from_ns) * 1e9);
            flushed.iter().fold(rows, on_media)
        }
        Layout::Span => flushed.iter().fold(sum, on_media),
    }
}

/// The rate that lockstep keeps up, from the rates of its members in a run that may be too short to
/// fill its window. Members that are ahead of the slowest by less than `apart_bytes_per_s` each are
/// in lockstep.
fn rate_of_rows(rates: &[f64], apart_bytes_per_s: f64) -> f64 {
    let sum: f64 = rates.iter().sum();
    let slowest = rates.iter().copied().fold(f64::INFINITY, f64::min);
    let rows = slowest * rates.len() as f64;
    let is_apart = sum - rows > apart_bytes_per_s * (rates.len() as f64 - 1.0);
    if rows < LOCKSTEP * sum && is_apart {
        rows
    } else {
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stripe_whose_window_still_fills_is_as_fast_as_its_slowest_member() {
        // Two disks share 17 MB/s, and one beside them runs ahead at 11.
        let rate = rate_of_rows(&[8.5e6, 8.5e6, 11e6], 1e5);
        assert!((rate - 25.5e6).abs() < 1.0, "{rate}");
        // One that takes turns with a slower one has run two requests of 4 MiB ahead in 0.875 s.
        let rate = rate_of_rows(&[19.3e6, 10e6], 4.8e6);
        assert!((rate - 20e6).abs() < 1.0, "{rate}");
        // What differs by less than a request is in lockstep.
        let rate = rate_of_rows(&[8.5e6, 8.5e6, 9e6], 4e5);
        assert!((rate - 26e6).abs() < 1.0, "{rate}");
    }

    #[test]
    fn the_tail_is_of_all_repeats() {
        let one = LatencyTail {
            bins: BTreeMap::from([(100, 999), (200, 1)]),
            max_ns: 190,
        };
        assert_eq!(one.p99_9_ns(), 100);
        let mut both = one.clone();
        both.join(&LatencyTail {
            bins: BTreeMap::from([(200, 10)]),
            max_ns: 195,
        });
        assert_eq!((both.p99_9_ns(), both.max_ns()), (195, 195));
        assert_eq!(LatencyTail::default().p99_9_ns(), 0);
    }
}
