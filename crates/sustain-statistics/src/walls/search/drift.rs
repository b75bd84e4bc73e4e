//! Detects changes while subsets are measured: a fixed small set, the anchor, is measured again
//! about every ten runs. Called by `find` between its steps. If the targets' own rates have
//! changed, they are scaled or measured again. Earlier readings no longer count then, and walls
//! found since the anchor last held are searched for again.

use crate::walls::evidence::SearchStop;
use crate::walls::search::WallSearch;
use crate::walls::types::{SearchStep, SubsetDrift};

/// The least number of runs from one anchor to the next.
const RUNS_BETWEEN: usize = 12;
/// This many targets add one to that number, because with many targets the search takes longer in
/// proportion.
const TARGETS_PER_RUN: usize = 8;
/// A smaller change is none.
const CHANGE_MIN: f64 = 0.01;
/// Beyond this part, rates alone are measured again instead of scaled.
const CHANGE_REPEAT: f64 = 0.03;
/// Standard deviations of a change that is real.
const CHANGE_SCORE: f64 = 4.0;
/// Number of a wall's members that are measured alone again if its loss is small.
const MEMBERS_AGAIN: usize = 6;
/// Rates alone are measured again at most this often.
const REPEATS_MAX: usize = 3;

/// The set that is measured again and again.
#[derive(Default)]
pub(in crate::walls) struct Anchor {
    set: Vec<usize>,
    reference: f64,
    /// The number of runs when it last held.
    last_run: usize,
    /// Whether it held at least once since it was chosen: otherwise all rates alone are from before
    /// a change.
    has_held: bool,
    repeats: usize,
    /// Whether the rates alone were measured again because no wall explained all readings.
    started_over: bool,
    /// How often the readings so far have become invalid.
    pub(in crate::walls) changes: usize,
    pub(in crate::walls) drift: SubsetDrift,
}

impl WallSearch<'_> {
    /// Chooses the anchor: targets far apart that do not slow each other down. Called when each
    /// target has been measured alone; a change that is seen already then is followed.
    pub(in crate::walls) fn begin_anchor(&mut self) -> Result<(), SearchStop> {
        match self.set_anchor()? {
            Some(change) => self.follow(change),
            None => Ok(()),
        }
    }

    /// The change since the rates alone were measured, if there is one.
    fn set_anchor(&mut self) -> Result<Option<f64>, SearchStop> {
        let count = self.evidence.count();
        let size = (count / 8).clamp(1, 4);
        let mut set: Vec<usize> = (0..size).map(|index| index * count / size).collect();
        let mut reference: f64 = set.iter().map(|&one| self.evidence.alone(one)).sum();
        if size > 1 {
            self.evidence.at_least(&set, 1, SearchStep::Anchor)?;
            let sum = self.evidence.mean(&set).map_or(0.0, |mean| mean.sum());
            if self.is_change(sum / reference - 1.0, 1, size) {
                // Either they slow each other down, or something has changed: one of them by itself
                // shows which.
                set.truncate(1);
                reference = self.evidence.alone(set[0]);
                if let Some(change) = self.change_of(&set, reference)? {
                    return Ok(Some(change));
                }
            } else {
                reference = sum;
            }
        }
        self.anchor.set = set;
        self.anchor.reference = reference;
        self.anchor.last_run = self.evidence.runs_done();
        self.anchor.has_held = false;
        Ok(None)
    }

    /// Whether the mean of these readings of these targets differs from the first one by more than
    /// the noise explains.
    fn is_change(&self, change: f64, readings: usize, targets: usize) -> bool {
        let noise = self.evidence.noise();
        let deviation = noise * ((1.0 + 1.0 / readings as f64) / targets as f64).sqrt();
        change.abs() >= (CHANGE_SCORE * deviation).max(CHANGE_MIN)
    }

    /// Measures the anchor if it is time. `anchor.changes` shows whether a change made the readings
    /// so far invalid.
    pub(in crate::walls) fn check_drift(&mut self) -> Result<bool, SearchStop> {
        let between = RUNS_BETWEEN.max(self.evidence.count() / TARGETS_PER_RUN);
        if self.evidence.runs_done() < self.anchor.last_run + between {
            return Ok(false);
        }
        self.look_at_anchor()
    }

    /// Measures the anchor at the end, if anything was measured since it last held.
    pub(in crate::walls) fn check_drift_at_end(&mut self) -> Result<bool, SearchStop> {
        let is_fresh = self.evidence.runs_done() == self.anchor.last_run && self.anchor.has_held;
        Ok(!is_fresh && self.look_at_anchor()?)
    }

    fn look_at_anchor(&mut self) -> Result<bool, SearchStop> {
        let set = self.anchor.set.clone();
        let change = self.change_of(&set, self.anchor.reference)?;
        let Some(change) = change else {
            self.anchor.last_run = self.evidence.runs_done();
            self.anchor.has_held = true;
            return Ok(false);
        };
        self.follow(change)?;
        Ok(true)
    }

    /// How far a set is from the sum that it reached once, if that is a change. A single deviating
    /// reading may be disturbed, so the next ones decide, until two deviate or two do not.
    fn change_of(&mut self, set: &[usize], reference: f64) -> Result<Option<f64>, SearchStop> {
        let (mut off, mut within) = (Vec::new(), 0);
        while off.len() < 2 {
            let change = self.evidence.once(set, SearchStep::Anchor)? / reference - 1.0;
            self.anchor.drift.anchors += 1;
            if self.is_change(change, 1, set.len()) {
                off.push(change);
            } else if off.is_empty() || within == 1 {
                return Ok(None);
            } else {
                within = 1;
            }
        }
        Ok(Some(f64::midpoint(off[0], off[1])))
    }

    fn follow(&mut self, change: f64) -> Result<(), SearchStop> {
        let mut change = Some(change);
        self.take_back_since(self.anchor.last_run);
        while let Some(now) = change.take() {
            self.note_drift(now);
            let is_small = now.abs() <= CHANGE_REPEAT && self.anchor.has_held;
            if is_small || self.anchor.repeats == REPEATS_MAX {
                self.evidence.forget_but_alone(1.0 + now);
                self.anchor.reference *= 1.0 + now;
                self.anchor.last_run = self.evidence.runs_done();
            } else {
                self.anchor.drift.alone_repeated = true;
                change = self.begin_anew()?;
            }
        }
        self.anchor.changes += 1;
        self.known.refresh(&self.evidence);
        Ok(())
    }

    /// Measures the rates alone and the anchor anew, and returns a change that happens during that.
    fn begin_anew(&mut self) -> Result<Option<f64>, SearchStop> {
        self.anchor.repeats += 1;
        self.evidence.forget();
        self.measure_alone()?;
        self.set_anchor()
    }

    /// Measures members of a wall alone once more; of many members, a few that are far apart.
    /// Returns whether they have changed: then the readings so far no longer count.
    pub(in crate::walls) fn measure_some_alone(
        &mut self,
        members: &[usize],
    ) -> Result<bool, SearchStop> {
        let count = members.len().min(MEMBERS_AGAIN);
        let (mut before, mut now) = (0.0, 0.0);
        for index in 0..count {
            let member = members[index * (members.len() - 1) / (count - 1).max(1)];
            before += self.evidence.alone(member);
            self.evidence.measure(&[member], SearchStep::Confirm)?;
            now += self
                .evidence
                .readings_of(&[member])
                .last()
                .map_or(0.0, |run| run.rates[0]);
        }
        let change = now / before - 1.0;
        let is_changed = self.is_change(change, 1, count);
        if is_changed {
            self.follow(change)?;
        }
        Ok(is_changed)
    }

    fn note_drift(&mut self, change: f64) {
        let drift = &mut self.anchor.drift;
        drift.significant = true;
        if change.abs() > drift.largest.abs() {
            drift.largest = change;
        }
    }

    /// Readings that no wall explains contradict each other, perhaps because the rates alone are
    /// from before a change that the anchor does not show. They are measured again, once.
    pub(in crate::walls) fn start_over(&mut self) -> Result<bool, SearchStop> {
        if self.anchor.started_over {
            return Ok(false);
        }
        self.anchor.started_over = true;
        let all = 0..self.evidence.count();
        let before: Vec<f64> = all.clone().map(|one| self.evidence.alone(one)).collect();
        let again = self.begin_anew()?;
        let after: Vec<f64> = all.map(|one| self.evidence.alone(one)).collect();
        let sum = |rates: &[f64]| rates.iter().sum::<f64>();
        let change = sum(&after) / sum(&before) - 1.0;
        if self.is_change(change, 1, before.len()) {
            self.anchor.drift.alone_repeated = true;
            self.note_drift(change);
        }
        if let Some(change) = again {
            self.follow(change)?;
        }
        self.anchor.changes += 1;
        self.known.refresh(&self.evidence);
        Ok(true)
    }

    /// Measures each target alone as often as each set is measured.
    pub(in crate::walls) fn measure_alone(&mut self) -> Result<(), SearchStop> {
        for position in 0..self.evidence.count() {
            self.evidence
                .at_least(&[position], self.readings, SearchStep::Alone)?;
        }
        Ok(())
    }
}
