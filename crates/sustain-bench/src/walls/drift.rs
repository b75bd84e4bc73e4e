//! Whether anything changes while subsets are measured: a fixed small set is measured again about
//! every ten runs. Called by `find` between its steps. A change of the targets' own rates is
//! followed, or they are measured again; what was measured before counts no more.

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
/// Rates alone are measured again at most so often.
const REPEATS_MAX: usize = 3;

/// The set measured again and again.
#[derive(Default)]
pub(super) struct Anchor {
    set: Vec<usize>,
    reference: f64,
    last_run: usize,
    repeats: usize,
    pub(super) drift: Drift,
}

impl Search<'_> {
    /// Chooses the anchor: targets far apart that do not slow each other down. Called when each
    /// target was measured alone.
    pub(super) fn set_anchor(&mut self) -> Result<(), Stop> {
        let count = self.evidence.count();
        let size = (count / 8).clamp(1, 4);
        let mut set: Vec<usize> = (0..size).map(|index| index * count / size).collect();
        let mut alone: f64 = set.iter().map(|&one| self.evidence.alone(one)).sum();
        if size > 1 {
            self.evidence.at_least(&set, 1, Step::Anchor)?;
            let sum = self.evidence.mean(&set).map_or(0.0, |mean| mean.sum());
            let noise = self.evidence.noise();
            if sum < alone * (1.0 - CHANGE_REPEAT - CHANGE_SCORE * noise) {
                set.truncate(1);
                alone = self.evidence.alone(set[0]);
            } else {
                alone = sum;
            }
        }
        self.anchor.set = set;
        self.anchor.reference = alone;
        self.anchor.last_run = self.evidence.runs_done();
        Ok(())
    }

    /// Measures the anchor if it is time; true if the readings so far count no more.
    pub(super) fn check_drift(&mut self) -> Result<bool, Stop> {
        let between = RUNS_BETWEEN.max(self.evidence.count() / TARGETS_PER_RUN);
        if self.evidence.runs_done() < self.anchor.last_run + between {
            return Ok(false);
        }
        self.look_at_anchor()
    }

    /// At the end, if few runs were needed and the anchor was not measured since it was set.
    pub(super) fn check_drift_once(&mut self) -> Result<bool, Stop> {
        Ok(self.anchor.drift.anchors == 0 && self.look_at_anchor()?)
    }

    fn look_at_anchor(&mut self) -> Result<bool, Stop> {
        let set = self.anchor.set.clone();
        let mut change = 0.0;
        for readings in 1..=2 {
            let sum = self.evidence.once(&set, Step::Anchor)?;
            self.anchor.drift.anchors += 1;
            let now = sum / self.anchor.reference - 1.0;
            change += (now - change) / f64::from(readings);
            let noise = self.evidence.noise();
            let deviation = noise * ((1.0 + 1.0 / f64::from(readings)) / set.len() as f64).sqrt();
            if change.abs() < (CHANGE_SCORE * deviation).max(CHANGE_MIN) {
                self.anchor.last_run = self.evidence.runs_done();
                return Ok(false);
            }
        }
        self.follow(change)?;
        Ok(true)
    }

    fn follow(&mut self, change: f64) -> Result<(), Stop> {
        let drift = &mut self.anchor.drift;
        drift.significant = true;
        if change.abs() > drift.largest.abs() {
            drift.largest = change;
        }
        if change.abs() > CHANGE_REPEAT && self.anchor.repeats < REPEATS_MAX {
            self.anchor.repeats += 1;
            self.anchor.drift.alone_repeated = true;
            self.evidence.forget();
            self.measure_alone()?;
            self.set_anchor()?;
        } else {
            self.evidence.forget_but_alone(1.0 + change);
            self.anchor.reference *= 1.0 + change;
            self.anchor.last_run = self.evidence.runs_done();
        }
        self.known.refresh(&self.evidence);
        Ok(())
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
