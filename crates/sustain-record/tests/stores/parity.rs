//! Reading stores with parity while members are missing: what the losses leave comes back byte by
//! byte, what they do not leave is named, and nothing that is damaged becomes a wrong byte.

use std::collections::BTreeMap;
use std::ops::Range as Span;

use proptest::prelude::*;
use sustain_disk::clock::Clock;
use sustain_disk::engine::SimulatedTarget;
use sustain_disk::target::Target;
use sustain_host::Roots;
use sustain_record::format::{Kind, MarkKind, PayloadMark};
use sustain_record::opening::Recording;
use sustain_record::reading::frames::{FrameReader, Framed};
use sustain_record::reading::readable::readable;
use sustain_record::reading::scope::Scope;
use sustain_record::reading::stream::{Range, StreamReader};
use sustain_record::reading::verify::{Checkable, Discrepancy, VerifyResult, verify};
use sustain_record::store::{Mode, Store};
use sustain_targets::{SimulatedDisk, Stop};
use tempfile::TempDir;

#[path = "repair.rs"]
mod repair;

use crate::reading::image::{Image, Put, STARTED_NS};
use crate::reading::{joined, machine, noise, parts, simulated_target};

/// A store of which some members are left out.
struct Rest {
    store: Store,
    recordings: Vec<Recording>,
}

impl Rest {
    fn scope(&self) -> Scope {
        Scope::of_store(&self.store, &self.recordings[0])
    }

    fn verify(&self) -> VerifyResult {
        let checkable = Checkable::of(&self.store, &self.recordings);
        verify(checkable, &mut |_| (), &Stop::default()).unwrap()
    }
}

/// The members of an image, as files.
fn written(image: &Image) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (index, member) in image.members.iter().enumerate() {
        std::fs::write(folder.path().join(format!("m{index}")), &member.bytes).unwrap();
    }
    folder
}

/// Opens all members in a folder but these; nothing if they are not of one store.
fn opened(folder: &TempDir, left_out: &[usize]) -> Option<Rest> {
    let left_out: Vec<String> = left_out.iter().map(|index| format!("m{index}")).collect();
    let mut names: Vec<String> = std::fs::read_dir(folder.path())
        .unwrap()
        .map(|entry| entry.unwrap())
        .filter(|entry| !left_out.iter().any(|name| entry.file_name() == **name))
        .map(|entry| entry.path().to_str().unwrap().to_owned())
        .collect();
    names.sort();
    let mut store = Store::open(&names, Mode::Read, &Roots::default()).ok()?;
    let recordings = store.recordings().ok()?;
    let checkable = Checkable::of(&store, &recordings);
    let recordings = readable(checkable, &Stop::default(), &mut |_| ()).unwrap();
    Some(Rest { store, recordings })
}

/// Opens the members of an image but these.
fn without(image: &Image, left_out: &[usize]) -> Rest {
    opened(&written(image), left_out).unwrap()
}

/// Whether all bytes from here on are those that were offered, but for these.
fn are_right(bytes: &[u8], from: u64, offered: &[u8], lost: &[Span<u64>]) -> bool {
    let end_bytes = from + bytes.len() as u64;
    let starts = std::iter::once(from).chain(lost.iter().map(|lost| lost.end));
    let ends = lost.iter().map(|lost| lost.start).chain([end_bytes]);
    let mut stretches = starts.zip(ends);
    stretches.all(|(start, end)| {
        let here = (start - from) as usize..(end - from) as usize;
        bytes[here] == offered[start as usize..end as usize]
    })
}

/// All choices of so many members.
fn choices(members: usize, count: usize) -> Vec<Vec<usize>> {
    (0..1_usize << members)
        .filter(|set| set.count_ones() as usize == count)
        .map(|set| {
            (0..members)
                .filter(|member| set >> member & 1 == 1)
                .collect()
        })
        .collect()
}

/// Puts an append of one of two streams; the second one has frames of 300 bytes.
fn put(image: &mut Image, round: usize, member: usize) {
    let seed = image.sequence;
    if round.is_multiple_of(3) {
        let marks = [0, 300, 600].map(|offset_bytes| PayloadMark {
            offset_bytes,
            kind: match offset_bytes {
                0 => MarkKind::Begin,
                _ => MarkKind::EndAndBegin,
            },
            time_ns: Some(image.time_ns + i64::from(offset_bytes as u32)),
        });
        let end = PayloadMark {
            offset_bytes: 900,
            kind: MarkKind::End,
            time_ns: None,
        };
        let marks: Vec<PayloadMark> = marks.into_iter().chain([end]).collect();
        image.data(member, 1, &noise(seed, 900), &marks);
    } else {
        let payload = noise(seed, 1 + round * 7919 % 40_000);
        image.data(member, 0, &payload, &[]);
    }
}

/// A recording of two streams over so many members, in groups of so many appends.
fn protected(members: usize, parities: usize, appends_max: usize, is_ring: bool) -> Image {
    let slots: Vec<u64> = (0..members as u64)
        .map(|one| 6 + 20 / members as u64 + one)
        .collect();
    let mut image = Image::new_unequal(&slots, &["none", "lines"], is_ring);
    image.protect(parities, appends_max);
    image
}

fn recorded(members: usize, parities: usize, appends_max: usize, rounds: usize) -> Image {
    let mut image = protected(members, parities, appends_max, false);
    for round in 0..rounds {
        put(&mut image, round, (round * 5 + round / 7) % members);
    }
    image.end();
    image.say_ended();
    image
}

/// Every byte comes back.
fn check_streams(image: &Image, rest: &Rest) {
    for stream in 0..2_u16 {
        let (bytes, lost) = joined(&parts(&rest.scope(), stream, &Range::All));
        assert_eq!(lost, [], "stream {stream}");
        assert!(
            bytes == image.offered[usize::from(stream)],
            "stream {stream}"
        );
    }
}

/// Every byte, every frame, and a range of time come back.
fn check_whole(image: &Image, rest: &Rest) {
    check_streams(image, rest);
    let scope = rest.scope();
    let offered = &image.offered[1];
    let frames = StreamReader::open(&scope, 1, &Range::Frames(4..7)).unwrap();
    let frames: Vec<Framed> = FrameReader::new(frames).collect::<Result<_, _>>().unwrap();
    let whole: Vec<(u64, Vec<u8>)> = frames
        .into_iter()
        .map(|framed| match framed {
            Framed::Frame(frame) => {
                assert!(frame.whole);
                (frame.number, frame.bytes.to_vec())
            }
            other => panic!("{other:?}"),
        })
        .collect();
    let expected = (4..7_u64).map(|number| {
        let start = 300 * number as usize;
        (number, offered[start..start + 300].to_vec())
    });
    assert!(whole == expected.collect::<Vec<_>>());
    let in_time = Range::Time(STARTED_NS + 20_000_000..image.time_ns - 10_000_000);
    let all = parts(&scope, 1, &in_time);
    let (bytes, lost) = joined(&all);
    assert_eq!(lost, []);
    let start = all[0].offset_bytes() as usize;
    assert!(!bytes.is_empty() && bytes == offered[start..start + bytes.len()]);
}

#[test]
fn every_byte_comes_back_without_as_many_members_as_there_are_parities() {
    for members in 2..=5 {
        for parities in 1..=2.min(members - 1) {
            for appends_max in 1..=members - parities {
                let image = recorded(members, parities, appends_max, 45);
                let folder = written(&image);
                // Of five members, every second choice, others for each width.
                let step = if members == 5 { 2 } else { 1 };
                let choices = choices(members, parities).into_iter();
                for left_out in choices.skip(appends_max % step).step_by(step) {
                    let rest = opened(&folder, &left_out).unwrap();
                    check_whole(&image, &rest);
                    let notes = rest.store.notes.join("\n");
                    for member in &left_out {
                        let named = format!("member {} of {members} is missing", member + 1);
                        assert!(notes.contains(&named), "{notes}");
                    }
                    let result = rest.verify();
                    assert!(result.complete && !result.ok);
                    assert_eq!(result.bad.len(), left_out.len(), "{:?}", result.bad);
                    assert!(result.bad.iter().all(|bad| bad.why.contains("is missing")));
                    let streams = &result.recordings[0].streams;
                    assert_eq!(streams[0].recorded, image.offered[0].len() as u64);
                }
            }
        }
    }
}

/// The stretches of a stream that are lost with these members and more than parity replaces, as the
/// image knows: those of appends on them of which the group has lost too much.
fn lost_with(image: &Image, stream: u16, left_out: &[usize]) -> Vec<Span<u64>> {
    let parities = usize::from(image.members[0].superblock.parities);
    let mut groups: BTreeMap<u64, usize> = BTreeMap::new();
    for put in image
        .puts
        .iter()
        .filter(|put| left_out.contains(&put.member))
    {
        *groups.entry(put.descriptor.parity_group).or_default() += 1;
    }
    let mut lost: Vec<Span<u64>> = Vec::new();
    for put in &image.puts {
        let descriptor = &put.descriptor;
        let is_lost = left_out.contains(&put.member)
            && descriptor.kind == Kind::Data
            && descriptor.stream == stream
            && groups[&descriptor.parity_group] > parities;
        if is_lost {
            let start = descriptor.stream_offset_bytes;
            let end = start + u64::from(descriptor.payload_bytes);
            match lost.last_mut() {
                Some(last) if last.end == start => last.end = end,
                _ => lost.push(start..end),
            }
        }
    }
    lost
}

#[test]
fn without_more_members_exactly_what_has_lost_too_much_of_its_group_is_named() {
    for (members, parities, appends_max) in [(3, 1, 1), (4, 1, 2), (5, 1, 2), (5, 2, 2), (3, 1, 2)]
    {
        let image = recorded(members, parities, appends_max, 45);
        let folder = written(&image);
        for left_out in choices(members, parities + 1) {
            let rest = opened(&folder, &left_out).unwrap();
            let scope = rest.scope();
            for stream in 0..2_u16 {
                let (bytes, lost) = joined(&parts(&scope, stream, &Range::All));
                let case = format!("{members} members, {parities}, {left_out:?}");
                assert_eq!(lost, lost_with(&image, stream, &left_out), "{case}");
                let offered = &image.offered[usize::from(stream)];
                assert_eq!(bytes.len(), offered.len(), "{case}");
                assert!(are_right(&bytes, 0, offered, &lost), "{case}");
            }
        }
    }
}

#[test]
fn a_member_whose_slots_begin_with_parity_or_have_nothing_else_is_found() {
    // Four appends to a slot. On the first member each slot begins with parity, and on the last one
    // data comes behind more slots of parity than opening looks at in a row.
    let mut image = Image::new_unequal(&[50, 60, 60], &["none", "lines"], false);
    image.protect(1, 1);
    let protected_on = |image: &mut Image, member: usize, parity: usize| {
        image.parity_first = parity;
        image.data(member, 0, &noise(image.sequence, 50_000), &[]);
    };
    for _ in 0..80 {
        protected_on(&mut image, 1, 0);
        protected_on(&mut image, 0, 2);
    }
    for _ in 0..30 {
        protected_on(&mut image, 2, 1);
    }
    let parity = image
        .puts
        .iter()
        .filter(|put| put.descriptor.kind == Kind::Parity);
    let begins_slot = |put: &&Put| put.descriptor.place.slot_offset_bytes == 0;
    let begins = parity
        .clone()
        .filter(|put| put.member == 0)
        .filter(begins_slot);
    assert!(begins.count() > 30);
    assert!(
        parity
            .filter(|put| put.member == 2)
            .filter(begins_slot)
            .count()
            > 18
    );
    image.end();
    for left_out in 0..3 {
        let rest = without(&image, &[left_out]);
        let (bytes, lost) = joined(&parts(&rest.scope(), 0, &Range::All));
        assert_eq!(lost, [], "{left_out}");
        assert!(bytes == image.offered[0], "{left_out}");
        let middle = image.offered[0].len() as u64 / 2;
        let some = parts(&rest.scope(), 0, &Range::Bytes(middle..middle + 60_000));
        assert!(joined(&some).0 == image.offered[0][middle as usize..][..60_000]);
    }
}

/// The same on disks of a simulated machine, one of which cannot read a byte.
fn without_simulated(image: &Image, left_out: usize, faulty: usize, bad_byte: usize) -> Rest {
    let clock = Clock::simulated();
    let machines = [machine(image, faulty, bad_byte, &clock)];
    let disks = (0..image.members.len()).filter(|disk| *disk != left_out);
    let disks: Vec<SimulatedDisk> = disks
        .map(|disk| SimulatedDisk {
            target: Target {
                capacity_bytes: Some(image.members[disk].bytes.len() as u64),
                ..simulated_target(&format!("d{disk}"))
            },
            simulated: SimulatedTarget { machine: 0, disk },
        })
        .collect();
    let mut store = Store::open_simulated(&disks, &machines, &clock, Mode::Read).unwrap();
    let recordings = store.recordings().unwrap();
    Rest { store, recordings }
}

#[test]
fn what_a_survivor_cannot_read_is_computed_from_another_parity() {
    for (parities, is_whole) in [(2, true), (1, false)] {
        let image = recorded(4, parities, 2, 40);
        // In the middle of a sum that is needed for an append of member 0.
        let of_first = image.puts.iter().filter(|put| put.member == 0);
        let group = of_first
            .filter(|put| put.descriptor.kind == Kind::Data && put.descriptor.stream == 0)
            .map(|put| put.descriptor.parity_group)
            .nth(2)
            .unwrap();
        let in_group = |put: &&Put| put.descriptor.parity_group == group;
        let mut parity = image.puts.iter().filter(in_group);
        let parity = parity.find(|put| put.descriptor.parity_role == 1).unwrap();
        let lost = image
            .puts
            .iter()
            .filter(in_group)
            .find(|put| put.member == 0)
            .unwrap();
        let bad_byte = parity.offset_bytes + 4096 + 4096 + 10;
        let rest = without_simulated(&image, 0, parity.member, bad_byte);
        let (bytes, holes) = joined(&parts(&rest.scope(), 0, &Range::All));
        let start = lost.descriptor.stream_offset_bytes;
        let end = start + u64::from(lost.descriptor.payload_bytes);
        match is_whole {
            true => assert_eq!(holes, []),
            false => {
                assert_eq!(holes.len(), 1, "{holes:?}");
                assert!(start <= holes[0].start && holes[0].end <= end);
            }
        }
        let is_there = |at: &usize| !holes.iter().any(|hole| hole.contains(&(*at as u64)));
        let offered = &image.offered[0];
        assert!(
            (0..offered.len())
                .filter(is_there)
                .all(|at| bytes[at] == offered[at])
        );
    }
}

#[test]
fn a_member_whose_superblock_cannot_be_read_is_left_out_by_who_reads() {
    let mut image = recorded(4, 1, 2, 40);
    let bytes = &mut image.members[2].bytes;
    let length = bytes.len();
    for copies in [0..128 << 10, length - (128 << 10)..length] {
        bytes[copies].fill(0);
    }
    // Nothing is left out by whoever names the members.
    let rest = without_simulated(&image, usize::MAX, 2, 10);
    let mut notes = rest.store.notes.iter();
    let is_told = |note: &String| note.contains("d2 is left out: its superblock cannot be read");
    assert!(notes.any(is_told), "{:?}", rest.store.notes);
    check_whole(&image, &rest);
}

#[test]
fn a_recording_that_was_broken_off_is_read_as_far_as_its_groups_have_parity() {
    let mut image = protected(3, 1, 2, false);
    for round in 0..40 {
        put(&mut image, round, round % 3);
    }
    image.close_groups();
    for round in 40..44 {
        image.data(round % 2, 0, &noise(round as u64, 5000), &[]);
    }
    image.say_begun();
    for left_out in 0..3 {
        let rest = without(&image, &[left_out]);
        let known = &image.offered[0];
        let (bytes, lost) = joined(&parts(&rest.scope(), 0, &Range::All));
        assert!(are_right(&bytes, 0, known, &lost));
        let unprotected = known.len() as u64 - 20_000;
        assert!(
            lost.iter().all(|lost| lost.start >= unprotected),
            "{lost:?}"
        );
        let result = rest.verify();
        let unknown = result
            .bad
            .iter()
            .filter(|bad| bad.why.contains("no end mark"));
        assert_eq!(unknown.count(), 1, "{:?}", result.bad);
    }
}

/// A ring that has come round, on unequal members.
fn ring() -> Image {
    let mut image = Image::new_unequal(&[12, 14, 17, 13], &["none", "lines"], true);
    image.protect(1, 2);
    for round in 0..900 {
        let member = (round * 5 + round / 7) % 4;
        if round % 80 == 79 {
            (0..4).for_each(|member| image.start(member));
        }
        put(&mut image, round, member);
    }
    image.end();
    image.say_ended();
    image
}

#[test]
fn of_a_ring_that_has_come_round_the_newest_lap_comes_back() {
    let image = ring();
    let whole = without(&image, &[]);
    let whole_from = whole.recordings[0].streams[0].readable_from_bytes;
    assert!(whole_from > 0);
    for left_out in 0..4 {
        let rest = without(&image, &[left_out]);
        let stream = &rest.recordings[0].streams[0];
        let from = stream.readable_from_bytes;
        let offered = &image.offered[0];
        assert!(from < offered.len() as u64 * 9 / 10 && from >= whole_from / 2);
        let (bytes, lost) = joined(&parts(
            &rest.scope(),
            0,
            &Range::Bytes(from..offered.len() as u64),
        ));
        let at = from as usize;
        // Groups at the beginning may have lost an append to the ring, and another one with the
        // member.
        let early = from + 8 * 40_000;
        assert!(
            lost.iter().all(|lost| lost.end <= early),
            "{left_out}: {lost:?} from {from}"
        );
        let end = lost.last().map_or(from, |lost| lost.end) as usize;
        assert!(bytes[end - at..] == offered[end..]);
        let result = rest.verify();
        let is_early = |bad: &Discrepancy| bad.to_byte.is_some_and(|to| to <= early);
        let is_missing = |bad: &Discrepancy| bad.why.contains("is missing: what it had");
        let is_known =
            |bad: &&Discrepancy| bad.stream == Some(0) && is_early(bad) || is_missing(bad);
        let others: Vec<&Discrepancy> = result.bad.iter().filter(|bad| !is_known(bad)).collect();
        assert!(others.is_empty(), "{left_out}: {others:?}");
    }
}

/// Changes bits of members, reads what there is, and changes them back. Returns what is lost of the
/// first stream; nothing if the store cannot be opened.
fn lost_with_flipped(
    image: &mut Image,
    left_out: &[usize],
    flips: &[(usize, usize, u8)],
) -> Option<Vec<Span<u64>>> {
    let flip = |image: &mut Image| {
        for (member, at, bits) in flips {
            image.members[*member].bytes[*at] ^= bits;
        }
    };
    flip(image);
    let folder = written(image);
    flip(image);
    let mut rest = opened(&folder, left_out)?;
    let recording = rest.recordings.first()?;
    let from = recording.streams.first()?.readable_from_bytes;
    let all = parts(&rest.scope(), 0, &Range::Bytes(from..u64::MAX));
    let (bytes, lost) = joined(&all);
    assert!(
        are_right(&bytes, from, &image.offered[0], &lost),
        "{flips:?}"
    );
    rest.verify();
    rest.recordings.clear();
    Some(lost)
}

#[test]
fn of_a_damaged_list_or_sum_no_byte_is_made_up() {
    let mut image = recorded(4, 1, 2, 40);
    let parities: Vec<Put> = image
        .puts
        .iter()
        .filter(|put| put.descriptor.kind == Kind::Parity && put.member != 1)
        .cloned()
        .collect();
    let mut damaged = 0;
    for put in &parities {
        let payload_bytes = put.descriptor.payload_bytes as usize;
        let list = put.offset_bytes + 4096 + payload_bytes;
        for at in [
            put.offset_bytes + 100,
            put.offset_bytes + 4096 + 70,
            list,
            list + 30,
        ] {
            let lost = lost_with_flipped(&mut image, &[1], &[(put.member, at, 4)]);
            damaged += usize::from(!lost.unwrap().is_empty());
        }
        if damaged > 20 {
            break;
        }
    }
    assert!(damaged > 10, "{damaged}");
}

/// The ways in which an append may be damaged.
const DAMAGES: [&str; 6] = [
    "descriptor",
    "payload",
    "marks",
    "seal",
    "first block",
    "all of it",
];

fn damage(bytes: &mut [u8], put: &Put, how: &str) {
    let descriptor = &put.descriptor;
    let append = &mut bytes[put.offset_bytes..][..descriptor.append_bytes as usize];
    let marks = 4096 + descriptor.payload_bytes as usize;
    let end = append.len();
    match how {
        "descriptor" => append[60] ^= 2,
        "payload" => append[4096 + descriptor.payload_bytes as usize / 2] ^= 64,
        "marks" if descriptor.marks_bytes > 0 => append[marks] ^= 1,
        "marks" => append[4096] ^= 1,
        "seal" => append[end - 40] ^= 1,
        "first block" => append[..4096].fill(0),
        _ => append.fill(0),
    }
}

/// The appends of data of an image, by the group that they are in.
fn by_group(image: &Image) -> BTreeMap<u64, Vec<Put>> {
    let mut groups: BTreeMap<u64, Vec<Put>> = BTreeMap::new();
    let data = image
        .puts
        .iter()
        .filter(|put| put.descriptor.kind == Kind::Data);
    for put in data {
        let group = groups.entry(put.descriptor.parity_group).or_default();
        group.push(put.clone());
    }
    groups
}

#[test]
fn what_is_damaged_on_a_member_that_is_there_comes_back() {
    for (members, parities, appends_max) in [(2, 1, 1), (4, 1, 3), (5, 2, 3)] {
        let image = recorded(members, parities, appends_max, 45);
        let groups = by_group(&image);
        for (round, how) in DAMAGES.iter().enumerate() {
            // As many appends of each third group as parity replaces.
            let mut damaged = image.members.clone();
            let mut count = 0;
            for group in groups.values().skip(round % 3).step_by(3) {
                for put in group.iter().take(parities) {
                    damage(&mut damaged[put.member].bytes, put, how);
                    count += 1;
                }
            }
            let folder = tempfile::tempdir().unwrap();
            for (index, member) in damaged.iter().enumerate() {
                std::fs::write(folder.path().join(format!("m{index}")), &member.bytes).unwrap();
            }
            let rest = opened(&folder, &[]).unwrap();
            check_streams(&image, &rest);
            let result = rest.verify();
            assert!(result.complete && !result.ok, "{how}");
            let is_told = |bad: &&Discrepancy| bad.why.contains("nothing is lost, because");
            let told = result.bad.iter().filter(is_told).count();
            assert_eq!(told, count, "{members} members, {how}: {:?}", result.bad);
            let streams = &result.recordings[0].streams;
            for (stream, offered) in streams.iter().zip(&image.offered) {
                assert_eq!(stream.recorded, offered.len() as u64, "{how}");
            }
        }
    }
}

#[test]
fn what_lacks_its_parity_is_told_and_counted() {
    let image = recorded(4, 1, 3, 45);
    let all: u64 = image.offered.iter().map(|bytes| bytes.len() as u64).sum();
    let healthy = without(&image, &[]).verify();
    let protection = healthy.recordings[0].protection.unwrap();
    assert!(healthy.ok);
    assert_eq!((protection.parities, protection.protected_bytes), (1, all));
    let groups = by_group(&image);
    let parities = image
        .puts
        .iter()
        .filter(|put| put.descriptor.kind == Kind::Parity);
    for (put, how) in parities.zip(DAMAGES.iter().cycle()) {
        let mut damaged = recorded(4, 1, 3, 45);
        damage(&mut damaged.members[put.member].bytes, put, how);
        let rest = without(&damaged, &[]);
        check_streams(&damaged, &rest);
        let result = rest.verify();
        // Nothing is computed from a seal, so its loss costs nothing.
        assert_eq!(result.ok, *how == "seal", "{how}");
        if result.ok {
            continue;
        }
        assert_eq!(result.bad.len(), 1, "{how}: {:?}", result.bad);
        assert!(
            result.bad[0].why.contains("parity"),
            "{how}: {:?}",
            result.bad
        );
        let protection = result.recordings[0].protection.unwrap();
        let group = &groups[&put.descriptor.parity_group];
        let lacking = group
            .iter()
            .map(|put| u64::from(put.descriptor.payload_bytes));
        assert_eq!(protection.unprotected_bytes, lacking.sum::<u64>(), "{how}");
        assert_eq!(
            protection.protected_bytes + protection.unprotected_bytes,
            all
        );
    }
}

#[test]
fn what_outlasts_one_loss_of_two_is_counted() {
    for (parities, lost, from_one) in [(2, &[1][..], true), (2, &[1, 3], false), (1, &[1], false)] {
        let image = recorded(6, parities, 3, 45);
        let all: u64 = image.offered.iter().map(|bytes| bytes.len() as u64).sum();
        let found = without(&image, lost).verify().recordings[0].protection;
        let found = found.expect("it has parity");
        assert_eq!(found.protected_bytes + found.unprotected_bytes, all);
        let expected = if from_one { found.unprotected_bytes } else { 0 };
        let told = found.protected_from_one_bytes;
        let is_part = lost.len() == 2 && told < found.unprotected_bytes;
        assert!(
            told == expected || is_part,
            "{parities} {lost:?}: {found:?}"
        );
    }
}

/// A recording over so many members, and what each of them had when half of it was recorded.
fn recorded_with_half(members: usize, parities: usize, is_ring: bool) -> (Image, Vec<Vec<u8>>) {
    let mut image = protected(members, parities, members - parities, is_ring);
    image.say_begun();
    let mut half = Vec::new();
    let rounds = if is_ring { 400 } else { 60 };
    for round in 0..rounds {
        if round == rounds / 2 {
            half = image
                .members
                .iter()
                .map(|member| member.bytes.clone())
                .collect();
        }
        put(&mut image, round, (round * 5 + round / 7) % members);
    }
    image.end();
    image.say_ended();
    (image, half)
}

#[test]
fn what_a_member_that_failed_lacks_comes_back_while_it_is_there() {
    for (members, parities) in [(2, 1), (4, 1), (5, 2)] {
        let (image, half) = recorded_with_half(members, parities, false);
        for behind in choices(members, parities) {
            for is_cut in [false, true] {
                let folder = written(&image);
                for member in &behind {
                    let path = folder.path().join(format!("m{member}"));
                    match is_cut {
                        false => std::fs::write(path, &half[*member]).unwrap(),
                        true => {
                            let file = std::fs::File::options().write(true).open(path).unwrap();
                            file.set_len(2 << 18).unwrap();
                        }
                    }
                }
                let rest = opened(&folder, &[]).unwrap();
                let case = format!("{members} members, {behind:?}, cut {is_cut}");
                check_whole(&image, &rest);
                let notes = rest.store.notes.join("\n");
                let told = "does not have all that it was given";
                assert_eq!(notes.matches(told).count(), behind.len(), "{case}: {notes}");
                let result = rest.verify();
                assert!(result.complete && !result.ok, "{case}");
                assert!(
                    result.bad.iter().any(|bad| bad.why.contains(told)),
                    "{case}"
                );
                for (stream, offered) in result.recordings[0].streams.iter().zip(&image.offered) {
                    assert_eq!(stream.recorded, offered.len() as u64, "{case}");
                }
            }
        }
    }
}

#[test]
fn parity_that_an_earlier_store_has_left_is_not_believed() {
    let earlier = recorded(3, 1, 2, 40);
    let mut image = earlier.recreated();
    image.protect(1, 2);
    for round in 0..9 {
        put(&mut image, round, round % 3);
    }
    image.end();
    for left_out in 0..3 {
        check_streams(&image, &without(&image, &[left_out]));
    }
    let folder = written(&image);
    std::fs::write(folder.path().join("m0"), &earlier.members[0].bytes).unwrap();
    assert!(opened(&folder, &[1]).is_none(), "members of two stores");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn flipped_bits_never_become_wrong_bytes(
        flips in prop::collection::vec((any::<prop::sample::Index>(), 0..9000_usize, 1..=255_u8), 1..6),
        left_out in 0..4_usize,
        parities in 1..=2_usize,
    ) {
        let mut image = recorded(4, parities, 2, 24);
        // Where something is: within the first blocks of an append, or a superblock.
        let flips: Vec<(usize, usize, u8)> = flips
            .iter()
            .map(|(which, within, bits)| {
                let put = which.get(&image.puts);
                match within % 8 {
                    0 => (put.member, within % 4096, *bits),
                    _ => (put.member, put.offset_bytes + within, *bits),
                }
            })
            .collect();
        lost_with_flipped(&mut image, &[left_out], &flips);
    }
}
