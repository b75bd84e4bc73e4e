//! Puts the frames of a framed stream together across appends, and says of each whether it is
//! whole. A frame is never made of bytes that do not follow each other.

use std::collections::VecDeque;
use std::ops::Range as Span;

use super::bytes::SharedBytes;
use super::choice::{Choice, ChoiceSide};
use super::located_byte::LocatedByte;
use super::part::StreamPart;
use super::placed_marks::marks_in;
use super::stream::StreamReader;
use crate::error::RecordError;
use crate::format::MarkKind;
use crate::source::framing::Framing;

/// Larger frames are cut at this length, and are not whole. Read them as bytes.
pub const FRAME_BYTES_MAX: usize = 1 << 30;
const LENGTH_PREFIX_BYTES: usize = 4;
/// The most lost stretches that are kept for the caller.
const LOST_MAX: usize = 10_000;

/// A frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame {
    /// Its number, counted from 0 through the whole stream, lost frames included.
    pub number: u64,
    /// When its first byte arrived, in nanoseconds since 1970.
    pub time_ns: i64,
    /// Offset of its first byte in the stream.
    pub offset_bytes: u64,
    /// Its bytes. If it is not whole, they are those before the first byte that is lost.
    pub bytes: SharedBytes,
    /// Whether this is the complete frame.
    pub whole: bool,
    framing: Framing,
}

/// An item of a stream of frames.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Framed {
    /// A frame.
    Frame(Frame),
    /// Frames whose beginnings are lost.
    Missing {
        /// Their numbers.
        numbers: Span<u64>,
        /// The first byte behind them.
        before_bytes: u64,
    },
    /// Frames that a ring has overwritten. No other item comes before them.
    Overwritten {
        /// Their numbers; `None` where a time was asked for, because their times are not known any
        /// more.
        numbers: Option<Span<u64>>,
        /// The number of the oldest frame that is left, if it was recorded.
        oldest: u64,
        /// Offset in the stream at which the rest begins.
        before_bytes: u64,
    },
}

/// The frames of a stream, in order.
pub struct FrameReader {
    parts: StreamReader,
    joiner: Joiner,
    is_at_end: bool,
    /// The losses that were met, until the caller takes them.
    lost: Vec<StreamPart>,
}

/// Puts frames together from parts. It is pure.
#[derive(Debug)]
struct Joiner {
    framing: Framing,
    /// Which frames are wanted; `None` if all are.
    choice: Option<Choice>,
    open: Option<OpenFrame>,
    /// The number of the next frame, once it is known.
    next_number: Option<u64>,
    /// The side of the last frame whose beginning was met.
    side: ChoiceSide,
    /// Reported before the first frame, unless that shows that none of these was wanted.
    overwritten: Option<Framed>,
    readable: LocatedByte,
    /// Whether bytes of no frame belong to what is wanted.
    counts_unframed: bool,
    ready: VecDeque<Framed>,
    unframed_bytes: u64,
}

#[derive(Debug)]
struct OpenFrame {
    is_wanted: bool,
    number: u64,
    time_ns: i64,
    offset_bytes: u64,
    bytes: Joined,
    whole: bool,
}

/// The bytes of a frame. One stretch is not copied; several are.
#[derive(Debug)]
enum Joined {
    None,
    One(SharedBytes),
    Many(Vec<u8>),
}

impl Frame {
    /// The frame without its length: for length-prefixed frames the bytes behind the first four,
    /// for others all bytes.
    pub fn body(&self) -> &[u8] {
        let skip = match self.framing {
            Framing::LengthPrefixed { .. } => LENGTH_PREFIX_BYTES.min(self.bytes.len()),
            Framing::None | Framing::Lines | Framing::Jpeg => 0,
        };
        &self.bytes[skip..]
    }
}

/// Whether a frame ends at the end of a part that goes on beyond what is wanted.
fn ends_frame_at(part: &StreamPart, end_bytes: u64) -> bool {
    let StreamPart::Data { origin, .. } = part else {
        return false;
    };
    let base = origin.descriptor.stream_offset_bytes;
    let marks = origin.marks().unwrap_or_default();
    marks
        .iter()
        .any(|mark| mark.kind != MarkKind::Begin && base + mark.offset_bytes == end_bytes)
}

impl FrameReader {
    /// Reads the frames of what `parts` returns. Bytes before the first frame that begins there are
    /// passed over.
    pub fn new(parts: StreamReader) -> FrameReader {
        FrameReader {
            joiner: Joiner::new(&parts),
            parts,
            is_at_end: false,
            lost: Vec::new(),
        }
    }

    /// Returns the lost stretches of the stream that were met since the last call, in order,
    /// including those beside the frames that are wanted. Of more than 10,000 it returns the first.
    pub fn lost(&mut self) -> Vec<StreamPart> {
        std::mem::take(&mut self.lost)
    }

    /// Bytes that were passed over so far: they are whole, and belong to no frame that begins in
    /// what is read.
    pub fn unframed_bytes(&self) -> u64 {
        self.joiner.unframed_bytes
    }
}

impl Iterator for FrameReader {
    type Item = Result<Framed, RecordError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(framed) = self.joiner.ready.pop_front() {
                return Some(Ok(framed));
            }
            if self.is_at_end {
                return None;
            }
            match self.parts.next_in_window() {
                Some(Ok(part)) => self.take(&part),
                Some(Err(error)) => {
                    self.is_at_end = true;
                    return Some(Err(error));
                }
                None => self.finish(),
            }
        }
    }
}

impl FrameReader {
    fn take(&mut self, part: &StreamPart) {
        self.joiner.take(part);
        let is_there = matches!(part, StreamPart::Data { .. } | StreamPart::OpenEnd { .. });
        if !is_there && part.length_bytes() > 0 && self.lost.len() < LOST_MAX {
            self.lost.push(part.clone());
        }
        let end_bytes = part.end_bytes();
        if self.parts.is_cut_at(end_bytes) {
            self.joiner.cut(end_bytes, ends_frame_at(part, end_bytes));
        }
        let is_behind = self.parts.is_behind_window() && !self.joiner.is_within();
        if is_behind || self.joiner.is_past() {
            self.finish();
        }
    }

    fn finish(&mut self) {
        self.is_at_end = true;
        let (frames, is_end_of_stream) = self.parts.frames_at_end();
        self.joiner
            .finish(frames, is_end_of_stream, self.parts.next_bytes());
    }
}

impl Joiner {
    fn new(parts: &StreamReader) -> Joiner {
        let (readable, is_overwritten) = parts.readable();
        let mut joiner = Joiner {
            framing: parts.framing(),
            choice: parts.choice().cloned(),
            open: None,
            next_number: parts.next_number(),
            side: ChoiceSide::Before,
            overwritten: None,
            readable,
            counts_unframed: parts.choice().is_none(),
            ready: VecDeque::new(),
            unframed_bytes: 0,
        };
        if is_overwritten {
            joiner.overwrite();
        }
        joiner
    }

    /// Notes that frames before the rest of the stream may have been wanted.
    fn overwrite(&mut self) {
        let readable = self.readable;
        let numbers = match &self.choice {
            Some(Choice::Frames(wanted)) => Some(wanted.start..wanted.end.min(readable.frames)),
            Some(Choice::Time(_)) => None,
            None => Some(0..readable.frames),
        };
        let overwritten = Framed::Overwritten {
            numbers,
            oldest: readable.frames,
            before_bytes: readable.bytes,
        };
        match &self.choice {
            Some(Choice::Time(_)) => self.overwritten = Some(overwritten),
            _ => self.ready.push_back(overwritten),
        }
    }

    /// Whether a wanted frame is open.
    fn is_within(&self) -> bool {
        self.open.as_ref().is_some_and(|open| open.is_wanted)
    }

    /// Whether no wanted frame can follow.
    fn is_past(&self) -> bool {
        matches!(self.choice, Some(Choice::Frames(_))) && self.side == ChoiceSide::Behind
    }

    fn take(&mut self, part: &StreamPart) {
        let is_all_before =
            |part: &StreamPart| part.offset_bytes() == 0 && part.end_bytes() == self.readable.bytes;
        if matches!(part, StreamPart::Overwritten { .. })
            && is_all_before(part)
            && self.choice.is_none()
        {
            self.overwrite();
        }
        let marks = marks_in(part);
        let (start, end) = (part.offset_bytes(), part.end_bytes());
        // Where the marks are unknown, it is not known whether the frame goes on here.
        if marks.is_none() && start < end {
            self.damage();
        }
        let mut at = start;
        for mark in marks.unwrap_or_default() {
            self.extend(part, at..mark.offset_bytes);
            at = mark.offset_bytes;
            if mark.kind != MarkKind::Begin {
                self.close();
            }
            if let Some((number, time_ns)) = mark.number {
                // The end of the frame before is lost.
                self.damage();
                self.close();
                self.begin(number, time_ns, at);
            }
        }
        self.extend(part, at..end);
    }

    /// Notes that nothing more is wanted from there on, where a frame ends or not.
    fn cut(&mut self, end_bytes: u64, ends_frame: bool) {
        self.open = self
            .open
            .take()
            .filter(|open| open.offset_bytes < end_bytes);
        if ends_frame {
            self.close();
        }
    }

    /// Takes note that no more parts come. `frames` have begun before `end_bytes`, if that is
    /// known.
    fn finish(&mut self, frames: Option<u64>, is_end_of_stream: bool, end_bytes: u64) {
        self.damage();
        self.close();
        let after = self.side.at_end(is_end_of_stream);
        self.tell_overwritten(after);
        if let Some(frames) = frames {
            self.miss(frames, after, end_bytes);
        }
    }

    fn begin(&mut self, number: u64, time_ns: i64, offset_bytes: u64) {
        let choice = self.choice.as_ref();
        let side = choice.map_or(ChoiceSide::Inside, |choice| choice.side(number, time_ns));
        self.tell_overwritten(side);
        self.miss(number, side, offset_bytes);
        self.next_number = Some(number.saturating_add(1));
        self.side = side;
        self.open = Some(OpenFrame {
            is_wanted: side == ChoiceSide::Inside,
            number,
            time_ns,
            offset_bytes,
            bytes: Joined::None,
            whole: true,
        });
    }

    /// Reports overwritten frames before the first frame. If the first frame that is left lies
    /// before those that are wanted, none of them was overwritten.
    fn tell_overwritten(&mut self, side: ChoiceSide) {
        let overwritten = self.overwritten.take();
        self.ready
            .extend(overwritten.filter(|_| side != ChoiceSide::Before));
    }

    /// Notes that the next frame that is there has this number. Those before it are lost.
    fn miss(&mut self, number: u64, after: ChoiceSide, before_bytes: u64) {
        let Some(next) = self.next_number.filter(|next| *next < number) else {
            return;
        };
        let numbers = match &self.choice {
            Some(choice) => choice.of_lost(next..number, self.side, after),
            None => next..number,
        };
        if !numbers.is_empty() {
            self.ready.push_back(Framed::Missing {
                numbers,
                before_bytes,
            });
        }
    }

    /// Continues the open frame with a range of a part, or damages it.
    fn extend(&mut self, part: &StreamPart, range: Span<u64>) {
        if range.is_empty() {
            return;
        }
        let Some(open) = &mut self.open else {
            let counts = matches!(part, StreamPart::Data { .. }) && self.counts_unframed;
            self.unframed_bytes += if counts { range.end - range.start } else { 0 };
            return;
        };
        if !open.whole || !open.is_wanted {
            return;
        }
        let start = part.offset_bytes();
        let cut = (range.start - start) as usize..(range.end - start) as usize;
        match part {
            StreamPart::Data { bytes, .. } => open.whole = open.bytes.push(&bytes.slice(cut)),
            _ => open.whole = false,
        }
    }

    fn damage(&mut self) {
        if let Some(open) = &mut self.open {
            open.whole = false;
        }
    }

    fn close(&mut self) {
        let Some(open) = self.open.take() else { return };
        if let Some(choice) = &self.choice {
            self.counts_unframed = choice.goes_with(Some(open.number), self.side);
        }
        if open.is_wanted {
            self.ready.push_back(Framed::Frame(Frame {
                number: open.number,
                time_ns: open.time_ns,
                offset_bytes: open.offset_bytes,
                bytes: open.bytes.into_bytes(),
                whole: open.whole,
                framing: self.framing,
            }));
        }
    }
}

impl Joined {
    /// Adds bytes. Returns whether they fit.
    fn push(&mut self, more: &SharedBytes) -> bool {
        let (mut bytes, is_first) = match std::mem::replace(self, Joined::None) {
            Joined::None => (Vec::new(), true),
            Joined::One(one) => (one.to_vec(), false),
            Joined::Many(many) => (many, false),
        };
        let fits = bytes.len() + more.len() <= FRAME_BYTES_MAX;
        *self = if is_first && fits {
            Joined::One(more.clone())
        } else {
            let room = FRAME_BYTES_MAX - bytes.len();
            bytes.extend_from_slice(&more[..more.len().min(room)]);
            Joined::Many(bytes)
        };
        fits
    }

    fn into_bytes(self) -> SharedBytes {
        match self {
            Joined::None => SharedBytes::from(Vec::new()),
            Joined::One(one) => one,
            Joined::Many(many) => SharedBytes::from(many),
        }
    }
}
