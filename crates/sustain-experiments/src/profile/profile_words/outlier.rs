//! Puts into words the positions that do not belong to their zone.

use sustain_disk::units::{DisplayPosition, Rate};
use sustain_document::profile::{OutlierKind, ProfileOutlier, ProfileTarget};
use sustain_document::setting::BUDGET;

use crate::profile::chance::PlaceObservation;

/// Whether an outlier may be due to the time and not to the position.
pub(super) fn is_passing(kind: OutlierKind) -> bool {
    matches!(kind, OutlierKind::Disturbance | OutlierKind::Uncertain)
}

/// Words for a disk that is slow now and then at many positions.
pub(super) fn of_pauses(target: &ProfileTarget, can_distinguish_spots: bool) -> String {
    let flags = target.points.iter().filter_map(|point| point.flag);
    let disturbed = flags.filter(|flag| is_passing(*flag)).count();
    let uncertain = target.outliers.iter();
    let uncertain = uncertain.filter(|one| one.kind == OutlierKind::Uncertain);
    let known = match uncertain.count() {
        _ if !can_distinguish_spots => {
            "; bad spots cannot be told from these stalls, so repeat the profile while nothing \
             else uses the disk"
                .to_owned()
        }
        0 => String::new(),
        count => format!(
            "; at {count} of them the position itself may be slow: to know, repeat the profile \
             while nothing else uses the disk, or with a longer {BUDGET}"
        ),
    };
    format!(
        "{disturbed} of {} positions were slow at times: either the disk stalls by itself, or \
         something else uses it; the samples that were slowed down are not counted{known}",
        target.points.len()
    )
}

/// Describes one outlier; `seen` has the counts of its slowest position.
/// One part in so many, as it is spoken.
fn fraction(parts: f64) -> String {
    match parts.round() {
        2.0 => "half".to_owned(),
        3.0 => "a third".to_owned(),
        4.0 => "a quarter".to_owned(),
        parts => format!("1/{parts}"),
    }
}

pub(in crate::profile) fn of_outlier(outlier: &ProfileOutlier, seen: PlaceObservation) -> String {
    let mut at = format!("at {}", DisplayPosition(outlier.from_byte));
    if outlier.is_of_the_place() {
        let width = DisplayPosition(outlier.to_byte - outlier.from_byte);
        at = format!("{at}, about {width} wide");
    }
    let (rate, zone) = (outlier.rate_bytes_per_s, outlier.zone_rate_bytes_per_s);
    let (Some(rate), Some(zone)) = (rate, zone) else {
        return format!("{at}: requests failed there");
    };
    let figures = format!("{} in a zone of {}", Rate(rate), Rate(zone));
    match outlier.kind {
        OutlierKind::MissedRevolutions => format!(
            "{at}: {} at every visit, {} of the zone's {}: the disk misses revolutions there, as \
             it does where it reads sectors again",
            Rate(rate),
            fraction(zone / rate),
            Rate(zone)
        ),
        OutlierKind::BadSpot => format!(
            "{at}: {figures} at every visit: a bad spot, where sectors are read again or were \
             moved elsewhere"
        ),
        OutlierKind::Uncertain => format!("{at}: {figures}, {}", of_doubt(seen)),
        OutlierKind::Disturbance => format!(
            "{at}: {figures}, but not at its other visits: a passing disturbance, not the position"
        ),
        _ => format!("{at}: requests failed there; others reached {}", Rate(rate)),
    }
}

fn of_doubt(seen: PlaceObservation) -> String {
    match (seen.slow, seen.visits) {
        (_, 1) => {
            "at its only visit, which cannot tell a bad spot from a passing disturbance".to_owned()
        }
        (slow, visits) if slow == visits => format!(
            "at all of its {visits} visits, but so many positions are slow at times that this may \
             be chance"
        ),
        (slow, visits) => format!(
            "at {slow} of {visits} visits, which cannot tell a passing disturbance from a position \
             that is slow at times"
        ),
    }
}
