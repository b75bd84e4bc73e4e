//! Tests of where a member's content ends.

use proptest::prelude::*;

use super::image::{encode, place};
use super::*;
use crate::format::{AppendPlace, Descriptor, Kind, Position};

/// A member with one recording over so many slots, closed by its end mark.
fn recorded(slots: u64) -> Image {
    let mut image = Image::new(&[64 * MIB], SLOT);
    image.begin(1);
    image.fill(slots, 30_000);
    image.end();
    image
}

/// The same as [`recorded`], but with several appends in each slot, and the power fails before the
/// end mark is written.
fn crashed(slots: u64) -> Image {
    let mut image = Image::new(&[64 * MIB], SLOT);
    image.begin(1);
    image.fill(slots, 10_000);
    image.put(0, 0, b"the last but one");
    image.put(0, 0, b"the last");
    image
}

#[test]
fn a_member_that_was_never_recorded_to_is_empty_at_the_price_of_a_few_blocks() {
    let image = Image::new(&[64 * MIB], SLOT);
    let mut opening = Opening::new(&image.members[0].superblock);
    let (tail, read_bytes) = ask(&mut opening, Opening::tail, read_of(&image.members[0]));
    assert_eq!(tail.newest_serial, None);
    assert_eq!((tail.next_slot_serial, tail.max_sequence), (0, 0));
    assert!(tail.clean_end && tail.last.is_none());
    assert!(read_bytes < 128 << 10, "{read_bytes}");
}

#[test]
fn a_recording_that_ended_in_order_is_found_at_its_end() {
    for slots in [0, 1, 2, 3, 17, 100, 500] {
        let image = recorded(slots);
        let member = &image.members[0];
        let mut opening = Opening::new(&member.superblock);
        let (tail, read_bytes) = ask(&mut opening, Opening::tail, read_of(member));
        let last = tail.last.as_ref().unwrap();
        assert_eq!((last.kind, last.sequence), (Kind::End, image.sequence));
        assert_eq!(tail.newest_serial, Some(last.place.slot_serial));
        assert_eq!(tail.next_slot_serial, member.next.slot_serial);
        assert_eq!(tail.max_sequence, image.sequence);
        assert_eq!((tail.max_recording, tail.start), (1, Some(place(0, 0))));
        assert!(tail.clean_end);
        assert_eq!(tail.searched_bytes, 0);
        assert!(read_bytes < 128 << 10, "{slots} slots: {read_bytes}");
    }
}

#[test]
fn a_hint_that_is_wrong_either_way_only_costs_reads() {
    let mut image = recorded(300);
    let expected = tail_of(&image.members[0]);
    for slots_begun in [0, 1, 2, 299, 303, 310, 400, 2000, 1 << 40, u64::MAX] {
        image.members[0].superblock.slots_begun = slots_begun;
        let tail = tail_of(&image.members[0]);
        assert_eq!(tail.newest_serial, expected.newest_serial, "{slots_begun}");
        assert_eq!(tail.max_sequence, expected.max_sequence);
        let next = expected.next_slot_serial.max(slots_begun);
        assert_eq!(tail.next_slot_serial, next, "{slots_begun}");
    }
}

#[test]
fn many_small_appends_in_the_newest_slot_are_read_at_once() {
    let mut image = Image::new(&[64 * MIB], 8 << 20);
    image.begin(1);
    for _ in 0..900 {
        image.put(0, 0, b"slow");
    }
    image.end();
    let tail = tail_of(&image.members[0]);
    assert!(tail.clean_end);
    assert_eq!(tail.max_sequence, image.sequence);
}

#[test]
fn after_a_crash_all_that_may_be_left_is_searched() {
    let mut image = crashed(20);
    let newest = image.members[0].newest();
    // The starts of the last slots were lost, and in the last one the middle too.
    for serial in newest - 3..=newest {
        image.members[0].lose_slot_start(serial);
    }
    let tail = tail_of(&image.members[0]);
    assert_eq!(tail.newest_serial, Some(newest - 4));
    assert_eq!(tail.next_slot_serial, newest + 1);
    assert_eq!(tail.max_sequence, image.sequence);
    assert_eq!(tail.last.unwrap().sequence, image.sequence);
    assert!(!tail.clean_end);
    assert!(tail.searched_bytes > 0);
}

#[test]
fn leftovers_of_a_recording_whose_start_was_lost_are_found_behind_a_clean_end() {
    let mut image = recorded(5);
    let end = image.sequence;
    image.begin(1);
    image.fill(1, 10_000);
    image.put(0, 0, b"the last");
    let member = &mut image.members[0];
    let newest = member.newest();
    member.lose_slot_start(newest);
    let tail = tail_of(member);
    assert_eq!(tail.newest_serial, Some(newest - 1));
    assert!(!tail.clean_end);
    assert!(tail.max_sequence > end);
    assert_eq!((tail.max_recording, tail.next_slot_serial), (2, newest + 1));
}

#[test]
fn a_recording_of_which_nothing_survived_still_keeps_its_slot() {
    let mut image = recorded(5);
    let before = tail_of(&image.members[0]);
    image.members[0].superblock.slots_begun += 1;
    let tail = tail_of(&image.members[0]);
    assert_eq!(tail.next_slot_serial, before.next_slot_serial + 1);
    assert_eq!(tail.last, before.last);
    assert!(!tail.clean_end);
}

#[test]
fn the_first_recording_of_a_store_may_have_lost_its_start() {
    let mut image = crashed(0);
    image.members[0].lose_slot_start(0);
    let tail = tail_of(&image.members[0]);
    assert_eq!(tail.newest_serial, None);
    assert_eq!(tail.max_sequence, image.sequence);
    assert_eq!(tail.next_slot_serial, 1);
    // A hint beyond the end does not lead past it.
    image.members[0].superblock.slots_begun = 2;
    let tail = tail_of(&image.members[0]);
    assert_eq!(tail.max_sequence, image.sequence);
    assert_eq!(tail.next_slot_serial, 2);
}

#[test]
fn a_ring_is_found_at_its_newest_slot_however_old_the_hint() {
    let mut image = Image::new(&[4 * MIB], SLOT);
    let count = image.members[0].geometry().slot_count;
    for _ in 0..5 {
        image.begin(1);
        image.fill(count * 3 / 4, 30_000);
        image.end();
        let expected = image.members[0].next.slot_serial;
        let end_hint = image.members[0].superblock.slots_begun;
        let hints = [
            0,
            1,
            count / 2,
            count - 1,
            expected / 2,
            expected - 1,
            end_hint,
        ];
        for slots_begun in hints.into_iter().filter(|hint| *hint <= expected) {
            image.members[0].superblock.slots_begun = slots_begun;
            let tail = tail_of(&image.members[0]);
            assert_eq!(tail.newest_serial, Some(expected - 1), "{slots_begun}");
            assert!(tail.clean_end);
        }
        image.members[0].superblock.slots_begun = end_hint;
    }
}

#[test]
fn the_smallest_ring_is_found_too() {
    let mut image = Image::new(&[384 << 10], SLOT);
    assert_eq!(image.members[0].geometry().slot_count, 2);
    image.begin(1);
    image.fill(7, 20_000);
    image.members[0].superblock.slots_begun = 0;
    let tail = tail_of(&image.members[0]);
    assert_eq!(tail.newest_serial, Some(7));
    assert_eq!(tail.max_sequence, image.sequence);
}

#[test]
fn a_medium_that_cannot_be_read_at_all_is_taken_for_empty_but_for_the_hint() {
    let image = recorded(100);
    let member = &image.members[0];
    let mut opening = Opening::new(&member.superblock);
    let (tail, _) = ask(&mut opening, Opening::tail, |_, _| Err(EIO));
    assert_eq!((tail.newest_serial, tail.last.is_none()), (None, true));
    assert_eq!(tail.next_slot_serial, member.superblock.slots_begun);
    assert!(tail.unreadable_blocks > 0);
    assert!(!tail.clean_end);
}

#[test]
fn blocks_that_cannot_be_read_hide_only_themselves_from_a_search() {
    let image = crashed(3);
    let member = &image.members[0];
    let newest = member.newest();
    // The start of the newest slot is lost; what follows in the slot is found block by block.
    let lost = member.offset_of(place(newest, 0));
    let is_unreadable = |offset| offset == lost;
    let read = read_with_errors(member, &is_unreadable);
    let mut opening = Opening::new(&member.superblock);
    let (tail, _) = ask(&mut opening, Opening::tail, read);
    assert_eq!(tail.newest_serial, Some(newest - 1));
    assert_eq!(tail.max_sequence, image.sequence);
    // It is tried once at the start of the slot and once in the search, and the same block counts
    // twice.
    assert_eq!(tail.unreadable_blocks, 2);
}

/// A member of 20 TB, so full that each slot up to `newest` holds one append.
struct Huge {
    member: Member,
    newest: u64,
}

impl Huge {
    fn new(newest: u64) -> Huge {
        let member = Image::new(&[20_000_000_000_000], 8 << 20).members.remove(0);
        Huge { member, newest }
    }

    fn descriptor(&self, slot_serial: u64) -> Descriptor {
        let payload_bytes = (slot_serial + 1) * 100;
        Descriptor {
            kind: Kind::Data,
            store: self.member.superblock.store,
            member: self.member.superblock.member,
            place: place(slot_serial, 0),
            append_bytes: 8192,
            sequence: (1 << 20) + slot_serial,
            recording: 1,
            recording_id: uuid::Uuid::from_u128(9),
            stream: 0,
            gap: None,
            stream_offset_bytes: payload_bytes - 100,
            payload_bytes: 100,
            marks_bytes: 0,
            marks_crc: 0,
            first_time_ns: 0,
            last_time_ns: 0,
            made_time_ns: 0,
            previous: slot_serial.checked_sub(1).map(|before| place(before, 0)),
            start: None,
            flushed_sequence: 0,
            parity_group: 0,
            parity_role: 0,
            first_frame: 0,
            drifts: Vec::new(),
            positions: vec![Position {
                next_offset_bytes: payload_bytes,
                settled_offset_bytes: 0,
                frames: 0,
                gap_bytes: 0,
                member_bytes: payload_bytes,
            }],
            checksums: vec![0],
        }
    }

    /// Reads only the first slots of what is asked for, which is all that opening looks at here.
    fn read(&self, offset_bytes: u64, length_bytes: usize) -> Vec<u8> {
        let geometry = self.member.geometry();
        let slot = (offset_bytes - geometry.first_slot_offset_bytes) >> 23;
        let within = (offset_bytes - geometry.offset_of(place(slot, 0))) as usize;
        let mut bytes = vec![0; length_bytes];
        // This is the newest lap in that slot.
        let laps = (self.newest + 1)
            .saturating_sub(slot)
            .div_ceil(geometry.slot_count);
        if laps == 0 || within > 0 {
            return bytes;
        }
        let serial = (laps - 1) * geometry.slot_count + slot;
        let append = encode(&self.descriptor(serial), &[0; 100]);
        let length = length_bytes.min(append.len());
        bytes[..length].copy_from_slice(&append[..length]);
        bytes
    }
}

#[test]
fn twenty_terabytes_are_opened_by_a_few_hundred_blocks() {
    let count = Huge::new(0).member.geometry().slot_count;
    for newest in [0, 15, 16, 1_000_000, count - 1, count, 3 * count + 12345] {
        let huge = Huge::new(newest);
        let mut opening = Opening::new(&huge.member.superblock);
        let (found, read_bytes) = ask(
            &mut opening,
            |opening| super::super::tail::newest_slot(&opening.facts, opening.slots_begun),
            |offset_bytes, length_bytes| Ok(huge.read(offset_bytes, length_bytes)),
        );
        assert_eq!(found, Some(newest));
        assert!(read_bytes < 700 * 4096, "{newest}: {}", read_bytes / 4096);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn lost_slot_starts_do_not_hide_what_lies_behind_them(
        slots in 20_u64..300,
        hint in 0_u64..320,
        runs in prop::collection::vec((0_u64..300, 1_u64..=14), 0..6),
    ) {
        let mut image = crashed(slots);
        let member = &mut image.members[0];
        let newest = member.newest();
        let mut lost = std::collections::BTreeSet::new();
        for (from, count) in runs {
            lost.extend((from..from + count).filter(|serial| *serial < newest));
        }
        // Longer damaged runs than the patience are not tested here.
        let longest = lost.iter().filter(|serial| {
            (**serial..=**serial + 15).all(|serial| lost.contains(&serial))
        });
        prop_assume!(longest.count() == 0);
        for serial in lost {
            member.lose_slot_start(serial);
        }
        member.superblock.slots_begun = hint;
        let tail = tail_of(member);
        prop_assert_eq!(tail.newest_serial, Some(newest));
        prop_assert_eq!(tail.max_sequence, image.sequence);
    }
}

proptest! {
    // Each case reads every block of many slots.
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn random_damage_never_panics_and_always_ends(
        slots in 1_u64..40,
        hint in any::<u64>(),
        modulus in 2_u64..50,
        flips in prop::collection::vec((0_u64..60, 0_u32..16, 0_usize..4096 * 8), 0..40),
    ) {
        let mut image = crashed(slots);
        let member = &mut image.members[0];
        for (serial, block, bit) in flips {
            let offset_bytes = member.offset_of(AppendPlace {
                slot_serial: serial,
                slot_offset_bytes: block * 4096,
            });
            if member.medium.blocks.contains_key(&(offset_bytes / 4096)) {
                member.medium.flip(offset_bytes, bit);
            }
        }
        member.superblock.slots_begun = hint;
        let is_unreadable = |offset: u64| (offset / 4096).is_multiple_of(modulus);
        let read = read_with_errors(member, &is_unreadable);
        let mut opening = Opening::new(&member.superblock);
        let (chapters, _) = ask(&mut opening, Opening::chapters, read);
        prop_assert!(chapters.len() <= 1);
        let (tail, _) = ask(&mut opening, Opening::tail, |_, _| Err(EIO));
        prop_assert!(tail.max_sequence <= image.sequence);
        prop_assert!(tail.newest_serial <= Some(slots));
    }
}

#[test]
fn a_slot_is_not_read_again_for_each_serial_that_would_lie_in_it() {
    const SLOTS: u64 = 4;
    let mut image = Image::new(&[MIB / 2], SLOT);
    image.begin(1);
    image.fill(2, 10_000);
    // Nothing links to the recording before, so the boundary between them is searched for, too.
    image.begin(1);
    image.put(0, 0, b"the last");
    let start = image.members[0].start.unwrap();
    let slot_count = image.members[0].geometry().slot_count;
    assert!(slot_count <= SLOTS, "{slot_count}");
    image.members[0].lose_slot_start(start.slot_serial);
    for slots_begun in [0, 4, 100, 1 << 40] {
        let member = &mut image.members[0];
        member.superblock.slots_begun = slots_begun;
        let mut opening = Opening::new(&member.superblock);
        let (_, read_bytes) = ask(&mut opening, Opening::chapters, read_of(member));
        // Each slot is read once for what is there and once for what is not, and single blocks
        // besides.
        let slots_bytes = 2 * slot_count * u64::from(SLOT);
        assert!(
            read_bytes < slots_bytes + (256 << 10),
            "{slots_begun}: {read_bytes}"
        );
    }
}
