//! The reading of one subset: the rate of each target as a median over segments, and the noise of
//! that median. Whoever measures builds it.

use crate::median;

/// The reading of one subset.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SubsetReading {
    /// Rates in the order of the members asked for, each the median of five segments or more; the
    /// dummy's rate is last, if there is one.
    pub rates_bytes_per_s: Vec<f64>,
    /// Relative standard deviation of each such median, in the same order; it may be rough.
    pub noise: Vec<f64>,
    /// Targets that failed during it: the reading does not count.
    pub failed: Vec<usize>,
}

/// Standard deviation of a normal distribution over its median absolute deviation.
const DEVIATION_PER_MAD: f64 = 1.4826;
/// Standard deviation of the median of many normal values over that of their mean.
const MEDIAN_LOSS: f64 = 1.2533;

impl SubsetReading {
    /// Makes a reading from the rates of each target in segments of equal time. Medians are used so
    /// that a stall or a burst in one segment does not count. The noise is that of the median of
    /// independent segments, from their median absolute deviation; a target without segments has a
    /// rate of zero.
    #[must_use]
    pub fn of_segments(segments_bytes_per_s: &[Vec<f64>]) -> Self {
        let mut reading = Self::default();
        for segments in segments_bytes_per_s {
            let rate = median(segments);
            let distances: Vec<f64> = segments.iter().map(|value| (value - rate).abs()).collect();
            // With n values the median absolute deviation is too small by about 1 - 0.8/n
            // (C. Croux and P. Rousseeuw, "Time-efficient algorithms for two highly robust
            // estimators of scale", 1992, give the factors).
            let count = segments.len().max(2) as f64;
            let small = count / (count - 0.8);
            let spread = DEVIATION_PER_MAD * small * median(&distances);
            let noise = MEDIAN_LOSS * spread / count.sqrt() / rate;
            reading.rates_bytes_per_s.push(rate);
            reading.noise.push(if rate > 0.0 { noise } else { 0.0 });
        }
        reading
    }
}
