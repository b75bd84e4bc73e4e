//! The places that fall out of their zone, neighbours as one. Pure; the conclusion calls it.

use super::fit::{Fit, Flag};
use super::result::{ProfileOutlier, ProfilePoint};
use super::words;

/// Both are the place's own, and one may lie beside the other.
fn is_of_the_place(kind: &str) -> bool {
    kind == Flag::BadSpot.name() || kind == Flag::MissedRevolutions(2).name()
}

/// Neighbours that fall out are one outlier, named by the slowest of them.
pub(super) fn outliers(points: &[ProfilePoint], fit: &Fit, size_bytes: u64) -> Vec<ProfileOutlier> {
    let mut outliers: Vec<ProfileOutlier> = Vec::new();
    let mut is_beside = false;
    for point in points {
        let Some(kind) = point.flag.as_deref() else {
            is_beside = false;
            continue;
        };
        let slowest = point.rates_bytes_per_s.iter().copied().reduce(f64::min);
        let to_byte = (point.offset_bytes + point.bytes).min(size_bytes);
        let last = outliers.last_mut().filter(|last| {
            let is_alike =
                last.kind == kind || is_of_the_place(&last.kind) && is_of_the_place(kind);
            is_beside && is_alike
        });
        is_beside = true;
        if let Some(last) = last {
            last.to_byte = to_byte;
            if slowest < last.rate_bytes_per_s {
                kind.clone_into(&mut last.kind);
                last.rate_bytes_per_s = slowest;
            }
            continue;
        }
        let middle = (point.offset_bytes + point.bytes / 2) as f64 / size_bytes as f64;
        outliers.push(ProfileOutlier {
            from_byte: point.offset_bytes,
            to_byte,
            kind: kind.to_owned(),
            rate_bytes_per_s: slowest,
            zone_rate_bytes_per_s: fit.zone_at(middle).map(|zone| zone.rate),
            words: String::new(),
        });
    }
    for outlier in &mut outliers {
        outlier.words = words::of_outlier(outlier, fit.is_pausing);
    }
    outliers
}
