//! The frames of a framed stream, put together across appends, each said to be whole or not. A
//! frame is never made of bytes that do not follow each other.

use std::collections::VecDeque;
use std::ops::Range as Span;

use super::bytes::SharedBytes;
use super::part::Part;
use super::stream::StreamReader;
use crate::error::RecordError;
use crate::format::MarkKind;
use crate::source::framing::Framing;

/// Larger frames are cut there, and are not whole: read them as bytes.
pub const FRAME_BYTES_MAX: usize = 1 << 30;
const LENGTH_PREFIX_BYTES: usize = 4;

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
}

/// The frames of a stream, in order.
pub struct FrameReader {
    parts: StreamReader,
    joiner: Joiner,
    is_at_end: bool,
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
    open: Option<Open>,
    /// The number of the next frame, once known.
    next_number: Option<u64>,
    ready: VecDeque<Framed>,
    unframed_bytes: u64,
}

#[derive(Debug)]
struct Open {
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

impl Marked {
    pub(super) fn begins_at_or_after(&self, from_ns: i64) -> bool {
        self.number.is_some_and(|(_, time_ns)| time_ns >= from_ns)
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
        let next_number = parts.begins_at_start().then_some(0);
        FrameReader {
            joiner: Joiner::new(parts.framing(), next_number),
            parts,
            is_at_end: false,
        }
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
            match self.parts.next() {
                Some(Ok(part)) => {
                    self.joiner.take(&part);
                    let end_bytes = part.end_bytes();
                    if self.parts.is_cut_at(end_bytes) {
                        self.joiner.cut(end_bytes, ends_frame_at(&part, end_bytes));
                    }
                }
                Some(Err(error)) => {
                    self.is_at_end = true;
                    return Some(Err(error));
                }
                None => {
                    self.is_at_end = true;
                    self.joiner
                        .finish(self.parts.frames(), self.parts.next_bytes());
                }
            }
        }
    }
}

impl Joiner {
    fn new(framing: Framing, next_number: Option<u64>) -> Joiner {
        Joiner {
            framing,
            open: None,
            next_number,
            ready: VecDeque::new(),
            unframed_bytes: 0,
        }
    }

    fn take(&mut self, part: &Part) {
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

    /// No more parts come.
    fn finish(&mut self, frames: Option<u64>, end_bytes: u64) {
        self.damage();
        self.close();
        if let (Some(frames), Some(next)) = (frames, self.next_number)
            && frames > next
        {
            self.ready.push_back(Framed::Missing {
                numbers: next..frames,
                before_bytes: end_bytes,
            });
        }
    }

    fn begin(&mut self, number: u64, time_ns: i64, offset_bytes: u64) {
        if let Some(next) = self.next_number
            && next < number
        {
            self.ready.push_back(Framed::Missing {
                numbers: next..number,
                before_bytes: offset_bytes,
            });
        }
        self.next_number = Some(number + 1);
        self.open = Some(Open {
            number,
            time_ns,
            offset_bytes,
            bytes: Joined::None,
            whole: true,
        });
    }

    /// The open frame goes on with a range of a part, or loses it.
    fn extend(&mut self, part: &Part, range: Span<u64>) {
        if range.is_empty() {
            return;
        }
        let Some(open) = &mut self.open else {
            let is_data = matches!(part, Part::Data { .. });
            self.unframed_bytes += if is_data { range.end - range.start } else { 0 };
            return;
        };
        if !open.whole {
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
        if let Some(open) = self.open.take() {
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
