//! The document of `sustain list --json`.

use super::{ListedMember, time_text, uuid_text};
use crate::opening::{Recording, StreamSummary};
use crate::store::Store;

/// The version of [`ListDocument`].
pub const LIST_SCHEMA: &str = "sustain.list/1";

/// The recordings on a store.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, schemars::JsonSchema)]
pub struct ListDocument {
    /// Always `sustain.list/1`.
    pub schema: String,
    /// UUID of the store.
    pub store: String,
    /// Size of the slots.
    pub slot_bytes: u32,
    /// All members of the store, missing ones included.
    pub members: Vec<ListedMember>,
    /// All recordings of which anything is left, oldest first.
    pub recordings: Vec<ListedRecording>,
    /// Notes for the user.
    pub notes: Vec<String>,
}

/// A recording.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, schemars::JsonSchema)]
pub struct ListedRecording {
    /// Its number.
    pub recording: u32,
    /// Its UUID.
    pub id: String,
    /// When it began, RFC 3339; null if no member's start can be read.
    pub started: Option<String>,
    /// Why it ended, in the words of `record`: `source`, `time`, `bytes`, `full`, `signal` or
    /// `error`; `recovered` if `recover` has written the end mark; `unknown` if the end mark cannot
    /// be read. Null for an open end: a crash or a kill ended it, or it is still running.
    pub ended: Option<String>,
    /// Whether old data was overwritten when the members were full.
    pub ring: bool,
    /// Its streams, in the order of their numbers.
    pub streams: Vec<ListedStream>,
}

/// A stream of a recording: `bytes = recorded_bytes + gap_bytes`.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, schemars::JsonSchema)]
pub struct ListedStream {
    /// Its name.
    pub name: String,
    /// How its frames are told apart; null if no member's start can be read.
    pub framing: Option<String>,
    /// Its length: all bytes that the source offered, lost ones included. Byte offsets count these.
    pub bytes: u64,
    /// Bytes that were written to members.
    pub recorded_bytes: u64,
    /// Frames begun.
    pub frames: u64,
    /// Bytes that the recorder lost, or gave up with a member that did not write them. Their loss
    /// is recorded.
    pub gap_bytes: u64,
    /// Of `gap_bytes`, what may be there all the same, at most: the members were given so much
    /// more than counts as recorded. A member has it that was given up, or it is copies of what
    /// lay on a slow one. `verify` reads it and tells, `extract` gives what is whole. 0 while
    /// members are missing, for then it is not known.
    pub given_up_bytes: u64,
    /// Bytes that were put on members that are not there, or not with all that they had. What is
    /// damaged on the others is found by `verify`. At least so much: copies, and what a member has
    /// that was given up, make up for it in this figure.
    pub hole_bytes: u64,
    /// Below this byte a ring has overwritten the stream, at least in part.
    pub readable_from_byte: u64,
    /// Frames that began below that byte. The oldest frame that may be left has this number.
    pub readable_from_frame: u64,
    /// When its first byte arrived, RFC 3339; null if there is none.
    pub first_time: Option<String>,
    /// When its last byte arrived, RFC 3339; null if there is none.
    pub last_time: Option<String>,
}

impl ListDocument {
    /// Makes the document of a store and its recordings, which are newest first as the store
    /// returns them.
    pub fn of(store: &Store, recordings: &[Recording]) -> ListDocument {
        ListDocument {
            schema: LIST_SCHEMA.to_owned(),
            store: uuid_text(store.id),
            slot_bytes: store.slot_bytes,
            members: ListedMember::all_of(store),
            recordings: recordings.iter().rev().map(ListedRecording::of).collect(),
            notes: store.notes.clone(),
        }
    }
}

impl ListedRecording {
    fn of(recording: &Recording) -> ListedRecording {
        ListedRecording {
            recording: recording.number,
            id: uuid_text(recording.id),
            started: recording.started_ns.map(time_text),
            ended: ended(recording),
            ring: recording.ring,
            streams: recording.streams.iter().map(ListedStream::of).collect(),
        }
    }
}

/// Why a recording ended; `None` for an open end.
pub(super) fn ended(recording: &Recording) -> Option<String> {
    let said = recording.end.as_ref().map(|end| end.ended.clone());
    said.or_else(|| (!recording.open_end).then(|| "unknown".to_owned()))
}

impl ListedStream {
    fn of(stream: &StreamSummary) -> ListedStream {
        let has_bytes = stream.offered_bytes > 0;
        ListedStream {
            name: stream.name.clone(),
            framing: stream.framing.clone(),
            bytes: stream.offered_bytes,
            recorded_bytes: stream.recorded_bytes,
            frames: stream.frames,
            gap_bytes: stream.gap_bytes,
            given_up_bytes: stream.given_up_bytes,
            hole_bytes: stream.hole_bytes,
            readable_from_byte: stream.readable_from_bytes,
            readable_from_frame: stream.readable_from_frame,
            first_time: stream.first_time_ns.filter(|_| has_bytes).map(time_text),
            last_time: has_bytes.then(|| time_text(stream.last_time_ns)),
        }
    }
}
