//! Estimates how noisy the points of a kind are, and how much these noises differ: a point with few
//! readings borrows from its kind. Pure; the judge of a sweep calls it. G. K. Smyth, "Linear models
//! and empirical Bayes methods for assessing differential expression in microarray experiments"
//! (2004), section 6.2.

/// A kind with fewer points says nothing about noise.
const POINTS_MIN: usize = 3;
/// The noise of a kind never counts as more readings than this.
const DEGREES_MAX: f64 = 40.0;
const DEGREES_MIN: f64 = 2.0;
/// A point's own variance counts from this many degrees of freedom on.
const OWN_DEGREES_MIN: f64 = 0.25;
/// Noise is never believed to be smaller than this part of a rate.
const NOISE_MIN: f64 = 5e-4;
/// A smaller variance is rounding.
const VARIANCE_MIN: f64 = 1e-14;

/// A variance, and the degrees of freedom that it counts for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NoiseEstimate {
    pub variance: f64,
    pub degrees: f64,
}

impl NoiseEstimate {
    /// The noise for squares that were left with these degrees of freedom, if these are enough.
    pub fn of_squares(squares: f64, degrees: f64) -> Option<NoiseEstimate> {
        (degrees > OWN_DEGREES_MIN).then(|| NoiseEstimate {
            variance: squares / degrees,
            degrees,
        })
    }

    /// The noise that the points of a kind have in common; `None` if they are too few.
    pub fn of_kind(points: &[NoiseEstimate]) -> Option<NoiseEstimate> {
        if points.len() < POINTS_MIN {
            return None;
        }
        let count = points.len() as f64;
        let degrees = points.iter().map(|one| one.degrees).sum::<f64>() / count;
        let log = |one: &NoiseEstimate| one.variance.max(VARIANCE_MIN).ln();
        let mean = points.iter().map(log).sum::<f64>() / count;
        let squares = points.iter().map(|one| (log(one) - mean).powi(2));
        let scatter = squares.sum::<f64>() / (count - 1.0);
        // This much the logarithms of variances vary by themselves.
        let by_chance = points.iter().map(|one| trigamma(one.degrees / 2.0));
        let beyond = scatter - by_chance.sum::<f64>() / count;
        // A few points cannot show how alike they are.
        let most = DEGREES_MAX.min(2.0 * count);
        let mut variances: Vec<f64> = points.iter().map(|one| one.variance).collect();
        variances.sort_by(f64::total_cmp);
        // The median of chi-square over its degrees, by Wilson and Hilferty; it is poor below one.
        let below_mean = (1.0 - 2.0 / (9.0 * degrees.max(1.0))).powi(3);
        Some(NoiseEstimate {
            variance: variances[points.len() / 2] / below_mean,
            degrees: degrees_that_scatter(beyond, most),
        })
    }

    /// The noise that is believed: it is never as small as it may look by chance.
    pub fn believed(self) -> NoiseEstimate {
        NoiseEstimate {
            variance: self.variance.max(NOISE_MIN * NOISE_MIN),
            ..self
        }
    }

    /// Both together; `None` if there is neither.
    pub fn joined(
        own: Option<NoiseEstimate>,
        kind: Option<NoiseEstimate>,
    ) -> Option<NoiseEstimate> {
        let (Some(own), Some(kind)) = (own, kind) else {
            return own.or(kind);
        };
        let degrees = own.degrees + kind.degrees;
        let sum = own.variance * own.degrees + kind.variance * kind.degrees;
        Some(NoiseEstimate {
            variance: sum / degrees,
            degrees,
        })
    }
}

/// The degrees of freedom with which logarithms of variances vary by `variance`.
fn degrees_that_scatter(variance: f64, most: f64) -> f64 {
    if variance <= trigamma(most / 2.0) {
        return most;
    }
    let (mut low, mut high) = (DEGREES_MIN, most);
    for _ in 0..40 {
        let middle = f64::midpoint(low, high);
        if trigamma(middle / 2.0) > variance {
            low = middle;
        } else {
            high = middle;
        }
    }
    high
}

/// The second derivative of the logarithm of the gamma function, for positive arguments.
fn trigamma(mut argument: f64) -> f64 {
    let mut sum = 0.0;
    while argument < 6.0 {
        sum += 1.0 / (argument * argument);
        argument += 1.0;
    }
    let inverse = 1.0 / argument;
    let square = inverse * inverse;
    sum + inverse * (1.0 + inverse / 2.0 + square * (1.0 / 6.0 - square / 30.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_trigamma_function_has_its_known_values() {
        let pi_squared = std::f64::consts::PI.powi(2);
        assert!((trigamma(1.0) - pi_squared / 6.0).abs() < 1e-6);
        assert!((trigamma(0.5) - pi_squared / 2.0).abs() < 1e-6);
        assert!((trigamma(10.0) - 0.105_166_3).abs() < 1e-6);
    }

    #[test]
    fn points_alike_are_worth_more_than_points_that_differ() {
        let noise = |variance| NoiseEstimate {
            variance,
            degrees: 3.0,
        };
        let alike = NoiseEstimate::of_kind(&[noise(1.0); 30]).unwrap();
        assert!(alike.degrees > 39.0, "{alike:?}");
        let apart: Vec<NoiseEstimate> =
            (0..30).map(|power| noise(10_f64.powi(power % 5))).collect();
        let apart = NoiseEstimate::of_kind(&apart).unwrap();
        assert!(apart.degrees < 2.1, "{apart:?}");
        assert_eq!(NoiseEstimate::of_kind(&[noise(1.0); 2]), None);
    }
}
