//! Tests the findings: a subset from which nothing was inferred is predicted, then measured. Called
//! by `find` at the end.

use crate::walls::evidence::SearchStop;
use crate::walls::search::WallSearch;
use crate::walls::search::prediction::PredictionTrial;
use crate::walls::types::{PredictedSubset, SearchStep};

/// A subset tests a wall if it could reach this many times the limit.
const FULL: f64 = 1.05;
/// Walls are tested together in sets of this many: in larger sets one wrong member would not be
/// noticed.
const BESIDE_MAX: usize = 16;
/// Members that may be none are tried one by one up to this number for each wall.
const IDLE_MAX: usize = 4;

impl WallSearch<'_> {
    /// Measures as few subsets as possible so that each wall is tested by one.
    pub(in crate::walls) fn try_predictions(&mut self) -> Result<(), SearchStop> {
        for wall in 0..self.known.model.walls.len() {
            for set in self.without_idle(wall) {
                self.try_prediction(set, wall)?;
            }
        }
        for wall in 0..self.known.model.walls.len() {
            if self.is_full_in_a_trial(wall) {
                continue;
            }
            let Some(set) = self.next_prediction(wall) else {
                continue;
            };
            self.try_prediction(set, wall)?;
        }
        Ok(())
    }

    fn try_prediction(&mut self, set: Vec<usize>, wall: usize) -> Result<(), SearchStop> {
        let of = self.known.model.walls[wall].members.clone();
        self.evidence.measure(&set, SearchStep::Predict)?;
        let mut tried = self.compared(set, of.clone());
        if tried.is_missed() {
            // One disturbed reading refutes nothing.
            self.evidence.read_until_they_agree(&tried.set)?;
            tried = self.compared(tried.set, of);
        }
        self.predictions.push(tried);
        Ok(())
    }

    /// What a set brought beside what the walls foretell.
    fn compared(&self, set: Vec<usize>, of: Vec<usize>) -> PredictionTrial {
        let (one, other) = (self.known.predict(&set), self.known.model.least(&set));
        let (measured, deviation) = self.known.total(&set, &self.evidence).map_or(
            (one, f64::INFINITY),
            |(_, deviation)| {
                let mean = self.evidence.mean(&set);
                (mean.map_or(0.0, |mean| mean.sum()), deviation)
            },
        );
        PredictionTrial {
            set,
            of,
            least: one.min(other),
            most: one.max(other),
            measured,
            deviation,
        }
    }

    /// A new subset that tries this wall, and beside it others that still want trying.
    fn next_prediction(&self, wall: usize) -> Option<Vec<usize>> {
        let fresh = |set: &Vec<usize>| self.evidence.readings(set) == 0;
        let mut sets = self.candidates(wall).into_iter();
        let mut set = sets.find(|set| fresh(set) && self.tries(set, wall))?;
        for other in wall + 1..self.known.model.walls.len() {
            if set.len() >= BESIDE_MAX || self.tries(&set, other) || self.tried(other).is_some() {
                continue;
            }
            let members = &self.known.model.walls[other].members;
            let short = set.len() + members.len() <= BESIDE_MAX;
            let both = short.then(|| self.join(&set, members)).flatten();
            let tries = |both: &Vec<usize>| self.tries(both, other) && self.tries(both, wall);
            set = both.filter(tries).filter(fresh).unwrap_or(set);
        }
        Some(set)
    }

    /// Whether a set fills this wall but none around it.
    fn tries(&self, set: &[usize], wall: usize) -> bool {
        let walls = &self.known.model.walls;
        let part: Vec<usize> = set
            .iter()
            .copied()
            .filter(|member| walls[wall].members.binary_search(member).is_ok())
            .collect();
        // Of a sum that falls, only the value with all members is known.
        let is_predicted = part.len() == walls[wall].members.len() || !self.found[wall].falls;
        part.len() > 1
            && is_predicted
            && self.known.predict_without(&part, wall) > FULL * walls[wall].limit_bytes_per_s
            && self.known.model.binding(set, 1.0).contains(&wall)
    }

    /// Subsets that may test a wall; the first ones serve many walls at once.
    fn candidates(&self, wall: usize) -> Vec<Vec<usize>> {
        let members = &self.known.model.walls[wall].members;
        let count = self.evidence.count();
        let next = (0..count).find(|one| members.binary_search(one).is_err());
        let mut wider: Vec<usize> = members.iter().copied().chain(next).collect();
        wider.sort_unstable();
        let last = members.len() - 1;
        let mut candidates = vec![
            (0..count).step_by(2).collect(),
            (1..count).step_by(2).collect(),
            (0..count).filter(|one| one % 3 > 0).collect(),
            members[1..].to_vec(),
            members[..last].to_vec(),
            wider,
        ];
        if last > 2 {
            let mut holed = members.clone();
            holed.remove(last / 2);
            candidates.insert(3, holed);
        }
        candidates.retain(|set| set.len() > 1);
        candidates
    }

    /// The members without those between others that lose nothing beside all: they may be no
    /// members, and then the rest brings less than is foretold. All of them are left out at once as
    /// long as the rest fills the wall; others are left out one by one, because what their wall
    /// would lose without them is then seen as well, though nothing fills it.
    fn without_idle(&self, wall: usize) -> Vec<Vec<usize>> {
        let members = &self.known.model.walls[wall].members;
        let (first, last) = (members[0], members[members.len() - 1]);
        let mut rest = members.clone();
        // Beside members that are held back, a faster one that is not is least likely one of them.
        let rate = |member: usize| self.evidence.alone(member);
        let mut singly = Vec::new();
        let mut by_rate = members.clone();
        by_rate.sort_by(|&one, &other| rate(other).total_cmp(&rate(one)));
        for member in by_rate {
            let is_between = member != first && member != last;
            if is_between && !self.throttled(members, &[member]) {
                let fewer: Vec<usize> = rest.iter().copied().filter(|one| *one != member).collect();
                if self.tries(&fewer, wall) {
                    rest = fewer;
                } else if singly.len() < IDLE_MAX && members.len() > 2 && !self.found[wall].falls {
                    let others = members.iter().copied().filter(|one| *one != member);
                    singly.push(others.collect::<Vec<usize>>());
                }
            }
        }
        let mut sets = singly;
        if rest.len() < members.len() {
            sets.insert(0, rest);
        }
        sets.retain(|set| self.evidence.readings(set) == 0);
        sets
    }

    /// What tries this wall; of several one that missed.
    fn tried(&self, wall: usize) -> Option<&PredictionTrial> {
        let members = &self.known.model.walls[wall].members;
        let tries = |tried: &&PredictionTrial| self.tries(&tried.set, wall) || tried.of == *members;
        let tried = || self.predictions.iter().filter(tries);
        tried()
            .find(|tried| tried.is_missed())
            .or_else(|| tried().next())
    }

    fn is_full_in_a_trial(&self, wall: usize) -> bool {
        let mut predictions = self.predictions.iter();
        predictions.any(|tried| self.tries(&tried.set, wall))
    }

    /// The prediction for a wall, with its measurement.
    pub(in crate::walls) fn prediction(&self, wall: usize) -> Option<PredictedSubset> {
        self.tried(wall).map(|tried| PredictedSubset {
            members: self.evidence.targets(&tried.set),
            predicted_bytes_per_s: tried.most,
            measured_bytes_per_s: tried.measured,
            deviation_bytes_per_s: tried.deviation,
        })
    }

    /// Whether a prediction for a wall failed.
    pub(in crate::walls) fn failed(&self, wall: usize) -> bool {
        self.tried(wall).is_some_and(PredictionTrial::is_missed)
    }
}
