//! Decides which points are measured when. Pure; the run asks for round after round. It must spread
//! drift evenly over all points, whatever the disks do.
//!
//! Rounds come in pairs: a random order of all points, then the same order backwards. Within a pair
//! every point has the same mean place in time, so an even drift affects all alike; and no two
//! points stay neighbours, except those that are measured on the same array of the kernel. These
//! follow each other, because building an array takes longer than measuring a point. If the budget
//! is too short for all points, a coarse grid comes first, then, pair by pair, the points near the
//! best and the cheapest, and those that cannot be told from the best.

use std::collections::{BTreeSet, HashSet};

use sustain_statistics::points::Judgement;

use super::answer::Answer;
use super::axes::{Grid, GridPosition, ORDERED};
use super::setting::ArrayShape;

/// The part of a budget that may be spent on the coarse grid,
const COARSE_SHARE: f64 = 0.5;
/// whose points are measured this often.
const COARSE_ROUNDS: usize = 2;
/// The most points that are measured again because they cannot be told from the best.
const CONTENDERS_MAX: usize = 8;

/// What is known when a round is chosen.
pub(super) struct RoundsSoFar<'a> {
    pub(super) judgement: &'a Judgement,
    pub(super) answers: &'a [Answer],
    /// Points that are no longer measured.
    pub(super) out: &'a BTreeSet<usize>,
}

enum ScheduleStage {
    /// All points are measured in every round.
    All { rounds_left: u32 },
    /// The points of the coarse grid, which is still to come.
    Coarse(Vec<usize>),
    /// Points near the best are measured.
    Refine,
}

/// Chooses round after round.
pub(super) struct Schedule<'a> {
    grid: &'a Grid,
    rounds: u32,
    stage: ScheduleStage,
    /// The last round, backwards.
    backwards: Option<Vec<usize>>,
    /// The state of the generator of random orders.
    random: u64,
}

impl<'a> Schedule<'a> {
    /// Schedules all points in this many rounds, or, if `runs_max` measurements are too few for
    /// these, from coarse to fine.
    pub(super) fn new(
        grid: &'a Grid,
        rounds: u32,
        runs_max: Option<usize>,
        seed: u64,
    ) -> Schedule<'a> {
        let all = grid.points.len().saturating_mul(rounds as usize);
        let stage = match runs_max {
            Some(runs) if all > runs => ScheduleStage::Coarse(coarse(grid, runs)),
            _ => ScheduleStage::All {
                rounds_left: rounds,
            },
        };
        Schedule {
            grid,
            rounds,
            stage,
            backwards: None,
            random: seed,
        }
    }

    /// The number of measurements of all rounds, if it is known beforehand.
    pub(super) fn runs(&self) -> Option<usize> {
        match self.stage {
            ScheduleStage::All { rounds_left } => {
                Some(self.grid.points.len() * rounds_left as usize)
            }
            ScheduleStage::Coarse(_) | ScheduleStage::Refine => None,
        }
    }

    /// The number of points of the coarse grid, while that is still to come.
    pub(super) fn coarse_points(&self) -> Option<usize> {
        match &self.stage {
            ScheduleStage::Coarse(points) => Some(points.len()),
            ScheduleStage::All { .. } | ScheduleStage::Refine => None,
        }
    }

    /// The points of the next round in their order; `None` if nothing is left to learn. `runs_left`
    /// is the number of measurements that still fit into the budget, if there is one.
    pub(super) fn next_round(
        &mut self,
        known: &RoundsSoFar<'_>,
        runs_left: Option<usize>,
    ) -> Option<Vec<usize>> {
        let is_in = |point: &usize| !known.out.contains(point);
        if let Some(backwards) = self.backwards.take() {
            let round: Vec<usize> = backwards.into_iter().filter(is_in).collect();
            if !round.is_empty() {
                return Some(round);
            }
        }
        let mut is_last = false;
        let mut round = match std::mem::replace(&mut self.stage, ScheduleStage::Refine) {
            ScheduleStage::All { rounds_left } => {
                let taken = rounds_left.min(2);
                is_last = taken < 2;
                self.stage = ScheduleStage::All {
                    rounds_left: rounds_left - taken,
                };
                if taken == 0 {
                    return None;
                }
                (0..self.grid.points.len()).collect()
            }
            ScheduleStage::Coarse(points) => points,
            ScheduleStage::Refine => self.around(known, runs_left.unwrap_or(usize::MAX)),
        };
        round.retain(is_in);
        if round.is_empty() {
            return None;
        }
        self.shuffle(&mut round);
        self.gather_arrays(&mut round);
        if !is_last {
            self.backwards = Some(round.iter().rev().copied().collect());
        }
        Some(round)
    }

    /// The points to measure next, the best and the cheapest first, because all others are compared
    /// with these.
    fn around(&self, known: &RoundsSoFar<'_>, runs_left: usize) -> Vec<usize> {
        let mut anchors = Vec::new();
        let mut wanted = Vec::new();
        for answer in known.answers {
            let leaders = [answer.best, answer.cheapest];
            anchors.extend(leaders);
            for leader in leaders {
                self.neighbours(known, leader, &mut wanted);
            }
            self.other_groups(known, answer, &mut wanted);
            wanted.extend(self.contenders(known, answer));
        }
        wanted.retain(|point| !known.out.contains(point) && !anchors.contains(point));
        let repeats = |point: &usize| repeats(known, *point);
        let is_settled = |point: &usize| repeats(point) >= self.rounds as usize;
        if wanted.is_empty() && anchors.iter().all(is_settled) {
            return Vec::new();
        }
        let mut round: Vec<usize> = Vec::new();
        for point in anchors.into_iter().chain(wanted) {
            if !round.contains(&point) {
                round.push(point);
            }
        }
        // The round is gone through there and back.
        round.truncate((runs_left / 2).max(1));
        round
    }

    /// On each axis with an order and to both sides: the middle of the values that were not
    /// measured yet.
    fn neighbours(&self, known: &RoundsSoFar<'_>, leader: usize, wanted: &mut Vec<usize>) {
        let at = &self.grid.points[leader];
        for axis in 0..ORDERED {
            let line: Vec<usize> = (0..self.grid.points.len())
                .filter(|point| {
                    let other = &self.grid.points[*point];
                    let is_same =
                        |along: usize| along == axis || other.place[along] == at.place[along];
                    other.group == at.group && (0..ORDERED).all(is_same)
                })
                .collect();
            let place = |point: &usize| self.grid.points[*point].place[axis];
            let is_new =
                |point: &&usize| repeats(known, **point) == 0 && !known.out.contains(*point);
            let above = line.iter().filter(|point| place(point) > at.place[axis]);
            let below = line
                .iter()
                .rev()
                .filter(|point| place(point) < at.place[axis]);
            for side in [above.collect::<Vec<_>>(), below.collect()] {
                let new: Vec<usize> = side.into_iter().take_while(is_new).copied().collect();
                wanted.extend(new.get(new.len() / 2));
            }
        }
    }

    /// The place of the best point in every group whose own best cannot be told from it.
    fn other_groups(&self, known: &RoundsSoFar<'_>, answer: &Answer, wanted: &mut Vec<usize>) {
        let best = &self.grid.points[answer.best];
        for (point, candidate) in self.grid.points.iter().enumerate() {
            let of_group = |other: &&usize| self.grid.points[**other].group == candidate.group;
            let mut alike = answer.alike.iter().chain(&answer.undecided);
            let is_alike = alike.any(|other| of_group(&other));
            let is_there = candidate.place == best.place;
            if is_there && is_alike && repeats(known, point) == 0 {
                wanted.push(point);
            }
        }
    }

    /// The points that cannot be told from the best and that were not measured as often as allowed,
    /// the fastest first.
    fn contenders(&self, known: &RoundsSoFar<'_>, answer: &Answer) -> Vec<usize> {
        let rate = |point: usize| {
            let estimate = known.judgement.estimate(point);
            estimate.map_or(0.0, |estimate| estimate.rate_bytes_per_s)
        };
        let mut alike = [&answer.alike[..], &answer.undecided].concat();
        alike.sort_by(|one, other| rate(*other).total_cmp(&rate(*one)));
        alike.truncate(CONTENDERS_MAX);
        alike.retain(|point| repeats(known, *point) < self.rounds as usize);
        alike
    }

    /// Moves the points of an array behind the first of them; all others stay in their order.
    fn gather_arrays(&self, round: &mut Vec<usize>) {
        let shape = |point: usize| self.grid.points[point].setting.array_shape();
        let mut gathered: HashSet<ArrayShape<'_>> = HashSet::new();
        let mut ordered = Vec::with_capacity(round.len());
        for &point in round.iter() {
            match shape(point) {
                None => ordered.push(point),
                Some(array) if gathered.insert(array) => {
                    let same = round.iter().filter(|other| shape(**other) == Some(array));
                    ordered.extend(same);
                }
                Some(_) => {}
            }
        }
        *round = ordered;
    }

    /// Shuffles by Fisher and Yates, with SplitMix64 (Steele, Lea and Flood 2014).
    fn shuffle(&mut self, points: &mut [usize]) {
        for last in (1..points.len()).rev() {
            self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut mixed = self.random;
            mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            mixed ^= mixed >> 31;
            points.swap(last, (mixed % (last as u64 + 1)) as usize);
        }
    }
}

fn repeats(known: &RoundsSoFar<'_>, point: usize) -> usize {
    let estimate = known.judgement.estimate(point);
    estimate.map_or(0, |estimate| estimate.repeats)
}

/// Evenly spaced values of the axes that have an order, and their ends; as many points as their
/// part of the budget allows.
fn coarse(grid: &Grid, runs: usize) -> Vec<usize> {
    let points_max = (runs as f64 * COARSE_SHARE) as usize / COARSE_ROUNDS;
    let mut steps: GridPosition = [1; ORDERED];
    loop {
        let kept = |axis: usize, value: usize| {
            value.is_multiple_of(steps[axis]) || value + 1 == grid.lengths[axis]
        };
        let is_kept = |point: &usize| {
            let place = grid.points[*point].place;
            // A layout without a chunk has only the first value of it.
            (0..ORDERED).all(|axis| kept(axis, place[axis]))
        };
        let points: Vec<usize> = (0..grid.points.len()).filter(is_kept).collect();
        let values = |axis: usize| {
            (0..grid.lengths[axis])
                .filter(|value| kept(axis, *value))
                .count()
        };
        let longest = (0..ORDERED).max_by_key(|axis| values(*axis));
        let longest = longest.filter(|axis| values(*axis) > 2);
        match longest {
            Some(axis) if points.len() > points_max => steps[axis] *= 2,
            _ => return points,
        }
    }
}
