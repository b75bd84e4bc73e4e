//! From the samples of one curve to its zones, the places that fall out of them, and its shape.
//! Pure; the conclusion calls it for each target alone, and for the sum of all.
//!
//! Places are cut into zones (`cut`); whether those are zones or a smooth fall is decided by the
//! Schwarz criterion (`shape`). What is slower than its zone is the place's own or the time's
//! (`chance`).

use super::chance::{Seen, Suspect, can_be_told, disturbed_share, longest_run, suspects};
use super::cut::Cut;
use super::noise::noise;
use super::shape::{Shape, shape};
use super::spots::{BadSpot, bad_spot, runs, time_over};
use super::visits::{Place, is_far, scatter};

/// Whole revolutions: a rate is this near to a half, a third or a fourth.
const REVOLUTION_TOLERANCE: f64 = 0.06;
const REVOLUTIONS: [f64; 3] = [2.0, 3.0, 4.0];
/// Why a place does not belong to its zone.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Flag {
    /// Slow whenever it was visited.
    BadSpot,
    /// The same, at a whole part of its zone's rate.
    MissedRevolutions(u32),
    /// Slow in some visits only.
    Disturbance,
    /// Slow in most visits, or in all of them but no more than chance explains.
    Uncertain,
}

impl Flag {
    pub(super) fn name(self) -> &'static str {
        match self {
            Flag::BadSpot => "bad_spot",
            Flag::MissedRevolutions(_) => "missed_revolutions",
            Flag::Disturbance => "disturbance",
            Flag::Uncertain => "uncertain",
        }
    }
}

/// A stretch of one rate, as parts of the target.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Zone {
    pub(super) from: f64,
    pub(super) to: f64,
    pub(super) rate: f64,
    pub(super) places: usize,
}

/// What came of a curve.
#[derive(Debug, Clone)]
pub(super) struct Fit {
    pub(super) zones: Vec<Zone>,
    /// One per place.
    pub(super) flags: Vec<Option<Flag>>,
    /// What each place counts with, where it was visited.
    pub(super) values: Vec<Option<f64>>,
    /// The standard deviation of one visit where nothing disturbs it, as a part of its rate,
    pub(super) noise: f64,
    /// and of a place's value, with the disturbances that it cannot know of.
    pub(super) value_noise: f64,
    pub(super) shape: Shape,
    /// An effect of the position below this would not have been seen.
    pub(super) resolution: f64,
    /// By place the rate that it is held against: of the slowest zone that it may lie in.
    pub(super) held_against: Vec<Option<f64>>,
    /// The places that are slow whenever they are visited, neighbours as one.
    pub(super) bad_spots: Vec<BadSpot>,
    /// How each place was seen,
    pub(super) seen: Vec<Seen>,
    /// and those that were slow whenever they were visited, bad or by chance.
    pub(super) suspects: Vec<Suspect>,
    /// Visits are disturbed so seldom that bad spots can be told from that.
    pub(super) can_tell_spots: bool,
}

impl Fit {
    /// The zone at a place.
    pub(super) fn zone_at(&self, position: f64) -> Option<&Zone> {
        let mut zones = self.zones.iter();
        zones.find(|zone| position < zone.to).or(self.zones.last())
    }

    /// Tells what is the place's own from what chance explains.
    fn judge_spots(&mut self) {
        let always: Vec<bool> = self.seen.iter().map(Seen::is_always_slow).collect();
        self.suspects = suspects(runs(&always), &self.seen);
        let visited = self.values.iter().flatten().count();
        self.can_tell_spots = can_be_told(visited, disturbed_share(&self.seen));
        for suspect in self.suspects.iter().filter(|suspect| !suspect.is_bad) {
            self.flags[suspect.places.clone()].fill(Some(Flag::Uncertain));
        }
    }

    /// The rate of the slowest zone that a place may lie in. A sample over the edge between two
    /// zones has a rate between theirs, and edges are known to about a sample.
    fn slowest_around(&self, place: &Place, around: (usize, usize)) -> Option<f64> {
        let width = place.to - place.from;
        let reach = self.zones.iter().enumerate().filter(|(index, zone)| {
            (around.0..=around.1).contains(index)
                || zone.from < place.to + width && place.from - width < zone.to
        });
        reach.map(|(_, zone)| zone.rate).reduce(f64::min)
    }

    /// Gathers the places that are slow whenever they are visited.
    fn with_bad_spots(mut self, places: &[Place]) -> Fit {
        let bad = self.suspects.iter().filter(|suspect| suspect.is_bad);
        self.bad_spots = bad
            .filter_map(|suspect| {
                let zone_rate = self.held_against[suspect.places.start]?;
                bad_spot(places, &self.values, suspect.places.clone(), zone_rate)
            })
            .collect();
        self
    }

    /// All bytes over all time, going over the whole range once, bad spots included.
    pub(super) fn mean_rate(&self) -> Option<f64> {
        let time = time_over(&self.zones, &self.bad_spots);
        (time > 0.0).then(|| 1.0 / time)
    }

    pub(super) fn outer_rate(&self) -> Option<f64> {
        self.zones.first().map(|zone| zone.rate)
    }

    pub(super) fn slowest_zone(&self) -> Option<&Zone> {
        let zones = self.zones.iter();
        zones.min_by(|one, other| one.rate.total_cmp(&other.rate))
    }

    pub(super) fn fall(&self) -> Option<f64> {
        let zones = self.zones.iter();
        let fastest = zones.map(|zone| zone.rate).reduce(f64::max)?;
        Some(1.0 - self.slowest_zone()?.rate / fastest)
    }

    /// Places that are to be visited again: those that may be bad spots; when these are decided,
    /// those that were slow in one of two visits. Only those that `can_be_visited` are wanted.
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
pub(super) fn fit(places: &[Place]) -> Fit {
    let visits: Vec<Vec<f64>> = places.iter().map(|place| place.visits.clone()).collect();
    let noise = noise(&visits);
    let values: Vec<Option<f64>> = places.iter().map(|place| place.value(noise)).collect();
    let known: Vec<usize> = (0..places.len())
        .filter(|index| values[*index].is_some())
        .collect();
    let scatter = scatter(&visits, noise);
    let value_noise = scatter.noise;
    let cut = Cut {
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
    // Steps too small for words are no zones: what is told of the whole is shown as one.
    let zones = match shape {
        Shape::Flat => merged(&zones),
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
        can_tell_spots: true,
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

/// All zones as one, which takes as long to go over as they do.
fn merged(zones: &[Zone]) -> Vec<Zone> {
    let (Some(first), Some(last)) = (zones.first(), zones.last()) else {
        return Vec::new();
    };
    let whole = Zone {
        from: first.from,
        to: last.to,
        rate: (last.to - first.from) / time_over(zones, &[]),
        places: zones.iter().map(|zone| zone.places).sum(),
    };
    vec![whole]
}

/// `zone_rate` is that of the slowest zone that the place may lie in.
fn seen(place: &Place, zone_rate: Option<f64>, noise: f64) -> Seen {
    let is_slow = |rate: &&f64| zone_rate.is_some_and(|zone| is_far(noise, **rate, zone));
    Seen {
        visits: place.visits.len(),
        slow: place.visits.iter().filter(is_slow).count(),
        slow_of_two: place.visits.iter().take(2).filter(is_slow).count(),
    }
}

/// What was as fast as its zone once is no bad spot: the place is not to blame, or not alone.
fn flag(place: &Place, zone_rate: f64, seen: Seen, noise: f64) -> Option<Flag> {
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

    fn places(count: usize, rate: impl Fn(f64) -> Vec<f64>) -> Vec<Place> {
        let width = 0.2 / count as f64;
        (0..count)
            .map(|index| {
                let from = index as f64 / count as f64;
                Place {
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
        assert_eq!(found.shape, Shape::Zones);
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
        assert_eq!((found.shape, found.zones.len()), (Shape::Flat, 1));
        assert_eq!((found.zones[0].from, found.zones[0].to), (0.0, 1.0));
        assert_eq!(found.zones[0].places, 100);
        let wanted = 2.0 / (1.0 / 100.0 + 1.0 / 101.0);
        let rate = found.zones[0].rate;
        assert!((rate - wanted).abs() < 0.01, "{rate} is not {wanted}");
        assert_eq!(found.mean_rate(), Some(rate));
        assert_eq!(found.fall(), Some(0.0));
        assert!(found.resolution >= 0.0099, "{}", found.resolution);
        // What falls out is held against the one zone that there is.
        all[80].visits = vec![20.0; 3];
        let found = fit(&all);
        assert_eq!((found.shape, found.zones.len()), (Shape::Flat, 1));
        assert_eq!(found.flags[80], Some(Flag::BadSpot));
        assert_eq!(found.held_against[80], Some(found.zones[0].rate));
    }

    #[test]
    fn a_spot_is_no_zone_and_is_in_the_mean_by_its_extent() {
        let spot = |position: f64| (0.495..0.505).contains(&position);
        let found = fit(&places(100, |position| {
            vec![if spot(position) { 5.0 } else { 100.0 }; 2]
        }));
        assert_eq!(found.shape, Shape::Flat);
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
        assert_eq!(found.shape, Shape::Unknown);
    }
}
