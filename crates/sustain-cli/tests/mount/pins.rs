//! What pins keep of a ring, in a mount: the bytes and frames of `extract --pin`; while the store
//! is recorded to, pins come, grow and go.

use std::fs::{self, File};
use std::io::ErrorKind;
use std::os::unix::fs::FileExt;

use sustain::record::PinWish;

use super::recorded::{self, content, extract};
use super::ring::{
    ALL_BYTES, CUT_NOTICE, EVENT, EVENT_LINES, MEMBERS, RunningRing, freed, lines, pin_in_ring,
    pin_in_ring_with_cut_line, pinned,
};
use super::support::json_of;
use super::{MountPlace, wait_for};

const EIO: i32 = rustix::io::Errno::IO.raw_os_error();
const ESTALE: i32 = rustix::io::Errno::STALE.raw_os_error();

#[test]
fn files_of_a_pin_give_what_extract_gives_of_it() {
    let Some(mounted) = MountPlace::new() else {
        return;
    };
    pin_in_ring(&mounted.place);
    mounted.mount_members(&MEMBERS, &[]);
    assert_eq!(mounted.names(""), ["pin-1", "recording-1"]);
    assert_eq!(mounted.names("pin-1"), ["recording-1"]);
    let names = ["log", "log.frames", "main", "marks", "recording.json"];
    assert_eq!(mounted.names("pin-1/recording-1"), names);
    for (stream, expected) in [
        ("main", Some(content(ALL_BYTES)[EVENT].to_vec())),
        ("log", Some(lines(EVENT_LINES))),
        ("marks", None),
    ] {
        let pin = ["a", "b", "--pin", "1", "--stream", stream];
        let (code, extracted, words) = extract(&mounted.place, &pin);
        assert_eq!(code, 0, "{words}");
        let path = mounted.path("pin-1/recording-1").join(stream);
        let length = fs::metadata(&path).unwrap().len();
        assert_eq!(length, extracted.len() as u64, "{stream}");
        let read = fs::read(&path).unwrap();
        assert!(read == extracted, "{stream}");
        assert!(expected.is_none_or(|expected| read == expected), "{stream}");
    }
    // Of the recording itself other bytes are left.
    let rest = fs::metadata(mounted.path("recording-1/main")).unwrap();
    assert_eq!(rest.len(), ALL_BYTES as u64);
    for absent in ["pin-2", "pin-01", "pin-1/recording-2", "pin-1/main"] {
        let absent = fs::metadata(mounted.path(absent)).unwrap_err();
        assert_eq!(absent.kind(), ErrorKind::NotFound);
    }
    mounted.unmount();
}

#[test]
fn a_pin_has_frames_pieces_and_a_document() {
    let Some(mounted) = MountPlace::new() else {
        return;
    };
    pin_in_ring(&mounted.place);
    mounted.mount_members(&MEMBERS, &["--split", "1MB"]);
    let frames = "pin-1/recording-1/log.frames";
    assert_eq!(mounted.names(frames), ["000000000"]);
    let names: Vec<String> = EVENT_LINES
        .map(|number| format!("log-{number:09}.txt"))
        .collect();
    let group = format!("{frames}/000000000");
    assert_eq!(mounted.names(&group), names);
    for number in [49, 30, 31] {
        let path = mounted.path(&group).join(format!("log-{number:09}.txt"));
        let frame = fs::read(&path).unwrap();
        assert_eq!(frame, lines(number..number + 1));
        assert_eq!(fs::metadata(&path).unwrap().len(), frame.len() as u64);
    }
    // The slots have some of these frames, too, but nobody has pinned them.
    for number in [29, 50] {
        let path = mounted.path(&group).join(format!("log-{number:09}.txt"));
        assert_eq!(fs::read(path).unwrap_err().kind(), ErrorKind::NotFound);
    }
    assert_eq!(mounted.names("pin-1/recording-1/main"), ["main-000000"]);
    let piece = fs::read(mounted.path("pin-1/recording-1/main/main-000000")).unwrap();
    assert!(piece == content(ALL_BYTES)[EVENT]);
    let document = fs::read_to_string(mounted.path("pin-1/recording-1/recording.json"));
    let document = json_of(&document.unwrap());
    let told = &document["recordings"][0];
    assert_eq!(
        (&told["recording"], &told["running"]),
        (&1.into(), &false.into())
    );
    assert_eq!(document["recordings"].as_array().unwrap().len(), 1);
    mounted.unmount();
}

#[test]
fn where_the_rest_of_a_recording_is_shown_is_said() {
    let Some(mounted) = MountPlace::new() else {
        return;
    };
    pin_in_ring(&mounted.place);
    let mut ring = RunningRing::begin(&mounted.place);
    ring.give(&content(ALL_BYTES), b"");
    ring.end();
    let ran = mounted.place.run(&["mount", "a", "b", "view"]).expect(0);
    let note = "note: recording 1: the ring has overwritten all of it but what pin 1 keeps, which \
                is in pin-1/recording-1";
    assert_eq!(ran.stderr.matches(note).count(), 1, "{ran:?}");
    assert_eq!(mounted.names(""), ["pin-1", "recording-2"]);
    mounted.unmount();
}

#[test]
fn a_frame_that_goes_on_behind_a_pin_is_not_shown() {
    let Some(mounted) = MountPlace::new() else {
        return;
    };
    pin_in_ring_with_cut_line(&mounted.place);
    mounted.mount_members(&MEMBERS, &[]);
    let shown = "pin-1/recording-1";
    assert!(fs::read(mounted.path(shown).join("log")).unwrap() == lines(EVENT_LINES));
    let group = format!("{shown}/log.frames/000000000");
    assert_eq!(mounted.names(&group).len(), EVENT_LINES.len());
    let document = fs::read_to_string(mounted.path(shown).join("recording.json"));
    let notes = json_of(&document.unwrap())["notes"].clone();
    assert_eq!(notes, serde_json::json!([CUT_NOTICE]));
    mounted.unmount();
}

#[test]
fn what_is_damaged_of_a_pin_is_an_error_or_zeros() {
    let Some(mounted) = MountPlace::new() else {
        return;
    };
    pin_in_ring(&mounted.place);
    let index = [
        "a", "b", "--pin", "1", "--stream", "log", "--index", "log.csv",
    ];
    assert_eq!(extract(&mounted.place, &index).0, 0);
    let index = mounted.place.read("log.csv");
    let columns: Vec<&str> = index.lines().nth(5).unwrap().split(',').collect();
    let at: u64 = columns[6].parse().unwrap();
    recorded::damage(&mounted.place, columns[5], at / 4096 * 4096);
    mounted.mount_members(&MEMBERS, &[]);
    let log = "pin-1/recording-1/log";
    let lost = fs::read(mounted.path(log)).unwrap_err();
    assert_eq!(lost.raw_os_error(), Some(EIO));
    let event = &content(ALL_BYTES)[EVENT];
    assert!(fs::read(mounted.path("pin-1/recording-1/main")).unwrap() == event);
    mounted.unmount();
    mounted.mount_members(&MEMBERS, &["--holes", "zeros"]);
    let read = fs::read(mounted.path(log)).unwrap();
    let whole = lines(EVENT_LINES);
    assert_eq!(read.len(), whole.len());
    assert!(
        read != whole
            && read
                .iter()
                .zip(&whole)
                .all(|(read, whole)| [0, *whole].contains(read))
    );
    mounted.unmount();
}

#[test]
fn a_pin_that_is_set_while_mounted_appears_and_one_that_is_freed_vanishes() {
    let Some(mounted) = MountPlace::new() else {
        return;
    };
    recorded::create(&mounted.place, &MEMBERS, "2MiB");
    let mut ring = RunningRing::begin(&mounted.place);
    mounted.mount_members(&MEMBERS, &[]);
    assert!(!mounted.names("").contains(&"pin-1".to_owned()));
    ring.pin_event();
    ring.go_round();
    let path = mounted.path("pin-1/recording-1/main");
    let all = content(ALL_BYTES);
    wait_for("what was pinned", || {
        let read = fs::read(&path).unwrap_or_default();
        assert!(all[EVENT].starts_with(&read), "{} bytes", read.len());
        (read.len() == EVENT.len()).then_some(())
    });
    let log = fs::read(mounted.path("pin-1/recording-1/log")).unwrap();
    assert!(log == lines(EVENT_LINES));
    // Nothing was read of it, so the kernel has nothing of it either.
    let group = "pin-1/recording-1/log.frames/000000000";
    let names = mounted.names(group);
    assert_eq!(names.len(), EVENT_LINES.len(), "{names:?}");
    let frame = format!("{group}/log-000000030.txt");
    let frame = File::open(mounted.path(&frame)).unwrap();
    freed(&ring.recorder.board(), 1);
    wait_for("the end of the pin", || {
        let names = mounted.names("");
        (!names.contains(&"pin-1".to_owned())).then_some(())
    });
    assert_eq!(fs::metadata(&path).unwrap_err().kind(), ErrorKind::NotFound);
    let stale = frame.read_at(&mut [0; 16], 0).unwrap_err();
    assert_eq!(stale.raw_os_error(), Some(ESTALE));
    drop(frame);
    ring.end();
    mounted.unmount();
}

#[test]
fn a_pin_whose_end_is_open_grows() {
    let Some(mounted) = MountPlace::new() else {
        return;
    };
    recorded::create(&mounted.place, &MEMBERS, "2MiB");
    let mut ring = RunningRing::begin(&mounted.place);
    let all = content(1_500_000);
    ring.give(&all[..EVENT.start], &lines(0..EVENT_LINES.start));
    mounted.mount_members(&MEMBERS, &[]);
    let from_ns = ring.main.now_ns() + 1;
    let to_ns = from_ns + 3_600_000_000_000;
    pinned(&ring.recorder.board(), PinWish::Pin { from_ns, to_ns });
    let path = mounted.path("pin-1/recording-1/main");
    let (mut given, mut line, mut lengths) = (EVENT.start, EVENT_LINES.start, Vec::new());
    wait_for("the third growth", || {
        // That something is durable only what comes behind it tells.
        let next = (given + 5000).min(all.len());
        ring.give(&all[given..next], &lines(line..line + 1));
        (given, line) = (next, line + 1);
        let read = fs::read(&path).unwrap_or_default();
        assert!(
            all[EVENT.start..given].starts_with(&read),
            "{} bytes",
            read.len()
        );
        if lengths.last().copied().unwrap_or(0) < read.len() {
            lengths.push(read.len());
        }
        (lengths.len() == 3).then_some(())
    });
    let group = "pin-1/recording-1/log.frames/000000000";
    let names = mounted.names(group);
    let first = EVENT_LINES.start;
    assert!(
        !names.is_empty() && names.len() <= line - first,
        "{names:?}"
    );
    for (number, name) in (first..).zip(names) {
        assert_eq!(name, format!("log-{number:09}.txt"));
        let frame = fs::read(mounted.path(group).join(name)).unwrap();
        assert_eq!(frame, lines(number..number + 1));
    }
    ring.end();
    mounted.unmount();
}
