//! What reading gives back of a stream: its parts, in order, without a byte left unaccounted.
//! Made by the merge; every reader hands them on. No part ever says less than is known to be lost.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use sustain_disk::error::Errno;

use super::bytes::SharedBytes;
use crate::format::{Descriptor, GapReason, Marks, MarksError};

/// A stretch of a stream. The parts of a stream follow each other: each begins where the one before
/// it ends, gaps and holes included.
#[derive(Debug, Clone)]
pub enum Part {
    /// Bytes as they were recorded: their checksums are right.
    Data {
        /// Of the first byte in its stream.
        offset_bytes: u64,
        /// The bytes.
        bytes: SharedBytes,
        /// The append that they come from.
        origin: Arc<Origin>,
    },
    /// Bytes that were offered and lost before they reached a medium, as recorded.
    Gap {
        /// Of the first lost byte in its stream.
        offset_bytes: u64,
        /// How many were lost; 0 where only frames were told lost.
        length_bytes: u64,
        /// Why.
        reason: GapReason,
        /// When the first byte of the whole gap arrived, in nanoseconds since 1970.
        first_time_ns: i64,
        /// When its last byte arrived, in nanoseconds since 1970.
        last_time_ns: i64,
        /// How many frames were lost.
        frames: u64,
    },
    /// Bytes that should be on a member and are not there, or are damaged.
    Hole {
        /// Of the first such byte in its stream.
        offset_bytes: u64,
        /// How many.
        length_bytes: u64,
        /// What is wrong.
        why: HoleReason,
        /// The append that they belong to, if it was found.
        origin: Option<Arc<Origin>>,
    },
    /// Bytes that a ring has written over. Only the first part of a stream can be one.
    Overwritten {
        /// Of the first such byte in its stream.
        offset_bytes: u64,
        /// How many; 0 where frames or a time were asked for and nobody knows any more where those
        /// lay that were written over.
        length_bytes: u64,
    },
    /// The recording has no end mark: whether more than these bytes was offered is not known.
    /// Nothing follows.
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
    /// They are there, but their checksum is wrong.
    Damaged {
        /// The member's index in the store.
        member: usize,
        /// Where the damaged piece begins on it.
        offset_bytes: u64,
    },
    /// The member would not read them.
    Unreadable {
        /// The member's index in the store.
        member: usize,
        /// Where on it reading failed first.
        offset_bytes: u64,
        /// What the device said; none where the member ends before.
        errno: Option<Errno>,
    },
}

impl fmt::Display for HoleReason {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            HoleReason::Missing => formatter.write_str("on none of the members that are there"),
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

/// What is known of the append that bytes come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    /// The member's index in the store.
    pub member: usize,
    /// Where the append begins on the member.
    pub offset_bytes: u64,
    /// Its descriptor.
    pub descriptor: Descriptor,
    /// Whether its seal is there. Bytes whose checksums are right count without it.
    pub sealed: bool,
    /// Its frame marks as they lie there; none if they are damaged.
    pub marks: Option<Vec<u8>>,
}

impl Origin {
    /// The offset in the stream behind the last byte of the payload.
    pub fn end_bytes(&self) -> u64 {
        self.descriptor.stream_offset_bytes + u64::from(self.descriptor.payload_bytes)
    }

    /// The frame marks. None are given if any of them cannot be read.
    ///
    /// # Errors
    /// If they contradict themselves, although their checksum is right.
    pub fn marks(&self) -> Result<Vec<crate::format::Mark>, MarksError> {
        let bytes = self.marks.as_deref().unwrap_or_default();
        Marks::of(&self.descriptor, bytes).collect()
    }
}

impl Part {
    /// Where the part begins in its stream.
    pub fn offset_bytes(&self) -> u64 {
        match self {
            Part::Data { offset_bytes, .. }
            | Part::Gap { offset_bytes, .. }
            | Part::Hole { offset_bytes, .. }
            | Part::Overwritten { offset_bytes, .. }
            | Part::OpenEnd { offset_bytes } => *offset_bytes,
        }
    }

    /// How many bytes of the stream it stands for.
    pub fn length_bytes(&self) -> u64 {
        match self {
            Part::Data { bytes, .. } => bytes.len() as u64,
            Part::Gap { length_bytes, .. }
            | Part::Hole { length_bytes, .. }
            | Part::Overwritten { length_bytes, .. } => *length_bytes,
            Part::OpenEnd { .. } => 0,
        }
    }

    /// Where the part ends in its stream.
    pub fn end_bytes(&self) -> u64 {
        self.offset_bytes() + self.length_bytes()
    }

    /// The part of a stream that ends at `end_bytes` for its readers: there its open end lies.
    pub(super) fn until(self, end_bytes: u64) -> Option<Part> {
        match self {
            Part::OpenEnd { offset_bytes } => Some(Part::OpenEnd {
                offset_bytes: offset_bytes.min(end_bytes),
            }),
            other => other.before(end_bytes),
        }
    }

    /// The part before `end_bytes`, or none.
    pub(super) fn before(self, end_bytes: u64) -> Option<Part> {
        let offset_bytes = self.offset_bytes();
        if offset_bytes >= end_bytes {
            return None;
        }
        let end_bytes = end_bytes.min(self.end_bytes());
        Some(self.within(&(offset_bytes..end_bytes)))
    }

    /// The piece of the part that is this range of the stream, which must lie in it.
    pub(super) fn within(mut self, range: &Range<u64>) -> Part {
        let skip = range.start - self.offset_bytes();
        let length = range.end - range.start;
        match &mut self {
            Part::Data {
                offset_bytes,
                bytes,
                ..
            } => {
                *offset_bytes = range.start;
                *bytes = bytes.slice(skip as usize..(skip + length) as usize);
            }
            Part::Gap {
                offset_bytes,
                length_bytes,
                ..
            }
            | Part::Hole {
                offset_bytes,
                length_bytes,
                ..
            }
            | Part::Overwritten {
                offset_bytes,
                length_bytes,
            } => (*offset_bytes, *length_bytes) = (range.start, length),
            Part::OpenEnd { .. } => {}
        }
        self
    }

    /// The part with memory of its own, so that it may be kept for long.
    pub(super) fn detached(mut self) -> Part {
        if let Part::Data { bytes, .. } = &mut self {
            *bytes = bytes.detached();
        }
        self
    }
}
