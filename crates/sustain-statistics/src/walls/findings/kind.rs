//! Decides the kind of a wall: limit, collapse or tool, and whether revolutions are missed. `find`
//! asks for the kinds at its end; whether a sum falls is asked while members are looked for, too.

use crate::median;
use crate::walls::evidence::{PlacedReading, SearchStop};
use crate::walls::model::{SumLimit, common};
use crate::walls::search::WallSearch;
use crate::walls::search::members::{COLLAPSE, COLLAPSE_SCORE};
use crate::walls::types::{SearchBasis, SearchStep};

/// A ratio counts as whole if it is this near to a whole number, relative to itself.
const FRACTION: f64 = 0.06;
/// Revolutions are missed only if the ratios of more than this part of the members are whole.
const FRACTION_PART: f64 = 0.9;
/// Revolutions are missed only if the median of the ratios is above this.
const FRACTION_LEAST: f64 = 1.7;
/// Shares that are whole fractions by chance more often than this show no missed revolutions.
const CHANCE_MOST: f64 = 0.02;
/// No ratio is known to be nearer to a whole number than this.
const NEAREST: f64 = 0.02;
/// Rates, and shares, are the same within this part.
const ALIKE: f64 = 0.02;
/// A subset shows a fall if it can reach this many times as much more as a fall must be, and by
/// `BELOW_SCORE`.
const CLEARLY: f64 = 1.3;
/// A subset that shows a fall reaches this many standard deviations more than all members.
const BELOW_SCORE: f64 = 6.0;
/// Number of readings of either side before a sum is said to fall, so that one disturbed reading
/// decides nothing.
const READINGS: usize = 3;

/// A limit below this part of one around it is not the tool's.
const PASSED: f64 = 0.85;
/// Half the dummy's rate must be this many standard deviations of the sum of several walls.
const BESIDE_SCORE: f64 = 4.5;

impl WallSearch<'_> {
    /// Runs the dummy together with the members of each wall. The members of several walls run at
    /// once as long as the dummy's loss would stand out: if it loses nothing there, it loses
    /// nothing in any of them.
    pub(in crate::walls) fn decide_kinds(&mut self, basis: &SearchBasis) -> Result<(), SearchStop> {
        if !basis.dummy || self.known.model.walls.is_empty() {
            return Ok(());
        }
        let (_, paced) = self.evidence.measure_with_dummy(&[])?;
        self.dummy = Some(paced);
        for (mut walls, set) in self.side_by_side(paced) {
            walls.retain(|&wall| !self.is_passed(wall));
            if walls.is_empty() {
                continue;
            }
            if walls.len() > 1 {
                let with = self.evidence.measure_with_dummy(&set)?;
                if with.0 + with.1 > self.known.predict(&set) + paced / 2.0 {
                    continue;
                }
            }
            for wall in walls {
                let SumLimit {
                    members,
                    limit_bytes_per_s,
                } = self.known.model.walls[wall].clone();
                let clear = limit_bytes_per_s + paced / 2.0;
                let sum = self.sum_with_dummy(&members, clear)?;
                self.with_dummy.push((members, sum));
            }
        }
        Ok(())
    }

    /// Whether a wall around this one lets through so much more that this one cannot be the tool's,
    /// because the tool passes that much for the same targets and others.
    fn is_passed(&self, wall: usize) -> bool {
        let walls = &self.known.model.walls;
        let inner = &walls[wall];
        walls.iter().any(|outer| {
            outer.members.len() > inner.members.len()
                && common(&outer.members, &inner.members) == inner.members.len()
                && inner.limit_bytes_per_s < PASSED * outer.limit_bytes_per_s
        })
    }

    /// The sum of a wall's members and the dummy; if that is not clearly more than the sum of the
    /// members, the median of three readings, because one disturbed reading must not blame the
    /// tool.
    fn sum_with_dummy(&mut self, members: &[usize], clear: f64) -> Result<f64, SearchStop> {
        let mut sums = Vec::new();
        while sums.len() < 3 && sums.first().is_none_or(|&first| first <= clear) {
            let with = self.evidence.measure_with_dummy(members)?;
            sums.push(with.0 + with.1);
        }
        Ok(median(&sums))
    }

    /// Walls that can be full at once without filling another, and their members.
    fn side_by_side(&self, paced: f64) -> Vec<(Vec<usize>, Vec<usize>)> {
        let mut together: Vec<(Vec<usize>, Vec<usize>)> = Vec::new();
        for (wall, limit) in self.known.model.walls.iter().enumerate() {
            let joined = together.iter_mut().find_map(|(walls, set)| {
                let falls = self.found[wall].falls || self.found[walls[0]].falls;
                let both = (!falls).then(|| self.join(set, &limit.members))??;
                let clear = paced / 2.0 > BESIDE_SCORE * self.deviation_beside(&both);
                clear.then_some((walls, set, both))
            });
            if let Some((walls, set, both)) = joined {
                walls.push(wall);
                *set = both;
            } else {
                together.push((vec![wall], limit.members.clone()));
            }
        }
        together
    }

    /// An upper bound of the standard deviation of one reading of a set against its prediction.
    fn deviation_beside(&self, set: &[usize]) -> f64 {
        let alone: Vec<f64> = set.iter().map(|&one| self.evidence.alone(one)).collect();
        let units = self.known.units(set, &self.evidence);
        let variance: f64 = units.iter().map(|unit| unit.variance).sum();
        self.deviation(&alone, 1).hypot(variance.sqrt())
    }

    /// Whether the core reaches less than a part of it did. Then more load lowers the sum, and a
    /// target that is held back together with the core is a member, whatever the sum says.
    pub(in crate::walls) fn falls(&self, core: &[usize]) -> bool {
        let Some(whole) = self.evidence.mean(core).filter(|_| !self.only_limits) else {
            return false;
        };
        let deviation = self.deviation(&whole.rates, whole.readings);
        self.evidence.runs.iter().any(|run| {
            let part = run.set.len() < core.len() && common(&run.set, core) == run.set.len();
            let more = run.rates.iter().sum::<f64>() - whole.sum();
            let doubt = deviation.hypot(self.deviation(&run.rates, 1));
            let falls = part && more > (COLLAPSE * whole.sum()).max(COLLAPSE_SCORE * doubt);
            falls && self.evidence.counts(run)
        })
    }

    /// Looks for a fall behind each limit found: a limit that lets less through when it is
    /// overloaded looks like a lower one in all subsets but those just below it. Limits that cross
    /// let a sum fall by themselves, so nothing is looked for beside them.
    pub(in crate::walls) fn look_for_falls(&mut self) -> Result<(), SearchStop> {
        let walls = 0..self.found.len();
        let crosses = walls.clone().any(|wall| self.known.model.crosses(wall));
        if crosses || self.unexplained().is_some() {
            return Ok(());
        }
        for wall in walls {
            if self.found[wall].falls {
                continue;
            }
            let limit = self.known.model.walls[wall].clone();
            let Some(part) = self.below_a_fall(&limit) else {
                continue;
            };
            self.evidence.measure(&part, SearchStep::Ladder)?;
            self.found[wall].peak = self.peak(&limit.members)?;
            if self.found[wall].peak.is_some() {
                self.found[wall].falls = true;
                self.known.falls_from[wall] = self.found[wall].falls_from();
            }
        }
        Ok(())
    }

    /// The members of a limit that could together reach only a little more than it; `None` if that
    /// would show nothing new. They are the least likely ones to overload a higher limit that falls
    /// to this one, so their sum would be above it.
    fn below_a_fall(&self, wall: &SumLimit) -> Option<Vec<usize>> {
        let (members, limit) = (&wall.members, wall.limit_bytes_per_s);
        let deviation = self.deviation_of_sum(members);
        let least = limit + (COLLAPSE * CLEARLY * limit).max(BELOW_SCORE * deviation);
        let rate = |member: usize| self.evidence.alone(member);
        let wanted = |set: &[usize]| set.iter().map(|&one| rate(one)).sum::<f64>();
        let mut part = members.clone();
        let mut by_rate = members.clone();
        by_rate.sort_by(|&one, &other| rate(other).total_cmp(&rate(one)));
        for member in by_rate {
            let rest: Vec<usize> = part.iter().copied().filter(|one| *one != member).collect();
            if wanted(&rest) >= least {
                part = rest;
            }
        }
        let is_measured = |run: &PlacedReading| {
            let inside = common(&run.set, members) == run.set.len();
            inside && (least..=wanted(&part)).contains(&wanted(&run.set))
        };
        let is_measured = self.evidence.runs.iter().any(is_measured);
        let of_this_one = self.known.model.binding(&part, 1.0).len() == 1;
        (part.len() < members.len() && of_this_one && !is_measured).then_some(part)
    }

    /// The best sum seen, if parts of a wall's members reached clearly more than all of them. Both
    /// are measured again before it counts.
    pub(in crate::walls) fn peak(&mut self, members: &[usize]) -> Result<Option<f64>, SearchStop> {
        if self.only_limits {
            return Ok(None);
        }
        let mut best: Option<(f64, Vec<usize>)> = None;
        for run in &self.evidence.runs {
            if common(&run.set, members) < run.set.len() {
                continue;
            }
            let sum = self.evidence.mean(&run.set).map_or(0.0, |mean| mean.sum());
            if best.as_ref().is_none_or(|(other, _)| sum > *other) {
                best = Some((sum, run.set.clone()));
            }
        }
        let Some((_, part)) = best else {
            return Ok(None);
        };
        // What there is may rule a fall out; only then are more readings taken.
        for readings in [0, (2 * self.readings).max(READINGS)] {
            self.evidence
                .at_least(&part, readings, SearchStep::Ladder)?;
            self.evidence
                .at_least(members, readings, SearchStep::Ladder)?;
            let (Some(most), Some(all)) = (self.evidence.mean(&part), self.evidence.mean(members))
            else {
                return Ok(None);
            };
            let deviation = self
                .deviation(&most.rates, most.readings)
                .hypot(self.deviation(&all.rates, all.readings));
            let fall = most.sum() - all.sum();
            if fall < (COLLAPSE * most.sum()).max(COLLAPSE_SCORE * deviation) {
                return Ok(None);
            }
        }
        Ok(self.evidence.mean(&part).map(|mean| mean.sum()))
    }

    /// Whether the dummy takes its share of this wall.
    pub(in crate::walls) fn is_tool(&self, members: &[usize]) -> bool {
        let with = self.with_dummy.iter().find(|with| with.0 == members);
        let (Some(dummy), Some(with), Some(mean)) = (self.dummy, with, self.evidence.mean(members))
        else {
            return false;
        };
        with.1 < mean.sum() + dummy / 2.0
    }

    /// Whether most members run at whole fractions of their own rate, both with all of them and
    /// with just so many that the wall is full. By chance shares may be halves at one load, but not
    /// at two.
    pub(in crate::walls) fn misses_revolutions(&self, members: &[usize], core: &[usize]) -> bool {
        let sets = [members, core];
        sets.into_iter().all(|set| self.runs_at_fractions(set))
            && self.chance_of_fractions(&sets) <= CHANCE_MOST
    }

    /// How likely it is that shares of any size are so near to whole fractions. Members of the same
    /// rate and the same share are one piece of evidence, however many they are, and one that is
    /// hardly slowed down is none: a limit that serves one first slows the other down to any share.
    fn chance_of_fractions(&self, sets: &[&[usize]]) -> f64 {
        let mut seen: Vec<(f64, f64)> = Vec::new();
        for set in sets {
            let Some(mean) = self.evidence.mean(set) else {
                return 1.0;
            };
            for (&member, &rate) in set.iter().zip(&mean.rates) {
                let alone = self.evidence.alone(member);
                let ratio = alone / rate.max(f64::MIN_POSITIVE);
                let is_same = |one: &(f64, f64)| {
                    (one.0 / alone - 1.0).abs() < ALIKE && (one.1 / ratio - 1.0).abs() < ALIKE
                };
                if ratio > FRACTION_LEAST && !seen.iter().any(is_same) {
                    seen.push((alone, ratio));
                }
            }
        }
        // A share of any size is this near to a whole fraction with twice the distance as chance;
        // noise hides smaller distances.
        let chance = |(_, ratio): &(f64, f64)| {
            let apart = (ratio - ratio.round()).abs();
            2.0 * apart.max(self.evidence.noise() * ratio).max(NEAREST)
        };
        seen.iter().map(chance).product()
    }

    /// How far from a whole number a ratio may be.
    fn slack(&self, ratio: f64) -> f64 {
        let slack = (3.0 * self.evidence.noise() * ratio).max(FRACTION * ratio);
        slack.min(0.3)
    }

    fn runs_at_fractions(&self, set: &[usize]) -> bool {
        let Some(mean) = self.evidence.mean(set) else {
            return false;
        };
        let mut near = 0;
        let mut ratios = Vec::new();
        for (&member, &rate) in set.iter().zip(&mean.rates) {
            let ratio = self.evidence.alone(member) / rate.max(f64::MIN_POSITIVE);
            if (ratio - ratio.round().max(1.0)).abs() <= self.slack(ratio) {
                near += 1;
            }
            ratios.push(ratio);
        }
        near as f64 > FRACTION_PART * set.len() as f64 && median(&ratios) > FRACTION_LEAST
    }
}
