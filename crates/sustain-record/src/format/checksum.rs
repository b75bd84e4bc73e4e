//! CRC-32C, of whole byte strings and of a payload piece by piece.
//!
//! The recorder pushes what a source has just delivered, while it is in the cache of the CPU.

use crc_fast::{CrcAlgorithm, Digest};

use super::PIECE_BYTES;

/// The CRC-32C (Castagnoli, as in iSCSI) of `bytes`.
pub fn crc32c(bytes: &[u8]) -> u32 {
    crc_fast::crc32_iscsi(bytes)
}

/// The CRC-32C of `block` as if the four bytes at `field_offset` were zeros, where it is kept.
///
/// # Panics
/// If the field does not lie within the block.
pub(super) fn crc32c_without_field(block: &[u8], field_offset: usize) -> u32 {
    let mut digest = Digest::new(CrcAlgorithm::Crc32Iscsi);
    digest.update(&block[..field_offset]);
    digest.update(&[0; 4]);
    digest.update(&block[field_offset + 4..]);
    digest.finalize() as u32
}

/// The checksums of a payload: one for each 64 KiB, the last one of what is left.
#[derive(Debug)]
pub struct PieceChecksums {
    complete: Vec<u32>,
    open: Digest,
    open_bytes: usize,
}

impl PieceChecksums {
    /// Makes an empty list of checksums.
    pub fn new() -> PieceChecksums {
        PieceChecksums {
            complete: Vec::new(),
            open: Digest::new(CrcAlgorithm::Crc32Iscsi),
            open_bytes: 0,
        }
    }

    /// Takes the next bytes of the payload into account.
    pub fn push(&mut self, mut bytes: &[u8]) {
        // One allocation is enough for everything that a large append needs.
        let whole_pieces = (self.open_bytes + bytes.len()) / PIECE_BYTES;
        self.complete.reserve(whole_pieces);
        while !bytes.is_empty() {
            let room_bytes = PIECE_BYTES - self.open_bytes;
            let (now, later) = bytes.split_at(room_bytes.min(bytes.len()));
            self.open.update(now);
            self.open_bytes += now.len();
            if self.open_bytes == PIECE_BYTES {
                self.close_piece();
            }
            bytes = later;
        }
    }

    /// Bytes that have been pushed since the start or the last [`take`](Self::take).
    pub fn len_bytes(&self) -> usize {
        self.complete.len() * PIECE_BYTES + self.open_bytes
    }

    /// Returns the checksums of everything that was pushed, and starts again.
    pub fn take(&mut self) -> Vec<u32> {
        if self.open_bytes > 0 {
            self.close_piece();
        }
        std::mem::take(&mut self.complete)
    }

    fn close_piece(&mut self) {
        self.complete.push(self.open.finalize_reset() as u32);
        self.open_bytes = 0;
    }
}

impl Default for PieceChecksums {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Computes bit by bit, directly from the polynomial.
    fn reference(bytes: &[u8]) -> u32 {
        let mut crc = u32::MAX;
        for byte in bytes {
            crc ^= u32::from(*byte);
            for _ in 0..8 {
                crc = (crc >> 1) ^ if crc & 1 == 1 { 0x82F6_3B78 } else { 0 };
            }
        }
        !crc
    }

    fn noise(length_bytes: usize) -> Vec<u8> {
        let mut state = 0x9E37_79B9_7F4A_7C15_u64;
        std::iter::repeat_with(|| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (state >> 56) as u8
        })
        .take(length_bytes)
        .collect()
    }

    #[test]
    fn the_known_answers_of_crc_32c_come_out() {
        assert_eq!(crc32c(b""), 0);
        assert_eq!(crc32c(b"123456789"), 0xE306_9283);
        // RFC 3720, B.4.
        assert_eq!(crc32c(&[0; 32]), 0x8A91_36AA);
        assert_eq!(crc32c(&[0xFF; 32]), 0x62A8_AB43);
    }

    #[test]
    fn every_length_around_the_steps_of_the_fast_paths_agrees_with_the_polynomial() {
        let bytes = noise(PIECE_BYTES + 64);
        let lengths = (0..1100)
            .chain(4090..4100)
            .chain([PIECE_BYTES - 1, PIECE_BYTES + 33]);
        for length in lengths {
            assert_eq!(
                crc32c(&bytes[..length]),
                reference(&bytes[..length]),
                "{length}"
            );
        }
    }

    #[test]
    fn a_field_left_out_counts_as_zeros() {
        let mut block = noise(4096);
        let crc = crc32c_without_field(&block, 8);
        block[8..12].fill(0);
        assert_eq!(crc, crc32c(&block));
    }

    #[test]
    fn taking_the_checksums_starts_anew() {
        let mut checksums = PieceChecksums::new();
        assert!(checksums.take().is_empty());
        checksums.push(b"123456789");
        assert_eq!(checksums.take(), [0xE306_9283]);
        assert_eq!(checksums.len_bytes(), 0);
        checksums.push(b"1234");
        checksums.push(b"56789");
        assert_eq!(checksums.take(), [0xE306_9283]);
    }

    proptest! {
        #[test]
        fn pieces_pushed_in_any_portions_have_the_checksums_of_the_whole(
            portions in prop::collection::vec(0..3 * PIECE_BYTES / 2, 0..6),
        ) {
            let bytes = noise(portions.iter().sum());
            let mut checksums = PieceChecksums::new();
            let mut rest = bytes.as_slice();
            for portion in portions {
                let (now, later) = rest.split_at(portion);
                checksums.push(now);
                rest = later;
            }
            prop_assert_eq!(checksums.len_bytes(), bytes.len());
            let expected: Vec<u32> = bytes.chunks(PIECE_BYTES).map(crc32c).collect();
            prop_assert_eq!(checksums.take(), expected);
        }
    }
}
