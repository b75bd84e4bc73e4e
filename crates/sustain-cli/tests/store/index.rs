//! The index of frames, by `extract --index` and `list --frames`: each line is true of the bytes on
//! the device.

use std::process::Stdio;

use crate::recorded::{self, ARRIVAL_NS, End, Offered, Stream, content, extract};
use crate::support::{Place, ran};

const HEADER: &str = "frame,frames,time,length_bytes,stream_offset_bytes,member,\
                      device_offset_bytes,adjacent_bytes,state";

/// Frames with their lengths before them, of which some span appends.
fn prefixed(count: usize, bytes: usize) -> Vec<u8> {
    let frames = (0..count).map(|number| {
        let body = content(bytes + number % 50 * 97);
        let length = u32::try_from(body.len()).unwrap();
        [&length.to_le_bytes()[..], &body].concat()
    });
    frames.collect::<Vec<_>>().concat()
}

fn rows(csv: &str) -> Vec<Vec<String>> {
    let mut lines = csv.lines();
    assert_eq!(lines.next(), Some(HEADER));
    lines
        .map(|line| line.split(',').map(str::to_owned).collect())
        .collect()
}

fn number(cell: &str) -> usize {
    cell.parse().unwrap()
}

/// Compares each frame of an index with the stream, and with what lies on the device.
#[track_caller]
fn check_rows(place: &Place, rows: &[Vec<String>], stream: &[u8]) {
    for row in rows.iter().filter(|row| row[8] == "whole") {
        let (length, offset) = (number(&row[3]), number(&row[4]));
        let file = std::fs::read(recorded::file_of(&place.path(&row[5]))).unwrap();
        let (at, adjacent) = (number(&row[6]), number(&row[7]));
        assert!(0 < adjacent && adjacent <= length, "{row:?}");
        let of_stream = &stream[offset..offset + adjacent];
        assert!(file[at..at + adjacent] == *of_stream, "{row:?}");
    }
}

#[test]
fn the_bytes_at_the_offsets_of_an_index_are_those_of_the_frames() {
    let stream = prefixed(40, 9_000);
    let place = Place::new();
    recorded::create(&place, &["a", "b"], "8MiB");
    let streams = [Stream::framed("cam", "length-prefixed", &stream)];
    recorded::record(&place, &["a", "b"], &streams, End::InOrder);
    let (code, bytes, words) = extract(&place, &["a", "b", "--index", "frames.csv"]);
    assert!(code == 0 && bytes == stream, "{words}");
    let index = place.read("frames.csv");
    let found = rows(&index);
    assert_eq!(found.len(), 40);
    check_rows(&place, &found, &stream);
    let spans = found.iter().filter(|row| row[3] != row[7]).count();
    assert!(spans > 0, "some frames span appends: {index}");
    assert_eq!(found[39][0], "39");
    assert_eq!(
        found[0][2], "2023-11-14T22:13:20.000000000Z",
        "{ARRIVAL_NS}"
    );
    let listed = place.run(&["list", "b", "a", "--frames"]).expect(0);
    assert_eq!(listed.stdout, index, "the list has the same");
    let flags = ["extract", "a", "b", "-o", "dir/", "--index", "dir.csv"];
    place.run(&flags).expect(0);
    assert_eq!(
        place.read("dir.csv"),
        index,
        "and so has a directory of frames"
    );
    let flags = [
        "extract",
        "a",
        "b",
        "--from-frame",
        "5",
        "--to-frame",
        "9",
        "-o",
        "part",
        "--index",
        "-",
    ];
    let part = place.run(&flags).expect(0).stdout;
    assert_eq!(rows(&part), found[5..9], "only what is asked for");
    let flags = [
        "extract",
        "a",
        "b",
        "--from-byte",
        "100",
        "--to-byte",
        "20000",
        "-o",
        "cut",
        "--index",
        "-",
    ];
    let part = rows(&place.run(&flags).expect(0).stdout);
    assert_eq!(part[0], found[1]);
    let last = part.last().unwrap();
    assert_eq!((part.len(), last[8].as_str()), (2, "cut"), "{part:?}");
}

#[test]
fn an_index_says_what_a_gap_a_hole_and_a_ring_took() {
    let lines = |count: usize| {
        (0..count)
            .map(|line| format!("{line:09000}\n"))
            .collect::<String>()
    };
    let (first, second) = (lines(10).into_bytes(), lines(10).into_bytes());
    let place = Place::new();
    recorded::create(&place, &["a"], "8MiB");
    let offered = vec![
        Offered::Bytes(&first[..first.len() - 10]),
        Offered::Lost(10),
        Offered::Bytes(&second),
    ];
    let stream = Stream {
        name: "cam",
        framing: "lines",
        offered,
    };
    recorded::record(&place, &["a"], &[stream], End::InOrder);
    let states = |place: &Place| -> Vec<String> {
        let found = rows(&place.run(&["list", "a", "--frames"]).expect(0).stdout);
        let states = found
            .iter()
            .map(|row| format!("{}+{} {}", row[0], row[1], row[8]));
        states.filter(|state| !state.ends_with("whole")).collect()
    };
    assert_eq!(states(&place)[0], "9+1 gap");
    recorded::damage(&place, "a", recorded::payload_of_slot(1));
    let found = states(&place);
    assert!(
        found.iter().any(|state| state.ends_with("+1 hole")),
        "{found:?}"
    );

    let stream = prefixed(600, 9_000);
    let streams = [Stream::framed("cam", "length-prefixed", &stream)];
    let place = Place::new();
    recorded::create(&place, &["a"], "4MiB");
    recorded::record_ring(&place, &["a"], &streams, End::InOrder);
    let found = rows(&place.run(&["list", "a", "--frames"]).expect(0).stdout);
    assert_eq!(
        (found[0][0].as_str(), found[0][8].as_str()),
        ("0", "overwritten")
    );
    assert_eq!(
        number(&found[0][1]) + found.len() - 1,
        600,
        "every frame is told"
    );
    check_rows(&place, &found, &stream);
}

#[test]
fn an_index_that_cannot_be_is_refused_before_anything_is_read() {
    let place = Place::new();
    recorded::create(&place, &["a"], "4MiB");
    recorded::record_main(&place, &["a"], &content(1000));
    std::fs::write(place.path("there"), "x").unwrap();
    let refusals = place.refusals(
        &["extract", "a"],
        &[
            &["--index", "-"],
            &["-o", "x", "--index", "x"],
            &["-o", "x", "--index", "there"],
            &["-o", "x", "--index", "a"],
            &["-o", "x", "--index", "frames/"],
            &["-o", "x", "--index", "frames.csv"],
        ],
    );
    insta::assert_snapshot!(refusals);
    let refusals = place.refusals(
        &["list", "a"],
        &[&["--frames"], &["--stream", "main"], &["--frames", "-v"]],
    );
    insta::assert_snapshot!(refusals);
    assert!(!place.path("frames.csv").exists() && !place.path("x").exists());
}

#[test]
fn an_index_that_cannot_be_written_is_told() {
    let stream = prefixed(3_000, 100);
    let place = Place::new();
    recorded::create(&place, &["a"], "16MiB");
    let streams = [Stream::framed("cam", "length-prefixed", &stream)];
    recorded::record(&place, &["a"], &streams, End::InOrder);
    let flags = ["extract", "a", "-o", "x", "--index", "/dev/full"];
    place.run(&flags).expect(1).says("cannot write /dev/full");
    let mut listing = place.command(&["list", "a", "--frames"]);
    let mut listing = listing
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(listing.stdout.take());
    let listed = ran(listing.wait_with_output().unwrap()).expect(1);
    assert_eq!(listed.stderr, "");
}
