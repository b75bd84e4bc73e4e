//! Decides how the rate of a profiled target changes from its first zone to its last, from the
//! document alone. Every threshold of that stands here; the words say what was decided.

use sustain_document::profile::{ProfileTarget, ProfileZone};

/// Zones that differ by less are of one rate, in a sentence on how the rate changes.
const STEP_MIN: f64 = 0.02;
/// The ends of a curve are of one rate if they differ by less than this part.
const ENDS_ALIKE: f64 = 0.005;

/// How the rate changes between the ends. Rates are in bytes per second.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum RateChange {
    /// The ends do not differ, as far as the samples can tell.
    EndsAlike {
        /// Whether the samples could have shown a difference worth a word.
        is_known: bool,
        /// The rate of a zone that is farther from the first one than the last one is.
        as_far_as: Option<f64>,
    },
    /// It changes up and down between these two.
    UpAndDown { least: f64, most: f64 },
    /// It only falls or only rises, apart from small steps; the last over the first, less one.
    OneWay { change: f64 },
}

/// `None` without a zone.
pub(super) fn rate_change(target: &ProfileTarget) -> Option<RateChange> {
    let rates = || target.zones.iter().map(|zone| zone.rate_bytes_per_s);
    let (outer, end) = (rates().next()?, rates().next_back()?);
    let change = end / outer - 1.0;
    if change.abs() < ENDS_ALIKE.max(target.resolution) {
        let far = |rate: &f64| (rate / outer).ln().abs();
        let farthest = rates().max_by(|one, other| far(one).total_cmp(&far(other)))?;
        return Some(RateChange::EndsAlike {
            is_known: target.resolution < STEP_MIN,
            as_far_as: (far(&farthest) > change.abs()).then_some(farthest),
        });
    }
    if !is_one_way(target) {
        return Some(RateChange::UpAndDown {
            least: rates().reduce(f64::min)?,
            most: rates().reduce(f64::max)?,
        });
    }
    Some(RateChange::OneWay { change })
}

fn is_one_way(target: &ProfileTarget) -> bool {
    let pairs = || target.zones.windows(2);
    let step = |pair: &[ProfileZone]| pair[1].rate_bytes_per_s / pair[0].rate_bytes_per_s - 1.0;
    let rises = pairs().any(|pair| step(pair) > STEP_MIN);
    let falls = pairs().any(|pair| step(pair) < -STEP_MIN);
    !(rises && falls)
}

/// The slowest zone, if it is slower than the last one.
pub(super) fn slower_than_the_end(target: &ProfileTarget) -> Option<&ProfileZone> {
    let end = target.zones.last()?.rate_bytes_per_s;
    let zones = target.zones.iter();
    let slowest =
        zones.min_by(|one, other| one.rate_bytes_per_s.total_cmp(&other.rate_bytes_per_s))?;
    (slowest.rate_bytes_per_s < end * (1.0 - STEP_MIN)).then_some(slowest)
}
