//! The data that is written: bytes that no compressing or deduplicating device can shrink.
//!
//! Every buffer is filled with random bytes once, before the clock starts. For each write only
//! eight bytes of each 4 KiB block are changed, to a number never used before in the run. So each
//! block on the medium differs from every other (nothing to deduplicate), each is incompressible
//! by itself, and blocks of one record share nothing (nothing for a wider window to find), while
//! the CPU touches one cache line in 64: under 3 ms per GB, where filling anew costs 100 and more.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
pub use sustain_document::vocabulary::DataKind;

/// The unit in which devices deduplicate and compress at the finest.
const BLOCK_BYTES: usize = 4096;

/// The bytes that are new in each block, at its beginning.
const STAMP_BYTES: usize = 8;

/// Fills buffers once and then keeps them fresh.
#[derive(Debug)]
pub struct FreshData {
    random: Xoshiro256PlusPlus,
    serial: u64,
    salt: u64,
    rewrites: bool,
}

impl FreshData {
    /// The generator of this kind of data, with that seed; zeros need none.
    pub fn of_kind(kind: DataKind, seed: u64) -> Option<FreshData> {
        let rewrites = kind == DataKind::Rewritten;
        (kind != DataKind::Zero).then(|| FreshData {
            rewrites,
            ..FreshData::new(seed)
        })
    }

    /// Data that differs from that of every other seed.
    pub fn new(seed: u64) -> FreshData {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        let salt = random.next_u64();
        FreshData {
            random,
            serial: 0,
            salt,
            rewrites: false,
        }
    }

    /// Fills a buffer with random bytes; once per buffer.
    pub fn fill(&mut self, bytes: &mut [u8]) {
        self.random.fill_bytes(bytes);
    }

    /// Prepares a filled buffer for the next write, with as many new bytes as its kind needs.
    #[inline]
    pub fn renew(&mut self, bytes: &mut [u8]) {
        if self.rewrites {
            self.fill(bytes);
        } else {
            self.stamp(bytes);
        }
    }

    /// Makes every 4 KiB block of a filled buffer different from all written before.
    #[inline]
    pub fn stamp(&mut self, bytes: &mut [u8]) {
        // Whole blocks apart: storing a length known beforehand is one instruction, not a call.
        let (blocks, rest) = bytes.as_chunks_mut::<BLOCK_BYTES>();
        for block in blocks {
            block[..STAMP_BYTES].copy_from_slice(&self.next_stamp());
        }
        let length = rest.len().min(STAMP_BYTES);
        if length > 0 {
            rest[..length].copy_from_slice(&self.next_stamp()[..length]);
        }
    }

    #[inline]
    fn next_stamp(&mut self) -> [u8; STAMP_BYTES] {
        self.serial += 1;
        // An odd factor permutes the 64-bit numbers: serials stay distinct and look random.
        let number = self.serial.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ self.salt;
        number.to_le_bytes()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn every_block_ever_stamped_is_different() {
        let mut data = FreshData::new(7);
        let mut buffer = vec![0; 8 * BLOCK_BYTES];
        data.fill(&mut buffer);
        let mut seen = HashSet::new();
        for _ in 0..100 {
            data.stamp(&mut buffer);
            for block in buffer.chunks(BLOCK_BYTES) {
                assert!(seen.insert(block.to_vec()));
            }
        }
        assert_eq!(seen.len(), 800);
    }

    #[test]
    fn a_renewed_buffer_keeps_its_bytes_unless_all_are_to_be_new() {
        let share_kept = |kind: DataKind| {
            let mut data = FreshData::of_kind(kind, 5).unwrap();
            let mut buffer = vec![0; 1 << 16];
            data.fill(&mut buffer);
            let before = buffer.clone();
            data.renew(&mut buffer);
            let kept = buffer.iter().zip(&before).filter(|(new, old)| new == old);
            kept.count() as f64 / buffer.len() as f64
        };
        assert!(share_kept(DataKind::Fresh) > 0.99);
        // One byte in 256 is the same by chance.
        assert!(share_kept(DataKind::Rewritten) < 0.01);
        assert!(FreshData::of_kind(DataKind::Zero, 5).is_none());
    }

    #[test]
    fn bytes_are_spread_evenly() {
        let mut data = FreshData::new(1);
        let mut buffer = vec![0; 1 << 20];
        data.fill(&mut buffer);
        data.stamp(&mut buffer);
        let mut counts = [0u32; 256];
        buffer
            .iter()
            .for_each(|byte| counts[usize::from(*byte)] += 1);
        // 4096 expected of each value; six standard deviations are 384.
        assert!(
            counts.iter().all(|count| count.abs_diff(4096) < 384),
            "{counts:?}"
        );
    }

    #[test]
    fn a_short_last_block_is_stamped_too() {
        let mut data = FreshData::new(1);
        let mut buffer = vec![0; BLOCK_BYTES + 4];
        data.stamp(&mut buffer);
        assert_ne!(&buffer[BLOCK_BYTES..], [0; 4]);
    }
}
