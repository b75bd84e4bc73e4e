//! Cuts a series into stretches of one level each, by least squares with a price on every cut,
//! solved exactly. Pure; the fit calls it with logarithms of rates in order of position.
//!
//! Optimal partitioning: B. Jackson et al., "An algorithm for optimal partitioning of data on an
//! interval", IEEE Signal Processing Letters 12, 2005. PELT (R. Killick, P. Fearnhead, I. A.
//! Eckley, "Optimal detection of changepoints with a linear computational cost", JASA 107, 2012)
//! only prunes it, which is not needed for a thousand values. The price is that of N. R. Zhang and
//! D. O. Siegmund, "A modified Bayes information criterion", Biometrics 63, 2007: a cut that may be
//! anywhere costs more than the two parameters that it adds, about three times the logarithm of the
//! count.

use std::ops::Range;

/// The price of a stretch, in logarithms of the count.
pub(super) const PRICE: f64 = 3.0;

/// The stretches, in order, without gaps. `noise` is the standard deviation of a value around its
/// level, above zero.
pub(super) fn partition(values: &[f64], noise: f64) -> Vec<Range<usize>> {
    let count = values.len();
    let price = PRICE * (count.max(2) as f64).ln() * noise * noise;
    let sums = SquaredDistances::of(values);
    // Each entry has the least cost of the first `end` values, and where the last stretch begins.
    let mut best = vec![(0.0, 0)];
    for end in 1..=count {
        let with_last_from = |from: usize| (best[from].0 + sums.squares(from..end) + price, from);
        let costs = (0..end).map(with_last_from);
        let least = costs.min_by(|one, other| one.0.total_cmp(&other.0));
        best.push(least.expect("an end has a beginning before it"));
    }
    let mut stretches = Vec::new();
    let mut end = count;
    while end > 0 {
        let from = best[end].1;
        stretches.push(from..end);
        end = from;
    }
    stretches.reverse();
    stretches
}

/// The squared distances of a stretch's values from their mean, in constant time.
struct SquaredDistances {
    of_values: Vec<f64>,
    of_squares: Vec<f64>,
}

impl SquaredDistances {
    fn of(values: &[f64]) -> SquaredDistances {
        // Around the mean the squares stay small, and so do rounding errors.
        let mean = values.iter().sum::<f64>() / values.len().max(1) as f64;
        let mut sums = SquaredDistances {
            of_values: vec![0.0],
            of_squares: vec![0.0],
        };
        let (mut sum, mut square) = (0.0, 0.0);
        for value in values {
            sum += value - mean;
            square += (value - mean).powi(2);
            sums.of_values.push(sum);
            sums.of_squares.push(square);
        }
        sums
    }

    fn squares(&self, stretch: Range<usize>) -> f64 {
        let sum = self.of_values[stretch.end] - self.of_values[stretch.start];
        let squares = self.of_squares[stretch.end] - self.of_squares[stretch.start];
        (squares - sum * sum / stretch.len() as f64).max(0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_found_where_they_are() {
        let mut values = vec![1.0; 20];
        values.extend(vec![0.8; 5]);
        values.extend(vec![0.5; 30]);
        assert_eq!(partition(&values, 0.01), [0..20, 20..25, 25..55]);
    }

    #[test]
    fn what_the_noise_explains_is_one_stretch() {
        let values: Vec<f64> = (0..100)
            .map(|index| f64::from((index * 37) % 11) / 100.0)
            .collect();
        let stretches = partition(&values, 0.032);
        assert_eq!((stretches.len(), stretches[0].len()), (1, 100));
    }

    #[test]
    fn nothing_and_one_value_are_no_trouble() {
        assert!(partition(&[], 0.01).is_empty());
        assert_eq!(partition(&[3.0], 0.01).len(), 1);
    }

    #[test]
    fn no_value_is_lost() {
        let values: Vec<f64> = (0..50).map(|index| f64::from(index).sin()).collect();
        let stretches = partition(&values, 0.1);
        assert_eq!(stretches.first().map(|first| first.start), Some(0));
        assert_eq!(stretches.last().map(|last| last.end), Some(50));
        assert!(
            stretches
                .windows(2)
                .all(|pair| pair[0].end == pair[1].start)
        );
    }
}
