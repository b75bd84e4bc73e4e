//! The run-to-run noise of a simulated disk: one factor on its rates per run and disk. Called once
//! per disk at the beginning of each run; it draws only from the machine's seed.

use std::f64::consts::TAU;

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

/// No run is slower than this part of the nominal rate, whatever is drawn.
const FACTOR_MIN: f64 = 0.05;

/// The factors of a machine's disks, in their order, run after run: a run of n disks draws n, so
/// that seed and number of the run fix them.
pub(super) struct DiskNoise {
    generator: Xoshiro256PlusPlus,
}

impl DiskNoise {
    pub(super) fn new(seed: u64) -> Self {
        Self {
            generator: Xoshiro256PlusPlus::seed_from_u64(seed),
        }
    }

    /// The next disk's factor, normally distributed around 1. A factor is drawn even for a disk
    /// without noise, so that the factors of the others do not depend on it.
    pub(super) fn factor(&mut self, noise_fraction: f64) -> f64 {
        // Box and Muller, "A Note on the Generation of Random Normal Deviates", 1958.
        let radius = (-2.0 * (1.0 - self.uniform()).ln()).sqrt();
        let normal = radius * (TAU * self.uniform()).cos();
        (1.0 + noise_fraction * normal).max(FACTOR_MIN)
    }

    /// Uniform in [0, 1), with 53 bits.
    fn uniform(&mut self) -> f64 {
        (self.generator.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn normal_around_one() {
        let mut noise = DiskNoise::new(7);
        let factors: Vec<f64> = (0..20_000).map(|_| noise.factor(0.02)).collect();
        let mean = factors.iter().sum::<f64>() / factors.len() as f64;
        let variance = factors
            .iter()
            .map(|factor| (factor - mean).powi(2))
            .sum::<f64>()
            / factors.len() as f64;
        assert!((mean - 1.0).abs() < 5e-4, "{mean}");
        assert!((variance.sqrt() - 0.02).abs() < 5e-4, "{variance}");
    }

    #[test]
    fn same_seed_same_factors_and_none_without_noise() {
        let mut first = DiskNoise::new(1);
        let mut second = DiskNoise::new(1);
        assert_eq!(first.factor(0.0).to_bits(), 1f64.to_bits());
        second.factor(0.05);
        assert_eq!(first.factor(0.01).to_bits(), second.factor(0.01).to_bits());
    }

    #[test]
    fn stays_positive() {
        let mut noise = DiskNoise::new(3);
        assert!((0..10_000).all(|_| noise.factor(0.3) >= FACTOR_MIN));
    }
}
