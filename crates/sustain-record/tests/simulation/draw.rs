//! Random draws that a seed fixes. Everything in the simulation that varies uses them.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

/// A source of draws.
pub struct Draw(Xoshiro256PlusPlus);

impl Draw {
    /// The draws of a seed.
    pub fn new(seed: u64) -> Draw {
        Draw(Xoshiro256PlusPlus::seed_from_u64(seed))
    }

    /// Any number.
    pub fn number(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// A number from 0 up to, and without, `end`.
    pub fn below(&mut self, end: u64) -> u64 {
        ((u128::from(self.number()) * u128::from(end)) >> 64) as u64
    }

    /// A number from `first` to `last`, both included.
    pub fn between(&mut self, first: u64, last: u64) -> u64 {
        first + self.below(last - first + 1)
    }

    /// A number for which small values are as likely as large ones: even over the orders of
    /// magnitude.
    pub fn magnitude(&mut self, first: f64, last: f64) -> f64 {
        let share = self.below(1 << 32) as f64 / (1u64 << 32) as f64;
        first * (last / first).powf(share)
    }

    /// True in so many of a thousand draws.
    pub fn chance(&mut self, per_mille: u64) -> bool {
        self.below(1000) < per_mille
    }

    /// One of these.
    pub fn pick<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len() as u64) as usize]
    }
}
