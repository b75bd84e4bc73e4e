//! The times at which a probe workload is next due: on a fixed grid, and never in a burst to make
//! up for lost time, which would be a load of its own.

use sustain_disk::clock::Timestamp;

/// Points in time, equally far apart.
#[derive(Debug, Clone, Copy)]
pub(super) struct ProbePace {
    due: Timestamp,
    period_ns: u64,
}

impl ProbePace {
    /// A pace whose first point is a period after `now`.
    pub(super) fn from(now: Timestamp, period_ns: u64) -> ProbePace {
        ProbePace {
            due: now + period_ns,
            period_ns,
        }
    }

    /// The next point.
    pub(super) fn due(&self) -> Timestamp {
        self.due
    }

    /// Goes on to the first point after `now`; points that have passed are left out.
    pub(super) fn go_on(&mut self, now: Timestamp) {
        let behind_ns = now.since_ns(self.due);
        self.due = self.due + (behind_ns / self.period_ns + 1) * self.period_ns;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_that_passed_are_left_out_and_the_grid_stays() {
        let mut pace = ProbePace::from(Timestamp(7), 10);
        assert_eq!(pace.due(), Timestamp(17));
        // Early or just in time: the next one.
        pace.go_on(Timestamp(17));
        assert_eq!(pace.due(), Timestamp(27));
        pace.go_on(Timestamp(26));
        assert_eq!(pace.due(), Timestamp(37));
        pace.go_on(Timestamp(61));
        assert_eq!(pace.due(), Timestamp(67));
        pace.go_on(Timestamp(77));
        assert_eq!(pace.due(), Timestamp(87));
    }
}
