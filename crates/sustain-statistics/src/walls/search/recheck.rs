//! Checks whether the findings still hold: after a change that the anchor shows, and at the end,
//! when all targets must reach what the walls found let through. Called by `find` and `drift`.

use crate::walls::evidence::SearchStop;
use crate::walls::search::{CORE, FLAG, LOSS_MIN, WallSearch};
use crate::walls::types::{SearchStep, Unexplained};

impl WallSearch<'_> {
    /// Takes back the walls that were found since a run, because their readings may be from before
    /// and after a change.
    pub(in crate::walls) fn take_back_since(&mut self, run: usize) {
        let mut index = 0;
        while index < self.found.len() {
            if self.found[index].found_at > run {
                self.remove(index);
            } else {
                index += 1;
            }
        }
    }

    /// Measures the members of each wall again after a change. Members that still lose keep their
    /// wall, at the sum that they reach now.
    pub(in crate::walls) fn recheck_walls(&mut self) -> Result<(), SearchStop> {
        let mut index = 0;
        while index < self.found.len() {
            let members = self.known.model.walls[index].members.clone();
            self.evidence
                .at_least(&members, self.readings, SearchStep::Confirm)?;
            let limit = std::mem::replace(
                &mut self.known.model.walls[index].limit_bytes_per_s,
                f64::INFINITY,
            );
            let lost = self.known.total(&members, &self.evidence);
            self.known.model.walls[index].limit_bytes_per_s = limit;
            let still = lost.is_some_and(|(loss, deviation)| loss > CORE * deviation);
            if !still && !self.found[index].falls {
                self.remove(index);
                continue;
            }
            if let Some(mean) = self.evidence.mean(&members) {
                self.known.model.walls[index].limit_bytes_per_s = mean.sum();
                self.known.deviations[index] = self.deviation(&mean.rates, mean.readings);
            }
            index += 1;
        }
        Ok(())
    }

    pub(in crate::walls) fn remove(&mut self, index: usize) -> Vec<usize> {
        self.known.deviations.remove(index);
        self.known.falls_from.remove(index);
        self.found.remove(index);
        self.taken_back = true;
        self.known.model.walls.remove(index).members
    }

    /// How much less all targets reach than the walls found let through, if that is more than the
    /// noise explains. As long as there is such a loss, the findings are not complete.
    pub(in crate::walls) fn unexplained(&self) -> Option<Unexplained> {
        let all: Vec<usize> = (0..self.evidence.count()).collect();
        let mean = self.evidence.mean(&all)?;
        let (loss, deviation) = self.known.total(&all, &self.evidence)?;
        let least = (FLAG * deviation).max(LOSS_MIN * self.known.predict(&all));
        (all.len() > 1 && loss > least).then(|| Unexplained {
            members: self.evidence.targets(&all),
            expected_bytes_per_s: mean.sum() + loss,
            measured_bytes_per_s: mean.sum(),
        })
    }
}
