//! Frames that are read back, against those that the sources marked.

use std::collections::HashMap;

use sustain_record::format::Kind;
use sustain_record::reading::frames::{FrameReader, Framed};
use sustain_record::reading::scope::Scope;
use sustain_record::reading::stream::{Range as Wanted, StreamReader};

use crate::check::{ReadBack, View};
use crate::spans::Spans;

/// Reads all frames of a stream.
pub fn check_frames(view: &View<'_>, scope: &Scope, stream: u16, read: &ReadBack) {
    let facts = &view.recorded.streams[usize::from(stream)];
    let Some(frames) = facts.synthetic.frames() else {
        return;
    };
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
                    frames.start_bytes(number),
                    "frame {number}"
                );
                let wrong = facts.synthetic.check(frame.offset_bytes, &frame.bytes);
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
                    assert_eq!(frame.bytes.len() as u64, frames.size_bytes(number));
                }
                whole.insert(number, frame.whole);
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
        let start = frames.start_bytes(*number);
        let range = start..start + frames.size_bytes(*number);
        // Where a frame ends with an append, its end may be told by the next one.
        let with_end = range.start..range.end + 1;
        if read.data.covers(with_end.clone()) && marked.covers(with_end) {
            assert_eq!(
                whole.get(number),
                Some(&true),
                "frame {number} of stream {stream} is lost, {start} + {}",
                frames.size_bytes(*number)
            );
        }
    }
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
