//! What is said of a target and of all at once alike: runs that fell short, and parts in percent.

use sustain_disk::units::Rate;
use sustain_document::profile::ProfileHeld;

/// Words for runs without a break that fell short of the samples.
pub(super) fn of_short(held: &[ProfileHeld]) -> Option<String> {
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

/// A part, with a decimal where it is small.
pub(super) fn percent(part: f64) -> String {
    let percent = part * 100.0;
    if percent < 9.95 {
        format!("{percent:.1} %")
    } else {
        format!("{percent:.0} %")
    }
}
