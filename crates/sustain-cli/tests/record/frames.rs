//! Framed sources, recorded and given back frame by frame: equal to the input.

use crate::MIB;
use crate::draw::{Draw, seed};
use crate::members::{Members, SMALL, whole};
use crate::running::fed;
use crate::support::json_of;

/// A stream's bytes and the frames in them.
struct Input {
    bytes: Vec<u8>,
    frames: Vec<Vec<u8>>,
}

fn random_bytes(draw: &mut Draw, count: u64) -> Vec<u8> {
    (0..count).map(|_| draw.number() as u8).collect()
}

/// Lines of any length, the last one without its end.
fn lines(draw: &mut Draw) -> Input {
    let mut frames: Vec<Vec<u8>> = (0..300)
        .map(|_| {
            let length = draw.pick(&[0, 1, 80, 5000]);
            let mut line = random_bytes(draw, length);
            line.retain(|byte| *byte != b'\n');
            line.push(b'\n');
            line
        })
        .collect();
    let bytes = frames.concat();
    frames.push(b"unfinished".to_vec());
    Input {
        bytes: [bytes, b"unfinished".to_vec()].concat(),
        frames,
    }
}

fn length_prefixed(draw: &mut Draw, prefix: impl Fn(u32) -> [u8; 4]) -> Input {
    let frames: Vec<Vec<u8>> = (0..200)
        .map(|_| {
            let length = draw.pick(&[0, 1, 3, 4096, 50_000]);
            random_bytes(draw, length)
        })
        .collect();
    let framed = frames.iter().map(|frame| {
        let length = u32::try_from(frame.len()).unwrap();
        [prefix(length).to_vec(), frame.clone()].concat()
    });
    Input {
        bytes: framed.collect::<Vec<_>>().concat(),
        frames,
    }
}

/// Pictures as small as the standard allows, with random scans.
fn jpeg(draw: &mut Draw) -> Input {
    let frames: Vec<Vec<u8>> = (0..60)
        .map(|_| {
            let length = draw.pick(&[0, 10, 3000, 60_000]);
            let mut scan = random_bytes(draw, length);
            // In a scan this byte would begin a marker.
            scan.retain(|byte| *byte != 0xFF);
            let header = [0xFF, 0xD8, 0xFF, 0xDA, 0, 8, 1, 1, 0, 0, 63, 0];
            [&header[..], &scan, &[0xFF, 0xD9]].concat()
        })
        .collect();
    Input {
        bytes: frames.concat(),
        frames,
    }
}

#[test]
fn framed_sources_come_back_frame_by_frame() {
    let mut draw = Draw::new(seed("frame_by_frame"));
    let inputs = [
        ("lines", lines(&mut draw)),
        (
            "length-prefixed",
            length_prefixed(&mut draw, u32::to_le_bytes),
        ),
        (
            "length-prefixed-be",
            length_prefixed(&mut draw, u32::to_be_bytes),
        ),
        ("jpeg", jpeg(&mut draw)),
    ];
    std::thread::scope(|scope| {
        for (framing, input) in &inputs {
            // By a pipe, and by a file.
            for source in ["-", "input"] {
                scope.spawn(move || assert_comes_back(framing, source, input));
            }
        }
    });
}

#[track_caller]
fn assert_comes_back(framing: &str, source: &str, input: &Input) {
    let members = Members::files(&[32 * MIB, 16 * MIB]);
    std::fs::write(members.place.path("input"), &input.bytes).unwrap();
    let flags = ["--frames", framing, "--from", source, "--json", "-"];
    let command = members.command("record", &[SMALL, &flags].concat());
    let fed_bytes = if source == "-" {
        input.bytes.clone()
    } else {
        Vec::new()
    };
    let result = json_of(&fed(command, fed_bytes).expect(0).stdout);
    let told = &result["streams"][0];
    assert_eq!(whole(&told["offered_bytes"]), input.bytes.len() as u64);
    assert_eq!(
        whole(&told["frames"]),
        input.frames.len() as u64,
        "{framing}"
    );

    members.run("extract", &["-o", "output"]).expect(0);
    let bytes = std::fs::read(members.place.path("output")).unwrap();
    assert!(bytes == input.bytes, "{framing} from {source}: other bytes");

    members.run("extract", &["-o", "frames/"]).expect(0);
    let mut names: Vec<_> = std::fs::read_dir(members.place.path("frames"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    names.sort();
    assert_eq!(names.len(), input.frames.len(), "{framing} from {source}");
    for (name, frame) in names.iter().zip(&input.frames) {
        let found = std::fs::read(name).unwrap();
        assert!(
            found == *frame,
            "{framing} from {source}: {} differs",
            name.display()
        );
    }
    members.verify(0);
}
