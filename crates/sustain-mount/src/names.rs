//! The names of files and directories in a mount: from a recording to names, and from a name back
//! to what it is of. It is pure.

use std::collections::HashSet;

use sustain_record::opening::{Recording, StreamSummary};
use sustain_record::source::framing::Framing;

use crate::node::{GROUP_FRAMES, MountNode};

/// The name of the document of a recording.
const DOCUMENT: &str = "recording.json";
/// The least number of digits for a frame's number, and for that of a piece.
const FRAME_DIGITS: usize = 9;
const PIECE_DIGITS: usize = 6;
/// The most bytes of a stream's name in a file's name, which has at most 255 bytes.
const NAME_BYTES_MAX: usize = 200;

/// The name of a recording's directory.
pub(crate) fn of_recording(number: u32) -> String {
    format!("recording-{number}")
}

/// The name of a pin's directory.
pub(crate) fn of_pin(number: u32) -> String {
    format!("pin-{number}")
}

/// What lies in the directory of a recording, in the order of its streams.
pub(crate) fn in_recording(slot: u16, recording: &Recording) -> Vec<(String, MountNode)> {
    let mut taken = HashSet::from([DOCUMENT.to_owned()]);
    let mut entries = vec![(DOCUMENT.to_owned(), MountNode::Document(slot))];
    for (number, stream) in (0..).zip(&recording.streams) {
        let stem = safe_name(&stream.name);
        let mut add = |name: String, node| {
            // Names of streams differ, but not always in what a file's name may have.
            let mut name = name;
            while !taken.insert(name.clone()) {
                name = format!("{name}~{number}");
            }
            entries.push((name, node));
        };
        add(stem.clone(), MountNode::Stream(slot, number));
        if has_frames(stream) {
            add(format!("{stem}.frames"), MountNode::Frames(slot, number));
        }
    }
    entries
}

/// How the frames of a stream are told apart.
pub(crate) fn framing(stream: &StreamSummary) -> Framing {
    let name = stream.framing.as_deref();
    name.and_then(|name| name.parse().ok())
        .unwrap_or(Framing::None)
}

/// Whether a stream has frames to show. A source may mark frames without any framing of its bytes.
pub(crate) fn has_frames(stream: &StreamSummary) -> bool {
    !stream.is_marks() && (framing(stream) != Framing::None || stream.frames > 0)
}

/// The name of a directory of frames: the number of the first that it may have.
pub(crate) fn of_group(index: u64) -> String {
    format!("{:0FRAME_DIGITS$}", index * GROUP_FRAMES)
}

/// The directory of frames that has this name.
pub(crate) fn group_named(name: &str) -> Option<u64> {
    let first: u64 = name.parse().ok()?;
    let index = first / GROUP_FRAMES;
    (of_group(index) == name).then_some(index)
}

/// The name of a frame's file.
pub(crate) fn of_frame(stream: &StreamSummary, number: u64) -> String {
    let extension = match framing(stream) {
        Framing::Jpeg => ".jpg",
        Framing::Lines => ".txt",
        Framing::None | Framing::LengthPrefixed { .. } => ".bin",
    };
    format!(
        "{}-{number:0FRAME_DIGITS$}{extension}",
        safe_name(&stream.name)
    )
}

/// The number of the frame whose file has this name.
pub(crate) fn frame_named(stream: &StreamSummary, name: &str) -> Option<u64> {
    numbered(name).filter(|number| of_frame(stream, *number) == name)
}

/// The name of a piece of a stream.
pub(crate) fn of_piece(stream: &StreamSummary, index: u64) -> String {
    format!("{}-{index:0PIECE_DIGITS$}", safe_name(&stream.name))
}

/// The piece of a stream that has this name.
pub(crate) fn piece_named(stream: &StreamSummary, name: &str) -> Option<u64> {
    numbered(name).filter(|index| of_piece(stream, *index) == name)
}

/// The number behind the last dash of a name.
fn numbered(name: &str) -> Option<u64> {
    let (_, rest) = name.rsplit_once('-')?;
    let digits = rest.split('.').next()?;
    digits.parse().ok()
}

/// Turns the name of a stream into that of a file.
fn safe_name(stream: &str) -> String {
    let mut name = String::new();
    for c in stream.chars() {
        let c = if c == '/' || c.is_control() { '_' } else { c };
        if name.len() + c.len_utf8() > NAME_BYTES_MAX {
            break;
        }
        name.push(c);
    }
    match name.as_str() {
        "" => "_".to_owned(),
        "." | ".." => name.replace('.', "_"),
        _ => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stream(name: &str, framing: Option<&str>) -> StreamSummary {
        StreamSummary {
            name: name.to_owned(),
            framing: framing.map(str::to_owned),
            offered_bytes: 0,
            settled_bytes: 0,
            gap_bytes: 0,
            given_up_bytes: 0,
            recorded_bytes: 0,
            frames: 0,
            hole_bytes: 0,
            absent_bytes: 0,
            first_time_ns: None,
            last_time_ns: 0,
            readable_from_bytes: 0,
            readable_from_frame: 0,
            readable_from_gap_bytes: 0,
            drift: None,
        }
    }

    fn recording(streams: Vec<StreamSummary>) -> Recording {
        Recording {
            number: 7,
            id: Default::default(),
            started_ns: None,
            ring: false,
            streams,
            end: None,
            open_end: true,
            readable_from_sequence: None,
            per_member: Vec::new(),
            under_way: false,
            is_gone_from_a_member: false,
            pin: None,
            parities: None,
            copies_of: None,
            absent: Vec::new(),
            lacks_end_of_pin: false,
            kept_from_ns: None,
        }
    }

    fn names(streams: Vec<StreamSummary>) -> Vec<String> {
        let entries = in_recording(0, &recording(streams));
        entries.into_iter().map(|(name, _)| name).collect()
    }

    #[test]
    fn a_recording_has_its_document_its_streams_and_their_frames() {
        let streams = vec![stream("left", Some("jpeg")), stream("log", None)];
        let expected = ["recording.json", "left", "left.frames", "log"];
        assert_eq!(names(streams), expected);
    }

    #[test]
    fn no_two_files_have_the_same_name() {
        let streams = vec![
            stream("a/b", None),
            stream("a_b", None),
            stream("c", Some("lines")),
            stream("c.frames", None),
            stream("recording.json", None),
            stream("..", None),
        ];
        let expected = [
            "recording.json",
            "a_b",
            "a_b~1",
            "c",
            "c.frames",
            "c.frames~3",
            "recording.json~4",
            "__",
        ];
        assert_eq!(names(streams), expected);
    }

    #[test]
    fn only_the_name_of_a_frame_leads_to_it() {
        let lines = stream("a-b.c", Some("lines"));
        assert_eq!(of_frame(&lines, 12), "a-b.c-000000012.txt");
        for number in [0, 12, 999_999_999, 10_000_000_000] {
            let name = of_frame(&lines, number);
            assert_eq!(frame_named(&lines, &name), Some(number), "{name}");
        }
        for wrong in [
            "",
            "a-b.c-12.txt",
            "a-b.c-000000012.jpg",
            "12",
            "a-b.c-x.txt",
        ] {
            assert_eq!(frame_named(&lines, wrong), None, "{wrong}");
        }
        assert_eq!(of_piece(&lines, 3), "a-b.c-000003");
        assert_eq!(piece_named(&lines, "a-b.c-000003"), Some(3));
        assert_eq!(piece_named(&lines, "a-b.c-3"), None);
        assert_eq!(of_group(12), "000012000");
        assert_eq!(group_named("000012000"), Some(12));
        assert_eq!(group_named("000012001"), None);
        assert_eq!(group_named("12000"), None);
    }
}
