//! Sources that are over before the recording has well begun, or die in the middle of a frame: each
//! recording ends by itself, and has all that came.

use std::process::Stdio;

use crate::MIB;
use crate::check::assert_reads_back;
use crate::draw::{Draw, seed};
use crate::members::{Members, SMALL, whole};
use crate::running::{Running, fed};
use crate::support::json_of;

/// So many at once, because most of their time is watching the idle machine.
const STORES: u64 = 67;
const ROUNDS: u64 = 3;

#[test]
fn very_short_sources_end_by_themselves_every_time() {
    let seed = seed("very_short");
    std::thread::scope(|scope| {
        for index in 0..STORES {
            scope.spawn(move || record_many(&mut Draw::new(seed.wrapping_add(index))));
        }
    });
}

fn record_many(draw: &mut Draw) {
    let count = 1 + draw.below(3);
    let sizes: Vec<u64> = (0..count).map(|_| 16 * MIB).collect();
    let members = Members::files(&sizes);
    for round in 1..=ROUNDS {
        let durable = draw.pick(&["each", "10ms", "1s"]);
        let engine = draw.pick(&["auto", "threads", "sync"]);
        let flags = ["--durable", durable, "--engine", engine];
        if draw.once_in(2) {
            let bytes = draw.pick(&["0B", "1B", "4095B", "4096B", "100kB"]);
            let bounds = ["--from", "test:4GB/s", "--bytes", bytes];
            let result = members.record(0, &[&bounds[..], &flags].concat());
            assert_eq!(whole(&result["recording"]), round);
            // To read each of them back would take longer than all else.
            if round == ROUNDS {
                assert_reads_back(&members, &result, "main");
            }
        } else {
            record_piped(&members, &flags, round == ROUNDS, draw);
        }
    }
    let verified = members.verify(0);
    let recordings = verified["recordings"].as_array().unwrap();
    assert_eq!(recordings.len() as u64, ROUNDS);
}

/// A source that writes so many bytes and is gone, wherever in a frame that may be.
#[track_caller]
fn record_piped(members: &Members, flags: &[&str], reads_back: bool, draw: &mut Draw) {
    let length = draw.pick(&[0, 1, 4095, 4097, 100_000, 300_000]);
    let length = draw.below(length + 1);
    // As lengths of frames these bytes are small enough.
    let bytes: Vec<u8> = (0..length).map(|_| draw.below(32) as u8).collect();
    let framing = draw.pick(&["none", "lines", "jpeg"]);
    let all = [SMALL, flags, &["--frames", framing, "--json", "-"]].concat();
    let ran = fed(members.command("record", &all), bytes.clone()).expect(0);
    let result = json_of(&ran.stdout);
    assert_eq!(whole(&result["streams"][0]["recorded_bytes"]), length);
    assert_eq!(result["ended"], "source");
    // However busy it was in its few milliseconds.
    assert_eq!(result["total"]["tool_limited"], false);
    if reads_back {
        let ran = members.run("extract", &["-o", "output"]).expect(0);
        let output = std::fs::read(members.place.path("output")).unwrap();
        assert!(output == bytes, "other bytes: {ran:#?}");
    }
}

#[test]
fn a_source_without_any_frame_of_its_framing_is_recorded_with_a_note() {
    let members = Members::files(&[16 * MIB]);
    let flags = [SMALL, &["--frames", "jpeg"]].concat();
    let text = b"no image at all, many times over\n".repeat(1000);
    let ran = fed(members.command("record", &flags), text).expect(0);
    ran.says("no frame was found in 33000 bytes")
        .says("whether `jpeg` is the framing");
}

#[test]
fn an_empty_source_is_recorded_with_a_note() {
    std::thread::scope(|scope| {
        for source in ["pipe", "none", "file"] {
            scope.spawn(move || assert_empty(source));
        }
    });
}

/// A pipe that is closed at once, no input at all, and a file without a byte.
#[track_caller]
fn assert_empty(source: &str) {
    let members = Members::files(&[4 * MIB]);
    members.place.write("empty", "");
    let from = if source == "file" { "empty" } else { "-" };
    let mut command = members.command("record", &[SMALL, &["--from", from]].concat());
    let input = match source {
        "pipe" => Stdio::piped(),
        _ => Stdio::null(),
    };
    let ran = Running::start(command.stdin(input)).finish().expect(0);
    let name = if from == "-" { "standard input" } else { from };
    ran.says(&format!(
        "{name} was empty, so nothing was recorded from it"
    ));
    let listed = members.list();
    let recording = &listed["recordings"][0];
    assert_eq!(recording["ended"], "source");
    assert_eq!(whole(&recording["streams"][0]["bytes"]), 0);
    members.verify(0);
}
