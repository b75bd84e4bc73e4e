//! Puts frames together from the parts of a stream. It is pure.

use std::collections::VecDeque;
use std::ops::Range as Span;

use super::bytes::SharedBytes;
use super::choice::{Choice, ChoiceSide};
use super::frame::{Frame, FrameLoss, FramePlace, Framed};
use super::located_byte::LocatedByte;
use super::part::{Origin, StreamPart};
use super::placed_marks::marks_in;
use super::stream::StreamReader;
use crate::format::{MarkKind, payload_range};
use crate::source::framing::Framing;

/// Larger frames are cut at this length, and are not whole. Read them as bytes.
pub const FRAME_BYTES_MAX: usize = 1 << 30;

/// Puts frames together from parts. It is pure.
#[derive(Debug)]
pub(super) struct Joiner {
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
    pub(super) ready: VecDeque<Framed>,
    pub(super) unframed_bytes: u64,
    /// Whether frames get their bytes, or only what an index tells of them.
    keeps_bytes: bool,
    /// What was lost since the last frame began.
    loss: Option<FrameLoss>,
}

#[derive(Debug)]
struct OpenFrame {
    is_wanted: bool,
    number: u64,
    time_ns: i64,
    offset_bytes: u64,
    bytes: Joined,
    length_bytes: u64,
    whole: bool,
    loss: Option<FrameLoss>,
    place: Option<FramePlace>,
}

/// The bytes of a frame. One stretch is not copied; several are.
#[derive(Debug)]
enum Joined {
    None,
    One(SharedBytes),
    Many(Vec<u8>),
}

impl Joiner {
    pub(super) fn new<P>(parts: &StreamReader<P>, keeps_bytes: bool) -> Joiner {
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
            keeps_bytes,
            loss: None,
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
    pub(super) fn is_within(&self) -> bool {
        self.open.as_ref().is_some_and(|open| open.is_wanted)
    }

    /// Whether no wanted frame can follow.
    pub(super) fn is_past(&self) -> bool {
        matches!(self.choice, Some(Choice::Frames(_))) && self.side == ChoiceSide::Behind
    }

    pub(super) fn take(&mut self, part: &StreamPart) {
        let is_all_before =
            |part: &StreamPart| part.offset_bytes() == 0 && part.end_bytes() == self.readable.bytes;
        if matches!(part, StreamPart::Overwritten { .. })
            && is_all_before(part)
            && self.choice.is_none()
        {
            self.overwrite();
        }
        let marks = marks_in(part);
        let loss = FrameLoss::of(part);
        self.loss = self.loss.max(loss);
        let (start, end) = (part.offset_bytes(), part.end_bytes());
        // Where the marks are unknown, it is not known whether the frame goes on here.
        if marks.is_none() && start < end {
            self.damage(loss);
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
                self.damage(self.loss);
                self.close();
                self.begin(number, time_ns, at);
            }
        }
        self.extend(part, at..end);
    }

    /// Notes that nothing more is wanted from there on, where a frame ends or not.
    pub(super) fn cut(&mut self, end_bytes: u64, ends_frame: bool) {
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
    pub(super) fn finish(&mut self, frames: Option<u64>, is_end_of_stream: bool, end_bytes: u64) {
        self.damage(None);
        self.close();
        let after = self.side.at_end(is_end_of_stream);
        self.report_overwritten(after);
        if let Some(frames) = frames {
            self.miss(frames, after, end_bytes);
        }
    }

    fn begin(&mut self, number: u64, time_ns: i64, offset_bytes: u64) {
        let choice = self.choice.as_ref();
        let side = choice.map_or(ChoiceSide::Inside, |choice| choice.side(number, time_ns));
        self.report_overwritten(side);
        self.miss(number, side, offset_bytes);
        self.next_number = Some(number.saturating_add(1));
        self.side = side;
        self.loss = None;
        self.open = Some(OpenFrame {
            is_wanted: side == ChoiceSide::Inside,
            number,
            time_ns,
            offset_bytes,
            bytes: Joined::None,
            length_bytes: 0,
            whole: true,
            loss: None,
            place: None,
        });
    }

    /// Reports overwritten frames before the first frame. If the first frame that is left lies
    /// before those that are wanted, none of them was overwritten.
    fn report_overwritten(&mut self, side: ChoiceSide) {
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
                loss: self.loss.unwrap_or(FrameLoss::Hole),
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
        let StreamPart::Data { bytes, origin, .. } = part else {
            open.damage(FrameLoss::of(part));
            return;
        };
        let place = place_of(origin, &range);
        match &mut open.place {
            None if open.length_bytes == 0 => open.place = Some(place),
            Some(first) if first.adjacent_bytes == open.length_bytes && place.follows(first) => {
                first.adjacent_bytes += place.adjacent_bytes;
            }
            _ => {}
        }
        if !self.keeps_bytes || open.bytes.push(&bytes.slice(cut)) {
            open.length_bytes += place.adjacent_bytes;
        } else {
            open.length_bytes = FRAME_BYTES_MAX as u64;
            open.whole = false;
        }
    }

    fn damage(&mut self, loss: Option<FrameLoss>) {
        if let Some(open) = &mut self.open {
            open.damage(loss);
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
                length_bytes: open.length_bytes,
                whole: open.whole,
                loss: open.loss,
                place: open.place,
                framing: self.framing,
            }));
        }
    }
}

impl OpenFrame {
    /// Notes that the rest of it is not there. What was noted first counts.
    fn damage(&mut self, loss: Option<FrameLoss>) {
        if self.whole {
            self.loss = loss;
        }
        self.whole = false;
    }
}

impl FramePlace {
    /// Whether it begins where another stretch ends.
    fn follows(&self, first: &FramePlace) -> bool {
        let end_bytes = first.offset_bytes + first.adjacent_bytes;
        self.member == first.member && self.offset_bytes == end_bytes
    }
}

/// Where a range of a stream lies that is in this append.
fn place_of(origin: &Origin, range: &Span<u64>) -> FramePlace {
    let payload_bytes = payload_range(&origin.descriptor).start as u64;
    let into_payload_bytes = range.start - origin.descriptor.stream_offset_bytes;
    FramePlace {
        member: origin.member,
        offset_bytes: origin.offset_bytes + payload_bytes + into_payload_bytes,
        adjacent_bytes: range.end - range.start,
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
