//! Finds the zones of one curve in its samples, the positions that do not belong to their zone, and
//! its shape. Pure; the conclusion calls it for each target alone, and for the sum of all.
//!
//! Positions are cut into zones (`cut`). The Schwarz criterion decides whether these are zones or a
//! smooth fall (`shape`). A position that is slower than its zone is so by itself or by a
//! disturbance at that time (`chance`).

use sustain_document::profile::{CurveShape, OutlierKind};

use super::chance::{
    PlaceObservation, SuspectPlace, can_be_distinguished, disturbed_share, longest_run, suspects,
};
use super::noise::noise;
use super::repeats::repeats;
use super::shape::shape;
use super::spots::{BadSpot, bad_spot, runs, time_over};
use super::visits::{VisitedPlace, is_far, scatter};
use super::zone::FittedZone;
use super::zone_cutter::ZoneCutter;

/// A rate that is this near to a half, a third or a fourth counts as whole missed revolutions.
const REVOLUTION_TOLERANCE: f64 = 0.06;
const REVOLUTIONS: [f64; 3] = [2.0, 3.0, 4.0];
/// The reason why a position does not belong to its zone.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Flag {
    /// It was slow at every visit.
    BadSpot,
    /// The same, at a whole part of its zone's rate.
    MissedRevolutions(u32),
    /// It was slow at some visits only.
    Disturbance,
    /// It was slow at most visits, or at all of them but no more than chance explains.
    Uncertain,
}

impl Flag {
    pub(super) fn kind(self) -> OutlierKind {
        match self {
            Flag::BadSpot => OutlierKind::BadSpot,
            Flag::MissedRevolutions(_) => OutlierKind::MissedRevolutions,
            Flag::Disturbance => OutlierKind::Disturbance,
            Flag::Uncertain => OutlierKind::Uncertain,
        }
    }
}

/// The findings about a curve.
#[derive(Debug, Clone)]
pub(super) struct Fit {
    pub(super) zones: Vec<FittedZone>,
    /// One flag per position.
    pub(super) flags: Vec<Option<Flag>>,
    /// The value of each position that was visited.
    pub(super) values: Vec<Option<f64>>,
    /// The standard deviation of one visit that nothing disturbs, as a part of its rate,
    pub(super) noise: f64,
    /// and that of a position's value, including disturbances that cannot be seen in it.
    pub(super) value_noise: f64,
    pub(super) shape: CurveShape,
    /// A smaller effect of the position would not have been seen.
    pub(super) resolution: f64,
    /// For each position, the rate that it is compared with: that of the slowest zone that it may
    /// be in.
    pub(super) held_against: Vec<Option<f64>>,
    /// The positions that were slow at every visit, neighbours joined.
    pub(super) bad_spots: Vec<BadSpot>,
    /// The counts of the visits of each position,
    pub(super) seen: Vec<PlaceObservation>,
    /// and the runs of positions that were slow at every visit, whether bad or by chance.
    pub(super) suspects: Vec<SuspectPlace>,
    /// Whether disturbances are so rare that bad spots can be told from them.
    pub(super) can_distinguish_spots: bool,
}

impl Fit {
    /// The zone at a place.
    pub(super) fn zone_at(&self, position: f64) -> Option<&FittedZone> {
        let mut zones = self.zones.iter();
        zones.find(|zone| position < zone.to).or(self.zones.last())
    }

    /// Decides which spots are bad and which ones chance explains.
    fn judge_spots(&mut self) {
        let always: Vec<bool> = self
            .seen
            .iter()
            .map(PlaceObservation::is_always_slow)
            .collect();
        self.suspects = suspects(runs(&always), &self.seen);
        let visited = self.values.iter().flatten().count();
        self.can_distinguish_spots = can_be_distinguished(visited, disturbed_share(&self.seen));
        for suspect in self.suspects.iter().filter(|suspect| !suspect.is_bad) {
            self.flags[suspect.places.clone()].fill(Some(Flag::Uncertain));
        }
    }

    /// The rate of the slowest zone that a position may be in. A sample across the edge between two
    /// zones has a rate between theirs, and edges are known only to about a sample.
    fn slowest_around(&self, place: &VisitedPlace, around: (usize, usize)) -> Option<f64> {
        let width = place.to - place.from;
        let reach = self.zones.iter().enumerate().filter(|(index, zone)| {
            (around.0..=around.1).contains(index)
                || zone.from < place.to + width && place.from - width < zone.to
        });
        reach.map(|(_, zone)| zone.rate).reduce(f64::min)
    }

    /// Gathers the positions that were slow at every visit.
    fn with_bad_spots(mut self, places: &[VisitedPlace]) -> Fit {
        let bad = self.suspects.iter().filter(|suspect| suspect.is_bad);
        self.bad_spots = bad
            .filter_map(|suspect| {
                let zone_rate = self.held_against[suspect.places.start]?;
                bad_spot(places, &self.values, suspect.places.clone(), zone_rate)
            })
            .collect();
        self
    }

    /// All bytes over all time, for going over the whole range once, bad spots included.
    pub(super) fn mean_rate(&self) -> Option<f64> {
        let time = time_over(&self.zones, &self.bad_spots);
        (time > 0.0).then(|| 1.0 / time)
    }

    pub(super) fn outer_rate(&self) -> Option<f64> {
        self.zones.first().map(|zone| zone.rate)
    }

    pub(super) fn slowest_zone(&self) -> Option<&FittedZone> {
        let zones = self.zones.iter();
        zones.min_by(|one, other| one.rate.total_cmp(&other.rate))
    }

    pub(super) fn fall(&self) -> Option<f64> {
        let zones = self.zones.iter();
        let fastest = zones.map(|zone| zone.rate).reduce(f64::max)?;
        Some(1.0 - self.slowest_zone()?.rate / fastest)
    }

    /// Positions that are to be visited again: those that may be bad spots; when these are decided,
    /// those that were slow in one of two visits. Only positions that `can_be_visited` are
    /// returned.
    pub(super) fn undecided(&self, can_be_visited: impl Fn(usize) -> bool) -> Vec<usize> {
        let suspects = self.suspects.iter();
        let wanted = suspects.filter_map(|one| one.next(&self.seen));
        let wanted: Vec<usize> = wanted.filter(|place| can_be_visited(*place)).collect();
        if !wanted.is_empty() {
            return wanted;
        }
        let seen = self.seen.iter().enumerate();
        seen.filter(|(_, seen)| seen.visits == 2 && seen.slow == 1)
            .map(|(place, _)| place)
            .filter(|place| can_be_visited(*place))
            .collect()
    }
}

/// Fits the samples of one curve, in the order of position.
pub(super) fn fit(places: &[VisitedPlace]) -> Fit {
    let visits: Vec<Vec<f64>> = places.iter().map(|place| place.visits.clone()).collect();
    let noise = noise(&visits);
    let values: Vec<Option<f64>> = places.iter().map(|place| place.value(noise)).collect();
    let known: Vec<usize> = (0..places.len())
        .filter(|index| values[*index].is_some())
        .collect();
    let scatter = scatter(&visits, noise);
    let value_noise = scatter.noise;
    let cut = ZoneCutter {
        places,
        values: &values,
        noise: value_noise,
        chance_run: longest_run(known.len(), scatter.disturbed),
    };
    let (regular, stretches) = cut.without_spots(known);
    let zones = cut.zones(&regular, &stretches);
    let positions: Vec<f64> = regular.iter().map(|place| cut.middle(*place)).collect();
    let logs: Vec<f64> = regular.iter().map(|place| cut.log(*place)).collect();
    let zones_around = cut.zones_around(&regular, &stretches);
    let (shape, resolution) = shape(&positions, &logs, &stretches, value_noise);
    let of_regular: Vec<&[f64]> = regular.iter().map(|at| visits[*at].as_slice()).collect();
    let (shape, resolution) = match (shape, repeats(&of_regular)) {
        // What one half of the visits shows and the other does not is the time, not the position.
        (CurveShape::Zones | CurveShape::Smooth, Some(false)) => {
            (CurveShape::Flat, resolution.max(spread_of(&zones)))
        }
        _ => (shape, resolution),
    };
    // Steps that are too small to be mentioned are no zones: the whole is shown as one zone.
    let zones = match shape {
        CurveShape::Flat => merged(&zones),
        _ => zones,
    };
    let mut fit = Fit {
        zones,
        flags: Vec::new(),
        values,
        noise,
        value_noise,
        shape,
        resolution,
        held_against: Vec::new(),
        bad_spots: Vec::new(),
        seen: Vec::new(),
        suspects: Vec::new(),
        can_distinguish_spots: true,
    };
    let around = places.iter().zip(zones_around);
    fit.held_against = around
        .map(|(place, around)| fit.slowest_around(place, around))
        .collect();
    let held = || places.iter().zip(&fit.held_against);
    fit.seen = held()
        .map(|(place, against)| seen(place, *against, noise))
        .collect();
    let held = held().zip(&fit.seen);
    fit.flags = held
        .map(|((place, against), seen)| flag(place, (*against)?, *seen, noise))
        .collect();
    fit.judge_spots();
    fit.with_bad_spots(places)
}

/// How far the fastest zone is above the slowest, as a part of the slowest.
fn spread_of(zones: &[FittedZone]) -> f64 {
    let rates = || zones.iter().map(|zone| zone.rate);
    let (least, most) = (rates().reduce(f64::min), rates().reduce(f64::max));
    least
        .zip(most)
        .map_or(0.0, |(least, most)| most / least - 1.0)
}

/// Joins all zones into one, which takes as long to go over as they do.
fn merged(zones: &[FittedZone]) -> Vec<FittedZone> {
    let (Some(first), Some(last)) = (zones.first(), zones.last()) else {
        return Vec::new();
    };
    let whole = FittedZone {
        from: first.from,
        to: last.to,
        rate: (last.to - first.from) / time_over(zones, &[]),
        places: zones.iter().map(|zone| zone.places).sum(),
    };
    vec![whole]
}

/// `zone_rate` is that of the slowest zone that the position may be in.
fn seen(place: &VisitedPlace, zone_rate: Option<f64>, noise: f64) -> PlaceObservation {
    let is_slow = |rate: &&f64| zone_rate.is_some_and(|zone| is_far(noise, **rate, zone));
    PlaceObservation {
        visits: place.visits.len(),
        slow: place.visits.iter().filter(is_slow).count(),
        slow_of_two: place.visits.iter().take(2).filter(is_slow).count(),
    }
}

/// A position that was once as fast as its zone is no bad spot: the position is not the cause, or
/// not alone.
fn flag(place: &VisitedPlace, zone_rate: f64, seen: PlaceObservation, noise: f64) -> Option<Flag> {
    if !seen.is_always_slow() {
        let is_mostly = seen.visits > 2 && 2 * seen.slow > seen.visits;
        return match seen.slow {
            0 => None,
            _ if is_mostly => Some(Flag::Uncertain),
            _ => Some(Flag::Disturbance),
        };
    }
    let value = place.value(noise)?;
    let whole = REVOLUTIONS
        .into_iter()
        .find(|revolutions| (zone_rate / value / revolutions - 1.0).abs() < REVOLUTION_TOLERANCE);
    Some(match whole {
        Some(revolutions) => Flag::MissedRevolutions(revolutions as u32),
        None => Flag::BadSpot,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(count: usize, rate: impl Fn(f64) -> Vec<f64>) -> Vec<VisitedPlace> {
        let width = 0.2 / count as f64;
        (0..count)
            .map(|index| {
                let from = index as f64 / count as f64;
                VisitedPlace {
                    from,
                    to: from + width,
                    visits: rate(from),
                }
            })
            .collect()
    }

    #[test]
    fn zones_are_found_with_their_edges_and_the_mean_weighs_them_by_time() {
        let found = fit(&places(100, |position| {
            vec![if position < 0.5 { 200.0 } else { 100.0 }; 2]
        }));
        assert_eq!(found.shape, CurveShape::Zones);
        assert_eq!(found.zones.len(), 2);
        assert!((found.zones[0].to - 0.5).abs() < 0.01);
        // Half the bytes take twice as long.
        let mean = found.mean_rate().unwrap();
        assert!((mean - 133.3).abs() < 1.0, "{mean}");
        assert!((found.fall().unwrap() - 0.5).abs() < 1e-9);
        assert_eq!(found.slowest_zone().unwrap().rate.round(), 100.0);
    }

    #[test]
    fn steps_too_small_for_words_are_one_zone_that_takes_as_long() {
        let mut all = places(100, |position| {
            let is_slower = (0.25..0.75).contains(&position);
            vec![if is_slower { 100.0 } else { 101.0 }; 2]
        });
        let found = fit(&all);
        assert_eq!((found.shape, found.zones.len()), (CurveShape::Flat, 1));
        assert_eq!((found.zones[0].from, found.zones[0].to), (0.0, 1.0));
        assert_eq!(found.zones[0].places, 100);
        let wanted = 2.0 / (1.0 / 100.0 + 1.0 / 101.0);
        let rate = found.zones[0].rate;
        assert!((rate - wanted).abs() < 0.01, "{rate} is not {wanted}");
        assert_eq!(found.mean_rate(), Some(rate));
        assert_eq!(found.fall(), Some(0.0));
        assert!(found.resolution >= 0.0099, "{}", found.resolution);
        // A position that does not belong to its zone is compared with the only zone.
        all[80].visits = vec![20.0; 3];
        let found = fit(&all);
        assert_eq!((found.shape, found.zones.len()), (CurveShape::Flat, 1));
        assert_eq!(found.flags[80], Some(Flag::BadSpot));
        assert_eq!(found.held_against[80], Some(found.zones[0].rate));
    }

    #[test]
    fn a_spot_is_no_zone_and_is_in_the_mean_by_its_extent() {
        let spot = |position: f64| (0.495..0.505).contains(&position);
        let found = fit(&places(100, |position| {
            vec![if spot(position) { 5.0 } else { 100.0 }; 2]
        }));
        assert_eq!(found.shape, CurveShape::Flat);
        assert_eq!(found.zones.len(), 1);
        assert_eq!(found.flags[50], Some(Flag::BadSpot));
        assert_eq!(found.flags.iter().flatten().count(), 1);
        assert_eq!(found.slowest_zone().unwrap().rate.round(), 100.0);
        // One part in a hundred takes twenty times as long.
        let mean = found.mean_rate().unwrap();
        assert!((mean - 100.0 / 1.19).abs() < 1e-6, "{mean}");
        assert_eq!(found.bad_spots.len(), 1);
    }

    #[test]
    fn a_half_or_a_third_is_called_missed_revolutions() {
        let found = fit(&places(100, |position| {
            let part = [(0.2, 2.0), (0.7, 3.0)]
                .into_iter()
                .find(|(at, _)| (at - position).abs() < 0.001);
            vec![100.0 / part.map_or(1.0, |(_, part)| part); 2]
        }));
        assert_eq!(found.flags[20], Some(Flag::MissedRevolutions(2)));
        assert_eq!(found.flags[70], Some(Flag::MissedRevolutions(3)));
    }

    #[test]
    fn what_is_slow_once_is_a_disturbance_and_asks_for_a_third_visit() {
        let mut all = places(100, |_| vec![100.0, 100.0]);
        all[30].visits = vec![20.0, 100.0];
        let found = fit(&all);
        assert_eq!(found.flags[30], Some(Flag::Disturbance));
        assert!((found.values[30].unwrap() - 100.0).abs() < 1e-6);
        assert_eq!(found.undecided(|_| true), [30]);
        // Once it was as fast as its zone, but in most visits it was not.
        all[30].visits.push(20.0);
        let found = fit(&all);
        assert_eq!(found.flags[30], Some(Flag::Uncertain));
        let value = found.values[30].unwrap();
        assert!(
            (value - 100.0).abs() < 1e-6,
            "it counts with what it can do: {value}"
        );
        assert!(found.undecided(|_| true).is_empty());
        all[30].visits = vec![100.0, 20.0, 100.0];
        assert_eq!(fit(&all).flags[30], Some(Flag::Disturbance));
        all[30].visits = vec![20.0; 2];
        assert_eq!(
            fit(&all).undecided(|_| true),
            [30],
            "slow twice asks for a third visit as well"
        );
        all[30].visits = vec![20.0; 3];
        let found = fit(&all);
        assert_eq!(found.flags[30], Some(Flag::BadSpot));
        assert!(found.undecided(|_| true).is_empty());
    }

    #[test]
    fn a_short_last_zone_is_a_zone() {
        let found = fit(&places(100, |position| {
            vec![if position > 0.985 { 80.0 } else { 100.0 }; 2]
        }));
        assert_eq!(found.zones.len(), 2);
        assert!(found.flags.iter().all(Option::is_none));
    }

    #[test]
    fn a_spot_over_an_edge_is_told_against_the_zone_that_it_is_held_against() {
        let mut all = places(100, |position| {
            vec![if position < 0.5 { 200.0 } else { 100.0 }; 2]
        });
        all[49].visits = vec![20.0; 2];
        let found = fit(&all);
        assert_eq!(found.held_against[49], Some(found.zones[1].rate));
        assert_eq!(found.flags[49], Some(Flag::BadSpot));
        assert_eq!(found.bad_spots.len(), 1);
    }

    #[test]
    fn nothing_measured_says_nothing() {
        let found = fit(&[]);
        assert!(found.zones.is_empty());
        assert_eq!(found.mean_rate(), None);
        assert_eq!(found.shape, CurveShape::Unknown);
    }
}
