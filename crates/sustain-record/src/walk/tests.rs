//! Slots with appends that are whole, torn, damaged, foreign and left over.

use proptest::prelude::*;

use super::*;
use crate::format::{SEAL_BYTES, crc32c};
use crate::opening::tests::image::{Image, encode, place};

const SLOT: u32 = 64 << 10;

/// A slot with a start and four appends, and what was put there.
fn slot() -> (AppendIdentity, Vec<u8>, Vec<Descriptor>) {
    let mut image = Image::new(&[1 << 20], SLOT);
    image.begin(1);
    let put: Vec<Descriptor> = [9000, 1, 5000, 12_000]
        .into_iter()
        .map(|length| image.put(0, 0, &vec![7; length]))
        .collect();
    let member = &image.members[0];
    let bytes = member
        .medium
        .read(member.offset_of(place(0, 0)), SLOT as usize);
    (AppendIdentity::of(&member.superblock), bytes, put)
}

fn sequences(identity: &AppendIdentity, bytes: &[u8]) -> Vec<u64> {
    Walk::new(identity, 0, bytes)
        .map(|found| found.descriptor.sequence)
        .collect()
}

fn sequences_of(put: &[Descriptor]) -> Vec<u64> {
    put.iter().map(|descriptor| descriptor.sequence).collect()
}

fn range_of(descriptor: &Descriptor) -> Range<usize> {
    let start = descriptor.place.slot_offset_bytes as usize;
    start..start + descriptor.append_bytes as usize
}

#[test]
fn a_walk_finds_what_was_appended() {
    let (identity, bytes, put) = slot();
    let mut walk = Walk::new(&identity, 0, &bytes);
    let found: Vec<FoundAppend> = walk.by_ref().collect();
    assert_eq!(found.len(), 5);
    assert_eq!(walk.last_sequence(), Some(put[3].sequence));
    for (found, put) in found[1..].iter().zip(&put) {
        assert_eq!(found.descriptor, *put);
        assert_eq!(found.range, range_of(put));
        assert!(found.sealed);
    }
    let (first, crc) = first_descriptor(&bytes, &identity, 0).unwrap();
    assert_eq!(
        (&first, crc),
        (&found[0].descriptor, found[0].descriptor_crc)
    );
    assert!(first_descriptor(&bytes, &identity, 1).is_none());
    assert_eq!(
        Walk::new(&identity, 1, &bytes).count(),
        0,
        "of another serial there is nothing"
    );
}

#[test]
fn a_prefix_gives_what_begins_in_it() {
    let (identity, bytes, put) = slot();
    let cut = range_of(&put[1]).start + BLOCK_BYTES;
    let found: Vec<FoundAppend> = Walk::new(&identity, 0, &bytes[..cut]).collect();
    assert_eq!(found.len(), 3);
    assert_eq!(found[2].range, range_of(&put[1]));
    assert!(found[1].sealed && !found[2].sealed);
    for length in [0, 1, BLOCK_BYTES - 1] {
        assert_eq!(Walk::new(&identity, 0, &bytes[..length]).count(), 0);
    }
}

#[test]
fn a_flipped_bit_anywhere_costs_at_most_its_own_append() {
    let (identity, bytes, put) = slot();
    for hit in &put {
        let range = range_of(hit);
        let seal = range.end - SEAL_BYTES;
        for (byte, costs) in [
            (range.start, true),
            (range.start + 8, true),
            (range.start + 56, true),
            (range.start + 4000, true),
            (range.start + BLOCK_BYTES, false),
            (seal, false),
            (range.end - 1, false),
        ] {
            let mut damaged = bytes.clone();
            damaged[byte] ^= 0x10;
            let found: Vec<FoundAppend> = Walk::new(&identity, 0, &damaged).skip(1).collect();
            let expected = put.iter().filter(|put| !costs || *put != hit);
            let expected: Vec<u64> = expected.map(|put| put.sequence).collect();
            let sequences: Vec<u64> = found
                .iter()
                .map(|found| found.descriptor.sequence)
                .collect();
            assert_eq!(sequences, expected, "byte {byte}");
            let torn: Vec<u64> = found
                .iter()
                .filter(|found| !found.sealed)
                .map(|found| found.descriptor.sequence)
                .collect();
            let seal_is_hit = byte >= seal;
            assert_eq!(
                torn,
                if seal_is_hit {
                    vec![hit.sequence]
                } else {
                    vec![]
                }
            );
        }
    }
}

#[test]
fn payload_is_never_taken_for_an_append_behind_a_whole_descriptor() {
    let (identity, mut bytes, put) = slot();
    // A true descriptor lies in the payload of the append before, at the very place that it names.
    let range = range_of(&put[3]);
    let mut forged = put[3].clone();
    forged.place.slot_offset_bytes += BLOCK_BYTES as u32;
    forged.append_bytes = 2 * BLOCK_BYTES as u32;
    forged.payload_bytes = 0;
    forged.checksums = Vec::new();
    forged.stream_offset_bytes = 0;
    forged.sequence += 1;
    let at = range.start + BLOCK_BYTES;
    bytes[at..at + 2 * BLOCK_BYTES].copy_from_slice(&encode(&forged, &[]));
    assert_eq!(sequences(&identity, &bytes)[1..], sequences_of(&put));
    // Only when the descriptor before is lost, its payload is looked into.
    bytes[range.start] ^= 1;
    assert_eq!(sequences(&identity, &bytes).last(), Some(&forged.sequence));
}

#[test]
fn what_an_earlier_lap_has_left_ends_the_slot() {
    let (identity, mut bytes, put) = slot();
    let range = range_of(&put[2]);
    let mut left_over = put[2].clone();
    left_over.sequence = put[0].sequence;
    bytes[range.clone()].copy_from_slice(&encode(&left_over, &vec![7; 5000]));
    assert_eq!(sequences(&identity, &bytes)[1..], sequences_of(&put[..2]));
    // In a search it is passed over like payload.
    bytes[range_of(&put[1]).start] ^= 1;
    let expected = [put[0].sequence, put[3].sequence];
    assert_eq!(sequences(&identity, &bytes)[1..], expected);
}

#[test]
fn what_belongs_to_another_store_member_or_lap_is_nothing() {
    let (identity, bytes, _) = slot();
    let other = Uuid::from_u128(77);
    for identity in [
        AppendIdentity {
            store: other,
            ..identity
        },
        AppendIdentity {
            member: other,
            ..identity
        },
    ] {
        assert_eq!(Walk::new(&identity, 0, &bytes).count(), 0);
    }
    let lap = identity.geometry.slot_count;
    assert_eq!(Walk::new(&identity, lap, &bytes).count(), 0);
    assert_eq!(Walk::new(&identity, u64::MAX, &bytes).count(), 0);
}

#[test]
fn an_append_of_an_unknown_kind_is_passed_over_by_its_length() {
    let (identity, mut bytes, put) = slot();
    let start = range_of(&put[1]).start;
    bytes[start + 14] = 9;
    bytes[start + 8..start + 12].fill(0);
    let crc = crc32c(&bytes[start..start + BLOCK_BYTES]);
    bytes[start + 8..start + 12].copy_from_slice(&crc.to_le_bytes());
    let expected = [put[0].sequence, put[2].sequence, put[3].sequence];
    assert_eq!(sequences(&identity, &bytes)[1..], expected);
    let head = identity.head_at(put[1].place, &bytes[start..]).unwrap();
    assert!(matches!(head, Head::Skip(_)));
    assert_eq!(head.append_bytes(), put[1].append_bytes);
}

proptest! {
    #[test]
    fn any_bytes_are_walked_without_a_panic_and_in_order(
        damage in prop::collection::vec((0..SLOT as usize, any::<u8>()), 0..200),
        length in 0..=SLOT as usize,
    ) {
        let (identity, mut bytes, _) = slot();
        for (byte, value) in damage {
            bytes[byte] = value;
        }
        let mut end = 0;
        let mut last = 0;
        for found in Walk::new(&identity, 0, &bytes[..length]) {
            prop_assert!(found.range.start >= end && found.range.end <= SLOT as usize);
            prop_assert!(found.descriptor.sequence > last);
            end = found.range.end;
            last = found.descriptor.sequence;
        }
    }
}
