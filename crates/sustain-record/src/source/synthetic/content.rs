//! The bytes of a synthetic stream. They depend only on seed and position, so that any piece can be
//! made or checked without what lies before it. `Synthetic` calls it, and so do readers that check
//! a recording. The bytes for a seed must never change, because recordings outlive this program.
//!
//! 512 random words are drawn once for a seed. Each block of 4 KiB is these words, each XORed with
//! one random number that no other block of the stream has. So a block is incompressible by itself,
//! no two are alike, and making one costs little more than writing it to memory.

const BLOCK_BYTES: usize = 4096;
const WORD_BYTES: usize = 8;
const BLOCK_WORDS: usize = BLOCK_BYTES / WORD_BYTES;

/// The step of SplitMix64: the fraction of the golden ratio.
const GOLDEN_STEP: u64 = 0x9E37_79B9_7F4A_7C15;

/// Separates the random numbers of the blocks from those of the words.
const BLOCKS: u64 = 1;
/// Separates the random numbers of the frames from all others.
pub(super) const FRAMES: u64 = 2;

/// The seed of a stream of this name: FNV-1a of 64 bits over its UTF-8 bytes.
pub fn seed_of(name: &str) -> u64 {
    name.bytes().fold(0xCBF2_9CE4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01B3)
    })
}

/// Returns the number `index` of the SplitMix64 generator with this seed (Steele, Lea and Flood
/// 2014, as in Vigna's reference). For one seed no two indices give the same number.
#[inline]
pub(super) fn random(seed: u64, index: u64) -> u64 {
    let mut z = seed.wrapping_add(index.wrapping_add(1).wrapping_mul(GOLDEN_STEP));
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// Derives another seed, for another use of the same one.
pub(super) fn seed_for(seed: u64, purpose: u64) -> u64 {
    // The new seed must not be a number of the sequence of `seed`, which would only lead further on
    // in that sequence.
    random(!seed, purpose)
}

/// The bytes of the stream with one seed.
#[derive(Debug, Clone)]
pub struct Content {
    words: Box<[u64; BLOCK_WORDS]>,
    block_seed: u64,
}

impl Content {
    /// Makes the bytes of the stream with this seed, which is [`seed_of`] the stream's name.
    pub fn new(seed: u64) -> Content {
        let mut words = Box::new([0; BLOCK_WORDS]);
        for (index, word) in (0..).zip(words.iter_mut()) {
            *word = random(seed, index);
        }
        Content {
            words,
            block_seed: seed_for(seed, BLOCKS),
        }
    }

    /// Fills `buffer` with the bytes of the stream from `position_bytes` on.
    pub fn fill(&self, position_bytes: u64, buffer: &mut [u8]) {
        let (mut position, mut rest) = (position_bytes, buffer);
        while !rest.is_empty() {
            let (block, start, length) = piece(position, rest.len());
            let (here, after) = rest.split_at_mut(length);
            self.fill_in_block(block, start, here);
            rest = after;
            position = position.wrapping_add(length as u64);
        }
    }

    /// Returns the position of the first of these bytes that differs from what [`Content::fill`]
    /// makes, if there is one.
    pub fn check(&self, position_bytes: u64, bytes: &[u8]) -> Option<u64> {
        let (mut position, mut rest) = (position_bytes, bytes);
        let mut expected = [0; BLOCK_BYTES];
        while !rest.is_empty() {
            let (block, start, length) = piece(position, rest.len());
            let (here, after) = rest.split_at(length);
            let expected = &mut expected[..length];
            self.fill_in_block(block, start, expected);
            // Comparing slices is the fastest way; only a wrong block is looked into.
            if here != expected {
                let equal = here.iter().zip(&*expected).take_while(|(a, b)| a == b);
                return Some(position.wrapping_add(equal.count() as u64));
            }
            rest = after;
            position = position.wrapping_add(length as u64);
        }
        None
    }

    /// Fills a piece of a block that begins `start` bytes into it and does not leave it.
    fn fill_in_block(&self, block: u64, start: usize, bytes: &mut [u8]) {
        let number = random(self.block_seed, block);
        let word = |index: usize| (self.words[index] ^ number).to_le_bytes();
        let first_whole = start.div_ceil(WORD_BYTES);
        let head_bytes = (first_whole * WORD_BYTES - start).min(bytes.len());
        let (head, rest) = bytes.split_at_mut(head_bytes);
        if head_bytes > 0 {
            let within = start % WORD_BYTES;
            head.copy_from_slice(&word(first_whole - 1)[within..within + head_bytes]);
        }
        let (whole, tail) = rest.as_chunks_mut::<WORD_BYTES>();
        for (made, source) in whole.iter_mut().zip(&self.words[first_whole..]) {
            *made = (source ^ number).to_le_bytes();
        }
        if !tail.is_empty() {
            let tail_bytes = tail.len();
            tail.copy_from_slice(&word(first_whole + whole.len())[..tail_bytes]);
        }
    }
}

/// Returns the block at a position, the offset in it, and how many of `rest_bytes` lie in it.
fn piece(position: u64, rest_bytes: usize) -> (u64, usize, usize) {
    let block = position / BLOCK_BYTES as u64;
    // This is below 4096, so it fits.
    let start = (position % BLOCK_BYTES as u64) as usize;
    (block, start, rest_bytes.min(BLOCK_BYTES - start))
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use proptest::prelude::*;

    use super::*;

    fn made(seed: u64, position: u64, length: usize) -> Vec<u8> {
        let mut bytes = vec![0; length];
        Content::new(seed).fill(position, &mut bytes);
        bytes
    }

    #[test]
    fn seeds_are_those_of_fnv_1a() {
        assert_eq!(seed_of(""), 0xCBF2_9CE4_8422_2325);
        assert_eq!(seed_of("a"), 0xAF63_DC4C_8601_EC8C);
        assert_eq!(seed_of("foobar"), 0x8594_4171_F739_67E8);
    }

    #[test]
    fn random_numbers_are_those_of_splitmix64() {
        let numbers: Vec<u64> = (0..3).map(|index| random(1_234_567, index)).collect();
        let expected = [
            6_457_827_717_110_365_317,
            3_203_168_211_198_807_973,
            9_817_491_932_198_370_423,
        ];
        assert_eq!(numbers, expected);
        assert_eq!(random(0, 0), 0xE220_A839_7B1D_CDAF);
    }

    #[test]
    fn the_bytes_of_a_seed_never_change() {
        let seed = seed_of("camera");
        let sum = made(seed, 0, 1 << 20)
            .iter()
            .fold(0xCBF2_9CE4_8422_2325u64, |hash, byte| {
                (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01B3)
            });
        assert_eq!(
            made(seed, 0, 8),
            [0x95, 0x5B, 0xA8, 0xF5, 0xA8, 0xC5, 0x40, 0xED]
        );
        assert_eq!(sum, 0x0BFD_C590_F3E6_DE69);
    }

    #[test]
    fn bytes_are_the_words_of_the_block_in_little_endian() {
        let content = Content::new(7);
        let number = random(seed_for(7, BLOCKS), 3);
        let expected = (random(7, 5) ^ number).to_le_bytes();
        let mut bytes = [0; 8];
        content.fill(3 * 4096 + 5 * 8, &mut bytes);
        assert_eq!(bytes, expected);
    }

    #[test]
    fn every_block_of_every_stream_is_different() {
        let mut seen = HashSet::new();
        for seed in [0, 1, seed_of("a"), seed_of("b")] {
            for block in made(seed, 0, 4096 * 256).chunks(4096) {
                assert!(seen.insert(block.to_vec()));
            }
        }
        assert_eq!(seen.len(), 1024);
    }

    #[test]
    fn bytes_are_spread_evenly_and_repeat_nothing() {
        let bytes = made(1, 0, 1 << 20);
        let mut counts = [0u32; 256];
        bytes
            .iter()
            .for_each(|byte| counts[usize::from(*byte)] += 1);
        // Each value is expected 4096 times; six standard deviations are 384.
        assert!(
            counts.iter().all(|count| count.abs_diff(4096) < 384),
            "{counts:?}"
        );
        // A compressor looks for four equal bytes. Of random bytes one in 2^32 pairs has them.
        let (words, _) = bytes.as_chunks::<8>();
        let distinct: HashSet<[u8; 8]> = words.iter().copied().collect();
        assert_eq!(distinct.len(), words.len());
    }

    #[test]
    fn the_first_wrong_byte_is_named_wherever_it_is() {
        let content = Content::new(3);
        let mut bytes = made(3, 1001, 9000);
        for wrong in [0, 1, 6, 7, 8, 3094, 3095, 3096, 7000, 8999] {
            bytes[wrong] ^= 1;
            bytes[8999] ^= 0x80;
            assert_eq!(content.check(1001, &bytes), Some(1001 + wrong as u64));
            bytes[8999] ^= 0x80;
            bytes[wrong] ^= 1;
        }
        assert_eq!(content.check(1001, &bytes), None);
        assert_eq!(content.check(1001, &[]), None);
    }

    #[test]
    fn zeros_other_streams_and_displaced_blocks_are_wrong() {
        let content = Content::new(3);
        assert_eq!(content.check(0, &[0; 4096]), Some(0));
        for other in [made(4, 0, 4096), made(3, 4096, 4096), made(3, 8, 4096)] {
            assert!(content.check(0, &other).is_some_and(|wrong| wrong < 4));
        }
    }

    proptest! {
        #[test]
        fn any_piece_is_that_of_the_whole(
            seed: u64, block: u32, start in 0usize..9000, length in 0usize..9000,
        ) {
            let base = u64::from(block) * 4096;
            let whole = made(seed, base, 18_000);
            let piece = made(seed, base + start as u64, length);
            prop_assert_eq!(&whole[start..start + length], &piece[..]);
        }

        #[test]
        fn what_was_made_passes_and_any_change_is_found(
            seed: u64,
            position: u64,
            length in 1usize..20_000,
            at: prop::sample::Index,
            bit in 0..8,
        ) {
            let mut bytes = made(seed, position, length);
            let content = Content::new(seed);
            prop_assert_eq!(content.check(position, &bytes), None);
            let at = at.index(length);
            bytes[at] ^= 1u8 << bit;
            let wrong = position.wrapping_add(at as u64);
            prop_assert_eq!(content.check(position, &bytes), Some(wrong));
        }
    }
}
