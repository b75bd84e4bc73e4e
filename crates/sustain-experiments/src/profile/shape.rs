//! Decides the shape of a curve: zones, a smooth fall, or no effect of the position at all. Pure.
//!
//! Stretches, at their price (`partition`), and a parabola are compared by the Schwarz criterion
//! (G. Schwarz, "Estimating the dimension of a model", Annals of Statistics 6, 1978): if the steps
//! are no larger than the noise, the parabola needs fewer parameters.

use std::ops::Range;

use sustain_document::profile::CurveShape;

use super::partition::PRICE;

/// Fewer positions say nothing about a shape.
const PLACES_MIN: usize = 4;
/// A smaller effect of the position is not mentioned.
const FLAT: f64 = 0.02;
/// An effect is real above so many standard errors.
const ERRORS: f64 = 3.0;
/// Number of standard errors that a 95 % interval adds to the effect seen.
const ERRORS_95: f64 = 2.0;
const RESOLUTION_MIN: f64 = 0.01;

/// The shape, and the smallest effect that would have been seen. `logs` are the logarithms of the
/// rates at the positions, `stretches` are the pieces into which they were cut, and `noise` is the
/// standard deviation of a value.
pub(super) fn shape(
    positions: &[f64],
    logs: &[f64],
    stretches: &[Range<usize>],
    noise: f64,
) -> (CurveShape, f64) {
    let count = logs.len();
    if count < PLACES_MIN {
        return (CurveShape::Unknown, 1.0);
    }
    let line = FittedLine::through(positions, logs);
    let error = noise * line.error_per_noise;
    let resolution = (line.rise.abs() + ERRORS_95 * error).max(RESOLUTION_MIN);
    let least_seen = (ERRORS * error).max(RESOLUTION_MIN);
    let levels = stretches.iter().map(|stretch| mean(&logs[stretch.clone()]));
    let (least, most) = levels.fold((f64::MAX, f64::MIN), |(least, most), level| {
        (least.min(level), most.max(level))
    });
    let is_level = most - least < FLAT && line.rise.abs() < FLAT.max(ERRORS * error);
    // A curve that one level explains best has no two ends that could differ.
    if is_level || stretches.len() == 1 {
        return (CurveShape::Flat, resolution.max(most - least));
    }
    let logarithm = (count as f64).ln();
    let variance = noise * noise;
    let pieces: f64 = stretches
        .iter()
        .map(|stretch| squares(&logs[stretch.clone()]))
        .sum();
    let steps = pieces / variance + PRICE * stretches.len() as f64 * logarithm;
    let smooth = parabola_squares(positions, logs) / variance + 3.0 * logarithm;
    if smooth < steps {
        (CurveShape::Smooth, least_seen)
    } else {
        (CurveShape::Zones, least_seen)
    }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

fn squares(values: &[f64]) -> f64 {
    let mean = mean(values);
    values.iter().map(|value| (value - mean).powi(2)).sum()
}

/// A straight line by least squares.
pub(super) struct FittedLine {
    /// The rise from the first position to the last.
    pub(super) rise: f64,
    /// The standard error of the rise over that of a value.
    pub(super) error_per_noise: f64,
}

impl FittedLine {
    pub(super) fn through(positions: &[f64], values: &[f64]) -> FittedLine {
        let (center, level) = (mean(positions), mean(values));
        let spread: f64 = positions.iter().map(|at| (at - center).powi(2)).sum();
        let pairs = positions.iter().zip(values);
        let product: f64 = pairs
            .map(|(at, value)| (at - center) * (value - level))
            .sum();
        let span = positions.last().copied().unwrap_or(0.0) - positions.first().unwrap_or(&0.0);
        if spread <= 0.0 {
            return FittedLine {
                rise: 0.0,
                error_per_noise: 0.0,
            };
        }
        FittedLine {
            rise: product / spread * span,
            error_per_noise: span / spread.sqrt(),
        }
    }
}

/// The squared distances from the best parabola, by orthogonal polynomials on the positions.
fn parabola_squares(positions: &[f64], values: &[f64]) -> f64 {
    let center = mean(positions);
    let first: Vec<f64> = positions.iter().map(|at| at - center).collect();
    let spread: f64 = first.iter().map(|at| at * at).sum();
    let cube: f64 = first.iter().map(|at| at.powi(3)).sum();
    let count = positions.len() as f64;
    let second: Vec<f64> = first
        .iter()
        .map(|at| at * at - cube / spread.max(f64::MIN_POSITIVE) * at - spread / count)
        .collect();
    let explained = |basis: &[f64]| {
        let size: f64 = basis.iter().map(|value| value * value).sum();
        let along: f64 = basis
            .iter()
            .zip(values)
            .map(|(one, value)| one * value)
            .sum();
        if size > 0.0 {
            along * along / size
        } else {
            0.0
        }
    };
    (squares(values) - explained(&first) - explained(&second)).max(0.0)
}

#[cfg(test)]
mod tests {
    use super::super::partition::partition;
    use super::*;

    fn shape_of(rate: impl Fn(f64) -> f64, noise: f64) -> (CurveShape, f64) {
        let positions: Vec<f64> = (0..100).map(|index| f64::from(index) / 99.0).collect();
        // Normal enough, and alike every time.
        let mut state = 1_u64;
        let mut uniform = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 11) as f64 / (1_u64 << 53) as f64
        };
        let mut scatter = || noise * ((0..12).map(|_| uniform()).sum::<f64>() - 6.0);
        let logs: Vec<f64> = positions
            .iter()
            .map(|at| rate(*at).ln() + scatter())
            .collect();
        shape(&positions, &logs, &partition(&logs, noise), noise)
    }

    #[test]
    fn a_smooth_fall_is_not_taken_for_zones() {
        let (found, _) = shape_of(|at| 100.0 - 50.0 * at * at, 0.01);
        assert_eq!(found, CurveShape::Smooth);
    }

    #[test]
    fn steps_are_not_taken_for_a_smooth_fall() {
        let (found, _) = shape_of(|at| 100.0 - 10.0 * (at * 5.0).floor(), 0.01);
        assert_eq!(found, CurveShape::Zones);
    }

    #[test]
    fn a_flat_curve_says_what_it_would_not_have_shown() {
        let (found, resolution) = shape_of(|_| 100.0, 0.02);
        assert_eq!(found, CurveShape::Flat);
        assert!((0.01..0.04).contains(&resolution), "{resolution}");
        let (_, resolution) = shape_of(|_| 100.0, 0.2);
        assert!(resolution > 0.05, "{resolution}");
    }

    #[test]
    fn a_gentle_slope_is_not_flat() {
        let (found, _) = shape_of(|at| 100.0 - 5.0 * at, 0.004);
        assert_ne!(found, CurveShape::Flat);
    }
}
