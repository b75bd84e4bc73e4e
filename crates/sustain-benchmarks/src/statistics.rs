//! Medians and their intervals. Pure; called by `pairs.rs` and the groups.
//!
//! The interval is the exact one of order statistics: of n independent values the k-th smallest
//! and the k-th largest enclose the median with probability 1 - 2 P(X < k), X binomial (n, 1/2),
//! whatever the distribution (H. A. David and H. N. Nagaraja, "Order Statistics", 2003, 7.1).
//! k is the largest for which that is at least 95 %; below six values even the smallest and the
//! largest enclose less, and then the table says how much.

/// The least probability with which an interval is to hold the median.
const COVERAGE_WANTED: f64 = 0.95;

/// A median with its interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Median {
    pub(crate) value: f64,
    pub(crate) low: f64,
    pub(crate) high: f64,
    /// Probability that the interval holds the true median.
    pub(crate) coverage: f64,
}

impl Median {
    /// Of at least one value.
    pub(crate) fn of(values: &[f64]) -> Median {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let count = sorted.len();
        let middle = count / 2;
        let value = if count.is_multiple_of(2) {
            f64::midpoint(sorted[middle - 1], sorted[middle])
        } else {
            sorted[middle]
        };
        let (rank, coverage) = rank(count);
        Median {
            value,
            low: sorted[rank - 1],
            high: sorted[count - rank],
            coverage,
        }
    }

    /// Whether the interval is one of 95 %.
    pub(crate) fn is_sure(self) -> bool {
        self.coverage >= COVERAGE_WANTED
    }
}

/// Which order statistics from either end make the interval, and its coverage.
fn rank(count: usize) -> (usize, f64) {
    let mut probability = 0.5f64.powi(count as i32);
    let mut below = probability;
    let mut best = (1, 1.0 - 2.0 * below);
    for rank in 2..=count.div_ceil(2) {
        probability *= (count - rank + 2) as f64 / (rank - 1) as f64;
        below += probability;
        let coverage = 1.0 - 2.0 * below;
        if coverage < COVERAGE_WANTED {
            break;
        }
        best = (rank, coverage);
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_of_twelve_is_from_the_third_to_the_tenth() {
        let values: Vec<f64> = (1..=12).rev().map(f64::from).collect();
        let median = Median::of(&values);
        assert_eq!((median.value, median.low, median.high), (6.5, 3.0, 10.0));
        // 1 - 2 (1 + 12 + 66) / 4096
        assert!((median.coverage - 0.961_425_781_25).abs() < 1e-12);
        assert!(median.is_sure());
    }

    #[test]
    fn below_six_values_the_interval_is_all_of_them_and_says_how_sure_it_is() {
        let median = Median::of(&[3.0, 1.0, 2.0]);
        assert_eq!((median.value, median.low, median.high), (2.0, 1.0, 3.0));
        assert!((median.coverage - 0.75).abs() < 1e-12);
        assert!(!median.is_sure());
        assert!(Median::of(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]).is_sure());
    }

    #[test]
    fn ranks_are_those_of_the_published_tables() {
        let ranks: Vec<usize> = [6, 9, 12, 20, 50].map(|count| rank(count).0).to_vec();
        assert_eq!(ranks, [1, 2, 3, 6, 18]);
    }
}
