//! Finds all members of a wall from its core. Called by `find`. A target is a member if adding it
//! to the overloaded core adds nothing to the sum, which is true for every sharing that wastes
//! nothing.

use crate::walls::evidence::SearchStop;
use crate::walls::model::{Model, SumLimit};
use crate::walls::search::{Core, WallSearch};
use crate::walls::types::SearchStep;

/// If the sum of all members is below the best sum seen by this part, and by `COLLAPSE_SCORE`
/// standard deviations, it is a collapse.
pub(in crate::walls) const COLLAPSE: f64 = 0.05;
/// The standard deviations by which the sum of a collapse is below the best one.
pub(in crate::walls) const COLLAPSE_SCORE: f64 = 3.5;

/// Standard deviations at which a membership is settled.
pub(in crate::walls) const SETTLED: f64 = 3.0;
/// The most readings of a set that is to show whether a target is a member.
const MEMBERSHIP_READINGS_MAX: usize = 8;
/// A sum above the limit times this contradicts it, if `ABOVE_SCORE` says so too.
const ABOVE: f64 = 1.01;
/// The standard deviations by which a sum that contradicts a limit is above it.
const ABOVE_SCORE: f64 = 4.0;
/// A target that adds less than this part of the limit cannot be told from a member.
pub(in crate::walls) const GAIN_MIN: f64 = 0.005;

/// Facts that are kept about how a wall was found.
#[derive(Clone)]
pub(in crate::walls) struct FoundMembers {
    pub(in crate::walls) core: Vec<usize>,
    pub(in crate::walls) core_score: f64,
    /// The smallest margin, with its target and its subset.
    pub(in crate::walls) margin: f64,
    pub(in crate::walls) weakest: Option<usize>,
    pub(in crate::walls) subset: Vec<usize>,
    /// Whether the sum falls with more members, even if it rises again.
    pub(in crate::walls) falls: bool,
    /// The best sum seen, if all members reach clearly less.
    pub(in crate::walls) peak: Option<f64>,
    /// The number of runs when the wall was added.
    pub(in crate::walls) found_at: usize,
}

impl FoundMembers {
    /// The number of members from which the sum is sure to have fallen.
    pub(in crate::walls) fn falls_from(&self) -> Option<usize> {
        self.falls.then_some(self.core.len())
    }
}

/// The wall whose members are being found.
pub(in crate::walls) struct Growth {
    pub(in crate::walls) core: Vec<usize>,
    pub(in crate::walls) limit: f64,
    /// The known walls, with the core as another wall.
    pub(in crate::walls) model: Model,
    pub(in crate::walls) found: FoundMembers,
    /// Targets that add nothing to the core by the walls known already.
    undecided: Vec<usize>,
}

impl Growth {
    /// Keeps the smallest margin.
    pub(in crate::walls) fn note(&mut self, margin: f64, target: usize, set: &[usize]) {
        if margin < self.found.margin {
            self.found.margin = margin;
            self.found.weakest = Some(target);
            self.found.subset = set.to_vec();
        }
    }
}

impl WallSearch<'_> {
    /// All members of the wall that holds this core.
    pub(in crate::walls) fn wall_of(
        &mut self,
        core: Core,
    ) -> Result<(SumLimit, FoundMembers), SearchStop> {
        let whole = core.members.clone();
        let mut growth = Growth {
            model: self.known.with(SumLimit {
                members: core.members.clone(),
                limit_bytes_per_s: core.limit,
            }),
            found: FoundMembers {
                core: core.members.clone(),
                core_score: core.score,
                margin: f64::INFINITY,
                weakest: None,
                subset: core.members.clone(),
                falls: self.falls(&whole),
                peak: None,
                found_at: 0,
            },
            limit: core.limit,
            core: core.members,
            undecided: Vec::new(),
        };
        let mut members = growth.core.clone();
        let (low, high) = (members[0], members[members.len() - 1]);
        if self.order_known {
            self.extend(&mut growth, &mut members)?;
            let between: Vec<usize> = (low..high)
                .filter(|member| !growth.core.contains(member))
                .collect();
            self.halve(&mut growth, &between, &mut members)?;
        } else {
            let rest: Vec<usize> = (0..self.evidence.count())
                .filter(|member| !members.contains(member))
                .collect();
            self.halve(&mut growth, &rest, &mut members)?;
        }
        members.sort_unstable();
        let doubtful = std::mem::take(&mut growth.undecided);
        // If more load lowers the sum, only the core can show who belongs to the wall.
        if !growth.found.falls {
            self.trim(&mut members, growth.limit, &doubtful)?;
            let deviation = self.deviation_of_sum(&growth.core);
            self.let_go(&mut members, growth.limit, deviation, &doubtful);
        }
        self.load(&mut growth, &mut members)?;
        let wall = SumLimit {
            members,
            limit_bytes_per_s: growth.limit,
        };
        Ok((wall, growth.found))
    }

    /// Tries the doubtful members together with others, chosen so that the known walls are not
    /// full. In a known order only the ends are tried, inwards, because a wall is a stretch.
    pub(in crate::walls) fn trim(
        &mut self,
        members: &mut Vec<usize>,
        limit: f64,
        doubtful: &[usize],
    ) -> Result<(), SearchStop> {
        let mut ends: Vec<Vec<usize>> = vec![members.clone()];
        ends.push(ends[0].iter().rev().copied().collect());
        for end in ends {
            for member in end {
                let doubt = doubtful.contains(&member);
                if doubt && members.len() > 2 && !self.belongs(member, members, limit)? {
                    members.retain(|&one| one != member);
                } else if self.order_known {
                    break;
                }
            }
        }
        Ok(())
    }

    /// Removes members that could not be tried, if the others were seen above the limit together
    /// with them.
    fn let_go(&self, members: &mut Vec<usize>, limit: f64, deviation: f64, doubtful: &[usize]) {
        while members.len() > 2 && self.seen_above(members, limit, deviation) {
            let last = members.len() - 1;
            if doubtful.contains(&members[last])
                && !self.seen_above(&members[..last], limit, deviation)
            {
                members.pop();
            } else if doubtful.contains(&members[0]) {
                members.remove(0);
            } else if doubtful.contains(&members[last]) {
                members.pop();
            } else {
                return;
            }
        }
    }

    /// Whether the members were seen above the limit.
    pub(in crate::walls) fn seen_above(
        &self,
        members: &[usize],
        limit: f64,
        deviation: f64,
    ) -> bool {
        self.evidence.runs.iter().any(|run| {
            let mut wanted = 0.0;
            let mut rates = Vec::new();
            for (&member, &rate) in run.set.iter().zip(&run.rates) {
                if members.binary_search(&member).is_ok() {
                    wanted += self.evidence.alone(member);
                    rates.push(rate);
                }
            }
            let sum: f64 = rates.iter().sum();
            if sum <= limit * ABOVE {
                return false;
            }
            let deviation = self.deviation(&rates, 1).hypot(deviation);
            // If nothing held them back, the sum falls with more of them: it is a collapse.
            let held = sum < wanted - ABOVE_SCORE * deviation;
            let is_above = held && sum > limit * ABOVE + ABOVE_SCORE * deviation;
            is_above && self.evidence.counts(run)
        })
    }

    /// Whether a member adds nothing to others of its wall; true if that cannot be tried.
    fn belongs(
        &mut self,
        member: usize,
        members: &[usize],
        limit: f64,
    ) -> Result<bool, SearchStop> {
        let rest: Vec<usize> = members
            .iter()
            .copied()
            .filter(|&one| one != member)
            .collect();
        let set = self.with_room(member, &rest);
        let inside = self.known.with(SumLimit {
            members: members.to_vec(),
            limit_bytes_per_s: limit,
        });
        let outside = self.known.with(SumLimit {
            members: rest,
            limit_bytes_per_s: limit,
        });
        let with = inside.predict(&set);
        let gain = outside.least(&set) - with;
        if gain < 4.0 * GAIN_MIN * limit {
            return Ok(true);
        }
        self.evidence.at_least(&set, 1, SearchStep::Members)?;
        while let Some(mean) = self.evidence.mean(&set) {
            let deviation = self.deviation(&mean.rates, mean.readings);
            let beyond = mean.sum() - (with + 0.5 * gain);
            if beyond.abs() >= SETTLED * deviation
                || self.evidence.readings(&set) >= MEMBERSHIP_READINGS_MAX
            {
                return Ok(beyond <= 0.0);
            }
            self.evidence.measure(&set, SearchStep::Members)?;
        }
        Ok(true)
    }

    /// A target and as many of the others as do not fill any known wall that contains it.
    fn with_room(&self, member: usize, others: &[usize]) -> Vec<usize> {
        let walls = &self.known.model.walls;
        let holds = |wall: usize, one: usize| walls[wall].members.binary_search(&one).is_ok();
        let mut turn = others.to_vec();
        let shared = |one: usize| {
            (0..walls.len())
                .filter(|&wall| holds(wall, one) && holds(wall, member))
                .count()
        };
        turn.sort_by_key(|&one| shared(one));
        let mut set = vec![member];
        for one in turn {
            let place = set.partition_point(|&other| other < one);
            set.insert(place, one);
            let full = self.known.model.binding(&set, 1.0);
            if full.iter().any(|&wall| holds(wall, member)) {
                set.remove(place);
            }
        }
        set
    }

    /// Whether all of a row are members, if the members are the first ones. If more load lowers the
    /// sum, other targets may hold each other back together with the core, so the last one is tried
    /// by itself.
    pub(in crate::walls) fn all_in(
        &mut self,
        growth: &mut Growth,
        row: &[usize],
    ) -> Result<bool, SearchStop> {
        let first = if growth.found.falls { row.len() - 1 } else { 0 };
        Ok(self.test(growth, &row[first..])? == Membership::In)
    }

    /// Divides groups in halves until each is in or out as a whole.
    fn halve(
        &mut self,
        growth: &mut Growth,
        group: &[usize],
        members: &mut Vec<usize>,
    ) -> Result<(), SearchStop> {
        if group.is_empty() {
            return Ok(());
        }
        if growth.found.falls && group.len() > 1 {
            for &member in group {
                self.halve(growth, &[member], members)?;
            }
            return Ok(());
        }
        match self.test(growth, group)? {
            Membership::In => members.extend(group),
            Membership::Out => {}
            Membership::Mixed => {
                let (one, other) = group.split_at(group.len() / 2);
                self.halve(growth, one, members)?;
                self.halve(growth, other, members)?;
            }
        }
        Ok(())
    }

    /// Adds a group to the core and compares the sum with "all in" and "all out".
    pub(in crate::walls) fn test(
        &mut self,
        growth: &mut Growth,
        group: &[usize],
    ) -> Result<Membership, SearchStop> {
        let mut set = [&growth.core[..], group].concat();
        set.sort_unstable();
        let limit = growth.limit;
        let mut gain_min = f64::INFINITY;
        for &member in group {
            let mut one = growth.core.clone();
            one.push(member);
            one.sort_unstable();
            let gain = growth.model.least(&one) - limit;
            if gain > GAIN_MIN * limit {
                gain_min = gain_min.min(gain);
            } else if !growth.undecided.contains(&member) {
                growth.undecided.push(member);
            }
        }
        let out = growth.model.predict(&set);
        self.evidence.at_least(&set, 1, SearchStep::Members)?;
        if group.len() == 1 && self.repeat_if_between(growth, &set, out)? {
            return self.test(growth, group);
        }
        loop {
            let Some(mean) = self.evidence.mean(&set) else {
                return Ok(Membership::Mixed);
            };
            let deviation = self
                .deviation(&mean.rates, mean.readings)
                .hypot(self.deviation_of_sum(&growth.core));
            let gap = (0.5 * gain_min)
                .min((4.0 * deviation).max(0.02 * limit))
                .max(0.005 * limit);
            let sum = mean.sum();
            let margin = (limit + gap - sum).abs() / deviation;
            if margin < SETTLED && self.evidence.readings(&set) < MEMBERSHIP_READINGS_MAX {
                self.evidence.measure(&set, SearchStep::Members)?;
                continue;
            }
            let held = growth.found.falls && self.all_throttled(&set, group);
            growth.note(margin, self.evidence.target(group[0]), &set);
            return Ok(if sum <= limit + gap || held {
                Membership::In
            } else if group.len() == 1 || sum > out - gap {
                Membership::Out
            } else {
                Membership::Mixed
            });
        }
    }

    fn all_throttled(&self, set: &[usize], group: &[usize]) -> bool {
        group.iter().all(|&member| self.throttled(set, &[member]))
    }

    /// Standard deviation of a sum of measured rates.
    pub(in crate::walls) fn deviation(&self, rates: &[f64], readings: usize) -> f64 {
        let squares: f64 = rates.iter().map(|rate| rate.powi(2)).sum();
        let sum: f64 = rates.iter().sum();
        (self.evidence.noise() * (squares / readings.max(1) as f64).sqrt()).hypot(2e-4 * sum)
    }

    /// The same for the mean of a set's readings.
    pub(in crate::walls) fn deviation_of_sum(&self, set: &[usize]) -> f64 {
        let mean = self.evidence.mean(set);
        mean.map_or(0.0, |mean| self.deviation(&mean.rates, mean.readings))
    }

    /// Runs all members; if the sum falls, the group tests said too much, and each member is tried
    /// by itself.
    fn load(&mut self, growth: &mut Growth, members: &mut Vec<usize>) -> Result<(), SearchStop> {
        self.evidence
            .at_least(members, self.readings, SearchStep::Ladder)?;
        let Some(mean) = self.evidence.mean(members) else {
            return Ok(());
        };
        let fall = growth.limit - mean.sum();
        let deviation = self
            .deviation(&mean.rates, mean.readings)
            .hypot(self.deviation_of_sum(&growth.core));
        if self.only_limits || fall <= (COLLAPSE * growth.limit).max(COLLAPSE_SCORE * deviation) {
            return Ok(());
        }
        growth.limit = growth.limit.min(mean.sum());
        let mut kept = growth.core.clone();
        for &member in members.iter() {
            if !growth.core.contains(&member) && self.all_in(growth, &[member])? {
                kept.push(member);
            }
        }
        kept.sort_unstable();
        *members = kept;
        Ok(())
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::walls) enum Membership {
    In,
    Out,
    Mixed,
}
