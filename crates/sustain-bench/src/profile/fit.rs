//! From the samples of one curve to its zones, the places that fall out of them, and its shape.
//! Pure; the conclusion calls it for each target alone, and for the sum of all.
//!
//! Places are first cut into stretches of one level (`partition`). A stretch that is short and
//! slower than both its neighbours is no zone but a spot: it is taken out, and the rest is cut
//! anew; so is a sample that lies over the edge between two zones. Whether what is left are zones or a smooth fall is decided by the Schwarz criterion.

use super::noise::{NOISE_MIN, noise};
use super::partition::partition;
use super::shape::{Shape, shape};
use super::spots::{BadSpot, bad_spot, runs, time_over};

/// What is slower than its zone falls out by so many standard deviations,
const FAR_DEVIATIONS: f64 = 5.0;
/// and by this part of the zone's rate.
const FAR: f64 = 0.10;
/// A spot takes no more than this part of the target; what is longer is a zone.
const SPOT_SPAN_MAX: f64 = 0.03;
/// At either end a zone may be short. Only what is below this part of its neighbour is a spot.
const END_SPOT: f64 = 0.7;
/// What lies over an edge takes no more than so many samples.
const EDGE_SAMPLES: f64 = 2.5;
/// Whole revolutions: a rate is this near to a half, a third or a fourth.
const REVOLUTION_TOLERANCE: f64 = 0.06;
const REVOLUTIONS: [f64; 3] = [2.0, 3.0, 4.0];
/// With more than this part of the places disturbed, some are so in every visit by chance.
const DISTURBED_MAX: f64 = 0.03;
/// Taking spots out may uncover others.
const ROUNDS: usize = 3;

/// One place, and what each visit gave.
#[derive(Debug, Clone)]
pub(super) struct Place {
    /// Where its sample begins and ends, as parts of the target.
    pub(super) from: f64,
    pub(super) to: f64,
    /// Rates in the order of time, above zero.
    pub(super) visits: Vec<f64>,
}

impl Place {
    /// What it counts with. Nothing makes a place too fast, so of two visits the faster counts; a
    /// third decides.
    fn value(&self) -> Option<f64> {
        let mut visits = self.visits.clone();
        visits.sort_by(f64::total_cmp);
        match visits[..] {
            [] => None,
            [first, second] if is_alike(first, second) => Some((first * second).sqrt()),
            [_, second] => Some(second),
            _ => Some(visits[visits.len() / 2]),
        }
    }
}

fn is_alike(slower: f64, faster: f64) -> bool {
    faster - slower <= FAR * faster
}

/// Why a place does not belong to its zone.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Flag {
    /// Slow whenever it was visited.
    BadSpot,
    /// The same, at a whole part of its zone's rate.
    MissedRevolutions(u32),
    /// Slow in some visits only, or where so many are that it need not be the place.
    Disturbance,
}

impl Flag {
    pub(super) fn name(self) -> &'static str {
        match self {
            Flag::BadSpot => "bad_spot",
            Flag::MissedRevolutions(_) => "missed_revolutions",
            Flag::Disturbance => "disturbance",
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
    pub(super) noise: f64,
    pub(super) shape: Shape,
    /// An effect of the position below this would not have been seen.
    pub(super) resolution: f64,
    /// By place the rate that it is held against: of the slowest zone that it may lie in.
    pub(super) held_against: Vec<Option<f64>>,
    /// The places that are slow whenever they are visited, neighbours as one.
    pub(super) bad_spots: Vec<BadSpot>,
    /// So many places were disturbed that bad spots cannot be told.
    pub(super) is_pausing: bool,
}

impl Fit {
    /// Whether a rate is slower than that of its zone by more than chance.
    fn is_far(noise: f64, rate: f64, zone_rate: f64) -> bool {
        (zone_rate / rate).ln() > (FAR_DEVIATIONS * noise).max(-(1.0 - FAR).ln())
    }

    /// The zone at a place.
    pub(super) fn zone_at(&self, position: f64) -> Option<&Zone> {
        let mut zones = self.zones.iter();
        zones.find(|zone| position < zone.to).or(self.zones.last())
    }

    /// Where many places are slow now and then, those that were so whenever they were visited may
    /// be chance.
    fn distrust_spots(&mut self) {
        let flags = self.flags.iter().flatten();
        let disturbed = flags.filter(|flag| **flag == Flag::Disturbance).count();
        let visited = self.values.iter().flatten().count();
        self.is_pausing = disturbed as f64 > DISTURBED_MAX * visited as f64;
        if self.is_pausing {
            for flag in self.flags.iter_mut().flatten() {
                *flag = Flag::Disturbance;
            }
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
        let is_bad =
            |flag: &Option<Flag>| matches!(flag, Some(Flag::BadSpot | Flag::MissedRevolutions(_)));
        let is_bad: Vec<bool> = self.flags.iter().map(is_bad).collect();
        let runs = runs(&is_bad).into_iter();
        self.bad_spots = runs
            .filter_map(|run| {
                let zone_rate = self.held_against[run.start]?;
                bad_spot(places, &self.values, run, zone_rate)
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

    /// Places at which one visit was slow and another was not, and nothing has decided yet.
    pub(super) fn undecided(&self, places: &[Place]) -> Vec<usize> {
        let all = places.iter().enumerate();
        all.filter(|(_, place)| place.visits.len() == 2)
            .filter(|(index, _)| self.flags[*index] == Some(Flag::Disturbance))
            .map(|(index, _)| index)
            .collect()
    }
}

/// Fits the samples of one curve, in the order of position.
pub(super) fn fit(places: &[Place]) -> Fit {
    let visits: Vec<Vec<f64>> = places.iter().map(|place| place.visits.clone()).collect();
    let noise = noise(&visits);
    let values: Vec<Option<f64>> = places.iter().map(Place::value).collect();
    let known: Vec<usize> = (0..places.len())
        .filter(|index| values[*index].is_some())
        .collect();
    let repeats = visits.iter().map(Vec::len).sum::<usize>() as f64 / known.len().max(1) as f64;
    let cut = Cut {
        places,
        values: &values,
        noise: (noise / repeats.max(1.0).sqrt()).max(NOISE_MIN),
    };
    let (regular, stretches) = cut.without_spots(known);
    let zones = cut.zones(&regular, &stretches);
    let positions: Vec<f64> = regular.iter().map(|place| cut.middle(*place)).collect();
    let logs: Vec<f64> = regular.iter().map(|place| cut.log(*place)).collect();
    let zones_around = cut.zones_around(&regular, &stretches);
    let (shape, resolution) = shape(&positions, &logs, &stretches, cut.noise);
    let mut fit = Fit {
        zones,
        flags: Vec::new(),
        values,
        noise,
        shape,
        resolution,
        held_against: Vec::new(),
        bad_spots: Vec::new(),
        is_pausing: false,
    };
    let around = places.iter().zip(zones_around);
    fit.held_against = around
        .map(|(place, around)| fit.slowest_around(place, around))
        .collect();
    let held = places.iter().zip(&fit.held_against);
    fit.flags = held
        .map(|(place, against)| flag(place, (*against)?, fit.noise))
        .collect();
    fit.distrust_spots();
    fit.with_bad_spots(places)
}

/// `zone_rate` is that of the slowest zone that the place may lie in.
fn flag(place: &Place, zone_rate: f64, noise: f64) -> Option<Flag> {
    let is_slow = |rate: &f64| Fit::is_far(noise, *rate, zone_rate);
    let fastest = place.visits.iter().copied().reduce(f64::max)?;
    // What was as fast as its zone once is no bad spot: the place is not to blame.
    if is_slow(&fastest) {
        let value = place.value()?;
        let whole = REVOLUTIONS.into_iter().find(|revolutions| {
            (zone_rate / value / revolutions - 1.0).abs() < REVOLUTION_TOLERANCE
        });
        return Some(match whole {
            Some(revolutions) => Flag::MissedRevolutions(revolutions as u32),
            None => Flag::BadSpot,
        });
    }
    place
        .visits
        .iter()
        .any(is_slow)
        .then_some(Flag::Disturbance)
}

/// Cuts places into zones and spots.
struct Cut<'a> {
    places: &'a [Place],
    values: &'a [Option<f64>],
    /// Of a place's value.
    noise: f64,
}

type Stretch = std::ops::Range<usize>;

impl Cut<'_> {
    fn log(&self, place: usize) -> f64 {
        self.values[place].map_or(0.0, f64::ln)
    }

    fn middle(&self, place: usize) -> f64 {
        f64::midpoint(self.places[place].from, self.places[place].to)
    }

    /// The places that are in zones, and the zones as ranges of them.
    fn without_spots(&self, known: Vec<usize>) -> (Vec<usize>, Vec<Stretch>) {
        let mut regular = known;
        for _ in 0..ROUNDS {
            let stretches = self.stretches(&regular);
            let spots: Vec<bool> = (0..stretches.len())
                .map(|index| {
                    self.is_spot(&regular, &stretches, index)
                        || self.is_edge(&regular, &stretches, index)
                })
                .collect();
            if !spots.contains(&true) {
                return (regular, stretches);
            }
            let kept = stretches.iter().zip(&spots).filter(|(_, spot)| !**spot);
            regular = kept
                .flat_map(|(stretch, _)| regular[stretch.clone()].to_vec())
                .collect();
        }
        let stretches = self.stretches(&regular);
        (regular, stretches)
    }

    fn stretches(&self, regular: &[usize]) -> Vec<Stretch> {
        let logs: Vec<f64> = regular.iter().map(|place| self.log(*place)).collect();
        partition(&logs, self.noise)
    }

    fn level(&self, regular: &[usize], stretch: &Stretch) -> f64 {
        let places = &regular[stretch.clone()];
        let sum: f64 = places.iter().map(|place| self.log(*place)).sum();
        (sum / places.len() as f64).exp()
    }

    fn span(&self, regular: &[usize], stretch: &Stretch) -> f64 {
        self.middle(regular[stretch.end - 1]) - self.middle(regular[stretch.start])
    }

    fn is_spot(&self, regular: &[usize], stretches: &[Stretch], index: usize) -> bool {
        let stretch = &stretches[index];
        if self.span(regular, stretch) > SPOT_SPAN_MAX {
            return false;
        }
        // Beside a spot may lie another stretch of it: what counts is what is around.
        let is_around =
            |other: &&Stretch| other.len() > 1 && self.span(regular, other) > SPOT_SPAN_MAX;
        let before = stretches[..index].iter().rev().find(is_around);
        let after = stretches[index + 1..].iter().find(is_around);
        let level = self.level(regular, stretch);
        let is_below = |other: &Stretch| Fit::is_far(self.noise, level, self.level(regular, other));
        match (before, after) {
            (Some(before), Some(after)) => is_below(before) && is_below(after),
            (Some(only), None) | (None, Some(only)) => {
                is_below(only) && level < END_SPOT * self.level(regular, only)
            }
            (None, None) => false,
        }
    }

    /// Whether a stretch is no more than samples over the edge between two zones.
    fn is_edge(&self, regular: &[usize], stretches: &[Stretch], index: usize) -> bool {
        let (Some(before), Some(after)) = (
            index
                .checked_sub(1)
                .and_then(|before| stretches.get(before)),
            stretches.get(index + 1),
        ) else {
            return false;
        };
        let stretch = &stretches[index];
        let (first, last) = (regular[stretch.start], regular[stretch.end - 1]);
        let (first, last) = (&self.places[first], &self.places[last]);
        let (left, right) = (self.level(regular, before), self.level(regular, after));
        let level = self.level(regular, stretch);
        last.to - first.from <= EDGE_SAMPLES * (first.to - first.from)
            && left.min(right) < level
            && level < left.max(right)
    }

    /// By place the zones of the nearest places in zones before it and behind it.
    fn zones_around(&self, regular: &[usize], stretches: &[Stretch]) -> Vec<(usize, usize)> {
        let zone_of = |rank: usize| stretches.partition_point(|stretch| stretch.end <= rank);
        let last = regular.len().saturating_sub(1);
        (0..self.places.len())
            .map(|place| {
                let before = regular.partition_point(|other| *other < place);
                let behind = regular.partition_point(|other| *other <= place);
                (zone_of(before.saturating_sub(1)), zone_of(behind.min(last)))
            })
            .collect()
    }

    /// Zones meet in the middle between the last sample of the one and the first of the next.
    fn zones(&self, regular: &[usize], stretches: &[Stretch]) -> Vec<Zone> {
        let mut from = 0.0;
        let mut zones = Vec::new();
        for (index, stretch) in stretches.iter().enumerate() {
            let last = &self.places[regular[stretch.end - 1]];
            let to = match stretches.get(index + 1) {
                Some(next) => f64::midpoint(last.to, self.places[regular[next.start]].from),
                None => 1.0,
            };
            zones.push(Zone {
                from,
                to,
                rate: self.level(regular, stretch),
                places: stretch.len(),
            });
            from = to;
        }
        zones
    }
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
        assert_eq!(found.values[30], Some(100.0));
        assert_eq!(found.undecided(&all), [30]);
        // Once it was as fast as its zone: the place can do it.
        all[30].visits.push(20.0);
        let found = fit(&all);
        assert_eq!(found.flags[30], Some(Flag::Disturbance));
        assert!(found.undecided(&all).is_empty());
        all[30].visits = vec![20.0; 3];
        assert_eq!(fit(&all).flags[30], Some(Flag::BadSpot));
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
    fn nothing_measured_says_nothing() {
        let found = fit(&[]);
        assert!(found.zones.is_empty());
        assert_eq!(found.mean_rate(), None);
        assert_eq!(found.shape, Shape::Unknown);
    }
}
