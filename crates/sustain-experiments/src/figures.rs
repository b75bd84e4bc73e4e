//! Computes the document's figures of a target, or of all together, from its meter and its series.
//! The conclusion calls it; nothing is judged here.

use sustain_disk::driver::FailedRequest;
use sustain_disk::meter::{LatencyMeter, MeterInterval, RateBeginning};
use sustain_document::measure::{Burst, Interval, Latency, TargetError};
use sustain_load::collect::rate;
use sustain_statistics::judge::{Step, burst, knee};

/// The burst that `steps` show, as exactly as the completions of the first seconds show it.
pub(crate) fn burst_of(steps: &[Step], beginning: &RateBeginning) -> Option<Burst> {
    let (found, rate_after) = burst::find_with_rate_after(steps)?;
    let points = beginning.points().iter();
    let points = points.map(|(at_ns, bytes)| (seconds(*at_ns), *bytes as f64));
    let found = knee::refined(found, rate_after, &points.collect::<Vec<_>>());
    Some(Burst {
        bytes: found.bytes,
        rate_bytes_per_s: found.rate_bytes_per_s,
    })
}

pub(crate) fn latency(meter: &LatencyMeter) -> Latency {
    let max = meter.max();
    Latency {
        p50: meter.percentile_ns(50.0),
        p90: meter.percentile_ns(90.0),
        p99: meter.percentile_ns(99.0),
        p99_9: meter.percentile_ns(99.9),
        max: max.latency_ns,
        max_at_s: seconds(max.at_ns),
        max_at_offset_bytes: max.offset_bytes,
    }
}

/// The intervals of a series, with the range of each that was joined from shorter ones.
pub(crate) fn intervals(
    series: &[MeterInterval],
    rate_ranges: Option<&[[f64; 2]]>,
) -> Vec<Interval> {
    let mut so_far = 0;
    series
        .iter()
        .enumerate()
        .map(|(index, interval)| {
            so_far += interval.bytes;
            Interval {
                start_s: seconds(interval.start_ns),
                end_s: seconds(interval.end_ns),
                bytes: interval.bytes,
                rate_bytes_per_s: rate(interval.bytes, interval.end_ns - interval.start_ns),
                average_bytes_per_s: rate(so_far, interval.end_ns),
                latency_max_ns: interval.latency_max_ns,
                rate_range_bytes_per_s: rate_ranges.and_then(|all| all.get(index).copied()),
            }
        })
        .collect()
}

pub(crate) fn target_error(failure: &FailedRequest, name: &str) -> TargetError {
    TargetError {
        at_s: seconds(failure.at_ns),
        operation: failure.operation,
        offset_bytes: failure.offset_bytes,
        message: failure.on(name).reason(),
        errno: failure.fault.of_kernel(),
    }
}

pub(crate) fn seconds(nanoseconds: u64) -> f64 {
    nanoseconds as f64 / 1e9
}

/// The time of day, UTC, RFC 3339.
pub(crate) fn time_of_day(unix_s: i64) -> String {
    jiff::Timestamp::from_second(unix_s)
        .map_or_else(|_| "unknown".to_owned(), |time| time.to_string())
}
