//! Compares a measured set with what the known walls allow: the loss of each part, and the stretch
//! (in the order of the targets) whose loss stands out most. Called by the search. It works on sums
//! over stretches, so that a small loss is not diluted by the targets around it.

use crate::walls::evidence::{Evidence, ReadingMean};
use crate::walls::model::{Model, SumLimit, common};

/// The walls found so far, by position.
pub(in crate::walls) struct KnownWalls {
    pub(in crate::walls) model: Model,
    /// Standard deviation of each wall's limit.
    pub(in crate::walls) deviations: Vec<f64>,
    /// The number of members from which the sum of each wall falls, so that no limit says how deep;
    /// `None` if it does not fall.
    pub(in crate::walls) falls_from: Vec<Option<usize>>,
}

/// A part of a set whose sum can be predicted: one target, or the targets that a full wall holds
/// together.
pub(in crate::walls) struct Unit {
    pub(in crate::walls) members: Vec<usize>,
    pub(in crate::walls) expected: f64,
    pub(in crate::walls) variance: f64,
    /// Whether a wall whose sum falls contains it: then any rate of it is explained.
    falls: bool,
}

/// A stretch that reaches less than expected.
#[derive(Clone, Debug)]
pub(in crate::walls) struct Loss {
    pub(in crate::walls) members: Vec<usize>,
    pub(in crate::walls) loss: f64,
    /// Distance from the threshold, in standard deviations.
    pub(in crate::walls) score: f64,
}

impl KnownWalls {
    pub(in crate::walls) fn new(evidence: &Evidence<'_>) -> Self {
        let mut known = Self {
            model: Model::default(),
            deviations: Vec::new(),
            falls_from: Vec::new(),
        };
        known.refresh(evidence);
        known
    }

    /// Takes over the current rates alone.
    pub(in crate::walls) fn refresh(&mut self, evidence: &Evidence<'_>) {
        self.model.alone_bytes_per_s = (0..evidence.count())
            .map(|position| evidence.alone(position))
            .collect();
    }

    /// The sum that the walls let through.
    pub(in crate::walls) fn predict(&self, set: &[usize]) -> f64 {
        self.model.predict(set)
    }

    /// The lowest sum without one wall.
    pub(in crate::walls) fn predict_without(&self, set: &[usize], wall: usize) -> f64 {
        let mut rest = self.model.clone();
        rest.walls.remove(wall);
        rest.least(set)
    }

    /// The model with one more wall.
    pub(in crate::walls) fn with(&self, wall: SumLimit) -> Model {
        let mut model = self.model.clone();
        model.walls.push(wall);
        model
    }

    /// Walls that hold a set back, or that it fills to this part.
    pub(in crate::walls) fn full(&self, set: &[usize], fill: f64) -> Vec<usize> {
        let mut full = self.model.binding(set, fill);
        for (wall, from) in self.falls_from.iter().enumerate() {
            let Some(from) = *from else { continue };
            let count = common(set, &self.model.walls[wall].members);
            if count < 2 {
                full.retain(|&one| one != wall);
            } else if count >= from && !full.contains(&wall) {
                full.push(wall);
            }
        }
        full.sort_by_key(|&wall| self.model.walls[wall].members.len());
        full
    }

    /// The parts of a set whose sums are predicted, in the order of their first targets.
    pub(in crate::walls) fn units(&self, set: &[usize], evidence: &Evidence<'_>) -> Vec<Unit> {
        let mut groups: Vec<Unit> = Vec::new();
        let mut group_of = vec![usize::MAX; self.model.alone_bytes_per_s.len()];
        for wall in self.full(set, 1.0).into_iter().rev() {
            let SumLimit {
                members,
                limit_bytes_per_s,
            } = &self.model.walls[wall];
            let variance = self.deviations[wall].powi(2);
            let falls = self.falls_from[wall].is_some();
            let part: Vec<usize> = set
                .iter()
                .copied()
                .filter(|member| members.binary_search(member).is_ok())
                .collect();
            let touched = part
                .iter()
                .map(|&one| group_of[one])
                .find(|&group| group < groups.len());
            if let Some(index) = touched {
                let group = &mut groups[index];
                group.falls |= falls;
                if part.iter().any(|&one| group_of[one] != index) {
                    group
                        .members
                        .extend(part.iter().filter(|&&one| group_of[one] != index));
                    group.members.sort_unstable();
                    group.variance += variance;
                    group.expected = self.model.predict_lowest(&group.members);
                }
                part.iter().for_each(|&one| group_of[one] = index);
            } else {
                part.iter().for_each(|&one| group_of[one] = groups.len());
                groups.push(Unit {
                    members: part,
                    expected: *limit_bytes_per_s,
                    variance,
                    falls,
                });
            }
        }
        let noise = evidence.noise();
        let alone = &self.model.alone_bytes_per_s;
        let mut units: Vec<Unit> = Vec::new();
        for &member in set {
            if let Some(group) = groups.get_mut(group_of[member]) {
                if group.members.first() == Some(&member) {
                    units.push(Unit {
                        expected: group.expected,
                        members: std::mem::take(&mut group.members),
                        variance: group.variance,
                        falls: group.falls,
                    });
                }
            } else {
                let readings = evidence.alone_readings(member).max(1) as f64;
                units.push(Unit {
                    members: vec![member],
                    expected: alone[member],
                    variance: (noise * alone[member]).powi(2) / readings,
                    falls: false,
                });
            }
        }
        units
    }

    /// The stretch whose loss beyond `threshold` stands out most. `None` if nothing was measured.
    pub(in crate::walls) fn scan(
        &self,
        set: &[usize],
        evidence: &Evidence<'_>,
        threshold: f64,
    ) -> Option<Loss> {
        let mean = evidence.mean(set)?;
        let units = self.units(set, evidence);
        let sums = UnitSums::of(set, &units, &mean, evidence.noise());
        let mut best: Option<(f64, usize, usize)> = None;
        for first in 0..units.len() {
            for end in first + 1..=units.len() {
                let score = sums.score(first, end, threshold);
                if best.is_none_or(|(other, ..)| score > other) {
                    best = Some((score, first, end));
                }
            }
        }
        let (score, first, end) = best?;
        let mut members: Vec<usize> = units[first..end]
            .iter()
            .flat_map(|unit| unit.members.iter().copied())
            .collect();
        members.sort_unstable();
        Some(Loss {
            members,
            loss: sums.loss[end] - sums.loss[first],
            score,
        })
    }

    /// Whether the first and the last part of a set each lose by themselves, by this many standard
    /// deviations.
    pub(in crate::walls) fn lose_at_both_ends(
        &self,
        set: &[usize],
        evidence: &Evidence<'_>,
        score: f64,
    ) -> bool {
        let Some(mean) = evidence.mean(set) else {
            return false;
        };
        let units = self.units(set, evidence);
        let sums = UnitSums::of(set, &units, &mean, evidence.noise());
        let last = units.len() - 1;
        sums.score(0, 1, 0.0) > score && sums.score(last, last + 1, 0.0) > score
    }

    /// Loss of the whole set, and its standard deviation.
    pub(in crate::walls) fn total(
        &self,
        set: &[usize],
        evidence: &Evidence<'_>,
    ) -> Option<(f64, f64)> {
        let mean = evidence.mean(set)?;
        let units = self.units(set, evidence);
        let sums = UnitSums::of(set, &units, &mean, evidence.noise());
        Some((sums.loss[units.len()], sums.variance[units.len()].sqrt()))
    }
}

/// A relative error of sums that no noise explains, so that deviations are never zero.
const ROUNDING: f64 = 2e-4;

/// Running sums over units.
struct UnitSums {
    loss: Vec<f64>,
    expected: Vec<f64>,
    variance: Vec<f64>,
}

impl UnitSums {
    fn of(set: &[usize], units: &[Unit], mean: &ReadingMean, noise: f64) -> Self {
        let mut sums = Self {
            loss: vec![0.0],
            expected: vec![0.0],
            variance: vec![0.0],
        };
        let (mut loss, mut expected, mut variance) = (0.0, 0.0, 0.0);
        for unit in units {
            let mut rate = 0.0;
            let mut squares = 0.0;
            for member in &unit.members {
                let measured = set
                    .binary_search(member)
                    .map_or(0.0, |place| mean.rates[place]);
                rate += measured;
                squares += measured.powi(2);
            }
            loss += if unit.falls {
                0.0
            } else {
                unit.expected - rate
            };
            expected += unit.expected;
            variance += unit.variance
                + noise.powi(2) * squares / mean.readings as f64
                + (ROUNDING * unit.expected).powi(2);
            sums.loss.push(loss);
            sums.expected.push(expected);
            sums.variance.push(variance);
        }
        sums
    }

    fn score(&self, first: usize, end: usize, threshold: f64) -> f64 {
        let loss = self.loss[end] - self.loss[first];
        let variance = self.variance[end] - self.variance[first];
        // A loss of less than this part of the expected sum is none, however sure it is.
        let floor = crate::walls::search::LOSS_MIN * (self.expected[end] - self.expected[first]);
        if threshold == 0.0 && loss < floor {
            return -1.0;
        }
        (loss - threshold) / variance.sqrt().max(f64::MIN_POSITIVE)
    }
}
