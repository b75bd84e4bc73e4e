//! The positions that are slow at every visit, neighbours joined: how far such a spot reaches, and
//! the rate of going over it. Pure; the fit calls it.

use std::ops::Range;

use super::visits::VisitedPlace;
use super::zone::FittedZone;

/// A sample at the end of a spot is across the edge of the spot if it loses less than this part of
/// what its neighbour inside loses.
const WITHIN_MIN: f64 = 0.8;

/// A stretch that is slow at every visit, as parts of the target.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct BadSpot {
    /// The positions that show it, without a gap.
    pub(super) places: Range<usize>,
    /// Its ends, as far as the samples tell.
    pub(super) from: f64,
    pub(super) to: f64,
    /// All its bytes over all their time.
    pub(super) rate: f64,
}

/// Runs of neighbouring positions that are all bad, as ranges.
pub(super) fn runs(is_bad: &[bool]) -> Vec<Range<usize>> {
    let mut runs: Vec<Range<usize>> = Vec::new();
    for (place, _) in is_bad.iter().enumerate().filter(|(_, is_bad)| **is_bad) {
        match runs.last_mut() {
            Some(last) if last.end == place => last.end += 1,
            _ => runs.push(place..place + 1),
        }
    }
    runs
}

/// The bad spot that these positions show. It reaches half way to its neighbours, or into the
/// sample at its end if that is across its edge. Each position counts with its value up to half way
/// to the next. `zone_rate` is the rate around it.
pub(super) fn bad_spot(
    places: &[VisitedPlace],
    values: &[Option<f64>],
    run: Range<usize>,
    zone_rate: f64,
) -> Option<BadSpot> {
    let edge = |behind: usize| match (behind.checked_sub(1), places.get(behind)) {
        (Some(before), Some(place)) => f64::midpoint(places[before].to, place.from),
        (None, _) => 0.0,
        (_, None) => 1.0,
    };
    // The part of a sample at the end that is in the spot, estimated from its neighbour inside.
    let within = |end: usize, beside: Option<usize>| {
        let slowness = |place: usize| Some(1.0 / values[place]? - 1.0 / zone_rate);
        let beside = beside.filter(|beside| run.contains(beside))?;
        let part = slowness(end)? / slowness(beside)?;
        let place = &places[end];
        (part < WITHIN_MIN).then(|| part.max(0.0) * (place.to - place.from))
    };
    let (mut from, mut to, mut whole) = (edge(run.start), edge(run.end), run.clone());
    if let Some(width) = within(run.start, Some(run.start + 1)) {
        from = places[run.start].to - width;
        whole.start += 1;
    }
    if let Some(width) = within(run.end - 1, run.end.checked_sub(2)) {
        to = places[run.end - 1].from + width;
        whole.end -= 1;
    }
    let mut time = 0.0;
    for place in whole.clone() {
        let begin = if place == whole.start {
            from
        } else {
            edge(place)
        };
        let end = if place + 1 == whole.end {
            to
        } else {
            edge(place + 1)
        };
        time += (end - begin) / values[place]?;
    }
    Some(BadSpot {
        rate: (to - from) / time,
        places: run,
        from,
        to,
    })
}

/// The time of going over the zones, with these bad spots at their own rates.
pub(super) fn time_over(zones: &[FittedZone], spots: &[BadSpot]) -> f64 {
    let within = |from: f64, to: f64| -> f64 {
        let zones = zones.iter();
        let parts = zones.map(|zone| (to.min(zone.to) - from.max(zone.from)).max(0.0) / zone.rate);
        parts.sum()
    };
    let spots = spots.iter();
    let more: f64 = spots
        .map(|spot| (spot.to - spot.from) / spot.rate - within(spot.from, spot.to))
        .sum();
    within(0.0, 1.0) + more
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(count: usize) -> Vec<VisitedPlace> {
        let from = |index: usize| index as f64 / count as f64;
        (0..count)
            .map(|index| VisitedPlace {
                from: from(index),
                to: from(index) + 0.5 / count as f64,
                visits: Vec::new(),
            })
            .collect()
    }

    #[test]
    fn a_spot_reaches_half_way_to_its_neighbours_and_to_the_end() {
        let places = places(10);
        let values: Vec<Option<f64>> = (11..=20).map(|rate| Some(f64::from(rate))).collect();
        let spot = bad_spot(&places, &values, 3..5, 100.0).unwrap();
        assert!((spot.from - 0.275).abs() < 1e-9 && (spot.to - 0.475).abs() < 1e-9);
        // Half of it at 14, half at 15.
        assert!((spot.rate - 2.0 / (1.0 / 14.0 + 1.0 / 15.0)).abs() < 1e-9);
        let last = bad_spot(&places, &values, 9..10, 100.0).unwrap();
        assert!((last.from - 0.875).abs() < 1e-9 && last.to >= 1.0);
    }

    #[test]
    fn a_sample_over_an_edge_tells_where_it_is() {
        let places = places(10);
        let mut values = vec![Some(100.0); 10];
        (values[4], values[5]) = (Some(10.0), Some(10.0));
        // A third of it at 10, the rest at 100.
        values[6] = Some(3.0 / (1.0 / 10.0 + 2.0 / 100.0));
        let spot = bad_spot(&places, &values, 4..7, 100.0).unwrap();
        assert!((spot.from - 0.375).abs() < 1e-9, "{spot:?}");
        assert!((spot.to - (0.6 + 0.05 / 3.0)).abs() < 1e-9, "{spot:?}");
        assert!((spot.rate - 10.0).abs() < 1e-9, "{spot:?}");
        // As it looks from behind.
        (values[3], values[6]) = (values[6], Some(100.0));
        let spot = bad_spot(&places, &values, 3..6, 100.0).unwrap();
        assert!((spot.from - (0.35 - 0.05 / 3.0)).abs() < 1e-9, "{spot:?}");
    }

    #[test]
    fn neighbours_are_one_run() {
        let found = runs(&[true, true, false, true, false]);
        assert_eq!(found, [0..2, 3..4]);
        assert!(runs(&[]).is_empty());
    }

    #[test]
    fn spots_take_their_own_time_instead_of_their_zone_s() {
        let zone = |from, to, rate| FittedZone {
            from,
            to,
            rate,
            places: 5,
        };
        let zones = [zone(0.0, 0.5, 100.0), zone(0.5, 1.0, 50.0)];
        let spot = BadSpot {
            places: 0..1,
            from: 0.4,
            to: 0.6,
            rate: 10.0,
        };
        let time = time_over(&zones, &[spot]);
        assert!((time - (0.4 / 100.0 + 0.2 / 10.0 + 0.4 / 50.0)).abs() < 1e-9);
    }
}
