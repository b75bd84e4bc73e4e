//! Reading recordings back from members in files and on simulated disks: never a wrong byte, never
//! a hole that is closed up, every flaw named.

#[path = "reading/image.rs"]
pub mod image;

use std::collections::BTreeSet;
use std::io::{ErrorKind, Read, Seek, SeekFrom};

use image::{Image, Opened, Put, SLOT_BYTES, STARTED_NS};
use sustain_disk::clock::Clock;
use sustain_disk::engine::{SharedMachine, SimulatedTarget};
use sustain_disk::simulated::{DiskDescription, FaultDescription, FaultKind, Machine, MachineFile};
use sustain_disk::target::{Target, TargetKind};
use sustain_record::format::{Gap, GapReason, Kind, MarkKind, PIECE_BYTES, PayloadMark};
use sustain_record::reading::file::{LossHandling, LostRange, StreamFile};
use sustain_record::reading::frames::{Frame, FrameLoss, FrameReader, Framed};
use sustain_record::reading::part::{HoleReason, StreamPart};
use sustain_record::reading::readable::readable as readable_now;
use sustain_record::reading::scope::Scope;
use sustain_record::reading::stream::{Range, StreamReader};
use sustain_record::reading::verify::{
    Checkable, Discrepancy, VerifyProgress, VerifyResult, verify,
};
use sustain_targets::Stop;

pub fn noise(seed: u64, length: usize) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 24) as u8
    };
    (0..length).map(|_| next()).collect()
}

/// Two streams, one of them framed by marks at odd places, scattered over three members.
fn scattered(has_end: bool) -> Image {
    let mut image = Image::new(3, 12, &["none", "lines"], false);
    for round in 0..24_usize {
        let payload = noise(round as u64, 1000 + round * 7000 % 150_000);
        image.data(round * 5 % 3, 0, &payload, &[]);
        let lines = noise(1000 + round as u64, 900);
        let marks = [
            (0, MarkKind::Begin),
            (300, MarkKind::EndAndBegin),
            (900, MarkKind::End),
        ]
        .map(|(offset_bytes, kind)| PayloadMark {
            offset_bytes,
            kind,
            time_ns: kind
                .is_begin()
                .then_some(image.time_ns + offset_bytes as i64),
        });
        image.data((round + 1) % 3, 1, &lines, &marks);
    }
    if has_end {
        image.end();
    }
    image
}

pub fn parts(scope: &Scope, stream: u16, range: &Range) -> Vec<StreamPart> {
    let reader = StreamReader::open(scope, stream, range).unwrap();
    reader.collect::<Result<_, _>>().unwrap()
}

/// The bytes of parts, which must follow each other; the lost ranges; and where they end.
pub fn joined(parts: &[StreamPart]) -> (Vec<u8>, Vec<std::ops::Range<u64>>) {
    let mut bytes = Vec::new();
    let mut lost: Vec<std::ops::Range<u64>> = Vec::new();
    let mut at = parts.first().map_or(0, StreamPart::offset_bytes);
    for part in parts {
        assert_eq!(part.offset_bytes(), at, "parts follow each other");
        at = part.end_bytes();
        match part {
            StreamPart::Data { bytes: more, .. } => bytes.extend_from_slice(more),
            StreamPart::OpenEnd { .. } => {}
            _ => {
                bytes.resize(bytes.len() + part.length_bytes() as usize, 0);
                match lost.last_mut() {
                    Some(last) if last.end == part.offset_bytes() => last.end = at,
                    _ => lost.push(part.offset_bytes()..at),
                }
            }
        }
    }
    (bytes, lost)
}

fn check(opened: &Opened) -> VerifyResult {
    let store = Checkable {
        members: &opened.members,
        recordings: &opened.recordings,
        pins: &[],
        machines: &[],
        clock: &Clock::Real,
    };
    verify(store, &mut |_| (), &Stop::default()).unwrap()
}

#[test]
fn what_was_recorded_comes_back_byte_for_byte() {
    let image = scattered(true);
    let opened = image.open();
    let scope = opened.scope();
    for stream in 0..2_u16 {
        let (bytes, lost) = joined(&parts(&scope, stream, &Range::All));
        assert_eq!(lost, []);
        assert!(bytes == image.offered[usize::from(stream)]);
    }
    let result = check(&opened);
    assert_eq!(result.bad, []);
    assert!(result.ok && result.complete);
    let offered = image.offered[0].len() as u64;
    assert_eq!(result.recordings[0].streams[0].recorded, offered);
}

#[test]
fn what_an_earlier_store_has_left_behind_the_end_is_no_damage() {
    let mut earlier = Image::new(2, 12, &["none"], false);
    for round in 0..24_usize {
        earlier.data(round % 2, 0, &noise(round as u64, 60_000), &[]);
    }
    earlier.end();
    for count in 0..12 {
        let mut image = earlier.recreated();
        for round in 0..count {
            let payload = noise(100 + round as u64, 50_000 + round * 1000);
            image.data(round % 2, 0, &payload, &[]);
        }
        image.end();
        let opened = image.open();
        let (bytes, lost) = joined(&parts(&opened.scope(), 0, &Range::All));
        assert_eq!(lost, []);
        assert!(bytes == image.offered[0]);
        let result = check(&opened);
        assert_eq!(result.bad, [], "{count} appends");
        assert!(result.ok);
        // Its own end mark is missed all the same.
        let put = image.puts.last().unwrap().clone();
        image.members[put.member].bytes[put.offset_bytes + 100] ^= 1;
        let result = check(&image.open());
        let why: Vec<&str> = result.bad.iter().map(|bad| bad.why.as_str()).collect();
        assert_eq!(why, ["the end mark is damaged"], "{count} appends");
    }
}

#[test]
fn a_damaged_end_mark_that_began_a_slot_is_missed_where_another_member_has_its_own() {
    let mut began_slot = 0;
    for count in 1..8 {
        let mut image = Image::new(2, 12, &["none"], false);
        for round in 0..count {
            // Two of them fill a slot, so the end mark of m1 begins one now and then.
            let slot_half = SLOT_BYTES as usize / 2 - 2 * 4096;
            image.data(1, 0, &noise(round, slot_half), &[]);
            image.data(0, 0, &noise(100 + round, 5000), &[]);
        }
        image.end();
        let put = image.puts.last().unwrap().clone();
        assert_eq!(put.member, 1);
        began_slot += usize::from(put.descriptor.place.slot_offset_bytes == 0);
        assert!(check(&image.open()).ok);
        image.members[1].bytes[put.offset_bytes + 100] ^= 1;
        let result = check(&image.open());
        let told = result.bad.iter();
        let told = told.map(|bad| (bad.why.as_str(), bad.member.as_deref(), bad.offset_bytes));
        let expected = (
            "the end mark is damaged",
            Some("m1"),
            Some(put.offset_bytes as u64),
        );
        assert_eq!(told.collect::<Vec<_>>(), [expected], "{count} appends");
    }
    assert!(began_slot > 1);
}

/// Two recordings of two members. The first one has its end marks at these places.
fn one_after_the_other(has_end: bool) -> (Image, Vec<Put>) {
    let mut image = Image::new(2, 12, &["none"], false);
    for round in 0..6_usize {
        image.data(round % 2, 0, &noise(round as u64, 50_000), &[]);
    }
    let before_end = image.puts.len();
    if has_end {
        image.end();
    }
    let ends = image.puts[before_end..].to_vec();
    image.begin_again();
    for round in 0..4_usize {
        image.data(round % 2, 0, &noise(10 + round as u64, 50_000), &[]);
    }
    image.end();
    (image, ends)
}

/// Writes over the whole of an append.
fn destroy(image: &mut Image, put: &Put) {
    let bytes = put.descriptor.append_bytes as usize;
    image.members[put.member].bytes[put.offset_bytes..][..bytes].fill(0xA5);
}

#[test]
fn end_marks_that_are_lost_before_a_further_recording_are_missed_on_each_member() {
    let (mut image, ends) = one_after_the_other(true);
    assert!(check(&image.open()).ok);
    for put in &ends {
        destroy(&mut image, put);
    }
    let result = check(&image.open());
    let told = result.bad.iter();
    let told: Vec<_> = told
        .map(|bad| (bad.recording, bad.member.as_deref(), bad.offset_bytes))
        .collect();
    let expected = ends.iter().zip(["m0", "m1"]);
    let expected: Vec<_> = expected
        .map(|(put, name)| (Some(1), Some(name), Some(put.offset_bytes as u64)))
        .collect();
    assert_eq!(told, expected);
    assert!(result.bad[0].why.contains("most likely its end mark"));
    assert!(!result.ok);
}

#[test]
fn a_further_recording_behind_an_open_end_finds_no_fault_with_it() {
    let (image, ends) = one_after_the_other(false);
    assert!(ends.is_empty());
    let result = check(&image.open());
    assert_eq!(result.bad, []);
    assert!(result.recordings[0].open_end);
}

#[test]
fn an_end_mark_that_a_power_cut_may_have_left_half_written_is_no_fault() {
    // What the start of the next recording tells of the end before, and whether it is a fault.
    for (follows_end, is_ok) in [(Some(false), true), (Some(true), false), (None, false)] {
        for at in [100, 4096 + 10] {
            let mut image = Image::new(2, 12, &["none"], false);
            image.follows_end = Some(false);
            image.begin_again();
            assert_half_written_end(&mut image, at, follows_end, is_ok);
        }
    }
}

#[test]
fn a_damaged_end_mark_of_an_older_recorder_is_missed_still_when_a_newer_one_has_recorded_on() {
    // Older recorders left out of their starts, and out of the superblocks, what a newer one says
    // of the end before: it has nothing to tell then.
    for at in [100, 4096 + 10] {
        let mut image = Image::new(2, 12, &["none"], false);
        assert_half_written_end(&mut image, at, Some(false), false);
    }
}

/// Ends the recording of an image, damages the end mark at this byte, and lets another one follow.
#[track_caller]
fn assert_half_written_end(image: &mut Image, at: usize, follows_end: Option<bool>, is_ok: bool) {
    image.data(0, 0, &noise(1, 50_000), &[]);
    image.end();
    let end = image.puts.last().unwrap().clone();
    // Without its descriptor it was not there for the next recording.
    let is_named = at > 4096;
    if !is_named {
        image.forget_last(end.member);
    }
    image.follows_end = follows_end;
    image.begin_again();
    image.end();
    image.members[end.member].bytes[end.offset_bytes + at] ^= 1;
    let result = check(&image.open());
    assert_eq!(result.ok, is_ok, "{follows_end:?}, {at}: {result:?}");
    let flaws = [result.bad, result.not_durable].concat();
    let places: Vec<Option<u64>> = flaws.iter().map(|bad| bad.offset_bytes).collect();
    assert_eq!(places, [Some(end.offset_bytes as u64)]);
}

/// One recording that has ended in order, as the superblocks say, and its end marks.
fn ended_in_order(members: usize, is_ring: bool) -> (Image, Vec<Put>) {
    // More slots than a crash of the next recording may have begun.
    let mut image = Image::new(members, 24, &["none"], is_ring);
    // A ring goes round once.
    for round in 0..if is_ring { 40 * members } else { 6 } {
        image.data(round % members, 0, &noise(round as u64, 50_000), &[]);
    }
    let before_end = image.puts.len();
    image.end();
    image.say_ended();
    let ends = image.puts[before_end..].to_vec();
    (image, ends)
}

/// The flaws that name a place, each once.
fn flawed_places(result: &VerifyResult) -> BTreeSet<(String, u64)> {
    let named = result.bad.iter();
    named
        .filter_map(|bad| Some((bad.member.clone()?, bad.offset_bytes?)))
        .collect()
}

fn names_of(puts: &[Put]) -> BTreeSet<(String, u64)> {
    let named = puts.iter();
    named
        .map(|put| (format!("m{}", put.member), put.offset_bytes as u64))
        .collect()
}

#[test]
fn end_marks_that_the_superblocks_call_durable_are_missed_where_they_are_damaged() {
    for (members, is_ring) in [(1, false), (2, false), (1, true), (2, true)] {
        let (mut image, ends) = ended_in_order(members, is_ring);
        let whole = check(&image.open());
        assert!(whole.ok, "{members}, {is_ring}: {:?}", whole.bad);
        for end in &ends {
            image.members[end.member].bytes[end.offset_bytes + 100] ^= 1;
        }
        let result = check(&image.open());
        assert!(!result.ok, "{members}, {is_ring}");
        assert_eq!(flawed_places(&result), names_of(&ends));
        assert!(
            result.bad[0]
                .why
                .contains("its end mark is damaged or lost")
        );
        assert_eq!(result.bad[0].recording, Some(1));
    }
}

#[test]
fn an_end_mark_that_is_lost_with_the_data_before_it_is_missed() {
    for (members, is_ring) in [(1, false), (2, false), (1, true), (2, true)] {
        let (mut image, ends) = ended_in_order(members, is_ring);
        let count = image.puts.len();
        let last = image.puts[count - ends.len() - members..].to_vec();
        last.iter().for_each(|put| destroy(&mut image, put));
        let result = check(&image.open());
        assert!(!result.ok, "{members}, {is_ring}");
        assert_eq!(flawed_places(&result).len(), members, "{:?}", result.bad);
    }
}

#[test]
fn one_of_two_end_marks_that_the_superblocks_call_durable_is_missed() {
    for is_ring in [false, true] {
        let (mut image, ends) = ended_in_order(2, is_ring);
        destroy(&mut image, &ends[1]);
        let result = check(&image.open());
        assert!(!result.ok);
        assert_eq!(flawed_places(&result), names_of(&ends[1..]));
    }
}

#[test]
fn a_lost_end_mark_is_missed_still_when_another_recording_follows() {
    for (members, is_ring) in [(1, false), (2, false), (1, true), (2, true)] {
        for is_ended in [false, true] {
            let (mut image, ends) = ended_in_order(members, is_ring);
            for end in &ends {
                destroy(&mut image, end);
                image.forget_last(end.member);
            }
            image.follows_end = Some(true);
            image.begin_again();
            image.data(0, 0, &noise(99, 10_000), &[]);
            image.say_begun();
            if is_ended {
                image.end();
                image.say_ended();
            }
            let result = check(&image.open());
            assert!(!result.ok, "{members}, {is_ring}, {is_ended}");
            assert_eq!(flawed_places(&result), names_of(&ends));
            assert!(result.bad.iter().all(|bad| bad.recording == Some(1)));
        }
    }
}

#[test]
fn a_recording_that_ended_and_of_which_nothing_is_left_is_missed() {
    let (mut image, _) = ended_in_order(1, false);
    for put in &image.puts.clone() {
        destroy(&mut image, put);
    }
    let result = check(&image.open());
    assert!(!result.ok);
    assert!(result.bad[0].why.contains("nothing of that recording"));
}

#[test]
fn a_lost_end_mark_is_missed_still_when_a_further_recording_wrote_nothing() {
    for (members, is_ring) in [(1, false), (2, false), (1, true), (2, true)] {
        let (mut image, ends) = ended_in_order(members, is_ring);
        image.say_begun_in_vain();
        let whole = check(&image.open());
        assert!(whole.ok, "{members}, {is_ring}: {:?}", whole.bad);
        for end in &ends {
            destroy(&mut image, end);
            image.forget_last(end.member);
        }
        for is_followed in [false, true] {
            if is_followed {
                image.follows_end = Some(false);
                image.end_slot = Some(ends[0].descriptor.place.slot_serial);
                image.begin_again();
                image.data(0, 0, &noise(99, 10_000), &[]);
                image.say_begun();
            }
            let result = check(&image.open());
            assert!(!result.ok, "{members}, {is_ring}, {is_followed}");
            assert_eq!(flawed_places(&result), names_of(&ends));
            assert!(result.bad.iter().all(|bad| bad.recording == Some(1)));
        }
    }
}

#[test]
fn what_a_recording_of_a_small_ring_may_have_written_over_without_a_trace_is_not_missed() {
    let (mut image, ends) = ended_in_order(1, true);
    let slot_count = image.members[0].superblock.geometry.slot_count;
    image.say_begun_in_vain();
    // As in a ring of so few slots that the recording may have come to the end mark.
    image.members[0].superblock.slots_begun += slot_count - 2;
    destroy(&mut image, &ends[0]);
    assert_eq!(check(&image.open()).bad, []);
}

/// A ring of so few slots, in which a recording has ended, and another one was cut off after it had
/// made its start durable. Returns the end mark, too.
fn cut_behind_an_end(slots: u64) -> (Image, Put) {
    let mut image = Image::new(1, slots, &["none"], true);
    for round in 0..2 {
        image.data(0, 0, &noise(round, 50_000), &[]);
    }
    image.end();
    image.say_ended();
    let end = image.puts.last().unwrap().clone();
    image.follows_end = Some(true);
    image.end_slot = Some(end.descriptor.place.slot_serial);
    image.begin_again();
    image.say_begun();
    (image, end)
}

#[test]
fn a_lost_end_mark_is_missed_in_a_ring_of_few_slots_unless_a_cut_can_have_hit_it() {
    for slots in 2..=24 {
        for is_named in [true, false] {
            let (mut image, end) = cut_behind_an_end(slots);
            let whole = check(&image.open());
            assert!(whole.ok && whole.notes.is_empty(), "{slots}: {whole:?}");
            destroy(&mut image, &end);
            if !is_named {
                // It was lost before the next recording began.
                image.forget_last(0);
            }
            let result = check(&image.open());
            // The recorder may begin half of the slots, at least two, before its next start.
            let is_reported = slots >= 4;
            assert_eq!(result.ok, !is_reported, "{slots}: {result:?}");
            let places: Vec<Option<u64>> = result.bad.iter().map(|bad| bad.offset_bytes).collect();
            let expected = is_reported.then_some(Some(end.offset_bytes as u64));
            assert_eq!(places, Vec::from_iter(expected), "{slots}");
            let notes = result.notes.join(" ");
            assert_eq!(
                notes.contains("cannot be told"),
                !is_reported,
                "{slots}: {notes}"
            );
        }
    }
}

#[test]
fn a_recording_of_which_a_member_lost_everything_is_missed_by_the_next_one() {
    for members in [1, 2] {
        let (mut image, _) = ended_in_order(members, false);
        for is_whole in [true, false] {
            image.follows_end = Some(true);
            let end = image.puts.last().unwrap().descriptor.place;
            image.end_slot = Some(end.slot_serial);
            image.begin_again();
            image.data(0, 0, &noise(99, 10_000), &[]);
            image.end();
            image.say_ended();
            let result = check(&image.open());
            assert_eq!(result.ok, is_whole, "{members}: {:?}", result.bad);
            if !is_whole {
                let lost: BTreeSet<_> = result.bad.iter().map(|bad| bad.offset_bytes).collect();
                let slot_bytes = u64::from(SLOT_BYTES);
                let at = image.members[0].superblock.geometry.offset_of(end);
                assert_eq!(lost, BTreeSet::from([Some(at / slot_bytes * slot_bytes)]));
                assert!(result.bad[0].why.contains("nothing of that recording"));
                assert_eq!(result.bad[0].recording, Some(3));
            }
            // All members lose the newest recording before the next one begins.
            let puts = image.puts.clone();
            let newest = puts.iter().filter(|put| put.descriptor.recording == 2);
            newest.for_each(|put| destroy(&mut image, put));
            (0..members).for_each(|member| image.forget_last_recording(member));
        }
    }
}

#[test]
fn a_recording_that_may_lie_on_a_missing_member_alone_is_told() {
    let (mut image, _) = ended_in_order(2, false);
    image.say_begun_in_vain();
    let mut opened = image.open();
    assert!(check(&opened).ok);
    opened.members.remove(1);
    opened.recordings[0].per_member[1] = None;
    let result = check(&opened);
    let of_second = result.bad.iter().filter(|bad| bad.recording == Some(2));
    let told: Vec<&str> = of_second.map(|bad| bad.why.as_str()).collect();
    assert_eq!(told.len(), 1);
    assert!(told[0].contains("nothing of it is on the members that are here"));
}

/// Opens an image without its second member.
fn without_second(image: &Image) -> Opened {
    let mut opened = image.open();
    opened.members.remove(1);
    for recording in &mut opened.recordings {
        recording.per_member[1] = None;
    }
    opened
}

#[test]
fn a_missing_member_is_a_fault_unless_all_is_accounted_for_without_it() {
    for has_end in [true, false] {
        let mut image = Image::new(2, 12, &["none"], false);
        for round in 0..4 {
            image.data(0, 0, &noise(round, 50_000), &[]);
        }
        if has_end {
            image.end();
        }
        assert!(check(&image.open()).ok);
        let result = check(&without_second(&image));
        assert_eq!(result.ok, has_end, "{result:?}");
        if !has_end {
            let [bad] = result.bad.as_slice() else {
                panic!("{result:?}");
            };
            assert_eq!(bad.recording, Some(1));
            assert!(bad.why.contains("no end mark of it"), "{}", bad.why);
            let second = image.members[1].superblock.member.to_string();
            assert!(bad.why.contains(&second), "{}", bad.why);
        }
    }
}

#[test]
fn gaps_whose_accounts_lie_on_a_missing_member_are_told_beside_what_is_missing() {
    let mut image = Image::new(2, 12, &["none"], false);
    image.data(0, 0, &noise(1, 30_000), &[]);
    let gap = Gap {
        reason: GapReason::BufferFull,
        bytes: 7_000,
        frames: 0,
        first_time_ns: 0,
        last_time_ns: 0,
    };
    image.data_after(1, 0, &noise(2, 50_000), &[], Some(gap));
    image.data(0, 0, &noise(3, 40_000), &[]);
    image.end();
    assert_eq!(check(&image.open()).notes, [""; 0]);
    let opened = without_second(&image);
    let listed = &opened.recordings[0].streams[0];
    let result = check(&opened);
    let stream = &result.recordings[0].streams[0];
    assert_eq!((listed.gap_bytes, stream.gap_bytes), (7_000, 0));
    assert_eq!(stream.hole_bytes, 57_000);
    let [note] = result.notes.as_slice() else {
        panic!("{result:?}");
    };
    assert!(note.contains("up to 7000 of the 57000 bytes"), "{note}");
}

#[test]
fn a_recording_between_others_that_only_a_missing_member_can_have_is_told() {
    for is_ring in [false, true] {
        let (mut image, _) = ended_in_order(2, is_ring);
        for _ in 0..2 {
            image.begin_again();
            image.end();
        }
        image.say_ended();
        let mut opened = without_second(&image);
        for number in [2, 1] {
            opened
                .recordings
                .retain(|recording| recording.number != number);
            let result = check(&opened);
            let unseen = result.bad.iter().filter(|bad| {
                bad.why
                    .contains("nothing of it is on the members that are here")
            });
            let told: Vec<Option<u32>> = unseen.map(|bad| bad.recording).collect();
            // A ring may have overwritten what came first.
            let expected: &[Option<u32>] = match (number, is_ring) {
                (2, _) => &[Some(2)],
                (_, false) => &[Some(2), Some(1)],
                (_, true) => &[],
            };
            assert_eq!(told, expected, "{is_ring}");
        }
    }
}

#[test]
fn a_damaged_seal_of_a_start_that_was_flushed_before_a_crash_is_named() {
    let mut image = Image::new(1, 12, &["none"], false);
    let start = image.puts[0].clone();
    let seal = start.offset_bytes + start.descriptor.append_bytes as usize - 60;
    image.members[0].bytes[seal] ^= 1;
    for is_flushed in [false, true] {
        if is_flushed {
            image.flushed_sequence = start.descriptor.sequence;
        }
        image.data(0, 0, &noise(1, 50_000), &[]);
        let result = check(&image.open());
        assert_eq!(result.ok, !is_flushed, "{:?}", result.bad);
        let places: Vec<Option<u64>> = result.bad.iter().map(|bad| bad.offset_bytes).collect();
        let hit = is_flushed.then_some(Some(start.offset_bytes as u64));
        assert_eq!(places, hit.into_iter().collect::<Vec<_>>());
    }
}

#[test]
fn a_start_on_a_member_that_was_given_up_before_it_was_flushed_is_no_fault() {
    for at in [4096 + 10, 8192 - 60] {
        for is_flushed in [false, true] {
            let mut image = Image::new(2, 12, &["none"], false);
            let start = image.puts[1].clone();
            if is_flushed {
                image.flushed_sequence = start.descriptor.sequence;
            }
            image.data(1, 0, &noise(1, 50_000), &[]);
            image.end();
            // The member was given up before it had its end mark.
            let end = image.puts.last().unwrap().clone();
            destroy(&mut image, &end);
            image.members[1].bytes[start.offset_bytes + at] ^= 1;
            let result = check(&image.open());
            assert_eq!(result.ok, !is_flushed, "{at}: {result:?}");
            let mut flaws = result.bad.iter().map(|bad| bad.offset_bytes);
            assert!(!is_flushed || flaws.all(|at| at == Some(start.offset_bytes as u64)));
        }
    }
}

#[test]
fn superblocks_that_were_read_before_another_recording_began_tell_nothing_of_its_end() {
    let (mut image, _) = ended_in_order(2, false);
    image.follows_end = Some(true);
    image.begin_again();
    image.data(0, 0, &noise(99, 10_000), &[]);
    let result = check(&image.open());
    assert_eq!(result.bad, []);
}

#[test]
fn a_recording_of_which_nothing_is_found_is_missed_by_the_next_one() {
    let (mut image, _) = one_after_the_other(true);
    let next = image
        .puts
        .iter()
        .rposition(|put| put.descriptor.kind == Kind::Start);
    let first_of_next = next.unwrap() - 1;
    let earlier = image.puts[..first_of_next].to_vec();
    for put in &earlier {
        destroy(&mut image, put);
    }
    let result = check(&image.open());
    let told: Vec<_> = result
        .bad
        .iter()
        .map(|bad| (bad.recording, bad.member.as_deref()))
        .collect();
    assert_eq!(told, [(Some(2), Some("m0")), (Some(2), Some("m1"))]);
    assert!(result.bad[0].why.contains("the recording before"));
}

#[test]
fn every_range_of_bytes_begins_and_ends_where_it_was_asked_to() {
    let image = scattered(true);
    let opened = image.open();
    let offered = &image.offered[0];
    let all = offered.len() as u64;
    for (start, end) in [
        (0, 1),
        (1, 2),
        (999, 70_001),
        (all / 2, all / 2 + 5),
        (all - 1, all + 9),
    ] {
        let (bytes, _) = joined(&parts(&opened.scope(), 0, &Range::Bytes(start..end)));
        let end = end.min(all) as usize;
        assert!(bytes == offered[start as usize..end], "{start}..{end}");
    }
    assert!(parts(&opened.scope(), 0, &Range::Bytes(5..5)).is_empty());
    assert!(parts(&opened.scope(), 0, &Range::Bytes(all..all + 5)).is_empty());
}

#[test]
fn an_open_end_is_said_to_be_one() {
    let image = scattered(false);
    let opened = image.open();
    let parts = parts(&opened.scope(), 0, &Range::All);
    let (bytes, lost) = joined(&parts);
    assert!(bytes == image.offered[0] && lost.is_empty());
    assert!(matches!(parts.last(), Some(StreamPart::OpenEnd { .. })));
    let result = check(&opened);
    assert!(result.ok, "{:?}", result.bad);
    assert!(result.recordings[0].open_end);
}

#[test]
fn a_damaged_seal_of_what_was_flushed_before_a_crash_is_named() {
    let mut image = Image::new(1, 12, &["none"], false);
    for round in 0..8 {
        if round == 5 {
            image.flushed_sequence = image.sequence;
        }
        image.data(0, 0, &noise(round, 50_000), &[]);
    }
    let puts = image.puts.clone();
    for put in puts.iter().filter(|put| put.descriptor.kind == Kind::Data) {
        let seal = put.offset_bytes + put.descriptor.append_bytes as usize - 60;
        image.members[0].bytes[seal] ^= 1;
        let result = check(&image.open());
        image.members[0].bytes[seal] ^= 1;
        let was_flushed = put.descriptor.sequence <= image.flushed_sequence;
        assert_eq!(result.ok, !was_flushed, "{:?}", result.bad);
        let places: Vec<Option<u64>> = result.bad.iter().map(|bad| bad.offset_bytes).collect();
        let hit = was_flushed.then_some(Some(put.offset_bytes as u64));
        assert_eq!(places, hit.into_iter().collect::<Vec<_>>());
    }
}

#[test]
fn a_damaged_seal_of_the_account_of_a_gap_is_named() {
    for has_end in [true, false] {
        let mut image = Image::new(1, 12, &["none"], false);
        let gap = Gap {
            reason: GapReason::BufferFull,
            bytes: 5000,
            frames: 0,
            first_time_ns: 0,
            last_time_ns: 0,
        };
        image.data(0, 0, &noise(1, 50_000), &[]);
        image.data_after(0, 0, &[], &[], Some(gap));
        let put = image.puts.last().unwrap().clone();
        assert_eq!(put.descriptor.payload_bytes, 0);
        image.flushed_sequence = image.sequence;
        image.data(0, 0, &noise(2, 50_000), &[]);
        if has_end {
            image.end();
        }
        let whole = check(&image.open());
        assert!(whole.ok, "{:?}", whole.bad);
        let seal = put.offset_bytes + put.descriptor.append_bytes as usize - 60;
        image.members[0].bytes[seal] ^= 1;
        let result = check(&image.open());
        let places: Vec<Option<u64>> = result.bad.iter().map(|bad| bad.offset_bytes).collect();
        assert_eq!(places, [Some(put.offset_bytes as u64)], "{has_end}");
        assert!(!result.ok);
    }
}

#[test]
fn a_range_of_time_has_all_that_arrived_in_it() {
    let image = scattered(true);
    let opened = image.open();
    let puts: Vec<_> = image
        .puts
        .iter()
        .filter(|put| put.descriptor.stream == 0)
        .collect();
    for (from, to) in [(0, 3), (5, 6), (11, 23)] {
        let (first, last) = (&puts[from].descriptor, &puts[to].descriptor);
        let range = Range::Time(first.first_time_ns..last.first_time_ns);
        let found = parts(&opened.scope(), 0, &range);
        assert_eq!(found[0].offset_bytes(), first.stream_offset_bytes);
        assert_eq!(found.last().unwrap().end_bytes(), last.stream_offset_bytes);
    }
    let after = Range::Time(image.time_ns..i64::MAX);
    assert!(joined(&parts(&opened.scope(), 0, &after)).0.is_empty());
    let before = Range::Time(0..STARTED_NS);
    assert!(joined(&parts(&opened.scope(), 0, &before)).0.is_empty());
}

#[test]
fn frames_are_found_by_number_and_by_time() {
    let image = scattered(true);
    let opened = image.open();
    let scope = opened.scope();
    let bytes_of = |frame: u64| {
        let (round, is_second) = (frame / 2 * 900, frame % 2 == 1);
        if is_second {
            round + 300..round + 900
        } else {
            round..round + 300
        }
    };
    for (first, end) in [(0, 1), (1, 2), (7, 31), (46, 48), (40, 99)] {
        let reader = StreamReader::open(&scope, 1, &Range::Frames(first..end)).unwrap();
        let frames: Vec<Frame> = FrameReader::new(reader)
            .map(|framed| match framed.unwrap() {
                Framed::Frame(frame) => frame,
                lost => panic!("{lost:?}"),
            })
            .collect();
        let numbers: Vec<u64> = frames.iter().map(|frame| frame.number).collect();
        assert_eq!(numbers, (first..end.min(48)).collect::<Vec<_>>());
        for frame in frames {
            let range = bytes_of(frame.number);
            assert_eq!(frame.offset_bytes, range.start);
            assert!(frame.whole);
            let offered = &image.offered[1][range.start as usize..range.end as usize];
            assert_eq!(&*frame.bytes, offered);
        }
    }
    let time_ns = image
        .puts
        .iter()
        .filter(|put| put.descriptor.stream == 1)
        .nth(3)
        .unwrap();
    let from_ns = time_ns.descriptor.first_time_ns + 1;
    let reader = StreamReader::open(&scope, 1, &Range::Time(from_ns..i64::MAX)).unwrap();
    assert!(matches!(
        FrameReader::new(reader).next(),
        Some(Ok(Framed::Frame(Frame {
            number: 7,
            whole: true,
            ..
        })))
    ));
    assert!(StreamReader::open(&scope, 2, &Range::All).is_err());
}

#[test]
fn an_append_that_the_recorder_gave_up_is_named_and_no_damage() {
    let gap = |bytes| Gap {
        bytes,
        reason: GapReason::NotWritten,
        frames: 0,
        first_time_ns: STARTED_NS,
        last_time_ns: STARTED_NS,
    };
    // Its bytes are a gap, are whole elsewhere, are a gap in part only, or nothing tells of them.
    for (gap_bytes, has_copy, is_given_up) in [
        (Some(50_000), false, true),
        (None, true, true),
        (Some(49_999), false, false),
        (None, false, false),
    ] {
        let mut image = Image::new(2, 12, &["none"], false);
        image.data(0, 0, &noise(1, 30_000), &[]);
        let given_up = noise(2, 50_000);
        image.data(1, 0, &given_up, &[]);
        let put = image.puts.last().unwrap().clone();
        if let Some(bytes) = gap_bytes {
            image.lost_before(0, 0, gap(bytes));
        }
        if has_copy {
            image.copy(0, 0, &given_up);
        }
        image.data(0, 0, &noise(3, 40_000), &[]);
        image.end();
        let seal = put.offset_bytes + put.descriptor.append_bytes as usize - 64;
        image.members[1].bytes[seal..][..64].fill(0);
        let result = check(&image.open());
        assert_eq!(result.ok, is_given_up, "{:?}", result.bad);
        let (told, other) = if is_given_up {
            (&result.not_durable, &result.bad)
        } else {
            (&result.bad, &result.not_durable)
        };
        assert_eq!((told.len(), other.len()), (1, 0), "{told:?} {other:?}");
        assert_eq!(told[0].member.as_deref(), Some("m1"));
        assert_eq!(told[0].why.contains("gave this append up"), is_given_up);
    }
}

/// A flipped bit, and whether bytes of a stream are lost by it.
fn flips(image: &Image) -> Vec<(usize, usize, &'static str, bool)> {
    let mut flips = Vec::new();
    for put in image.puts.iter().step_by(3) {
        let descriptor = &put.descriptor;
        let at = |offset: usize| (put.member, put.offset_bytes + offset);
        let is_data = descriptor.kind == Kind::Data;
        let payload_bytes = descriptor.payload_bytes as usize;
        let mut add = |(member, at), what, loses| flips.push((member, at, what, loses));
        if is_data {
            add(at(100), "descriptor", true);
        }
        add(at(4096), "payload", is_data);
        add(at(4096 + payload_bytes - 1), "payload's end", is_data);
        if descriptor.marks_bytes > 0 {
            add(at(4096 + payload_bytes), "marks", false);
        }
        if is_data {
            add(at(descriptor.append_bytes as usize - 20), "seal", false);
        }
    }
    for member in 0..image.members.len() {
        let start = image.puts.iter().find(|put| put.member == member).unwrap();
        flips.push((member, start.offset_bytes + 9, "start", false));
        for offset in image.members[member]
            .superblock
            .geometry
            .superblock_offsets()
        {
            flips.push((member, offset as usize + 40, "superblock", false));
        }
    }
    flips
}

#[test]
fn a_bit_flipped_anywhere_costs_no_more_than_its_piece_and_is_named() {
    let mut image = scattered(true);
    for (member, at, what, loses) in flips(&image) {
        image.members[member].bytes[at] ^= 0x10;
        let opened = image.open();
        let scope = opened.scope();
        let mut lost_bytes = 0;
        for stream in 0..2_u16 {
            let (bytes, lost) = joined(&parts(&scope, stream, &Range::All));
            let mut offered = image.offered[usize::from(stream)].clone();
            for range in &lost {
                offered[range.start as usize..range.end as usize].fill(0);
                lost_bytes += range.end - range.start;
            }
            assert!(bytes == offered, "{what} at {at} of member {member}");
        }
        assert_eq!(lost_bytes > 0, loses, "{what} at {at} of member {member}");
        let is_piece = what.starts_with("payload");
        assert!(
            !is_piece || lost_bytes <= PIECE_BYTES as u64,
            "{what} at {at}"
        );
        let result = check(&opened);
        assert!(!result.ok, "{what} at {at} of member {member}");
        let name = format!("m{member}");
        assert_eq!(
            result.bad[0].member.as_deref(),
            Some(name.as_str()),
            "{what}: {:?}",
            result.bad
        );
        let named: u64 = result
            .bad
            .iter()
            .filter_map(|bad| Some(bad.to_byte? - bad.from_byte?))
            .sum();
        assert_eq!(named, lost_bytes, "{what} at {at} of member {member}");
        image.members[member].bytes[at] ^= 0x10;
    }
}

#[test]
fn members_that_end_early_give_what_they_have_and_never_a_wrong_byte() {
    let image = scattered(true);
    let length = image.members[0].bytes.len();
    let slot = SLOT_BYTES as usize;
    for cut in [
        slot + 4096,
        2 * slot - 512,
        2 * slot + 70_000,
        3 * slot,
        3 * slot + 4096 + 65_536,
    ] {
        let opened = image.open_cut(&[length, cut, length]);
        let scope = opened.scope();
        for stream in 0..2_u16 {
            let (bytes, lost) = joined(&parts(&scope, stream, &Range::All));
            let mut offered = image.offered[usize::from(stream)].clone();
            for range in &lost {
                offered[range.start as usize..range.end as usize].fill(0);
            }
            assert!(bytes == offered, "cut at {cut}");
        }
        let result = check(&opened);
        assert!(!result.ok);
        let streams = &result.recordings[0].streams;
        assert!(
            streams.iter().any(|stream| stream.hole_bytes > 0),
            "cut at {cut}"
        );
        for stream in streams {
            assert_eq!(
                stream.offered,
                stream.recorded + stream.gap_bytes + stream.hole_bytes + stream.overwritten_bytes
            );
        }
    }
}

#[test]
fn a_member_that_is_not_there_leaves_holes_where_its_appends_were() {
    let image = scattered(true);
    let mut opened = image.open();
    opened.members.remove(1);
    opened.recordings[0].per_member[1] = None;
    let (bytes, lost) = joined(&parts(&opened.scope(), 0, &Range::All));
    let mut offered = image.offered[0].clone();
    let mut expected: Vec<std::ops::Range<u64>> = Vec::new();
    for put in image
        .puts
        .iter()
        .filter(|put| put.member == 1 && put.descriptor.stream == 0)
    {
        let start = put.descriptor.stream_offset_bytes;
        let end = start + u64::from(put.descriptor.payload_bytes);
        offered[start as usize..end as usize].fill(0);
        expected.push(start..end);
    }
    assert_eq!(lost, expected);
    assert!(bytes == offered);
}

#[test]
fn a_stream_is_a_file_that_tells_of_what_it_lacks() {
    let mut image = Image::new(2, 4, &["none"], false);
    image.data(0, 0, &noise(1, 1000), &[]);
    let gap = Gap {
        bytes: 500,
        frames: 0,
        reason: GapReason::BufferFull,
        first_time_ns: image.time_ns,
        last_time_ns: image.time_ns,
    };
    image.data_after(1, 0, &noise(2, 1000), &[], Some(gap));
    image.end();
    let opened = image.open();
    let mut filled = Vec::new();
    let mut file = StreamFile::new(&opened.scope(), 0, LossHandling::FillZeros);
    file.read_to_end(&mut filled).unwrap();
    assert!(filled == image.offered[0]);
    assert_eq!(file.seek(SeekFrom::End(-10)).unwrap(), 2490);
    let mut tail = [0; 10];
    file.read_exact(&mut tail).unwrap();
    assert_eq!(tail, image.offered[0][2490..]);

    let mut file = StreamFile::new(&opened.scope(), 0, LossHandling::IsError);
    let mut bytes = Vec::new();
    let error = file.read_to_end(&mut bytes).unwrap_err();
    assert_eq!((error.kind(), bytes.len()), (ErrorKind::InvalidData, 1000));
    let lost: &LostRange = error.get_ref().unwrap().downcast_ref().unwrap();
    assert_eq!(lost.range, 1000..1500);
    assert!(error.to_string().contains("buffer was full"), "{error}");
    assert!(
        file.read(&mut [0]).is_err(),
        "it stays one until somebody seeks"
    );
    file.seek(SeekFrom::Start(1500)).unwrap();
    bytes.clear();
    file.read_to_end(&mut bytes).unwrap();
    assert!(bytes == image.offered[0][1500..]);
    assert!(file.seek(SeekFrom::Current(-9999)).is_err());
}

fn mark(offset_bytes: u64, kind: MarkKind, time_ns: i64) -> PayloadMark {
    PayloadMark {
        offset_bytes,
        kind,
        time_ns: kind.is_begin().then_some(time_ns),
    }
}

fn frames(scope: &Scope) -> Vec<Framed> {
    let reader = StreamReader::open(scope, 0, &Range::All).unwrap();
    FrameReader::new(reader).collect::<Result<_, _>>().unwrap()
}

/// Pictures of which one spans three appends, with bytes between them that belong to none.
fn pictures() -> Image {
    let mut image = Image::new(3, 4, &["jpeg"], false);
    let begin = |at, time_ns| mark(at, MarkKind::Begin, time_ns);
    let end = |at| mark(at, MarkKind::End, 0);
    let time_ns = image.time_ns;
    image.data(
        0,
        0,
        &noise(1, 100),
        &[begin(10, time_ns), end(40), begin(60, time_ns + 1)],
    );
    image.data(1, 0, &noise(2, 100), &[]);
    image.data(
        2,
        0,
        &noise(3, 100),
        &[end(20), begin(30, time_ns + 9), end(100)],
    );
    image.data(
        0,
        0,
        &noise(4, 100),
        &[begin(0, time_ns + 20), end(70), begin(90, time_ns + 30)],
    );
    image.end();
    image
}

#[test]
fn frames_are_joined_across_appends_without_what_lies_between() {
    let image = pictures();
    let opened = image.open();
    let offered = &image.offered[0];
    let expected = [
        (10..40, true),
        (60..220, true),
        (230..300, true),
        (300..370, true),
        (390..400, false),
    ];
    let found = frames(&opened.scope());
    assert_eq!(found.len(), expected.len());
    for (number, (framed, (range, whole))) in found.into_iter().zip(expected).enumerate() {
        let Framed::Frame(frame) = framed else {
            panic!("{framed:?}");
        };
        assert_eq!(frame.number, number as u64);
        assert_eq!(frame.offset_bytes, range.start as u64);
        assert_eq!(frame.whole, whole);
        assert_eq!(&*frame.bytes, &offered[range]);
        assert_eq!(frame.body(), &*frame.bytes);
    }
}

#[test]
fn frames_that_lost_bytes_or_their_beginning_are_told() {
    let mut image = pictures();
    let puts: Vec<_> = image
        .puts
        .iter()
        .filter(|put| put.descriptor.kind == Kind::Data)
        .collect();
    let (second, third) = (puts[1].clone(), puts[2].clone());
    image.members[second.member].bytes[second.offset_bytes + 4096] ^= 1;
    let opened = image.open();
    let found = frames(&opened.scope());
    let Framed::Frame(frame) = &found[1] else {
        panic!("{:?}", found[1]);
    };
    assert!(!frame.whole);
    assert_eq!(
        &*frame.bytes,
        &image.offered[0][60..100],
        "what came before the loss"
    );
    assert!(matches!(&found[2], Framed::Frame(frame) if frame.whole && frame.number == 2));

    image.members[third.member].bytes[third.offset_bytes + 20] ^= 1;
    let opened = image.open();
    let found = frames(&opened.scope());
    assert!(matches!(&found[1], Framed::Frame(frame) if !frame.whole));
    assert_eq!(found.len(), 5);
    assert!(found.contains(&Framed::Missing {
        numbers: 2..3,
        before_bytes: 300,
        loss: FrameLoss::Hole,
    }));
}

#[test]
fn a_length_prefix_is_part_of_the_frame_and_not_of_its_body() {
    let mut image = Image::new(1, 4, &["length-prefixed"], false);
    let time_ns = image.time_ns;
    let marks = [mark(0, MarkKind::Begin, time_ns), mark(7, MarkKind::End, 0)];
    image.data(0, 0, &[3, 0, 0, 0, b'a', b'b', b'c'], &marks);
    image.end();
    let opened = image.open();
    let found = frames(&opened.scope());
    let [Framed::Frame(frame)] = &found[..] else {
        panic!("{found:?}");
    };
    assert_eq!((frame.bytes.len(), frame.body()), (7, &b"abc"[..]));
}

#[test]
fn a_ring_gives_what_is_left_and_says_what_is_not() {
    let mut image = Image::new(2, 4, &["none"], true);
    for round in 0..24_usize {
        if round == 12 {
            (0..2).for_each(|member| image.start(member));
        }
        image.data(round % 2, 0, &noise(round as u64, 100_000), &[]);
    }
    image.end();
    assert!(image.slots_begun(0) > 4);
    let opened = image.open();
    let scope = opened.scope();
    let readable = scope.readable_from_bytes[0];
    assert!(readable > 0);
    let found = parts(&scope, 0, &Range::All);
    assert!(matches!(
        found[0],
        StreamPart::Overwritten { offset_bytes: 0, length_bytes } if length_bytes == readable
    ));
    let (bytes, lost) = joined(&found);
    assert_eq!(lost, vec![0..readable; 1]);
    assert!(bytes[readable as usize..] == image.offered[0][readable as usize..]);
    let result = check(&opened);
    assert!(result.ok, "{:?}", result.bad);
    let checked = &result.recordings[0].streams[0];
    assert_eq!(checked.readable_from_bytes, readable);
    let below_bytes = checked.overwritten_bytes + checked.below_readable_bytes;
    assert_eq!(below_bytes, readable);
}

/// What `verify` says of the only stream: offered, recorded, lost and overwritten.
fn sums(image: &Image) -> [u64; 4] {
    let result = check(&image.open());
    assert!(result.ok, "{:?}", result.bad);
    let stream = &result.recordings[0].streams[0];
    [
        stream.offered,
        stream.recorded + stream.overwritten_bytes,
        stream.gap_bytes,
        stream.overwritten_bytes,
    ]
}

#[test]
fn what_was_lost_in_laps_that_are_gone_is_told_as_lost() {
    for rounds in [24, 60, 150] {
        let mut image = Image::new(2, 4, &["none"], true);
        let mut lost_bytes = 0;
        for round in 0..rounds {
            if round % 4 == 0 {
                (0..2).for_each(|member| image.start(member));
            }
            let gap = (round % 3 == 1).then_some(Gap {
                bytes: 7000 + round as u64,
                frames: 0,
                reason: GapReason::BufferFull,
                first_time_ns: STARTED_NS,
                last_time_ns: STARTED_NS,
            });
            lost_bytes += gap.map_or(0, |gap| gap.bytes);
            image.data_after(round % 2, 0, &noise(round as u64, 100_000), &[], gap);
        }
        image.end();
        let [offered, recorded, lost, overwritten] = sums(&image);
        assert_eq!(offered, image.offered[0].len() as u64);
        assert_eq!([recorded, lost], [offered - lost_bytes, lost_bytes]);
        assert!(
            overwritten > 0 && overwritten % 100_000 == 0,
            "{overwritten}"
        );
    }
}

#[test]
fn what_is_whole_below_the_readable_range_is_not_called_overwritten() {
    let mut image = Image::new_unequal(&[12, 3], &["none"], true);
    for round in 0..24_usize {
        if round % 4 == 0 {
            (0..2).for_each(|member| image.start(member));
        }
        image.data(round % 2, 0, &noise(round as u64, 100_000), &[]);
    }
    image.end();
    let opened = image.open();
    let stream = opened.recordings[0].streams[0].clone();
    let result = check(&opened);
    assert!(result.ok, "{:?}", result.bad);
    let checked = &result.recordings[0].streams[0];
    let scope = opened.scope().with_overwritten(0);
    let mut there_bytes = 0;
    for part in parts(&scope, 0, &Range::All) {
        if matches!(part, StreamPart::Data { .. }) {
            there_bytes += part.length_bytes();
        }
    }
    assert!(checked.below_readable_bytes > 500_000);
    assert_eq!(
        checked.recorded, there_bytes,
        "what extract returns of it all"
    );
    assert_eq!(checked.readable_from_bytes, stream.readable_from_bytes);
    let gone_bytes = checked.readable_from_bytes - checked.below_readable_bytes;
    assert_eq!(checked.overwritten_bytes, gone_bytes);
}

#[test]
fn damage_below_the_readable_range_is_no_overwriting_where_nothing_was_written_over() {
    let mut image = Image::new_unequal(&[12, 3], &["none"], true);
    for round in 0..24_usize {
        if round % 4 == 0 {
            (0..2).for_each(|member| image.start(member));
        }
        image.data(round % 2, 0, &noise(round as u64, 100_000), &[]);
    }
    image.end();
    let whole = check(&image.open());
    assert!(whole.ok, "{:?}", whole.bad);
    let readable = whole.recordings[0].streams[0].readable_from_bytes;
    let overwritten_bytes = whole.recordings[0].streams[0].overwritten_bytes;
    let is_below = |put: &&Put| {
        let descriptor = &put.descriptor;
        let is_data = descriptor.kind == Kind::Data && put.member == 0;
        is_data && descriptor.stream_offset_bytes + 100_000 <= readable
    };
    let puts: Vec<Put> = image.puts.iter().filter(is_below).cloned().collect();
    assert!(puts.len() > 5);
    let in_seal = puts[0].descriptor.append_bytes as usize - 60;
    for (at, hit, lost_bytes) in [
        (in_seal, &puts[..1], 0),
        (in_seal, &puts[2..4], 0),
        (4100, &puts[..1], 65_536),
        (4100, &puts[2..5], 3 * 65_536),
        (9, &puts[..1], 100_000),
        (9, &puts[3..4], 100_000),
        (9, &puts[2..5], 300_000),
    ] {
        for put in hit {
            image.members[0].bytes[put.offset_bytes + at] ^= 1;
        }
        let opened = image.open();
        let result = check(&opened);
        for put in hit {
            image.members[0].bytes[put.offset_bytes + at] ^= 1;
        }
        let why = format!("byte {at} of {}: {:?}", hit.len(), result.bad);
        assert!(!result.ok, "{why}");
        let stream = &result.recordings[0].streams[0];
        let counted = (stream.hole_bytes, stream.overwritten_bytes);
        assert_eq!(counted, (lost_bytes, overwritten_bytes), "{why}");
        // Whoever reads the stream is told the same.
        let scope = opened.scope().with_overwritten(0);
        let is_hole = |part: &&StreamPart| match part {
            StreamPart::Hole { why, .. } => *why != HoleReason::WrittenOver,
            _ => false,
        };
        let found = parts(&scope, 0, &Range::All);
        let told_bytes: u64 = found
            .iter()
            .filter(is_hole)
            .map(StreamPart::length_bytes)
            .sum();
        assert_eq!(told_bytes, lost_bytes, "{why}");
    }
}

#[test]
fn a_member_that_has_lost_several_appends_is_named_for_each() {
    // Between those of m0 that are lost, the other member has its own, or a ring has written over
    // them.
    for slots in [[12, 12], [12, 4]] {
        let is_ring = slots[1] < slots[0];
        let mut image = Image::new_unequal(&slots, &["none"], is_ring);
        for round in 0..16_usize {
            image.data(
                round % 2,
                0,
                &noise(round as u64, 50_000 + 1000 * round),
                &[],
            );
        }
        image.end();
        assert!(check(&image.open()).ok);
        let of_first = |put: &&Put| put.member == 0 && put.descriptor.kind == Kind::Data;
        let puts: Vec<Put> = image.puts.iter().filter(of_first).cloned().collect();
        for hit in [&puts[1..3], &puts[2..5]] {
            for put in hit {
                image.members[0].bytes[put.offset_bytes + 9] ^= 1;
            }
            let result = check(&image.open());
            for put in hit {
                image.members[0].bytes[put.offset_bytes + 9] ^= 1;
            }
            let is_named = |bad: &Discrepancy| bad.member.as_deref() == Some("m0");
            assert!(
                !result.ok && result.bad.iter().all(is_named),
                "{:?}",
                result.bad
            );
        }
    }
}

#[test]
fn losses_of_one_length_are_named_where_they_lay() {
    // Each by its place in the stream; some of them follow each other there.
    let of_two: [&[usize]; 6] = [
        &[5, 8],
        &[6, 7],
        &[7, 10],
        &[3, 6, 11],
        // Directly after each other on one member.
        &[2, 4],
        &[10, 12],
    ];
    let of_three: [&[usize]; 5] = [&[5, 9], &[6, 7], &[7, 12], &[3, 8, 13], &[6, 7, 8]];
    for (members, hits) in [(2, &of_two[..]), (3, &of_three[..])] {
        let mut image = Image::new(members, 12, &["none"], false);
        for round in 0..18_usize {
            image.data(round % members, 0, &noise(round as u64, 50_000), &[]);
        }
        image.end();
        let data = |put: &&Put| put.descriptor.kind == Kind::Data;
        let puts: Vec<Put> = image.puts.iter().filter(data).cloned().collect();
        for hit in hits {
            for &index in *hit {
                let put = &puts[index];
                image.members[put.member].bytes[put.offset_bytes + 9] ^= 1;
            }
            let result = check(&image.open());
            let told = result.bad.iter().map(|bad| {
                let name = bad.member.clone().unwrap_or_default();
                (name, bad.offset_bytes, bad.from_byte, bad.to_byte)
            });
            let expected = hit.iter().map(|&index| {
                let (put, from) = (&puts[index], index as u64 * 50_000);
                let (name, at) = (format!("m{}", put.member), put.offset_bytes as u64);
                (name, Some(at), Some(from), Some(from + 50_000))
            });
            let (told, expected): (Vec<_>, Vec<_>) = (told.collect(), expected.collect());
            for &index in *hit {
                let put = &puts[index];
                image.members[put.member].bytes[put.offset_bytes + 9] ^= 1;
            }
            assert_eq!(told, expected, "{hit:?} of {members} members");
        }
    }
}

#[test]
fn damage_in_the_oldest_slot_of_a_ring_is_no_overwriting() {
    let mut image = Image::new(1, 6, &["none"], true);
    for round in 0..31 {
        if round % 5 == 0 {
            image.start(0);
        }
        image.data(0, 0, &noise(round as u64, 100_000), &[]);
    }
    image.end();
    let whole = check(&image.open());
    assert!(whole.ok, "{:?}", whole.bad);
    let oldest = image.slots_begun(0) - 6;
    let of_oldest = |put: &&Put| put.descriptor.place.slot_serial == oldest;
    let puts: Vec<Put> = image.puts.iter().filter(of_oldest).cloned().collect();
    assert!(puts.len() > 1);
    for hit in [&puts[..1], &puts[..]] {
        for put in hit {
            image.members[0].bytes[put.offset_bytes + 9] ^= 1;
        }
        let result = check(&image.open());
        for put in hit {
            image.members[0].bytes[put.offset_bytes + 9] ^= 1;
        }
        assert!(!result.ok, "{} descriptors of it are damaged", hit.len());
        let last = hit[hit.len() - 1].offset_bytes as u64;
        assert!(
            result.bad.iter().any(|bad| bad.offset_bytes == Some(last)),
            "{:?}",
            result.bad
        );
    }
}

/// A ring of one member in which a power cut has ended a recording and another one has gone on, so
/// far that the last slot of the first is the oldest. Returns the first append in that slot. The
/// one behind it tells whether it was flushed.
fn oldest_before_a_cut(is_flushed: bool) -> (Image, Put) {
    const SLOTS: u64 = 20;
    let mut image = Image::new(1, SLOTS, &["none"], true);
    let mut rounds = 0;
    let mut go_on = |image: &mut Image| {
        if rounds % 14 == 13 {
            image.start(0);
        }
        rounds += 1;
        image.data(0, 0, &noise(rounds, 100_000), &[]);
    };
    let is_first = |put: &Put| put.descriptor.place.slot_offset_bytes == 0;
    while image.slots_begun(0) < SLOTS || !image.puts.last().is_some_and(is_first) {
        go_on(&mut image);
    }
    let oldest = image.puts.last().unwrap().clone();
    image.flushed_sequence = oldest.descriptor.sequence - u64::from(!is_flushed);
    go_on(&mut image);
    image.begin_again();
    while image.slots_begun(0) < oldest.descriptor.place.slot_serial + SLOTS {
        go_on(&mut image);
    }
    image.end();
    (image, oldest)
}

#[test]
fn what_a_cut_took_from_what_is_the_oldest_slot_of_a_ring_by_now_is_no_fault() {
    for is_flushed in [true, false] {
        let (mut image, oldest) = oldest_before_a_cut(is_flushed);
        let whole = check(&image.open());
        assert_eq!(whole.bad, []);
        assert_eq!(whole.recordings.len(), 2);
        destroy(&mut image, &oldest);
        let result = check(&image.open());
        let told = if is_flushed {
            &result.bad
        } else {
            &result.not_durable
        };
        let at = Some(oldest.offset_bytes as u64);
        assert!(
            told.iter().any(|bad| bad.offset_bytes == at),
            "flushed {is_flushed}: {result:?}"
        );
        assert_eq!(result.ok, !is_flushed, "{:?}", result.bad);
    }
}

/// A recording that a power cut has ended in the first slot of both members, and a later one, in
/// which the first member has come to the end of its first lap and is cut off, too.
fn cut_off_at_the_end_of_the_first_lap() -> Image {
    const SLOTS: u64 = 24;
    let mut image = Image::new(2, SLOTS, &["none"], true);
    for round in 0..6 {
        image.data(round % 2, 0, &noise(round as u64, 20_000), &[]);
    }
    image.begin_again();
    let mut rounds = 0;
    while image.slots_begun(0) < SLOTS {
        rounds += 1;
        if rounds % 22 == 0 {
            image.start(0);
        }
        image.data(0, 0, &noise(100 + rounds, 100_000), &[]);
    }
    image
}

#[test]
fn what_a_cut_took_of_the_first_slots_as_a_ring_comes_round_first_is_no_fault() {
    let whole = cut_off_at_the_end_of_the_first_lap();
    let result = check(&whole.open());
    assert_eq!(result.bad, []);
    let in_slot = |member: usize, slot: u64| -> Vec<Put> {
        let puts = whole.puts.iter();
        let is_there =
            |put: &&Put| put.member == member && put.descriptor.place.slot_serial == slot;
        puts.filter(is_there).cloned().collect()
    };
    let (first, second) = (in_slot(0, 0), in_slot(0, 1));
    assert_eq!((first.len(), second.len()), (4, 3));
    // The beginning, all but the start, all, and the beginning of the later recording, too.
    for lost in [
        &first[..2],
        &first[1..],
        &first[..],
        &second[..2],
        &[&first[..], &second[..2]].concat(),
    ] {
        let mut image = cut_off_at_the_end_of_the_first_lap();
        lost.iter().for_each(|put| destroy(&mut image, put));
        let result = check(&image.open());
        let slots: Vec<_> = lost.iter().map(|put| put.descriptor.place).collect();
        assert_eq!(result.bad, [], "{slots:?}");
    }
    // The other member has not come so far.
    for put in &in_slot(1, 0)[1..] {
        let mut image = cut_off_at_the_end_of_the_first_lap();
        destroy(&mut image, put);
        let result = check(&image.open());
        assert!(!result.ok, "{:?}", put.descriptor.place);
    }
}

#[test]
fn the_account_of_a_gap_that_was_all_that_a_ring_has_overwritten_is_no_fault() {
    const SLOTS: u64 = 8;
    let mut image = Image::new(2, SLOTS, &["none"], true);
    image.data(0, 0, &noise(1, 50_000), &[]);
    let gap = Gap {
        bytes: 3000,
        frames: 0,
        reason: GapReason::BufferFull,
        first_time_ns: STARTED_NS,
        last_time_ns: STARTED_NS,
    };
    image.data_after(1, 0, &[], &[], Some(gap));
    image.data(0, 0, &noise(2, 50_000), &[]);
    let lost = image.puts.last().unwrap().clone();
    image.data(0, 0, &noise(3, 50_000), &[]);
    // Of the second member only the end mark is left, which lies in the second slot.
    while image.slots_begun(1) < 2 {
        image.start(1);
    }
    image.end();
    image.begin_again();
    while image.slots_begun(1) <= SLOTS {
        image.data(1, 0, &noise(4, 100_000), &[]);
    }
    image.end();
    let result = check(&image.open());
    assert_eq!(result.bad, []);
    let stream = &result.recordings[0].streams[0];
    assert_eq!((stream.recorded, stream.gap_bytes), (150_000, 3000));
    // What the first member misses is no work of the ring on the second one.
    destroy(&mut image, &lost);
    assert!(!check(&image.open()).ok);
}

#[test]
fn an_end_mark_before_a_start_that_cannot_be_read_need_not_have_been_durable() {
    for (own, is_ok) in [(Some(false), true), (None, false)] {
        let mut image = Image::new(2, 12, &["none"], false);
        // An older recorder does not say what its own start follows.
        image.follows_end = own;
        image.begin_again();
        image.data(0, 0, &noise(1, 50_000), &[]);
        image.end();
        let end = image.puts.last().unwrap().clone();
        image.forget_last(end.member);
        image.begin_again();
        let start = image.puts.last().unwrap().clone();
        assert_eq!(start.member, end.member);
        // The power was cut when neither of the two was durable.
        image.members[end.member].bytes[end.offset_bytes + 100] ^= 1;
        image.members[start.member].bytes[start.offset_bytes + 4096 + 10] ^= 1;
        let result = check(&image.open());
        assert_eq!(result.ok, is_ok, "{own:?}: {result:?}");
        let flaws = [result.bad, result.not_durable].concat();
        let at = Some(end.offset_bytes as u64);
        assert!(flaws.iter().any(|bad| bad.offset_bytes == at));
    }
}

/// A recording whose payload is on the first member alone, of which a later ring has written over
/// all that the second one had: starts, end, and the account of a gap.
fn gone_from_the_second() -> Image {
    let gap = |bytes| Gap {
        bytes,
        frames: 0,
        reason: GapReason::BufferFull,
        first_time_ns: STARTED_NS,
        last_time_ns: STARTED_NS,
    };
    let mut image = Image::new(2, 8, &["none"], true);
    for round in 0..12 {
        let lost = (round % 3 == 2).then(|| gap(5000));
        image.data_after(0, 0, &noise(round, 40_000), &[], lost);
    }
    image.data(0, 0, &noise(20, 7000), &[]);
    image.data_after(1, 0, &[], &[], Some(gap(3000)));
    image.data(0, 0, &noise(21, 30_000), &[]);
    image.end();
    image.begin_again();
    for round in 0..24 {
        if round % 6 == 5 {
            image.start(1);
        }
        image.data(1, 0, &noise(100 + round, 100_000), &[]);
    }
    image.end();
    image
}

#[test]
fn what_a_member_that_is_there_has_lost_is_no_work_of_the_ring_on_another() {
    let mut image = gone_from_the_second();
    let opened = image.open();
    assert_eq!(opened.recordings.len(), 2);
    assert!(opened.recordings[1].per_member[1].is_none());
    let whole = check(&opened);
    assert!(whole.ok, "{:?}", whole.bad);
    // Nothing that was recorded is gone: only the account of a gap is.
    let checked = &whole.recordings[0].streams[0];
    assert_eq!((checked.overwritten_bytes, checked.gap_bytes), (0, 23_000));
    let of_first = |put: &&Put| put.member == 0 && put.descriptor.recording == 1;
    let puts: Vec<Put> = image.puts.iter().filter(of_first).cloned().collect();
    // The first is the start; the third append of data and every third after it carries a gap.
    for (damaged, lost_bytes) in [
        (vec![5], 40_000),
        (vec![4, 5], 80_000),
        (vec![3], 45_000),
        (vec![3, 4, 5, 6], 170_000),
        (vec![0, 1], 40_000),
        (vec![0, 1, 2, 3], 125_000),
    ] {
        for put in damaged.iter().map(|at: &usize| &puts[*at]) {
            image.members[0].bytes[put.offset_bytes + 9] ^= 1;
        }
        let opened = image.open();
        let result = check(&opened);
        let scope = Scope::of(&opened.recordings[1], &opened.members, &[], &Clock::Real);
        for put in damaged.iter().map(|at: &usize| &puts[*at]) {
            image.members[0].bytes[put.offset_bytes + 9] ^= 1;
        }
        assert!(!result.ok, "{damaged:?}");
        let stream = &result.recordings[0].streams[0];
        let counted = (stream.hole_bytes, stream.overwritten_bytes);
        assert_eq!(counted, (lost_bytes, 3000), "{damaged:?}: {:?}", result.bad);
        // Whoever reads the stream is told the same.
        let found = parts(&scope, 0, &Range::All);
        let bytes_of = |reason: HoleReason| -> u64 {
            let holes = found
                .iter()
                .filter(|part| matches!(part, StreamPart::Hole { why, .. } if *why == reason));
            holes.map(StreamPart::length_bytes).sum()
        };
        let told = (
            bytes_of(HoleReason::Missing),
            bytes_of(HoleReason::WrittenOver),
        );
        assert_eq!(told, counted, "{damaged:?}");
    }
}

/// A ring that is recorded to while it is checked: what opening found after so many appends, and
/// the members as they are some appends later.
fn moving_ring(rounds: usize, later: usize) -> (Image, Opened) {
    let mut image = Image::new(2, 8, &["none"], true);
    let go_on = |image: &mut Image, rounds: std::ops::Range<usize>| {
        for round in rounds {
            if round % 8 == 0 {
                (0..2).for_each(|member| image.start(member));
            }
            image.data(round % 2, 0, &noise(round as u64, 100_000), &[]);
        }
    };
    go_on(&mut image, 0..rounds);
    let opened = image.open();
    go_on(&mut image, rounds..rounds + later);
    (image, opened)
}

/// Checks members that become what the image holds when they have just been opened, or when they
/// are about to be read.
fn check_moving(image: &Image, opened: &Opened, clock: &Clock, is_early: bool) -> VerifyResult {
    let store = Checkable {
        members: &opened.members,
        recordings: &opened.recordings,
        pins: &[],
        machines: &[],
        clock,
    };
    if is_early {
        opened.go_on(image);
    }
    let mut observer = |now: VerifyProgress| {
        if now.checked_bytes == 0 {
            opened.go_on(image);
        }
    };
    verify(store, &mut observer, &Stop::default()).unwrap()
}

#[test]
fn what_a_ring_writes_over_during_the_check_is_no_damage() {
    for (later, is_early) in [4, 8, 16, 24, 60]
        .map(|later| [(later, false), (later, true)])
        .concat()
    {
        let (image, opened) = moving_ring(64, later);
        let readable = opened.scope().readable_from_bytes[0];
        let now = image.open().scope().readable_from_bytes[0];
        assert!(now > readable, "{later} appends begin slots anew");
        let result = check_moving(&image, &opened, &Clock::simulated(), is_early);
        assert_eq!(result.bad, [], "{later} appends later");
        assert!(result.ok);
        let stream = &result.recordings[0].streams[0];
        // Of the last one nothing is left that was there when it was opened.
        assert_eq!(stream.overwritten_bytes > readable, later < 60 || is_early);
        assert_eq!((stream.hole_bytes, stream.not_durable_bytes), (0, 0));
        assert_eq!(stream.offered, stream.recorded + stream.overwritten_bytes);
    }
}

#[test]
fn what_comes_while_it_is_read_is_no_damage() {
    for rounds in [65, 66, 67] {
        for later in [1, 4] {
            for is_early in [false, true] {
                let (image, opened) = moving_ring(rounds, later);
                let result = check_moving(&image, &opened, &Clock::simulated(), is_early);
                let why = format!("{rounds} appends and {later}");
                assert_eq!(result.bad, [], "{why}");
                assert_eq!(result.not_durable, [], "{why}");
                // Readers get what the check has found, and no hole.
                let scope = opened.scope();
                let found = parts(&scope, 0, &Range::All);
                let is_hole = |part: &&StreamPart| matches!(part, StreamPart::Hole { .. });
                let readable = image.open().scope().readable_from_bytes[0];
                let hole = found
                    .iter()
                    .filter(is_hole)
                    .find(|hole| hole.end_bytes() > readable);
                assert!(hole.is_none(), "{why}: {hole:?}");
            }
        }
    }
}

#[test]
fn what_is_damaged_above_what_a_ring_writes_over_stays_damage() {
    let (mut image, opened) = moving_ring(64, 8);
    let now = image.open().scope().readable_from_bytes[0];
    let is_kept =
        |put: &&Put| put.descriptor.kind == Kind::Data && put.descriptor.stream_offset_bytes > now;
    let put = image.puts.iter().find(is_kept).unwrap().clone();
    image.members[put.member].bytes[put.offset_bytes + 5000] ^= 1;
    let result = check_moving(&image, &opened, &Clock::simulated(), false);
    assert!(!result.ok);
    assert_eq!(result.bad.len(), 1, "{:?}", result.bad);
    let from_byte = put.descriptor.stream_offset_bytes;
    assert_eq!(result.bad[0].from_byte, Some(from_byte));
    assert!(result.recordings[0].streams[0].hole_bytes > 0);
}

/// A ring of one member that was cut off in its second lap, without an end mark.
fn cut_off_ring() -> Image {
    let mut image = Image::new(1, 24, &["none"], true);
    for round in 0..72 {
        if round % 22 == 0 {
            image.start(0);
        }
        image.data(0, 0, &noise(round as u64, 100_000), &[]);
    }
    image
}

#[test]
fn what_a_cut_has_left_half_overwritten_in_a_ring_is_no_damage_and_all_else_is() {
    let mut image = cut_off_ring();
    let newest = image.puts.last().unwrap().descriptor.place.slot_serial;
    let start = image.puts.last().unwrap().descriptor.start.unwrap();
    let reach = (newest + 16).min(start.slot_serial + 12) - 24;
    let oldest = newest + 1 - 24;
    assert!(oldest < reach && reach < newest - 8);
    let readable = image.open().scope().readable_from_bytes[0];
    for serial in [oldest, oldest + 1, reach, reach + 1, reach + 5, newest - 1] {
        for what in [9, 5000, 60_000] {
            let is_hit = |put: &&Put| {
                put.descriptor.place.slot_serial == serial && put.descriptor.kind == Kind::Data
            };
            let put = image.puts.iter().filter(is_hit).nth(1).unwrap().clone();
            image.members[0].bytes[put.offset_bytes + what] ^= 1;
            let opened = image.open();
            let result = check(&opened);
            image.members[0].bytes[put.offset_bytes + what] ^= 1;
            let why = format!(
                "byte {what} of slot {serial}, reach {reach}: {:?}",
                result.bad
            );
            let checked = &result.recordings[0].streams[0];
            let overwritten = checked.overwritten_bytes + checked.below_readable_bytes;
            assert_eq!(result.ok, serial <= reach, "{why}");
            let begins = put.descriptor.stream_offset_bytes + 100_000;
            assert_eq!(
                overwritten,
                if result.ok { begins } else { readable },
                "{why}"
            );
            let store = Checkable {
                members: &opened.members,
                recordings: &opened.recordings,
                pins: &[],
                machines: &[],
                clock: &Clock::Real,
            };
            let recordings = readable_now(store, &Stop::default(), &mut |_| ()).unwrap();
            let scope = Scope::of(&recordings[0], &opened.members, &[], &Clock::Real);
            let found = parts(&scope, 0, &Range::All);
            let is_hole = |part: &StreamPart| matches!(part, StreamPart::Hole { .. });
            assert_eq!(found.iter().any(is_hole), !result.ok, "{why}");
        }
    }
}

#[test]
fn what_a_cut_has_left_half_overwritten_is_read_from_where_it_is_whole() {
    let mut image = Image::new(2, 24, &["none"], true);
    for round in 0..72 {
        if round % 22 == 0 {
            (0..2).for_each(|member| image.start(member));
        }
        let payload = noise(round as u64, 100_000);
        image.data(0, 0, &payload, &[]);
        image.copy(1, 0, &payload);
    }
    let oldest = image.slots_begun(0) - 24;
    let readable = image.open().scope().readable_from_bytes[0];
    for serial in [oldest, oldest + 1] {
        for what in [9, 5000] {
            let is_hit = |put: &&Put| {
                let descriptor = &put.descriptor;
                let is_there = put.member == 0 && descriptor.place.slot_serial == serial;
                is_there && descriptor.kind == Kind::Data
            };
            let put = image.puts.iter().filter(is_hit).nth(1).unwrap().clone();
            image.members[0].bytes[put.offset_bytes + what] ^= 1;
            let result = check(&image.open());
            image.members[0].bytes[put.offset_bytes + what] ^= 1;
            assert!(result.ok, "byte {what} of slot {serial}: {:?}", result.bad);
            let stream = &result.recordings[0].streams[0];
            assert_eq!(
                stream.overwritten_bytes, readable,
                "byte {what} of slot {serial}"
            );
            assert_eq!((stream.hole_bytes, stream.not_durable_bytes), (0, 0));
        }
    }
}

#[test]
fn an_end_mark_that_is_not_whole_where_a_ring_goes_on_costs_nothing() {
    let mut image = Image::new(2, 2, &["none"], true);
    image.data(1, 0, &noise(1, 100_000), &[]);
    image.end();
    let is_end = |put: &&Put| put.member == 0 && put.descriptor.kind == Kind::End;
    let end = image.puts.iter().find(is_end).unwrap().clone();
    image.begin_again();
    image.data(0, 0, &noise(2, 20_000), &[]);
    let seal = end.descriptor.append_bytes as usize - 60;
    for what in [9, 4100, seal] {
        image.members[0].bytes[end.offset_bytes + what] ^= 1;
        let result = check(&image.open());
        image.members[0].bytes[end.offset_bytes + what] ^= 1;
        assert!(result.ok, "byte {what}: {:?}", result.bad);
        let stream = &result.recordings[0].streams[0];
        let found = (stream.recorded, stream.overwritten_bytes);
        assert_eq!(found, (100_000, 0), "byte {what} of the end mark");
    }
}

#[test]
fn a_sector_that_cannot_be_read_costs_its_piece_and_is_named() {
    let image = scattered(true);
    let mut opened = image.open();
    let big = |put: &&Put| put.descriptor.payload_bytes > 3 * PIECE_BYTES as u32 / 2;
    let put = image.puts.iter().find(big).unwrap();
    let bad_byte = put.offset_bytes + 4096 + PIECE_BYTES + 5000;
    let clock = Clock::simulated();
    let machines = vec![machine(&image, put.member, bad_byte, &clock)];
    for (disk, member) in opened.members.iter_mut().enumerate() {
        member.simulated = Some(SimulatedTarget { machine: 0, disk });
        member.target = simulated_target(&member.name);
    }
    let scope = Scope::of(&opened.recordings[0], &opened.members, &machines, &clock);
    let found = parts(&scope, 0, &Range::All);
    let (bytes, lost) = joined(&found);
    let start = put.descriptor.stream_offset_bytes + PIECE_BYTES as u64;
    let end = put.descriptor.stream_offset_bytes + u64::from(put.descriptor.payload_bytes);
    assert_eq!(lost, vec![start..end.min(start + PIECE_BYTES as u64); 1]);
    let mut offered = image.offered[0].clone();
    offered[lost[0].start as usize..lost[0].end as usize].fill(0);
    assert!(bytes == offered);
    let block = (bad_byte - bad_byte % 4096) as u64;
    assert!(found.iter().any(|part| matches!(
        part,
        StreamPart::Hole { why: HoleReason::Unreadable { member, offset_bytes, errno: Some(_) }, .. }
            if *member == put.member && *offset_bytes == block
    )));
    let store = Checkable {
        members: &opened.members,
        recordings: &opened.recordings,
        pins: &[],
        machines: &machines,
        clock: &clock,
    };
    let result = verify(store, &mut |_| (), &Stop::default()).unwrap();
    assert_eq!(result.bad.len(), 1, "{:?}", result.bad);
    assert_eq!(result.bad[0].offset_bytes, Some(block));
}

pub fn simulated_target(name: &str) -> Target {
    Target {
        name: name.to_owned(),
        kind: TargetKind::Simulated,
        file: None,
        capacity_bytes: None,
        alignment_bytes: 1,
        device: None,
        lock: None,
    }
}

/// A machine with the members on its disks, one of which cannot read a byte.
pub fn machine(image: &Image, faulty: usize, bad_byte: usize, clock: &Clock) -> SharedMachine {
    let disks = image.members.iter().enumerate().map(|(index, member)| {
        let mut disk =
            DiskDescription::new(&format!("d{index}"), member.bytes.len() as u64, 1e9, 1e9);
        disk.fault = (index == faulty).then_some(FaultDescription {
            at_bytes: bad_byte as u64,
            kind: FaultKind::InputOutput,
            once: false,
        });
        disk
    });
    let file = MachineFile {
        path: "test.toml".into(),
        disks: disks.collect(),
        limits: Vec::new(),
        warnings: Vec::new(),
    };
    let machine = SharedMachine::with_contents(Machine::new(&file, 1), clock);
    for (disk, member) in image.members.iter().enumerate() {
        machine.write_contents(disk, 0, &member.bytes);
    }
    machine
}

#[test]
fn a_check_that_is_stopped_says_that_it_is_not_complete() {
    let image = scattered(true);
    let opened = image.open();
    let stop = Stop::default();
    stop.interrupt();
    let store = Checkable {
        members: &opened.members,
        recordings: &opened.recordings,
        pins: &[],
        machines: &[],
        clock: &Clock::Real,
    };
    let mut told = Vec::new();
    let mut observer = |now: VerifyProgress| told.push(now.checked_bytes > 0);
    let result = verify(store, &mut observer, &stop).unwrap();
    assert!(!result.ok && !result.complete);
    assert_eq!(told, [false, true]);
}

#[test]
fn the_result_of_a_check_is_written_with_these_keys() {
    let mut image = scattered(true);
    let put = image
        .puts
        .iter()
        .find(|put| put.descriptor.kind == Kind::Data)
        .unwrap()
        .clone();
    image.members[put.member].bytes[put.offset_bytes + 4096] ^= 1;
    let result = check(&image.open());
    let json: serde_json::Value = serde_json::to_value(&result).unwrap();
    assert_eq!(json["schema"], "sustain.verify/1");
    assert_eq!(json["ok"], false);
    assert!(json["checked_bytes"].as_u64().unwrap() > 0);
    let bad = &json["bad"][0];
    assert_eq!(bad["member"], format!("m{}", put.member));
    assert_eq!(bad["offset_bytes"], put.offset_bytes + 4096);
    assert_eq!(bad["stream"], put.descriptor.stream);
    assert_eq!(bad["from_byte"], 0);
    assert_eq!(bad["to_byte"], put.descriptor.payload_bytes);
    assert!(bad["why"].is_string());
}

/// What a range gives: the numbers of whole frames, and those that are told to be lost.
fn numbers_of(scope: &Scope, range: &Range) -> (Vec<u64>, Vec<u64>) {
    let reader = StreamReader::open(scope, 0, range).unwrap();
    let (mut whole, mut lost) = (Vec::new(), Vec::new());
    for framed in FrameReader::new(reader) {
        match framed.unwrap() {
            Framed::Frame(frame) if frame.whole => whole.push(frame.number),
            Framed::Frame(frame) => lost.push(frame.number),
            Framed::Missing { numbers, .. } => lost.extend(numbers),
            Framed::Overwritten { numbers, .. } => lost.extend(numbers.unwrap_or(0..0)),
        }
    }
    (whole, lost)
}

/// Appends of two frames of 500 bytes each, whose times are `time_ns` of their numbers.
fn timed(image: &mut Image, appends: u64, time_ns: impl Fn(u64) -> i64) {
    for number in 0..appends {
        let marks = [
            mark(0, MarkKind::Begin, time_ns(2 * number)),
            mark(500, MarkKind::EndAndBegin, time_ns(2 * number + 1)),
            mark(1000, MarkKind::End, 0),
        ];
        let member = number as usize % image.members.len();
        image.data(member, 0, &noise(number, 1000), &marks);
        // A slot holds only a few of them, so that there is something to divide.
        image.data(member, 1, &noise(number, 60_000), &[]);
    }
}

#[test]
fn a_range_of_frames_tells_of_those_that_are_lost_at_its_edges() {
    let mut image = Image::new(2, 24, &["length-prefixed", "none"], false);
    timed(&mut image, 40, |number| STARTED_NS + number as i64);
    image.end();
    let of_frames = |put: &&Put| put.descriptor.stream == 0;
    let puts: Vec<_> = image.puts.iter().filter(of_frames).cloned().collect();
    // Frames 20 to 27, and those of the last append.
    for index in [10, 11, 12, 13, 39] {
        let put = &puts[index];
        image.members[put.member].bytes[put.offset_bytes + 20] ^= 1;
    }
    let opened = image.open();
    let scope = opened.scope();
    for (from, to) in [
        (0, 80),
        (18, 24),
        (22, 30),
        (22, 24),
        (24, 79),
        (78, 80),
        (70, 99),
    ] {
        let (whole, lost) = numbers_of(&scope, &Range::Frames(from..to));
        let is_lost = |number: &u64| (20..28).contains(number) || *number >= 78;
        let (gone, there): (Vec<u64>, Vec<u64>) = (from..to.min(80)).partition(is_lost);
        assert_eq!((whole, lost), (there, gone), "{from}..{to}");
        let parts = parts(&scope, 0, &Range::Frames(from..to));
        let is_data = |part: &&StreamPart| matches!(part, StreamPart::Data { .. });
        let bytes: u64 = parts
            .iter()
            .filter(is_data)
            .map(StreamPart::length_bytes)
            .sum();
        assert_eq!(
            bytes,
            500 * (from..to.min(80)).filter(|at| !is_lost(at)).count() as u64
        );
        assert_eq!(
            parts.iter().any(|part| !is_data(&part)),
            (from..to).any(|at| is_lost(&at))
        );
    }
}

#[test]
fn a_range_of_time_goes_by_the_clock_of_the_source() {
    const SECOND_NS: i64 = 1_000_000_000;
    const YEARS_NS: i64 = 10 * 365 * 86_400 * SECOND_NS;
    let at = |number: u64| STARTED_NS + number as i64 * 500_000;
    let clocks: [(&str, &dyn Fn(u64) -> i64); 6] = [
        ("like ours", &|number| at(number)),
        ("ahead as TAI is", &|number| at(number) + 37 * SECOND_NS),
        ("ten years behind", &|number| at(number) - YEARS_NS),
        ("ten years ahead", &|number| at(number) + YEARS_NS),
        ("stepping back", &|number| {
            at(number) - if number < 50 { 0 } else { 20_000_000 }
        }),
        ("stepping ahead", &|number| {
            at(number) + if number < 50 { 0 } else { YEARS_NS }
        }),
    ];
    for (what, clock) in clocks {
        for is_reported in [true, false] {
            let mut image = Image::new(2, 40, &["length-prefixed", "none"], false);
            if !is_reported {
                image.drifts = None;
            }
            timed(&mut image, 60, clock);
            image.end();
            let opened = image.open();
            let scope = opened.scope();
            for (from, to) in [(0, 119), (7, 9), (30, 31), (40, 70), (49, 51), (100, 118)] {
                let (from_ns, to_ns) = (clock(from).min(clock(to)), clock(from).max(clock(to)));
                let range = Range::Time(from_ns..to_ns);
                let is_then = |number: &u64| (from_ns..to_ns).contains(&clock(*number));
                let then: Vec<u64> = (0..120).filter(is_then).collect();
                let found = numbers_of(&scope, &range);
                assert_eq!(
                    found,
                    (then.clone(), vec![]),
                    "{what}, {is_reported}: {from}..{to}"
                );
                let mut bytes = Vec::new();
                for part in parts(&scope, 0, &range) {
                    let StreamPart::Data { bytes: more, .. } = part else {
                        panic!("{what}: {part:?}");
                    };
                    bytes.extend_from_slice(&more);
                }
                let of_frame =
                    |number: &u64| image.offered[0][*number as usize * 500..][..500].to_vec();
                assert!(
                    bytes == then.iter().flat_map(of_frame).collect::<Vec<u8>>(),
                    "{what}"
                );
            }
        }
    }
}
