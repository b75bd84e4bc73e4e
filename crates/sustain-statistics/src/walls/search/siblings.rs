//! Guesses from walls already found: the channels of one machine are mostly alike and connected
//! side by side, so where one ends the next one probably begins. Called by `find` and `edges`, in a
//! known order only. A right guess saves readings; every guess is measured before it counts.

use crate::walls::evidence::SearchStop;
use crate::walls::model::{SumLimit, common};
use crate::walls::search::members::Growth;
use crate::walls::search::scan::Loss;
use crate::walls::search::{Core, FLAG, WallSearch};
use crate::walls::types::SearchStep;

/// Walls whose limits differ by less than this part count as alike,
const ALIKE: f64 = 0.05;
/// and as the same if they differ by less than this many standard deviations, or this part.
const SAME_SCORE: f64 = 3.0;
const SAME: f64 = 0.005;
/// The rate that a target at the end of a window would add if it were no member, in units of the
/// latter.
const CLEAR: f64 = 3.0;

impl WallSearch<'_> {
    /// The core of a wall beside one that is known and just like it, if the loss is in such a
    /// place.
    pub(in crate::walls) fn sibling_core(
        &mut self,
        seen: &Loss,
    ) -> Result<Option<Core>, SearchStop> {
        if !self.order_known {
            return Ok(None);
        }
        let Some((window, limit)) = self.sibling_window(seen) else {
            return Ok(None);
        };
        self.evidence
            .at_least(&window, self.readings, SearchStep::Search)?;
        let loss = self.known.scan(&window, &self.evidence, 0.0);
        if loss.is_none_or(|loss| loss.score < FLAG) || !self.is_whole(&window, limit) {
            return Ok(None);
        }
        self.confirmed(window)
    }

    /// A place beside a known wall, as wide as it, that may contain most of the loss and in which
    /// nothing was measured yet; with that wall's limit.
    fn sibling_window(&self, seen: &Loss) -> Option<(Vec<usize>, f64)> {
        let walls = &self.known.model.walls;
        let (first_seen, end_seen) = (*seen.members.first()?, *seen.members.last()? + 1);
        walls.iter().zip(&self.found).find_map(|(wall, found)| {
            let width = width(wall).filter(|_| !found.falls)?;
            let start = wall.members[0];
            let beside = [start.checked_sub(width), Some(start + width)];
            beside.into_iter().flatten().find_map(|start| {
                let end = start + width;
                let shared = end.min(end_seen).saturating_sub(start.max(first_seen));
                let window: Vec<usize> = (start..end).collect();
                let is_new = end <= self.evidence.count()
                    && 2 * shared >= width
                    && self.evidence.readings(&window) == 0
                    && !walls.iter().any(|other| {
                        other.members.len() == width && common(&other.members, &window) > 0
                    });
                is_new.then_some((window, wall.limit_bytes_per_s))
            })
        })
    }

    /// Whether a window reaches just such a limit, and would reach more with an end outside.
    fn is_whole(&self, window: &[usize], limit: f64) -> bool {
        let Some(mean) = self.evidence.mean(window) else {
            return false;
        };
        let deviation = self.deviation(&mean.rates, mean.readings);
        let doubt = (SAME_SCORE * deviation).max(SAME * limit);
        let is_same = (mean.sum() - limit).abs() < doubt;
        let ends = [&window[1..], &window[..window.len() - 1]];
        // An end outside the wall would run at its own rate.
        is_same
            && self.known.lose_at_both_ends(window, &self.evidence, FLAG)
            && ends.iter().all(|rest| {
                let without = self.known.with(SumLimit {
                    members: rest.to_vec(),
                    limit_bytes_per_s: limit,
                });
                without.least(window) - limit > CLEAR * doubt
            })
    }

    /// The number of neighbours on each side that are members if the wall is like one that is
    /// known: as wide, and a multiple of its width away.
    pub(in crate::walls) fn alike(&self, growth: &Growth) -> Option<[usize; 2]> {
        let (low, high) = (growth.core[0], growth.core[growth.core.len() - 1]);
        self.known.model.walls.iter().find_map(|wall| {
            let width = width(wall)?;
            if (wall.limit_bytes_per_s / growth.limit - 1.0).abs() > ALIKE {
                return None;
            }
            // Counted from the first such place.
            let phase = wall.members[0] % width;
            let start = low.checked_sub(phase)? / width * width + phase;
            let end = start + width;
            let fits = end > high && end <= self.evidence.count();
            fits.then(|| [low - start, end - high - 1])
        })
    }
}

/// The number of neighbours in a wall, if it contains no others.
fn width(wall: &SumLimit) -> Option<usize> {
    let (first, last) = (wall.members.first()?, wall.members.last()?);
    (last - first + 1 == wall.members.len()).then_some(wall.members.len())
}
