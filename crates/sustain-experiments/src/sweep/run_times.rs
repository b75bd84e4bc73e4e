//! How long the runs of a sweep take, and how many of them still fit into its budget. The run asks
//! before each of them.

use sustain_disk::clock::Timestamp;
use sustain_disk::layout::Layout;

use super::conclude::Swept;
use super::open::runs_max;
use super::plan::SweepPlan;

/// What the first run showed, which does not count.
pub(super) struct FirstRun {
    pub(super) rate_bytes_per_s: f64,
    /// The part of it that is left where targets wait for each other.
    pub(super) lockstep_part: f64,
    /// How long the flush after it took.
    pub(super) flush_ns: u64,
}

impl FirstRun {
    /// The rate to be expected of a layout.
    pub(super) fn rate_of(&self, layout: Layout) -> f64 {
        match layout {
            Layout::Turns | Layout::Stripe { .. } => self.rate_bytes_per_s * self.lockstep_part,
            Layout::Independent | Layout::Span => self.rate_bytes_per_s,
        }
    }
}

/// The part of their sum that is left to targets that move these bytes alone, if each waits for the
/// slowest.
pub(super) fn lockstep_part(bytes: impl Iterator<Item = u64>) -> f64 {
    let bytes: Vec<u64> = bytes.collect();
    let sum: u64 = bytes.iter().sum();
    let slowest = bytes.iter().min().copied().unwrap_or(0);
    match sum {
        0 => 1.0,
        sum => slowest as f64 * bytes.len() as f64 / sum as f64,
    }
}

/// The time in which the points are measured.
pub(super) struct RunTimes<'a> {
    time_per_point_ns: u64,
    pub(super) first: &'a FirstRun,
    start: Timestamp,
    deadline: Option<Timestamp>,
    /// The number of runs, if it is known beforehand.
    pub(super) planned: Option<usize>,
}

impl<'a> RunTimes<'a> {
    pub(super) fn new(
        plan: &SweepPlan,
        first: &'a FirstRun,
        start: Timestamp,
        deadline: Option<Timestamp>,
    ) -> RunTimes<'a> {
        RunTimes {
            time_per_point_ns: plan.time_per_point_ns,
            first,
            start,
            deadline,
            planned: None,
        }
    }

    pub(super) fn elapsed_s(&self, now: Timestamp) -> f64 {
        now.since_ns(self.start) as f64 / 1e9
    }

    /// How long a run takes, starting, stopping and flushing included: by those so far, and before
    /// there are any, by the flush after the first one.
    pub(super) fn run_ns(&self, swept: &Swept<'_>, now: Timestamp) -> u64 {
        let done = swept.measurements.len() as u64;
        let mean_ns = now.since_ns(self.start).checked_div(done);
        let by_first_ns = self.time_per_point_ns + self.first.flush_ns;
        mean_ns.unwrap_or(by_first_ns).max(self.time_per_point_ns)
    }

    /// The number of runs that still fit into the budget, if there is one.
    pub(super) fn runs_left(&self, swept: &Swept<'_>, now: Timestamp) -> Option<usize> {
        runs_max(self.run_ns(swept, now), self.left_ns(now))
    }

    fn left_ns(&self, now: Timestamp) -> Option<u64> {
        self.deadline.map(|deadline| deadline.since_ns(now))
    }

    /// How long everything that is still to come takes at most.
    pub(super) fn remaining_s(&self, swept: &Swept<'_>, now: Timestamp) -> f64 {
        let done = swept.measurements.len();
        let runs = self.planned.map(|planned| planned.saturating_sub(done));
        let by_runs_ns = runs.map(|runs| runs as u64 * self.run_ns(swept, now));
        let times_ns = [by_runs_ns, self.left_ns(now)].into_iter().flatten();
        times_ns.min().unwrap_or(0) as f64 / 1e9
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn in_lockstep_all_are_as_fast_as_the_slowest() {
        let first = FirstRun {
            rate_bytes_per_s: 110e6,
            lockstep_part: lockstep_part([100, 10].into_iter()),
            flush_ns: 0,
        };
        let stripe = Layout::Stripe { chunk_bytes: 1 };
        for (layout, expected) in [
            (Layout::Independent, 110e6),
            (Layout::Span, 110e6),
            (Layout::Turns, 20e6),
            (stripe, 20e6),
        ] {
            assert!((first.rate_of(layout) - expected).abs() < 1.0, "{layout:?}");
        }
        assert!((lockstep_part([0, 0].into_iter()) - 1.0).abs() < f64::EPSILON);
    }
}
