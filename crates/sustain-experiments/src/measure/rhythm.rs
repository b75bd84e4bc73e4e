//! Checks whether a run was long enough to show how often its long stalls come: a stall that was
//! seen once may come each minute or each hour, and the rate at which one may record depends on it.
//! It works on the result document alone.

use sustain_document::measure::{MeasureResult, TargetResult};
use sustain_document::verdicts::RhythmNotSeen;
use sustain_document::vocabulary::TargetKind;

const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;
/// A size of this many whole units is near enough to the whole.
const STEPS_MIN: u64 = 8;

/// Shorter stalls hardly fill a buffer, however often they come.
const STALL_NS_MIN: u64 = 1_000_000_000;
/// Stalls of at least half the longest one are of its kind; this many of them show how often they
/// come.
const SEEN_MIN: usize = 3;
/// A run this many times longer than the stall, and than this run, has a good chance of showing it.
const STALLS_PROPOSED: f64 = 40.0;
const RUNS_PROPOSED: f64 = 4.0;

/// A long stall that was seen too seldom to know how often such stalls come, and the time that
/// would show it. `None` if there was none, or enough of them.
pub(super) fn not_seen(result: &MeasureResult) -> Option<RhythmNotSeen> {
    let (total, stalls) = (&result.total, &result.stalls);
    let attempts = result
        .recommendation
        .as_ref()
        .map_or(&[][..], |found| found.attempts.as_slice());
    let of_paced = attempts.iter().map(|attempt| attempt.worst_stall_ns);
    let of_run = stalls.iter().map(|stall| stall.duration_ns);
    let longest_ns = of_run.chain(of_paced.clone()).max()?;
    if longest_ns < STALL_NS_MIN {
        return None;
    }
    let is_alike = |duration_ns: u64| duration_ns >= longest_ns / 2;
    // Stalls of this length that were not listed are the ordinary pace, such as the single records
    // of a slow disk.
    let in_run = stalls.iter().any(|stall| is_alike(stall.duration_ns));
    if is_alike(total.worst_stall_ns) && !in_run {
        return None;
    }
    // A stall that several targets had at the same moment counts as one.
    let of_target = |name: &str| {
        let own = stalls.iter().filter(|stall| stall.target == name);
        own.filter(|stall| is_alike(stall.duration_ns)).count()
    };
    let of_run = stalls.iter().map(|stall| of_target(&stall.target)).max();
    let seen = of_run.unwrap_or(0) + of_paced.filter(|stall_ns| is_alike(*stall_ns)).count();
    if seen >= SEEN_MIN {
        return None;
    }
    let paced_s: f64 = attempts.iter().map(|attempt| attempt.seconds).sum();
    let seconds = total.seconds + paced_s;
    let longest_s = longest_ns as f64 / 1e9;
    let proposed_s = (STALLS_PROPOSED * longest_s).max(RUNS_PROPOSED * seconds);
    let mut targets = result.targets.iter();
    let is_beyond_the_end =
        result.plan.size_bytes.is_none() && targets.any(|one| ends_within(one, proposed_s));
    Some(RhythmNotSeen {
        stall_ns: longest_ns,
        seen,
        seconds,
        proposed_time_s: proposed_s,
        is_beyond_the_end,
        proposed_size_bytes: is_beyond_the_end.then(|| size_to_repeat(result)).flatten(),
    })
}

/// The largest part that every target has, as a `--size` that is easy to type; `None` if the run
/// began elsewhere than at the start, or if a record would not fit.
fn size_to_repeat(result: &MeasureResult) -> Option<u64> {
    let ending = result.targets.iter().filter(|one| can_end(one));
    let least_bytes = ending.filter_map(|one| one.capacity_bytes).min()?;
    let record_bytes = result.plan.record_size_bytes.max(1);
    let steps = [GIB, MIB].map(|step| step.max(record_bytes).next_multiple_of(record_bytes));
    let is_fine = |step: &u64| least_bytes / step >= STEPS_MIN;
    let step = steps.into_iter().find(is_fine).unwrap_or(record_bytes);
    let size_bytes = least_bytes / step * step;
    (result.plan.at.is_none() && size_bytes > 0).then_some(size_bytes)
}

/// Whether a run over this target comes to an end; one over a file begins again.
fn can_end(target: &TargetResult) -> bool {
    matches!(target.kind, TargetKind::BlockDevice | TargetKind::Simulated)
}

/// Whether a target comes to its end within this time, at the rate of this run.
fn ends_within(target: &TargetResult, seconds: f64) -> bool {
    let capacity_bytes = target.capacity_bytes;
    can_end(target)
        && capacity_bytes.is_some_and(|bytes| target.rate_bytes_per_s * seconds > bytes as f64)
}
