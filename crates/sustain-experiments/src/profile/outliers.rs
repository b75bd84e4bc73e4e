//! The positions that do not belong to their zone, neighbours joined. Pure; the conclusion calls
//! it.

use sustain_document::profile::{OutlierKind, ProfileOutlier, ProfilePoint};

use super::chance::PlaceObservation;
use super::fit::Fit;
use super::profile_words;

/// A position as it is shown.
pub(super) struct ShownPlace {
    pub(super) point: ProfilePoint,
    /// Its number in the fit, if a visit completed.
    pub(super) place: Option<usize>,
}

/// Joins neighbours that do not belong to their zone to one outlier, which is named after the
/// slowest of them.
/// `fit` is that of the samples; `lasting` has the rates that last, which means are made of.
pub(super) fn outliers(
    shown: &[ShownPlace],
    fit: &Fit,
    lasting: &Fit,
    size_bytes: u64,
) -> Vec<ProfileOutlier> {
    let mut outliers: Vec<ProfileOutlier> = Vec::new();
    let mut groups: Vec<(NeighbourRule, PlaceObservation)> = Vec::new();
    let mut is_beside = false;
    for one in shown {
        let Some(outlier) = outlier(one, fit, lasting, size_bytes) else {
            is_beside = false;
            continue;
        };
        let group = NeighbourRule::of(one, fit, outlier.kind);
        // A failure within a bad spot does not divide it.
        let same = groups.iter().rposition(|(other, _)| *other == group);
        let is_last = same.is_some_and(|same| same + 1 == outliers.len());
        match same.filter(|_| matches!(group, NeighbourRule::Spot(_)) || is_beside && is_last) {
            Some(same) => {
                let is_slower = outlier.rate_bytes_per_s < outliers[same].rate_bytes_per_s;
                join(&mut outliers[same], outlier, is_slower);
                if is_slower {
                    groups[same].1 = seen_of(one, fit);
                }
            }
            None => {
                outliers.push(outlier);
                groups.push((group, seen_of(one, fit)));
            }
        }
        is_beside = true;
    }
    for (outlier, (_, seen)) in outliers.iter_mut().zip(&groups) {
        outlier.words = profile_words::of_outlier(outlier, *seen);
    }
    outliers
}

/// The property that neighbours must share to be joined.
#[derive(Clone, Copy, PartialEq)]
enum NeighbourRule {
    /// The number of a bad spot.
    Spot(usize),
    Disturbed,
    Uncertain,
    Failed,
}

impl NeighbourRule {
    fn of(shown: &ShownPlace, fit: &Fit, kind: OutlierKind) -> NeighbourRule {
        match spot_of(shown, fit) {
            _ if kind == OutlierKind::Error => NeighbourRule::Failed,
            Some(number) => NeighbourRule::Spot(number),
            None if kind == OutlierKind::Uncertain => NeighbourRule::Uncertain,
            None => NeighbourRule::Disturbed,
        }
    }
}

/// The number of the bad spot that a position belongs to.
fn spot_of(shown: &ShownPlace, fit: &Fit) -> Option<usize> {
    let place = shown.place?;
    let mut spots = fit.bad_spots.iter();
    spots.position(|spot| spot.places.contains(&place))
}

fn outlier(
    shown: &ShownPlace,
    fit: &Fit,
    lasting: &Fit,
    size_bytes: u64,
) -> Option<ProfileOutlier> {
    let point = &shown.point;
    let kind = point.flag?;
    let bytes = |part: f64| (part * size_bytes as f64).round() as u64;
    let spot = spot_of(shown, fit).map(|number| &lasting.bad_spots[number]);
    let spot = spot.filter(|_| kind != OutlierKind::Error);
    let (from_byte, to_byte) = match spot {
        Some(spot) => (bytes(spot.from), bytes(spot.to)),
        None => (point.offset_bytes, point.offset_bytes + point.bytes),
    };
    let middle = (point.offset_bytes + point.bytes / 2) as f64 / size_bytes as f64;
    let zone_rate = match shown.place {
        Some(place) => fit.held_against[place],
        None => fit.zone_at(middle).map(|zone| zone.rate),
    };
    let rates = point.rates_bytes_per_s.iter();
    Some(ProfileOutlier {
        from_byte,
        to_byte: to_byte.min(size_bytes),
        kind,
        rate_bytes_per_s: rates.copied().reduce(f64::min),
        mean_rate_bytes_per_s: spot.map(|spot| spot.rate),
        zone_rate_bytes_per_s: zone_rate,
        words: String::new(),
    })
}

/// The counts of a position's visits; zeros if no visit completed.
fn seen_of(shown: &ShownPlace, fit: &Fit) -> PlaceObservation {
    let unseen = PlaceObservation {
        visits: 0,
        slow: 0,
        slow_of_two: 0,
    };
    shown.place.map_or(unseen, |place| fit.seen[place])
}

/// Joins the next position to an outlier, which is named after the slower one.
fn join(outlier: &mut ProfileOutlier, next: ProfileOutlier, is_slower: bool) {
    outlier.to_byte = next.to_byte;
    if is_slower {
        *outlier = ProfileOutlier {
            from_byte: outlier.from_byte,
            ..next
        };
    }
}
