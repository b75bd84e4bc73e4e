//! Cuts the positions of a curve into zones. Pure; the fit calls it.
//!
//! Positions are first cut into stretches of one level (`partition`). A stretch that is short and
//! slower than both its neighbours is not a zone but a spot: it is taken out, and the rest is cut
//! again. The same is done with a sample that lies across the edge between two zones.

use super::partition::partition;
use super::visits::{VisitedPlace, is_far};
use super::zone::FittedZone;

/// A spot takes no more than this part of the target; a longer stretch is a zone.
const SPOT_SPAN_MAX: f64 = 0.03;
/// At either end a zone may be short. There, only a stretch below this part of its neighbour is a
/// spot.
const END_SPOT: f64 = 0.7;
/// A stretch across an edge has no more than this many samples.
const EDGE_SAMPLES: f64 = 2.5;
/// Taking spots out may uncover others, so it is repeated.
const ROUNDS: usize = 3;

/// Cuts places into zones and spots.
pub(super) struct ZoneCutter<'a> {
    pub(super) places: &'a [VisitedPlace],
    pub(super) values: &'a [Option<f64>],
    /// The standard deviation of a position's value, as a part of it.
    pub(super) noise: f64,
    /// The number of neighbours that may be slow together by chance.
    pub(super) chance_run: usize,
}

pub(super) type PlaceRange = std::ops::Range<usize>;

impl ZoneCutter<'_> {
    pub(super) fn log(&self, place: usize) -> f64 {
        self.values[place].map_or(0.0, f64::ln)
    }

    pub(super) fn middle(&self, place: usize) -> f64 {
        f64::midpoint(self.places[place].from, self.places[place].to)
    }

    /// The positions that are in zones, and the zones as ranges of them.
    pub(super) fn without_spots(&self, known: Vec<usize>) -> (Vec<usize>, Vec<PlaceRange>) {
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

    fn stretches(&self, regular: &[usize]) -> Vec<PlaceRange> {
        let logs: Vec<f64> = regular.iter().map(|place| self.log(*place)).collect();
        partition(&logs, self.noise)
    }

    fn level(&self, regular: &[usize], stretch: &PlaceRange) -> f64 {
        let places = &regular[stretch.clone()];
        let sum: f64 = places.iter().map(|place| self.log(*place)).sum();
        (sum / places.len() as f64).exp()
    }

    fn span(&self, regular: &[usize], stretch: &PlaceRange) -> f64 {
        self.middle(regular[stretch.end - 1]) - self.middle(regular[stretch.start])
    }

    fn is_spot(&self, regular: &[usize], stretches: &[PlaceRange], index: usize) -> bool {
        let stretch = &stretches[index];
        let may_be_chance = |stretch: &PlaceRange| stretch.len() <= self.chance_run;
        let is_short = self.span(regular, stretch) <= SPOT_SPAN_MAX;
        if !is_short && !may_be_chance(stretch) {
            return false;
        }
        // Another stretch of the same spot may be beside it: the comparison is with what is around
        // the spot.
        let is_around = |other: &&PlaceRange| {
            let is_long = other.len() > 1 && self.span(regular, other) > SPOT_SPAN_MAX;
            is_long && !may_be_chance(other)
        };
        let before = stretches[..index].iter().rev().find(is_around);
        let after = stretches[index + 1..].iter().find(is_around);
        let level = self.level(regular, stretch);
        let is_below = |other: &PlaceRange| {
            let around = self.level(regular, other);
            is_far(self.noise, level, around) || may_be_chance(stretch) && level < around
        };
        match (before, after) {
            (Some(before), Some(after)) => is_below(before) && is_below(after),
            (Some(only), None) | (None, Some(only)) => {
                let is_deep = level < END_SPOT * self.level(regular, only);
                is_below(only) && (is_deep || may_be_chance(stretch))
            }
            (None, None) => false,
        }
    }

    /// Whether a stretch consists only of samples across the edge between two zones.
    fn is_edge(&self, regular: &[usize], stretches: &[PlaceRange], index: usize) -> bool {
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

    /// For each position, the zones of the nearest positions in zones before and after it.
    pub(super) fn zones_around(
        &self,
        regular: &[usize],
        stretches: &[PlaceRange],
    ) -> Vec<(usize, usize)> {
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

    /// Zones meet half way between the last sample of the one and the first sample of the next.
    pub(super) fn zones(&self, regular: &[usize], stretches: &[PlaceRange]) -> Vec<FittedZone> {
        let mut from = 0.0;
        let mut zones = Vec::new();
        for (index, stretch) in stretches.iter().enumerate() {
            let last = &self.places[regular[stretch.end - 1]];
            let to = match stretches.get(index + 1) {
                Some(next) => f64::midpoint(last.to, self.places[regular[next.start]].from),
                None => 1.0,
            };
            zones.push(FittedZone {
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
