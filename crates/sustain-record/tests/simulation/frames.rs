//! Checks frames that are read back against those that the sources marked.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

use sustain_record::format::Kind;
use sustain_record::reading::frames::{FrameReader, Framed};
use sustain_record::reading::part::StreamPart;
use sustain_record::reading::scope::Scope;
use sustain_record::reading::stream::{Range as Wanted, StreamReader};

use crate::check::{ReadBack, View};
use crate::draw::Draw;
use crate::inlet::StreamFacts;
use crate::spans::Spans;

/// Reads all frames of a stream.
pub fn check_frames(view: &View<'_>, scope: &Scope, stream: u16, read: &ReadBack) {
    let facts = &view.recorded.streams[usize::from(stream)];
    if !facts.is_framed() {
        return;
    }
    let times: HashMap<u64, i64> = facts.frames.iter().copied().collect();
    let reader = StreamReader::open(scope, stream, &Wanted::All).expect("it can be read");
    let mut next = None;
    let mut last_time_ns = i64::MIN;
    let mut whole = HashMap::new();
    for framed in FrameReader::new(reader) {
        match framed.expect("frames can be read") {
            Framed::Frame(frame) => {
                let number = frame.number;
                assert_eq!(
                    frame.offset_bytes,
                    facts.frame_start(number),
                    "frame {number}"
                );
                let wrong = facts.check(frame.offset_bytes, &frame.bytes);
                assert_eq!(wrong, None, "a wrong byte in frame {number}");
                assert_eq!(
                    Some(&frame.time_ns),
                    times.get(&number),
                    "time of frame {number}"
                );
                assert!(
                    frame.time_ns >= last_time_ns,
                    "frame {number} goes back in time"
                );
                last_time_ns = frame.time_ns;
                assert!(
                    next.is_none_or(|next| next == number),
                    "{next:?} is next, not {number}"
                );
                next = Some(number + 1);
                if frame.whole {
                    assert_eq!(frame.bytes.len() as u64, facts.frame_bytes(number));
                }
                whole.insert(number, frame.whole);
            }
            Framed::Overwritten { numbers, .. } => {
                assert_eq!(next, None, "only what comes first is written over");
                next = numbers.map(|numbers| numbers.end);
            }
            Framed::Missing { numbers, .. } => {
                assert!(
                    next.is_none_or(|next| next == numbers.start),
                    "{next:?}, {numbers:?}"
                );
                next = Some(numbers.end);
            }
        }
    }
    let marked = intact_marks(view, stream);
    for (number, _) in &facts.frames {
        let start = facts.frame_start(*number);
        let range = start..start + facts.frame_bytes(*number);
        // Where a frame ends with an append, its end may be in the next one.
        let with_end = range.start..range.end + 1;
        if read.data.covers(with_end.clone()) && marked.covers(with_end) {
            assert_eq!(
                whole.get(number),
                Some(&true),
                "frame {number} of stream {stream} is lost, {start} + {}",
                facts.frame_bytes(*number)
            );
        }
    }
}

/// The outcome for a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    Whole,
    NotWhole,
    Missing,
    Overwritten,
}

/// What reading a range returns for each frame: each once, and in order.
#[derive(Debug, Default)]
struct Given {
    fates: BTreeMap<u64, Fate>,
    /// Whether frames may have been overwritten whose numbers are not named.
    is_overwritten: bool,
}

impl Given {
    fn of(scope: &Scope, stream: u16, wanted: &Wanted) -> Given {
        let reader = StreamReader::open(scope, stream, wanted).expect("a range can be read");
        let mut given = Given::default();
        for framed in FrameReader::new(reader) {
            let (numbers, fate) = match framed.expect("frames can be read") {
                Framed::Frame(frame) if frame.whole => {
                    (frame.number..frame.number + 1, Fate::Whole)
                }
                Framed::Frame(frame) => (frame.number..frame.number + 1, Fate::NotWhole),
                Framed::Missing { numbers, .. } => (numbers, Fate::Missing),
                Framed::Overwritten { numbers, .. } => {
                    given.is_overwritten = true;
                    (numbers.unwrap_or(0..0), Fate::Overwritten)
                }
            };
            for number in numbers {
                let last = given.fates.last_key_value();
                assert!(
                    last.is_none_or(|(last, _)| *last < number),
                    "{wanted:?} gives {number} behind {last:?}"
                );
                given.fates.insert(number, fate);
            }
        }
        given
    }
}

/// Checks that ranges of frames and of time return just what the whole stream returns of them.
pub fn check_frame_ranges(view: &View<'_>, scope: &Scope, stream: u16, draw: &mut Draw) {
    let facts = &view.recorded.streams[usize::from(stream)];
    if !facts.is_framed() {
        return;
    }
    let known = scope.known_frames[usize::from(stream)];
    let all = Given::of(scope, stream, &Wanted::All).fates;
    assert!(
        all.keys().copied().eq(0..known),
        "{known} frames are listed, and not all are told: {all:?}"
    );
    let start = draw.below(known + 1);
    let numbers = start..start + draw.below(known + 3 - start);
    let wanted = Wanted::Frames(numbers.clone());
    let given = Given::of(scope, stream, &wanted).fates;
    let of_all = all.range(numbers.start..numbers.end);
    assert!(
        of_all.eq(given.iter()),
        "{numbers:?} of {all:?} gives {given:?}"
    );
    let data = data_of(scope, stream, &wanted);
    if numbers.is_empty() {
        assert!(data.is_empty(), "no frame is wanted");
        return;
    }
    let mut outside = data.clone();
    outside.remove(facts.frame_start(numbers.start)..facts.frame_start(numbers.end));
    assert!(outside.is_empty(), "{numbers:?} gives {outside:?} too");
    let is_whole = |number: &u64| all.get(number) == Some(&Fate::Whole);
    for number in numbers.filter(is_whole) {
        let of_frame = facts.frame_start(number)..facts.frame_start(number + 1);
        assert!(
            data.covers(of_frame),
            "the bytes of frame {number} are not given"
        );
    }
    check_time_range(facts, scope, stream, &all, draw);
}

fn check_time_range(
    facts: &StreamFacts,
    scope: &Scope,
    stream: u16,
    all: &BTreeMap<u64, Fate>,
    draw: &mut Draw,
) {
    if facts.frames.is_empty() {
        return;
    }
    let mut time = || facts.frames[draw.below(facts.frames.len() as u64) as usize].1;
    let (one, other) = (time(), time());
    let times: Range<i64> = one.min(other)..one.max(other) + 1;
    let wanted = Wanted::Time(times.clone());
    let given = Given::of(scope, stream, &wanted);
    let data = data_of(scope, stream, &wanted);
    for (number, time_ns) in &facts.frames {
        let Some(fate) = all.get(number) else {
            continue;
        };
        let found = given.fates.get(number);
        let of_frame = facts.frame_start(*number)..facts.frame_start(*number + 1);
        if !times.contains(time_ns) {
            let is_given = matches!(found, Some(Fate::Whole | Fate::NotWhole));
            assert!(!is_given, "frame {number} at {time_ns} is not of {times:?}");
            let is_in_data = *fate == Fate::Whole && data.has(of_frame.start);
            assert!(
                !is_in_data,
                "the bytes of frame {number} are not of {times:?}"
            );
        } else if *fate == Fate::Overwritten {
            assert!(
                given.is_overwritten,
                "frame {number} is left out in silence"
            );
        } else {
            assert_eq!(
                found,
                Some(fate),
                "frame {number} at {time_ns} of {times:?}"
            );
            let is_in_data = *fate != Fate::Whole || data.covers(of_frame);
            assert!(is_in_data, "the bytes of frame {number} are not given");
        }
    }
}

/// The bytes that a range returns.
fn data_of(scope: &Scope, stream: u16, wanted: &Wanted) -> Spans {
    let reader = StreamReader::open(scope, stream, wanted).expect("a range can be read");
    let mut data = Spans::default();
    let mut end_bytes = 0;
    for part in reader {
        let part = part.expect("a range can be read");
        assert!(part.offset_bytes() >= end_bytes, "no byte comes twice");
        end_bytes = part.end_bytes();
        if let StreamPart::Data { .. } = part {
            data.add(part.offset_bytes()..end_bytes);
        }
    }
    data
}

/// Stretches of a stream whose appends are promised with their marks.
fn intact_marks(view: &View<'_>, stream: u16) -> Spans {
    let mut marked = Spans::default();
    let Some(from) = view.readable_from() else {
        return marked;
    };
    let of = view.promised().filter(|append| {
        append.kind == Kind::Data
            && append.stream == stream
            && !append.marks_are_damaged
            && append.sequence >= from
    });
    for append in of {
        marked.add(append.payload.clone());
    }
    marked
}
