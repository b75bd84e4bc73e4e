//! Random draws that a seed fixes.

use std::hash::{BuildHasher, Hasher, RandomState};

/// Set to replay what a failed test has printed.
const SEED: &str = "SUSTAIN_SEED";

/// SplitMix64.
pub struct Draw(u64);

impl Draw {
    pub fn new(seed: u64) -> Draw {
        Draw(seed)
    }

    pub fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// From 0 up to, and without, `end`.
    pub fn below(&mut self, end: u64) -> u64 {
        ((u128::from(self.number()) * u128::from(end)) >> 64) as u64
    }

    /// One of these.
    pub fn pick<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len() as u64) as usize]
    }

    /// True once in so many times.
    pub fn once_in(&mut self, times: u64) -> bool {
        self.below(times) == 0
    }
}

/// The seed of a test: the one that is asked for, or a new one, which is printed.
pub fn seed(test: &str) -> u64 {
    let asked = std::env::var(SEED).ok().and_then(|text| text.parse().ok());
    let seed = asked.unwrap_or_else(|| RandomState::new().build_hasher().finish());
    eprintln!("again: {SEED}={seed} cargo test -p sustain-cli --test record -- {test}");
    seed
}
