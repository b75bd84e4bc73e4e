//! How far samples lie apart: a slow place that fits between two of them is not seen. Pure; the
//! conclusion calls it.

use std::ops::Range;

use sustain_document::profile::ProfileCloser;

use super::plan::ProfilePlan;
use super::run::{COARSE_MAX, COARSE_SHARE};

/// Budgets that may be advised, as multiples of the one that was given.
const TIMES: [u64; 6] = [2, 4, 8, 16, 32, 64];
/// A longer time is advised if it brings the samples together to this part.
const CLOSER: f64 = 0.6;

/// The longest stretch of a target that no sample has touched. `seen` are the bytes of the samples,
/// in order.
pub(super) fn longest_unseen(seen: impl Iterator<Item = Range<u64>>, size_bytes: u64) -> u64 {
    let (mut longest, mut end) = (0, 0);
    for sample in seen {
        longest = longest.max(sample.start.saturating_sub(end));
        end = end.max(sample.end);
    }
    longest.max(size_bytes.saturating_sub(end))
}

/// What the samples of one target took.
#[derive(Debug, Clone, Copy)]
pub(super) struct SampledPlaces {
    pub(super) size_bytes: u64,
    pub(super) sample_bytes: u64,
    /// The time of a visit of one position on all curves,
    pub(super) visit_ns: u64,
    /// of which the samples take this.
    pub(super) samples_ns: u64,
    pub(super) curves: usize,
    pub(super) unseen_bytes: u64,
}

/// The shortest budget that would bring the samples much closer together, and how close; `None` if
/// no sensible one would.
pub(super) fn closer(plan: &ProfilePlan, sampled: &SampledPlaces) -> Option<ProfileCloser> {
    let now_ns = plan.sample_ns(sampled.curves).ok()?;
    let mut budgets = TIMES
        .iter()
        .filter_map(|times| plan.budget_ns.checked_mul(*times));
    budgets.find_map(|budget_ns| {
        let longer = ProfilePlan {
            budget_ns,
            ..plan.clone()
        };
        let times = longer.sample_ns(sampled.curves).ok()? as f64 / now_ns as f64;
        let visit_ns = sampled.visit_ns as f64 + sampled.samples_ns as f64 * (times - 1.0);
        let positions = (budget_ns as f64 * COARSE_SHARE / visit_ns.max(1.0)) as u64;
        let gaps = positions.min(COARSE_MAX as u64).saturating_sub(1).max(1);
        let sample_bytes = (sampled.sample_bytes as f64 * times) as u64;
        let unseen_bytes_max = (sampled.size_bytes / gaps).saturating_sub(sample_bytes);
        let is_closer = (unseen_bytes_max as f64) < sampled.unseen_bytes as f64 * CLOSER;
        is_closer.then_some(ProfileCloser {
            budget_s: budget_ns as f64 / 1e9,
            unseen_bytes_max,
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_stretch_may_be_at_an_end() {
        let longest = |seen: &[(u64, u64)]| {
            let seen = seen.iter().map(|&(start, end)| start..end);
            longest_unseen(seen, 100)
        };
        assert_eq!(longest(&[(0, 10), (40, 50), (90, 100)]), 40);
        assert_eq!(longest(&[(0, 10), (20, 30)]), 70);
        assert_eq!(longest(&[(60, 100)]), 60);
        assert_eq!(longest(&[(0, 50), (10, 20), (50, 100)]), 0);
        assert_eq!(longest(&[]), 100);
    }

    #[test]
    fn a_budget_is_advised_that_brings_samples_closer() {
        let plan = ProfilePlan::new([""; 0]);
        let of = |size_bytes: u64| SampledPlaces {
            size_bytes,
            sample_bytes: 50_000_000,
            visit_ns: 500_000_000,
            samples_ns: 500_000_000,
            curves: 1,
            unseen_bytes: size_bytes / 66 - 50_000_000,
        };
        // Samples get longer before there are more of them.
        let found = closer(&plan, &of(40_000_000_000)).unwrap();
        assert_eq!(found.budget_s, 480.0);
        assert!(
            (190e6..230e6).contains(&(found.unseen_bytes_max as f64)),
            "{found:?}"
        );
        assert!(closer(&plan, &of(40_000_000_000_000)).is_some());
    }
}
