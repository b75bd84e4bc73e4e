use sustain_document::control::UserMark;
use sustain_document::create::{CreateDocument, NewMember};
use sustain_document::list::{MemberPresence, PinFindings};
use sustain_document::record::RecordingEnd;
use sustain_document::recover::{RecoverDocument, RecoveredRecording, RecoveredStream};
use sustain_document::verify::{
    BadRange, CheckedPin, CheckedRecording, CheckedStream, VerifyDocument,
};

use super::verify::{BAD_SHOWN, bad_line};

use super::*;

const STORE: &str = "38d8211a-e767-47c1-963f-687882f17863";

fn member(index: u64, is_present: bool) -> ListedMember {
    ListedMember {
        name: is_present.then(|| format!("/dev/sd{index}1")),
        index,
        member: STORE.to_owned(),
        state: if is_present {
            MemberPresence::Present
        } else {
            MemberPresence::Missing
        },
        bytes: is_present.then_some(10 << 30),
        slots: is_present.then_some(1278),
    }
}

fn stream(name: &str, framing: &str, gap_bytes: u64, hole_bytes: u64) -> ListedStream {
    ListedStream {
        name: name.to_owned(),
        framing: Some(framing.to_owned()),
        bytes: 66_800_000_000,
        recorded_bytes: 66_800_000_000 - gap_bytes,
        frames: if framing == "none" { 0 } else { 446_123 },
        gap_bytes,
        crash_bytes: 0,
        given_up_bytes: 0,
        hole_bytes,
        readable_from_byte: 0,
        readable_from_frame: 0,
        first_time: Some("2026-11-21T15:56:57.770334992Z".to_owned()),
        last_time: Some("2026-11-21T16:56:57.775918009Z".to_owned()),
    }
}

fn recording(
    number: u32,
    ended: Option<RecordingEnd>,
    streams: Vec<ListedStream>,
) -> ListedRecording {
    ListedRecording {
        recording: number,
        id: STORE.to_owned(),
        started: Some("2026-11-21T15:56:57.579768865Z".to_owned()),
        ended,
        running: None,
        ring: false,
        parity: Some(0),
        streams,
        marks: Vec::new(),
        marks_made: 0,
        marks_overwritten: 0,
        marks_not_kept: 0,
        marks_not_found: 0,
        places: Vec::new(),
    }
}

fn list() -> ListDocument {
    ListDocument {
        schema: "sustain.list/1".to_owned(),
        store: STORE.to_owned(),
        slot_bytes: 8 << 20,
        members: vec![member(0, true), member(1, false)],
        recordings: vec![
            recording(
                1,
                Some(RecordingEnd::Source),
                vec![stream("camera", "jpeg", 0, 0)],
            ),
            recording(
                2,
                None,
                vec![
                    stream("left", "none", 5_000_000, 0),
                    stream("right\u{1b}[2J", "none", 0, 1 << 30),
                ],
            ),
        ],
        pins: Vec::new(),
        notes: Vec::new(),
    }
}

fn widest(text: &str) -> usize {
    text.lines()
        .map(|line| line.chars().count())
        .max()
        .unwrap_or(0)
}

#[test]
fn a_list_fits_its_width_and_has_every_figure() {
    for width in [40, 60, 80, 100, 120, 200] {
        let text = list_text(&list(), width);
        assert!(widest(&text) <= width.max(50), "{width}:\n{text}");
        for words in [
            "camera", "446123", "66.8 GB", "5.00 MB", "1.07 GB", "open end", "15:56:57",
        ] {
            assert!(text.contains(words), "no {words} in {width}:\n{text}");
        }
        assert!(text.contains("right\u{fffd}[2J"), "{text}");
    }
    let full = list_text(&list(), 120);
    let first = full.lines().find(|line| line.contains("camera")).unwrap();
    let columns: Vec<&str> = first.split_whitespace().collect();
    assert_eq!(
        columns,
        [
            "1",
            "2026-11-21",
            "15:56:57",
            "2026-11-21",
            "16:56:57",
            "source",
            "camera",
            "66.8",
            "GB",
            "446123",
            "-",
            "-"
        ]
    );
}

#[test]
fn frames_of_a_source_without_framing_are_listed() {
    let mut list = list();
    list.recordings[1].streams[0].frames = 7998;
    for width in [40, 120] {
        assert!(list_text(&list, width).contains("7998"));
    }
}

#[test]
fn a_list_explains_what_it_shows() {
    insta::assert_snapshot!(list_text(&list(), 120), @"
    store 38d8211a-e767-47c1-963f-687882f17863: 2 members, 1 of them missing
     recording  started (UTC)        last byte            ended     stream       bytes  frames     lost  missing
             1  2026-11-21 15:56:57  2026-11-21 16:56:57  source    camera     66.8 GB  446123        -        -
             2  2026-11-21 15:56:57  2026-11-21 16:56:57  open end  left       66.8 GB          5.00 MB        -
                                     2026-11-21 16:56:57            right�[2J  66.8 GB                -  1.07 GB
    open end: the recording was ended by a crash or a kill, or is still running; what is there can be read, and `sustain
      recover` notes where it ends
    a missing member may have the end, or more, of such a recording
    lost: bytes that did not reach a member; the store records how many and where
    some of what is lost may be on a member that the recorder gave up: that is not known as long as members are missing
    missing: bytes that were recorded on members, or parts of members, that are not here
    ");
}

#[test]
fn a_list_says_what_a_member_that_was_given_up_may_have() {
    let mut returned = list();
    returned.recordings[1].streams[0].given_up_bytes = 4_000_000;
    insta::assert_snapshot!(list_text(&returned, 40), @"
    store
      38d8211a-e767-47c1-963f-687882f17863:
      2 members, 1 of them missing
    recording 1
      started    2026-11-21 15:56:57
      ended      source
      stream     camera
        bytes    66.8 GB
        frames   446123
    recording 2
      started    2026-11-21 15:56:57
      ended      open end
      stream     left
        bytes    66.8 GB
        lost     up to 5.00 MB
      stream     right�[2J
        bytes    66.8 GB
        missing  1.07 GB
    open end: the recording was ended by a
      crash or a kill, or is still running;
      what is there can be read, and
      `sustain recover` notes where it ends
    a missing member may have the end, or
      more, of such a recording
    lost: bytes that did not reach a member;
      the store records how many and where
    lost up to: 4.00 MB of these may still
      exist on a member that was given up,
      or are copies of what lay on a slow
      member. `sustain verify` reads them
      and tells, and `sustain extract`
      returns what is whole
    some of what is lost may be on a member
      that the recorder gave up: that is not
      known as long as members are missing
    missing: bytes that were recorded on
      members, or parts of members, that are
      not here
    ");
    insta::assert_snapshot!(list_text(&returned, 120), @"
    store 38d8211a-e767-47c1-963f-687882f17863: 2 members, 1 of them missing
     recording  started (UTC)        last byte            ended     stream       bytes  frames           lost  missing
             1  2026-11-21 15:56:57  2026-11-21 16:56:57  source    camera     66.8 GB  446123              -        -
             2  2026-11-21 15:56:57  2026-11-21 16:56:57  open end  left       66.8 GB          up to 5.00 MB        -
                                     2026-11-21 16:56:57            right�[2J  66.8 GB                      -  1.07 GB
    open end: the recording was ended by a crash or a kill, or is still running; what is there can be read, and `sustain
      recover` notes where it ends
    a missing member may have the end, or more, of such a recording
    lost: bytes that did not reach a member; the store records how many and where
    lost up to: 4.00 MB of these may still exist on a member that was given up, or are copies of what lay on a slow member.
      `sustain verify` reads them and tells, and `sustain extract` returns what is whole
    some of what is lost may be on a member that the recorder gave up: that is not known as long as members are missing
    missing: bytes that were recorded on members, or parts of members, that are not here
    ");
}

#[test]
fn a_list_of_whole_recordings_explains_nothing_but_their_ends() {
    let mut whole = list();
    whole.recordings.truncate(1);
    insta::assert_snapshot!(list_text(&whole, 120), @"
    store 38d8211a-e767-47c1-963f-687882f17863: 2 members, 1 of them missing
     recording  started (UTC)        last byte            ended   stream    bytes  frames  lost
             1  2026-11-21 15:56:57  2026-11-21 16:56:57  source  camera  66.8 GB  446123     -
    ");
    let mut open = whole.clone();
    open.recordings[0].ended = None;
    insta::assert_snapshot!(list_text(&open, 120), @"
    store 38d8211a-e767-47c1-963f-687882f17863: 2 members, 1 of them missing
     recording  started (UTC)        last byte            ended     stream    bytes  frames  lost
             1  2026-11-21 15:56:57  2026-11-21 16:56:57  open end  camera  66.8 GB  446123     -
    open end: the recording was ended by a crash or a kill, or is still running; what is there can be read, and `sustain
      recover` notes where it ends
    a missing member may have the end, or more, of such a recording
    ");
    let mut newer = whole.recordings[0].clone();
    newer.recording += 1;
    open.recordings.push(newer);
    insta::assert_snapshot!(list_text(&open, 120), @"
    store 38d8211a-e767-47c1-963f-687882f17863: 2 members, 1 of them missing
     recording  started (UTC)        last byte            ended     stream    bytes  frames  lost
             1  2026-11-21 15:56:57  2026-11-21 16:56:57  open end  camera  66.8 GB  446123     -
             2  2026-11-21 15:56:57  2026-11-21 16:56:57  source    camera  66.8 GB  446123     -
    open end: the recording was ended by a crash or a kill; what is there can be read, and `sustain recover` notes where it
      ends
    a missing member may have the end, or more, of such a recording
    ");
    whole.recordings[0].streams[0].readable_from_byte = 77;
    insta::assert_snapshot!(list_text(&whole, 120), @"
    store 38d8211a-e767-47c1-963f-687882f17863: 2 members, 1 of them missing
     recording  started (UTC)        last byte            ended   stream    bytes  frames  lost
             1  2026-11-21 15:56:57  2026-11-21 16:56:57  source  camera  66.8 GB  446123     -
    recording 1, stream camera: readable from byte 77 on; earlier bytes are overwritten, all or in part
    ");
    whole.recordings.clear();
    assert!(list_text(&whole, 120).ends_with("the store has no recordings\n"));
}

fn bad(number: u64) -> BadRange {
    BadRange {
        member: Some("/dev/sdb".to_owned()),
        offset_bytes: Some(4096 * number),
        pin: None,
        recording: Some(3),
        stream: Some("camera".to_owned()),
        from_byte: Some(100 * number),
        to_byte: Some(100 * number + 50),
        why: "the checksum is wrong".to_owned(),
    }
}

/// A check of a stream of which 1 MB is damaged where something is bad.
fn verified(bad: Vec<BadRange>) -> VerifyDocument {
    let hole_bytes = if bad.is_empty() { 0 } else { 1_000_000 };
    VerifyDocument {
        schema: "sustain.verify/1".to_owned(),
        store: STORE.to_owned(),
        ok: bad.is_empty(),
        complete: true,
        checked_bytes: 24_200_000,
        bad,
        bad_unlisted: 0,
        not_durable: Vec::new(),
        not_durable_unlisted: 0,
        recordings: vec![CheckedRecording {
            recording: 3,
            open_end: true,
            protection: None,
            streams: vec![CheckedStream {
                marks: false,
                name: "camera".to_owned(),
                bytes: 20_000_000,
                whole_bytes: 18_000_000 - hole_bytes,
                below_readable_bytes: 0,
                readable_from_byte: 0,
                gap_bytes: 2_000_000,
                hole_bytes,
                overwritten_bytes: 0,
                not_durable_bytes: 0,
                settled_bytes: 18_000_000,
            }],
        }],
        pins: Vec::new(),
        members: vec![member(0, true)],
        notes: Vec::new(),
    }
}

#[test]
fn a_recording_without_marks_has_no_line_for_them() {
    let mut document = verified(Vec::new());
    let marks = CheckedStream {
        name: "marks".to_owned(),
        marks: true,
        bytes: 0,
        ..document.recordings[0].streams[0].clone()
    };
    document.recordings[0].streams.push(marks);
    let text = verify_text(&document, 120);
    assert!(!text.contains("stream marks"), "{text}");
    document.recordings[0].streams[1].bytes = 10;
    let text = verify_text(&document, 120);
    assert!(text.contains("stream marks: 10 B = "), "{text}");
    // A source may have this name, too.
    let stream = &mut document.recordings[0].streams[1];
    (stream.marks, stream.bytes) = (false, 0);
    let text = verify_text(&document, 120);
    assert!(text.contains("stream marks: 0 B = "), "{text}");
}

#[test]
fn what_a_pin_keeps_is_whole_or_not() {
    let mut document = verified(Vec::new());
    document.pins = vec![CheckedPin {
        pin: 2,
        from_time: "2026-03-01T10:00:00Z".to_owned(),
        to_time: "2026-03-01T10:05:00Z".to_owned(),
        open: false,
        kept_bytes: 1_200_000_000,
        whole: true,
        recordings: Vec::new(),
        found: PinFindings {
            absent: true,
            ..PinFindings::default()
        },
    }];
    let line = "\npin 2 from 2026-03-01T10:00:00Z to 2026-03-01T10:05:00Z: keeps 1.20 GB, whole\n";
    let text = verify_text(&document, 120);
    assert!(text.contains(line), "{text}");
    document.bad = vec![BadRange {
        pin: Some(2),
        ..bad(7)
    }];
    (document.ok, document.pins[0].whole) = (false, false);
    let text = verify_text(&document, 120);
    assert!(text.contains(": keeps 1.20 GB, not whole\n"), "{text}");
    assert!(text.contains("bad: pin 2, recording 3, "), "{text}");
}

#[test]
fn a_flaw_is_told_with_its_place() {
    assert_eq!(
        bad_line(&bad(7)),
        "bad: recording 3, stream camera, bytes 700 to 750, member /dev/sdb at byte 28672: the \
         checksum is wrong"
    );
    let nothing_lost = BadRange {
        to_byte: Some(700),
        ..bad(7)
    };
    insta::assert_snapshot!(bad_line(&nothing_lost), @"bad: recording 3, stream camera, at byte 700, member /dev/sdb at byte 28672: the checksum is wrong");
    let missing = BadRange {
        member: None,
        offset_bytes: None,
        ..bad(7)
    };
    assert_eq!(
        bad_line(&missing),
        "bad: recording 3, stream camera, bytes 700 to 750: the checksum is wrong"
    );
    let superblock = BadRange {
        recording: None,
        stream: None,
        from_byte: None,
        to_byte: None,
        ..bad(7)
    };
    assert_eq!(
        bad_line(&superblock),
        "bad: member /dev/sdb at byte 28672: the checksum is wrong"
    );
    let nowhere = BadRange {
        member: None,
        offset_bytes: None,
        ..superblock
    };
    assert_eq!(bad_line(&nowhere), "bad: the checksum is wrong");
}

#[test]
fn a_check_shows_some_flaws_and_counts_the_others() {
    let mut document = verified((0..50).map(bad).collect());
    document.bad_unlisted = 5;
    let text = verify_text(&document, 200);
    assert_eq!(text.matches("the checksum is wrong").count(), BAD_SHOWN);
    insta::assert_snapshot!(text.lines().skip(BAD_SHOWN).collect::<Vec<_>>().join("\n"), @"
    bad: recording 3, stream camera, bytes 1900 to 1950, member /dev/sdb at byte 77824: the checksum is wrong
    bad: 35 more, which --json lists
    recording 3, stream camera: 20.0 MB = 17.0 MB whole + 2.00 MB lost before they reached a member + 1.00 MB damaged or missing; open end
    not ok: 55 places are bad: 1.00 MB of data are damaged or missing; 24.2 MB were checked (the data and the store's own blocks). `sustain extract --recording 3 --holes fill` returns the rest of
      recording 3, with zeros in the place of what is bad
    ");
    assert!(widest(&verify_text(&document, 80)) <= 80);
}

#[test]
fn a_check_accounts_for_each_stream_and_ends_with_a_verdict() {
    let mut document = verified(Vec::new());
    insta::assert_snapshot!(verify_text(&document, 120), @"
    store 38d8211a-e767-47c1-963f-687882f17863: 1 member
    recording 3, stream camera: 20.0 MB = 18.0 MB whole + 2.00 MB lost before they reached a member; open end
    ok: every byte is accounted for; 24.2 MB were checked (the data and the store's own blocks)
    ");
    document.complete = false;
    insta::assert_snapshot!(verify_text(&document, 120), @"
    store 38d8211a-e767-47c1-963f-687882f17863: 1 member
    recording 3, stream camera: 20.0 MB = 18.0 MB whole + 2.00 MB lost before they reached a member; open end
    interrupted: 24.2 MB were checked so far, and nothing bad was found
    ");
    document = VerifyDocument {
        complete: false,
        ..verified(vec![bad(1)])
    };
    insta::assert_snapshot!(verify_text(&document, 120), @"
    store 38d8211a-e767-47c1-963f-687882f17863: 1 member
    bad: recording 3, stream camera, bytes 100 to 150, member /dev/sdb at byte 4096: the checksum is wrong
    recording 3, stream camera: 20.0 MB = 17.0 MB whole + 2.00 MB lost before they reached a member + 1.00 MB damaged or
      missing; open end
    interrupted: 24.2 MB were checked so far, 1 place is bad: 1.00 MB of data are damaged or missing. `sustain extract
      --recording 3 --holes fill` returns the rest of recording 3, with zeros in the place of what is bad
    ");
}

#[test]
fn what_a_crash_took_before_it_was_durable_is_told_and_no_fault() {
    let mut document = verified(Vec::new());
    document.not_durable = vec![bad(7)];
    let stream = &mut document.recordings[0].streams[0];
    stream.whole_bytes = 17_600_000;
    stream.hole_bytes = 400_000;
    stream.not_durable_bytes = 400_000;
    insta::assert_snapshot!(verify_text(&document, 120), @"
    store 38d8211a-e767-47c1-963f-687882f17863: 1 member
    not durable: recording 3, stream camera, bytes 700 to 750, member /dev/sdb at byte 28672: the checksum is wrong
    recording 3, stream camera: 20.0 MB = 17.6 MB whole + 2.00 MB lost before they reached a member + 400 kB lost in the
      crash, or damaged since; open end
    ok: nothing that was durable is damaged or missing; 24.2 MB were checked (the data and the store's own blocks); 400 kB
      that were not known to be durable were lost in the crash or damaged since: which of the two cannot be told
    ");
    document.recordings[0].open_end = false;
    insta::assert_snapshot!(verify_text(&document, 120), @"
    store 38d8211a-e767-47c1-963f-687882f17863: 1 member
    not durable: recording 3, stream camera, bytes 700 to 750, member /dev/sdb at byte 28672: the checksum is wrong
    recording 3, stream camera: 20.0 MB = 17.6 MB whole + 2.00 MB lost before they reached a member + 400 kB lost in a crash
      before they were durable
    ok: every byte is accounted for; 24.2 MB were checked (the data and the store's own blocks); 400 kB were lost in a crash
      before they were durable, as `sustain recover` found
    ");
}

#[test]
fn a_new_store_is_told_with_its_members() {
    let mut document = CreateDocument {
        schema: "sustain.create/1".to_owned(),
        store: Some(STORE.to_owned()),
        slot_bytes: 8 << 20,
        data_bytes: 1_050_682_496,
        free_bytes: Some(1_050_682_496),
        parity: 0,
        members: vec![NewMember {
            name: "data".to_owned(),
            path: Some("data/sustain.store".to_owned()),
            bytes: 1 << 30,
            slots: 126,
            room_bytes: 126 * (8 << 20),
            data_bytes: 1_050_682_496,
            new: true,
            added: false,
        }],
        notes: Vec::new(),
    };
    assert_eq!(
        create_text(&document, 300),
        format!(
            "store {STORE}: 1 member, room for one recording of 1.05 GB, in slots of 8 MiB; for \
             several it is a little less, because each begins in a new slot of each member and may \
             leave its last slot there partly empty\n  data (data/sustain.store): a new file, 1 \
             GiB in 126 slots\n"
        )
    );
    document.store = None;
    document.members[0].path = Some("data".to_owned());
    document.members[0].new = false;
    assert_eq!(
        create_text(&document, 300),
        "would create a store of 1 member: room for one recording of 1.05 GB, in slots of 8 MiB; \
         for several it is a little less, because each begins in a new slot of each member and may \
         leave its last slot there partly empty\n  data: 1 GiB in 126 slots\n"
    );
}

#[test]
fn what_was_found_after_a_crash_is_told_with_what_was_written() {
    let mut document = RecoverDocument {
        schema: "sustain.recover/1".to_owned(),
        store: STORE.to_owned(),
        recording: Some(2),
        marked: vec!["/dev/sda1".to_owned(), "/dev/sdb1".to_owned()],
        superblocks_renewed: true,
        lost_marks: 0,
        lost_bytes: 0,
        recordings: vec![RecoveredRecording {
            recording: 2,
            ended: Some(RecordingEnd::Recovered),
            streams: vec![RecoveredStream {
                marks: false,
                name: "camera".to_owned(),
                bytes: 20_000_000,
                frames: 7,
                gap_bytes: 2_000_000,
                given_up_bytes: 0,
                hole_bytes: 1_000_000,
                readable_from_byte: 3_000_000,
            }],
        }],
        notes: Vec::new(),
    };
    insta::assert_snapshot!(recover_text(&document, 120), @"
    store 38d8211a-e767-47c1-963f-687882f17863
    recording 2, stream camera: 20.0 MB, 2.00 MB of it lost before it reached a member, 1.00 MB of it missing, readable from
      byte 3000000 on (the ring has overwritten what was before); ended: recovered
    recording 2 had an open end: an end mark was written on /dev/sda1, /dev/sdb1, in the place of a slot that was the ring's
      oldest there
    the superblocks, which say where the recordings of a store begin and end, were rewritten
    ");
    document.recording = None;
    document.superblocks_renewed = false;
    insta::assert_snapshot!(recover_text(&document, 120), @"
    store 38d8211a-e767-47c1-963f-687882f17863
    recording 2, stream camera: 20.0 MB, 2.00 MB of it lost before it reached a member, 1.00 MB of it missing, readable from
      byte 3000000 on (the ring has overwritten what was before); ended: recovered
    the superblocks of all members are whole, and every recording has its end mark: there was nothing to repair. `sustain
      verify` tells whether the data is whole
    ");
    let marks = RecoveredStream {
        name: "marks".to_owned(),
        marks: true,
        bytes: 0,
        ..document.recordings[0].streams[0].clone()
    };
    document.recordings[0].streams.push(marks);
    document.lost_bytes = 1_000_000;
    let text = recover_text(&document, 120);
    assert!(!text.contains("stream marks"), "{text}");
    assert!(
        text.contains("take the place of the bytes that are missing"),
        "{text}"
    );
    assert!(!text.contains("nothing to repair"), "{text}");
}

#[test]
fn a_running_recording_is_told_from_one_that_a_crash_ended() {
    let shown = |running| {
        let mut document = list();
        document.recordings[1].running = running;
        list_text(&document, 100)
    };
    insta::assert_snapshot!(shown(Some(true)), @"
    store 38d8211a-e767-47c1-963f-687882f17863: 2 members, 1 of them missing
     recording  started (UTC)        ended    stream       bytes  frames     lost  missing
             1  2026-11-21 15:56:57  source   camera     66.8 GB  446123        -        -
             2  2026-11-21 15:56:57  running  left       66.8 GB          5.00 MB        -
                                              right�[2J  66.8 GB                -  1.07 GB
    running: it is being recorded now, and what is there can be read
    lost: bytes that did not reach a member; the store records how many and where
    some of what is lost may be on a member that the recorder gave up: that is not known as long as
      members are missing
    missing: bytes that were recorded on members, or parts of members, that are not here
    ");
    insta::assert_snapshot!(shown(Some(false)), @"
    store 38d8211a-e767-47c1-963f-687882f17863: 2 members, 1 of them missing
     recording  started (UTC)        ended     stream       bytes  frames     lost  missing
             1  2026-11-21 15:56:57  source    camera     66.8 GB  446123        -        -
             2  2026-11-21 15:56:57  open end  left       66.8 GB          5.00 MB        -
                                               right�[2J  66.8 GB                -  1.07 GB
    open end: the recording was ended by a crash or a kill; what is there can be read, and `sustain
      recover` notes where it ends
    a missing member may have the end, or more, of such a recording
    lost: bytes that did not reach a member; the store records how many and where
    some of what is lost may be on a member that the recorder gave up: that is not known as long as
      members are missing
    missing: bytes that were recorded on members, or parts of members, that are not here
    ");
}

#[test]
fn marks_that_are_not_there_are_told_apart() {
    let mut document = list();
    let first = &mut document.recordings[0];
    first.marks_made = 12;
    first.marks = vec![UserMark {
        number: 12,
        time_ns: 0,
        time: "1970-01-01T00:00:00.000000000Z".to_owned(),
        text: "door".to_owned(),
        streams: Vec::new(),
    }];
    first.marks_overwritten = 1;
    first.marks_not_kept = 2;
    first.marks_not_found = 3;
    let text = list_text(&document, 300);
    for words in [
        "recording 1: 1 more mark overwritten by the ring\n",
        "recording 1: 2 more marks not kept: no member took what was set when the store was full \
         or its members had failed\n",
        "recording 1: 3 more marks not found: damaged, not durable when a crash came, or on a \
         member that is not here (`sustain verify` tells)",
        "recording 1: 5 more marks not shown, older than these",
    ] {
        assert!(text.contains(words), "{text}");
    }
    document.recordings[0].marks.clear();
    let text = list_text(&document, 300);
    assert!(text.contains("recording 1: 1 mark overwritten"), "{text}");
    // What only a pin keeps is read with that.
    document.pins = vec![ListedPin {
        number: 2,
        from: "1970-01-01T00:00:00.000000000Z".to_owned(),
        to: "1970-01-01T00:00:40.000000000Z".to_owned(),
        open: false,
        kept_bytes: 16 << 20,
        recordings: vec![1],
        found: PinFindings {
            absent: true,
            ..PinFindings::default()
        },
    }];
    let text = list_text(&document, 300);
    let words = "recording 1: 1 mark overwritten by the ring (`sustain extract --recording 1 \
                 --pin N --stream marks` gives those in the time of a pin)\n";
    assert!(text.contains(words), "{text}");
}
