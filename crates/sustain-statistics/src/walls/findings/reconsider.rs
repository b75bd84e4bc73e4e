//! A second explanation of all that was measured, where the first one is refuted by a run that it
//! did not foretell, or asks for a sum that falls: limits that stay, of targets in any order.
//! Called by
//! `find` at the end. Limits that cross let a sum fall as well, so a collapse is claimed only where
//! such limits do not explain the readings.

use crate::walls::evidence::SearchStop;
use crate::walls::model::SumLimit;
use crate::walls::search::WallSearch;
use crate::walls::types::{SearchBasis, SearchStep, Unexplained};

/// Readings that the second explanation may cost, at least, and of each target.
const READINGS_MIN: usize = 20;
const READINGS_PER_TARGET: usize = 8;
/// A sum is explained if it is this near to what is foretold, as a part of it,
const OFF: f64 = 0.02;
/// or within so many standard deviations.
const OFF_SCORE: f64 = 4.5;
/// Of more targets limits in any order explain a falling sum too easily.
pub const FALLING_TARGETS_MAX: usize = 12;
/// Of more targets too few subsets can be measured to tell limits in any order apart.
pub const TARGETS_MAX: usize = 24;
/// Limits that cross are looked for behind the falling sum of so many targets at most, and each two
/// of them are measured.
pub const PAIRS_OF_MAX: usize = 6;
/// The second explanation may need so many walls more.
const MORE_WALLS: usize = 1;

/// What the first explanation comes to.
struct WallHypothesis {
    walls: Vec<SumLimit>,
    deviations: Vec<f64>,
    falls_from: Vec<Option<usize>>,
    found: Vec<crate::walls::search::members::FoundMembers>,
    predictions: Vec<crate::walls::search::prediction::PredictionTrial>,
    with_dummy: Vec<(Vec<usize>, f64)>,
    dropped: Vec<Vec<usize>>,
    order_known: bool,
}

impl WallSearch<'_> {
    /// Looks for limits that stay, from all that was measured, if the walls found do not hold. They
    /// are taken only if they explain every sum.
    pub(in crate::walls) fn reconsider(&mut self, basis: &SearchBasis) -> Result<(), SearchStop> {
        if self.evidence.count() > TARGETS_MAX {
            return Ok(());
        }
        self.measure_pairs()?;
        let walls = 0..self.found.len();
        let is_refuted = self.refuted().is_some();
        let may_cross = |wall| self.may_be_crossing_limits(wall);
        // What no limit explains is not looked for among limits.
        let is_sure = walls
            .clone()
            .any(|wall| self.found[wall].falls && !may_cross(wall));
        if is_sure || !is_refuted && !walls.clone().any(may_cross) {
            return Ok(());
        }
        let changes = self.anchor.changes;
        let first = self.take_explanation();
        self.only_limits = true;
        self.order_known = false;
        let readings = READINGS_MIN.max(READINGS_PER_TARGET * self.evidence.count());
        let expected = self.evidence.expected;
        let most = self.evidence.allow(readings);
        let searched = self.explain_all_anew(basis);
        self.evidence.runs_max = most;
        self.evidence.expected = expected;
        self.only_limits = false;
        let is_better = match searched {
            Ok(()) => {
                // Enough limits explain anything.
                self.found.len() <= first.walls.len() + MORE_WALLS && self.explains_all()
            }
            Err(SearchStop::Exhausted) => false,
            Err(stop) => {
                self.put_back(first);
                return Err(stop);
            }
        };
        // After a change of the targets the first walls count no more than their readings do.
        if !is_better && self.anchor.changes == changes {
            self.put_back(first);
        }
        Ok(())
    }

    /// Measures each two members of walls whose sum falls, of few: they show which of them share a
    /// limit that stays, or that two bring less than one.
    fn measure_pairs(&mut self) -> Result<(), SearchStop> {
        for wall in 0..self.found.len() {
            let members = self.known.model.walls[wall].members.clone();
            if !self.may_be_crossing_limits(wall) {
                continue;
            }
            for (place, &one) in members.iter().enumerate() {
                for &other in &members[place + 1..] {
                    self.evidence
                        .at_least(&[one, other], 1, SearchStep::Ladder)?;
                }
            }
        }
        Ok(())
    }

    fn explain_all_anew(&mut self, basis: &SearchBasis) -> Result<(), SearchStop> {
        self.explain()?;
        self.decide_kinds(basis)?;
        self.try_predictions()
    }

    /// Whether a wall whose sum falls may be limits that cross: of few members, no two of which
    /// bring less than one of them does alone, which no limit explains. Of many it takes more
    /// limits to let a sum fall by as much, and too few of their subsets are measured to tell.
    fn may_be_crossing_limits(&self, wall: usize) -> bool {
        if self.evidence.count() > FALLING_TARGETS_MAX {
            return false;
        }
        let members = &self.known.model.walls[wall].members;
        let is_pair_below_one = |set: &[usize]| {
            let fastest = set.iter().map(|&one| self.evidence.alone(one));
            let fastest = fastest.fold(0.0, f64::max);
            let inside = set.iter().all(|one| members.binary_search(one).is_ok());
            let sum = self
                .evidence
                .mean(set)
                .map_or(f64::INFINITY, |mean| mean.sum());
            set.len() == 2 && inside && sum < fastest * (1.0 - 2.0 * OFF)
        };
        let mut runs = self.evidence.runs.iter();
        self.found[wall].falls
            && (3..=PAIRS_OF_MAX).contains(&members.len())
            && !runs.any(|run| is_pair_below_one(&run.set))
    }

    /// Whether each sum is as the walls foretell, however those that cross are shared.
    fn explains_all(&self) -> bool {
        let walls = 0..self.found.len();
        let sets = self.evidence.runs.iter().map(|run| &run.set);
        self.unexplained().is_none()
            && !walls.clone().any(|wall| self.failed(wall))
            && sets
                .filter(|set| set.len() > 1)
                .all(|set| self.explains(set))
    }

    fn explains(&self, set: &[usize]) -> bool {
        let Some((mean, (_, deviation))) = self
            .evidence
            .mean(set)
            .zip(self.known.total(set, &self.evidence))
        else {
            return true;
        };
        let (one, other) = (self.known.predict(set), self.known.model.least(set));
        let slack = (OFF_SCORE * deviation).max(OFF * one);
        (one.min(other) - slack..=one.max(other) + slack).contains(&mean.sum())
    }

    /// The run of those that try a prediction that is furthest from it, if one missed it.
    pub(in crate::walls) fn refuted(&self) -> Option<Unexplained> {
        let off = |one: &crate::walls::search::prediction::PredictionTrial| one.off();
        let missed = self.predictions.iter().filter(|tried| tried.is_missed());
        let worst = missed.max_by(|one, next| off(one).total_cmp(&off(next)))?;
        Some(Unexplained {
            members: self.evidence.targets(&worst.set),
            expected_bytes_per_s: worst.nearest(),
            measured_bytes_per_s: worst.measured,
        })
    }

    fn take_explanation(&mut self) -> WallHypothesis {
        self.taken_back = true;
        WallHypothesis {
            walls: std::mem::take(&mut self.known.model.walls),
            deviations: std::mem::take(&mut self.known.deviations),
            falls_from: std::mem::take(&mut self.known.falls_from),
            found: std::mem::take(&mut self.found),
            predictions: std::mem::take(&mut self.predictions),
            with_dummy: std::mem::take(&mut self.with_dummy),
            dropped: std::mem::take(&mut self.dropped),
            order_known: self.order_known,
        }
    }

    fn put_back(&mut self, first: WallHypothesis) {
        self.known.model.walls = first.walls;
        self.known.deviations = first.deviations;
        self.known.falls_from = first.falls_from;
        self.found = first.found;
        self.predictions = first.predictions;
        self.with_dummy = first.with_dummy;
        self.dropped = first.dropped;
        self.order_known = first.order_known;
    }
}
