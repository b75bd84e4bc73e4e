//! Puts into words what follows for one target, the rate that can be promised first.

use sustain_disk::units::{DisplayPosition, Rate};
use sustain_document::profile::CurveShape;
use sustain_document::profile::ProfileTarget;
use sustain_document::setting::BUDGET;
use sustain_document::vocabulary::Direction;

use super::outlier::{is_passing, of_pauses};
use super::short::{of_short, percent};
use crate::profile::rate_change::{RateChange, rate_change, slower_than_the_end};

/// So many passing disturbances are listed one by one; more are summed up.
const LISTED_MAX: usize = 3;

/// Words for samples that are so noisy that the figures are rough.
fn of_noise(target: &ProfileTarget) -> String {
    format!(
        "the samples differ by {}, so only differences above {} would show; repeat the \
         profile with a longer {BUDGET}, or while nothing else uses the disk",
        percent(target.noise),
        percent(target.resolution)
    )
}

fn of_flat(target: &ProfileTarget, all: &str, mean: f64) -> String {
    let resolution = percent(target.resolution);
    if target.is_too_noisy() {
        return format!(
            "{all} about {}; whether the position matters cannot be told: {}",
            Rate(mean),
            of_noise(target)
        );
    }
    match Spotted::of(target) {
        None => format!(
            "the rate is {} at all positions sampled, to within {resolution}",
            Rate(mean)
        ),
        Some(spotted) => format!(
            "{all} {} on average, {} included; outside {} the rate is {} at all positions \
             sampled, to within {resolution}; in {} it falls to {}",
            Rate(mean),
            spotted.count,
            spotted.them,
            Rate(spotted.outside),
            spotted.them,
            spotted.least
        ),
    }
}

/// The words and figures on bad spots in the answer.
struct Spotted {
    /// `1 bad spot`.
    count: String,
    /// `the bad spot`.
    them: &'static str,
    /// The mean outside of them.
    outside: f64,
    /// `5.00 MB/s on average over 4.19 MB`.
    least: String,
}

impl Spotted {
    fn of(target: &ProfileTarget) -> Option<Spotted> {
        let count = target.bad_spots().count();
        let many = count > 1;
        Some(Spotted {
            count: format!("{count} bad spot{}", if many { "s" } else { "" }),
            them: if many {
                "the bad spots"
            } else {
                "the bad spot"
            },
            outside: target.mean_outside_bad_spots()?,
            least: least(target)?,
        })
    }
}

/// The least rate within the bad spots, and over how much it is the mean: within that, single
/// requests may be far slower.
fn least(target: &ProfileTarget) -> Option<String> {
    let rate = target.least_in_bad_spots()?;
    let mut spots = target.bad_spots();
    let of_whole = spots.find(|spot| spot.mean_rate_bytes_per_s == Some(rate));
    let bytes = match of_whole {
        Some(spot) => spot.to_byte - spot.from_byte,
        None => {
            let mut points = target.points.iter();
            points
                .find(|point| point.rates_bytes_per_s.contains(&rate))?
                .bytes
        }
    };
    Some(format!(
        "{} on average over {}",
        Rate(rate),
        DisplayPosition(bytes)
    ))
}

fn of_promise(target: &ProfileTarget, all: &str, mean: f64, inner: f64) -> String {
    let (mean, inner) = (Rate(mean), Rate(inner));
    let promise = match Spotted::of(target) {
        None => format!("{all} {mean} on average; every position reaches at least {inner}"),
        Some(spotted) => format!(
            "{all} {mean} on average, {} included; outside {} the rate is {} on average, and \
             every position reaches at least {inner}; in {} it falls to {}",
            spotted.count,
            spotted.them,
            Rate(spotted.outside),
            spotted.them,
            spotted.least
        ),
    };
    if target.is_too_noisy() {
        return format!("{promise}; these figures are rough: {}", of_noise(target));
    }
    promise
}

/// Describes how the rate changes from the first zone to the last.
fn of_rate_change(target: &ProfileTarget, shape: CurveShape) -> Option<String> {
    let (outer, end) = (target.zones.first()?, target.zones.last()?);
    let (outer, end) = (Rate(outer.rate_bytes_per_s), Rate(end.rate_bytes_per_s));
    let how = match shape {
        CurveShape::Zones => format!("in {} zones", target.zones.len()),
        _ => "smoothly, without zones that these samples could show".to_owned(),
    };
    Some(match rate_change(target)? {
        RateChange::EndsAlike {
            is_known,
            as_far_as,
        } => {
            let are_alike = match is_known {
                true => "are alike".to_owned(),
                false => format!(
                    "differ by less than these samples can show ({})",
                    percent(target.resolution)
                ),
            };
            let far = as_far_as.map(|rate| format!(", as far as {}", Rate(rate)));
            format!(
                "its ends {are_alike}: {outer} at its start, {end} at its end; between them the \
                 rate changes {how}{}",
                far.unwrap_or_default()
            )
        }
        RateChange::UpAndDown { least, most } => format!(
            "the rate changes {how}, up and down between {} and {}: {outer} at its start, {end} \
             at its end",
            Rate(least),
            Rate(most)
        ),
        RateChange::OneWay { change } => {
            let (verb, than) = match change < 0.0 {
                true => ("falls", "less"),
                false => ("rises", "more"),
            };
            format!(
                "the rate {verb} {how} from {outer} at its start to {end} at its end, {} {than}",
                percent(change.abs())
            )
        }
    })
}

/// Names the slowest zone, if it is not the last one.
fn of_slowest(target: &ProfileTarget) -> Option<String> {
    let slowest = slower_than_the_end(target)?;
    Some(format!(
        "the slowest zone is not the last one: {} at {}, {} wide",
        Rate(slowest.rate_bytes_per_s),
        DisplayPosition(slowest.from_byte),
        DisplayPosition(slowest.to_byte - slowest.from_byte)
    ))
}

/// Words on one target alone, the answer first.
pub(in crate::profile) fn of_target(
    target: &ProfileTarget,
    shape: CurveShape,
    can_distinguish_spots: bool,
) -> Vec<String> {
    let figures = (target.mean_rate_bytes_per_s, target.inner_rate_bytes_per_s);
    let (Some(mean), Some(inner)) = figures else {
        let why = target.errors.first().cloned();
        let why = why.unwrap_or_else(|| "the profile ended before that".to_owned());
        return vec![format!("nothing was measured: {why}")];
    };
    let all = if target.direction == Direction::Write {
        "a recording that fills it reaches"
    } else {
        "reading all of it reaches"
    };
    let mut words = Vec::new();
    match shape {
        CurveShape::Flat => words.push(of_flat(target, all, mean)),
        CurveShape::Unknown => words.push(format!(
            "{all} about {}; too few positions were measured to say more",
            Rate(mean)
        )),
        CurveShape::Zones | CurveShape::Smooth => {
            words.push(of_promise(target, all, mean, inner));
            words.extend(of_rate_change(target, shape));
            words.extend(of_slowest(target));
        }
    }
    if let Some(unseen) = of_unseen(target) {
        words[0].push_str("; ");
        words[0].push_str(&unseen);
    }
    if let Some(short) = of_short(&target.held) {
        words.insert(1, short);
    }
    let (passing, lasting): (Vec<_>, Vec<_>) =
        target.outliers.iter().partition(|one| is_passing(one.kind));
    words.extend(lasting.iter().map(|outlier| outlier.words.clone()));
    if passing.len() > LISTED_MAX {
        words.push(of_pauses(target, can_distinguish_spots));
    } else {
        words.extend(passing.iter().map(|outlier| outlier.words.clone()));
    }
    words.extend(of_closer(target));
    words
}

/// What the samples could have missed.
fn of_unseen(target: &ProfileTarget) -> Option<String> {
    let unseen = target.unseen_bytes_max.filter(|bytes| *bytes > 0)?;
    Some(format!(
        "slow places shorter than {} could lie between the samples",
        DisplayPosition(unseen)
    ))
}

/// How to look closer.
fn of_closer(target: &ProfileTarget) -> Option<String> {
    target.unseen_bytes_max.filter(|bytes| *bytes > 0)?;
    let Some(closer) = &target.closer else {
        return Some(format!(
            "no {BUDGET} brings the samples much closer together: to see every place, go over all \
             of it with `sustain measure`"
        ));
    };
    let seconds = closer.budget_s.round() as u64;
    let budget = if seconds.is_multiple_of(60) {
        format!("{}m", seconds / 60)
    } else {
        format!("{seconds}s")
    };
    let budget = BUDGET.of(budget);
    Some(match closer.unseen_bytes_max {
        0 => format!("to look closer, use {budget}, which leaves nothing between the samples"),
        bytes => format!(
            "to look closer, use {budget}, which leaves at most about {} between the samples",
            DisplayPosition(bytes)
        ),
    })
}

#[cfg(test)]
mod tests {
    use sustain_document::profile::{OutlierKind, ProfileOutlier, ProfilePoint, ProfileZone};
    use sustain_document::vocabulary::TargetKind;

    use super::super::outlier::of_outlier;
    use super::*;
    use crate::profile::chance::PlaceObservation;

    fn target(rates: &[f64]) -> ProfileTarget {
        let zones = rates.iter().enumerate().map(|(index, rate)| ProfileZone {
            from_byte: index as u64 * 100_000_000_000,
            to_byte: (index as u64 + 1) * 100_000_000_000,
            rate_bytes_per_s: rate * 1e6,
            points: 9,
        });
        ProfileTarget {
            name: "hda".to_owned(),
            kind: TargetKind::Simulated,
            size_bytes: rates.len() as u64 * 100_000_000_000,
            direction: Direction::Write,
            shape: CurveShape::Zones,
            verdict: Vec::new(),
            mean_rate_bytes_per_s: Some(1e8),
            outer_rate_bytes_per_s: rates.first().map(|rate| rate * 1e6),
            inner_rate_bytes_per_s: rates
                .iter()
                .copied()
                .reduce(f64::min)
                .map(|rate| rate * 1e6),
            fall: None,
            noise: 0.002,
            resolution: 0.01,
            zones: zones.collect(),
            outliers: Vec::new(),
            points: Vec::new(),
            errors: Vec::new(),
            unseen_bytes_max: None,
            closer: None,
            held: Vec::new(),
        }
    }

    fn spotted(rates: &[f64]) -> ProfileTarget {
        let mut target = target(rates);
        let mut spot = ProfileOutlier {
            from_byte: 40_000_000_000,
            to_byte: 40_300_000_000,
            kind: OutlierKind::BadSpot,
            rate_bytes_per_s: Some(5e6),
            mean_rate_bytes_per_s: Some(6e6),
            zone_rate_bytes_per_s: Some(1e8),
            words: String::new(),
        };
        let seen = PlaceObservation {
            visits: 3,
            slow: 3,
            slow_of_two: 2,
        };
        spot.words = of_outlier(&spot, seen);
        target.outliers = vec![spot];
        target.points = vec![ProfilePoint {
            offset_bytes: 40_100_000_000,
            bytes: 4_000_000,
            rates_bytes_per_s: vec![6e6, 5e6],
            rate_bytes_per_s: Some(5.5e6),
            flag: Some(OutlierKind::BadSpot),
        }];
        target
    }

    #[test]
    fn what_is_promised_is_promised_outside_the_bad_spots() {
        let bare = of_target(&target(&[120.0, 90.0]), CurveShape::Zones, true);
        let promise = "a recording that fills it reaches 100 MB/s on average; every position \
                       reaches at least 90.0 MB/s";
        assert_eq!(bare[0], promise);
        let words = of_target(&spotted(&[120.0, 90.0]), CurveShape::Zones, true);
        insta::assert_snapshot!(words.join("\n"), @"
        a recording that fills it reaches 100 MB/s on average, 1 bad spot included; outside the bad spot the rate is 102 MB/s on average, and every position reaches at least 90.0 MB/s; in the bad spot it falls to 5.00 MB/s on average over 4.00 MB
        the rate falls in 2 zones from 120 MB/s at its start to 90.0 MB/s at its end, 25 % less
        at 40.0 GB, about 300 MB wide: 5.00 MB/s in a zone of 100 MB/s at every visit: a bad spot, where sectors are read again or were moved elsewhere
        ");
        let flat = of_target(&spotted(&[100.0]), CurveShape::Flat, true);
        insta::assert_snapshot!(flat.join("\n"), @"
        a recording that fills it reaches 100 MB/s on average, 1 bad spot included; outside the bad spot the rate is 105 MB/s at all positions sampled, to within 1.0 %; in the bad spot it falls to 5.00 MB/s on average over 4.00 MB
        at 40.0 GB, about 300 MB wide: 5.00 MB/s in a zone of 100 MB/s at every visit: a bad spot, where sectors are read again or were moved elsewhere
        ");
    }

    #[test]
    fn ends_that_are_alike_neither_fall_nor_rise() {
        let words = of_target(&target(&[120.0, 60.0, 119.5]), CurveShape::Zones, true);
        insta::assert_snapshot!(words.join("\n"), @"
        a recording that fills it reaches 100 MB/s on average; every position reaches at least 60.0 MB/s
        its ends are alike: 120 MB/s at its start, 120 MB/s at its end; between them the rate changes in 3 zones, as far as 60.0 MB/s
        the slowest zone is not the last one: 60.0 MB/s at 100 GB, 100 GB wide
        ");
    }

    #[test]
    fn ends_are_not_called_alike_where_a_difference_would_not_show() {
        let mut noisy = target(&[1010.0, 600.0, 1230.0]);
        noisy.resolution = 0.25;
        let words = of_target(&noisy, CurveShape::Zones, true);
        insta::assert_snapshot!(words[1], @"its ends differ by less than these samples can show (25 %): 1.01 GB/s at its start, 1.23 GB/s at its end; between them the rate changes in 3 zones, as far as 600 MB/s");
    }

    #[test]
    fn a_rate_that_goes_up_and_down_does_not_fall() {
        let words = of_target(
            &target(&[4.11, 5.25, 3.53, 4.51, 3.36]),
            CurveShape::Zones,
            true,
        );
        insta::assert_snapshot!(words.join("\n"), @"
        a recording that fills it reaches 100 MB/s on average; every position reaches at least 3.36 MB/s
        the rate changes in 5 zones, up and down between 3.36 MB/s and 5.25 MB/s: 4.11 MB/s at its start, 3.36 MB/s at its end
        ");
    }

    #[test]
    fn rates_that_were_lowered_below_a_bad_spot_hold_in_it_as_well() {
        let mut lowered = spotted(&[40.0]);
        lowered.mean_rate_bytes_per_s = Some(40e6);
        lowered.outliers[0].rate_bytes_per_s = Some(50e6);
        lowered.outliers[0].mean_rate_bytes_per_s = Some(40e6);
        let said = of_target(&lowered, CurveShape::Flat, true).remove(0);
        insta::assert_snapshot!(said, @"a recording that fills it reaches 40.0 MB/s on average, 1 bad spot included; outside the bad spot the rate is 40.0 MB/s at all positions sampled, to within 1.0 %; in the bad spot it falls to 40.0 MB/s on average over 300 MB");
    }

    #[test]
    fn a_promise_from_samples_that_scatter_much_says_so() {
        for shape in [CurveShape::Zones, CurveShape::Smooth] {
            for mut noisy in [target(&[120.0, 60.0]), spotted(&[120.0, 60.0])] {
                noisy.shape = shape;
                assert!(!of_target(&noisy, shape, true)[0].contains("rough"));
                (noisy.resolution, noisy.noise) = (0.25, 0.3);
                let said = of_target(&noisy, shape, true).remove(0);
                assert!(said.contains("every position reaches at least"), "{said}");
                let caveat = "these figures are rough: the samples differ by 30 %, so only \
                              differences above 25 % would show";
                assert!(said.contains(caveat), "{said}");
            }
        }
    }

    #[test]
    fn a_flat_curve_is_too_noisy_where_only_a_large_effect_would_show() {
        let mut noisy = target(&[100.0]);
        (noisy.shape, noisy.resolution, noisy.noise) = (CurveShape::Flat, 0.67, 0.3);
        let said = of_target(&noisy, CurveShape::Flat, true).remove(0);
        insta::assert_snapshot!(said, @"a recording that fills it reaches about 100 MB/s; whether the position matters cannot be told: the samples differ by 30 %, so only differences above 67 % would show; repeat the profile with a longer budget, or while nothing else uses the disk");
    }

    #[test]
    fn a_place_that_was_slow_in_most_visits_is_uncertain() {
        let seen = |visits, slow| PlaceObservation {
            visits,
            slow,
            slow_of_two: 2,
        };
        let mut doubtful = spotted(&[100.0]).outliers.remove(0);
        doubtful.kind = OutlierKind::Uncertain;
        insta::assert_snapshot!(of_outlier(&doubtful, seen(3, 2)), @"at 40.0 GB: 5.00 MB/s in a zone of 100 MB/s, at 2 of 3 visits, which cannot tell a passing disturbance from a position that is slow at times");
        insta::assert_snapshot!(of_outlier(&doubtful, seen(6, 6)), @"at 40.0 GB: 5.00 MB/s in a zone of 100 MB/s, at all of its 6 visits, but so many positions are slow at times that this may be chance");
        insta::assert_snapshot!(of_outlier(&doubtful, seen(1, 1)), @"at 40.0 GB: 5.00 MB/s in a zone of 100 MB/s, at its only visit, which cannot tell a bad spot from a passing disturbance");
    }
}
