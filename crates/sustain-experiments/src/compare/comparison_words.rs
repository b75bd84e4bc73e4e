//! All English of a comparison's document: where a row's interval comes from or why there is none,
//! what the limit says of each target, and the notes. Functions of data only; errors tell theirs
//! where they arise.

use sustain_disk::units::{DisplayPosition, Rate};
use sustain_document::setting::{AB, EFFECT, INTERVAL, TIME, TIME_PER_RUN};

use crate::measure::media::longer_s;

/// A rate whose requests completed in memory.
pub(super) const THROUGH_PAGE_CACHE: &str = "through the page cache a completed request is only \
     in memory: the rate with the closing flush is one figure for the whole run, without a \
     confidence interval";
/// A steady window of a few intervals.
pub(super) const FEW_IN_WINDOW: &str =
    "fewer than ten intervals in the steady window, so there is no confidence interval";
/// A series of a few intervals.
pub(super) const FEW_INTERVALS: &str =
    "fewer than ten intervals, so there is no confidence interval";
/// Maxima of intervals that differ in length.
pub(super) const LENGTHS_DIFFER: &str =
    "no confidence interval: the intervals of A and B differ in length";
/// A figure of which there is no series.
pub(super) const ONE_FIGURE: &str = "one figure for the whole run, without a confidence interval";
/// A trial that ended after a pair or two.
pub(super) const FEW_PAIRS: &str = "too few pairs of runs for a confidence interval";
/// The cause of a failure of which no error was kept.
pub(super) const ENDED_WITH_AN_ERROR: &str = "it ended with an error";
/// Two paced runs.
pub(super) const BOTH_PACED: &str = "both runs were paced: where they held, their rate is that of \
     the source, and only latencies tell the disks apart";
/// A trial of a setting against itself.
pub(super) const SAME_SETTING: &str = "A and B are the same setting (an A/A trial): a difference \
     that shows here is noise, or an effect of one run on the next";

pub(super) fn over_the_first(bytes: u64) -> String {
    format!(
        "over the first {} that both transferred",
        DisplayPosition(bytes)
    )
}

/// A run without a sustained rate; the figure that stands for it is its mean at the end.
pub(super) fn not_reached(side: &str, why: &str) -> String {
    format!("not reached in {side}: {why}")
}

/// From when on each of the runs was steady.
pub(super) fn windows(a_from_s: f64, b_from_s: f64) -> String {
    format!("from {a_from_s:.0} s in A and from {b_from_s:.0} s in B to the end")
}

/// One run fell from a faster beginning to its steady rate; the other did not, or not yet.
pub(super) fn only_one_fell([fell, other]: [&str; 2]) -> String {
    format!(
        "no confidence interval: {fell} was faster at first and then fell to this rate, and \
         {other} was not, so that its cache may not have been full yet (use a longer {TIME})"
    )
}

pub(super) fn typical_latencies(interval_s: f64) -> String {
    format!("geometric means of the longest latency in each {interval_s:.3} s")
}

pub(super) fn of_pairs(pairs: usize) -> String {
    format!(
        "geometric means of {pairs} pairs of runs; the interval is valid however often it is \
         looked at"
    )
}

/// What a trial has found so far.
pub(super) fn after_pairs(pairs: usize, ratio: f64, [low, high]: [f64; 2]) -> String {
    format!(
        "after {pairs} pairs B reaches {:.1} % of A's rate (95 % interval: {:.1} to {:.1} %)",
        ratio * 100.0,
        low * 100.0,
        high * 100.0
    )
}

/// How B's target failed where A's did not.
pub(super) fn failed_in_b(target: &str, why: &str) -> String {
    format!("{target}: requests failed in B, but not in A: {why}")
}

/// A rate that the limit applies to and that has no interval.
pub(super) fn limit_undecided(name: &str, why: &str) -> String {
    format!("{name}: cannot be told, {why}")
}

/// Whether a rate that the limit applies to is held, as far as that can be told.
pub(super) fn limit_held(
    name: &str,
    is_held: Option<bool>,
    [low, high]: [f64; 2],
    least: f64,
) -> String {
    let words = match is_held {
        Some(false) => "slower than allowed",
        Some(true) => "held",
        None => "cannot be told, because the runs are too short or too noisy",
    };
    format!(
        "{name}: {words}; B reaches {:.1} to {:.1} % of A's rate, and {:.1} % are required",
        low * 100.0,
        high * 100.0,
        least * 100.0
    )
}

/// Targets that are compared although their names differ: A's and B's names.
pub(super) fn in_order(renamed: &[(&str, &str)]) -> String {
    let renamed: Vec<String> = renamed
        .iter()
        .map(|(one, other)| format!("{one} with {other}"))
        .collect();
    format!(
        "the names differ, so targets are compared in their order: {}",
        renamed.join(", ")
    )
}

/// A difference between the two runs that is allowed.
pub(super) fn differs(what: &str, a: &str, b: &str) -> String {
    format!("{what} differs: A {a}, B {b}")
}

pub(super) fn only_one_watched(side: &str) -> String {
    format!(
        "only {side} was measured with {}, whose light probe workloads use a little of the \
         machine",
        EFFECT.the()
    )
}

/// Two runs with hardly a stretch of the same bytes.
pub(super) fn few_in_common() -> String {
    format!(
        "the runs have fewer than ten intervals in common, so there is no confidence interval; \
         measure longer, or with a shorter {INTERVAL}"
    )
}

/// What the intervals of two saved runs do not know.
pub(super) fn within_each_run() -> String {
    format!(
        "the intervals count only the noise within each run, so they show whether these two runs \
         differ, not whether the two settings always do. To learn that, let `sustain compare {}` \
         measure the settings in turn; or repeat the run of A and compare it with A: if these two \
         differ as much, it is not the setting",
        AB.flag()
    )
}

/// Runs of a trial of which caches had taken a part; the longest flush after one took so long.
pub(super) fn into_caches(flush_s: f64) -> String {
    format!(
        "volatile caches had taken part of what was written when a run ended: the rates are those \
         at which the bytes reached the disks, the flush of up to {flush_s:.1} s included. Whether \
         A and B differ once the caches are full shows in longer runs ({TIME_PER_RUN} of {:.0} s)",
        longer_s(flush_s)
    )
}

/// A trial without an answer.
pub(super) fn time_was_over() -> String {
    format!(
        "the time ended without an answer: A and B may be alike, or differ by less than these runs \
         could show. A longer {TIME} or {TIME_PER_RUN} shows smaller differences"
    )
}

pub(super) fn no_cpu_time_left(side: &str) -> String {
    format!("in {side} this program had no CPU time left, so its rate is not that of the disks")
}

pub(super) fn shared_disks(side: &str, others_bytes_per_s: f64) -> String {
    format!(
        "in {side} other programs used its disks, too, at {}: its figures are those of shared \
         disks",
        Rate(others_bytes_per_s)
    )
}

pub(super) fn requests_failed(side: &str, target: &str) -> String {
    format!("in {side} requests to {target} failed")
}

pub(super) fn interrupted(side: &str) -> String {
    format!("{side} was interrupted")
}
