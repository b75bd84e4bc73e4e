//! Estimates how much readings of the same target differ from run to run. The segments of one run
//! cannot show that, because a disk may be even within each run and yet differ between runs. Pure;
//! the probe calls it.

use std::collections::HashMap;

/// No real disk differs by less than this part of its rate from run to run.
const NOISE_MIN: f64 = 0.003;
/// The spread of a reading's segments counts as much as so many repeats.
const SEGMENTS_WEIGHT: f64 = 1.0;

/// How far the upper end lies above the estimate, for one repeat.
const UPPER_END: f64 = 1.3;

/// Readings of single targets.
#[derive(Debug, Default)]
pub(super) struct Repeats {
    readings: HashMap<usize, Vec<f64>>,
}

impl Repeats {
    /// Takes a target's rate alone.
    pub(super) fn add(&mut self, target: usize, rate_bytes_per_s: f64) {
        self.readings
            .entry(target)
            .or_default()
            .push(rate_bytes_per_s);
    }

    /// Relative standard deviation of a reading whose segments show `by_segments`: this is pooled
    /// with how much readings of one target differed, over all targets.
    pub(super) fn noise(&self, by_segments: f64) -> f64 {
        let mut squares = SEGMENTS_WEIGHT * by_segments.max(NOISE_MIN).powi(2);
        let mut weight = SEGMENTS_WEIGHT;
        for rates in self.readings.values().filter(|rates| rates.len() > 1) {
            let mean = rates.iter().sum::<f64>() / rates.len() as f64;
            if mean > 0.0 {
                let relative = rates.iter().map(|rate| (rate / mean - 1.0).powi(2));
                squares += relative.sum::<f64>();
                weight += rates.len() as f64 - 1.0;
            }
        }
        // A few repeats may agree by chance, so the upper end of what they allow is believed, about
        // the 85 % point of the estimate.
        (squares / weight).sqrt() * (1.0 + UPPER_END / weight.sqrt())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_readings_are_believed_less_than_many() {
        let mut repeats = Repeats::default();
        let once = repeats.noise(0.01);
        assert!(once > 0.02, "one reading says little: {once}");
        repeats.add(0, 100.0);
        assert!((repeats.noise(0.01) - once).abs() < 1e-12, "one of a kind");
        for pair in 0..50 {
            repeats.add(pair, 97.0);
            repeats.add(pair, 103.0);
        }
        // Two values 6 % apart have a standard deviation of 4.2 %.
        let noise = repeats.noise(0.0);
        assert!((0.042..0.052).contains(&noise), "{noise}");
    }

    #[test]
    fn a_target_that_did_nothing_tells_nothing() {
        let mut repeats = Repeats::default();
        let before = repeats.noise(0.02);
        repeats.add(3, 0.0);
        repeats.add(3, 0.0);
        assert!((repeats.noise(0.02) - before).abs() < 1e-12);
    }
}
