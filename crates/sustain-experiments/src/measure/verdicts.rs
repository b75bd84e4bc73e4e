//! Decides what the figures of a measurement mean: every threshold of its answer stands here, in
//! `rhythm.rs`, in `media.rs` or in `backlog.rs`. It works on the result document alone; the
//! conclusion calls it once, and the views word what it decided.

use std::borrow::Cow;

use sustain_document::measure::{MeasureResult, Recommendation};
use sustain_document::verdicts::{BufferPurpose, MeasureVerdicts};
use sustain_document::vocabulary::LayoutKind;
use sustain_statistics::judge::Step;
use sustain_statistics::judge::curve::CumulativeBytes;
use sustain_statistics::judge::steady::WINDOW_S_MIN;

use super::confirm::STILL_GROWS;
use super::{backlog, media, rhythm};

/// If the rates of several targets lie further apart than this, all of them are named. Stalls that
/// differ by less are the same one, seen by two meters.
const RATES_APART: f64 = 0.02;
/// The stall of a paced run is named beside the run's own if it is this many times longer.
const STALL_LONGER: f64 = 1.5;
/// A shorter stall of a paced run is not named.
const STALL_SAID_NS: u64 = 100_000_000;
/// The rate of a disk swings if its slowest 10 s stayed below this part of the recommended rate.
const SWINGS_BELOW: f64 = 0.95;
/// A confirming run used far less memory than recommended if it used less than this part of it.
const FAR_LESS: f64 = 0.5;
/// A backlog that rises steadily is smaller at this part of a run than at its end,
const RISES_FROM: f64 = 0.75;
/// and most of it did not come after this one, as in a pause.
const PAUSE_FROM: f64 = 0.9;
/// What needs this part of the buffer needs most of it.
const MOST_OF_BUFFER: f64 = 0.5;

/// The verdicts of a document: its own or, where an earlier version wrote it without any, those on
/// its figures.
#[must_use]
pub fn of(result: &MeasureResult) -> Cow<'_, MeasureVerdicts> {
    match &result.verdicts {
        Some(told) => Cow::Borrowed(told),
        None => Cow::Owned(decide(result)),
    }
}

/// The verdicts on a measurement, from the figures of its document.
#[must_use]
pub fn decide(result: &MeasureResult) -> MeasureVerdicts {
    let total = &result.total;
    MeasureVerdicts {
        is_too_short: total.bytes > 0 && judged_s(result) < WINDOW_S_MIN,
        rates_differ: rates_differ(result),
        swings: swings(result),
        backlog_grows: backlog_grows(result),
        into_cache: media::into_cache(result),
        paced_stall_ns: paced_stall_ns(result),
        stall_is_of_one: stall_is_of_one(result),
        buffer_is_for: buffer_is_for(result),
        rhythm_not_seen: rhythm::not_seen(result),
        backlog_not_seen: backlog::not_seen(&result.plan, &result.host, &result.targets),
    }
}

/// The time over which a run is judged: that of its source, if it was paced, because its last
/// completion comes a little before that.
fn judged_s(result: &MeasureResult) -> f64 {
    match result.plan.rate_bytes_per_s {
        Some(_) => result.source_seconds().max(result.total.seconds),
        None => result.total.seconds,
    }
}

fn rates_differ(result: &MeasureResult) -> bool {
    let total = &result.total;
    let rates = [
        Some(total.sum_bytes_per_s),
        Some(total.wall_clock_bytes_per_s),
        total.all_active_bytes_per_s,
    ];
    let most = rates.iter().flatten().copied().fold(f64::MIN, f64::max);
    let least = rates.iter().flatten().copied().fold(f64::MAX, f64::min);
    result.targets.len() > 1 && most - least > RATES_APART * most
}

fn swings(result: &MeasureResult) -> bool {
    result.recommendation.as_ref().is_some_and(|found| {
        let worst = found.worst_10_s_bytes_per_s;
        let is_low = |worst: f64| worst < found.rate_bytes_per_s * SWINGS_BELOW;
        worst.is_some_and(|worst| is_low(worst) || found.confirmed == Some(false))
    })
}

fn backlog_grows(result: &MeasureResult) -> bool {
    let Some(rate_bytes_per_s) = result.plan.rate_bytes_per_s else {
        return false;
    };
    if result.total.rate_held == Some(false) {
        let is_within = result.total.backlog_max_bytes <= Some(result.plan.buffer_bytes);
        return is_within
            && (!is_only_cached(result) || rose_to_the_end(result, rate_bytes_per_s))
            && result.targets.iter().all(|one| one.errors.is_empty());
    }
    is_left_over(result, rate_bytes_per_s) && result.total.rate_held == Some(true)
}

/// Whether the backlog was about the largest at the end, and more than the requests in flight.
fn is_left_over(result: &MeasureResult, rate_bytes_per_s: f64) -> bool {
    let record_bytes = result.plan.record_size_bytes * u64::from(result.plan.depth);
    let in_flight_bytes = record_bytes.saturating_mul(result.targets.len() as u64) as f64;
    let left_bytes = rate_bytes_per_s * result.source_seconds() - result.total.bytes as f64;
    let most_bytes = result.total.backlog_max_bytes.unwrap_or(0) as f64;
    left_bytes > in_flight_bytes && left_bytes > STILL_GROWS * most_bytes
}

/// Whether the backlog rose to the end, and not in one pause: by the intervals of a run of which
/// caches had taken a part as well.
fn rose_to_the_end(result: &MeasureResult, rate_bytes_per_s: f64) -> bool {
    let steps = result.total.intervals.iter().map(|interval| Step {
        start_s: interval.start_s,
        end_s: interval.end_s,
        bytes: interval.bytes,
    });
    let steps: Vec<Step> = steps.collect();
    let Some(curve) = CumulativeBytes::new(&steps) else {
        return false;
    };
    let source_s = result.source_seconds();
    let left_bytes = |until_s: f64| {
        let [moved_bytes_per_s] = curve.batch_rates::<1>(curve.start_s(), until_s);
        (rate_bytes_per_s - moved_bytes_per_s) * (until_s - curve.start_s())
    };
    let [at_rise, late, at_end] =
        [RISES_FROM, PAUSE_FROM, 1.0].map(|part| left_bytes(part * source_s));
    is_left_over(result, rate_bytes_per_s) && at_rise < STILL_GROWS * at_end && late > at_end / 2.0
}

/// Whether a rate was not held because only caches took it.
fn is_only_cached(result: &MeasureResult) -> bool {
    let is_independent = result.plan.layout == LayoutKind::Independent;
    let found = media::on_media(
        is_independent,
        result.plan.buffer_bytes,
        result.plan.time_s,
        &result.targets,
    );
    found == media::OnMedia::Cached
}

fn paced_stall_ns(result: &MeasureResult) -> Option<u64> {
    let attempts = result.recommendation.as_ref()?.attempts.iter();
    let longest_ns = attempts.map(|attempt| attempt.worst_stall_ns).max()?;
    let of_run = result.stalls.iter().map(|stall| stall.duration_ns).max();
    let of_run_ns = of_run.unwrap_or(0).max(result.total.worst_stall_ns);
    let is_longer = longest_ns as f64 > of_run_ns as f64 * STALL_LONGER;
    (is_longer && longest_ns >= STALL_SAID_NS).then_some(longest_ns)
}

fn stall_is_of_one(result: &MeasureResult) -> bool {
    let longest = result.stalls.iter().map(|stall| stall.duration_ns).max();
    let together_ns = result.total.worst_stall_ns as f64;
    let is_longer = |longest_ns: u64| longest_ns as f64 > together_ns * (1.0 + RATES_APART);
    result.targets.len() > 1 && longest.is_some_and(is_longer)
}

fn buffer_is_for(result: &MeasureResult) -> Option<BufferPurpose> {
    let found = result.recommendation.as_ref()?;
    let used = found.backlog_max_bytes? as f64;
    let is_far_less = used < found.buffer_bytes as f64 * FAR_LESS;
    is_far_less.then(|| most_is_for(result, found))
}

/// What most of the memory is for: records that are being filled or written, where these are
/// large; pauses, where there were any; the time in which the run was slower, where its intervals
/// show that much; or else nothing that was seen, because the curve between its rates is an
/// estimate from above.
fn most_is_for(result: &MeasureResult, found: &Recommendation) -> BufferPurpose {
    let is_most = |bytes: f64| bytes >= found.buffer_bytes as f64 * MOST_OF_BUFFER;
    let records = 1 + result.targets.len() as u64;
    let in_records = result.plan.record_size_bytes.saturating_mul(records);
    if is_most(in_records as f64) {
        return BufferPurpose::Records;
    }
    let paused_s = result.longest_stall_ns() as f64 / 1e9;
    if is_most(paused_s * found.rate_bytes_per_s) {
        BufferPurpose::Pauses
    } else if is_most(backlog_by_intervals(result, found.rate_bytes_per_s)) {
        BufferPurpose::SlowPeriods
    } else {
        BufferPurpose::Margin
    }
}

/// The memory that a stream of this rate would have used at the most, by the intervals of the
/// run.
fn backlog_by_intervals(result: &MeasureResult, rate_bytes_per_s: f64) -> f64 {
    let intervals = result.total.intervals.iter();
    let left = intervals.scan(0.0, |backlog: &mut f64, interval| {
        let offered = rate_bytes_per_s * (interval.end_s - interval.start_s);
        *backlog = (*backlog + offered - interval.bytes as f64).max(0.0);
        Some(*backlog)
    });
    left.fold(0.0, f64::max)
}
