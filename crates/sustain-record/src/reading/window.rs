//! Finds the window of a stream that a range needs, by bisection: nothing of the range can lie
//! outside of it. It also says which frames in it are wanted.

use super::choice::Choice;
use super::locate::{Start, locate, locate_end};
use super::located_byte::LocatedByte;
use super::range::Range;
use super::scope::Scope;
use crate::error::RecordError;
use crate::format::ClockDrift;

/// A part of a stream that has everything that is wanted of it.
#[derive(Debug, Clone, Default)]
pub(super) struct WantedWindow {
    pub(super) start_bytes: u64,
    /// Nothing behind this is returned.
    pub(super) end_bytes: u64,
    /// Where no wanted frame begins any more, if that is known.
    pub(super) end: Option<LocatedByte>,
    /// Where to begin on the members; `None` for their beginning.
    pub(super) located: Option<Start>,
    /// Frames that have begun before it, if that is known.
    pub(super) next_number: Option<u64>,
    /// Which frames are wanted; `None` if all are.
    pub(super) choice: Option<Choice>,
    /// Whether a ring may have overwritten some of what is wanted.
    pub(super) is_overwritten: bool,
}

impl WantedWindow {
    pub(super) fn of(
        scope: &Scope,
        stream: u16,
        range: &Range,
    ) -> Result<WantedWindow, RecordError> {
        match range {
            Range::All => WantedWindow::of_bytes(scope, stream, 0, u64::MAX),
            Range::Bytes(span) => WantedWindow::of_bytes(scope, stream, span.start, span.end),
            Range::Frames(span) => {
                let index = usize::from(stream);
                let frames = |at: &[crate::format::Position]| at.get(index).map(|at| at.frames);
                // It begins one frame earlier, so that the end of the frame before is met too.
                let before = span.start.saturating_sub(1);
                let start = locate(scope, stream, &|first| {
                    frames(&first.positions).is_some_and(|frames| frames <= before)
                })?;
                let end = locate_end(scope, stream, &|first| {
                    frames(&first.positions).is_none_or(|frames| frames <= span.end)
                })?;
                let is_overwritten = span.start < scope.readable(stream).frames;
                let choice = Choice::Frames(span.clone());
                let found = (start, end);
                Ok(WantedWindow::of_choice(
                    (scope, stream),
                    choice,
                    found,
                    is_overwritten,
                ))
            }
            Range::Time(span) => {
                // Without a drift, a frame of any time may be anywhere.
                let drift = scope.drift(stream).unwrap_or(ClockDrift::UNKNOWN);
                let start = locate(scope, stream, &|first| {
                    first.made_time_ns < drift.earliest_made_ns(span.start)
                })?;
                let end = locate_end(scope, stream, &|first| {
                    first.made_time_ns <= drift.latest_made_ns(span.end)
                })?;
                let readable = scope.readable(stream);
                let is_overwritten = readable.bytes > 0
                    && start.from.bytes <= readable.bytes
                    && !scope.keeps_all_from(stream, span.start);
                let choice = Choice::Time(span.clone());
                let found = (start, end);
                Ok(WantedWindow::of_choice(
                    (scope, stream),
                    choice,
                    found,
                    is_overwritten,
                ))
            }
        }
    }

    fn of_bytes(
        scope: &Scope,
        stream: u16,
        start_bytes: u64,
        end_bytes: u64,
    ) -> Result<WantedWindow, RecordError> {
        let readable = scope.readable(stream);
        let first_bytes = start_bytes.max(readable.bytes);
        let index = usize::from(stream);
        let located = if first_bytes == 0 {
            None
        } else {
            Some(locate(scope, stream, &|first| {
                let position = first.positions.get(index);
                position.is_some_and(|position| position.next_offset_bytes <= first_bytes)
            })?)
        };
        Ok(WantedWindow {
            start_bytes,
            end_bytes: end_bytes.max(start_bytes),
            located,
            next_number: (first_bytes == readable.bytes).then_some(readable.frames),
            ..WantedWindow::default()
        })
    }

    fn of_choice(
        (scope, stream): (&Scope, u16),
        choice: Choice,
        (start, end): (Start, Option<LocatedByte>),
        is_overwritten: bool,
    ) -> WantedWindow {
        // Behind the end of what is read nothing is missing.
        let end_bytes = scope.ends_at_bytes(stream);
        let end = end.filter(|end| end_bytes.is_none_or(|end_bytes| end.bytes <= end_bytes));
        let readable = scope.readable(stream);
        let from = if readable.bytes > start.from.bytes {
            readable
        } else {
            start.from
        };
        let end_bytes = if choice.is_empty() {
            from.bytes
        } else {
            u64::MAX
        };
        WantedWindow {
            start_bytes: from.bytes,
            end_bytes,
            end,
            located: Some(start),
            next_number: Some(from.frames),
            choice: Some(choice),
            is_overwritten,
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.start_bytes >= self.end_bytes
    }
}
