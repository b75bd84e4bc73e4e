//! Whether anything changes while subsets are measured: a fixed small set is measured again about
//! every ten runs. Called by `find` between its steps. A change of the targets' own rates is
//! followed, or they are measured again; what was measured before counts no more, and walls found
//! since the set was last as it should be are looked for again.

use super::evidence::Stop;
use super::search::Search;
use super::types::{Drift, Step};

/// Runs from one anchor to the next, at least,
const RUNS_BETWEEN: usize = 12;
/// and one for so many targets: with many the search takes longer by as much.
const TARGETS_PER_RUN: usize = 8;
/// A change below this part is none.
const CHANGE_MIN: f64 = 0.01;
/// Beyond this part, rates alone are measured again instead of scaled.
const CHANGE_REPEAT: f64 = 0.03;
/// Standard deviations of a change that is real.
const CHANGE_SCORE: f64 = 4.0;
/// Of a wall's members so many are measured alone again, where its loss is small.
const MEMBERS_AGAIN: usize = 6;
/// Rates alone are measured again at most so often.
const REPEATS_MAX: usize = 3;

/// The set measured again and again.
#[derive(Default)]
pub(super) struct Anchor {
    set: Vec<usize>,
    reference: f64,
    /// When it was last as it should be.
    last_run: usize,
    /// It was so at least once since it was chosen: all rates alone are from before any change.
    has_held: bool,
    repeats: usize,
    /// The rates alone were measured again because no wall explained all readings.
    started_over: bool,
    /// How often the readings so far have lost their worth.
    pub(super) changes: usize,
    pub(super) drift: Drift,
}

impl Search<'_> {
    /// Chooses the anchor: targets far apart that do not slow each other down. Called when each
    /// target was measured alone; a change seen already then is followed.
    pub(super) fn begin_anchor(&mut self) -> Result<(), Stop> {
        match self.set_anchor()? {
            Some(change) => self.follow(change),
            None => Ok(()),
        }
    }

    /// The change since the rates alone were measured, if there is one.
    fn set_anchor(&mut self) -> Result<Option<f64>, Stop> {
        let count = self.evidence.count();
        let size = (count / 8).clamp(1, 4);
        let mut set: Vec<usize> = (0..size).map(|index| index * count / size).collect();
        let mut reference: f64 = set.iter().map(|&one| self.evidence.alone(one)).sum();
        if size > 1 {
            self.evidence.at_least(&set, 1, Step::Anchor)?;
            let sum = self.evidence.mean(&set).map_or(0.0, |mean| mean.sum());
            if self.is_change(sum / reference - 1.0, 1, size) {
                // They slow each other down, or something has changed: one by itself tells.
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

    /// Whether the mean of so many readings of so many targets is off the first one by more than the
    /// noise explains.
    fn is_change(&self, change: f64, readings: usize, targets: usize) -> bool {
        let noise = self.evidence.noise();
        let deviation = noise * ((1.0 + 1.0 / readings as f64) / targets as f64).sqrt();
        change.abs() >= (CHANGE_SCORE * deviation).max(CHANGE_MIN)
    }

    /// Measures the anchor if it is time. What a change does to the readings so far shows in
    /// `anchor.changes`.
    pub(super) fn check_drift(&mut self) -> Result<bool, Stop> {
        let between = RUNS_BETWEEN.max(self.evidence.count() / TARGETS_PER_RUN);
        if self.evidence.runs_done() < self.anchor.last_run + between {
            return Ok(false);
        }
        self.look_at_anchor()
    }

    /// At the end, if anything was measured since the anchor last held.
    pub(super) fn check_drift_at_end(&mut self) -> Result<bool, Stop> {
        let is_fresh = self.evidence.runs_done() == self.anchor.last_run && self.anchor.has_held;
        Ok(!is_fresh && self.look_at_anchor()?)
    }

    fn look_at_anchor(&mut self) -> Result<bool, Stop> {
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

    /// How far a set is off what it brought once, if that is a change. One reading that is off may
    /// be disturbed: the next ones decide, until two are off or two are not.
    fn change_of(&mut self, set: &[usize], reference: f64) -> Result<Option<f64>, Stop> {
        let (mut off, mut within) = (Vec::new(), 0);
        while off.len() < 2 {
            let change = self.evidence.once(set, Step::Anchor)? / reference - 1.0;
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

    fn follow(&mut self, change: f64) -> Result<(), Stop> {
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

    /// Measures the rates alone and the anchor anew; a change meanwhile.
    fn begin_anew(&mut self) -> Result<Option<f64>, Stop> {
        self.anchor.repeats += 1;
        self.evidence.forget();
        self.measure_alone()?;
        self.set_anchor()
    }

    /// Measures members of a wall alone once more, a few that lie far apart of many. True if they have
    /// changed: then the readings so far count no more.
    pub(super) fn measure_some_alone(&mut self, members: &[usize]) -> Result<bool, Stop> {
        let count = members.len().min(MEMBERS_AGAIN);
        let (mut before, mut now) = (0.0, 0.0);
        for index in 0..count {
            let member = members[index * (members.len() - 1) / (count - 1).max(1)];
            before += self.evidence.alone(member);
            self.evidence.measure(&[member], Step::Confirm)?;
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
    /// from before a change that the anchor does not show: they are measured again, once.
    pub(super) fn start_over(&mut self) -> Result<bool, Stop> {
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

    /// Measures each target alone as often as each set is.
    pub(super) fn measure_alone(&mut self) -> Result<(), Stop> {
        for position in 0..self.evidence.count() {
            self.evidence
                .at_least(&[position], self.readings, Step::Alone)?;
        }
        Ok(())
    }
}
