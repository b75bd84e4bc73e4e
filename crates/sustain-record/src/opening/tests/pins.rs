//! Tests of what a pin keeps on a member.

use std::collections::BTreeSet;

use super::image::place;
use super::*;
use crate::format::{Descriptor, Pin};

/// Appends in the first slot behind the start, with a pin that ends in front of the fourth.
fn pinned() -> (Image, Vec<Descriptor>) {
    let mut image = Image::new(&[MIB], SLOT);
    image.begin(1);
    let appends: Vec<Descriptor> = (0..6).map(|_| image.put(0, 0, &[0x5A; 100])).collect();
    assert!(appends.iter().all(|one| one.place.slot_serial == 0));
    image.members[0].superblock.pins = vec![Pin {
        number: 1,
        from_slot: 0,
        end_slot: Some(1),
        end_sequence: appends[3].sequence,
        told_sequence: 0,
        freed_slot: None,
        from_time_ns: 0,
        to_time_ns: 1,
    }];
    (image, appends)
}

fn last_kept(image: &Image) -> Option<u64> {
    let member = &image.members[0];
    let mut opening = Opening::new(&member.superblock);
    let (chapters, _) = ask(&mut opening, |opening| opening.pinned(1), read_of(member));
    chapters.first().map(|newest| newest.last.sequence)
}

#[test]
fn a_pin_ends_in_front_of_what_came_behind_it_in_the_same_slot() {
    let (image, appends) = pinned();
    assert_eq!(last_kept(&image), Some(appends[2].sequence));
}

/// What is not durable may be lost in any order, and so may what links lead back to.
#[test]
fn a_power_cut_behind_the_end_of_a_pin_takes_nothing_of_it() {
    for lost in [&[3][..], &[4], &[3, 4], &[5], &[3, 4, 5]] {
        let (mut image, appends) = pinned();
        for index in lost {
            let offset_bytes = image.members[0].offset_of(appends[*index].place);
            image.members[0].medium.lose(offset_bytes);
        }
        assert_eq!(last_kept(&image), Some(appends[2].sequence), "{lost:?}");
    }
}

#[test]
fn where_the_first_slot_of_a_pin_has_nothing_of_it_the_slot_in_front_is_looked_at() {
    let mut image = Image::new(&[MIB], SLOT);
    image.begin(1);
    image.fill(1, 10_000);
    // The last one did not fit any more.
    assert_eq!(image.members[0].previous, Some(place(1, 0)));
    let sequence = image.sequence;
    image.put(0, 0, b"the last");
    image.members[0].superblock.pins = vec![Pin {
        number: 1,
        from_slot: 0,
        end_slot: Some(2),
        end_sequence: sequence,
        told_sequence: 0,
        freed_slot: None,
        from_time_ns: 0,
        to_time_ns: 1,
    }];
    image.members[0].lose_slot_start(1);
    assert_eq!(last_kept(&image), Some(sequence - 1));
}

/// Of a member that was rebuilt, or is computed from others, nothing may be known for long at
/// either end of what a pin keeps: it had parity there.
#[test]
fn a_pin_may_have_nothing_in_many_slots_at_its_ends() {
    for (begins_at, ends_at) in [(1, 40), (2, 59), (20, 40), (30, 31)] {
        let mut image = Image::new(&[8 * MIB], SLOT);
        image.ring = true;
        image.begin(1);
        image.members[0].medium.blocks.clear();
        for slot_serial in begins_at..ends_at {
            image.members[0].next = place(slot_serial, 0);
            image.put(0, 0, &[0x5A; 100]);
        }
        let superblock = &mut image.members[0].superblock;
        superblock.slots_begun = ends_at;
        superblock.pins = vec![Pin::open(1, 0, (0, 1)).closed_at(60, u64::MAX)];
        let member = &image.members[0];
        let mut opening = Opening::new(&member.superblock);
        let (chapters, _) = ask(&mut opening, |opening| opening.pinned(1), read_of(member));
        let found = chapters.iter().map(|one| {
            let (first, last) = (one.first.place, one.last.place);
            (first.slot_serial, last.slot_serial)
        });
        let found: Vec<(u64, u64)> = found.collect();
        assert_eq!(found, [(begins_at, ends_at - 1)]);
    }
}

/// A ring in its second lap, with a pin of slots of the first one, and the first append of each
/// slot that is there.
fn lapped() -> (Image, Vec<Descriptor>) {
    let mut image = Image::new(&[2 * MIB], SLOT);
    image.ring = true;
    image.begin(1);
    let slot_count = image.members[0].geometry().slot_count;
    image.members[0].superblock.pins = vec![Pin {
        number: 1,
        from_slot: 3,
        end_slot: Some(9),
        end_sequence: u64::MAX,
        told_sequence: 0,
        freed_slot: None,
        from_time_ns: 0,
        to_time_ns: 1,
    }];
    let course = image.members[0].superblock.course();
    let mut firsts = Vec::new();
    for serial in course.following(0, slot_count + 5) {
        image.members[0].next = place(serial, 0);
        firsts.push(image.put(0, 0, &[0x5A; 100]));
    }
    let newest = image.members[0].newest();
    image.members[0].superblock.slots_begun = newest + 1;
    firsts.retain(|first| first.place.slot_serial + slot_count > newest);
    (image, firsts)
}

fn slot_at(image: &Image, time_ns: i64) -> u64 {
    let mut opening = Opening::new(&image.members[0].superblock);
    let question = |opening: &mut Opening| opening.slot_at(time_ns);
    ask(&mut opening, question, read_of(&image.members[0])).0
}

#[test]
fn the_slot_of_a_time_is_found_behind_what_pins_leave_out() {
    let (image, firsts) = lapped();
    assert!(firsts.len() > 6);
    for first in firsts {
        let slot = first.place.slot_serial;
        assert_eq!(slot_at(&image, first.made_time_ns), slot);
    }
}

/// What is kept from the slot in front of it on lacks nothing.
#[test]
fn for_a_slot_whose_time_cannot_be_told_the_one_in_front_is_named() {
    let (image, firsts) = lapped();
    for pair in firsts.windows(2) {
        let mut damaged = image.clone();
        damaged.members[0].lose_slot_start(pair[1].place.slot_serial);
        let slot = slot_at(&damaged, pair[1].made_time_ns);
        assert_eq!(slot, pair[0].place.slot_serial);
    }
}

/// What is damaged may have been the only append that says how far all was durable.
#[test]
fn a_pin_whose_last_append_is_damaged_may_keep_more_than_is_found() {
    let lacks_end = |image: &Image, told_sequence: u64| {
        let member = &image.members[0];
        let mut opening = Opening::new(&member.superblock);
        let (chapters, _) = ask(&mut opening, |opening| opening.pinned(1), read_of(member));
        let kept = &Kept {
            pin: 1,
            is_cut: true,
            told_sequence,
            computed: BTreeSet::new(),
            from_time_ns: 0,
            begins_in_time: false,
        };
        let merged = merge_pinned(kept, &[Some(chapters)], &[None]).unwrap();
        merged[0].lacks_end_of_pin
    };
    let (mut image, appends) = pinned();
    assert!(!lacks_end(&image, 0));
    assert!(!lacks_end(&image, appends[2].sequence));
    let offset_bytes = image.members[0].offset_of(appends[2].place);
    image.members[0].medium.lose(offset_bytes);
    assert!(!lacks_end(&image, 0));
    assert!(!lacks_end(&image, appends[1].sequence));
    assert!(lacks_end(&image, appends[2].sequence));
}

/// How far a stream can be read of what a pin keeps that was set up to this time and of which the
/// end is told, if no append that is left tells how far all was durable.
fn offered_up_to(image: &Image, to_time_ns: i64, told_sequence: u64) -> u64 {
    let mut member = image.members[0].clone();
    let end_slot = member.newest() + 1;
    member.superblock.slots_begun = end_slot;
    member.superblock.pins = vec![Pin {
        told_sequence,
        ..Pin::open(1, 0, (0, to_time_ns)).closed_at(end_slot, image.sequence + 1)
    }];
    let mut opening = Opening::new(&member.superblock);
    let (chapters, _) = ask(&mut opening, |opening| opening.pinned(1), read_of(&member));
    let kept = Kept {
        pin: 1,
        is_cut: true,
        told_sequence,
        computed: BTreeSet::new(),
        from_time_ns: 0,
        begins_in_time: true,
    };
    let merged = merge_pinned(&kept, &[Some(chapters)], &[None]).unwrap();
    merged[0].streams[0].offered_bytes
}

/// The append that told it joined no group, and its member was rebuilt.
#[test]
fn what_came_in_the_time_of_a_pin_can_be_read_where_nothing_that_is_left_calls_it_durable() {
    let mut image = Image::new(&[MIB], SLOT);
    image.begin(1);
    let payload = [0x5A; 10_000];
    let appends: Vec<Descriptor> = (0..20).map(|_| image.put(0, 0, &payload)).collect();
    assert!(image.members[0].newest() > 2);
    for append in &appends {
        let mut told_nothing = append.clone();
        told_nothing.positions[0].settled_offset_bytes = 0;
        let member = &mut image.members[0];
        let offset_bytes = member.offset_of(append.place);
        let bytes = super::image::encode(&told_nothing, &payload);
        member.medium.write(offset_bytes, &bytes);
    }
    for (count, append) in (1..).zip(&appends) {
        let made_ns = append.made_time_ns;
        let told_sequence = append.sequence;
        assert_eq!(
            offered_up_to(&image, made_ns, told_sequence),
            count * 10_000
        );
        assert_eq!(
            offered_up_to(&image, made_ns - 1, told_sequence),
            (count - 1) * 10_000
        );
        // While the end is not told, what came in its time may not have been durable.
        assert_eq!(offered_up_to(&image, made_ns, 0), 0);
    }
}

/// A ring on two members that has come far, with a pin that begins in the middle of the first slot
/// that it keeps on each; the appends in the two slots, in their order; and the time from which on
/// all is pinned.
fn pinned_in_the_middle() -> (Image, Vec<Descriptor>, i64) {
    let mut image = Image::new(&[2 * MIB, 2 * MIB], SLOT);
    image.ring = true;
    image.begin(1);
    let slot_count = image.members[0].geometry().slot_count;
    image.fill(slot_count, 10_000);
    let firsts = [0, 1].map(|index| image.members[index].newest() + 1);
    for (member, first) in image.members.iter_mut().zip(firsts) {
        member.next = place(first, 0);
    }
    let appends: Vec<Descriptor> = (0..8)
        .map(|turn| image.put(turn % 2, 0, &[0x5A; 100]))
        .collect();
    let from_time_ns = appends[4].made_time_ns;
    for (index, from_slot) in firsts.into_iter().enumerate() {
        assert_eq!(appends[index].place.slot_serial, from_slot);
        image.members[index].superblock.pins = vec![Pin {
            number: 1,
            from_slot,
            end_slot: Some(from_slot + 1),
            end_sequence: u64::MAX,
            told_sequence: 1,
            freed_slot: None,
            from_time_ns,
            to_time_ns: from_time_ns + 1,
        }];
        image.members[index].superblock.slots_begun = from_slot + 1;
    }
    (image, appends, from_time_ns)
}

/// Where what is kept begins to be read, and from which time on nothing is missing there, if the
/// second member is one that is computed from others, of which all that groups have may be there.
fn begin_of_pin(image: &Image, from_time_ns: i64, is_certain: bool) -> (Option<u64>, Option<i64>) {
    let chapters = image.members.iter().map(|member| {
        let mut opening = Opening::new(&member.superblock);
        let (chapters, _) = ask(&mut opening, |opening| opening.pinned(1), read_of(member));
        Some(chapters)
    });
    let mut chapters: Vec<_> = chapters.collect();
    for computed in chapters[1].iter_mut().flatten() {
        computed.pin_begin.is_certain = is_certain;
    }
    let kept = Kept {
        pin: 1,
        is_cut: true,
        told_sequence: 1,
        computed: BTreeSet::from([1]),
        from_time_ns,
        begins_in_time: true,
    };
    let merged = merge_pinned(&kept, &chapters, &[None, None]).unwrap();
    (merged[0].readable_from_sequence, merged[0].kept_from_ns)
}

fn lose(image: &mut Image, append: &Descriptor) {
    let of = |member: &&mut super::image::Member| member.superblock.member == append.member;
    let member = image.members.iter_mut().find(of).unwrap();
    let offset_bytes = member.offset_of(append.place);
    member.medium.lose(offset_bytes);
}

/// What came before the time that is pinned lies in the same slots, and nobody promised it.
#[test]
fn what_a_computed_member_lacks_from_before_the_time_of_a_pin_is_not_missed() {
    let (image, appends, from_time_ns) = pinned_in_the_middle();
    let begins = (Some(appends[4].sequence), Some(from_time_ns));
    assert_eq!(begin_of_pin(&image, from_time_ns, true), begins);
    let mut without = image.clone();
    lose(&mut without, &appends[1]);
    lose(&mut without, &appends[3]);
    assert_eq!(begin_of_pin(&without, from_time_ns, true), begins);
    // If a group has it, it is damage that it cannot be computed, and what came with it is missed.
    let begin = begin_of_pin(&without, from_time_ns, false);
    assert_eq!(begin, (begins.0, None));
}

#[test]
fn damage_at_the_beginning_of_a_pin_shows_on_a_member_that_was_read() {
    let (image, appends, from_time_ns) = pinned_in_the_middle();
    let begins_in_time = |lost: usize| {
        let mut damaged = image.clone();
        lose(&mut damaged, &appends[lost]);
        begin_of_pin(&damaged, from_time_ns, true).0 >= Some(appends[4].sequence)
    };
    assert!(!begins_in_time(2), "in front of the pin's time");
    assert!(!begins_in_time(4), "in it");
    // It lies farther back, or in the midst, where the hole tells of it.
    assert!(begins_in_time(6));
}
