//! Failures of requests at a position, reported once however often the position was visited. Pure;
//! the conclusion keeps them.

use sustain_disk::target::Direction;

/// Requests that failed at one place of one target.
#[derive(Debug)]
pub(super) struct FailedPlace {
    pub(super) target: usize,
    pub(super) direction: Direction,
    position: f64,
    /// From the first visit: what happened and what to do.
    why: String,
    visits: usize,
}

impl FailedPlace {
    pub(super) fn new(
        target: usize,
        direction: Direction,
        position: f64,
        why: String,
    ) -> FailedPlace {
        FailedPlace {
            target,
            direction,
            position,
            why,
            visits: 1,
        }
    }

    fn is_at_the_place_of(&self, other: &FailedPlace) -> bool {
        (self.target, self.direction) == (other.target, other.direction)
            && self.position.total_cmp(&other.position).is_eq()
    }

    /// Adds it to the failures that are known.
    pub(super) fn join(self, known: &mut Vec<FailedPlace>) {
        let mut before = known.iter_mut();
        match before.find(|one| one.is_at_the_place_of(&self)) {
            Some(before) => before.visits += self.visits,
            None => known.push(self),
        }
    }

    pub(super) fn words(&self) -> String {
        match self.visits {
            1 => self.why.clone(),
            visits => format!("{} (at {visits} visits of this position)", self.why),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_place_is_told_once_with_how_often_it_failed() {
        let mut known = Vec::new();
        for (position, why) in [(0.5, "at 40"), (0.7, "at 56"), (0.5, "at 41")] {
            FailedPlace::new(0, Direction::Read, position, why.to_owned()).join(&mut known);
        }
        let words: Vec<String> = known.iter().map(FailedPlace::words).collect();
        assert_eq!(words, ["at 40 (at 2 visits of this position)", "at 56"]);
        FailedPlace::new(1, Direction::Read, 0.5, "at 40".to_owned()).join(&mut known);
        assert_eq!(known.len(), 3, "another target is another place");
    }
}
