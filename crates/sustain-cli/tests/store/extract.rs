//! `extract` of bytes: exactly what was recorded, in any range, and never a silent loss.

use std::fs::File;
use std::io::Read;
use std::os::unix::fs::FileExt;
use std::process::Stdio;

use rustix::fs::{CWD, FileType, Mode, mknodat};
use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use serde_json::Value;

use crate::create::interrupt;
use crate::devices::{Mount, becomes};
use crate::recorded::{
    self, End, Offered, Stream, assert_published, content, damage, extract, payload_of_slot,
};
use crate::support::{Place, json_of, ran};

/// A store of two members with one recording of this.
fn store_of(streams: &[Stream<'_>]) -> Place {
    let place = Place::new();
    recorded::create(&place, &["a", "b"], "16MiB");
    recorded::record(&place, &["a", "b"], streams, End::InOrder);
    place
}

#[test]
fn the_only_stream_of_the_newest_recording_is_given_by_default() {
    let (first, second) = (content(300_000), content(2_000_000));
    let place = store_of(&[Stream::plain("main", &first)]);
    recorded::record_main(&place, &["a", "b"], &second);
    let (code, bytes, words) = extract(&place, &["b", "a"]);
    assert!(code == 0 && bytes == second, "{words}");
    assert_eq!(words, "");
    let (_, bytes, _) = extract(&place, &["a", "b", "--recording", "1"]);
    assert!(bytes == first);
    let seventh = ["extract", "a", "b", "--recording", "7"];
    insta::assert_snapshot!(place.refusal(&seventh), @"sustain: there is no recording 7; the store has 1, 2");
}

#[test]
fn of_several_streams_one_is_named() {
    let (left, right) = (content(500_000), content(40_000));
    let streams = [Stream::plain("left", &left), Stream::plain("right", &right)];
    let place = store_of(&streams);
    let refusals = place.refusals(&["extract", "a", "b"], &[&[], &["--stream", "middle"]]);
    insta::assert_snapshot!(refusals, @"
    $ sustain extract a b
    sustain: recording 1 has 2 streams: choose one with --stream: left, right

    $ sustain extract a b --stream middle
    sustain: recording 1 has no stream middle; it has left, right
    ");
    let (_, bytes, _) = extract(&place, &["a", "b", "--stream", "right"]);
    assert!(bytes == right);
    let (_, bytes, _) = extract(&place, &["a", "b", "--stream", "left"]);
    assert!(bytes == left);
}

#[test]
fn any_range_of_bytes_is_exact() {
    let content = content(1_000_000);
    let place = store_of(&[Stream::plain("main", &content)]);
    let ranges = [
        (0, 1),
        (0, 1_000_000),
        (59_999, 60_001),
        (123_456, 765_432),
        (999_999, 1_000_000),
    ];
    for (from, to) in ranges {
        let (from_text, to_text) = (from.to_string(), to.to_string());
        let flags = ["a", "b", "--from-byte", &from_text, "--to-byte", &to_text];
        let (code, bytes, words) = extract(&place, &flags);
        assert!(
            code == 0 && bytes == content[from..to],
            "{from} to {to}: {words}"
        );
    }
    let (_, bytes, _) = extract(&place, &["a", "b", "--from-byte", "900kB"]);
    assert!(bytes == content[900_000..]);
    let (_, bytes, _) = extract(&place, &["a", "b", "--to-byte", "64KiB"]);
    assert!(bytes == content[..65536]);
    let (code, bytes, words) = extract(&place, &["a", "b", "--to-byte", "1GB"]);
    assert!(code == 0 && bytes == content);
    assert!(words.contains("the stream ends at byte 1000000"), "{words}");
    let (code, bytes, _) = extract(&place, &["a", "b", "--from-byte", "1000000"]);
    assert!(code == 0 && bytes.is_empty(), "the end itself is a place");
}

#[test]
fn ranges_that_make_no_sense_are_explained() {
    let content = content(100_000);
    let place = store_of(&[Stream::plain("main", &content)]);
    let refusals = place.refusals(
        &["extract", "a", "b"],
        &[
            &["--from-byte", "100001"],
            &["--from-byte", "5", "--to-byte", "5"],
            &["--from-byte", "5", "--to-byte", "4"],
            &["--from-byte", "-1"],
            &["--from-byte", "1", "--to-frame", "4"],
            &["--from-byte", "1", "--from-time", "2026-01-01T00:00:00Z"],
            &["--from-time", "noon"],
            &["--from-time", "2026-01-01T00:00:00"],
            &["--from-time", "2100-01-01T00:00:00Z"],
            &["--to-time", "2000-01-01T00:00:00Z"],
            &["--from-frame", "0"],
            &["--holes", "guess"],
            &["--json", "-"],
        ],
    );
    insta::assert_snapshot!("extract", refusals);
}

#[test]
fn a_gap_is_named_or_filled_or_left_out() {
    let (before, after) = (content(200_000), content(150_000));
    let stream = Stream {
        name: "main",
        framing: "none",
        offered: vec![
            Offered::Bytes(&before),
            Offered::Lost(77_777),
            Offered::Bytes(&after),
        ],
    };
    let place = store_of(&[stream]);
    let (code, bytes, words) = extract(&place, &["a", "b"]);
    assert_eq!(code, 1);
    assert!(bytes == before, "what is exact up to the loss is written");
    insta::assert_snapshot!(words, @"
    stream main: bytes 200000 to 277777 are lost: they were never recorded, because the buffer was full
    sustain: the 200000 bytes before these were written, exactly as recorded. To have what lies behind them as well, run it again with --holes fill, which writes zeros in the place of such bytes, or --holes skip, which leaves them out
    ");

    let (code, bytes, words) = extract(&place, &["a", "b", "--from-byte", "200000"]);
    assert!(code == 1 && bytes.is_empty());
    insta::assert_snapshot!(words, @"
    stream main: bytes 200000 to 277777 are lost: they were never recorded, because the buffer was full
    sustain: to have what lies behind that, run it again with --holes fill, which writes zeros in the place of such bytes, or --holes skip, which leaves them out
    ");

    let (code, bytes, words) = extract(&place, &["a", "b", "--holes", "fill"]);
    let zeros = vec![0; 77_777];
    assert!(code == 0 && bytes == [&before[..], &zeros, &after].concat());
    insta::assert_snapshot!(words, @"stream main: bytes 200000 to 277777 are lost: they were never recorded, because the buffer was full");
    let (code, bytes, _) = extract(&place, &["a", "b", "--holes", "skip"]);
    assert!(code == 0 && bytes == [&before[..], &after].concat());
    let (code, bytes, _) = extract(&place, &["a", "b", "--from-byte", "277777"]);
    assert!(
        code == 0 && bytes == after,
        "a loss that was not asked for is none"
    );
    let (code, bytes, _) = extract(
        &place,
        &["a", "b", "--from-byte", "210000", "--holes", "fill"],
    );
    assert!(code == 0 && bytes == [&zeros[..67_777], &after].concat());
}

#[test]
fn a_damaged_place_is_a_hole_of_known_range() {
    let content = content(1_000_000);
    let place = Place::new();
    recorded::create(&place, &["a"], "4MiB");
    recorded::record_main(&place, &["a"], &content);
    damage(&place, "a", payload_of_slot(5));
    let run = place
        .run(&["extract", "a", "-o", "out", "--json", "out.json"])
        .expect(1);
    run.says(&format!("damaged on a at byte {}", payload_of_slot(5)));
    let document = json_of(&place.read("out.json"));
    assert_published(&document, "extract");
    let lost = &document["lost"][0];
    let (from, to) = (
        lost["from_byte"].as_u64().unwrap(),
        lost["to_byte"].as_u64().unwrap(),
    );
    assert_eq!(lost["kind"], "hole");
    assert_eq!(document["complete"], false);
    assert_eq!(document["written_bytes"], from);
    assert!(std::fs::read(place.path("out")).unwrap() == content[..from as usize]);

    let (code, bytes, _) = extract(&place, &["a", "--holes", "fill"]);
    assert_eq!((code, bytes.len()), (0, 1_000_000));
    assert!(bytes[..from as usize] == content[..from as usize]);
    assert!(
        bytes[from as usize..to as usize]
            .iter()
            .all(|byte| *byte == 0)
    );
    assert!(bytes[to as usize..] == content[to as usize..]);
}

/// The text with N in the place of each whole number.
fn counts_as_n(text: &str) -> String {
    let mut told = String::new();
    for character in text.chars() {
        if !character.is_ascii_digit() {
            told.push(character);
        } else if !told.ends_with('N') {
            told.push('N');
        }
    }
    told
}

#[test]
fn a_missing_member_is_a_hole_and_the_rest_keeps_its_place() {
    let content = content(3_000_000);
    let place = store_of(&[Stream::plain("main", &content)]);
    let ran = place.run(&["extract", "a", "-o", "new"]).expect(1);
    let list = recorded::document(&place, 0, &["list", "a"]);
    let missing = list["members"][1]["member"].as_str().unwrap();
    // How much lies on which member is a matter of time.
    let said = counts_as_n(&ran.stderr.replace(missing, "ID"));
    // So is whether the first bytes do, in front of which there is nothing.
    let said = said
        .replace(
            "the N bytes before these were written, exactly as recorded. To",
            "to",
        )
        .replace(
            "behind them as well, remove new and run",
            "behind that, run",
        );
    insta::assert_snapshot!(said, @"
    note: member N of N is missing (UUID ID), so the data on it cannot be read
    stream main: bytes N to N cannot be read: they are on none of the members that were given. Not given: member N (UUID ID); name it, too
    sustain: to have what lies behind that, run it again with --holes fill, which writes zeros in the place of such bytes, or --holes skip, which leaves them out
    ");
    // What keeps nothing need not be removed, and must not be.
    let null = place.run(&["extract", "a", "-o", "/dev/null"]).expect(1);
    assert!(!null.stderr.contains("remove"), "{null:?}");
    null.says("run it again with --holes fill, which writes zeros");
    let (code, bytes, words) = extract(&place, &["a", "--holes", "fill"]);
    assert_eq!((code, bytes.len()), (0, 3_000_000), "{words}");
    let differ = |(one, other): &(&u8, &u8)| one != other && **one != 0;
    assert!(
        !bytes.iter().zip(&content).any(|pair| differ(&pair)),
        "never a wrong byte"
    );
}

#[test]
fn a_file_is_made_and_none_is_written_over() {
    let content = content(600_000);
    let place = store_of(&[Stream::plain("main", &content)]);
    place.run(&["extract", "a", "b", "-o", "out"]).expect(0);
    assert!(std::fs::read(place.path("out")).unwrap() == content);
    assert!(std::fs::read(place.path("out")).unwrap() == content);
    place.write("empty", "");
    place.run(&["extract", "a", "b", "-o", "empty"]).expect(0);
    assert!(std::fs::read(place.path("empty")).unwrap() == content);
    let outputs: [&[&str]; 5] = [&["out"], &["."], &["frames/"], &["no/file"], &["/dev/zero"]];
    let refusals = place.refusals(&["extract", "a", "b", "-o"], &outputs);
    insta::assert_snapshot!(refusals, @"
    $ sustain extract a b -o out
    sustain: cannot write out: it exists; choose another file, or remove it

    $ sustain extract a b -o .
    sustain: .
    is a directory, which is for one file per frame, but the stream main has no frames: write to a file with -o FILE

    $ sustain extract a b -o frames/
    sustain: frames/ is a directory, which is for one file per frame, but the stream main has no frames: write to a file with -o FILE

    $ sustain extract a b -o no/file
    sustain: cannot write no/file: the directory no does not exist: create it first

    $ sustain extract a b -o /dev/zero
    sustain: cannot write /dev/zero: it is a device or a socket; choose a file
    ");
    assert!(std::fs::read(place.path("out")).unwrap() == content);
    place
        .run(&["extract", "a", "b", "-o", "/dev/null"])
        .expect(0);
    assert_eq!(place.names(), ["a", "b", "empty", "out"]);
}

#[test]
fn an_output_that_is_full_is_told_and_no_success() {
    let content = content(600_000);
    let place = store_of(&[Stream::plain("main", &content)]);
    let full = place
        .run(&["extract", "a", "b", "-o", "/dev/full"])
        .expect(1);
    full.says("cannot write /dev/full")
        .says("No space left on device");
    let full = File::options().write(true).open("/dev/full").unwrap();
    let output = place
        .command(&["extract", "a", "b"])
        .stdout(full)
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    let words = String::from_utf8(output.stderr).unwrap();
    assert!(words.contains("cannot write standard output"), "{words}");
}

#[test]
fn a_file_system_that_becomes_full_has_as_many_bytes_as_are_told() {
    let content = content(600_000);
    let place = store_of(&[Stream::plain("main", &content)]);
    let Some(small) = Mount::try_new(&place, &["-t", "tmpfs", "-o", "size=100k", "tmpfs"]) else {
        return;
    };
    let run = place.run(&["extract", "a", "b", "-o", &small.path("out")]);
    let written = std::fs::read(small.path("out")).unwrap();
    assert!(!written.is_empty());
    assert_eq!(written, content[..written.len()]);
    let told = format!("out beyond its first {} bytes", written.len());
    run.expect(1).says(&told).says("No space left on device");
}

#[test]
fn a_reader_that_has_had_enough_ends_it_without_a_word() {
    let content = content(4_000_000);
    let place = store_of(&[Stream::plain("main", &content)]);
    let mut child = place.command(&["extract", "a", "b"]).spawn().unwrap();
    let mut start = [0; 10];
    child.stdout.take().unwrap().read_exact(&mut start).unwrap();
    let output = child.wait_with_output().unwrap();
    let ran = ran(output).expect(1);
    assert_eq!(ran.stderr, "");
    assert_eq!(start, content[..10]);
}

#[test]
fn a_terminal_gets_no_binary() {
    let content = content(10_000);
    let lines = "one\ntwo\n";
    let place = store_of(&[
        Stream::plain("main", &content),
        Stream::framed("text", "lines", lines.as_bytes()),
    ]);
    let controller = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&controller).unwrap();
    unlockpt(&controller).unwrap();
    let name = ptsname(&controller, Vec::new()).unwrap();
    let terminal = File::options()
        .read(true)
        .write(true)
        .open(name.to_str().unwrap())
        .unwrap();
    let run = |stream: &str| {
        let mut command = place.command(&["extract", "a", "b", "--stream", stream]);
        command
            .stdout(terminal.try_clone().unwrap())
            .stderr(Stdio::piped())
            .output()
            .unwrap()
    };
    let refused = run("main");
    assert_eq!(refused.status.code(), Some(2));
    let words = String::from_utf8(refused.stderr).unwrap();
    assert!(words.contains("-o FILE"), "{words}");
    assert_eq!(run("text").status.code(), Some(0), "lines are text");
    let mut shown = [0; 64];
    let count = rustix::io::read(&controller, &mut shown).unwrap();
    assert_eq!(
        std::str::from_utf8(&shown[..count]).unwrap(),
        "one\r\ntwo\r\n"
    );
}

#[test]
fn an_interruption_is_no_success() {
    let content = content(4_000_000);
    let place = store_of(&[Stream::plain("main", &content)]);
    let mut child = place.command(&["extract", "a", "b"]).spawn().unwrap();
    let mut output = child.stdout.take().unwrap();
    output.read_exact(&mut [0; 10]).unwrap();
    // Its output is full and nobody reads on: the second Ctrl-C ends it wherever it is.
    while child.try_wait().unwrap().is_none() {
        interrupt(&child);
        std::thread::yield_now();
    }
    assert_eq!(child.wait().unwrap().code(), Some(130));
}

#[test]
fn the_first_signal_ends_an_extract_to_a_pipe_that_nobody_reads() {
    let content = content(100_000);
    let place = store_of(&[Stream::plain("main", &content)]);
    let mode = Mode::from_bits_truncate(0o600);
    mknodat(CWD, place.path("pipe"), FileType::Fifo, mode, 0).unwrap();
    let arguments = ["extract", "a", "b", "-o", "pipe"];
    let running = place.command(&arguments).spawn().unwrap();
    let pid = Pid::from_child(&running);
    let status = format!("/proc/{}/status", running.id());
    // It catches the signal from shortly before it opens the pipe on.
    let catches = |status: String| {
        let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
        caught.is_some_and(|mask| u64::from_str_radix(mask.trim(), 16).unwrap() & (1 << 14) != 0)
    };
    assert!(becomes(|| catches(
        std::fs::read_to_string(&status).unwrap()
    )));
    kill_process(pid, Signal::TERM).unwrap();
    ran(running.wait_with_output().unwrap())
        .expect(130)
        .says("before it had a reader");
    // With one it is given what there is.
    let running = place.command(&arguments).spawn().unwrap();
    assert!(std::fs::read(place.path("pipe")).unwrap() == content);
    ran(running.wait_with_output().unwrap()).expect(0);
}

#[test]
fn a_stream_whose_name_is_gone_is_named_by_its_number_too() {
    let place = Place::new();
    recorded::create(&place, &["a"], "4MiB");
    let (one, other) = (content(300_000), content(200_000));
    let streams = [Stream::plain("main", &one), Stream::plain("side", &other)];
    recorded::record(&place, &["a"], &streams, End::InOrder);
    place.run(&["extract", "a", "--stream", "1"]).expect(2);
    let member = File::options().write(true).open(place.path("a")).unwrap();
    member.write_all_at(&[7; 64], recorded::FIRST_SLOT).unwrap();
    let listed = place.run(&["list", "a"]).expect(0).stdout;
    assert!(listed.contains("stream 1"), "{listed}");
    let named = [("stream 0", &one), ("0", &one), ("1", &other)];
    for ((name, content), out) in named.into_iter().zip(["x", "y", "z"]) {
        place
            .run(&["extract", "a", "--stream", name, "-o", out])
            .expect(0);
        assert!(
            &std::fs::read(place.path(out)).unwrap() == content,
            "{name}"
        );
    }
    place.run(&["extract", "a", "--stream", "2"]).expect(2);
}

#[test]
fn gaps_whose_account_a_ring_has_overwritten_are_counted_as_verify_counts_them() {
    let place = Place::new();
    recorded::create(&place, &["a"], "2MiB");
    let content = content(600_000);
    let mut offered = Vec::new();
    for _ in 0..8 {
        offered.push(Offered::Bytes(&content));
        offered.push(Offered::Lost(1000));
    }
    offered.push(Offered::Bytes(&content));
    let streams = [Stream {
        name: "main",
        framing: "none",
        offered,
    }];
    recorded::record_ring(&place, &["a"], &streams, End::InOrder);
    let arguments = [
        "extract",
        "a",
        "--from-byte",
        "0",
        "--holes",
        "skip",
        "-o",
        "out",
    ];
    place
        .run(&[&arguments[..], &["--json", "result"]].concat())
        .expect(0);
    let lost = json_of(&place.read("result"))["lost"].clone();
    let lost = lost.as_array().unwrap();
    let length =
        |one: &Value| one["to_byte"].as_u64().unwrap() - one["from_byte"].as_u64().unwrap();
    let gaps = lost.iter().filter(|one| one["kind"] == "gap");
    let told_bytes: u64 = gaps.map(length).sum();
    assert!((1000..8000).contains(&told_bytes), "{lost:#?}");
    let first = lost[0]["why"].as_str().unwrap();
    let words = format!("{} bytes had never been recorded", 8000 - told_bytes);
    assert!(first.contains(&words), "{first}");
    let verified = place.run(&["verify", "a", "--json", "-"]).expect(0).stdout;
    let stream = json_of(&verified)["recordings"][0]["streams"][0].clone();
    assert_eq!(stream["gap_bytes"], 8000, "{stream:#}");
}
