//! The parts of a stream that reading returns, in order, with every byte accounted for. The merge
//! makes them; every reader hands them on. A part never hides a known loss.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use sustain_disk::error::IoFault;

use super::bytes::SharedBytes;
use crate::format::{Descriptor, GapReason, MarkReader, MarksError};

/// A stretch of a stream. The parts of a stream follow each other: each begins where the one before
/// it ends, gaps and holes included.
#[derive(Debug, Clone)]
pub enum StreamPart {
    /// Bytes as they were recorded: their checksums are right.
    Data {
        /// Offset of the first byte in its stream.
        offset_bytes: u64,
        /// The bytes.
        bytes: SharedBytes,
        /// The append that they come from.
        origin: Arc<Origin>,
    },
    /// Bytes that were offered and lost before they reached a medium, as recorded.
    Gap {
        /// Offset of the first lost byte in its stream.
        offset_bytes: u64,
        /// Number of lost bytes; 0 where only frames were declared lost.
        length_bytes: u64,
        /// The reason.
        reason: GapReason,
        /// When the first byte of the whole gap arrived, in nanoseconds since 1970.
        first_time_ns: i64,
        /// When its last byte arrived, in nanoseconds since 1970.
        last_time_ns: i64,
        /// Number of frames lost in the whole gap. Any of them may be in this piece of it.
        frames: u64,
    },
    /// Bytes that should be on a member and are not there, or are damaged.
    Hole {
        /// Offset of the first such byte in its stream.
        offset_bytes: u64,
        /// Number of such bytes.
        length_bytes: u64,
        /// What is wrong.
        why: HoleReason,
        /// The append that they belong to, if it was found.
        origin: Option<Arc<Origin>>,
    },
    /// Bytes that a ring has overwritten, from the start of a stream on. Only the first part of a
    /// stream can be one. What it has overwritten behind that is a hole with
    /// [`HoleReason::WrittenOver`].
    Overwritten {
        /// Offset of the first such byte in its stream.
        offset_bytes: u64,
        /// Number of such bytes; 0 where frames or a time were asked for, because it is not known
        /// any more where those lay.
        length_bytes: u64,
    },
    /// The end of a recording without an end mark: whether more than these bytes was offered is not
    /// known. Nothing follows.
    OpenEnd {
        /// The end of what is known.
        offset_bytes: u64,
    },
}

/// Why bytes are a hole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HoleReason {
    /// No append with them was found on the members that are there.
    Missing,
    /// No append with them was found, and a ring has gone on over all that one of the members may
    /// have had of the recording. No other member shows that it has lost an append there.
    WrittenOver,
    /// They are there, but their checksum is wrong.
    Damaged {
        /// The member's index in the store.
        member: usize,
        /// Offset on it at which the damaged piece begins.
        offset_bytes: u64,
    },
    /// The member could not be read there.
    Unreadable {
        /// The member's index in the store.
        member: usize,
        /// Offset on it at which reading failed first.
        offset_bytes: u64,
        /// The error of the device; `None` where the member ends before.
        errno: Option<IoFault>,
    },
}

impl fmt::Display for HoleReason {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            HoleReason::Missing => formatter.write_str("on none of the members that were given"),
            HoleReason::WrittenOver => formatter.write_str("the ring has overwritten them"),
            HoleReason::Damaged {
                member,
                offset_bytes,
            } => write!(
                formatter,
                "damaged on member {member} at byte {offset_bytes}"
            ),
            HoleReason::Unreadable {
                member,
                offset_bytes,
                errno: Some(errno),
            } => write!(
                formatter,
                "member {member} cannot be read at byte {offset_bytes}: {errno}"
            ),
            HoleReason::Unreadable {
                member,
                offset_bytes,
                errno: None,
            } => write!(formatter, "member {member} ends before byte {offset_bytes}"),
        }
    }
}

/// Facts about the append that bytes come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    /// The member's index in the store.
    pub member: usize,
    /// Offset on the member at which the append begins.
    pub offset_bytes: u64,
    /// Its descriptor.
    pub descriptor: Descriptor,
    /// Whether its seal is there. Bytes whose checksums are right count without it.
    pub sealed: bool,
    /// Its frame marks in encoded form; `None` if they are damaged.
    pub marks: Option<Vec<u8>>,
    /// Whether it is not on the member as it was recorded, and was computed by parity.
    pub is_restored: bool,
}

impl Origin {
    /// The offset in the stream behind the last byte of the payload.
    pub fn end_bytes(&self) -> u64 {
        self.descriptor.stream_offset_bytes + u64::from(self.descriptor.payload_bytes)
    }

    /// The frame marks. None are returned if any of them cannot be read.
    ///
    /// # Errors
    /// If they contradict themselves, although their checksum is right.
    pub fn marks(&self) -> Result<Vec<crate::format::PayloadMark>, MarksError> {
        let bytes = self.marks.as_deref().unwrap_or_default();
        MarkReader::of(&self.descriptor, bytes).collect()
    }
}

impl StreamPart {
    /// Offset in the stream at which the part begins.
    pub fn offset_bytes(&self) -> u64 {
        match self {
            StreamPart::Data { offset_bytes, .. }
            | StreamPart::Gap { offset_bytes, .. }
            | StreamPart::Hole { offset_bytes, .. }
            | StreamPart::Overwritten { offset_bytes, .. }
            | StreamPart::OpenEnd { offset_bytes } => *offset_bytes,
        }
    }

    /// The number of bytes of the stream that it stands for.
    pub fn length_bytes(&self) -> u64 {
        match self {
            StreamPart::Data { bytes, .. } => bytes.len() as u64,
            StreamPart::Gap { length_bytes, .. }
            | StreamPart::Hole { length_bytes, .. }
            | StreamPart::Overwritten { length_bytes, .. } => *length_bytes,
            StreamPart::OpenEnd { .. } => 0,
        }
    }

    /// Offset in the stream at which the part ends.
    pub fn end_bytes(&self) -> u64 {
        self.offset_bytes() + self.length_bytes()
    }

    /// The part as it is for readers of a stream that ends at `end_bytes`, where its open end lies.
    pub(super) fn until(self, end_bytes: u64) -> Option<StreamPart> {
        match self {
            StreamPart::OpenEnd { offset_bytes } => Some(StreamPart::OpenEnd {
                offset_bytes: offset_bytes.min(end_bytes),
            }),
            other => other.before(end_bytes),
        }
    }

    /// The part before `end_bytes`, if there is one.
    pub(super) fn before(self, end_bytes: u64) -> Option<StreamPart> {
        let offset_bytes = self.offset_bytes();
        if offset_bytes >= end_bytes {
            return None;
        }
        let end_bytes = end_bytes.min(self.end_bytes());
        Some(self.within(&(offset_bytes..end_bytes)))
    }

    /// The piece of the part that is this range of the stream, which must lie in it.
    pub(super) fn within(mut self, range: &Range<u64>) -> StreamPart {
        let skip = range.start - self.offset_bytes();
        let length = range.end - range.start;
        match &mut self {
            StreamPart::Data {
                offset_bytes,
                bytes,
                ..
            } => {
                *offset_bytes = range.start;
                *bytes = bytes.slice(skip as usize..(skip + length) as usize);
            }
            StreamPart::Gap {
                offset_bytes,
                length_bytes,
                ..
            }
            | StreamPart::Hole {
                offset_bytes,
                length_bytes,
                ..
            }
            | StreamPart::Overwritten {
                offset_bytes,
                length_bytes,
            } => (*offset_bytes, *length_bytes) = (range.start, length),
            StreamPart::OpenEnd { .. } => {}
        }
        self
    }

    /// The part with memory of its own, so that it may be kept for long.
    pub(super) fn detached(mut self) -> StreamPart {
        if let StreamPart::Data { bytes, .. } = &mut self {
            *bytes = bytes.detached();
        }
        self
    }
}
