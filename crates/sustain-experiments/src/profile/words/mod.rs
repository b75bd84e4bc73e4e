//! Puts into words what follows from a profile: the figures first, then what to do. Pure; the
//! conclusion calls it. The document keeps these words, so that the terminal and all reports say
//! the same.

mod outlier;
mod target;
mod together;

use sustain_disk::units::Rate;
use sustain_document::profile::ProfileHeld;

use super::held::WhyUntried;

pub(super) use outlier::of_outlier;
pub(super) use target::of_target;
pub(super) use together::of_together;

pub(super) fn of_drift(name: &str, drift: f64) -> String {
    let (how, change) = if drift > 1.0 {
        ("faster", drift - 1.0)
    } else {
        ("slower", 1.0 - drift)
    };
    let why = if drift > 1.0 {
        "a cache may hold what the first pass read"
    } else {
        "something else may have used the disk, or the disk slowed down"
    };
    format!(
        "{name}: the second pass was {} {how} than the first; {why}",
        percent(change)
    )
}

/// Why a run without a break tells nothing.
pub(super) fn of_untried(why: WhyUntried) -> &'static str {
    match why {
        WhyUntried::Time => "there was no time",
        WhyUntried::BadSpots => "bad spots leave no stretch that is long enough",
        WhyUntried::Failure => "it failed",
    }
}

/// Words for runs without a break that fell short of the samples.
fn of_short(held: &[ProfileHeld]) -> Option<String> {
    let short: Vec<&ProfileHeld> = held.iter().filter(|run| run.is_short).collect();
    if short.is_empty() {
        return None;
    }
    let figures = short.iter().map(|run| {
        let (held, promised) = (run.held_rate_bytes_per_s, run.promised_rate_bytes_per_s);
        format!(
            "a continuous {:.1} s run held only {}, where short samples reached {}",
            run.elapsed_s,
            Rate(held),
            Rate(promised)
        )
    });
    Some(format!(
        "{}; the rates given here are lowered to what it held. Either each sample begins faster \
         than the disk can go on (a cache, or a throttle that gives credit back in pauses), or the \
         disk paused, or something else used it, during that run",
        figures.collect::<Vec<_>>().join(", and ")
    ))
}

fn percent(part: f64) -> String {
    let percent = part * 100.0;
    if percent < 9.95 {
        format!("{percent:.1} %")
    } else {
        format!("{percent:.0} %")
    }
}
