//! The part of a measurement's answer that recommends a rate: the memory that it needs, what for,
//! and how far paced runs confirmed it.

use sustain_document::measure::{MeasureResult, Recommendation};

use super::{reads, targets};
use crate::format::{memory, rate, stretch};

/// The rate at which one may record or read, and what the paced runs showed of it.
pub(super) fn records(result: &MeasureResult, found: &Recommendation) -> String {
    let speed = rate(found.rate_bytes_per_s);
    let buffer = memory(result.plan.buffer_bytes);
    let (verb, on) = if reads(result) {
        ("read", "from")
    } else {
        ("recorded", "on")
    };
    let held = stretch(found.held_seconds.unwrap_or(0.0));
    if found.confirmed == Some(false) {
        return did_not_hold(found, verb, &buffer);
    }
    let used = used_far_less(found);
    let needed = match (found.buffer_bytes < result.plan.buffer_bytes, &used) {
        (true, None) => format!("{} of it needed; ", memory(found.buffer_bytes)),
        (true, Some(_)) => format!(
            "{} of it needed {}; ",
            memory(found.buffer_bytes),
            needed_for(result, found)
        ),
        (false, _) => String::new(),
    };
    let proof = match found.confirmed {
        Some(_) => format!(
            "confirmed by a paced run of {held}{}{}",
            used.unwrap_or_default(),
            stepped_down(found)
        ),
        None => "not confirmed by a paced run".to_owned(),
    };
    format!(
        "A stream can be {verb} at {speed} {on} {} with a {buffer} buffer ({needed}{proof})",
        targets(result)
    )
}

/// What most of the memory is needed for: records that are being filled or written, where these are
/// large; pauses, where there were any; or else the time in which the run was slower.
fn needed_for(result: &MeasureResult, found: &Recommendation) -> &'static str {
    let is_most = |bytes: f64| bytes * 2.0 >= found.buffer_bytes as f64;
    let records = 1 + result.targets.len() as u64;
    let in_records = result.plan.record_size_bytes.saturating_mul(records);
    if is_most(in_records as f64) {
        return "for the records that are being filled and written";
    }
    let paused_s = longest_stall_ns(result) as f64 / 1e9;
    if is_most(paused_s * found.rate_bytes_per_s) {
        "for the pauses seen"
    } else {
        "for the periods in which the run was slower than that"
    }
}

/// The longest stall of the run or of a paced run, of a single target or of all.
pub(super) fn longest_stall_ns(result: &MeasureResult) -> u64 {
    let found = result.recommendation.iter();
    let attempts = found.flat_map(|found| &found.attempts);
    let of_paced = attempts.map(|attempt| attempt.worst_stall_ns);
    let of_run = result.stalls.iter().map(|stall| stall.duration_ns);
    let longest_ns = of_run.chain(of_paced).max().unwrap_or(0);
    longest_ns.max(result.total.worst_stall_ns)
}

/// The memory that the confirming run used, where that is so little that the memory said to be
/// needed does not measure it.
fn used_far_less(found: &Recommendation) -> Option<String> {
    let used = found.backlog_max_bytes?;
    (used < found.buffer_bytes / 2).then(|| format!(", which used {}", memory(used)))
}

/// Names the highest rate that was tried before and did not hold.
fn stepped_down(found: &Recommendation) -> String {
    let tried = found.attempts.iter().filter(|attempt| !attempt.held);
    match tried
        .map(|attempt| attempt.rate_bytes_per_s)
        .reduce(f64::max)
    {
        Some(highest) => format!("; {} did not hold", rate(highest)),
        None => String::new(),
    }
}

fn did_not_hold(found: &Recommendation, verb: &str, buffer: &str) -> String {
    let speed = rate(found.rate_bytes_per_s);
    let backlog = |before: &str, after: &str| {
        let most = found.backlog_max_bytes.map(memory);
        most.map_or_else(String::new, |most| {
            format!("{before}up to {most} were waiting {after}")
        })
    };
    match found.attempts.as_slice() {
        [first, _, ..] => format!(
            "No rate is confirmed at which a stream can be {verb} with a {buffer} buffer: of {} \
             paced runs, from {} down to {speed}, none held{}",
            found.attempts.len(),
            rate(first.rate_bytes_per_s),
            backlog(" (", "in the last one)")
        ),
        _ => {
            let held = stretch(found.held_seconds.unwrap_or(0.0));
            format!(
                "By the pauses that were seen, a stream could be {verb} at {speed} with a {buffer} \
                 buffer, but a run paced at this rate did NOT hold{}",
                backlog(": ", &format!("within {held}"))
            )
        }
    }
}
