//! One stream of a recording, or a range of it, as its parts in order. The command's way to read;
//! files and frames are made of it.

use std::ops::Range as Span;

use super::frames::{Marked, marks_in};
use super::locate::{Start, locate};
use super::merge::Wanted;
use super::part::Part;
use super::parts::{Background, HOLD_BYTES_MAX, Order, Parts};
use super::scope::Scope;
use crate::error::RecordError;
use crate::source::framing::Framing;

/// What of a stream is wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Range {
    /// All that can be read.
    All,
    /// These bytes, counted from the start of the stream.
    Bytes(Span<u64>),
    /// What arrived from one time up to another, in nanoseconds since 1970. Of a framed stream the
    /// frames that began to arrive then; of others whole appends, so a little more.
    Time(Span<i64>),
    /// The frames with these numbers, from the first byte of the first to the last byte of the
    /// last. The first frame of a stream is number 0.
    Frames(Span<u64>),
}

/// The parts of one stream in order. After an error it is at its end.
pub struct StreamReader {
    parts: Option<Source>,
    end_bytes: u64,
    next_bytes: u64,
    framing: Framing,
    /// Frames of the whole stream, if this reads up to its end and they are known.
    frames: Option<u64>,
    begins_at_start: bool,
}

enum Source {
    Here(Box<Parts>),
    Background(Background),
}

impl Iterator for Source {
    type Item = Result<(u16, Part), RecordError>;

    fn next(&mut self) -> Option<Self::Item> {
        match self {
            Source::Here(parts) => parts.next(),
            Source::Background(parts) => parts.next(),
        }
    }
}

impl StreamReader {
    /// Opens a stream of a recording for reading. Real members are read in a thread of their own,
    /// simulated ones in the caller's; a simulated machine serves one reader at a time.
    ///
    /// # Errors
    /// [`RecordError::Usage`] if there is no such stream; else if the members cannot be driven.
    pub fn open(scope: &Scope, stream: u16, range: &Range) -> Result<StreamReader, RecordError> {
        let Some(framing) = scope.framings.get(usize::from(stream)).copied() else {
            return Err(RecordError::Usage(format!(
                "The recording has no stream {stream}: it has {}, counted from 0",
                scope.framings.len()
            )));
        };
        let span = match range {
            Range::All => 0..u64::MAX,
            Range::Bytes(span) => span.clone(),
            Range::Time(span) => time_span(scope, stream, framing, span)?,
            Range::Frames(span) => frame_span(scope, stream, span)?,
        };
        let readable = scope.wanted(stream, span.start).readable_from_bytes;
        let first_bytes = span.start.max(readable);
        let start = if first_bytes == 0 {
            None
        } else {
            let index = usize::from(stream);
            Some(locate(scope, stream, &|first| {
                let position = first.positions.get(index);
                position.is_some_and(|position| position.next_offset_bytes <= first_bytes)
            })?)
        };
        let wanted = scope.wanted(stream, span.start);
        let order = order(scope, wanted, start, None);
        let parts = if scope.is_simulated() {
            Source::Here(Box::new(Parts::open(scope, &order)?))
        } else {
            Source::Background(Background::start(scope, &order)?)
        };
        let frames = scope.frames.get(usize::from(stream)).copied().flatten();
        Ok(StreamReader {
            parts: (span.start < span.end).then_some(parts),
            end_bytes: span.end,
            next_bytes: span.start,
            framing,
            frames: frames.filter(|_| span.end == u64::MAX),
            begins_at_start: first_bytes == 0,
        })
    }

    /// How its frames are told apart.
    pub fn framing(&self) -> Framing {
        self.framing
    }

    /// Where the next part begins in the stream.
    pub fn next_bytes(&self) -> u64 {
        self.next_bytes
    }

    /// Whether the stream may go on there, but no more of it is wanted.
    pub(super) fn is_cut_at(&self, offset_bytes: u64) -> bool {
        offset_bytes == self.end_bytes
    }

    pub(super) fn frames(&self) -> Option<u64> {
        self.frames
    }

    pub(super) fn begins_at_start(&self) -> bool {
        self.begins_at_start
    }
}

impl Iterator for StreamReader {
    type Item = Result<Part, RecordError>;

    fn next(&mut self) -> Option<Self::Item> {
        let part = match self.parts.as_mut()?.next() {
            Some(Ok((_, part))) => part.before(self.end_bytes),
            Some(Err(error)) => {
                self.parts = None;
                return Some(Err(error));
            }
            None => None,
        };
        match &part {
            Some(part) => self.next_bytes = part.end_bytes(),
            None => self.parts = None,
        }
        if self.next_bytes >= self.end_bytes {
            self.parts = None;
        }
        part.map(Ok)
    }
}

fn order(scope: &Scope, wanted: Wanted, start: Option<Start>, reads_ahead: Option<usize>) -> Order {
    let from_start = || {
        scope
            .members
            .iter()
            .map(|member| member.slots.start)
            .collect()
    };
    Order {
        wanted: vec![wanted],
        first_slots: start.map_or_else(from_start, |start| start.first_slots),
        reads_ahead,
        hold_bytes_max: HOLD_BYTES_MAX,
    }
}

/// The parts from a place that was located, to look for something a little further on.
fn look(scope: &Scope, stream: u16, start: Start) -> Result<Parts, RecordError> {
    let wanted = scope.wanted(stream, start.from_bytes);
    Parts::open(scope, &order(scope, wanted, Some(start), Some(1)))
}

fn time_span(
    scope: &Scope,
    stream: u16,
    framing: Framing,
    span: &Span<i64>,
) -> Result<Span<u64>, RecordError> {
    let is_framed = framing != Framing::None;
    let start = offset_at(scope, stream, is_framed, span.start, Edge::Start)?;
    let end = offset_at(scope, stream, is_framed, span.end, Edge::End)?;
    Ok(start..end.max(start))
}

/// Which end of a range is looked for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Edge {
    Start,
    End,
}

/// The first byte that does not lie before a time. What is lost just before it counts as after it
/// at the start of a range, and as before it at its end: a hole is never left out.
fn offset_at(
    scope: &Scope,
    stream: u16,
    is_framed: bool,
    time_ns: i64,
    edge: Edge,
) -> Result<u64, RecordError> {
    let start = locate(scope, stream, &|first| first.made_time_ns < time_ns)?;
    let mut lost_from = None;
    for item in look(scope, stream, start)? {
        let (_, part) = item?;
        let found = match &part {
            Part::Data { .. } if is_framed => marks_in(&part).map_or_else(
                || append_offset(&part, time_ns, edge),
                |marks| {
                    let mut begins = marks.into_iter();
                    let begin = begins.find(|mark| mark.begins_at_or_after(time_ns));
                    begin.map(|mark| mark.offset_bytes)
                },
            ),
            Part::OpenEnd { .. } => None,
            _ => append_offset(&part, time_ns, edge),
        };
        let is_lost = !matches!(part, Part::Data { .. });
        if let Some(offset_bytes) = found {
            let lost = lost_from.filter(|_| edge == Edge::Start);
            return Ok(lost.unwrap_or(offset_bytes));
        }
        lost_from = if is_lost {
            lost_from.or(Some(part.offset_bytes()))
        } else {
            None
        };
    }
    Ok(u64::MAX)
}

fn append_offset(part: &Part, time_ns: i64, edge: Edge) -> Option<u64> {
    let (first_ns, last_ns) = match part {
        Part::Data { origin, .. }
        | Part::Hole {
            origin: Some(origin),
            ..
        } => (
            origin.descriptor.first_time_ns,
            origin.descriptor.last_time_ns,
        ),
        Part::Gap {
            first_time_ns,
            last_time_ns,
            ..
        } => (*first_time_ns, *last_time_ns),
        Part::Hole { origin: None, .. } | Part::Overwritten { .. } | Part::OpenEnd { .. } => {
            return None;
        }
    };
    let time = if edge == Edge::Start {
        last_ns
    } else {
        first_ns
    };
    (time >= time_ns).then_some(part.offset_bytes())
}

fn frame_span(scope: &Scope, stream: u16, span: &Span<u64>) -> Result<Span<u64>, RecordError> {
    if span.is_empty() {
        return Ok(0..0);
    }
    let (start, _) = frame_edges(scope, stream, span.start)?;
    let (next, end_before) = frame_edges(scope, stream, span.end)?;
    let end = end_before.unwrap_or(next);
    Ok(start..end.max(start))
}

/// Where the first frame of this number or a later one begins, and where the frame before it ends
/// if its end lies before. Behind the last frame, the end of the stream.
fn frame_edges(scope: &Scope, stream: u16, number: u64) -> Result<(u64, Option<u64>), RecordError> {
    let index = usize::from(stream);
    // One earlier, so that the end of the frame before is met too.
    let before = number.saturating_sub(1);
    let start = locate(scope, stream, &|first| {
        first
            .positions
            .get(index)
            .is_some_and(|position| position.frames <= before)
    })?;
    let mut end_before = None;
    for item in look(scope, stream, start)? {
        let (_, part) = item?;
        for mark in marks_in(&part).unwrap_or_default() {
            let Marked { number: begun, .. } = mark;
            if begun.is_some_and(|(begun, _)| begun >= number) {
                return Ok((mark.offset_bytes, end_before));
            }
            end_before = match begun {
                Some(_) => None,
                None => Some(mark.offset_bytes),
            };
        }
    }
    Ok((u64::MAX, end_before))
}
