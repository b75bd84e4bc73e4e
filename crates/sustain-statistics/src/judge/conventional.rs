//! The rules of other tools, applied to the same series for comparison only; no verdict of this
//! project uses them.
//! - fio, steadystate.c and HOWTO "steadystate": samples of one second, a window of the last
//!   `ss_dur` samples, tried at each new sample; the first time it passes the job ends.
//!   slope: 100 * slope / mean over x = 0..n-1, so percent of the mean *per sample*;
//!   deviation: 100 * max|y - mean| / mean; passes below the limit.
//! - SNIA Solid State Storage Performance Test Specification 2.0.2, steady state: over 5 rounds
//!   max - min <= 20 % of the mean and slope * 4 <= 10 % of the mean, at most 25 rounds (as TKperf
//!   does it).

use super::Step;
use super::curve::CumulativeBytes;

const SNIA_ROUNDS: usize = 5;
const SNIA_ROUNDS_MAX: usize = 25;
const SNIA_RANGE_PERCENT_MAX: f64 = 20.0;
const SNIA_RISE_PERCENT_MAX: f64 = 10.0;

/// The two tests of fio.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FioTest {
    /// `bw_slope`
    Slope,
    /// `bw`
    Deviation,
}

/// fio's `--ss=bw_slope:LIMIT% --ss_dur=WINDOW`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FioRule {
    /// Slope or deviation.
    pub test: FioTest,
    /// Percent of the mean; for the slope per sample.
    pub limit_percent: f64,
    /// Samples of one second in the window.
    pub window_samples: usize,
}

/// The first window that a rule called steady.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Attained {
    /// Samples or rounds seen until then.
    pub after: usize,
    /// Mean of the window.
    pub rate_bytes_per_s: f64,
}

/// Rates of whole stretches of `length_s` seconds; an incomplete last one is left out.
#[must_use]
pub fn samples(steps: &[Step], length_s: f64) -> Vec<f64> {
    let Some(curve) = CumulativeBytes::new(steps) else {
        return Vec::new();
    };
    // Truncation is intended; the added small part makes up for rounding of the times.
    let count = (curve.duration_s() / length_s + 1e-6) as usize;
    let bytes_at = |index: usize| curve.bytes_at(curve.start_s() + length_s * index as f64);
    (0..count)
        .map(|index| (bytes_at(index + 1) - bytes_at(index)) / length_s)
        .collect()
}

/// fio's verdict on samples of one second; `None` is `attained: 0`.
#[must_use]
pub fn fio(samples: &[f64], rule: FioRule) -> Option<Attained> {
    let passes = |window: &[f64]| {
        let mean = mean(window);
        let criterion = match rule.test {
            FioTest::Slope => slope(window).abs(),
            FioTest::Deviation => window
                .iter()
                .map(|sample| (sample - mean).abs())
                .fold(0.0, f64::max),
        };
        100.0 * criterion / mean < rule.limit_percent
    };
    first_window(samples, rule.window_samples, passes)
}

/// SNIA's verdict on rounds, one of a minute each; `None` is "not reached".
#[must_use]
pub fn snia(rounds: &[f64]) -> Option<Attained> {
    let passes = |window: &[f64]| {
        let mean = mean(window);
        let most = window.iter().copied().fold(f64::MIN, f64::max);
        let least = window.iter().copied().fold(f64::MAX, f64::min);
        let rise = slope(window).abs() * (window.len() - 1) as f64;
        100.0 * (most - least) <= SNIA_RANGE_PERCENT_MAX * mean
            && 100.0 * rise <= SNIA_RISE_PERCENT_MAX * mean
    };
    first_window(
        &rounds[..rounds.len().min(SNIA_ROUNDS_MAX)],
        SNIA_ROUNDS,
        passes,
    )
}

fn first_window(
    samples: &[f64],
    length: usize,
    passes: impl Fn(&[f64]) -> bool,
) -> Option<Attained> {
    let window = |(index, window): (usize, &[f64])| {
        passes(window).then(|| Attained {
            after: index + length,
            rate_bytes_per_s: mean(window),
        })
    };
    // A window of one sample has no slope.
    samples.windows(length.max(2)).enumerate().find_map(window)
}

fn mean(samples: &[f64]) -> f64 {
    samples.iter().sum::<f64>() / samples.len() as f64
}

/// Least-squares slope over x = 0..n-1, per sample.
pub(super) fn slope(samples: &[f64]) -> f64 {
    let middle = (samples.len() - 1) as f64 / 2.0;
    let mean = mean(samples);
    let (mut squares, mut products) = (0.0, 0.0);
    for (index, sample) in samples.iter().enumerate() {
        let x = index as f64 - middle;
        squares += x * x;
        products += x * (sample - mean);
    }
    products / squares
}

#[cfg(test)]
mod tests {
    use super::super::series;
    use super::*;

    fn rule(test: FioTest, limit_percent: f64, window_samples: usize) -> FioRule {
        FioRule {
            test,
            limit_percent,
            window_samples,
        }
    }

    #[test]
    fn the_slope_is_per_sample() {
        // 100 to 50 over 300 samples: 0.223 % of the mean each, though it falls by two thirds.
        let falling: Vec<f64> = (0u16..300)
            .map(|x| 100.0 - 50.0 * f64::from(x) / 299.0)
            .collect();
        let criterion = 100.0 * slope(&falling).abs() / mean(&falling);
        assert!((criterion - 0.223).abs() < 5e-4, "{criterion}");
        let attained = fio(&falling, rule(FioTest::Slope, 0.3, 300)).expect("fio is content");
        assert_eq!(attained.after, 300);
        assert!(fio(&falling, rule(FioTest::Slope, 0.2, 300)).is_none());
    }

    #[test]
    fn deviation_allows_twice_its_limit_of_range() {
        let samples = [91.0, 109.0, 91.0, 109.0];
        assert!(fio(&samples, rule(FioTest::Deviation, 10.0, 4)).is_some());
        assert!(fio(&samples, rule(FioTest::Deviation, 8.0, 4)).is_none());
        assert!(
            fio(&samples, rule(FioTest::Deviation, 10.0, 5)).is_none(),
            "window not full"
        );
    }

    #[test]
    fn snia_needs_both_conditions() {
        assert!(snia(&[100.0, 110.0, 100.0, 110.0, 100.0]).is_some());
        assert!(
            snia(&[100.0, 97.0, 94.0, 91.0, 88.0]).is_none(),
            "falls 13 %"
        );
        assert!(
            snia(&[100.0, 125.0, 100.0, 125.0, 100.0]).is_none(),
            "range 23 %"
        );
        let late = [200.0, 150.0, 100.0, 100.0, 100.0, 100.0, 100.0];
        assert_eq!(snia(&late).map(|attained| attained.after), Some(7));
        assert!(snia(&late[..6]).is_none());
    }

    #[test]
    fn samples_leave_out_the_incomplete_last_one() {
        let steps = series::linear(10, 1.0, 1.0, 0.0);
        assert_eq!(samples(&steps, 4.0), [1e6, 1e6]);
        assert_eq!(samples(&steps, 1.0).len(), 10);
        assert!(samples(&[], 1.0).is_empty());
    }
}
