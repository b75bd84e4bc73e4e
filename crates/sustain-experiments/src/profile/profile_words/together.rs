//! Puts into words what follows for all targets at once.

use sustain_disk::units::Rate;
use sustain_document::profile::ProfileHeld;
use sustain_document::profile::SharedLimitKind;
use sustain_statistics::median;

use super::short::{of_short, percent};
use crate::profile::fit::Fit;

use crate::profile::together::{Shared, Spot, is_less_than_one, mean_rate};

/// A sum that is below the rate of the slowest zone by this part lies in a bad spot.
const FAR_BELOW: f64 = 0.1;

fn how_it_collapses(shared: &Shared) -> String {
    let rising = "rising while each of them falls";
    match (shared.part, shared.is_erratic, shared.is_rising) {
        (Some(part), false, false) => format!(", one part in {part}"),
        (_, true, true) => format!(", erratic, and {rising}"),
        (_, true, false) => ", erratic".to_owned(),
        (_, false, true) => format!(", {rising}"),
        (None, false, false) if shared.is_less_than_one => {
            ", less than one of them reaches".to_owned()
        }
        (None, false, false) => String::new(),
    }
}

/// Words on all targets at once, the answer first. `best_alone` is the rate of the fastest target
/// alone; a limit that costs less than `least_loss` would not have been seen. `has_bad_spots` tells
/// whether one of the targets has any alone.
pub(in crate::profile) fn of_together(
    found: &Option<Option<Shared>>,
    fit: &Fit,
    spots: &[Spot],
    best_alone: f64,
    least_loss: f64,
    has_bad_spots: bool,
    held: &[ProfileHeld],
) -> Vec<String> {
    let promise = of_promise(fit, spots, has_bad_spots);
    let mut words = of_limit(found, fit, spots, best_alone, least_loss, &promise);
    words.extend(of_short(held));
    words
}

/// What can be promised, and where not: a bad spot of one target lowers the sum of all.
fn of_promise(fit: &Fit, spots: &[Spot], has_bad_spots: bool) -> String {
    let Some(zone) = fit.slowest_zone() else {
        return String::new();
    };
    let rate = Rate(zone.rate);
    let sums = spots.iter().flat_map(|spot| spot.sums.iter().copied());
    let least = sums.fold(f64::INFINITY, f64::min);
    match (least < zone.rate * (1.0 - FAR_BELOW), has_bad_spots) {
        (true, _) => format!(
            "; every position outside the bad spots reaches at least {rate}; in them as little as \
             {} was measured",
            Rate(least)
        ),
        (false, true) => {
            format!("; every position outside the bad spots of each reaches at least {rate}")
        }
        (false, false) => format!("; every position reaches at least {rate}"),
    }
}

fn of_limit(
    found: &Option<Option<Shared>>,
    fit: &Fit,
    spots: &[Spot],
    best_alone: f64,
    least_loss: f64,
    promise: &str,
) -> Vec<String> {
    let Some(mean) = fit.mean_rate() else {
        return vec!["all at once: nothing was measured".to_owned()];
    };
    let Some(found) = found else {
        return vec![format!(
            "all targets at once reach about {}; too few positions were measured to say more",
            Rate(mean)
        )];
    };
    let Some(shared) = found else {
        return vec![format!(
            "all targets at once reach {} on average, the sum of their rates alone, so they share \
             no limit that costs {} or more",
            Rate(mean),
            percent(least_loss)
        )];
    };
    let until = shared.until.unwrap_or(f64::INFINITY);
    let end = spots.partition_point(|spot| spot.position < until);
    let within = &spots[..end];
    let alone = mean_rate(within, |spot| spot.alone);
    let sum = match shared.kind {
        SharedLimitKind::Limit => median(&within.iter().map(Spot::sum).collect::<Vec<f64>>()),
        SharedLimitKind::Collapse => mean_rate(within, Spot::sum),
    };
    let mut words = vec![format!(
        "all targets at once reach {} on average{promise}",
        Rate(mean)
    )];
    words.push(match shared.kind {
        SharedLimitKind::Limit => format!(
            "they share a limit of {}: together they do not get beyond it, while their rates alone \
             add up to {}",
            Rate(sum),
            Rate(alone)
        ),
        SharedLimitKind::Collapse => format!(
            "where they hold each other up they reach {} on average, while their rates alone add \
             up to {}{}: this is worse than a limit, as when disks that are served late miss \
             revolutions",
            Rate(sum),
            Rate(alone),
            how_it_collapses(shared)
        ),
    });
    words.push(match (shared.until, shared.rate) {
        (Some(until), Some(rate)) => format!(
            "it holds them on the first {} of their capacity; after that each target is as fast as \
             alone (a loss below {} would not show), and the sum is {} or less",
            percent(until),
            percent(shared.resolution),
            Rate(rate)
        ),
        _ => "it holds them at every position".to_owned(),
    });
    if is_less_than_one(sum, best_alone) {
        words.push(format!(
            "one target alone reaches up to {}, more than all at once: fill them one after the \
             other (a span), or connect them to separate ports or controllers",
            Rate(best_alone)
        ));
    }
    words
}
