//! `extract` of frames: a file each, whole or not at all.

use std::time::{Duration, SystemTime};

use crate::recorded::{
    self, ARRIVAL_NS, End, Offered, Stream, assert_published, content, damage, extract,
    payload_of_slot,
};
use crate::support::{Place, json_of};

const FRAME_BYTES: usize = 20_000;

/// A JPEG picture as far as its markers say.
fn picture(number: usize) -> Vec<u8> {
    let body = content(FRAME_BYTES + number);
    let body = body
        .into_iter()
        .map(|byte| if byte == 0xFF { 0 } else { byte });
    let mut picture = vec![0xFF, 0xD8, 0xFF, 0xDA, 0, 2];
    picture.extend(body);
    picture.extend([0xFF, 0xD9]);
    picture
}

fn pictures(count: usize) -> Vec<Vec<u8>> {
    (0..count).map(picture).collect()
}

fn store_of(stream: Stream<'_>, end: End) -> Place {
    let place = Place::new();
    recorded::create(&place, &["a"], "8MiB");
    recorded::record(&place, &["a"], &[stream], end);
    place
}

fn frame_names(place: &Place, directory: &str) -> Vec<String> {
    let entries = std::fs::read_dir(place.path(directory)).unwrap();
    let mut names: Vec<String> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn each_frame_is_a_file_of_its_arrival() {
    let pictures = pictures(40);
    let place = store_of(
        Stream::framed("cam", "jpeg", &pictures.concat()),
        End::InOrder,
    );
    let flags = ["extract", "a", "-o", "frames/", "--json", "frames.json"];
    place.run(&flags).expect(0).says("40 frames written");
    let names = frame_names(&place, "frames");
    assert_eq!(names.len(), 40);
    assert_eq!(names[0], "cam-000000.jpg");
    assert_eq!(names[39], "cam-000039.jpg");
    for (number, (name, picture)) in names.iter().zip(&pictures).enumerate() {
        let path = place.path("frames").join(name);
        assert!(std::fs::read(&path).unwrap() == *picture, "{name}");
        let arrival = Duration::from_nanos(ARRIVAL_NS as u64 + number as u64 * 1_000_000);
        let modified = std::fs::metadata(&path).unwrap().modified().unwrap();
        assert_eq!(modified, SystemTime::UNIX_EPOCH + arrival, "{name}");
    }
    let document = json_of(&place.read("frames.json"));
    assert_published(&document, "extract");
    assert_eq!(document["written_frames"], 40);
    assert_eq!(document["lost_frames"], 0);
    let again = place.run(&["extract", "a", "-o", "frames"]).expect(2);
    again.says("exists: choose another directory");
}

#[test]
fn a_range_of_frames_is_exact() {
    let pictures = pictures(40);
    let place = store_of(
        Stream::framed("cam", "jpeg", &pictures.concat()),
        End::InOrder,
    );
    for (from, to) in [(0, 1), (0, 40), (7, 12), (38, 40)] {
        let (from_text, to_text) = (from.to_string(), to.to_string());
        let range = ["--from-frame", &from_text, "--to-frame", &to_text];
        let (code, bytes, words) = extract(&place, &[&["a"], &range[..]].concat());
        assert!(
            code == 0 && bytes == pictures[from..to].concat(),
            "{from} to {to}: {words}"
        );
        let directory = format!("{from}-{to}");
        place
            .run(
                &[
                    &["extract", "a", "-o", &format!("{directory}/")],
                    &range[..],
                ]
                .concat(),
            )
            .expect(0);
        let names = frame_names(&place, &directory);
        assert_eq!(names.len(), to - from, "{names:?}");
        assert_eq!(names[0], format!("cam-{from:06}.jpg"));
    }
    let past = place.run(&["extract", "a", "--from-frame", "40"]).expect(2);
    past.says("the stream cam has 40 frames, counted from 0");
    let none = place
        .run(&["extract", "a", "--from-frame", "4", "--to-frame", "4"])
        .expect(2);
    none.says("must be before");
}

#[test]
fn a_range_of_time_has_the_frames_that_began_in_it() {
    let pictures = pictures(40);
    let place = store_of(
        Stream::framed("cam", "jpeg", &pictures.concat()),
        End::InOrder,
    );
    // A frame begins every millisecond.
    let range = [
        "--from-time",
        "2023-11-14T22:13:20.005Z",
        "--to-time",
        "2023-11-14T23:13:20.009+01:00",
    ];
    let (code, bytes, words) = extract(&place, &[&["a"], &range[..]].concat());
    assert!(
        code == 0 && bytes == pictures[5..9].concat(),
        "{} bytes: {words}",
        bytes.len()
    );
    place
        .run(&[&["extract", "a", "-o", "frames/"], &range[..]].concat())
        .expect(0);
    assert_eq!(frame_names(&place, "frames").len(), 4);
}

#[test]
fn a_damaged_frame_is_left_out_and_told() {
    let pictures = pictures(40);
    let place = store_of(
        Stream::framed("cam", "jpeg", &pictures.concat()),
        End::InOrder,
    );
    damage(&place, "a", payload_of_slot(3));
    let flags = ["extract", "a", "-o", "frames/", "--json", "frames.json"];
    place
        .run(&flags)
        .expect(1)
        .says("is damaged")
        .says("left out");
    let document = json_of(&place.read("frames.json"));
    let (written, lost) = (&document["written_frames"], &document["lost_frames"]);
    assert_eq!(written.as_u64().unwrap() + lost.as_u64().unwrap(), 40);
    assert!(lost.as_u64().unwrap() > 0);
    let ranges = document["lost"].as_array().unwrap();
    assert!(!ranges.is_empty(), "{document:#}");
    assert!(ranges.iter().all(|lost| lost["kind"] == "hole"));
    for name in frame_names(&place, "frames") {
        let number: usize = name["cam-".len()..][..6].parse().unwrap();
        assert!(
            std::fs::read(place.path("frames").join(&name)).unwrap() == pictures[number],
            "{name}"
        );
    }
    place
        .run(&["extract", "a", "-o", "skip/", "--holes", "skip"])
        .expect(0)
        .says("left out");
    assert_eq!(frame_names(&place, "skip"), frame_names(&place, "frames"));
    let fill = place
        .run(&["extract", "a", "-o", "fill/", "--holes", "fill"])
        .expect(2);
    fill.says("a frame is written whole or not at all");
    assert!(!place.path("fill").exists());
}

#[test]
fn every_lost_frame_is_named_or_counted_and_its_bytes_are_listed() {
    let pictures = pictures(100);
    let place = store_of(
        Stream::framed("cam", "jpeg", &pictures.concat()),
        End::InOrder,
    );
    for slot in (1..31).step_by(2) {
        damage(&place, "a", payload_of_slot(slot));
    }
    let range = ["--from-frame", "1", "--to-frame", "99"];
    let flags = ["extract", "a", "-o", "frames/", "--json", "frames.json"];
    let ran = place.run(&[&flags[..], &range].concat()).expect(1);
    let document = json_of(&place.read("frames.json"));
    assert_published(&document, "extract");
    let lost = document["lost_frames"].as_u64().unwrap();
    assert_eq!(document["written_frames"].as_u64().unwrap() + lost, 98);
    let number = |word: &str| word.parse::<u64>().unwrap();
    let mut named = 0;
    for line in ran.stderr.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        named += match words.as_slice() {
            ["stream", "cam:", "frame", _, "is", "damaged" | "missing"] => 1,
            [
                "stream",
                "cam:",
                "frames",
                first,
                "to",
                last,
                "are",
                "missing",
            ] => number(last) - number(first) + 1,
            [
                "stream",
                "cam:",
                more,
                "more",
                "frames",
                "are",
                "damaged",
                ..,
            ] => number(more),
            _ => 0,
        };
    }
    assert_eq!(named, lost, "{ran:#?}");
    let ranges = document["lost"].as_array().unwrap();
    assert_eq!(ranges.len(), 15, "{document:#}");
    let mut behind = 0;
    for lost in ranges {
        let (from, to) = (&lost["from_byte"], &lost["to_byte"]);
        assert!(behind <= from.as_u64().unwrap() && from.as_u64() < to.as_u64());
        behind = to.as_u64().unwrap();
    }
}

#[test]
fn frames_lost_in_a_gap_keep_the_numbers_of_the_others() {
    let pictures = pictures(10);
    let (before, after) = (pictures[..4].concat(), pictures[4..].concat());
    let stream = Stream {
        name: "cam",
        framing: "jpeg",
        offered: vec![
            Offered::Bytes(&before),
            Offered::Lost(50_000),
            Offered::Bytes(&after),
        ],
    };
    let place = store_of(stream, End::InOrder);
    place.run(&["extract", "a", "-o", "frames/"]).expect(0);
    let names = frame_names(&place, "frames");
    assert_eq!(names.len(), 10, "no frame began in the gap: {names:?}");
    assert!(std::fs::read(place.path("frames/cam-000004.jpg")).unwrap() == pictures[4]);
}

#[test]
fn a_stream_that_ends_within_a_frame_loses_only_that() {
    let pictures = pictures(5);
    let all = pictures.concat();
    let cut = &all[..all.len() - 100];
    for end in [End::InOrder, End::Crash] {
        let place = store_of(Stream::framed("cam", "jpeg", cut), end);
        let run = place.run(&["extract", "a", "-o", "frames/"]).expect(0);
        run.says("the stream ends within frame 4, which is left out");
        assert_eq!(frame_names(&place, "frames").len(), 4);
    }
}

#[test]
fn only_a_source_that_ended_makes_a_line_without_its_newline_a_frame() {
    // A text may end without a newline; after a crash nobody knows.
    let place = store_of(
        Stream::framed("log", "lines", b"one\ntwo\nthr"),
        End::InOrder,
    );
    place.run(&["extract", "a", "-o", "lines/"]).expect(0);
    assert_eq!(place.read("lines/log-000002.txt"), "thr");
    let place = store_of(Stream::framed("log", "lines", b"one\ntwo\nthr"), End::Crash);
    place
        .run(&["extract", "a", "-o", "lines/"])
        .expect(0)
        .says("ends within frame 2");
    let whole = ["log-000000.txt", "log-000001.txt"];
    assert_eq!(frame_names(&place, "lines"), whole);
    // Recovering finds out no more.
    place.run(&["recover", "a"]).expect(0);
    place
        .run(&["extract", "a", "-o", "recovered/"])
        .expect(0)
        .says("ends within frame 2");
    assert_eq!(frame_names(&place, "recovered"), whole);
    // A bound in bytes cuts a line off.
    let place = Place::new();
    recorded::create(&place, &["a"], "8MiB");
    place.write("log", "one\ntwo\nthree\n");
    let flags = ["--from", "log", "--frames", "lines", "--bytes", "11"];
    place
        .run(&[&["record", "a", "--buffer", "4MiB"], &flags[..]].concat())
        .expect(0);
    place
        .run(&["extract", "a", "-o", "lines/"])
        .expect(0)
        .says("ends within frame 2");
    assert_eq!(frame_names(&place, "lines").len(), 2);
}

#[test]
fn bytes_of_no_frame_are_told() {
    let pictures = pictures(3);
    let between = vec![7; 1000];
    let all = [&pictures[..2].concat()[..], &between, &pictures[2]].concat();
    let place = store_of(Stream::framed("cam", "jpeg", &all), End::InOrder);
    let words = "1000 bytes of the stream belong to no frame";
    let run = place.run(&["extract", "a", "-o", "frames/"]).expect(0);
    run.says(words).says("3 frames written");
    // What frames begin and end with is theirs.
    let flags = ["extract", "a", "-o", "two/", "--to-frame", "2"];
    let run = place.run(&flags).expect(0);
    assert!(!run.stderr.contains("belong to no frame"), "{run:?}");
    let flags = ["extract", "a", "-o", "last/", "--from-byte", "30000"];
    let run = place.run(&flags).expect(0);
    run.says("belong to no frame that begins in it");
    let place = store_of(Stream::framed("cam", "jpeg", &between), End::InOrder);
    let run = place.run(&["extract", "a", "-o", "frames/"]).expect(0);
    run.says(words).says("0 frames written");
}

#[test]
fn frames_of_a_source_without_framing_are_frames() {
    let place = Place::new();
    recorded::create(&place, &["a"], "8MiB");
    let flags = ["--from", "test:5MB/s,frame=10kB..20kB", "--bytes", "200kB"];
    place
        .run(&[&["record", "a", "--buffer", "4MiB"], &flags[..]].concat())
        .expect(0);
    let listed = recorded::document(&place, 0, &["list", "a"]);
    let frames = listed["recordings"][0]["streams"][0]["frames"].as_u64();
    let frames = frames.unwrap();
    assert!(frames > 5);
    let list = place.run(&["list", "a"]).expect(0).stdout;
    let shown = frames.to_string();
    assert!(list.split_whitespace().any(|word| word == shown), "{list}");
    place.run(&["extract", "a", "-o", "frames/"]).expect(0);
    let names = frame_names(&place, "frames");
    // The last one may be cut off by the bound.
    assert!(names.len() as u64 + 1 >= frames, "{frames}: {names:?}");
    assert_eq!(names[0], "main-000000.bin");
    let flags = ["--from-frame", "1", "--to-frame", "2", "-o", "one"];
    place
        .run(&[&["extract", "a"], &flags[..]].concat())
        .expect(0);
    let read = |name| std::fs::read(place.path(name)).unwrap();
    assert!(read("one") == read("frames/main-000001.bin"));
}

#[test]
fn a_range_that_ends_behind_the_last_frame_is_told() {
    let place = store_of(Stream::framed("log", "lines", b"one\ntwo\n"), End::InOrder);
    let extract = |to| place.run(&["extract", "a", "--to-frame", to]).expect(0);
    extract("99").says("the stream has 2 frames, counted from 0, and ends before --to-frame 99");
    assert!(!extract("2").stderr.contains("--to-frame"));
}

#[test]
fn a_file_is_no_directory_for_frames() {
    let place = store_of(Stream::framed("log", "lines", b"one\n"), End::InOrder);
    place.write("file", "kept");
    place
        .run(&["extract", "a", "-o", "file/"])
        .expect(2)
        .says("it exists and is not a directory; choose another");
    assert_eq!(place.read("file"), "kept");
}

#[test]
fn length_prefixed_frames_are_written_without_their_lengths() {
    let mut bytes = Vec::new();
    for body in ["one", "three", ""] {
        bytes.extend((body.len() as u32).to_le_bytes());
        bytes.extend(body.as_bytes());
    }
    let place = store_of(
        Stream::framed("a/b", "length-prefixed", &bytes),
        End::InOrder,
    );
    place.run(&["extract", "a", "-o", "frames/"]).expect(0);
    assert_eq!(
        frame_names(&place, "frames"),
        ["a_b-000000.bin", "a_b-000001.bin", "a_b-000002.bin"]
    );
    assert_eq!(place.read("frames/a_b-000001.bin"), "three");
    assert_eq!(place.read("frames/a_b-000002.bin"), "");
}

#[test]
fn frames_that_a_ring_has_written_over_are_told() {
    let place = Place::new();
    recorded::create(&place, &["a"], "1MiB");
    let log: String = (0..40_000)
        .map(|number| format!("{number:059} of the log\n"))
        .collect();
    place.write("log", &log);
    let flags = [
        "--from", "log", "--frames", "lines", "--ring", "--buffer", "4MiB",
    ];
    place
        .run(&[&["record", "a"], &flags[..]].concat())
        .expect(0);
    let listed = recorded::document(&place, 0, &["list", "a"]);
    let stream = &listed["recordings"][0]["streams"][0];
    assert_eq!(stream["frames"], 40_000);
    let oldest = stream["readable_from_frame"].as_u64().unwrap();
    assert!(oldest > 20_000, "{stream}");
    let why = format!(
        "the ring has overwritten frames 0 to 2: the oldest frame that is left is number {oldest}"
    );
    let range = ["extract", "a", "--from-frame", "0", "--to-frame", "3"];
    let with = |more: &[&str]| place.run(&[&range[..], more].concat());
    with(&["-o", "bytes"]).expect(1).says(&why);
    assert!(!place.path("bytes").exists());
    let run = with(&["-o", "frames/", "--json", "frames.json"]).expect(1);
    run.says(&why)
        .says("0 frames written, 3 overwritten by the ring");
    let document = json_of(&place.read("frames.json"));
    assert_published(&document, "extract");
    assert_eq!(document["overwritten_frames"], 3);
    assert_eq!(document["lost"][0]["kind"], "overwritten");
    with(&["-o", "frames/", "--holes", "skip"])
        .expect(0)
        .says(&why);
    // What is left is given; both commands count the same.
    let (from, to) = ((oldest - 5).to_string(), (oldest + 5).to_string());
    let flags = ["--from-frame", &from, "--to-frame", &to, "-o", "some/"];
    let run = place
        .run(&[&["extract", "a"], &flags[..]].concat())
        .expect(1);
    run.says("5 frames written, 5 overwritten by the ring");
    let first = format!("{oldest:059} of the log\n");
    assert_eq!(place.read(&format!("some/main-{oldest:06}.txt")), first);
    let run = place.run(&["extract", "a", "-o", "all/"]).expect(0);
    run.says(&format!("(frame {oldest}) on"))
        .says(&format!("{} frames written", 40_000 - oldest));
}

#[test]
fn a_time_in_which_nothing_arrived_is_told() {
    let place = store_of(Stream::framed("log", "lines", b"one\ntwo\n"), End::InOrder);
    for output in ["file", "frames/"] {
        let flags = [
            "extract",
            "a",
            "-o",
            output,
            "--to-time",
            "2001-01-01T00:00:00Z",
        ];
        let run = place.run(&flags).expect(2);
        run.says("nothing of the stream log arrived in that time");
        assert!(!place.path(output).exists(), "{output}");
    }
}

#[test]
fn a_time_may_count_from_the_beginning_or_back_from_the_end() {
    let pictures = pictures(40);
    let stream = pictures.concat();
    let place = store_of(Stream::framed("cam", "jpeg", &stream), End::InOrder);
    // A frame has arrived in each millisecond.
    let (code, bytes, words) = extract(&place, &["a", "--from-time", "-5ms"]);
    assert!(code == 0 && bytes == pictures[34..].concat(), "{words}");
    let range = ["a", "--from-time", "-5ms", "--to-time", "-3ms"];
    assert!(extract(&place, &range).1 == pictures[34..36].concat());
    let both = ["a", "--from-time=-1h", "--to-time", "+1h"];
    assert!(extract(&place, &both).1 == stream);
    // By the clock of this source, all came years before the recording was begun.
    let (code, _, words) = extract(&place, &["a", "--from-time", "+0s"]);
    assert!(
        code == 2 && words.contains("nothing of the stream cam arrived in that time"),
        "{words}"
    );
    let refusals = place.refusals(
        &["extract", "a"],
        &[
            &["--from-time", "-3ms", "--to-time", "-5ms"],
            &["--from-time", "+5"],
            &["--from-time", "-1y"],
            &["--from-time", "-9999999999h"],
        ],
    );
    insta::assert_snapshot!(refusals);
}

#[test]
fn a_time_from_the_beginning_goes_by_when_the_recording_was_begun() {
    let place = Place::new();
    recorded::create(&place, &["a"], "8MiB");
    std::fs::write(place.path("text"), "one\ntwo\n").unwrap();
    let flags = ["record", "a", "--from", "text", "--frames", "lines"];
    place.run(&flags).expect(0);
    let (code, bytes, words) = extract(&place, &["a", "--from-time", "+0s", "--to-time", "+24h"]);
    assert!(code == 0 && bytes == b"one\ntwo\n", "{words}");
    let (code, bytes, _) = extract(&place, &["a", "--from-time", "+24h"]);
    assert!(code == 2 && bytes.is_empty());
}

#[test]
fn a_recording_tells_what_its_frames_were_like() {
    let place = Place::new();
    recorded::create(&place, &["a"], "8MiB");
    let text: String = (0..1000).map(|line| format!("{line:0line$}\n")).collect();
    std::fs::write(place.path("text"), text).unwrap();
    let flags = [
        "record",
        "a",
        "--from",
        "text",
        "--frames",
        "lines",
        "--frame-rate",
        "25",
        "--json",
        "-",
    ];
    let ran = place.run(&flags).expect(0);
    let document = json_of(&ran.stdout);
    assert_published(&document, "record");
    let frames = &document["streams"][0]["frame_figures"];
    let counted = |name: &str| -> u64 {
        let bins = frames[name].as_array().unwrap();
        bins.iter().map(|bin| bin["count"].as_u64().unwrap()).sum()
    };
    assert_eq!(counted("size_histogram"), 1000);
    assert_eq!(counted("interval_histogram"), 999);
    assert_eq!(counted("until_durable_histogram"), 1000);
    assert_eq!(frames["size_bytes"]["max"], 1000);
    assert_eq!(frames["pace"]["declared_frames_per_s"], 25.0);
    let of_series = frames["series"].as_array().unwrap().iter();
    assert_eq!(
        of_series
            .map(|at| at["frames"].as_u64().unwrap())
            .sum::<u64>(),
        1000
    );
    let refusals = place.refusals(
        &["record", "a", "--from", "text"],
        &[
            &["--frame-rate", "25"],
            &["--frames", "lines", "--frame-rate", "0"],
            &["--frames", "lines", "--frame-rate", "-25"],
            &["--frames", "lines", "--frame-rate", "1e9"],
            &["--frames", "lines", "--frame-rate", "25fps"],
            &[
                "--frames",
                "lines",
                "--frame-rate",
                "25",
                "--frame-rate",
                "30",
            ],
        ],
    );
    insta::assert_snapshot!(refusals);
    let tested = ["--from", "test:1MB/s,frame=10kB", "--frame-rate", "100"];
    place
        .run(&[&["record", "a"], &tested[..]].concat())
        .expect(2)
        .says("makes its frames at the rate that is written in it");
}
