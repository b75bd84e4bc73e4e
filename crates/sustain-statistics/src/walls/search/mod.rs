//! Narrows a loss down to a core: a set that overloads one unknown wall, and in which no target can
//! be left out; `is_beyond_doubt` says whether a loss is a wall's. Called by `find`. Every decision
//! is repeated until its sum is far from the threshold, or the repeats are used up.

pub(in crate::walls) mod contradict;
pub(in crate::walls) mod drift;
pub(in crate::walls) mod edges;
pub(in crate::walls) mod members;
pub(in crate::walls) mod prediction;
pub(in crate::walls) mod recheck;
pub(in crate::walls) mod scan;
pub(in crate::walls) mod siblings;
pub(in crate::walls) mod windows;

use crate::median;
use crate::walls::evidence::{Evidence, SearchStop};
use crate::walls::model::common;
use crate::walls::search::scan::{KnownWalls, Loss};
use crate::walls::types::SearchStep;

/// A loss below this part of the expected sum is no wall.
pub(in crate::walls) const LOSS_MIN: f64 = 0.015;
/// Standard deviations from which on a stretch is examined.
pub(in crate::walls) const FLAG: f64 = 3.5;
/// Standard deviations from which on a wall's loss is beyond doubt.
pub(in crate::walls) const CORE: f64 = 4.0;
/// A loss that stands out by fewer standard deviations, or that is a smaller part of the expected
/// sum, could be a change of the rates alone; these are then measured again.
const UNCLEAR: f64 = 7.0;
const SMALL: f64 = 0.08;
/// Standard deviations at which a loss needs no second reading.
const CLEAR: f64 = 8.0;
/// A wall must hold back at least this part of its limit.
const HEADROOM_MIN: f64 = 0.02;
/// A wall must also hold back this many times the noise of a reading.
const HEADROOM_NOISE: f64 = 2.0;
/// A surrounding set that shows this part of the loss is large enough.
const MOST: f64 = 0.6;
/// A larger surrounding set is preferred if it shows this many times the loss.
const MORE: f64 = 1.2;
/// Standard deviations from which on a part of a core loses by itself.
const PART: f64 = 4.0;
/// Standard deviations from which on single steps of the search are settled.
const STEP: f64 = 2.5;
/// A target this many standard deviations below its own rate is certainly held back.
const THROTTLED: f64 = 4.5;
/// The most readings of a set while a stretch is narrowed down to those that lose.
const NARROWING_READINGS_MAX: usize = 6;

/// The state of the search for walls.
pub(in crate::walls) struct WallSearch<'a> {
    pub(in crate::walls) evidence: Evidence<'a>,
    pub(in crate::walls) known: KnownWalls,
    /// Whether positions follow the order in which the targets are connected.
    pub(in crate::walls) order_known: bool,
    /// No sum is taken to fall: limits alone are to explain what is measured.
    pub(in crate::walls) only_limits: bool,
    /// Readings of each set before it is judged at all.
    pub(in crate::walls) readings: usize,
    /// The most readings of a set whose loss may be due to chance.
    pub(in crate::walls) readings_in_doubt: usize,
    pub(in crate::walls) found: Vec<crate::walls::search::members::FoundMembers>,
    pub(in crate::walls) anchor: crate::walls::search::drift::Anchor,
    /// Number of runs whose losses were examined.
    pub(in crate::walls) scanned: usize,
    /// Whether a wall was dropped or lost members, so that old runs may show a loss again.
    pub(in crate::walls) taken_back: bool,
    /// Members of walls that were found and dropped again, once for each time.
    pub(in crate::walls) dropped: Vec<Vec<usize>>,
    /// The dummy's own rate.
    pub(in crate::walls) dummy: Option<f64>,
    /// Sets and their sums with the dummy's rate.
    pub(in crate::walls) with_dummy: Vec<(Vec<usize>, f64)>,
    /// Sets that were predicted, then measured.
    pub(in crate::walls) predictions: Vec<crate::walls::search::prediction::PredictionTrial>,
}

/// A set that overloads one wall and contains only members of it.
pub(in crate::walls) struct Core {
    pub(in crate::walls) members: Vec<usize>,
    pub(in crate::walls) limit: f64,
    /// Distance of its loss from zero, in standard deviations.
    pub(in crate::walls) score: f64,
}

impl WallSearch<'_> {
    /// The core behind a loss that was seen in `set`; `None` if the loss does not hold.
    pub(in crate::walls) fn core(
        &mut self,
        set: &[usize],
        seen: &Loss,
    ) -> Result<Option<Core>, SearchStop> {
        let Some((start, loss)) = self.narrow(set, seen)? else {
            return Ok(None);
        };
        let (mut members, mut loss) = (start, loss);
        loop {
            let threshold = self.threshold(&members, loss.loss);
            let window = self.shortest(&members, threshold, false)?;
            let window = self.shortest(&window, threshold, true)?;
            // In a known order, targets between members are members.
            let core = if self.order_known {
                window
            } else {
                self.drop_idle(window, threshold)?
            };
            // Two walls that lose little each may have looked like one that loses much.
            match self.losing_part(&core) {
                Some(part) if part.0.len() < members.len() => (members, loss) = part,
                _ => {
                    members = core;
                    break;
                }
            }
        }
        self.confirmed(members)
    }

    /// These members as a core, measured again if their loss is not clear; `None` if it does not
    /// hold.
    pub(in crate::walls) fn confirmed(
        &mut self,
        members: Vec<usize>,
    ) -> Result<Option<Core>, SearchStop> {
        let Some((mut loss, mut deviation)) = self.known.total(&members, &self.evidence) else {
            return Ok(None);
        };
        if loss < CLEAR * deviation {
            self.evidence
                .at_least(&members, 2 * self.readings, SearchStep::Confirm)?;
            (loss, deviation) = self
                .known
                .total(&members, &self.evidence)
                .unwrap_or((0.0, f64::INFINITY));
        }
        Ok((members.len() > 1 && loss > deviation).then(|| Core {
            limit: self.evidence.mean(&members).map_or(0.0, |mean| mean.sum()),
            members,
            score: loss / deviation,
        }))
    }

    /// The smallest surrounding set that shows the loss by itself.
    fn narrow(
        &mut self,
        set: &[usize],
        seen: &Loss,
    ) -> Result<Option<(Vec<usize>, Loss)>, SearchStop> {
        let (Some(&low), Some(&high)) = (seen.members.first(), seen.members.last()) else {
            return Ok(None);
        };
        let place = |member: usize| set.partition_point(|&other| other < member);
        let (mut first, mut end) = (place(low), place(high) + 1);
        let mut grow = 1;
        let mut best: Option<(Vec<usize>, Loss)> = None;
        loop {
            let part = &set[first..end];
            if part.len() > 1 {
                self.evidence
                    .at_least(part, self.readings, SearchStep::Search)?;
                if part.len() == set.len() && self.evidence.readings(part) < 2 * self.readings {
                    self.evidence.measure(part, SearchStep::Confirm)?;
                }
                if let Some(loss) = self.known.scan(part, &self.evidence, 0.0)
                    && loss.score > FLAG
                {
                    // A part of the members loses less; the more it loses, the clearer is every
                    // later step.
                    let most = loss.loss > MOST * seen.loss;
                    if best
                        .as_ref()
                        .is_none_or(|(_, other)| loss.loss > MORE * other.loss)
                    {
                        best = Some((part.to_vec(), loss));
                    }
                    if most {
                        return Ok(best);
                    }
                }
            }
            if part.len() == set.len() {
                return Ok(best);
            }
            first = first.saturating_sub(grow);
            end = (end + grow).min(set.len());
            grow *= 2;
        }
    }

    /// A measured part of the core that loses more than a part of one wall's members would: without
    /// a member, the loss of one wall shrinks by that member's rate.
    fn losing_part(&self, core: &[usize]) -> Option<(Vec<usize>, Loss)> {
        let (whole, deviation) = self.known.total(core, &self.evidence)?;
        let mut parts: Vec<&Vec<usize>> = self
            .evidence
            .runs
            .iter()
            .map(|run| &run.set)
            .filter(|set| set.len() > 1 && set.len() < core.len())
            .filter(|set| common(set, core) == set.len())
            .collect();
        parts.sort_by_key(|part| part.len());
        parts.into_iter().find_map(|part| {
            let loss = self.known.scan(part, &self.evidence, 0.0)?;
            let left: f64 = core
                .iter()
                .filter(|member| part.binary_search(member).is_err())
                .map(|&member| self.evidence.alone(member))
                .sum();
            let more = loss.loss - (whole - left).max(0.0);
            let doubt = deviation.hypot(loss.loss / loss.score);
            (loss.score > PART && more > PART * doubt).then(|| (part.clone(), loss))
        })
    }

    /// The smallest loss that still counts while targets are taken away.
    fn threshold(&self, set: &[usize], loss: f64) -> f64 {
        let alone: Vec<f64> = set
            .iter()
            .map(|&member| self.evidence.alone(member))
            .collect();
        let deviation = self
            .known
            .total(set, &self.evidence)
            .map_or(0.0, |total| total.1);
        (0.35 * median(&alone)).max(3.5 * deviation).min(0.5 * loss)
    }

    /// Whether the set loses more than the threshold somewhere.
    fn loses(
        &mut self,
        set: &[usize],
        threshold: f64,
        readings_max: usize,
    ) -> Result<bool, SearchStop> {
        if set.len() < 2 {
            return Ok(false);
        }
        self.evidence.at_least(set, 1, SearchStep::Search)?;
        loop {
            let score_at = |threshold: f64| {
                let loss = self.known.scan(set, &self.evidence, threshold);
                loss.map_or(f64::NEG_INFINITY, |loss| loss.score)
            };
            let score = score_at(threshold);
            // A loss beyond doubt that is near the threshold serves on either side of it.
            let is_settled = score.abs() >= STEP || score_at(0.0) >= 2.0 * STEP;
            if is_settled || self.evidence.readings(set) >= readings_max {
                return Ok(score > 0.0);
            }
            self.evidence.measure(set, SearchStep::Search)?;
        }
    }

    /// The shortest beginning (or end) of a set that still loses.
    fn shortest(
        &mut self,
        set: &[usize],
        threshold: f64,
        back: bool,
    ) -> Result<Vec<usize>, SearchStop> {
        let part = |length: usize| {
            if back {
                &set[set.len() - length..]
            } else {
                &set[..length]
            }
        };
        let (mut idle, mut losing) = (1, set.len());
        while losing - idle > 1 {
            let middle = usize::midpoint(idle, losing);
            if self.loses(
                part(middle),
                threshold,
                NARROWING_READINGS_MAX + self.readings,
            )? {
                losing = middle;
            } else {
                idle = middle;
            }
        }
        Ok(part(losing).to_vec())
    }

    /// Leaves out targets between the members that do not matter to the loss.
    fn drop_idle(&mut self, window: Vec<usize>, threshold: f64) -> Result<Vec<usize>, SearchStop> {
        let mut core = window;
        let units = self.known.units(&core, &self.evidence);
        for unit in &units {
            if self.throttled(&core, &unit.members) {
                continue;
            }
            let rest: Vec<usize> = core
                .iter()
                .copied()
                .filter(|member| !unit.members.contains(member))
                .collect();
            if rest.len() > 1 && self.loses(&rest, threshold, NARROWING_READINGS_MAX)? {
                core = rest;
            }
        }
        Ok(core)
    }

    /// Whether a single target is certainly held back in this set.
    pub(in crate::walls) fn throttled(&self, set: &[usize], members: &[usize]) -> bool {
        let (&[member], Some(mean)) = (members, self.evidence.mean(set)) else {
            return false;
        };
        let Ok(place) = set.binary_search(&member) else {
            return false;
        };
        let alone = self.evidence.alone(member);
        let rate = mean.rates[place];
        let readings = self.evidence.alone_readings(member).max(1) as f64;
        let noise = self.evidence.noise();
        let deviation = noise
            * (alone.powi(2) / readings + rate.powi(2) / mean.readings as f64)
                .sqrt()
                .max(1e-3 * alone);
        alone - rate > (THROTTLED * deviation).max(LOSS_MIN * alone)
    }

    /// Decides whether there is a wall: measures the members again, and says whether their loss is
    /// beyond doubt. What this accepts becomes a finding; which targets share it is decided in
    /// `members`, and its kind and the confidence in it in `findings`.
    pub(in crate::walls) fn is_beyond_doubt(
        &mut self,
        members: &[usize],
        limit: f64,
    ) -> Result<bool, SearchStop> {
        self.evidence
            .at_least(members, self.readings, SearchStep::Confirm)?;
        if let Some((loss, deviation)) = self.known.total(members, &self.evidence)
            && loss < CLEAR * deviation
        {
            self.evidence
                .at_least(members, 2 * self.readings, SearchStep::Confirm)?;
        }
        let mut again = true;
        loop {
            let Some((loss, deviation)) = self.known.total(members, &self.evidence) else {
                return Ok(false);
            };
            let expected = self.known.predict(members);
            let score = loss / deviation;
            if again && (score < UNCLEAR || loss < SMALL * expected) {
                again = false;
                if self.measure_some_alone(members)? {
                    return Ok(false);
                }
                if score < UNCLEAR {
                    self.evidence.measure(members, SearchStep::Confirm)?;
                }
                self.known.refresh(&self.evidence);
                continue;
            }
            let least = HEADROOM_MIN.max(HEADROOM_NOISE * self.evidence.noise());
            return Ok(score > CORE && expected > limit * (1.0 + least));
        }
    }
}
