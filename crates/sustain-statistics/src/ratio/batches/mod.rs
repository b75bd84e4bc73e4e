//! The ratio of two correlated series of a run each, by batch means. Pure; `conclude` calls it.
//!
//! Neighbouring seconds of a disk are alike, so a test on single intervals calls every other pair
//! of equal runs different. Means of ten long batches are nearly independent (B. Schmeiser, "Batch
//! size effects in the analysis of simulation output", Operations Research 30, 1982). What is left
//! of their correlation, r, widens: the variance of the mean is s^2/n * (1+r)/(1-r), the factor of
//! a first-order autoregression. An estimate of r from n batches is too small by about (1+3r)/n
//! (F. H. C. Marriott and J. A. Pope, "Bias in the estimation of autocorrelations", Biometrika 41,
//! 1954); that is added first, so that short runs do not look more certain than they are.
//!
//! A block bootstrap (D. N. Politis and J. P. Romano, 1994) would need more blocks than half a
//! minute has; ten batches also give the interval of the sustained rate, so all figures agree.

mod stretch;

use super::effect::Effect;
use crate::judge::batch_means::{BATCHES, BatchMeans};
use crate::judge::curve::CumulativeBytes;

/// The mean of a run is never believed to be known better than to this part of itself.
const STANDARD_ERROR_MIN: f64 = 5e-4;
/// The widening factor has a pole at 1; above this correlation, ten batches say nothing.
const CORRELATION_MAX: f64 = 0.9;
/// How many times the bias is added to the correlation of the batches of one of two series.
const BIAS_OF_ONE: f64 = 1.0;
/// The same for the single series of differences, whose estimate no second series averages out.
const BIAS_OF_PAIRS: f64 = 2.0;
const DEGREES: f64 = (BATCHES - 1) as f64;

/// A mean and the variance of that mean.
#[derive(Debug, Clone, Copy, PartialEq)]
struct BatchMean {
    value: f64,
    variance: f64,
}

impl BatchMean {
    fn of(batches: &[f64; BATCHES], bias_times: f64) -> BatchMean {
        let means = BatchMeans::of(batches);
        let bias = (1.0 + 3.0 * means.lag_1.max(0.0)) / BATCHES as f64;
        let correlation = (means.lag_1 + bias_times * bias).clamp(0.0, CORRELATION_MAX);
        let factor = (1.0 + correlation) / (1.0 - correlation);
        BatchMean {
            value: means.mean,
            variance: factor * means.standard_error.powi(2),
        }
    }

    /// The variance as a part of the mean, squared.
    fn relative_variance(&self) -> f64 {
        (self.variance / self.value.powi(2)).max(STANDARD_ERROR_MIN.powi(2))
    }
}

/// B's mean rate over A's, each in its own window; `None` if one of them moved no bytes.
pub fn ratio_of_rates(
    a: (&CumulativeBytes, f64),
    b: (&CumulativeBytes, f64),
) -> Option<(Effect, [f64; 2])> {
    let rates = |(curve, from_s): (&CumulativeBytes, f64)| -> Option<BatchMean> {
        let has_batches = curve.knots_between(from_s, curve.end_s()) + 1 >= BATCHES;
        let batches = curve.batch_rates(from_s, curve.end_s());
        let mean = BatchMean::of(&batches, BIAS_OF_ONE);
        let parts = batches.map(|rate| rate / mean.value);
        let of_stretch = stretch::variance(&parts, stretch::OF_ONE) * mean.value.powi(2);
        let mean = BatchMean {
            variance: mean.variance + of_stretch,
            ..mean
        };
        (has_batches && mean.value > 0.0).then_some(mean)
    };
    let (a, b) = (rates(a)?, rates(b)?);
    let (of_a, of_b) = (a.relative_variance(), b.relative_variance());
    let effect = Effect {
        log: (b.value / a.value).ln(),
        variance: of_a + of_b,
        degrees: welch(of_a, of_b),
    };
    Some((effect, [a.value, b.value]))
}

/// B's typical value over A's, where a value may be ten times another: ratios of geometric
/// means.
/// None with too few values.
pub fn ratio_of_typical(a: &[f64], b: &[f64]) -> Option<(Effect, [f64; 2])> {
    let typical = |values: &[f64]| -> Option<BatchMean> {
        if values.len() < BATCHES || values.iter().any(|value| *value <= 0.0) {
            return None;
        }
        let edge = |batch: usize| batch * values.len() / BATCHES;
        let batches = std::array::from_fn(|batch| {
            let own = &values[edge(batch)..edge(batch + 1)];
            own.iter().map(|value| value.ln()).sum::<f64>() / own.len() as f64
        });
        Some(BatchMean::of(&batches, BIAS_OF_ONE))
    };
    let (a, b) = (typical(a)?, typical(b)?);
    let floor = STANDARD_ERROR_MIN.powi(2);
    let (of_a, of_b) = (a.variance.max(floor), b.variance.max(floor));
    let effect = Effect {
        log: b.value - a.value,
        variance: of_a + of_b,
        degrees: welch(of_a, of_b),
    };
    Some((effect, [a.value.exp(), b.value.exp()]))
}

/// The degrees of freedom of a sum of two variances (B. L. Welch 1947, F. E. Satterthwaite
/// 1946).
fn welch(of_a: f64, of_b: f64) -> f64 {
    (of_a + of_b).powi(2) * DEGREES / (of_a * of_a + of_b * of_b)
}

/// B's rate over A's for the bytes that both transferred, piece by piece: changes that both go
/// through alike, such as the zones of a disk or a cache that fills, do not count as noise. A
/// stretch in which one of them was faster counts as one that could have lasted for any part of
/// the run. `None` with too few intervals.
pub fn ratio_over_same_bytes(
    a: &CumulativeBytes,
    b: &CumulativeBytes,
) -> Option<(Effect, [f64; 2])> {
    let bytes = a.total_bytes().min(b.total_bytes());
    let has_batches = |curve: &CumulativeBytes| {
        let until_s = curve.time_at(bytes);
        curve.knots_between(curve.start_s(), until_s) + 1 >= BATCHES
    };
    if bytes <= 0.0 || !has_batches(a) || !has_batches(b) {
        return None;
    }
    let seconds = |curve: &CumulativeBytes| -> [f64; BATCHES] {
        let edge = |index: usize| curve.time_at(bytes * index as f64 / BATCHES as f64);
        std::array::from_fn(|index| edge(index + 1) - edge(index))
    };
    let (of_a, of_b) = (seconds(a), seconds(b));
    let mean = |seconds: &[f64; BATCHES]| seconds.iter().sum::<f64>() / BATCHES as f64;
    let (mean_a, mean_b) = (mean(&of_a), mean(&of_b));
    // The first-order term of the ratio of sums; the mean of these terms is zero.
    let differences = std::array::from_fn(|index| of_a[index] / mean_a - of_b[index] / mean_b);
    let found = BatchMean::of(&differences, BIAS_OF_PAIRS);
    let effect = Effect {
        log: (mean_a / mean_b).ln(),
        variance: found.variance.max(2.0 * STANDARD_ERROR_MIN.powi(2))
            + stretch::variance(&differences, stretch::OF_PAIR),
        degrees: DEGREES,
    };
    let rate = |mean_s: f64| bytes / (mean_s * BATCHES as f64);
    Some((effect, [rate(mean_a), rate(mean_b)]))
}

#[cfg(test)]
mod tests;
