//! What is written on a member and not flushed.

use sustain_disk::clock::Timestamp;

use crate::format::{AppendPlace, CONTROL_STREAM, Gap};
use crate::recorder::filled::Filled;

/// An append that is written and not flushed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::recorder) struct Unflushed {
    pub(in crate::recorder) stream: u16,
    /// The offsets in its stream at which it begins, with its gap, and ends.
    pub(in crate::recorder) start_bytes: u64,
    pub(in crate::recorder) end_bytes: u64,
    pub(in crate::recorder) payload_bytes: u32,
    /// What was lost just before it.
    pub(in crate::recorder) gap: Option<Gap>,
    pub(in crate::recorder) frames_begun: u64,
    /// The number of the first frame behind it.
    pub(in crate::recorder) end_frame: u64,
    pub(in crate::recorder) first_time_ns: i64,
    pub(in crate::recorder) last_time_ns: i64,
    pub(in crate::recorder) begun_at: Timestamp,
    pub(in crate::recorder) sequence: u64,
    pub(in crate::recorder) place: AppendPlace,
    /// Whether these bytes are lost if this write is.
    pub(in crate::recorder) is_sole: bool,
}

impl Unflushed {
    /// An append of data.
    pub(in crate::recorder) fn of_data(
        filled: &Filled,
        sequence: u64,
        place: AppendPlace,
        is_sole: bool,
    ) -> Unflushed {
        Unflushed {
            stream: filled.stream,
            start_bytes: filled.start_bytes(),
            end_bytes: filled.end_bytes(),
            payload_bytes: filled.payload_bytes,
            gap: filled.gap,
            frames_begun: filled.frames_begun,
            end_frame: filled.first_frame.unwrap_or(0) + filled.frames_begun,
            first_time_ns: filled.first_time_ns,
            last_time_ns: filled.last_time_ns,
            begun_at: filled.begun_at,
            sequence,
            place,
            is_sole,
        }
    }

    /// An append of parity, which is of no stream: no bytes are lost with it.
    pub(in crate::recorder) fn of_parity(
        sequence: u64,
        place: AppendPlace,
        now: Timestamp,
    ) -> Unflushed {
        Unflushed {
            stream: CONTROL_STREAM,
            start_bytes: 0,
            end_bytes: 0,
            payload_bytes: 0,
            gap: None,
            frames_begun: 0,
            end_frame: 0,
            first_time_ns: 0,
            last_time_ns: 0,
            begun_at: now,
            sequence,
            place,
            is_sole: false,
        }
    }

    pub(in crate::recorder) fn is_parity(&self) -> bool {
        self.stream == CONTROL_STREAM
    }
}

/// Adds the payload of each to that of its stream.
pub(super) fn add_payload<'a>(
    stream_bytes: &mut [u64],
    unflushed: impl Iterator<Item = &'a Unflushed>,
) {
    for one in unflushed.filter(|one| !one.is_parity()) {
        stream_bytes[usize::from(one.stream)] += u64::from(one.payload_bytes);
    }
}
