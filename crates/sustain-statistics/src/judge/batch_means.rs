//! A mean with its confidence interval from ten batches of equal time. Called by `steady`.
//! Neighbouring seconds of a disk are alike, so an interval from single samples would be far too
//! narrow; means of long batches are nearly independent (B. Schmeiser, "Batch size effects in the
//! analysis of simulation output", Operations Research 30, 1982: 10 to 30 batches suffice;
//! A. Law, "Simulation Modeling and Analysis", batch means).
//!
//! mean = sum(y)/n, s^2 = sum((y - mean)^2)/(n-1), half width = t(0.975, n-1) * s / sqrt(n). Lag-1
//! correlation r = sum((y_i - mean)(y_{i+1} - mean)) / sum((y_i - mean)^2). If the batches are
//! still alike (r above 0.3, about one standard error at n = 10) the half width is multiplied by
//! sqrt((1+r)/(1-r)), the factor of a first-order autoregression.

/// Batches in a window.
pub const BATCHES: usize = 10;
/// Student's t for 95 %, two-sided, with 9 degrees of freedom.
const STUDENT_T: f64 = 2.262_157;
/// Above this correlation the batches are called alike.
const LAG_1_ALIKE: f64 = 0.3;
/// The widening factor has a pole at 1; above this correlation, ten batches say nothing.
const LAG_1_MAX: f64 = 0.9;

/// Mean of a window and how well it is known.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BatchMeans {
    /// Mean of the batches, in their unit.
    pub mean: f64,
    /// Half of the 95 % interval, in the same unit.
    pub half_width: f64,
    /// The standard error of the mean if the batches were independent, in the same unit.
    pub standard_error: f64,
    /// Lag-1 correlation of the batches, 0 if they are all equal.
    pub lag_1: f64,
    /// Whether the half width was multiplied because the batches are alike.
    pub widened: bool,
}

impl BatchMeans {
    /// Computes the mean of the rates of ten batches of equal time.
    #[must_use]
    pub fn of(batches: &[f64; BATCHES]) -> Self {
        let count = BATCHES as f64;
        let mean = batches.iter().sum::<f64>() / count;
        let squares: f64 = batches.iter().map(|batch| (batch - mean).powi(2)).sum();
        let products: f64 = batches
            .windows(2)
            .map(|pair| (pair[0] - mean) * (pair[1] - mean))
            .sum();
        let lag_1 = if squares > 0.0 {
            products / squares
        } else {
            0.0
        };
        let widened = lag_1 > LAG_1_ALIKE;
        let factor = if widened {
            let lag_1 = lag_1.min(LAG_1_MAX);
            ((1.0 + lag_1) / (1.0 - lag_1)).sqrt()
        } else {
            1.0
        };
        let standard_error = (squares / (count - 1.0) / count).sqrt();
        Self {
            mean,
            half_width: factor * STUDENT_T * standard_error,
            standard_error,
            lag_1,
            widened,
        }
    }

    /// The 95 % interval; a rate is never below zero.
    #[must_use]
    pub fn interval(&self) -> [f64; 2] {
        [
            (self.mean - self.half_width).max(0.0),
            self.mean + self.half_width,
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::super::series::SeriesNoise;
    use super::*;

    #[test]
    fn known_interval_of_alternating_batches() {
        let batches = std::array::from_fn(|index| if index % 2 == 0 { 90.0 } else { 110.0 });
        let means = BatchMeans::of(&batches);
        // s = 10 * sqrt(10/9), s/sqrt(10) = 3.3333, times 2.262157.
        assert_eq!(means.mean, 100.0);
        assert!(
            (means.half_width - 7.540_523).abs() < 1e-5,
            "{}",
            means.half_width
        );
        assert!((means.lag_1 + 0.9).abs() < 1e-12);
        assert!(!means.widened);
    }

    #[test]
    fn batches_that_drift_widen_the_interval() {
        let means = BatchMeans::of(&std::array::from_fn(|index| 100.0 + index as f64));
        assert!((means.lag_1 - 0.7).abs() < 1e-12);
        assert!(means.widened);
        let plain = STUDENT_T * (82.5f64 / 9.0 / 10.0).sqrt();
        assert!((means.half_width / plain - (1.7f64 / 0.3).sqrt()).abs() < 1e-9);
    }

    #[test]
    fn equal_batches_have_no_width() {
        let means = BatchMeans::of(&[5.0; BATCHES]);
        assert_eq!(
            (means.half_width, means.lag_1, means.interval()),
            (0.0, 0.0, [5.0, 5.0])
        );
    }

    #[test]
    fn covers_the_true_mean_as_often_as_it_says() {
        for (memory, least, most) in [(0.0, 0.94, 0.985), (0.8, 0.93, 0.985)] {
            let mut noise = SeriesNoise::new(7);
            let mut covered = 0;
            for _ in 0..2000 {
                let mut state = 0.0;
                let batches = std::array::from_fn(|_| {
                    let mut sum = 0.0;
                    for _ in 0..30 {
                        state = memory * state + noise.normal();
                        sum += state;
                    }
                    1000.0 + sum / 30.0
                });
                let [low, high] = BatchMeans::of(&batches).interval();
                covered += usize::from(low <= 1000.0 && 1000.0 <= high);
            }
            let share = f64::from(u32::try_from(covered).expect("small")) / 2000.0;
            assert!(
                share > least && share < most,
                "memory {memory}: covered {share}"
            );
        }
    }
}
