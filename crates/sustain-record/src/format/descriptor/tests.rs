use std::mem::offset_of;

use proptest::prelude::*;

use super::layout::Fields;
use super::*;
use crate::format::{append_bytes_for, marks_range, verify_payload};

const MEMBER: Uuid = Uuid::from_u128(0x22);
const STORE: Uuid = Uuid::from_u128(0x11);

fn place(slot_serial: u64, slot_offset_bytes: u32) -> AppendPlace {
    AppendPlace {
        slot_serial,
        slot_offset_bytes,
    }
}

fn geometry() -> Geometry {
    Geometry::of_member(1 << 30, 8 << 20).unwrap()
}

fn descriptor() -> Descriptor {
    let payload_bytes = 3 * PIECE_BYTES as u32 + 5;
    Descriptor {
        kind: Kind::Data,
        store: STORE,
        member: MEMBER,
        place: place(200, 1 << 20),
        append_bytes: append_bytes_for(payload_bytes, 7),
        sequence: 1 << 20,
        recording: 3,
        recording_id: Uuid::from_u128(0x33),
        stream: 1,
        gap: Some(Gap {
            bytes: 1000,
            frames: 2,
            reason: GapReason::BufferFull,
            first_time_ns: -5,
            last_time_ns: 5,
        }),
        stream_offset_bytes: 5000,
        payload_bytes,
        marks_bytes: 7,
        marks_crc: 0x0102_0304,
        first_time_ns: 10,
        last_time_ns: 20,
        made_time_ns: 30,
        previous: Some(place(200, 4096)),
        start: Some(place(100, 0)),
        flushed_sequence: (1 << 20) - 1,
        parity_group: 0,
        parity_role: 0,
        first_frame: 77,
        positions: vec![
            Position::default(),
            Position {
                next_offset_bytes: 1 << 20,
                settled_offset_bytes: 4000,
                frames: 9,
                gap_bytes: 1000,
                member_bytes: 4000,
            },
        ],
        checksums: vec![1, 2, 3, 4],
        drifts: Vec::new(),
    }
}

fn encoded(descriptor: &Descriptor) -> (Vec<u8>, u32) {
    // The old content of the block must not shine through.
    let mut block = vec![0xA5; BLOCK_BYTES];
    let crc = descriptor.encode_into(&mut block);
    (block, crc)
}

fn with_right_crc(mut block: Vec<u8>) -> Vec<u8> {
    let crc = crc32c_without_field(&block, 8);
    block[8..12].copy_from_slice(&crc.to_le_bytes());
    block
}

fn patched(offset: usize, bytes: &[u8]) -> Result<(Descriptor, u32), DescriptorError> {
    let (mut block, _) = encoded(&descriptor());
    block[offset..offset + bytes.len()].copy_from_slice(bytes);
    Descriptor::decode(&with_right_crc(block))
}

fn assert_inconsistent(offset: usize, bytes: &[u8]) {
    let answer = patched(offset, bytes);
    assert!(
        matches!(answer, Err(DescriptorError::Inconsistent(_))),
        "{bytes:?} at {offset}: {answer:?}"
    );
}

#[test]
fn the_fields_lie_where_the_format_says() {
    let fields = [
        (offset_of!(Fields, magic), 0),
        (offset_of!(Fields, crc), 8),
        (offset_of!(Fields, version), 12),
        (offset_of!(Fields, kind), 14),
        (offset_of!(Fields, store), 16),
        (offset_of!(Fields, member), 32),
        (offset_of!(Fields, slot_serial), 48),
        (offset_of!(Fields, slot_offset), 56),
        (offset_of!(Fields, append_bytes), 60),
        (offset_of!(Fields, sequence), 64),
        (offset_of!(Fields, recording), 72),
        (offset_of!(Fields, stream), 76),
        (offset_of!(Fields, gap_reason), 78),
        (offset_of!(Fields, recording_id), 80),
        (offset_of!(Fields, stream_offset), 96),
        (offset_of!(Fields, payload_bytes), 104),
        (offset_of!(Fields, marks_bytes), 108),
        (offset_of!(Fields, marks_crc), 112),
        (offset_of!(Fields, position_count), 116),
        (offset_of!(Fields, checksum_count), 118),
        (offset_of!(Fields, gap_bytes), 120),
        (offset_of!(Fields, gap_frames), 128),
        (offset_of!(Fields, gap_first_time), 136),
        (offset_of!(Fields, gap_last_time), 144),
        (offset_of!(Fields, first_time), 152),
        (offset_of!(Fields, last_time), 160),
        (offset_of!(Fields, made_time), 168),
        (offset_of!(Fields, previous_serial), 176),
        (offset_of!(Fields, previous_offset), 184),
        (offset_of!(Fields, start_offset), 188),
        (offset_of!(Fields, start_serial), 192),
        (offset_of!(Fields, flushed_sequence), 200),
        (offset_of!(Fields, parity_group), 208),
        (offset_of!(Fields, parity_role), 216),
        (offset_of!(Fields, first_frame), 218),
        (offset_of!(Fields, drift_count), 226),
        (offset_of!(Fields, gap_detail), 228),
        (offset_of!(Fields, reserved), 230),
        (offset_of!(PositionFields, next_offset), 0),
        (offset_of!(PositionFields, settled_offset), 8),
        (offset_of!(PositionFields, frames), 16),
        (offset_of!(PositionFields, gap_bytes), 24),
        (offset_of!(PositionFields, member_bytes), 32),
    ];
    for (number, (is, should_be)) in fields.into_iter().enumerate() {
        assert_eq!(is, should_be, "field {number}");
    }
}

#[test]
fn the_tables_follow_the_fields_and_the_rest_is_zeros() {
    let (block, crc) = encoded(&descriptor());
    assert_eq!(&block[..8], b"SUSTAPND");
    assert_eq!(block[8..12], crc.to_le_bytes());
    assert_eq!(block[12..16], [1, 0, 1, 0]);
    assert_eq!(block[208..218], [0; 10]);
    assert_eq!(block[218..226], 77_u64.to_le_bytes());
    assert_eq!(block[226..256], [0; 30]);
    assert_eq!(block[256 + 40..256 + 48], (1_u64 << 20).to_le_bytes());
    assert_eq!(block[256 + 80..256 + 84], [1, 0, 0, 0]);
    assert_eq!(block[256 + 92..256 + 96], [4, 0, 0, 0]);
    assert!(block[256 + 96..].iter().all(|byte| *byte == 0));
}

#[test]
fn places_that_are_none_are_told_apart_from_slot_0() {
    let first = Descriptor {
        previous: None,
        start: None,
        ..descriptor()
    };
    let (block, crc) = encoded(&first);
    assert_eq!(block[176..184], [0xFF; 8]);
    assert_eq!(block[192..200], [0xFF; 8]);
    assert_eq!(Descriptor::decode(&block), Ok((first, crc)));
    let second = Descriptor {
        previous: Some(place(0, 0)),
        start: Some(place(0, 0)),
        ..descriptor()
    };
    let (block, crc) = encoded(&second);
    assert_eq!(Descriptor::decode(&block), Ok((second, crc)));
}

#[test]
fn the_largest_recording_and_the_largest_payload_fit_one_block() {
    let payload_bytes = SLOT_BYTES_MAX - (BLOCK_BYTES + SEAL_BYTES) as u32;
    let largest = Descriptor {
        place: place(1, 0),
        previous: None,
        start: Some(place(1, 0)),
        append_bytes: SLOT_BYTES_MAX,
        payload_bytes,
        marks_bytes: 0,
        stream: 63,
        positions: vec![
            Position {
                next_offset_bytes: u64::MAX,
                ..Position::default()
            };
            STREAMS_MAX
        ],
        checksums: (0..256).collect(),
        ..descriptor()
    };
    let (block, crc) = encoded(&largest);
    assert_eq!(Descriptor::decode(&block), Ok((largest, crc)));
}

#[test]
fn every_shortening_and_every_flipped_bit_is_refused() {
    let (mut block, _) = encoded(&descriptor());
    for length in 0..BLOCK_BYTES {
        assert_eq!(
            Descriptor::decode(&block[..length]),
            Err(DescriptorError::NotADescriptor)
        );
    }
    for bit in 0..BLOCK_BYTES * 8 {
        block[bit / 8] ^= 1 << (bit % 8);
        let expected = if bit < 64 {
            DescriptorError::NotADescriptor
        } else {
            DescriptorError::WrongChecksum
        };
        assert_eq!(Descriptor::decode(&block), Err(expected), "bit {bit}");
        block[bit / 8] ^= 1 << (bit % 8);
    }
}

#[test]
fn what_contradicts_itself_is_refused_though_its_checksum_is_right() {
    assert_inconsistent(12, &[0, 0]);
    // No place; off a block; behind the largest slot.
    assert_inconsistent(48, &[0xFF; 8]);
    assert_inconsistent(56, &4097_u32.to_le_bytes());
    assert_inconsistent(56, &SLOT_BYTES_MAX.to_le_bytes());
    for append_bytes in [0, 1, 4096, 1 << 16, (1 << 18) + 1, 16 << 20, u32::MAX] {
        assert_inconsistent(60, &append_bytes.to_le_bytes());
    }
    // Recording 0, a stream without position, a gap without reason, an unknown reason.
    assert_inconsistent(72, &[0; 4]);
    assert_inconsistent(76, &[2, 0]);
    assert_inconsistent(76, &[0xFF; 2]);
    assert_inconsistent(78, &[0, 0]);
    assert_inconsistent(78, &[4, 0]);
    // A stream that ends before it begins; beyond its position; before its gap.
    assert_inconsistent(96, &[0xFF; 8]);
    assert_inconsistent(96, &(1_u64 << 20).to_le_bytes());
    assert_inconsistent(96, &999_u64.to_le_bytes());
    for payload_bytes in [
        0,
        1,
        PIECE_BYTES as u32 * 3,
        4 * PIECE_BYTES as u32,
        u32::MAX,
    ] {
        assert_inconsistent(104, &payload_bytes.to_le_bytes());
    }
    assert_inconsistent(108, &4028_u32.to_le_bytes());
    assert_inconsistent(108, &u32::MAX.to_le_bytes());
    for count in [0_u16, 1, 65, u16::MAX] {
        assert_inconsistent(116, &count.to_le_bytes());
    }
    for count in [0_u16, 3, 5, 257, u16::MAX] {
        assert_inconsistent(118, &count.to_le_bytes());
    }
    // The append before is this one; the start is behind it; more is flushed than was written.
    assert_inconsistent(184, &(1_u32 << 20).to_le_bytes());
    assert_inconsistent(184, &1_u32.to_le_bytes());
    assert_inconsistent(192, &201_u64.to_le_bytes());
    assert_inconsistent(200, &((1_u64 << 20) + 1).to_le_bytes());
    // More is settled than handed out.
    assert_inconsistent(256 + 8, &1_u64.to_le_bytes());
}

#[test]
fn start_and_end_belong_to_no_stream() {
    for kind in [Kind::Start, Kind::End] {
        let control = Descriptor {
            kind,
            stream: CONTROL_STREAM,
            gap: None,
            stream_offset_bytes: 0,
            start: Some(place(200, 1 << 20)),
            ..descriptor()
        };
        let (mut block, crc) = encoded(&control);
        assert_eq!(Descriptor::decode(&block), Ok((control, crc)));
        block[76..78].copy_from_slice(&[0, 0]);
        assert!(Descriptor::decode(&with_right_crc(block)).is_err());
    }
}

#[test]
fn a_gap_at_the_end_of_a_stream_needs_no_payload() {
    let gap_only = Descriptor {
        payload_bytes: 0,
        marks_bytes: 0,
        append_bytes: append_bytes_for(0, 0),
        checksums: Vec::new(),
        ..descriptor()
    };
    let (block, crc) = encoded(&gap_only);
    assert_eq!(Descriptor::decode(&block), Ok((gap_only, crc)));
}

#[test]
fn a_detail_of_a_reason_is_ignored_by_who_does_not_know_it() {
    let reason_of = |reason: &[u8], detail: &[u8]| {
        let (mut block, _) = encoded(&descriptor());
        block[78..80].copy_from_slice(reason);
        block[228..230].copy_from_slice(detail);
        let (decoded, _) = Descriptor::decode(&with_right_crc(block)).unwrap();
        decoded.gap.unwrap().reason
    };
    assert_eq!(reason_of(&[3, 0], &[1, 0]), GapReason::Paused);
    assert_eq!(reason_of(&[2, 0], &[1, 0]), GapReason::NoRoom);
    assert_eq!(reason_of(&[2, 0], &[2, 0]), GapReason::NotWritten);
    // What a later recorder tells beside a reason is ignored, and so is a detail of another reason.
    assert_eq!(reason_of(&[3, 0], &[2, 0]), GapReason::Source);
    assert_eq!(reason_of(&[1, 0], &[1, 0]), GapReason::BufferFull);
}

#[test]
fn reserved_bytes_are_ignored() {
    let of_group = patched(208, &[0xFF; 8]).unwrap().0;
    assert_eq!(of_group.parity_group, u64::MAX);
    // Only parity has a role.
    assert!(patched(216, &[1, 0]).is_err());
    assert_eq!(patched(228, &[0xFF; 28]).unwrap().0, descriptor());
    // An impossible number of drifts counts as none.
    assert_eq!(patched(226, &[0xFF; 2]).unwrap().0, descriptor());
    assert_eq!(patched(226, &[1, 0]).unwrap().0, descriptor());
    assert_eq!(patched(4000, &[0xFF; 96]).unwrap().0, descriptor());
}

#[test]
fn later_versions_and_unknown_kinds_are_named_and_can_be_passed_over() {
    assert_eq!(
        patched(12, &[2, 0]),
        Err(DescriptorError::Newer { version: 2 })
    );
    let Err(DescriptorError::UnknownKind(skip)) = patched(14, &[5, 0]) else {
        panic!("kind 5 is not known");
    };
    assert_eq!(
        skip,
        Skip {
            kind: 5,
            store: STORE,
            member: MEMBER,
            place: place(200, 1 << 20),
            append_bytes: descriptor().append_bytes,
            sequence: 1 << 20,
        }
    );
    assert!(skip.fits(&geometry(), MEMBER, STORE, place(200, 1 << 20)));
    assert!(!skip.fits(&geometry(), MEMBER, STORE, place(201, 1 << 20)));
    let (mut block, _) = encoded(&descriptor());
    block[14] = 4;
    block[60..64].fill(0);
    assert!(matches!(
        Descriptor::decode(&with_right_crc(block)),
        Err(DescriptorError::Inconsistent(_))
    ));
}

#[test]
fn a_descriptor_fits_only_where_it_says_that_it_lies() {
    let here = place(200, 1 << 20);
    let fits = |descriptor: Descriptor, place| descriptor.fits(&geometry(), MEMBER, STORE, place);
    assert!(fits(descriptor(), here));
    assert!(!fits(descriptor(), place(200, 0)));
    assert!(!fits(
        descriptor(),
        place(200 + geometry().slot_count, 1 << 20)
    ));
    assert!(!descriptor().fits(&geometry(), STORE, STORE, here));
    assert!(!descriptor().fits(&geometry(), MEMBER, MEMBER, here));
    let last = place(200, (8 << 20) - descriptor().append_bytes);
    let beyond = place(200, last.slot_offset_bytes + 4096);
    let at = |place| Descriptor {
        place,
        ..descriptor()
    };
    assert!(fits(at(last), last));
    assert!(!fits(at(beyond), beyond));
    let elsewhere = Some(place(100, 8 << 20));
    assert!(!fits(
        Descriptor {
            previous: elsewhere,
            ..descriptor()
        },
        here
    ));
    assert!(!fits(
        Descriptor {
            start: elsewhere,
            ..descriptor()
        },
        here
    ));
}

#[test]
#[should_panic(expected = "too few or too many checksums")]
fn a_descriptor_that_could_not_be_read_again_is_not_written() {
    let wrong = Descriptor {
        checksums: Vec::new(),
        ..descriptor()
    };
    wrong.encode_into(&mut [0; BLOCK_BYTES]);
}

fn any_place() -> impl Strategy<Value = AppendPlace> {
    (0..u64::MAX / 2, 0..256_u32).prop_map(|(serial, block)| place(serial, block * 4096))
}

/// The place with its offset set to the start of the slot if the payload needs all of it.
fn with_room(place: AppendPlace, payload_bytes: u32) -> AppendPlace {
    let slot_offset_bytes = match payload_bytes {
        0..1_000_000 => place.slot_offset_bytes,
        _ => 0,
    };
    AppendPlace {
        slot_offset_bytes,
        ..place
    }
}

fn any_gap() -> impl Strategy<Value = Option<Gap>> {
    let reason = prop_oneof![
        Just(GapReason::BufferFull),
        Just(GapReason::NotWritten),
        Just(GapReason::NoRoom),
        Just(GapReason::Source),
        Just(GapReason::Paused)
    ];
    let gap = (
        0..1000_u64,
        any::<u64>(),
        reason,
        any::<i64>(),
        any::<i64>(),
    );
    prop::option::of(
        gap.prop_map(|(bytes, frames, reason, first_time_ns, last_time_ns)| Gap {
            bytes,
            frames,
            reason,
            first_time_ns,
            last_time_ns,
        }),
    )
}

fn any_positions() -> impl Strategy<Value = Vec<Position>> {
    let position = (any::<[u64; 5]>()).prop_map(|[next, settled, frames, gap, member]| Position {
        next_offset_bytes: next | 1 << 63,
        settled_offset_bytes: settled >> 1,
        frames,
        gap_bytes: gap,
        member_bytes: member,
    });
    prop::collection::vec(position, 1..=STREAMS_MAX)
}

/// Adds the drifts of the sources' clocks, if they are to be there and fit.
fn with_drifts(mut descriptor: Descriptor, are_enough: bool) -> Descriptor {
    if are_enough && descriptor.has_room_for_drifts() {
        let drift = ClockDrift {
            earliest_ns: descriptor.last_time_ns,
            latest_ns: descriptor.made_time_ns,
        };
        descriptor.drifts = vec![drift; descriptor.positions.len()];
    }
    descriptor
}

const KINDS: [Kind; 4] = [Kind::Data, Kind::Start, Kind::End, Kind::Parity];

fn any_descriptor() -> impl Strategy<Value = Descriptor> {
    let payload_bytes = prop_oneof![0..10_u32, 0..1_000_000_u32, 15_000_000..16_000_000_u32];
    (
        (
            any::<u128>(),
            any::<u128>(),
            any::<u128>(),
            any::<[i64; 3]>(),
        ),
        (
            any_place(),
            prop::option::of(any_place()),
            any::<u32>(),
            any::<u64>(),
        ),
        (
            any_gap(),
            1000..1_u64 << 40,
            payload_bytes,
            0..100_u32,
            any::<u32>(),
        ),
        (
            any_positions(),
            any::<prop::sample::Index>(),
            prop::sample::select(&KINDS[..]),
            1..=u32::MAX,
        ),
    )
        .prop_map(
            |(ids, places, content, (positions, stream, kind, recording))| {
                let (place, previous, seed, sequence) = places;
                let (gap, stream_offset_bytes, payload_bytes, marks_bytes, marks_crc) = content;
                let checksum_count = payload_bytes.div_ceil(PIECE_BYTES as u32);
                let place = with_room(place, payload_bytes);
                let descriptor = Descriptor {
                    kind,
                    store: Uuid::from_u128(ids.0),
                    member: Uuid::from_u128(ids.1),
                    place,
                    append_bytes: append_bytes_for(payload_bytes, marks_bytes),
                    sequence,
                    recording,
                    recording_id: Uuid::from_u128(ids.2),
                    stream: match kind {
                        Kind::Data => stream.index(positions.len()) as u16,
                        _ => CONTROL_STREAM,
                    },
                    gap,
                    stream_offset_bytes,
                    payload_bytes,
                    marks_bytes,
                    marks_crc,
                    first_time_ns: ids.3[0],
                    last_time_ns: ids.3[1],
                    made_time_ns: ids.3[2],
                    previous: previous.filter(|previous| *previous < place),
                    start: previous.filter(|start| *start <= place),
                    flushed_sequence: sequence / 2,
                    parity_group: sequence / 5,
                    parity_role: u16::from(kind == Kind::Parity) * 2,
                    first_frame: sequence / 3,
                    positions,
                    checksums: (0..checksum_count)
                        .map(|at| seed.wrapping_mul(at))
                        .collect(),
                    drifts: Vec::new(),
                };
                with_drifts(descriptor, seed % 2 == 0)
            },
        )
}

/// A number that is likely to be just within or just beyond something.
fn edge() -> impl Strategy<Value = u64> {
    prop_oneof![
        0..5_u64,
        (0..64_u32, -2..=2_i64).prop_map(|(bit, off)| (1_u64 << bit).wrapping_add_signed(off)),
        (u64::MAX - 5)..=u64::MAX,
        any::<u64>(),
    ]
}

proptest! {
    #[test]
    fn what_was_encoded_is_decoded(descriptor in any_descriptor()) {
        let (block, crc) = encoded(&descriptor);
        prop_assert_eq!(Descriptor::decode(&block), Ok((descriptor, crc)));
    }

    #[test]
    fn hostile_fields_under_a_right_checksum_never_harm(
        descriptor in any_descriptor(),
        patches in prop::collection::vec((4..140_usize, edge(), 1..=8_usize), 1..5),
    ) {
        let (mut block, _) = encoded(&descriptor);
        for (at, value, width) in patches {
            // Two bytes apart, which is how the smallest fields lie, and behind magic and crc.
            let offset = 12 + 2 * (at - 4);
            block[offset..offset + width].copy_from_slice(&value.to_le_bytes()[..width]);
        }
        let block = with_right_crc(block);
        if let Ok((descriptor, crc)) = Descriptor::decode(&block) {
            prop_assert!(marks_range(&descriptor).end + SEAL_BYTES
                <= descriptor.append_bytes as usize);
            prop_assert!(descriptor.append_bytes <= SLOT_BYTES_MAX);
            let lost = verify_payload(&descriptor, &[]);
            prop_assert_eq!(lost.is_empty(), descriptor.payload_bytes == 0);
            descriptor.fits(&geometry(), MEMBER, STORE, descriptor.place);
            let (again, _) = encoded(&descriptor);
            prop_assert_eq!(Descriptor::decode(&again).unwrap().0, descriptor);
            prop_assert_eq!(crc.to_le_bytes(), [block[8], block[9], block[10], block[11]]);
        }
    }

    #[test]
    fn random_bytes_under_a_right_checksum_never_panic(
        bytes in prop::collection::vec(any::<u8>(), BLOCK_BYTES - 16),
        kind in 0..6_u8,
    ) {
        let mut block = b"SUSTAPND\0\0\0\0\x01\0".to_vec();
        block.extend([kind, 0]);
        block.extend(bytes);
        let _ = Descriptor::decode(&with_right_crc(block));
    }
}
