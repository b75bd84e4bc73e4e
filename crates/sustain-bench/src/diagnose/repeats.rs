//! How much readings of the same target differ from run to run. Segments of one run cannot tell
//! that: a disk may be even within each run and yet differ between them. Pure; the probe asks it.

use std::collections::HashMap;

/// No real disk differs less from run to run, as a part of the rate.
const NOISE_MIN: f64 = 0.003;
/// What the segments of a reading say counts as much as so many repeats.
const SEGMENTS_WEIGHT: f64 = 1.0;

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

    /// Relative standard deviation of a reading whose segments say `by_segments`: pooled with how much
    /// readings of one target differed, over all targets.
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
        (squares / weight).sqrt()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeats_outweigh_what_segments_say() {
        let mut repeats = Repeats::default();
        assert!((repeats.noise(0.01) - 0.01).abs() < 1e-12);
        assert!((repeats.noise(0.0) - NOISE_MIN).abs() < 1e-12);
        repeats.add(0, 100.0);
        assert!((repeats.noise(0.01) - 0.01).abs() < 1e-12, "one of a kind");
        for pair in 0..50 {
            repeats.add(pair, 97.0);
            repeats.add(pair, 103.0);
        }
        // Two values 6 % apart have a standard deviation of 4.2 %.
        let noise = repeats.noise(0.0);
        assert!((noise - 0.042).abs() < 0.002, "{noise}");
    }

    #[test]
    fn a_target_that_did_nothing_tells_nothing() {
        let mut repeats = Repeats::default();
        repeats.add(3, 0.0);
        repeats.add(3, 0.0);
        assert!((repeats.noise(0.02) - 0.02).abs() < 1e-12);
    }
}
