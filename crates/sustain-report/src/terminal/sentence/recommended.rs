//! The part of a measurement's answer that recommends a rate: the memory that it needs, what for,
//! and how far paced runs confirmed it.

use sustain_document::measure::{MeasureResult, Recommendation};
use sustain_document::verdicts::BufferPurpose;
use sustain_experiments::measure::verdicts;

use super::subject::{reads, targets};
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
    // If the confirming run used far less than that, it does not measure the need: both are told.
    let purpose = verdicts::of(result).buffer_is_for;
    let used = purpose.and(found.backlog_max_bytes);
    let needed = match (found.buffer_bytes < result.plan.buffer_bytes, purpose) {
        (true, None) => format!(", of which {} are needed", memory(found.buffer_bytes)),
        (true, Some(purpose)) => format!(", of which {}", needed_for(purpose, found.buffer_bytes)),
        (false, _) => String::new(),
    };
    let proof = match found.confirmed {
        Some(_) => format!(
            "confirmed by a paced run of {held}{}",
            used.map_or_else(String::new, |used| format!(", which used {}", memory(used))),
        ),
        None if found.held_seconds.is_some() => format!(
            "not confirmed: a paced run of {held} was too short for the few records that fell due"
        ),
        None => "not confirmed by a paced run".to_owned(),
    };
    format!(
        "A stream can be {verb} at {speed} {on} {} with a {buffer} buffer{needed} ({proof}){}",
        targets(result),
        stepped_down(found)
    )
}

/// How much memory is needed, and what most of it is for.
fn needed_for(purpose: BufferPurpose, buffer_bytes: u64) -> String {
    let needed = memory(buffer_bytes);
    let cause = match purpose {
        BufferPurpose::Records => "for the requests under way",
        BufferPurpose::Pauses => "for the stalls seen",
        BufferPurpose::SlowPeriods => "for the periods in which the run was slower than that",
        BufferPurpose::Margin => {
            return format!("at most {needed} are needed");
        }
    };
    format!("{needed} are needed {cause}")
}

/// Names the highest rate that was tried before and did not hold.
fn stepped_down(found: &Recommendation) -> String {
    let tried = found.attempts.iter().filter(|attempt| !attempt.held);
    match tried
        .map(|attempt| attempt.rate_bytes_per_s)
        .reduce(f64::max)
    {
        Some(highest) => format!("; {} was tried first and did not hold", rate(highest)),
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
                "By the stalls that were seen, a stream could be {verb} at {speed} with a {buffer} \
                 buffer, but this rate did NOT hold in a paced run{}",
                backlog(": ", &format!("within {held}"))
            )
        }
    }
}
