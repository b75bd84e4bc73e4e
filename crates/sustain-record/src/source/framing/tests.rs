use proptest::prelude::*;

use super::*;

const LITTLE: Framing = Framing::LengthPrefixed {
    byte_order: ByteOrder::Little,
};
const BIG: Framing = Framing::LengthPrefixed {
    byte_order: ByteOrder::Big,
};

/// The findings in a whole stream: the frames, whether the last is open, and the first error.
#[derive(Debug, PartialEq)]
struct Found {
    frames: Vec<(u64, Option<u64>)>,
    error: Option<FramingError>,
}

/// Reads a stream in pieces of these sizes, cycled, as the recorder does: bytes that are not taken
/// are pushed again with those that follow.
fn found(mut framer: Framer, stream: &[u8], piece_sizes: &[usize]) -> Found {
    let mut frames: Vec<(u64, Option<u64>)> = Vec::new();
    let mut error = None;
    let (mut taken, mut read) = (0, 0);
    let mut sizes = piece_sizes.iter().cycle();
    while read < stream.len() {
        read = stream.len().min(read + sizes.next().unwrap());
        let mut marks = Vec::new();
        let bytes = &stream[taken..read];
        let step = framer.push(bytes, &mut marks).unwrap_or_else(|found| {
            assert_eq!(error.replace(found), None, "an error is told once");
            bytes.len()
        });
        assert!(bytes.len() - step <= Framer::UNDECIDED_BYTES_MAX);
        for (index, mark) in marks.iter().enumerate() {
            assert!(mark.offset <= step, "a mark in what was not taken");
            assert!(
                index == 0 || marks[index - 1].offset < mark.offset,
                "{marks:?}"
            );
            assert!(
                mark.kind == MarkKind::End || mark.offset < step,
                "a begin before its byte"
            );
            let offset = (taken + mark.offset) as u64;
            if mark.kind != MarkKind::Begin {
                let open = frames.last_mut().filter(|frame| frame.1.is_none());
                open.expect("only what has begun ends").1 = Some(offset);
            }
            if mark.kind != MarkKind::End {
                assert!(
                    frames.last().is_none_or(|frame| frame.1.is_some()),
                    "two begins"
                );
                frames.push((offset, None));
            }
        }
        taken += step;
        let open = frames.last().filter(|frame| frame.1.is_none());
        assert_eq!(
            framer.bytes_into_frame(),
            open.map(|frame| taken as u64 - frame.0)
        );
    }
    Found { frames, error }
}

/// The start and end of each frame of a stream; the last end is missing if the frame is open. The
/// stream is read in one piece, and byte by byte with the same result.
fn frames(framing: Framing, stream: &[u8]) -> Vec<(u64, Option<u64>)> {
    let whole = found(Framer::new(framing), stream, &[usize::MAX >> 1]);
    assert_eq!(whole, found(Framer::new(framing), stream, &[1]));
    assert_eq!(whole.error, None);
    whole.frames
}

/// The bytes of the frames of a stream, an open one included.
fn contents(framing: Framing, stream: &[u8]) -> Vec<Vec<u8>> {
    let content = |(start, end): (u64, Option<u64>)| {
        stream[start as usize..end.map_or(stream.len(), |end| end as usize)].to_vec()
    };
    frames(framing, stream).into_iter().map(content).collect()
}

/// A marker with its segment.
fn segment(code: u8, body: &[u8]) -> Vec<u8> {
    let length = (body.len() + 2) as u16;
    let mut bytes = vec![0xFF, code];
    bytes.extend(length.swap_bytes().to_le_bytes());
    bytes.extend(body);
    bytes
}

/// A picture as cameras make it, with an EXIF thumbnail that is a JPEG of its own.
fn picture(entropy: &[u8]) -> Vec<u8> {
    let thumbnail = [b"Exif\0\0".as_slice(), b"\xFF\xD8\xFF\xDA\0\x02ab\xFF\xD9"].concat();
    [
        vec![0xFF, 0xD8],
        segment(0xE1, &thumbnail),
        segment(0xDB, &[0xFF, 0xD9]),
        segment(0xC0, &[1; 15]),
        segment(0xDA, &[0xFF, 0xD9, 0]),
        entropy.to_vec(),
        vec![0xFF, 0xD9],
    ]
    .concat()
}

#[test]
fn names_are_read_back() {
    let names: Vec<String> = FRAMINGS.iter().map(Framing::to_string).collect();
    assert_eq!(
        names,
        [
            "none",
            "lines",
            "length-prefixed",
            "length-prefixed-be",
            "jpeg"
        ]
    );
    for framing in FRAMINGS {
        assert_eq!(framing.name().parse(), Ok(framing));
    }
    assert_eq!(
        "mjpeg".parse::<Framing>().unwrap_err().to_string(),
        "\"mjpeg\" is not a framing: use none, lines, length-prefixed, length-prefixed-be or jpeg"
    );
}

#[test]
fn a_stream_without_framing_has_no_frames() {
    assert_eq!(frames(Framing::None, b"a\nb\n"), []);
}

#[test]
fn lines_are_frames_with_their_newline_and_the_last_may_be_open() {
    assert_eq!(
        contents(Framing::Lines, b"one\n\ntwo\nthr"),
        [b"one\n".as_slice(), b"\n", b"two\n", b"thr"]
    );
    assert_eq!(
        frames(Framing::Lines, b"one\ntwo"),
        [(0, Some(4)), (4, None)]
    );
    assert_eq!(frames(Framing::Lines, b"one\n"), [(0, Some(4))]);
    assert_eq!(frames(Framing::Lines, b""), []);
}

#[test]
fn frames_that_touch_have_one_mark_between_them_and_none_waits_for_the_next() {
    let mut framer = Framer::new(Framing::Lines);
    let mut marks = Vec::new();
    assert_eq!(framer.push(b"a\nb\n", &mut marks), Ok(4));
    assert_eq!(framer.push(b"c", &mut marks), Ok(1));
    let pairs: Vec<_> = marks.iter().map(|mark| (mark.offset, mark.kind)).collect();
    assert_eq!(
        pairs,
        [
            (0, MarkKind::Begin),
            (2, MarkKind::EndAndBegin),
            (4, MarkKind::End),
            (0, MarkKind::Begin)
        ]
    );
}

#[test]
fn a_mark_of_an_earlier_push_at_the_same_offset_is_left_alone() {
    let mut framer = Framer::new(Framing::Lines);
    let mut marks = vec![FrameMark {
        offset: 0,
        kind: MarkKind::End,
    }];
    assert_eq!(framer.push(b"c", &mut marks), Ok(1));
    assert_eq!(marks.len(), 2);
}

#[test]
fn a_length_prefixed_frame_has_its_prefix_and_may_be_empty() {
    let stream = b"\x02\0\0\0ab\0\0\0\0\x01\0\0\0c\x05\0\0\0de";
    assert_eq!(
        frames(LITTLE, stream),
        [(0, Some(6)), (6, Some(10)), (10, Some(15)), (15, None)]
    );
    let stream = b"\0\0\0\x02ab\0\0\0\0\0\0\0\x01c\0\0\0\x05de";
    assert_eq!(
        frames(BIG, stream),
        [(0, Some(6)), (6, Some(10)), (10, Some(15)), (15, None)]
    );
}

#[test]
fn a_piece_of_a_length_at_the_end_is_no_frame() {
    assert_eq!(frames(LITTLE, b"\x01\0\0\0c\x05\0\0"), [(0, Some(5))]);
}

#[test]
fn a_length_over_the_bound_is_told_once_and_the_rest_has_no_frames() {
    let stream = b"\x01\0\0\0c\0\0\x01\x00\0\0\0\0\0\0\0\x01\0\0\0c";
    let framer = Framer::with_length_bytes_max(LITTLE, 0xFFFF);
    let whole = found(framer.clone(), stream, &[100]);
    assert_eq!(whole, found(framer, stream, &[1]));
    assert_eq!(whole.frames, [(0, Some(5))]);
    assert_eq!(
        whole.error.map(|error| error.to_string()).unwrap(),
        "a frame should begin at byte 5 of the stream, but the length there is 65536 bytes (read \
         as 00 00 01 00), more than the 65535 that a frame may have; from here on the bytes are \
         kept and frames are no longer marked. Check the framing length-prefixed: with \
         length-prefixed-be the length would be 256 bytes"
    );
    let error = found(Framer::new(BIG), b"\x89PNG\r\n", &[6]).error.unwrap();
    assert_eq!(error.length_bytes_max, 256 << 20);
    assert!(error.to_string().ends_with(
        "(read as 89 50 4E 47), more than the 268435456 that a frame may have; from here on the \
         bytes are kept and frames are no longer marked. Check the framing length-prefixed-be: \
         does the source put four bytes of length before each frame?"
    ));
}

#[test]
fn a_length_at_the_bound_is_believed() {
    let framer = Framer::with_length_bytes_max(LITTLE, 2);
    let found = found(framer, b"\x02\0\0\0ab", &[3]);
    assert_eq!(found.frames, [(0, Some(6))]);
    assert_eq!(found.error, None);
}

#[test]
fn pictures_are_frames_and_the_junk_between_them_is_not() {
    let (first, second) = (picture(b"one"), picture(b"two"));
    let stream = [
        b"junk\xFF\0".as_slice(),
        &first,
        &second,
        b"--boundary\xFF\xD9\xFF\xE1\xFF\xFF",
        &first,
        b"\xFF",
    ]
    .concat();
    assert_eq!(
        contents(Framing::Jpeg, &stream),
        [first.clone(), second, first]
    );
}

#[test]
fn entropy_coded_data_hides_no_end_and_no_begin() {
    let picture = picture(b"\xFF\0\xD9a\xFF\xD0\xFF\xD7b\xFF\0\xFF\0\xD8\xFF\x01\xFF\x7Fc");
    assert_eq!(contents(Framing::Jpeg, &picture), [picture]);
}

#[test]
fn scans_of_a_progressive_picture_are_one_frame() {
    let scans = [
        b"scan\xFF\0".to_vec(),
        segment(0xC4, b"\xFF\xD9\xFF\xD8"),
        segment(0xDA, b"\xFF\xD9\0"),
        b"\xFF\xD3scan".to_vec(),
        segment(0xFE, b"\xFF\xD9 a comment"),
        b"\xFF\xFF".to_vec(),
    ];
    let picture = picture(&scans.concat());
    assert_eq!(contents(Framing::Jpeg, &picture), [picture]);
}

#[test]
fn a_picture_that_was_cut_off_ends_where_the_next_begins() {
    let whole = picture(b"whole");
    // The cut falls into entropy-coded data, behind an FF that it left alone, and between two
    // segments.
    for cut in [whole.len() - 3, whole.len() - 1, 2] {
        let stream = [&whole[..cut], &whole].concat();
        assert_eq!(
            contents(Framing::Jpeg, &stream),
            [&whole[..cut], &whole],
            "{cut}"
        );
    }
}

#[test]
fn lengths_that_cannot_be_do_not_hide_the_end() {
    for length in [b"\0\0", b"\0\x01", b"\0\x02"] {
        let picture = [b"\xFF\xD8\xFF\xE0".as_slice(), length, b"\xFF\xD9"].concat();
        let stream = [&*picture, b"junk"].concat();
        assert_eq!(contents(Framing::Jpeg, &stream), [picture]);
    }
}

#[test]
fn a_segment_that_was_cut_off_costs_no_more_than_its_length() {
    let whole = picture(b"whole");
    let cut = [b"\xFF\xD8\xFF\xE1\0\x40".as_slice(), b"cut"].concat();
    let stream = [&*cut, &whole, &whole].concat();
    let end = (cut.len() + whole.len()) as u64;
    assert_eq!(
        frames(Framing::Jpeg, &stream),
        [(0, Some(end)), (end, Some(end + whole.len() as u64))]
    );
    // This is the longest length there is, with nothing behind it.
    let open = [
        b"\xFF\xD8\xFF\xE1\xFF\xFF".as_slice(),
        &[0xFF; 65_533],
        b"\xFF\xD9",
    ]
    .concat();
    assert_eq!(frames(Framing::Jpeg, &open), [(0, Some(open.len() as u64))]);
    assert_eq!(frames(Framing::Jpeg, &open[..65_000]), [(0, None)]);
}

#[test]
fn a_run_of_ff_is_filling_before_any_marker() {
    let run = [0xFF; 1000];
    assert_eq!(frames(Framing::Jpeg, &run), []);
    let stream = [&run, b"\xD8".as_slice(), &run, b"\xD9", &run].concat();
    assert_eq!(frames(Framing::Jpeg, &stream), [(999, Some(2002))]);
}

/// Bytes that are likely to mean something to one framing or another.
fn hostile_bytes() -> impl Strategy<Value = Vec<u8>> {
    let byte = prop_oneof![
        4 => Just(0xFFu8),
        2 => prop::sample::select(b"\x00\x01\x02\x03\x08\n".to_vec()),
        3 => prop::sample::select(b"\xD8\xD9\xDA\xC4\xE1\xD0".to_vec()),
        1 => any::<u8>(),
    ];
    prop::collection::vec(byte, 0..200)
}

/// Bytes with whole frames among them.
fn framed_bytes() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        prop::collection::vec(0u8..0xFF, 0..30).prop_map(|entropy| picture(&entropy)),
        prop::collection::vec(any::<u8>(), 0..30)
            .prop_map(|body| { [&(body.len() as u32).to_le_bytes(), &*body].concat() }),
        "[a-z]{0,9}\n".prop_map(String::into_bytes),
        hostile_bytes(),
    ];
    prop::collection::vec(piece, 0..6).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn any_split_gives_the_same_frames(
        stream in framed_bytes(),
        piece_sizes in prop::collection::vec(1usize..40, 1..20),
        bound in prop_oneof![Just(40u32), Just(1000), Just(u32::MAX)],
    ) {
        for framing in FRAMINGS {
            let framer = Framer::with_length_bytes_max(framing, bound);
            let whole = found(framer.clone(), &stream, &[usize::MAX >> 1]);
            prop_assert_eq!(&whole, &found(framer, &stream, &piece_sizes));
        }
    }

    #[test]
    fn lines_are_what_split_inclusive_says(stream in "[a\n]{0,60}") {
        let lines: Vec<&[u8]> = stream.as_bytes().split_inclusive(|byte| *byte == b'\n').collect();
        prop_assert_eq!(contents(Framing::Lines, stream.as_bytes()), lines);
    }

    #[test]
    fn bodies_of_any_length_come_back(
        bodies in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..50), 0..10),
        big: bool,
    ) {
        let frame = |body: &Vec<u8>| {
            let length = body.len() as u32;
            let length = if big { length.swap_bytes() } else { length };
            [&length.to_le_bytes(), &**body].concat()
        };
        let expected: Vec<Vec<u8>> = bodies.iter().map(frame).collect();
        let framing = if big { BIG } else { LITTLE };
        prop_assert_eq!(contents(framing, &expected.concat()), expected);
    }

    #[test]
    fn pictures_with_any_segments_and_data_come_back(
        pictures in prop::collection::vec(
            prop::collection::vec(
                (0xE0u8..=0xEF, prop::collection::vec(any::<u8>(), 0..40), "[a-z]{0,9}"),
                0..4,
            ),
            0..5,
        ),
        junk in prop::collection::vec(0u8..0xFF, 0..20),
    ) {
        let whole = |segments: &Vec<(u8, Vec<u8>, String)>| {
            let scans = segments.iter().map(|(code, body, data)| {
                [segment(*code, body), b"\xFF\0".to_vec(), data.clone().into_bytes()].concat()
            });
            picture(&scans.collect::<Vec<_>>().concat())
        };
        let expected: Vec<Vec<u8>> = pictures.iter().map(whole).collect();
        let stream = [&*junk, &expected.join(&*junk), &junk].concat();
        prop_assert_eq!(contents(Framing::Jpeg, &stream), expected);
    }
}
