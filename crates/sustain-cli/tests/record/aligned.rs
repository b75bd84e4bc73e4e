//! Frames that begin at block boundaries: each can be read from its member at the place that
//! `extract --index` names, and the stream is what it was.

use std::os::unix::fs::FileExt;

use crate::MIB;
use crate::draw::{Draw, seed};
use crate::members::{Made, Members, SMALL, stream, whole};
use crate::running::fed;
use crate::support::json_of;

/// What is repeated in a frame.
const PART_BYTES: usize = 1009;

/// Frames of all lengths, of which some are longer than an append.
fn frames(draw: &mut Draw, framing: &str) -> Vec<Vec<u8>> {
    let lengths = [1, 100, 4091, 4092, 4096, 70_000, 262_144, 1_500_000];
    let frame = |_| {
        let length = draw.pick(&lengths) + draw.below(3);
        frame(draw, framing, length)
    };
    (0..40).map(frame).collect()
}

fn frame(draw: &mut Draw, framing: &str, length: u64) -> Vec<u8> {
    // To draw each byte would take seconds. No two blocks of a frame are alike, as this is a prime.
    let part: Vec<u8> = (0..PART_BYTES)
        .map(|_| 11 + draw.below(200) as u8)
        .collect();
    let length = usize::try_from(length).unwrap();
    let mut body = part.repeat(length.div_ceil(PART_BYTES));
    body.truncate(length);
    match framing {
        "length-prefixed" => [&(length as u32).to_le_bytes()[..], &body].concat(),
        "jpeg" => {
            let begin = [0xff, 0xd8, 0xff, 0xe0, 0, 2, 0xff, 0xda, 0, 2];
            [&begin[..], &body, &[0xff, 0xd9]].concat()
        }
        _ => [&body[..], b"\n"].concat(),
    }
}

/// A line of an index.
struct Line {
    member: usize,
    device_offset_bytes: u64,
    length_bytes: u64,
    /// What lies there in one piece.
    adjacent_bytes: u64,
}

/// The frames that are there, where `extract` ends with this code.
#[track_caller]
fn index(members: &Members, code: i32) -> Vec<Line> {
    let flags = ["--index", "index.csv", "-o", "/dev/null"];
    members.run("extract", &flags).expect(code);
    let text = members.place.read("index.csv");
    let mut lines = text.lines();
    let heads: Vec<&str> = lines.next().unwrap().split(',').collect();
    let column = |name: &str| heads.iter().position(|head| *head == name).unwrap();
    let numbers = ["device_offset_bytes", "length_bytes", "adjacent_bytes"].map(column);
    let member = column("member");
    lines
        .map(|line| line.split(',').collect::<Vec<&str>>())
        .filter(|fields| !fields[member].is_empty())
        .map(|fields| {
            let is_it = |name: &String| fields[member] == name;
            let [device_offset_bytes, length_bytes, adjacent_bytes] =
                numbers.map(|field| fields[field].parse().unwrap());
            Line {
                member: members.names.iter().position(is_it).unwrap(),
                device_offset_bytes,
                length_bytes,
                adjacent_bytes,
            }
        })
        .collect()
}

#[track_caller]
fn assert_aligned(framing: &str, mode: &[&str]) {
    let mut draw = Draw::new(seed("aligned"));
    let members = Members::store(Made::Files, &[80 * MIB, 50 * MIB], "1MiB").unwrap();
    let frames = frames(&mut draw, framing);
    let bytes = frames.concat();
    let flags = ["--align-frames", "--frames", framing, "--buffer", "16MiB"];
    let command = members.command("record", &[&flags[..], mode, &["--json", "-"]].concat());
    let ran = fed(command, bytes.clone());
    let result = json_of(&ran.expect(0).stdout);
    assert_eq!(result["plan"]["align_frames"], true);
    assert_eq!(whole(&stream(&result, "main")["frames"]), 40, "{framing}");
    members.verify(0);
    members.run("extract", &["-o", "all"]).expect(0);
    assert!(std::fs::read(members.place.path("all")).unwrap() == bytes);
    let index = index(&members, 0);
    assert_eq!(index.len(), frames.len());
    for (line, frame) in index.into_iter().zip(frames) {
        let place = line.device_offset_bytes;
        assert_eq!(place % 4096, 0, "{framing}");
        assert_eq!(line.length_bytes, frame.len() as u64);
        let image = std::fs::File::open(&members.images[line.member]).unwrap();
        let mut read = vec![0; line.adjacent_bytes as usize];
        image.read_exact_at(&mut read, place).unwrap();
        assert!(read == frame[..read.len()], "{framing} at {place}");
    }
}

#[test]
fn frames_of_every_framing_are_where_the_index_says_and_the_stream_is_as_it_was() {
    std::thread::scope(|scope| {
        for framing in ["length-prefixed", "jpeg", "lines"] {
            for mode in [&[][..], &["--ring"], &["--durable", "each"]] {
                scope.spawn(move || assert_aligned(framing, mode));
            }
        }
    });
}

#[test]
fn aligned_frames_that_find_no_memory_are_lost_whole_and_counted() {
    let members = Members::store(Made::Files, &[100 * MIB], "1MiB").unwrap();
    let source = ["--from", "test:4GB/s,frame=30kB..700kB", "--bytes", "60MB"];
    let flags = ["--align-frames", "--on-full", "drop", "--json", "-"];
    let ran = members.run("record", &[&source[..], &flags, SMALL].concat());
    let result = json_of(&ran.stdout);
    let told = stream(&result, "main");
    assert_eq!(
        whole(&told["offered_bytes"]),
        whole(&told["recorded_bytes"]) + whole(&told["gap_bytes"])
    );
    members.verify(0);
    let code = i32::from(whole(&told["gap_bytes"]) > 0);
    for line in index(&members, code) {
        assert_eq!(line.device_offset_bytes % 4096, 0);
    }
}

#[test]
fn frames_are_aligned_only_where_there_are_some() {
    let members = Members::files(&[16 * MIB]);
    let source = ["--from", "test:1MB/s", "--time", "100ms", "--align-frames"];
    let refused = members.run("record", &[SMALL, &source].concat()).expect(2);
    refused.says("--align-frames needs frames").says("--frames");
    let small = ["--from", "test:1MB/s,frame=1kB", "--time", "100ms"];
    let flags = ["--align-frames", "--json", "-"];
    let ran = members.run("record", &[&small[..], SMALL, &flags].concat());
    let ran = ran
        .expect(0)
        .says("are small for that: without --align-frames")
        .says("aligned frames: ")
        .says("to fill up blocks");
    // Each has a descriptor of a block, and is shorter than one.
    let result = json_of(&ran.stdout);
    let beside_bytes = whole(&result["total"]["beside_payload_bytes"]);
    let frames = whole(&stream(&result, "main")["frames"]);
    assert!(beside_bytes > frames * 7000, "{beside_bytes} of {frames}");
    let rehearsed = members.run(
        "record",
        &[&small[..], SMALL, &flags[..1], &["--dry-run"]].concat(),
    );
    rehearsed
        .expect(0)
        .says("an append of its own for each frame");
}
