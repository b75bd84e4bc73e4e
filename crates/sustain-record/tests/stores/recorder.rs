//! Tests the recorder on real files through its library: what is lent, given, lost, and waited for
//! must come back.

use std::collections::VecDeque;
use std::os::unix::fs::FileExt;
use std::time::Duration;

use sustain_disk::buffer::AlignedBytes;
use sustain_disk::driver::Ending;
use sustain_document::control::UserMark;
use sustain_host::Roots;
use sustain_record::document::list_document;
use sustain_record::error::RecordError;
use sustain_record::format::{
    AppendPlace, Descriptor, GapReason, Kind, MARKS_FRAMING, MARKS_STREAM, MarkKind, PayloadMark,
};
use sustain_record::opening::StreamSummary;
use sustain_record::reading::part::StreamPart;
use sustain_record::reading::scope::Scope;
use sustain_record::reading::stream::{Range, StreamReader};
use sustain_record::reading::user_marks::{FoundMarks, MarkLoss, find_marks};
use sustain_record::reading::verify::{Checkable, verify};
use sustain_record::recorder::{
    AppendSize, Intake, IntakeSetup, MemberState, OnFull, PauseSwitch, PinOutcome, PinWish,
    RecordOptions, Recorder, RecordingBoard, RecordingProgress, SplitSwitch, StreamSetup,
    StreamWriter,
};
use sustain_record::source::framing::Framing;
use sustain_record::source::synthetic::{Content, seed_of};
use sustain_record::store::{CreatePlan, Mode, Store, create};
use sustain_record::walk::Walk;
use sustain_targets::Stop;

/// A store of files in a directory of its own.
pub(super) struct Place {
    _directory: tempfile::TempDir,
    pub(super) members: Vec<String>,
}

impl Place {
    pub(super) fn new(sizes: &[u64]) -> Place {
        Place::with_parity(sizes, 0)
    }

    pub(super) fn with_parity(sizes: &[u64], parities: u16) -> Place {
        // The directory is not in memory, because direct writes are tested.
        let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let members: Vec<String> = (0..sizes.len())
            .map(|index| directory.path().join(format!("m{index}")))
            .map(|path| path.display().to_string())
            .collect();
        for (name, size) in members.iter().zip(sizes) {
            std::fs::File::create(name).unwrap().set_len(*size).unwrap();
        }
        let plan = CreatePlan {
            members: members.clone(),
            size_bytes: None,
            slot_bytes: 1 << 20,
            prewrite: false,
            destroy: members.clone(),
            parities,
            same_disk: true,
            dry_run: false,
        };
        create(&plan, &Roots::default(), &Stop::default(), &mut |_| ()).unwrap();
        Place {
            _directory: directory,
            members,
        }
    }

    fn open(&self, mode: Mode) -> Store {
        Store::open(&self.members, mode, &Roots::default()).unwrap()
    }

    pub(super) fn record(&self, streams: &[&str]) -> (Recorder, Vec<StreamWriter>) {
        let options = RecordOptions {
            buffer_bytes: 16 << 20,
            append_size: AppendSize::Exactly(256 << 10),
            ..RecordOptions::default()
        };
        let streams = streams.iter().copied();
        let mut recorder = Recorder::start(self.open(Mode::Record), streams, options).unwrap();
        let writers = recorder.writers();
        (recorder, writers)
    }

    /// All of the newest recording's stream, as parts.
    pub(super) fn read(&self, stream: &str) -> Vec<StreamPart> {
        self.read_before(0, stream)
    }

    /// The same of the recording before so many newer ones.
    fn read_before(&self, newer: usize, stream: &str) -> Vec<StreamPart> {
        let mut store = self.open(Mode::Read);
        let recordings = store.recordings().unwrap();
        let newest = &recordings[newer];
        let named = |one: &StreamSummary| one.name == stream;
        let number = newest.streams.iter().position(named).unwrap() as u16;
        let scope = Scope::of(newest, &store.members, store.machines(), store.clock());
        let reader = StreamReader::open(&scope, number, &Range::All).unwrap();
        reader.map(Result::unwrap).collect()
    }
}

pub(super) fn fill(writer: &mut StreamWriter, bytes: u64) {
    let content = Content::new(seed_of(writer.name()));
    let end = writer.offered_bytes() + bytes;
    while writer.offered_bytes() < end {
        let mut filling = writer.lend().unwrap();
        let position = writer.offered_bytes();
        let count = (end - position).min(filling.room_bytes() as u64) as usize;
        content.fill(position, &mut filling.spare_mut()[..count]);
        filling.take(count, &[], writer.now_ns());
        writer.commit(filling);
    }
}

/// Asserts that the parts are the stream's own bytes and the gaps given, in order and complete.
pub(super) fn assert_parts(name: &str, parts: &[StreamPart], bytes: u64, gaps: &[(u64, u64)]) {
    let content = Content::new(seed_of(name));
    let (mut position, mut found) = (0, Vec::<(u64, u64)>::new());
    for part in parts {
        assert_eq!(part.offset_bytes(), position, "nothing is closed up");
        match part {
            StreamPart::Data { bytes, .. } => assert_eq!(content.check(position, bytes), None),
            // One loss may be accounted for in several gaps.
            StreamPart::Gap { length_bytes, .. } => match found.last_mut() {
                Some((start, length)) if *start + *length == position => *length += length_bytes,
                _ => found.push((position, *length_bytes)),
            },
            other => panic!("{other:?}"),
        }
        position += part.length_bytes();
    }
    assert_eq!(position, bytes);
    assert_eq!(found, gaps);
}

#[test]
fn two_streams_over_three_members_come_back_whole() {
    // No two of the members can hold it all, so that each has to take its share however late its
    // thread comes to run.
    let place = Place::new(&[8 << 20, 9 << 20, 10 << 20]);
    let (recorder, mut writers) = place.record(&["left", "right"]);
    let mut right = writers.pop().unwrap();
    let mut left = writers.pop().unwrap();
    for _ in 0..5 {
        fill(&mut left, 3_000_001);
        fill(&mut right, 700_003);
    }
    drop((left, right));
    let recorded = recorder.finish().unwrap();
    assert_eq!(recorded.ended, Ending::Source);
    let streams = &recorded.standing.streams;
    assert_eq!(
        (streams[0].offered_bytes, streams[0].durable_bytes),
        (15_000_005, 15_000_005)
    );
    assert!(
        recorded
            .standing
            .members
            .iter()
            .all(|member| member.bytes > 0)
    );
    assert_parts("left", &place.read("left"), 15_000_005, &[]);
    assert_parts("right", &place.read("right"), 3_500_015, &[]);
}

#[test]
fn what_was_recorded_with_parity_comes_back_without_as_many_members() {
    for parities in 1..=2 {
        let sizes = [24 << 20, 30 << 20, 26 << 20, 28 << 20];
        let mut place = Place::with_parity(&sizes, parities);
        let (recorder, mut writers) = place.record(&["left", "right"]);
        let (mut right, mut left) = (writers.pop().unwrap(), writers.pop().unwrap());
        for _ in 0..5 {
            fill(&mut left, 3_000_001);
            fill(&mut right, 700_003);
        }
        drop((left, right));
        recorder.finish().unwrap();
        let all = place.members.clone();
        let unprotected = without_parity(&place.open(Mode::Read));
        assert!(unprotected.is_empty(), "{unprotected:?}");
        for first in 0..all.len() {
            let gone = |index: &usize| (first..first + usize::from(parities)).contains(index);
            let left_out = |index: &usize| gone(index) || gone(&(index + all.len()));
            let there = (0..all.len()).filter(|index| !left_out(index));
            place.members = there.map(|index| all[index].clone()).collect();
            for (stream, name) in (0..).zip(["left", "right"]) {
                let content = Content::new(seed_of(name));
                let lost = unprotected
                    .iter()
                    .filter(|(member, of, _)| *of == stream && left_out(member));
                let lost: Vec<_> = lost.map(|(.., bytes)| bytes.clone()).collect();
                let mut end_bytes = 0;
                for part in place.read(name) {
                    let range = part.offset_bytes()..part.end_bytes();
                    assert_eq!(range.start, end_bytes);
                    end_bytes = range.end;
                    match part {
                        StreamPart::Data { bytes, .. } => {
                            assert_eq!(content.check(range.start, &bytes), None);
                        }
                        other => assert!(
                            range
                                .clone()
                                .all(|at| lost.iter().any(|lost| lost.contains(&at))),
                            "{first}: {other:?}, but only {lost:?} have no parity"
                        ),
                    }
                }
                assert_eq!(end_bytes, [15_000_005, 3_500_015][usize::from(stream)]);
            }
        }
    }
}

#[test]
fn what_a_member_that_failed_lacks_is_not_recorded_over() {
    let sizes = [40 << 20, 48 << 20, 44 << 20];
    let place = Place::with_parity(&sizes, 1);
    let record = |name: &str, bytes: u64| {
        let (recorder, mut writers) = place.record(&[name]);
        fill(&mut writers.pop().unwrap(), bytes);
        drop(writers);
        recorder.finish().unwrap();
    };
    record("first", 15_000_000);
    let unprotected = without_parity(&place.open(Mode::Read));
    assert!(unprotected.is_empty(), "{unprotected:?}");
    // It failed in the middle, and is there again with the size that it had.
    let failed = std::fs::File::options()
        .write(true)
        .open(&place.members[1])
        .unwrap();
    failed.set_len(5 << 20).unwrap();
    failed.set_len(sizes[1]).unwrap();
    for (name, bytes) in [("second", 9_000_000), ("third", 2_000_000)] {
        let before = std::fs::read(&place.members[1]).unwrap();
        let told = "Nothing is recorded on it";
        let notes = place.open(Mode::Record).notes.join("\n");
        assert!(notes.contains(told), "{notes}");
        record(name, bytes);
        let after = std::fs::read(&place.members[1]).unwrap();
        let slots = 1 << 20..(sizes[1] - (1 << 20)) as usize;
        assert!(before[slots.clone()] == after[slots], "{name}");
    }
    for (newer, (name, bytes)) in [
        ("third", 2_000_000),
        ("second", 9_000_000),
        ("first", 15_000_000),
    ]
    .into_iter()
    .enumerate()
    {
        assert_parts(name, &place.read_before(newer, name), bytes, &[]);
    }
}

#[test]
fn what_parity_covers_of_a_file_that_was_cut_off_is_never_told_to_be_lost() {
    let place = Place::with_parity(&[40 << 20; 4], 1);
    let (recorder, mut writers) = place.record(&["one"]);
    let board = recorder.board();
    let mut writer = writers.pop().unwrap();
    fill(&mut writer, 8_000_000);
    assert!(board.wait_protected(0, 8_000_000, Duration::from_secs(60)));
    let cut = std::fs::File::options()
        .write(true)
        .open(&place.members[1])
        .unwrap();
    cut.set_len(1 << 20).unwrap();
    let mut has_failed = false;
    while !has_failed || writer.offered_bytes() < 16_000_000 {
        fill(&mut writer, 300_000);
        let standing = board.read();
        has_failed |= standing.members[1].state == MemberState::Failed;
        assert_eq!(standing.members[1].lost_bytes, 0, "{standing:?}");
        let stream = &standing.streams[0];
        assert!(stream.durable_bytes >= stream.settled_bytes, "{stream:?}");
    }
    drop(writer);
    let recorded = recorder.finish().unwrap();
    assert_eq!(recorded.standing.members[1].lost_bytes, 0);
}

/// The appends of data that are in no group, in what the members hold: their member, stream and
/// bytes. Before all members are ready a recorder has none to protect them by.
fn without_parity(store: &Store) -> Vec<(usize, u16, std::ops::Range<u64>)> {
    let mut found = Vec::new();
    for member in &store.members {
        let (bytes, identity) = (std::fs::read(&member.name).unwrap(), member.identity());
        for slot in 0..identity.geometry.slot_count {
            let place = AppendPlace {
                slot_serial: slot,
                slot_offset_bytes: 0,
            };
            let at = identity.geometry.offset_of(place) as usize;
            let slot_bytes = identity.geometry.slot_bytes as usize;
            let appends = Walk::new(&identity, slot, &bytes[at..at + slot_bytes]);
            for Descriptor {
                kind,
                stream,
                parity_group,
                stream_offset_bytes,
                payload_bytes,
                ..
            } in appends.map(|append| append.descriptor)
            {
                if kind == Kind::Data && parity_group == 0 {
                    let end_bytes = stream_offset_bytes + u64::from(payload_bytes);
                    found.push((member.index(), stream, stream_offset_bytes..end_bytes));
                }
            }
        }
    }
    found
}

#[test]
fn a_watermark_can_be_waited_for() {
    let place = Place::new(&[20 << 20]);
    let (recorder, mut writers) = place.record(&["slow"]);
    let mut slow = writers.pop().unwrap();
    fill(&mut slow, 1000);
    let standing = recorder.board().wait_for(
        |standing| standing.streams[0].durable_bytes >= 1000,
        Duration::from_secs(60),
    );
    assert_eq!(standing.streams[0].durable_bytes, 1000);
    assert!(!standing.is_over);
    drop(slow);
    recorder.finish().unwrap();
}

#[test]
fn what_is_lost_stays_in_the_stream_as_a_gap() {
    let place = Place::new(&[20 << 20]);
    let (recorder, mut writers) = place.record(&["taps"]);
    let mut taps = writers.pop().unwrap();
    fill(&mut taps, 10_000);
    taps.skip(5_000, 2, GapReason::BufferFull);
    fill(&mut taps, 10_000);
    taps.skip(7, 0, GapReason::Source);
    drop(taps);
    let recorded = recorder.finish().unwrap();
    let stream = &recorded.standing.streams[0];
    assert_eq!(
        (
            stream.offered_bytes,
            stream.recorded_bytes,
            stream.gap_bytes
        ),
        (25_007, 20_000, 5_007)
    );
    assert_parts(
        "taps",
        &place.read("taps"),
        25_007,
        &[(10_000, 5_000), (25_000, 7)],
    );
}

fn set_mark(writer: &mut StreamWriter, number: u64) {
    let mark = UserMark {
        number,
        time_ns: 0,
        time: String::new(),
        text: format!("mark {number}"),
        streams: Vec::new(),
    };
    let text = serde_json::to_vec(&mark).unwrap();
    let mut filling = writer.lend().unwrap();
    filling.spare_mut()[..text.len()].copy_from_slice(&text);
    let begin = PayloadMark {
        offset_bytes: 0,
        kind: MarkKind::Begin,
        time_ns: Some(0),
    };
    filling.take(text.len(), &[begin], 0);
    writer.commit(filling);
}

#[test]
fn marks_that_were_not_kept_are_told_and_do_not_count_among_the_newest() {
    let place = Place::new(&[20 << 20, 20 << 20]);
    let marks = StreamSetup {
        framing: MARKS_FRAMING.to_owned(),
        ..StreamSetup::plain(MARKS_STREAM)
    };
    let streams = [StreamSetup::plain("main"), marks];
    let options = RecordOptions::default();
    let mut recorder = Recorder::start(place.open(Mode::Record), streams, options).unwrap();
    let mut marks = recorder.writer(MARKS_STREAM).unwrap();
    (1..=3).for_each(|number| set_mark(&mut marks, number));
    marks.skip(200, 2, GapReason::NotWritten);
    (6..=7).for_each(|number| set_mark(&mut marks, number));
    marks.skip(500, 5, GapReason::NotWritten);
    drop(marks);
    recorder.finish().unwrap();
    let mut store = place.open(Mode::Read);
    let recordings = store.recordings().unwrap();
    let found_of = |at_most| find_marks(&store, &recordings[0], at_most).unwrap();
    let numbers =
        |found: &FoundMarks| -> Vec<u64> { found.marks.iter().map(|mark| mark.number).collect() };
    let found = found_of(3);
    assert_eq!(numbers(&found), [3, 6, 7]);
    assert_eq!(
        (found.made, found.missing_count(MarkLoss::NotKept)),
        (12, 7)
    );
    let found = found_of(1000);
    assert_eq!(numbers(&found), [1, 2, 3, 6, 7]);
    let lost = (1..=12).filter(|number| found.loss_of(*number) == Some(MarkLoss::NotKept));
    assert_eq!(lost.collect::<Vec<_>>(), [4, 5, 8, 9, 10, 11, 12]);
    assert_eq!(found.missing_count(MarkLoss::NotFound), 0);
    let listed = list_document(&store, &recordings).unwrap();
    let listed = &listed.recordings[0];
    assert_eq!((listed.marks_not_kept, listed.marks_overwritten), (7, 0));
}

#[test]
fn memory_of_the_callers_is_written_where_it_is_and_comes_back() {
    let place = Place::new(&[20 << 20]);
    let (recorder, mut writers) = place.record(&["camera"]);
    let mut camera = writers.pop().unwrap().giver::<AlignedBytes>();
    let content = Content::new(seed_of("camera"));
    let mut circular = AlignedBytes::new(500_001).unwrap();
    content.fill(0, &mut circular);
    let address = circular.as_ptr();
    camera.give(circular, &[], camera.now_ns()).unwrap();
    assert_eq!(camera.copied_bytes(), 500_001 % 4096);
    let short = AlignedBytes::new(3).unwrap();
    let refused = camera.give(short, &[], 0).unwrap_err();
    assert_eq!(refused.owner.len(), 3);
    recorder.board().wait_for(
        |standing| standing.streams[0].durable_bytes >= 500_001,
        Duration::from_secs(60),
    );
    let back: AlignedBytes = camera.returned().expect("it is written");
    assert_eq!(back.as_ptr(), address);
    drop(camera);
    recorder.finish().unwrap();
    assert_parts("camera", &place.read("camera"), 500_001, &[]);
}

#[test]
fn memory_with_marks_that_nobody_could_read_comes_back_with_the_reason() {
    let place = Place::new(&[20 << 20]);
    let (recorder, mut writers) = place.record(&["camera"]);
    let mut camera = writers.pop().unwrap().giver();
    let mark = |offset_bytes, kind, time_ns| PayloadMark {
        offset_bytes,
        kind,
        time_ns,
    };
    let begin = mark(0, MarkKind::Begin, Some(1));
    for (second, why) in [
        (
            mark(100_001, MarkKind::End, None),
            "beyond the 100000 bytes",
        ),
        (mark(5, MarkKind::EndAndBegin, None), "no time of arrival"),
    ] {
        let memory = AlignedBytes::new(100_000).unwrap();
        let refused = camera.give(memory, &[begin, second], 0).unwrap_err();
        assert!(refused.why.contains(why), "{}", refused.why);
        assert_eq!(refused.owner.len(), 100_000);
    }
    let memory = AlignedBytes::new(100_000).unwrap();
    let late = mark(7, MarkKind::Begin, Some(1));
    let refused = camera.give(memory, &[late, begin], 0).unwrap_err();
    assert!(refused.why.contains("in the order"), "{}", refused.why);
    drop(camera);
    let recorded = recorder.finish().unwrap();
    assert_eq!(recorded.standing.streams[0].offered_bytes, 0);
}

#[test]
fn a_writer_is_taken_by_its_name_once() {
    let place = Place::new(&[20 << 20]);
    let streams = ["left", "right"];
    let options = RecordOptions::default();
    let mut recorder = Recorder::start(place.open(Mode::Record), streams, options).unwrap();
    let mut right = recorder.writer("right").unwrap();
    assert_eq!(right.name(), "right");
    let why = |recorder: &mut Recorder, name| {
        let refused = recorder.writer(name).map(drop).unwrap_err();
        assert!(refused.is_usage(), "{refused}");
        refused.to_string()
    };
    let twice = why(&mut recorder, "right");
    assert!(twice.contains("taken already"), "{twice}");
    let unknown = why(&mut recorder, "middle");
    assert!(unknown.contains("its streams are left, right"), "{unknown}");
    fill(&mut right, 100_000);
    drop(right);
    // The stream whose writer nobody took ends with the recorder, which would wait for it else.
    let recorded = recorder.finish().unwrap();
    assert_eq!(recorded.ended, Ending::Source);
    let offered = recorded
        .standing
        .streams
        .iter()
        .map(|one| one.offered_bytes);
    assert_eq!(offered.collect::<Vec<_>>(), [0, 100_000]);
}

#[test]
fn a_full_store_ends_the_recording_and_says_what_was_not_written() {
    let place = Place::new(&[6 << 20]);
    let (recorder, mut writers) = place.record(&["main"]);
    let mut main = writers.pop().unwrap();
    let content = Content::new(seed_of("main"));
    while let Some(mut filling) = main.lend() {
        let count = filling.room_bytes();
        content.fill(main.offered_bytes(), filling.spare_mut());
        filling.take(count, &[], main.now_ns());
        main.commit(filling);
    }
    let offered = main.offered_bytes();
    drop(main);
    let recorded = recorder.finish().unwrap();
    assert_eq!(recorded.ended, Ending::Full);
    let stream = &recorded.standing.streams[0];
    assert_eq!(stream.offered_bytes, offered);
    assert_eq!(stream.recorded_bytes + stream.gap_bytes, offered);
    assert!(stream.recorded_bytes > 3 << 20);
    let gap = (stream.recorded_bytes, stream.gap_bytes);
    assert_parts("main", &place.read("main"), offered, &[gap]);
}

#[test]
fn recordings_follow_each_other() {
    let place = Place::new(&[20 << 20, 20 << 20]);
    for (number, bytes) in [(1, 2_000_000), (2, 3_000_000)] {
        let (recorder, mut writers) = place.record(&["main"]);
        fill(&mut writers[0], bytes);
        drop(writers);
        assert_eq!(recorder.finish().unwrap().recording, number);
        assert_parts("main", &place.read("main"), bytes, &[]);
    }
    let numbers: Vec<u32> = place
        .open(Mode::Read)
        .recordings()
        .unwrap()
        .iter()
        .map(|recording| recording.number)
        .collect();
    assert_eq!(numbers, [2, 1]);
}

#[test]
fn names_for_which_a_start_has_no_room_are_refused_before_anything_is_written() {
    let place = Place::new(&[6 << 20]);
    let before = std::fs::read(&place.members[0]).unwrap();
    let names = (0..64).map(|number| format!("{number:01200}"));
    let streams = names.map(|name| StreamSetup::plain(&name));
    let options = RecordOptions {
        append_size: AppendSize::Exactly(16 << 10),
        ..RecordOptions::default()
    };
    let refused = Recorder::start(place.open(Mode::Record), streams, options);
    let Err(RecordError::Usage(why)) = refused else {
        panic!("there is no room for such names");
    };
    assert!(why.contains("shorter names"), "{why}");
    assert!(std::fs::read(&place.members[0]).unwrap() == before);
}

/// What became of a wish for a pin, once it is known.
fn pinned(board: &RecordingBoard, wish: PinWish) -> PinOutcome {
    let number = board.pins().wish(wish);
    let mut outcome = None;
    for _ in 0..12_000 {
        outcome = board.pins().take_outcome(number);
        if outcome.is_some() {
            break;
        }
        // Whatever is shown next, it is a while later.
        board.wait_for(|_| false, Duration::from_millis(10));
    }
    outcome.expect("it is answered")
}

fn ring(place: &Place) -> (Recorder, StreamWriter) {
    let options = RecordOptions {
        buffer_bytes: 16 << 20,
        append_size: AppendSize::Exactly(256 << 10),
        ring: true,
        ..RecordOptions::default()
    };
    let store = place.open(Mode::Record);
    let mut recorder = Recorder::start(store, ["main"], options).unwrap();
    let writer = recorder.writer("main").unwrap();
    (recorder, writer)
}

#[test]
fn what_a_pin_keeps_comes_back_when_the_ring_and_the_next_ring_have_gone_round() {
    let place = Place::new(&[24 << 20, 20 << 20]);
    let (recorder, mut writer) = ring(&place);
    let board = recorder.board();
    let from_ns = writer.now_ns();
    fill(&mut writer, 3_000_000);
    let settled = |bytes| {
        let is_settled = board.wait_for(
            |now| now.streams[0].settled_bytes >= bytes,
            Duration::from_secs(120),
        );
        assert!(is_settled.streams[0].settled_bytes >= bytes);
    };
    settled(3_000_000);
    let to_ns = writer.now_ns();
    let wish = PinWish::Pin { from_ns, to_ns };
    let kept = pinned(&board, wish).unwrap().unwrap();
    assert_eq!((kept.number, kept.to_ns), (1, to_ns));
    assert!(kept.from_ns <= to_ns);
    // The end of the pin is told when later appends are durable. A ring that comes round before
    // that is full.
    for megabytes in 4..7 {
        fill(&mut writer, 1_000_000);
        settled(megabytes * 1_000_000);
    }
    for _ in 0..11 {
        fill(&mut writer, 6_000_000);
    }
    drop(writer);
    let recorded = recorder.finish().unwrap();
    assert_eq!(recorded.ended, Ending::Source, "{:?}", recorded.standing);
    let check = |is_at_rest: bool| {
        let mut store = place.open(Mode::Read);
        let pins = store.pins();
        assert_eq!((pins.len(), pins[0].number, pins[0].is_open), (1, 1, false));
        let found = store.pinned(1).unwrap();
        let scope = Scope::of(&found[0], &store.members, store.machines(), store.clock());
        let reader = StreamReader::open(&scope, 0, &Range::All).unwrap();
        let mut parts: Vec<StreamPart> = reader.map(Result::unwrap).collect();
        // The recording goes on behind what is kept.
        parts.pop_if(|last| matches!(last, StreamPart::OpenEnd { .. }));
        let end = parts.last().map_or(0, StreamPart::end_bytes);
        assert!(end >= 3_000_000, "{end}");
        assert_parts("main", &parts, end, &[]);
        let found = store.recordings().unwrap();
        let checked = verify(Checkable::of(&store, &found), &mut |_| {}, &Stop::default());
        let checked = checked.unwrap();
        assert!(checked.ok || !is_at_rest, "{:?}", checked.bad);
    };
    check(true);
    let (recorder, mut writer) = ring(&place);
    for _ in 0..11 {
        fill(&mut writer, 6_000_000);
    }
    check(false);
    let outcome = pinned(&recorder.board(), PinWish::Unpin { number: 1 });
    assert_eq!(outcome, Ok(None));
    drop(writer);
    recorder.finish().unwrap();
    let mut store = place.open(Mode::Read);
    assert_eq!(store.pins(), []);
    let why = store.pinned(1).unwrap_err().to_string();
    assert!(why.contains("no pin 1"), "{why}");
}

/// A ring that comes round before the end of a pin is told is full.
fn fill_until_ends_are_told(writer: &mut StreamWriter, board: &RecordingBoard) {
    for _ in 0..4 {
        fill(writer, 1_000_000);
        let end_bytes = writer.offered_bytes();
        let is_settled = |now: &RecordingProgress| now.streams[0].settled_bytes >= end_bytes;
        board.wait_for(is_settled, Duration::from_secs(120));
    }
}

/// How much of these bytes a pin keeps.
fn pinned_bytes(store: &mut Store, number: u32, owed: &std::ops::Range<u64>) -> u64 {
    let found = store.pinned(number).unwrap();
    let scope = Scope::of(&found[0], &store.members, store.machines(), store.clock());
    let reader = StreamReader::open(&scope, 0, &Range::All).unwrap();
    let content = Content::new(seed_of("main"));
    let mut whole_bytes = 0;
    for part in reader.map(Result::unwrap) {
        let StreamPart::Data { bytes, .. } = &part else {
            continue;
        };
        assert_eq!(content.check(part.offset_bytes(), bytes), None);
        let (from, to) = (part.offset_bytes(), part.end_bytes());
        whole_bytes += to.min(owed.end).saturating_sub(from.max(owed.start));
    }
    whole_bytes
}

/// Pins that were freed count until the ring has come round; and while the disk is slow, a pin may
/// be more than there is room for beside what is not durable yet.
fn has_too_many_or_too_large(refusal: &str) -> bool {
    refusal.contains("at most 16 pins") || refusal.contains("Pin less, or free a pin")
}

/// Pins that overlap, at most five at a time, in a ring that goes round many times.
///
/// Where the disk is slow they span more slots, and those that are set may hold all that were freed:
/// then one more is freed, as the refusal says.
#[test]
fn what_pins_keep_one_after_the_other_is_the_source_byte_for_byte() {
    const PINS: usize = 20;
    /// In that many rounds the ring comes round.
    const LAP_ROUNDS: usize = 60;
    let place = Place::new(&[40 << 20, 36 << 20]);
    let (recorder, mut writer) = ring(&place);
    let board = recorder.board();
    // A pin keeps nothing from before the first slot.
    fill(&mut writer, 1_000_000);
    let has_begun = |now: &RecordingProgress| now.streams[0].settled_bytes >= 1_000_000;
    board.wait_for(has_begun, Duration::from_secs(120));
    let mut set: VecDeque<(u32, std::ops::Range<u64>)> = VecDeque::new();
    let mut before = (writer.now_ns(), writer.offered_bytes());
    let (mut count, mut freed, mut refused) = (0, 0, 0);
    for round in 0..1000 {
        if count == PINS {
            break;
        }
        let begin = (writer.now_ns(), writer.offered_bytes());
        fill(&mut writer, 1_500_000);
        let end_bytes = writer.offered_bytes();
        if round % 4 == 0 {
            let is_settled = |now: &RecordingProgress| now.streams[0].settled_bytes >= end_bytes;
            board.wait_for(is_settled, Duration::from_secs(120));
        }
        // Each second pin begins where the one before it does.
        let from = if count % 2 == 0 { begin } else { before };
        before = begin;
        let (from_ns, to_ns) = (from.0, writer.now_ns());
        match pinned(&board, PinWish::Pin { from_ns, to_ns }) {
            Ok(kept) => {
                let kept = kept.unwrap();
                count += 1;
                refused = 0;
                // Of what is gone in part, the later part is there.
                let is_whole = kept.from_ns <= from_ns;
                let from_bytes = if is_whole { from.1 } else { begin.1 };
                assert!(kept.from_ns <= begin.0, "{kept:?}");
                set.push_back((kept.number, from_bytes..end_bytes));
            }
            Err(why) => {
                assert!(has_too_many_or_too_large(&why), "{why}");
                refused += 1;
            }
        }
        let is_stuck = refused > 0 && refused % LAP_ROUNDS == 0 && set.len() > 1;
        if (set.len() > 5 || is_stuck)
            && let Some((number, _)) = set.pop_front()
        {
            assert_eq!(pinned(&board, PinWish::Unpin { number }), Ok(None));
            freed += 1;
        }
    }
    assert_eq!((count, freed), (PINS, PINS - set.len()));
    fill_until_ends_are_told(&mut writer, &board);
    fill(&mut writer, 80_000_000);
    drop(writer);
    let recorded = recorder.finish().unwrap();
    assert_eq!(recorded.ended, Ending::Source, "{:?}", recorded.standing);
    assert_eq!(recorded.standing.streams[0].gap_bytes, 0);
    assert!((1..=5).contains(&set.len()));
    let mut store = place.open(Mode::Read);
    for (number, owed) in set {
        let whole_bytes = pinned_bytes(&mut store, number, &owed);
        assert_eq!(whole_bytes, owed.end - owed.start, "pin {number}: {owed:?}");
    }
    let found = store.recordings().unwrap();
    let checked = verify(Checkable::of(&store, &found), &mut |_| {}, &Stop::default());
    assert!(checked.unwrap().ok);
}

/// Writes the copies on a member as if these had been written, a bit for each in the order of A, C,
/// B, D; of the last of them only one half if it is torn.
fn leave_by_a_crash(
    member: &str,
    (before, after): (&[u8], &[u8]),
    offsets: [u64; 4],
    written: u32,
    is_torn: bool,
) {
    const BLOCK: usize = 4096;
    let file = std::fs::File::options().write(true).open(member).unwrap();
    for (bit, copy) in [0, 2, 1, 3].into_iter().enumerate() {
        let at = offsets[copy] as usize;
        let is_last = written >> (bit + 1) == 0;
        let count = match (written & (1 << bit) > 0, is_last && is_torn) {
            (false, _) => 0,
            (true, true) => BLOCK / 2,
            (true, false) => BLOCK,
        };
        let block = [&after[at..at + count], &before[at + count..at + BLOCK]].concat();
        file.write_all_at(&block, offsets[copy]).unwrap();
    }
}

/// Of the four copies of a superblock, two are written at a time, on all members.
#[test]
fn whatever_a_crash_leaves_of_freeing_a_pin_it_is_freed_or_as_it_was() {
    let place = Place::new(&[12 << 20, 11 << 20]);
    let (recorder, mut writer) = ring(&place);
    let board = recorder.board();
    let from_ns = writer.now_ns();
    fill(&mut writer, 3_000_000);
    let to_ns = from_ns + 3_600_000_000_000;
    for _ in 0..2 {
        pinned(&board, PinWish::Pin { from_ns, to_ns }).unwrap();
    }
    fill(&mut writer, 1_000_000);
    drop(writer);
    recorder.finish().unwrap();
    let read = || {
        place
            .members
            .iter()
            .map(|name| std::fs::read(name).unwrap())
    };
    let before: Vec<Vec<u8>> = read().collect();
    let mut store = place.open(Mode::Record);
    let all: Vec<u32> = store.pins().iter().map(|pin| pin.number).collect();
    assert_eq!(all, [1, 2]);
    assert_eq!(store.unpin(2).unwrap(), 0, "the other one keeps the same");
    let why = store.unpin(2).unwrap_err().to_string();
    assert!(why.contains("no pin 2: its pins are 1"), "{why}");
    drop(store);
    let after: Vec<Vec<u8>> = read().collect();
    let copies: Vec<[u64; 4]> = place
        .open(Mode::Read)
        .members
        .iter()
        .map(|member| member.superblock.geometry.superblock_offsets())
        .collect();
    for (name, bytes) in place.members.iter().zip(&before) {
        std::fs::write(name, bytes).unwrap();
    }
    // What comes second is only written when the first two copies are durable on all members.
    let mut states = std::collections::BTreeSet::new();
    for written in 0_u32..256 {
        let of = |member: u32| written >> (4 * member) & 0b1111;
        let has_begun_second = (0..2).any(|member| of(member) & 0b1100 > 0);
        if has_begun_second && (0..2).any(|member| of(member) & 0b0011 != 0b0011) {
            continue;
        }
        for is_torn in [false, true] {
            for (member, name) in (0..).zip(&place.members) {
                let index = member as usize;
                let images = (&before[index][..], &after[index][..]);
                leave_by_a_crash(name, images, copies[index], of(member), is_torn);
            }
            let mut store = place.open(Mode::Read);
            let pins: Vec<u32> = store.pins().iter().map(|pin| pin.number).collect();
            assert!(pins == [1] || pins == [1, 2], "{written:b}: {pins:?}");
            for pin in &pins {
                assert_eq!(store.pinned(*pin).unwrap().len(), 1);
            }
            let recordings = store.recordings().unwrap();
            assert_eq!((recordings.len(), recordings[0].open_end), (1, false));
            // Who records next takes it as it is read.
            let store = place.open(Mode::Record);
            assert_eq!(
                store
                    .pins()
                    .iter()
                    .map(|pin| pin.number)
                    .collect::<Vec<_>>(),
                pins
            );
            states.insert(pins);
        }
    }
    assert_eq!(states.len(), 2, "both were met");
}

#[test]
fn a_ring_of_two_slots_takes_appends_of_half_a_slot() {
    // The size is enough for superblocks and two slots of 1 MiB.
    let place = Place::new(&[3_407_872]);
    let options = RecordOptions {
        buffer_bytes: 16 << 20,
        ring: true,
        ..RecordOptions::default()
    };
    let mut recorder = Recorder::start(place.open(Mode::Record), ["main"], options).unwrap();
    let mut main = recorder.writer("main").unwrap();
    fill(&mut main, 9_000_000);
    drop(main);
    let recorded = recorder.finish().unwrap();
    assert_eq!(recorded.ended, Ending::Source);
    assert_eq!(recorded.standing.streams[0].recorded_bytes, 9_000_000);
    let content = Content::new(seed_of("main"));
    let mut whole_bytes = 0;
    for part in place.read("main") {
        if let StreamPart::Data { bytes, .. } = &part {
            assert_eq!(content.check(part.offset_bytes(), bytes), None);
            whole_bytes += bytes.len();
        }
    }
    assert!(whole_bytes > 500_000, "{whole_bytes} bytes are left");
}

#[test]
fn a_check_names_a_start_that_is_damaged_alone_in_its_slot_and_a_seal_of_it() {
    let place = Place::new(&[20 << 20]);
    // An append is as large as a slot, so nothing fits behind the start.
    let options = RecordOptions::default();
    let mut recorder = Recorder::start(place.open(Mode::Record), ["main"], options).unwrap();
    let mut main = recorder.writer("main").unwrap();
    fill(&mut main, 5_000_000);
    drop(main);
    recorder.finish().unwrap();
    let check = || {
        let mut store = place.open(Mode::Read);
        let recordings = store.recordings().unwrap();
        let checkable = Checkable {
            members: &store.members,
            recordings: &recordings,
            pins: &[],
            machines: store.machines(),
            clock: store.clock(),
        };
        verify(checkable, &mut |_| {}, &Stop::default())
            .unwrap()
            .bad
    };
    assert_eq!(check(), []);
    const START: u64 = 1 << 20;
    for (at, what) in [(START + 40, "start"), (START + 8191, "seal")] {
        let flip = || {
            let mut options = std::fs::File::options();
            let file = options.read(true).write(true).open(&place.members[0]);
            let file = file.unwrap();
            let mut byte = [0];
            file.read_exact_at(&mut byte, at).unwrap();
            file.write_all_at(&[byte[0] ^ 1], at).unwrap();
        };
        flip();
        let bad = check();
        assert_eq!(bad.len(), 1, "{bad:?}");
        assert!(bad[0].why.contains(what), "{bad:?}");
        flip();
    }
}

#[test]
fn a_check_names_a_damaged_end_mark_that_another_member_has_whole() {
    let place = Place::new(&[20 << 20, 20 << 20]);
    let (recorder, mut writers) = place.record(&["main"]);
    fill(&mut writers[0], 300_000);
    drop(writers);
    recorder.finish().unwrap();
    for member in &place.members {
        let image = std::fs::read(member).unwrap();
        let is_end = |block: &[u8]| {
            Descriptor::decode(block).is_ok_and(|(found, _)| found.kind == Kind::End)
        };
        let end = image.chunks_exact(4096).position(is_end).unwrap() as u64 * 4096;
        let file = std::fs::File::options().write(true).open(member).unwrap();
        // The bits are in its descriptor, and in its note.
        for at in [end, end + 60, end + 4096] {
            let byte = image[usize::try_from(at).unwrap()];
            file.write_all_at(&[byte ^ 4], at).unwrap();
            let mut store = place.open(Mode::Read);
            let recordings = store.recordings().unwrap();
            assert!(!recordings[0].open_end);
            let checkable = Checkable::of(&store, &recordings);
            let result = verify(checkable, &mut |_| {}, &Stop::default()).unwrap();
            let [bad] = result.bad.as_slice() else {
                panic!("{:?}", result.bad);
            };
            assert_eq!(
                (bad.member.as_ref(), bad.offset_bytes),
                (Some(member), Some(end))
            );
            assert!(bad.why.contains("end"), "{bad:?}");
            file.write_all_at(&[byte], at).unwrap();
        }
    }
}

#[test]
fn a_second_recorder_is_refused() {
    let place = Place::new(&[20 << 20]);
    let (recorder, writers) = place.record(&["main"]);
    let second = Store::open(&place.members, Mode::Record, &Roots::default());
    let why = second.map(|_| ()).unwrap_err().to_string();
    assert!(why.contains("another"), "{why}");
    drop(writers);
    recorder.finish().unwrap();
}

/// Reads all of a source that has no frames, and waits for the members.
fn unbounded(stop: Stop) -> IntakeSetup {
    IntakeSetup {
        framing: Framing::None,
        align_frames: false,
        on_full: OnFull::Block,
        linger_ns: 500_000_000,
        bytes_max: None,
        deadline: None,
        last_wait_ns: 30_000_000_000,
        stop,
        pause: PauseSwitch::default(),
        split: SplitSwitch::default(),
    }
}

/// Records from this end of a pipe after the user has asked for the end. Returns what was offered.
fn interrupted(source: &std::os::fd::OwnedFd) -> (Place, u64) {
    let place = Place::new(&[20 << 20]);
    let (recorder, mut writers) = place.record(&["main"]);
    let stop = Stop::default();
    stop.interrupt();
    let setup = unbounded(stop);
    let taken = Intake::new(writers.remove(0), setup).read_all(source);
    assert_eq!(taken.ending, Ending::Interrupted);
    recorder.finish().unwrap();
    (place, taken.offered_bytes)
}

#[test]
fn what_lies_in_a_pipe_when_the_user_ends_it_is_recorded() {
    let (source, sink) = rustix::pipe::pipe().unwrap();
    let mut bytes = vec![0; 40_000];
    Content::new(seed_of("main")).fill(0, &mut bytes);
    assert_eq!(rustix::io::write(&sink, &bytes), Ok(bytes.len()));
    // The writer is still there, and the pipe is not at its end.
    let (place, offered) = interrupted(&source);
    assert_eq!(offered, 40_000);
    assert_parts("main", &place.read("main"), 40_000, &[]);
    drop(sink);
}

#[test]
fn no_packet_of_a_pipe_in_packet_mode_is_cut_off() {
    let flags = rustix::pipe::PipeFlags::DIRECT;
    let (source, sink) = rustix::pipe::pipe_with(flags).unwrap();
    let writing = std::thread::spawn(move || {
        let content = Content::new(seed_of("main"));
        let (mut position, mut packet) = (0, vec![0; 4096]);
        for round in 0..400 {
            let length = 1 + round * 1237 % 4096;
            content.fill(position, &mut packet[..length]);
            let written = rustix::io::write(&sink, &packet[..length]);
            assert_eq!(written, Ok(length));
            position += length as u64;
        }
        position
    });
    let place = Place::new(&[20 << 20]);
    let (recorder, mut writers) = place.record(&["main"]);
    let setup = unbounded(Stop::default());
    let taken = Intake::new(writers.remove(0), setup).read_all(&source);
    recorder.finish().unwrap();
    let written = writing.join().unwrap();
    assert_eq!(taken.offered_bytes, written);
    assert_parts("main", &place.read("main"), written, &[]);
}

#[test]
fn a_source_that_never_stops_is_left_at_the_end_of_what_its_pipe_held() {
    let (source, sink) = rustix::pipe::pipe().unwrap();
    let capacity = rustix::pipe::fcntl_getpipe_size(&source).unwrap() as u64;
    // It writes until its reader has gone.
    let writing = std::thread::spawn(move || {
        let piece = vec![7; 10_000];
        while rustix::io::write(&sink, &piece).is_ok() {}
    });
    let (_, offered) = interrupted(&source);
    assert!(offered <= capacity, "{offered} of {capacity}");
    drop(source);
    writing.join().unwrap();
}
