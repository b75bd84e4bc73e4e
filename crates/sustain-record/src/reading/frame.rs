//! Frames as reading returns them, and what can be told of those that are lost.

use std::ops::Range as Span;

use super::bytes::SharedBytes;
use super::part::{HoleReason, StreamPart};
use crate::opening::{Recording, StreamSummary};
use crate::source::framing::Framing;

const LENGTH_PREFIX_BYTES: usize = 4;

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
    /// The number of these bytes, also where only an index is read, which keeps none of them.
    pub length_bytes: u64,
    /// Whether this is the complete frame.
    pub whole: bool,
    /// What took the rest of a frame that is not whole; `None` where the stream or the range ends.
    pub loss: Option<FrameLoss>,
    /// Where its first byte lies; `None` if that byte is not there.
    pub place: Option<FramePlace>,
    pub(super) framing: Framing,
}

/// Where a frame begins on a member.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FramePlace {
    /// The member's index in the store.
    pub member: usize,
    /// Offset on the member of the frame's first byte.
    pub offset_bytes: u64,
    /// Bytes of the frame that follow each other from there. The rest is in other appends.
    pub adjacent_bytes: u64,
}

/// What took frames, or some of their bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum FrameLoss {
    /// They were lost before they reached a member, as recorded.
    Gap,
    /// A ring has overwritten them.
    Overwritten,
    /// They should be on a member and are not, or are damaged.
    Hole,
}

impl FrameLoss {
    /// What a part of a stream takes of the frames in it; `None` if its bytes are there.
    pub(super) fn of(part: &StreamPart) -> Option<FrameLoss> {
        match part {
            StreamPart::Data { origin, .. } => origin.marks.is_none().then_some(FrameLoss::Hole),
            StreamPart::OpenEnd { .. } => None,
            StreamPart::Gap { .. } => Some(FrameLoss::Gap),
            StreamPart::Overwritten { .. }
            | StreamPart::Hole {
                why: HoleReason::WrittenOver,
                ..
            } => Some(FrameLoss::Overwritten),
            StreamPart::Hole { .. } => Some(FrameLoss::Hole),
        }
    }
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
        /// What took them; of several, the one that is least expected.
        loss: FrameLoss,
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

impl Frame {
    /// Whether this is a line that only lacks its newline: a text may end without one, but only its
    /// source can say that it has ended.
    pub fn is_last_line_of(&self, recording: &Recording, stream: &StreamSummary) -> bool {
        self.framing == Framing::Lines
            && self.loss.is_none()
            && self.offset_bytes + self.length_bytes >= stream.offered_bytes
            && recording.is_ended_by_source()
    }

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
