//! The sentences of a diagnosis that its document carries: what each subset is measured for, where
//! walls sit, the reasons of its advice and its remarks, from data only. The headline, and the
//! sentence on each wall, are the report's, because the document has them as figures.

use sustain_disk::units::{Rate, Size};
use sustain_document::diagnose::PausedRates;
use sustain_document::setting::{ENGINE, RECORD_SIZE, TIME_PER_RUN};
use sustain_statistics::walls::{FALLING_TARGETS_MAX, PAIRS_OF_MAX, SearchStep, TARGETS_MAX};

use super::explain::{HopCause, NotExplained};
use super::reason::{
    AdviceReason, LimitAfterMove, LockstepLoss, MoveCaution, MoveReason, NamedFall, WallPlace,
};
use super::remarks::DiagnosisRemark;
use crate::measure::media::longer_s;

/// Why advice is tried.
pub(super) const TRYING_ADVICE: &str = "does the advice reach the predicted rate";

/// Why targets are measured several times before the search.
pub(super) const REPEATING: &str = "how much do repeated readings differ";

/// Where a wall sits that is the tool's own.
pub(super) const OF_THE_TOOL: &str = "this program or the CPUs: a target that is not a disk took \
     its share of the rate, so the limit is not on the paths of the disks";

/// What a subset is measured for.
pub(super) fn step(step: SearchStep) -> &'static str {
    match step {
        SearchStep::Alone => "each target alone",
        SearchStep::All => "all together",
        SearchStep::Search => "where is the loss",
        SearchStep::Members => "which targets share this limit",
        SearchStep::Confirm => "once more, to be sure",
        SearchStep::Window => "is there a smaller limit inside",
        SearchStep::Anchor => "has anything changed since the start",
        SearchStep::Ladder => "does the sum fall with more targets",
        SearchStep::Tool => "is the limit in this program",
        SearchStep::Predict => "does the prediction hold",
        SearchStep::Asked => "a combination that was asked for",
    }
}

/// Why this hop is where a wall sits.
pub(super) fn hop(name: &str, cause: &HopCause) -> String {
    match cause {
        HopCause::AllOnIt => format!("{name}: all of them are on it"),
        HopCause::RateUnknown => format!("{name}, whose rate is not known"),
        HopCause::OfRate {
            limit_bytes_per_s,
            rate_bytes_per_s,
        } => of_rate(name, *limit_bytes_per_s, *rate_bytes_per_s),
    }
}

fn of_rate(name: &str, limit_bytes_per_s: f64, rate_bytes_per_s: f64) -> String {
    format!(
        "{name}: {} of the {} that it can carry, {:.0} %",
        Rate(limit_bytes_per_s),
        Rate(rate_bytes_per_s),
        limit_bytes_per_s / rate_bytes_per_s * 100.0
    )
}

/// Why no hop explains a wall.
pub(super) fn not_explained(why: &NotExplained) -> String {
    match why {
        NotExplained::NothingShared => {
            "nothing is known that the data of all of them passes through".to_owned()
        }
        NotExplained::AboveReportedRate { hop } => format!(
            "it is higher than the reported rate of {hop}, so the machine reports that rate wrongly"
        ),
        NotExplained::FarBelow {
            hop,
            limit_bytes_per_s,
            rate_bytes_per_s,
        } => format!(
            "{}, so the limit is not the link but what it leads to: the controller, the memory, \
             the CPUs",
            of_rate(hop, *limit_bytes_per_s, *rate_bytes_per_s)
        ),
        NotExplained::OthersPass { hop, others } => {
            let pass = match others.len() {
                1 => "passes",
                _ => "pass",
            };
            format!(
                "the nearest thing that all of them pass through is {hop}, and {} {pass} through \
                 it too",
                others.join(", ")
            )
        }
    }
}

/// A place, or the wall whose place is not known.
pub(super) fn place(place: &WallPlace) -> String {
    match place {
        WallPlace::Known(name) => name.clone(),
        WallPlace::WallOf(members) => format!("the wall of {}", members.join(", ")),
    }
}

/// Why a use of the targets is advised.
pub(super) fn advice(reason: &AdviceReason) -> String {
    match reason {
        AdviceReason::NothingShared => "no limit is shared: each target reaches the rate that it \
                                        reaches alone, and none waits for another"
            .to_owned(),
        AdviceReason::EachByItself => {
            "each target runs as fast as it can, and none waits for another".to_owned()
        }
        AdviceReason::OthersReachTheWall { idle } => {
            let (adds, them) = match idle.len() {
                1 => ("adds", "it"),
                _ => ("add", "them"),
            };
            let idle = idle.join(", ");
            format!("{idle} {adds} nothing: the wall is reached without {them}")
        }
        AdviceReason::MostWithAll { fall } => format!(
            "all of them together reached the most that was measured{}",
            fall.as_ref().map(though_some_fall).unwrap_or_default()
        ),
        AdviceReason::MostOfSubsets { kept } => format!(
            "the sum falls when more targets are active; of all subsets measured, {} reached the \
             most",
            kept.join(", ")
        ),
        AdviceReason::OnlyMeasured => {
            "this rate was measured; the limits above are too uncertain to predict another"
                .to_owned()
        }
        AdviceReason::FasterThanPredicted => {
            "no subset that was measured was faster, and it was faster than predicted".to_owned()
        }
        AdviceReason::FastestMeasured => "nothing that was measured was faster".to_owned(),
        AdviceReason::Lockstep {
            each_bytes_per_s,
            loss,
        } => lockstep(*each_bytes_per_s, loss.as_ref()),
        AdviceReason::OneAfterTheOther {
            slowest_bytes_per_s,
            at_limit,
            all_at_once_gain,
        } => one_after_the_other(*slowest_bytes_per_s, at_limit, *all_at_once_gain),
        AdviceReason::Moved(moved) => moved_elsewhere(moved),
        AdviceReason::Refuted {
            measured_bytes_per_s,
            expectation,
        } => format!(
            "when tried, it reached only {}; the expectation was: {}",
            Rate(*measured_bytes_per_s),
            advice(expectation)
        ),
    }
}

fn though_some_fall(fall: &NamedFall) -> String {
    format!(
        ", though {} reached less together than {} ({} against {})",
        fall.members.join(", "),
        fall.fewer.join(", "),
        Rate(fall.sum_bytes_per_s),
        Rate(fall.fewer_bytes_per_s)
    )
}

fn lockstep(each_bytes_per_s: f64, loss: Option<&LockstepLoss>) -> String {
    let each = Rate(each_bytes_per_s);
    match loss {
        None => {
            format!(
                "one device made of all of them; the disks of a stripe wait for each other, which \
                 costs little here, at {each} each"
            )
        }
        Some(loss) => format!(
            "one device made of all of them; its disks wait for each other, so each runs at \
             {each}, held back by {}: {:.0} % less than the {} of independent queues{}",
            place(&loss.held_by),
            loss.share * 100.0,
            Rate(loss.queues_bytes_per_s),
            queues_on(&loss.queues_on)
        ),
    }
}

/// The targets of independent queues that are not all targets.
fn queues_on(targets: &[String]) -> String {
    match targets {
        [] => String::new(),
        some => format!(" on {}", some.join(", ")),
    }
}

fn one_after_the_other(
    slowest_bytes_per_s: f64,
    at_limit: &[String],
    all_at_once_gain: Option<f64>,
) -> String {
    let meets = match at_limit {
        [] => String::new(),
        [one] => format!(" ({one} reaches the limit even alone)"),
        some => format!(" ({} reach the limits even alone)", some.join(", ")),
    };
    let compared = match all_at_once_gain {
        None => "all of them at once are hardly faster, or slower".to_owned(),
        Some(gain) => format!("all of them at once reach {:.0} % more", gain * 100.0),
    };
    format!(
        "the expected rate is the mean over all of them, and while the slowest is used it is \
         {}{meets}; {compared}",
        Rate(slowest_bytes_per_s)
    )
}

fn moved_elsewhere(moved: &MoveReason) -> String {
    let (up_to, caution) = match &moved.caution {
        Some(MoveCaution::NominalRate { link }) => (
            "up to ",
            format!(": {link} is then full, and links carry somewhat less than their nominal rate"),
        ),
        Some(MoveCaution::RateUnknown { link }) => (
            "up to ",
            format!(
                ", unless {link} limits them sooner: it was not reached, and its rate is not known"
            ),
        ),
        None => ("", String::new()),
    };
    format!(
        "{}; {}; {up_to}{:.0} % more{caution}{}",
        where_to(moved),
        what_is_left(moved),
        moved.gain * 100.0,
        may_be_faster(&moved.held_alone)
    )
}

/// What a target gives that no other place has shown is at least what it gave here.
fn may_be_faster(held_alone: &[String]) -> String {
    match held_alone {
        [] => String::new(),
        some => format!(
            "; {} alone reached that limit, so the gain may be larger than is counted here",
            some.join(", ")
        ),
    }
}

/// From where to where: away from the wall, to a place such as the targets outside it have.
fn where_to(moved: &MoveReason) -> String {
    let outside = moved.outside.join(", ");
    let such_as = match moved.outside.len() {
        0 => String::new(),
        1 => format!(" ({outside} is connected that way)"),
        _ => format!(" ({outside} are connected that way)"),
    };
    format!(
        "move {} from {}, which lets {} through, to a free port that does not lead through \
         it{such_as}",
        moved.moved.join(", "),
        place(&moved.from),
        Rate(moved.from_limit_bytes_per_s),
    )
}

/// The limits that hold all of them after the move.
fn what_is_left(moved: &MoveReason) -> String {
    let holds = |limit: &LimitAfterMove| {
        let (place, members) = (place(&limit.place), limit.members.join(", "));
        format!(
            "{place} then limits {members} to {}",
            Rate(limit.limit_bytes_per_s)
        )
    };
    if moved.then.is_empty() {
        let moved = moved.moved.join(", ");
        return format!("no known limit then holds {moved} back");
    }
    moved.then.iter().map(holds).collect::<Vec<_>>().join(", ")
}

/// Why a target counts as failed that failed in no request.
pub(super) fn ended_sooner(name: &str) -> String {
    format!(
        "{name} ended before the size that it had at the start: it has become shorter. Diagnose it \
         again when its size does not change"
    )
}

/// A remark for the notes of a document.
pub(super) fn remark(remark: &DiagnosisRemark) -> String {
    match remark {
        DiagnosisRemark::TooNoisy { noise, noise_max } => too_noisy(*noise, *noise_max),
        DiagnosisRemark::Scattered { times } => format!(
            "repeated readings of the same targets differ {times:.1} times as much as the noise \
             within them allows, so the walls are not certain; this happens where disks stall now \
             and then, or where a cache is full in one reading and empty in another: use longer \
             runs ({TIME_PER_RUN}), each of which contains some of these pauses"
        ),
        DiagnosisRemark::LargerCacheNotSeen { bytes } => format!(
            "each run wrote up to {written} to a target, so a cache of more than {written} that \
             ignores flushes would go unnoticed (use a longer {TIME_PER_RUN})",
            written = Size(*bytes)
        ),
        DiagnosisRemark::WithoutPauses(paused) => without_pauses(paused),
        DiagnosisRemark::OrderUnknown => {
            "how the targets are connected is not known, so any of them may \
                                 share something, and a smaller limit inside a larger one is \
                                 found only by luck"
                .to_owned()
        }
        DiagnosisRemark::Drifted { largest } => format!(
            "rates changed during the diagnosis, by up to {:+.1} %: perhaps the disks grew warmer \
             or wore, or another program used them",
            largest * 100.0
        ),
        DiagnosisRemark::DriverBusy { cpu_share } => format!(
            "a thread of this program used {:.0} % of a CPU, which may itself be the limit: use \
             larger records ({RECORD_SIZE}), which take less CPU time",
            cpu_share * 100.0
        ),
        DiagnosisRemark::IntoCaches { members, flush_s } => into_caches(members, *flush_s),
        DiagnosisRemark::Unexplained {
            members,
            expected_bytes_per_s: expected,
            measured_bytes_per_s: measured,
            has_caches,
        } => loss(members, *expected, *measured, *has_caches),
        DiagnosisRemark::Incomplete => "not everything that was planned was measured, so the \
                                        answer may lack shared limits"
            .to_owned(),
        DiagnosisRemark::ToolWall => {
            format!(
                "one wall is this program's own: with larger records ({RECORD_SIZE}) or another \
                 {ENGINE} the disks may reach more"
            )
        }
        DiagnosisRemark::SubsetUnexplained {
            members,
            measured_bytes_per_s,
            predicted_bytes_per_s,
        } => format!(
            "not everything is explained: {} reached {}, where the walls predict {}",
            members.join(", "),
            Rate(*measured_bytes_per_s),
            Rate(*predicted_bytes_per_s)
        ),
        DiagnosisRemark::Crossing {
            members,
            limit_bytes_per_s,
        } => format!(
            "some targets of the wall of {} at {} share another wall too, so which targets share \
             it is less certain: the readings depend on how the two walls divide their rates",
            members.join(", "),
            Rate(*limit_bytes_per_s)
        ),
        DiagnosisRemark::CrossingsNotTried
        | DiagnosisRemark::CrossingsOfManyNotTried
        | DiagnosisRemark::CrossingsInsideNotTried => not_tried(remark),
    }
}

fn too_noisy(noise: f64, noise_max: f64) -> String {
    format!(
        "readings differ by {:.1} % from run to run, and walls can be found only if that is at \
         most {:.1} %: no wall is claimed; look for other programs that use the disks and for \
         caches that are full in one run and empty in another, or try longer runs \
         ({TIME_PER_RUN}), which help if the rate swings within a run",
        noise * 100.0,
        noise_max * 100.0,
    )
}

/// What pauses took, which no rate of the result shows.
fn without_pauses(paused: &PausedRates) -> String {
    let together = match paused.members.len() {
        1 => "alone",
        _ => "together",
    };
    format!(
        "targets stall now and then, and all rates here are those without their stalls, so that no \
         stall is taken for a limit: {} {together} reach {} without them, and {} with them. What \
         has to be sustained is the rate with them: `sustain measure` shows it, and how long the \
         stalls are",
        paused.members.join(", "),
        Rate(paused.without_bytes_per_s),
        Rate(paused.with_bytes_per_s)
    )
}

/// What caches took of the runs.
fn into_caches(members: &[String], flush_s: f64) -> String {
    format!(
        "volatile caches of {} had taken part of what was written when a run ended: these rates \
         are those at which the bytes reached the disks, the flush of up to {flush_s:.1} s \
         included. What the disks do once the caches are full shows in longer runs \
         ({TIME_PER_RUN} of {:.0} s)",
        members.join(", "),
        longer_s(flush_s)
    )
}

/// The loss, or gain, of these targets together, or of all if none is named, that nothing found
/// explains.
fn loss(
    members: &[String],
    expected_bytes_per_s: f64,
    measured_bytes_per_s: f64,
    has_caches: bool,
) -> String {
    let who = match members.is_empty() {
        true => "all targets together".to_owned(),
        false => format!("{} together", members.join(", ")),
    };
    let advice = match has_caches {
        true => format!(
            "Volatile caches took part of what was written, which may be why: diagnose again with \
             longer runs ({TIME_PER_RUN}), of which they take less"
        ),
        false => "See whether other programs use them, let the disks come to rest, and diagnose \
                  again"
            .to_owned(),
    };
    format!(
        "{who} should reach {} by what was found, but reach {}: either readings contradict each \
         other, because the targets changed while they were measured, or there are limits of a \
         kind that is not looked for. {advice}",
        Rate(expected_bytes_per_s),
        Rate(measured_bytes_per_s),
    )
}

/// A second explanation that was not tried, because it would take too many readings.
fn not_tried(remark: &DiagnosisRemark) -> String {
    match remark {
        DiagnosisRemark::CrossingsNotTried => format!(
            "a loss is left unexplained, and with more than {TARGETS_MAX} targets no limit is \
             looked for that crosses the order in which they are connected: diagnose fewer of them \
             at a time"
        ),
        DiagnosisRemark::CrossingsOfManyNotTried => format!(
            "limits that cross could also explain why the sum falls, but with more than \
             {FALLING_TARGETS_MAX} targets they are not looked for: diagnose the members of the \
             collapse by themselves"
        ),
        _ => format!(
            "limits that cross could also explain why the sum falls, but in a collapse of more \
             than {PAIRS_OF_MAX} targets they are not looked for"
        ),
    }
}
