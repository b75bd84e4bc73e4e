//! Decides whether a run paced by `--rate` held that rate. There are three answers, and only this
//! module decides which one it is: the terminal, the document, the report and the exit code all
//! use it. The conclusion calls it.

use sustain_disk::layout::Layout;
use sustain_document::measure::TargetResult;
use sustain_document::vocabulary::Ending;
use sustain_load::collect::{BacklogHigh, Collected, steps};
use sustain_load::session::Session;
use sustain_statistics::judge::growth::steady_growth;

use super::media::{OnMedia, on_media};
use super::plan::MeasurePlan;
use super::statements::UndecidedReason;
use crate::figures::seconds;

/// A run that ended before this part of the time asked for decides nothing.
const TIME_SHARE_MIN: f64 = 0.99;

/// The last time before a target is full that is not judged.
const SECOND_OF_END_S: f64 = 1.0;

/// The answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PacedOutcome {
    /// The backlog stayed within the buffer, and did not grow steadily; and no cache had taken
    /// what the medium could not.
    Yes,
    /// The backlog was larger than the buffer or grew steadily to the end, or only caches took the
    /// rate, or a target failed.
    No,
    /// Nothing shows that it did not hold, but this run is no proof; the reason.
    Undecided(UndecidedReason),
}

impl PacedOutcome {
    /// The answer for the document.
    pub(crate) fn known(self) -> Option<bool> {
        match self {
            PacedOutcome::Yes => Some(true),
            PacedOutcome::No => Some(false),
            PacedOutcome::Undecided(_) => None,
        }
    }

    /// The reason why it is not known.
    pub(crate) fn why(self) -> Option<UndecidedReason> {
        match self {
            PacedOutcome::Yes | PacedOutcome::No => None,
            PacedOutcome::Undecided(why) => Some(why),
        }
    }
}

/// Whether the rate held, with a backlog of `backlog_bytes` at most. A run that is no proof that a
/// rate holds may well prove that it does not.
pub(crate) fn paced_outcome(
    plan: &MeasurePlan,
    session: &Session,
    targets: &[TargetResult],
    backlog_bytes: u64,
    collected: &Collected,
) -> PacedOutcome {
    let has_failed = targets.iter().any(|target| !target.errors.is_empty());
    if has_failed {
        return PacedOutcome::No;
    }
    if backlog_bytes > plan.buffer_bytes {
        let full = held_until_full(plan, targets, &collected.backlog_highs);
        return full.map_or(PacedOutcome::No, PacedOutcome::Undecided);
    }
    if grows(plan, session, targets, collected) {
        return PacedOutcome::No;
    }
    let is_independent = plan.load.layout == Layout::Independent;
    let asked_s = plan.load.time_ns.map(seconds);
    let flush_ns = |flush_s: f64| (flush_s * 1e9) as u64;
    let in_caches = match on_media(is_independent, plan.buffer_bytes, asked_s, targets) {
        OnMedia::Held => None,
        OnMedia::Cached => return PacedOutcome::No,
        OnMedia::Open { flush_s } => Some(UndecidedReason::Cached {
            flush_ns: flush_ns(flush_s),
        }),
        OnMedia::OpenOnOne { target, flush_s } => Some(UndecidedReason::CachedOnOne {
            target,
            flush_ns: flush_ns(flush_s),
        }),
    };
    match undecided(plan, session, targets).or(in_caches) {
        Some(why) => PacedOutcome::Undecided(why),
        None => PacedOutcome::Yes,
    }
}

/// Whether the backlog grew steadily to the end, so that a longer run would fill any buffer. Writes
/// through the page cache complete in memory, so their backlog tells nothing of it.
fn grows(
    plan: &MeasurePlan,
    session: &Session,
    targets: &[TargetResult],
    collected: &Collected,
) -> bool {
    let Some(rate_bytes_per_s) = plan.load.rate_bytes_per_s else {
        return false;
    };
    let is_full = |target: &&TargetResult| target.ended == Ending::EndOfDevice;
    let full_s = targets.iter().filter(is_full);
    let full_s = full_s.map(|target| target.seconds - SECOND_OF_END_S);
    let last_s = targets.iter().map(|target| target.seconds);
    let last_s = last_s.fold(0.0, f64::max);
    // What completes after the source has ended makes up for nothing.
    let asked_s = plan.load.time_ns.map_or(last_s, |ns| ns as f64 / 1e9);
    let until_s = full_s.fold(asked_s.min(last_s), f64::min);
    let blur_bytes = plan.load.record_bytes as f64 * targets.len() as f64;
    !plan.writes_buffered(session.direction)
        && steady_growth(
            &steps(&collected.total),
            rate_bytes_per_s,
            until_s,
            blur_bytes,
        )
        .is_some()
}

/// A target that is full takes nothing more, so that only the time before tells whether all of
/// them hold the rate. `None` if no target was full, or if the backlog was too large before.
fn held_until_full(
    plan: &MeasurePlan,
    targets: &[TargetResult],
    highs: &[BacklogHigh],
) -> Option<UndecidedReason> {
    let full = targets.iter().enumerate();
    let full = full.filter(|(_, target)| target.ended == Ending::EndOfDevice);
    let (target, first) = full.min_by(|one, other| one.1.seconds.total_cmp(&other.1.seconds))?;
    // What fell due while the last records were written was offered to a target that was full.
    let until_s = first.seconds - SECOND_OF_END_S;
    let before = highs
        .iter()
        .filter(|high| high.at_ns as f64 / 1e9 < until_s);
    let backlog_bytes = before.map(|high| high.bytes).fold(0.0, f64::max);
    let is_enough = until_s > 0.0 && backlog_bytes <= plan.buffer_bytes as f64;
    is_enough.then_some(UndecidedReason::TargetFull {
        target,
        full_s: first.seconds as u64,
    })
}

fn undecided(
    plan: &MeasurePlan,
    session: &Session,
    targets: &[TargetResult],
) -> Option<UndecidedReason> {
    let is_rewritten = targets.iter().any(|target| target.laps > 1);
    if plan.writes_buffered(session.direction) && is_rewritten {
        return Some(UndecidedReason::RewrittenInCache);
    }
    let last_s = targets
        .iter()
        .map(|target| target.seconds)
        .fold(0.0, f64::max);
    let ended_early = targets
        .iter()
        .any(|target| target.ended == Ending::EndOfDevice)
        && plan
            .load
            .time_ns
            .is_some_and(|time_ns| last_s < time_ns as f64 / 1e9 * TIME_SHARE_MIN);
    ended_early.then_some(UndecidedReason::EndOfDevice)
}
