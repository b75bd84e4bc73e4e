//! The frames of a framed stream, put together across appends, each said to be whole or not. A
//! frame is never made of bytes that do not follow each other.

use std::collections::VecDeque;
use std::ops::Range as Span;

use super::bytes::SharedBytes;
use super::choice::{Choice, Side};
use super::locate::Mark;
use super::part::Part;
use super::stream::StreamReader;
use crate::error::RecordError;
use crate::format::MarkKind;
use crate::source::framing::Framing;

/// Larger frames are cut there, and are not whole: read them as bytes.
pub const FRAME_BYTES_MAX: usize = 1 << 30;
const LENGTH_PREFIX_BYTES: usize = 4;
/// More lost stretches than these are not kept for whoever asks for them.
const LOST_MAX: usize = 10_000;

/// A frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame {
    /// Counted from 0 through the whole stream, lost frames included.
    pub number: u64,
    /// When its first byte arrived, in nanoseconds since 1970.
    pub time_ns: i64,
    /// Of its first byte in the stream.
    pub offset_bytes: u64,
    /// Its bytes; of one that is not whole, those before the first that is lost.
    pub bytes: SharedBytes,
    /// Whether this is all of it.
    pub whole: bool,
    framing: Framing,
}

/// What frames are made into.
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
    /// Frames that a ring has written over. Nothing is before them.
    Overwritten {
        /// Their numbers; none where a time was asked for, since nobody knows theirs any more.
        numbers: Option<Span<u64>>,
        /// The number of the oldest frame that is left, if it was recorded.
        oldest: u64,
        /// Where what is left of the stream begins.
        before_bytes: u64,
    },
}

/// The frames of a stream, in order.
pub struct FrameReader {
    parts: StreamReader,
    joiner: Joiner,
    is_at_end: bool,
    /// What was met and is lost, until it is asked for.
    lost: Vec<Part>,
}

/// A mark with its place in the stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Marked {
    pub(super) offset_bytes: u64,
    pub(super) kind: MarkKind,
    /// Of the frame that begins there: its number and time.
    pub(super) number: Option<(u64, i64)>,
}

/// Puts frames together from parts. Pure.
#[derive(Debug)]
struct Joiner {
    framing: Framing,
    /// Which frames are wanted; none if all are.
    choice: Option<Choice>,
    open: Option<Open>,
    /// The number of the next frame, once known.
    next_number: Option<u64>,
    /// Of the last frame whose beginning was met.
    side: Side,
    /// Told before the first frame, unless that shows that none of them was wanted.
    overwritten: Option<Framed>,
    readable: Mark,
    /// Whether bytes of no frame belong to what is wanted.
    counts_unframed: bool,
    ready: VecDeque<Framed>,
    unframed_bytes: u64,
}

#[derive(Debug)]
struct Open {
    is_wanted: bool,
    number: u64,
    time_ns: i64,
    offset_bytes: u64,
    bytes: Joined,
    whole: bool,
}

/// One stretch is not copied; more are.
#[derive(Debug)]
enum Joined {
    None,
    One(SharedBytes),
    Many(Vec<u8>),
}

impl Frame {
    /// The frame without what only says how long it is: of length-prefixed frames what follows the
    /// four bytes, of others all.
    pub fn body(&self) -> &[u8] {
        let skip = match self.framing {
            Framing::LengthPrefixed { .. } => LENGTH_PREFIX_BYTES.min(self.bytes.len()),
            Framing::None | Framing::Lines | Framing::Jpeg => 0,
        };
        &self.bytes[skip..]
    }
}

/// The marks that lie in a part, or at its end if its append ends there; none if where frames begin
/// in it is not known.
pub(super) fn marks_in(part: &Part) -> Option<Vec<Marked>> {
    let origin = match part {
        Part::Data { origin, .. } => origin,
        Part::Hole { origin, .. } => origin.as_ref()?,
        Part::Gap { .. } | Part::OpenEnd { .. } => return Some(Vec::new()),
        Part::Overwritten { .. } => return None,
    };
    let descriptor = &origin.descriptor;
    origin.marks.as_ref()?;
    let marks = origin.marks().ok()?;
    let mut next_number = descriptor.first_frame;
    let (start, end) = (part.offset_bytes(), part.end_bytes());
    let mut marked = Vec::new();
    for mark in marks {
        let offset_bytes = descriptor.stream_offset_bytes + mark.offset_bytes;
        let number = mark.time_ns.map(|time_ns| (next_number, time_ns));
        next_number += u64::from(number.is_some());
        let is_last = offset_bytes == end && end == origin.end_bytes();
        if (start..end).contains(&offset_bytes) || is_last {
            marked.push(Marked {
                offset_bytes,
                kind: mark.kind,
                number,
            });
        }
    }
    Some(marked)
}

/// Whether a frame ends there, at the end of a part that goes on beyond what is wanted.
fn ends_frame_at(part: &Part, end_bytes: u64) -> bool {
    let Part::Data { origin, .. } = part else {
        return false;
    };
    let base = origin.descriptor.stream_offset_bytes;
    let marks = origin.marks().unwrap_or_default();
    marks
        .iter()
        .any(|mark| mark.kind != MarkKind::Begin && base + mark.offset_bytes == end_bytes)
}

impl FrameReader {
    /// The frames of what a reader gives. Bytes before the first frame that begins there are
    /// passed over.
    pub fn new(parts: StreamReader) -> FrameReader {
        FrameReader {
            joiner: Joiner::new(&parts),
            parts,
            is_at_end: false,
            lost: Vec::new(),
        }
    }

    /// The lost stretches of the stream that were met since this was asked for the last time, in
    /// order: also those beside the frames that are wanted. Of more than 10,000 the first.
    pub fn lost(&mut self) -> Vec<Part> {
        std::mem::take(&mut self.lost)
    }

    /// Bytes that were passed over so far: they are there, and belong to no frame that begins in
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
    fn take(&mut self, part: &Part) {
        self.joiner.take(part);
        let is_there = matches!(part, Part::Data { .. } | Part::OpenEnd { .. });
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
            side: Side::Before,
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

    /// Frames before what is left may have been wanted.
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

    /// Whether a frame is open that is wanted.
    fn is_within(&self) -> bool {
        self.open.as_ref().is_some_and(|open| open.is_wanted)
    }

    /// Whether no frame that is wanted can follow.
    fn is_past(&self) -> bool {
        matches!(self.choice, Some(Choice::Frames(_))) && self.side == Side::Behind
    }

    fn take(&mut self, part: &Part) {
        let is_all_before =
            |part: &Part| part.offset_bytes() == 0 && part.end_bytes() == self.readable.bytes;
        if matches!(part, Part::Overwritten { .. }) && is_all_before(part) && self.choice.is_none()
        {
            self.overwrite();
        }
        let marks = marks_in(part);
        let (start, end) = (part.offset_bytes(), part.end_bytes());
        // Where the marks are not known, nobody knows whether the frame goes on here.
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
                // The end of the one before is lost.
                self.damage();
                self.close();
                self.begin(number, time_ns, at);
            }
        }
        self.extend(part, at..end);
    }

    /// No more is wanted from there on, where a frame ends or not.
    fn cut(&mut self, end_bytes: u64, ends_frame: bool) {
        self.open = self
            .open
            .take()
            .filter(|open| open.offset_bytes < end_bytes);
        if ends_frame {
            self.close();
        }
    }

    /// No more parts come; `frames` have begun before `end_bytes`, if that is known.
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
        let side = choice.map_or(Side::Inside, |choice| choice.side(number, time_ns));
        self.tell_overwritten(side);
        self.miss(number, side, offset_bytes);
        self.next_number = Some(number.saturating_add(1));
        self.side = side;
        self.open = Some(Open {
            is_wanted: side == Side::Inside,
            number,
            time_ns,
            offset_bytes,
            bytes: Joined::None,
            whole: true,
        });
    }

    /// If the first frame that is left lies before those that are wanted, none of them was written
    /// over.
    fn tell_overwritten(&mut self, side: Side) {
        let overwritten = self.overwritten.take();
        self.ready
            .extend(overwritten.filter(|_| side != Side::Before));
    }

    /// The next frame that is there, if there is one, has this number: those before it are lost.
    fn miss(&mut self, number: u64, after: Side, before_bytes: u64) {
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

    /// The open frame goes on with a range of a part, or loses it.
    fn extend(&mut self, part: &Part, range: Span<u64>) {
        if range.is_empty() {
            return;
        }
        let Some(open) = &mut self.open else {
            let counts = matches!(part, Part::Data { .. }) && self.counts_unframed;
            self.unframed_bytes += if counts { range.end - range.start } else { 0 };
            return;
        };
        if !open.whole || !open.is_wanted {
            return;
        }
        let start = part.offset_bytes();
        let cut = (range.start - start) as usize..(range.end - start) as usize;
        match part {
            Part::Data { bytes, .. } => open.whole = open.bytes.push(&bytes.slice(cut)),
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
    /// Whether there was room for it.
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
