//! Finds where a wall ends among the neighbours of its core, in a known order. Called by `members`.
//! Two neighbours are tried at once if that can settle both, and first at the place where a wall
//! like one already found would end.

use crate::walls::evidence::SearchStop;
use crate::walls::model::SumLimit;
use crate::walls::search::WallSearch;
use crate::walls::search::members::{GAIN_MIN, Growth, Membership, SETTLED};
use crate::walls::types::SearchStep;

/// The bounds of a search in a row of neighbours: the first `inside` are members, and the one at
/// `outside` is not.
#[derive(Clone, Copy)]
struct Bounds {
    inside: usize,
    outside: usize,
}

impl WallSearch<'_> {
    /// Adds the neighbours of the core that are members.
    pub(in crate::walls) fn extend(
        &mut self,
        growth: &mut Growth,
        members: &mut Vec<usize>,
    ) -> Result<(), SearchStop> {
        let (low, high) = (growth.core[0], growth.core[growth.core.len() - 1]);
        let left: Vec<usize> = (0..low).rev().collect();
        let right: Vec<usize> = (high + 1..self.evidence.count()).collect();
        let sides = [left, right];
        let bounds = self.both_ends(growth, &sides)?;
        for (side, bounds) in sides.iter().zip(bounds) {
            let length = self.boundary(growth, side, bounds)?;
            members.extend(&side[..length]);
        }
        Ok(())
    }

    /// What one try on both sides at once shows about where they end.
    fn both_ends(
        &mut self,
        growth: &mut Growth,
        sides: &[Vec<usize>; 2],
    ) -> Result<[Bounds; 2], SearchStop> {
        let open = sides.each_ref().map(|side| Bounds {
            inside: 0,
            outside: side.len() + 1,
        });
        if growth.found.falls {
            return Ok(open);
        }
        let lengths = self.alike(growth).unwrap_or([0, 0]);
        let inner: Vec<usize> = sides
            .iter()
            .zip(lengths)
            .flat_map(|(side, length)| side[..length].iter().copied())
            .collect();
        if !inner.is_empty() && self.test(growth, &inner)? != Membership::In {
            return Ok(open);
        }
        let next: Vec<usize> = sides
            .iter()
            .zip(lengths)
            .filter_map(|(side, length)| side.get(length).copied())
            .collect();
        let are_out = next.len() > 1 && self.all_out(growth, &inner, &next)?;
        let mut bounds = open;
        for (bound, length) in bounds.iter_mut().zip(lengths) {
            bound.inside = length;
            if are_out {
                bound.outside = length + 1;
            }
        }
        Ok(bounds)
    }

    /// Whether none of these is a member, next to a core with more members; also false if one run
    /// cannot show it.
    fn all_out(
        &mut self,
        growth: &mut Growth,
        more: &[usize],
        group: &[usize],
    ) -> Result<bool, SearchStop> {
        let mut core = [&growth.core[..], more].concat();
        core.sort_unstable();
        let limit = growth.limit;
        let model = self.known.with(SumLimit {
            members: core.clone(),
            limit_bytes_per_s: limit,
        });
        let together = |group: &[usize]| {
            let mut set = [&core[..], group].concat();
            set.sort_unstable();
            set
        };
        let gains = group
            .iter()
            .map(|&one| model.least(&together(&[one])) - limit);
        let gain_min = gains.fold(f64::INFINITY, f64::min);
        if gain_min < GAIN_MIN * limit {
            return Ok(false);
        }
        let set = together(group);
        let least = model.predict(&set) - 0.5 * gain_min;
        for readings in 1..=2 {
            self.evidence
                .at_least(&set, readings, SearchStep::Members)?;
            let Some(mean) = self.evidence.mean(&set) else {
                return Ok(false);
            };
            let deviation = self
                .deviation(&mean.rates, mean.readings)
                .hypot(self.deviation_of_sum(&core));
            let margin = (mean.sum() - least) / deviation;
            if margin >= SETTLED {
                growth.note(margin, self.evidence.target(group[0]), &set);
                return Ok(true);
            }
            if margin <= -SETTLED {
                return Ok(false);
            }
        }
        Ok(false)
    }

    /// The number of members in a row of neighbours, if the members are the first ones.
    fn boundary(
        &mut self,
        growth: &mut Growth,
        side: &[usize],
        bounds: Bounds,
    ) -> Result<usize, SearchStop> {
        let Bounds {
            mut inside,
            mut outside,
        } = bounds;
        let mut length = self.guess(growth, side);
        let mut grow = 1;
        let mut down = false;
        while outside - inside > 1 {
            let length_now = length.clamp(inside + 1, outside - 1);
            if self.all_in(growth, &side[..length_now])? {
                inside = length_now;
                length = if down {
                    usize::midpoint(inside, outside)
                } else {
                    inside + grow
                };
                if inside + 1 == outside {
                    break;
                }
            } else {
                outside = length_now;
                down = true;
                length = if outside - inside > 1 && grow == 1 {
                    grow = 2;
                    outside - 1
                } else {
                    usize::midpoint(inside, outside)
                };
                continue;
            }
            grow *= 2;
        }
        Ok(inside)
    }

    /// The place where the members probably end: after those next to the core that are held back in
    /// the run of all.
    fn guess(&self, growth: &Growth, side: &[usize]) -> usize {
        let all: Vec<usize> = (0..self.evidence.count()).collect();
        let Some(mean) = self.evidence.mean(&all) else {
            return 1;
        };
        let mut sum: f64 = growth.core.iter().map(|&member| mean.rates[member]).sum();
        let mut length = 0;
        for &member in side {
            sum += mean.rates[member];
            let beyond = !growth.found.falls && sum > growth.limit * 1.05;
            if !self.throttled(&all, &[member]) || beyond {
                break;
            }
            length += 1;
        }
        length.max(1)
    }
}
