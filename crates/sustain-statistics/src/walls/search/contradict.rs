//! Repeats readings that cannot both be true before anything is decided by them: targets reach
//! together at least what some of them do, and at most what their parts reach by themselves. Called
//! by `evidence` after each reading. A single disturbed reading is then outvoted. A contradiction
//! that stays after the repeats is real, as with targets whose sum falls when more of them are
//! active.

use crate::walls::evidence::agreeing::{OFF, OFF_SCORE, agreeing};
use crate::walls::evidence::{Evidence, PlacedReading, ReadingMean, SearchStop};
use crate::walls::model::{SumLimit, common};
use crate::walls::search::WallSearch;
use crate::walls::search::members::Growth;
use crate::walls::types::SearchStep;

/// The most readings of a set for this purpose.
const READINGS: usize = 4;
/// After this many contradictions that stayed, sums do fall on this machine, and no more are
/// examined.
const STAYED_MAX: usize = 2;

impl Evidence<'_> {
    /// Measures a set (sorted positions) once more; readings that contradict this one are repeated.
    pub(in crate::walls) fn measure(
        &mut self,
        set: &[usize],
        step: SearchStep,
    ) -> Result<(), SearchStop> {
        self.read(set, step)?;
        if set.len() < 2 || self.contradictions >= STAYED_MAX {
            return Ok(());
        }
        let Some(other) = self.contradicted_by(set) else {
            return Ok(());
        };
        // The newer one is doubted first.
        for doubted in [set, &other[..]] {
            self.read_until_they_agree(doubted)?;
            if !self.contradict(set, &other) {
                return Ok(());
            }
        }
        self.contradictions += 1;
        Ok(())
    }

    /// Reads a set until two of its readings agree, as long as that is useful.
    pub(in crate::walls) fn read_until_they_agree(
        &mut self,
        set: &[usize],
    ) -> Result<(), SearchStop> {
        while self.readings(set) < 2
            || (self.readings(set) < READINGS && self.is_split(&self.readings_of(set)))
        {
            self.read(set, SearchStep::Confirm)?;
        }
        Ok(())
    }

    /// Whether fewer than two readings agree with the median.
    pub(in crate::walls) fn is_split(&self, runs: &[&PlacedReading]) -> bool {
        let noise = self.noise();
        let sums: Vec<f64> = runs.iter().map(|run| run.sum()).collect();
        let near = |one: f64, other: f64| (one - other).abs() <= (OFF_SCORE * noise).max(OFF) * one;
        let agree = |one: &&f64| sums.iter().filter(|other| near(**one, **other)).count() > 1;
        sums.len() > 1 && sums.iter().filter(agree).count() < 2
    }

    /// Whether a run is not one of the disturbed ones of its set.
    pub(in crate::walls) fn counts(&self, run: &PlacedReading) -> bool {
        let runs = agreeing(&self.readings_of(&run.set), self.noise());
        runs.iter().any(|one| std::ptr::eq(*one, run))
    }

    /// A set measured earlier whose sum cannot be true together with this one's.
    fn contradicted_by(&self, set: &[usize]) -> Option<Vec<usize>> {
        let mut sets: Vec<&Vec<usize>> = self.runs.iter().map(|run| &run.set).collect();
        sets.sort_unstable();
        sets.dedup();
        let found = sets.into_iter().find(|other| self.contradict(set, other));
        found.cloned()
    }

    /// Whether one set contains the other, and its sum is below the other's, or above it by more
    /// than the remaining targets reach alone.
    fn contradict(&self, one: &[usize], other: &[usize]) -> bool {
        let (part, whole) = if one.len() < other.len() {
            (one, other)
        } else {
            (other, one)
        };
        if part.len() == whole.len() || common(part, whole) < part.len() {
            return false;
        }
        let (Some(few), Some(many)) = (self.mean(part), self.mean(whole)) else {
            return false;
        };
        let rest = whole.iter().filter(|one| part.binary_search(one).is_err());
        let rest: f64 = rest.map(|&one| self.alone(one)).sum();
        let (least, most) = (few.sum(), few.sum() + rest);
        let doubt = self
            .sum_deviation(&few)
            .hypot(self.sum_deviation(&many))
            .hypot(self.noise() * rest);
        let off = (least - many.sum()).max(many.sum() - most);
        off > (OFF * many.sum()).max(OFF_SCORE * doubt)
    }

    /// Standard deviation of a set's mean sum.
    fn sum_deviation(&self, mean: &ReadingMean) -> f64 {
        let squares: f64 = mean.rates.iter().map(|rate| rate.powi(2)).sum();
        self.noise() * (squares / mean.readings.max(1) as f64).sqrt()
    }
}

impl WallSearch<'_> {
    /// Whether a wall's limit, as its core showed it, is what its members reach together. If it is
    /// not, one of the readings was disturbed: both are repeated, and the wall is searched for
    /// again.
    pub(in crate::walls) fn is_supported(
        &mut self,
        core: &[usize],
        wall: &SumLimit,
    ) -> Result<bool, SearchStop> {
        let limit = wall.limit_bytes_per_s;
        self.evidence
            .at_least(&wall.members, 1, SearchStep::Confirm)?;
        let is_alone = core == wall.members;
        // The channels of one machine are mostly alike, so a limit seen before is no accident.
        let is_like_another = self.known.model.walls.iter().any(|other| {
            let off = other.limit_bytes_per_s / limit - 1.0;
            off.abs() <= OFF && common(&other.members, core) == 0
        });
        if is_alone && !is_like_another {
            self.evidence.read_until_they_agree(core)?;
        }
        let Some(mean) = self.evidence.mean(&wall.members) else {
            return Ok(false);
        };
        let doubt = self
            .deviation(&mean.rates, mean.readings)
            .hypot(self.deviation_of_sum(core));
        let is_near = (mean.sum() - limit).abs() <= (OFF * limit).max(OFF_SCORE * doubt);
        if !is_near && !is_alone {
            self.evidence.read_until_they_agree(core)?;
            self.evidence.read_until_they_agree(&wall.members)?;
        }
        Ok(is_near)
    }
}

impl WallSearch<'_> {
    /// A core with one target more reaches either as much as without it, or as much as both reach
    /// by themselves. If it reaches something else, one of the readings was disturbed, and both are
    /// repeated. Returns whether they were.
    pub(in crate::walls) fn repeat_if_between(
        &mut self,
        growth: &mut Growth,
        set: &[usize],
        out: f64,
    ) -> Result<bool, SearchStop> {
        let Some(mean) = self.evidence.mean(set) else {
            return Ok(false);
        };
        let (sum, limit) = (mean.sum(), growth.limit);
        let doubt = self
            .deviation(&mean.rates, mean.readings)
            .hypot(self.deviation_of_sum(&growth.core));
        let far = |other: f64| (sum - other).abs() > (OFF * limit).max(OFF_SCORE * doubt);
        let readings = self.evidence.readings_of(set);
        let is_settled = readings.len() > 1 && !self.evidence.is_split(&readings);
        if is_settled || !far(limit) || !far(out) || readings.len() >= READINGS {
            return Ok(false);
        }
        self.evidence.read_until_they_agree(set)?;
        self.evidence.read_until_they_agree(&growth.core)?;
        let limit = self.evidence.mean(&growth.core).map(|mean| mean.sum());
        growth.limit = limit.unwrap_or(growth.limit);
        Ok(true)
    }
}
