//! Puts into words what follows from a profile: the figures first, then what to do. Pure; the
//! conclusion calls it. The document keeps these words, so that the terminal and all reports say
//! the same.

mod outlier;
mod short;
mod target;
mod together;

use sustain_disk::target::Direction;
use sustain_document::setting::BUDGET;

use self::short::percent;
use super::lasting_rate::WhyUntried;

pub(super) use outlier::of_outlier;
pub(super) use target::of_target;
pub(super) use together::of_together;

pub(super) fn of_drift(name: &str, drift: f64, direction: Direction) -> String {
    let (how, change) = if drift > 1.0 {
        ("faster", drift - 1.0)
    } else {
        ("slower", 1.0 - drift)
    };
    let why = match (drift > 1.0, direction) {
        (true, Direction::Read) => "a cache may hold what the first pass read",
        (true, Direction::Write) => "a cache may hold what the first pass wrote",
        (false, _) => "something else may have used the disk, or the disk slowed down",
    };
    format!(
        "{name}: the second pass was {} {how} than the first; {why}",
        percent(change)
    )
}

/// What a single visit of each position leaves open.
pub(super) const OF_ONE_VISIT: &str =
    "every position was visited only once, so a slow one may have been a passing disturbance";

/// How many positions have their second visit where the time was over.
pub(super) fn of_cut_short(twice: usize, all: usize) -> String {
    format!(
        "the time was over when {twice} of {all} positions had been visited twice: a longer \
         {BUDGET} gives all of them their second visit"
    )
}

/// What the time of a written sample is made of.
pub(super) const OF_WRITTEN: &str =
    "the time of a written sample includes moving to its position and flushing it to the disk";

/// What positions in a file are.
pub(super) fn of_file(name: &str) -> String {
    format!(
        "{name}: positions are those in the file; the file system decides where they are on the \
         disk"
    )
}

/// Why a run without a break tells nothing of a target, or of all at once.
pub(super) fn of_untried(direction: Direction, name: Option<&str>, why: WhyUntried) -> String {
    let whose = name.unwrap_or("all at once");
    let why = match why {
        WhyUntried::Time => {
            return format!(
                "{direction} {whose}: there was no time, which a longer {BUDGET} gives"
            );
        }
        WhyUntried::BadSpots => "bad spots leave no stretch that is long enough",
        WhyUntried::Failure => "it failed",
    };
    format!("{direction} {whose}: {why}")
}

/// How many of all rates could not be tried, in words that follow those on the others.
pub(super) fn of_all_untried(whose: &[String], untried: usize, all: usize) -> String {
    if whose.is_empty() {
        return String::new();
    }
    let (was, comes) = match untried {
        1 => ("was", "comes"),
        _ => ("were", "come"),
    };
    format!(
        "; {untried} of {all} rates {was} not tried in such a run and {comes} from short samples \
         alone ({})",
        whose.join("; ")
    )
}

/// How long the rates were tried, and what that would not have shown.
pub(super) fn of_trials(shortest_s: f64, untried: &str) -> String {
    format!(
        "the rates were tried in runs of {shortest_s:.1} s without a break{untried}; a cache, or a \
         burst allowance (such as the credits of a cloud disk), that lasts longer goes unnoticed: \
         to see it, run `sustain measure` for as long as a recording takes"
    )
}

/// That no rate was tried.
pub(super) fn of_no_trial() -> String {
    format!(
        "the rates are those of short samples only, because there was no time for a run without a \
         break: a cache, or a throttle that gives credit back in pauses, may have made them faster \
         than what lasts; a longer {BUDGET} tries that"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cache_is_said_to_hold_what_the_pass_did_to_it() {
        for (direction, done) in [(Direction::Read, "read"), (Direction::Write, "wrote")] {
            let said = of_drift("d0", 1.15, direction);
            assert!(said.ends_with(&format!("the first pass {done}")), "{said}");
            let said = of_drift("d0", 0.85, direction);
            assert!(said.contains("slower than the first"), "{said}");
        }
    }
}
