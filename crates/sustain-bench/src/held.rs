//! Whether a run that was paced by `--rate` held that rate. There are three answers, decided here alone:
//! the text, the document, the page and the exit code all say this one. Called by the conclusion.

use crate::plan::Plan;
use crate::remarks::writes_buffered;
use crate::result::TargetResult;
use crate::session::Session;

/// Less of the time that was asked for decides nothing.
const TIME_SHARE_MIN: f64 = 0.99;

/// The answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Held {
    /// What was waiting stayed within the buffer.
    Yes,
    /// More was waiting than the buffer takes, or a target failed.
    No,
    /// Nothing speaks against it, and this run is no proof; why not.
    Undecided(&'static str),
}

impl Held {
    /// As the document has it.
    pub(crate) fn known(self) -> Option<bool> {
        match self {
            Held::Yes => Some(true),
            Held::No => Some(false),
            Held::Undecided(_) => None,
        }
    }

    /// Why it is not known.
    pub(crate) fn why(self) -> Option<&'static str> {
        match self {
            Held::Yes | Held::No => None,
            Held::Undecided(why) => Some(why),
        }
    }
}

/// Whether the rate held at which `backlog_bytes` were waiting at the most. What is no proof that a rate
/// holds may well be one that it does not.
pub(crate) fn held(
    plan: &Plan,
    session: &Session,
    targets: &[TargetResult],
    backlog_bytes: u64,
) -> Held {
    let has_failed = targets.iter().any(|target| !target.errors.is_empty());
    if has_failed || backlog_bytes > plan.buffer_bytes {
        return Held::No;
    }
    match undecided(plan, session, targets) {
        Some(why) => Held::Undecided(why),
        None => Held::Yes,
    }
}

fn undecided(plan: &Plan, session: &Session, targets: &[TargetResult]) -> Option<&'static str> {
    let is_rewritten = targets.iter().any(|target| target.laps > 1);
    if writes_buffered(plan, session) && is_rewritten {
        return Some(
            "what was rewritten in the page cache may never have reached the disk; use a larger \
             --size, or the direct path",
        );
    }
    let last_s = targets
        .iter()
        .map(|target| target.seconds)
        .fold(0.0, f64::max);
    let ended_early = targets.iter().any(|target| target.ended == "end_of_device")
        && plan
            .time_ns
            .is_some_and(|time_ns| last_s < time_ns as f64 / 1e9 * TIME_SHARE_MIN);
    ended_early.then_some(
        "the device ended before the time; use --size to go over it again, or a shorter --time",
    )
}
