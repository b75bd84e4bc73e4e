//! An append as a whole: how long it is, where its parts lie, and whether they are whole.

use std::ops::Range;

use super::checksum::crc32c;
use super::descriptor::Descriptor;
use super::seal::Seal;
use super::{BLOCK_BYTES, PIECE_BYTES, SEAL_BYTES, SLOT_BYTES_MAX};

/// The length in bytes of an append with this much payload and frame marks.
///
/// # Panics
/// If that is more than the largest slot.
pub fn append_bytes_for(payload_bytes: u32, marks_bytes: u32) -> u32 {
    let content_bytes =
        u64::from(payload_bytes) + u64::from(marks_bytes) + (BLOCK_BYTES + SEAL_BYTES) as u64;
    let append_bytes = content_bytes.next_multiple_of(BLOCK_BYTES as u64);
    assert!(
        append_bytes <= u64::from(SLOT_BYTES_MAX),
        "an append lies within a slot"
    );
    append_bytes as u32
}

/// The bytes of payload and frame marks together that an append within `buffer_bytes` can hold.
pub fn payload_room(buffer_bytes: usize) -> usize {
    let append_bytes = buffer_bytes - buffer_bytes % BLOCK_BYTES;
    append_bytes.saturating_sub(BLOCK_BYTES + SEAL_BYTES)
}

/// The bytes of an append: descriptor, payload, frame marks, zeros and seal.
///
/// # Panics
/// If the descriptor tells other lengths, or is not one that could be decoded again.
pub fn encode_append(descriptor: &Descriptor, payload: &[u8], marks: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0; descriptor.append_bytes as usize];
    let crc = descriptor.encode_into(&mut bytes[..BLOCK_BYTES]);
    bytes[payload_range(descriptor)].copy_from_slice(payload);
    bytes[marks_range(descriptor)].copy_from_slice(marks);
    let seal = bytes.len() - SEAL_BYTES;
    bytes[seal..].copy_from_slice(&Seal::of(descriptor, crc).encode());
    bytes
}

/// The range of the payload in its append, in bytes.
pub fn payload_range(descriptor: &Descriptor) -> Range<usize> {
    BLOCK_BYTES..BLOCK_BYTES + descriptor.payload_bytes as usize
}

/// The range of the frame marks in their append, in bytes.
pub fn marks_range(descriptor: &Descriptor) -> Range<usize> {
    let start = payload_range(descriptor).end;
    start..start + descriptor.marks_bytes as usize
}

/// The damaged parts of a payload, in bytes from its start: each is one or more pieces of 64 KiB,
/// apart from each other, in order. What `payload` lacks at its end counts as damaged.
pub fn verify_payload(descriptor: &Descriptor, payload: &[u8]) -> Vec<Range<u32>> {
    let mut damaged: Vec<Range<u32>> = Vec::new();
    let pieces = (0..descriptor.payload_bytes).step_by(PIECE_BYTES);
    for (start, checksum) in pieces.zip(&descriptor.checksums) {
        let end = descriptor
            .payload_bytes
            .min(start.saturating_add(PIECE_BYTES as u32));
        let piece = payload.get(start as usize..end as usize);
        if piece.is_some_and(|piece| crc32c(piece) == *checksum) {
            continue;
        }
        match damaged.last_mut() {
            Some(before) if before.end == start => before.end = end,
            _ => damaged.push(start..end),
        }
    }
    damaged
}

/// Whether there is nothing between the marks and the seal of a whole append. No checksum covers
/// that, and parity does.
pub fn is_filled_with_zeros(descriptor: &Descriptor, append: &[u8]) -> bool {
    let zeros = marks_range(descriptor).end..append.len().saturating_sub(SEAL_BYTES);
    let zeros = append.get(zeros);
    zeros.is_some_and(|zeros| zeros.iter().all(|byte| *byte == 0))
}

/// Whether an append ends with its seal, given its descriptor, the descriptor's checksum and the
/// last block of the append (or any bytes that end where it ends).
pub fn is_sealed(descriptor: &Descriptor, crc: u32, last_block: &[u8]) -> bool {
    last_block
        .last_chunk::<SEAL_BYTES>()
        .and_then(|seal| Seal::decode(seal))
        .is_some_and(|seal| seal == Seal::of(descriptor, crc))
}

/// Whether `marks` are the frame marks that the descriptor describes, undamaged.
pub fn marks_are_whole(descriptor: &Descriptor, marks: &[u8]) -> bool {
    marks.len() == descriptor.marks_bytes as usize && crc32c(marks) == descriptor.marks_crc
}

#[cfg(test)]
#[allow(
    clippy::single_range_in_vec_init,
    reason = "a list of one damaged range is what is meant"
)]
mod tests {
    use proptest::prelude::*;
    use uuid::Uuid;

    use super::*;
    use crate::format::{AppendPlace, Kind, PieceChecksums, Position};

    const PIECE: u32 = PIECE_BYTES as u32;

    fn descriptor(payload: &[u8], marks: &[u8]) -> Descriptor {
        let mut checksums = PieceChecksums::new();
        checksums.push(payload);
        let payload_bytes = payload.len() as u32;
        let marks_bytes = marks.len() as u32;
        Descriptor {
            kind: Kind::Data,
            store: Uuid::nil(),
            member: Uuid::nil(),
            place: AppendPlace {
                slot_serial: 5,
                slot_offset_bytes: 0,
            },
            append_bytes: append_bytes_for(payload_bytes, marks_bytes),
            sequence: 9,
            recording: 1,
            recording_id: Uuid::nil(),
            stream: 0,
            gap: None,
            stream_offset_bytes: 0,
            payload_bytes,
            marks_bytes,
            marks_crc: crc32c(marks),
            first_time_ns: 0,
            last_time_ns: 0,
            made_time_ns: 0,
            previous: None,
            start: None,
            flushed_sequence: 0,
            parity_group: 0,
            parity_role: 0,
            first_frame: 0,
            drifts: Vec::new(),
            positions: vec![Position {
                next_offset_bytes: payload.len() as u64,
                ..Position::default()
            }],
            checksums: checksums.take(),
        }
    }

    #[test]
    fn lengths_are_whole_blocks_with_room_for_descriptor_and_seal() {
        assert_eq!(append_bytes_for(0, 0), 8192);
        assert_eq!(append_bytes_for(4032, 0), 8192);
        assert_eq!(append_bytes_for(4032, 1), 12288);
        assert_eq!(append_bytes_for(SLOT_BYTES_MAX - 4160, 0), SLOT_BYTES_MAX);
        assert_eq!(payload_room(1 << 20), (1 << 20) - 4160);
        assert_eq!(payload_room((1 << 20) + 4095), (1 << 20) - 4160);
        assert_eq!(payload_room(8192), 4032);
        for buffer_bytes in [0, 1, 4095, 4096, 8191] {
            assert_eq!(payload_room(buffer_bytes), 0);
        }
    }

    #[test]
    #[should_panic(expected = "an append lies within a slot")]
    fn an_append_larger_than_any_slot_has_no_length() {
        append_bytes_for(u32::MAX, u32::MAX);
    }

    #[test]
    fn what_fits_the_room_fits_the_buffer() {
        for buffer_bytes in [8192_u32, 65536, 1 << 20, (1 << 20) + 4097] {
            let room = payload_room(buffer_bytes as usize) as u32;
            assert!(append_bytes_for(room - 3, 3) <= buffer_bytes);
            assert!(append_bytes_for(room, 1) > buffer_bytes - buffer_bytes % 4096);
        }
    }

    #[test]
    fn damage_is_named_by_pieces_and_neighbours_are_one_range() {
        let payload: Vec<u8> = (0..5 * PIECE + 10).map(|at| (at % 251) as u8).collect();
        let descriptor = descriptor(&payload, &[]);
        assert_eq!(verify_payload(&descriptor, &payload), []);
        let damaged_at = |places: &[u32]| {
            let mut payload = payload.clone();
            for place in places {
                payload[*place as usize] ^= 0x10;
            }
            verify_payload(&descriptor, &payload)
        };
        assert_eq!(damaged_at(&[0]), [0..PIECE]);
        assert_eq!(damaged_at(&[PIECE - 1, PIECE]), [0..2 * PIECE]);
        assert_eq!(
            damaged_at(&[PIECE, 3 * PIECE + 7]),
            [PIECE..2 * PIECE, 3 * PIECE..4 * PIECE]
        );
        assert_eq!(damaged_at(&[5 * PIECE + 9]), [5 * PIECE..5 * PIECE + 10]);
    }

    #[test]
    fn what_a_payload_lacks_is_damaged_and_what_follows_it_is_not_looked_at() {
        let payload = vec![7; 2 * PIECE_BYTES + 100];
        let descriptor = descriptor(&payload, &[]);
        let end = 2 * PIECE + 100;
        assert_eq!(verify_payload(&descriptor, &[]), [0..end]);
        let shorter = &payload[..payload.len() - 1];
        assert_eq!(verify_payload(&descriptor, shorter), [2 * PIECE..end]);
        let longer = [payload.as_slice(), &[1, 2, 3]].concat();
        assert_eq!(verify_payload(&descriptor, &longer), []);
    }

    #[test]
    fn an_append_is_sealed_by_its_own_seal_only() {
        let descriptor = descriptor(b"payload", &[]);
        let seal = Seal::of(&descriptor, 0x1234);
        let mut last_block = vec![0; BLOCK_BYTES];
        last_block[BLOCK_BYTES - SEAL_BYTES..].copy_from_slice(&seal.encode());
        assert!(is_sealed(&descriptor, 0x1234, &last_block));
        assert!(!is_sealed(&descriptor, 0x1235, &last_block));
        let other = Descriptor {
            sequence: 10,
            ..descriptor.clone()
        };
        assert!(!is_sealed(&other, 0x1234, &last_block));
        assert!(!is_sealed(
            &descriptor,
            0x1234,
            &last_block[..BLOCK_BYTES - 1]
        ));
        assert!(!is_sealed(&descriptor, 0x1234, &[]));
    }

    #[test]
    fn marks_are_whole_only_as_they_were_written() {
        let marks = [4, 7, 9];
        let descriptor = descriptor(b"payload", &marks);
        assert_eq!(payload_range(&descriptor), 4096..4103);
        assert_eq!(marks_range(&descriptor), 4103..4106);
        assert!(marks_are_whole(&descriptor, &marks));
        assert!(!marks_are_whole(&descriptor, &marks[..2]));
        assert!(!marks_are_whole(&descriptor, &[4, 7, 8]));
        assert!(!marks_are_whole(&descriptor, &[4, 7, 9, 0]));
    }

    proptest! {
        #[test]
        fn any_flipped_bit_of_a_payload_is_found(
            payload_bytes in 1..3 * PIECE_BYTES,
            at in any::<prop::sample::Index>(),
            bit in 0..8_u32,
        ) {
            let mut payload: Vec<u8> = (0..payload_bytes).map(|at| (at % 251) as u8).collect();
            let descriptor = descriptor(&payload, &[]);
            let at = at.index(payload_bytes);
            payload[at] ^= 1 << bit;
            let damaged = verify_payload(&descriptor, &payload);
            prop_assert_eq!(damaged.len(), 1);
            prop_assert!(damaged[0].contains(&(at as u32)));
            prop_assert!(damaged[0].len() <= PIECE_BYTES);
        }
    }
}
