//! Intervals that stay valid at every look. A trial looks after each pair of runs and ends as soon
//! as a difference shows; with Student's intervals that would call equal settings different in most
//! long trials. The intervals here hold at all looks together. Pure; `trial` calls it.
//!
//! With n differences of logarithms, mean m and standard deviation s, the likelihood ratio of the
//! t statistic, mixed over effects d/sigma ~ N(0, g), is
//!   R = (1+n g)^(-1/2) * [(1 + t^2/v) / (1 + t^2/(v (1+n g)))]^(n/2),
//!   v = n-1, t^2 = n (m-d)^2/s^2,
//! a martingale under d, whatever sigma is: the probability that it ever exceeds 1/a is a (J. Ville
//! 1939). All d with R < 1/a are the interval. T. L. Lai, "On confidence sequences", Annals of
//! Statistics 4 (1976) 265-280; M. Goenen and others, "The Bayesian two-sample t test", The
//! American Statistician 59 (2005) 252-257, for the closed form; H. Wang and A. Ramdas,
//! "Anytime-valid t-tests and confidence sequences for Gaussian means with unknown variance",
//! Sequential Analysis 44 (2025); R. Johari and others, "Always valid inference", Operations
//! Research 70 (2022).

/// The parameter g: effects are expected to be some times the noise of one pair. A wrong guess
/// costs only width.
const EFFECTS: f64 = 16.0;
/// The part of trials in which an interval may ever miss the true value.
const OUTSIDE: f64 = 0.05;
/// The noise of a run is never believed to be smaller than this part of its rate.
const NOISE_MIN: f64 = 5e-4;
/// The 80th percentile of the normal distribution, for a power of four trials in five.
const POWER: f64 = 0.841_6;

/// What the pairs so far say about the logarithm of B over A.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SequentialEstimate {
    /// The mean of the differences of logarithms.
    pub mean: f64,
    /// Half the width of the interval that holds at all looks; `None` while there are too few
    /// pairs.
    pub half_width: Option<f64>,
    standard_error: f64,
}

impl SequentialEstimate {
    /// `None` without a pair.
    pub fn of(differences: &[f64]) -> Option<SequentialEstimate> {
        if differences.is_empty() {
            return None;
        }
        let count = differences.len() as f64;
        let degrees = count - 1.0;
        let mean = differences.iter().sum::<f64>() / count;
        let squares = differences.iter().map(|one| (one - mean).powi(2));
        // Each difference has two runs in it.
        let variance = (squares.sum::<f64>() / degrees.max(1.0)).max(2.0 * NOISE_MIN * NOISE_MIN);
        let standard_error = (variance / count).sqrt();
        Some(SequentialEstimate {
            mean,
            half_width: statistic_max(count).map(|t| t * standard_error),
            standard_error,
        })
    }

    /// The interval of the ratio.
    pub fn interval(&self) -> Option<[f64; 2]> {
        let half = self.half_width?;
        Some([(self.mean - half).exp(), (self.mean + half).exp()])
    }

    /// Whether the ratio differs from one, at whichever pair this is asked.
    pub fn is_shown(&self) -> bool {
        self.half_width.is_some_and(|half| self.mean.abs() > half)
    }

    /// Whether the whole interval lies within this part of one.
    pub fn is_within(&self, part: f64) -> bool {
        self.interval()
            .is_some_and(|[low, high]| low >= 1.0 - part && high <= 1.0 + part)
    }

    /// The smallest part by which B could have been slower than A and would have been seen by now
    /// in four trials of five.
    pub fn resolution(&self) -> Option<f64> {
        let half = self.half_width?;
        Some(-(-half - POWER * self.standard_error).exp_m1())
    }
}

/// The |t| at which the ratio reaches 1/a; `None` if no t does with so few pairs.
fn statistic_max(count: f64) -> Option<f64> {
    let degrees = count - 1.0;
    let spread = 1.0 + count * EFFECTS;
    let bound = (spread.sqrt() / OUTSIDE).powf(2.0 / count);
    (degrees > 0.0 && bound < spread)
        .then(|| (degrees * (bound - 1.0) / (1.0 - bound / spread)).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::series::SeriesNoise;
    use crate::judge::student::t_two_sided;

    /// The pair after which a trial of at most `pairs` ends with a difference, if it does.
    fn shown_after(pairs: usize, mut next: impl FnMut() -> f64) -> Option<usize> {
        let mut differences = Vec::new();
        (1..=pairs).find(|_| {
            differences.push(next());
            SequentialEstimate::of(&differences).unwrap().is_shown()
        })
    }

    /// A trial that ends as soon as Student's interval leaves zero out.
    fn is_peeked(pairs: usize, mut next: impl FnMut() -> f64) -> bool {
        let mut differences = vec![next(), next(), next()];
        (3..pairs).any(|_| {
            differences.push(next());
            let standing = SequentialEstimate::of(&differences).unwrap();
            let t = t_two_sided(OUTSIDE, differences.len() as u32 - 1);
            standing.mean.abs() > t * standing.standard_error
        })
    }

    #[test]
    fn looking_after_each_pair_is_wrong_in_one_trial_of_twenty_at_most() {
        let mut noise = SeriesNoise::new(21);
        let (mut wrong, mut peeked) = (0, 0);
        for _ in 0..1000 {
            wrong += u32::from(shown_after(100, || 0.02 * noise.normal()).is_some());
            peeked += u32::from(is_peeked(100, || 0.02 * noise.normal()));
        }
        assert!(wrong <= 50, "{wrong} of 1000");
        assert!(
            peeked >= 250,
            "{peeked} of 1000: peeking is what this prevents"
        );
    }

    #[test]
    fn noise_that_drifts_or_has_outliers_is_no_difference_either() {
        let mut noise = SeriesNoise::new(22);
        let (mut drifting, mut rough) = (0, 0);
        for _ in 0..500 {
            // Runs that slow down by 0.1 % each, in the order ABBA BAAB.
            let mut pair = 0_u32;
            let drift = shown_after(50, || {
                let sign = if pair.count_ones().is_multiple_of(2) {
                    1.0
                } else {
                    -1.0
                };
                pair += 1;
                -0.001 * sign + 0.01 * noise.normal()
            });
            drifting += u32::from(drift.is_some());
            let outliers = shown_after(50, || {
                let factor = if noise.normal() > 1.6 { 5.0 } else { 1.0 };
                0.01 * factor * noise.normal()
            });
            rough += u32::from(outliers.is_some());
        }
        assert!(drifting <= 25, "{drifting} of 500");
        assert!(rough <= 25, "{rough} of 500");
    }

    #[test]
    fn a_large_difference_is_shown_soon_and_a_small_one_later() {
        let mut noise = SeriesNoise::new(23);
        let mut median = |difference: f64| {
            let mut pairs: Vec<usize> = (0..200)
                .map(|_| shown_after(200, || difference + 0.014 * noise.normal()).unwrap_or(999))
                .collect();
            pairs.sort_unstable();
            pairs[100]
        };
        let (large, middle, small) = (median(0.10), median(0.05), median(0.014));
        assert!(large <= 5, "{large}");
        assert!((4..=8).contains(&middle), "{middle}");
        assert!((12..=40).contains(&small), "{small}");
    }

    #[test]
    fn the_interval_is_where_the_ratio_reaches_its_bound() {
        let differences = [0.01, 0.03, 0.02, 0.015, 0.03];
        let standing = SequentialEstimate::of(&differences).unwrap();
        let (n, g): (f64, f64) = (5.0, EFFECTS);
        let x = (standing.half_width.unwrap() / standing.standard_error).powi(2) / (n - 1.0);
        let ratio = ((1.0 + x) / (1.0 + x / (1.0 + n * g))).powf(n / 2.0) / (1.0 + n * g).sqrt();
        assert!((ratio - 20.0).abs() < 1e-9, "{ratio}");
        assert_eq!(SequentialEstimate::of(&[]), None);
        assert_eq!(
            SequentialEstimate::of(&differences[..2])
                .unwrap()
                .half_width,
            None
        );
    }

    #[test]
    fn equal_runs_without_noise_are_alike_and_not_different() {
        let standing = SequentialEstimate::of(&[0.0; 4]).unwrap();
        assert!(
            !standing.is_shown() && standing.is_within(0.01),
            "{standing:?}"
        );
        assert!(!standing.is_within(0.001), "{standing:?}");
        assert!(standing.resolution().unwrap() < 0.005);
    }
}
