//! Chooses the frames of a stream that are wanted, and the parts of the stream that belong to them.
//! It is pure.
//!
//! The times of a stream come from its source: they may step, and are never assumed to be in order.
//! So each frame is judged by itself, while a window of the stream passes by, outside of which no
//! frame can be wanted. A lost range is wanted if a wanted frame may lie in it.

use std::collections::VecDeque;
use std::ops::Range as Span;

use super::part::{HoleReason, StreamPart};
use super::placed_marks::marks_in;
use crate::format::{MarkKind, marks_range};

/// Bytes of an unknown frame that are kept until the next frame begins. More than this counts as
/// wanted.
const HELD_BYTES_MAX: u64 = 64 << 20;

/// Which frames are wanted; in a stream without frames, which appends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Choice {
    /// The frames with these numbers.
    Frames(Span<u64>),
    /// The frames that began to arrive in this time, in nanoseconds since 1970.
    Time(Span<i64>),
}

/// The position of a frame relative to the frames that are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ChoiceSide {
    Before,
    Inside,
    Behind,
}

impl ChoiceSide {
    /// The side that counts for the end, behind the last frame. Where the stream ends, wanted
    /// frames may have been lost, unless those before lie behind all that are wanted.
    pub(super) fn at_end(self, is_end_of_stream: bool) -> ChoiceSide {
        if is_end_of_stream && self != ChoiceSide::Behind {
            ChoiceSide::Inside
        } else {
            ChoiceSide::Behind
        }
    }
}

impl Choice {
    pub(super) fn is_empty(&self) -> bool {
        match self {
            Choice::Frames(numbers) => numbers.is_empty(),
            Choice::Time(times) => times.is_empty(),
        }
    }

    pub(super) fn side(&self, number: u64, time_ns: i64) -> ChoiceSide {
        match self {
            Choice::Frames(numbers) => side(number, numbers),
            Choice::Time(times) => side(time_ns, times),
        }
    }

    /// Whether a frame of this number comes behind all that are wanted, as far as numbers say.
    fn lies_behind(&self, number: u64) -> bool {
        matches!(self, Choice::Frames(wanted) if number >= wanted.end)
    }

    /// The side of an append without frames.
    fn side_of_append(&self, first_ns: i64, last_ns: i64) -> ChoiceSide {
        match self {
            Choice::Time(times) => {
                let (earliest_ns, latest_ns) = (first_ns.min(last_ns), first_ns.max(last_ns));
                if latest_ns < times.start {
                    ChoiceSide::Before
                } else if earliest_ns < times.end {
                    ChoiceSide::Inside
                } else {
                    ChoiceSide::Behind
                }
            }
            Choice::Frames(_) => ChoiceSide::Behind,
        }
    }

    /// The wanted frames, certain or possible, of those whose beginnings are lost. `before` and
    /// `after` are the sides of the frames around them; behind the last frame there is none.
    pub(super) fn of_lost(
        &self,
        numbers: Span<u64>,
        before: ChoiceSide,
        after: ChoiceSide,
    ) -> Span<u64> {
        match self {
            Choice::Frames(wanted) => {
                let start = numbers.start.max(wanted.start);
                start..numbers.end.min(wanted.end).max(start)
            }
            Choice::Time(_) if before == after && before != ChoiceSide::Inside => {
                numbers.start..numbers.start
            }
            Choice::Time(_) => numbers,
        }
    }

    /// Whether bytes behind the end of a frame, which belong to no frame, are returned with it.
    pub(super) fn goes_with(&self, number: Option<u64>, side: ChoiceSide) -> bool {
        side == ChoiceSide::Inside
            && match self {
                // They lie between two frames that are wanted.
                Choice::Frames(wanted) => number.is_none_or(|number| number + 1 < wanted.end),
                Choice::Time(_) => true,
            }
    }
}

fn side<T: PartialOrd + Copy>(at: T, wanted: &Span<T>) -> ChoiceSide {
    if at < wanted.start {
        ChoiceSide::Before
    } else if at < wanted.end {
        ChoiceSide::Inside
    } else {
        ChoiceSide::Behind
    }
}

/// Takes the parts of a window in order, and returns those that are wanted.
#[derive(Debug)]
pub(super) struct Chooser {
    choice: Choice,
    is_framed: bool,
    /// The side of the last frame whose beginning was met.
    side: ChoiceSide,
    number: Option<u64>,
    /// The number of the next frame, if it is known.
    next_number: Option<u64>,
    /// Whether what comes now is wanted.
    is_wanted: bool,
    /// Bytes behind a loss, which belong to an unknown frame.
    held: Option<HeldCopy>,
    /// Where the rest of the stream begins, if what a ring has overwritten before it may have been
    /// wanted.
    overwritten_before: Option<u64>,
    /// The part that describes the end, once that has come.
    end: Option<StreamPart>,
    is_finished: bool,
    ready: VecDeque<StreamPart>,
}

#[derive(Debug, Default)]
struct HeldCopy {
    parts: Vec<StreamPart>,
    bytes: u64,
}

impl Chooser {
    /// Makes a chooser for a window before which `next_number` frames have begun, if that is known.
    /// Where a ring has overwritten what may have been wanted, the rest begins at
    /// `overwritten_before`.
    pub(super) fn new(
        choice: Choice,
        is_framed: bool,
        next_number: Option<u64>,
        overwritten_before: Option<u64>,
    ) -> Chooser {
        Chooser {
            choice,
            is_framed,
            side: ChoiceSide::Before,
            number: None,
            next_number,
            is_wanted: false,
            held: None,
            overwritten_before,
            end: None,
            is_finished: false,
            ready: VecDeque::new(),
        }
    }

    pub(super) fn pop(&mut self) -> Option<StreamPart> {
        self.ready.pop_front()
    }

    /// Whether what comes now is wanted, even behind the window: a frame may be long.
    pub(super) fn is_within(&self) -> bool {
        self.is_wanted && self.held.is_none()
    }

    /// Whether nothing wanted can follow.
    pub(super) fn is_past(&self) -> bool {
        matches!(self.choice, Choice::Frames(_)) && self.side == ChoiceSide::Behind
    }

    pub(super) fn take(&mut self, part: &StreamPart) {
        match part {
            StreamPart::OpenEnd { .. } => self.end = Some(part.clone()),
            StreamPart::Overwritten { .. } => {}
            _ if self.is_framed => self.take_framed(part),
            _ => self.take_append(part),
        }
    }

    /// Takes note that nothing more comes. `frames` of the stream have begun before the end of the
    /// window.
    pub(super) fn finish(&mut self, frames: Option<u64>, is_end_of_stream: bool) {
        let after = self.side.at_end(is_end_of_stream);
        self.report_overwritten(after);
        self.settle(frames.filter(|_| self.is_framed), after);
        self.ready.extend(self.end.take());
        self.is_finished = true;
    }

    pub(super) fn is_finished(&self) -> bool {
        self.is_finished
    }

    fn take_append(&mut self, part: &StreamPart) {
        let Some((first_ns, last_ns)) = times_of(part) else {
            self.hold(part, part.offset_bytes()..part.end_bytes());
            return;
        };
        self.begin(None, self.choice.side_of_append(first_ns, last_ns));
        if self.is_wanted {
            self.ready.push_back(part.clone());
        }
    }

    fn take_framed(&mut self, part: &StreamPart) {
        let (start, end) = (part.offset_bytes(), part.end_bytes());
        let has_lost_frames = matches!(part, StreamPart::Gap { frames, .. } if *frames > 0);
        let Some(marks) = marks_in(part).filter(|_| !has_lost_frames) else {
            self.hold(part, start..end);
            return;
        };
        // Wanted bytes that lie together stay one part.
        let (mut at, mut wanted_from) = (start, start);
        for mark in marks {
            let was_wanted = self.is_within();
            self.hold_on(part, at..mark.offset_bytes);
            if mark.kind != MarkKind::Begin && self.held.is_none() {
                self.is_wanted = self.choice.goes_with(self.number, self.side);
            }
            if let Some((number, time_ns)) = mark.number {
                self.begin(Some(number), self.choice.side(number, time_ns));
            }
            if was_wanted && !self.is_within() {
                self.give(part, wanted_from..mark.offset_bytes);
            }
            if !was_wanted {
                wanted_from = mark.offset_bytes;
            }
            at = mark.offset_bytes;
        }
        self.hold_on(part, at..end);
        if self.is_within() {
            self.give(part, wanted_from..end);
        }
    }

    fn give(&mut self, part: &StreamPart, range: Span<u64>) {
        if !range.is_empty() {
            self.ready.push_back(part.clone().within(&range));
        }
    }

    /// Keeps what lies behind a loss until the next frame is known.
    fn hold_on(&mut self, part: &StreamPart, range: Span<u64>) {
        if self.held.is_some() && !range.is_empty() {
            self.hold(part, range);
        }
    }

    fn hold(&mut self, part: &StreamPart, range: Span<u64>) {
        let piece = part.clone().within(&range);
        let held = self.held.get_or_insert_default();
        if matches!(piece, StreamPart::Data { .. }) {
            held.bytes += piece.length_bytes();
        }
        held.parts.push(piece.detached());
        if held.bytes > HELD_BYTES_MAX {
            held.bytes = 0;
            self.ready.extend(std::mem::take(&mut held.parts));
        }
    }

    fn begin(&mut self, number: Option<u64>, side: ChoiceSide) {
        self.report_overwritten(side);
        self.settle(number, side);
        self.side = side;
        self.number = number;
        self.next_number = number.map(|number| number.saturating_add(1));
        self.is_wanted = side == ChoiceSide::Inside;
    }

    /// Reports an overwritten range before the first frame. If the first frame that is left lies
    /// before those that are wanted, none of them was overwritten.
    fn report_overwritten(&mut self, side: ChoiceSide) {
        let overwritten = self.overwritten_before.take();
        if let Some(offset_bytes) = overwritten.filter(|_| side != ChoiceSide::Before) {
            self.ready.push_back(StreamPart::Overwritten {
                offset_bytes,
                length_bytes: 0,
            });
        }
    }

    /// Returns those held parts that may be wanted, now that it is known what comes behind them.
    fn settle(&mut self, number: Option<u64>, after: ChoiceSide) {
        let Some(HeldCopy { parts, .. }) = self.held.take() else {
            return;
        };
        let lost = self.next_number.zip(number);
        let lost = lost.map(|(from, to)| from..to.max(from));
        let may_be_wanted = match &lost {
            Some(lost) => {
                let wanted = self.choice.of_lost(lost.clone(), self.side, after);
                !wanted.is_empty()
            }
            None => self.side != after || after == ChoiceSide::Inside,
        };
        if !self.is_wanted && !may_be_wanted {
            return;
        }
        let last = lost.filter(|lost| !lost.is_empty());
        let last = last.map(|lost| lost.end - 1);
        let behind_loss = parts
            .iter()
            .rposition(is_unknown)
            .map_or(0, |last| last + 1);
        let mut why = HoleReason::Missing;
        for (index, part) in parts.into_iter().enumerate() {
            if let StreamPart::Hole { why: told, .. } = &part {
                why = *told;
            }
            let is_of_last = index >= behind_loss;
            if self.is_surely_wanted(last, is_of_last, after) {
                self.ready.push_back(part);
            } else if !(is_of_last && last.is_some_and(|last| self.choice.lies_behind(last))) {
                self.ready.push_back(withheld(part, why));
            }
        }
    }

    /// Whether what is held belongs to wanted frames only. `last` is the last lost frame, if there
    /// is one. `is_of_last` says that everything held belongs to it.
    fn is_surely_wanted(&self, last: Option<u64>, is_of_last: bool, after: ChoiceSide) -> bool {
        let Some(last) = last else {
            return self.is_wanted || self.side == after;
        };
        match &self.choice {
            Choice::Frames(wanted) if is_of_last => wanted.contains(&last),
            Choice::Frames(wanted) => self.side == ChoiceSide::Inside && last < wanted.end,
            Choice::Time(_) => self.side == ChoiceSide::Inside && after == ChoiceSide::Inside,
        }
    }
}

/// Whether it is not known where frames begin in a part.
fn is_unknown(part: &StreamPart) -> bool {
    !matches!(part, StreamPart::Data { .. }) || marks_in(part).is_none()
}

/// Turns whole bytes into a hole that may belong to unwanted frames, because the marks around them
/// are lost. They are reported with that loss, and not returned.
fn withheld(part: StreamPart, why: HoleReason) -> StreamPart {
    let StreamPart::Data {
        offset_bytes,
        bytes,
        origin,
    } = part
    else {
        return part;
    };
    let of_marks = HoleReason::Damaged {
        member: origin.member,
        offset_bytes: origin.offset_bytes + marks_range(&origin.descriptor).start as u64,
    };
    StreamPart::Hole {
        offset_bytes,
        length_bytes: bytes.len() as u64,
        why: if origin.marks.is_none() {
            of_marks
        } else {
            why
        },
        origin: Some(origin),
    }
}

/// When the first and the last byte of a part's append or gap arrived.
fn times_of(part: &StreamPart) -> Option<(i64, i64)> {
    match part {
        StreamPart::Data { origin, .. }
        | StreamPart::Hole {
            origin: Some(origin),
            ..
        } => Some((
            origin.descriptor.first_time_ns,
            origin.descriptor.last_time_ns,
        )),
        StreamPart::Gap {
            first_time_ns,
            last_time_ns,
            ..
        } => Some((*first_time_ns, *last_time_ns)),
        StreamPart::Hole { origin: None, .. }
        | StreamPart::Overwritten { .. }
        | StreamPart::OpenEnd { .. } => None,
    }
}
