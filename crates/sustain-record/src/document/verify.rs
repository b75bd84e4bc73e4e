//! The document of `sustain verify --json`.

use super::{ListedMember, uuid_text};
use crate::reading::verify::{Bad, VerifiedRecording, VerifiedStream, VerifyResult};
use crate::store::Store;

/// The version of [`VerifyDocument`].
pub const VERIFY_SCHEMA: &str = "sustain.verify/1";

/// The findings of the check of a store.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, schemars::JsonSchema)]
pub struct VerifyDocument {
    /// Always `sustain.verify/1`.
    pub schema: String,
    /// UUID of the store.
    pub store: String,
    /// Whether nothing is damaged or missing that was durable or that `recover` found whole, as far
    /// as the members show.
    pub ok: bool,
    /// Whether everything was checked: the check was not interrupted.
    pub complete: bool,
    /// Bytes of members that were read and checked.
    pub checked_bytes: u64,
    /// Every flaw, by recording, in the order of their streams.
    pub bad: Vec<BadRange>,
    /// Number of flaws that are not listed.
    pub bad_unlisted: u64,
    /// What no append on the members calls durable, in the same order: a crash took it before
    /// `recover` came, or the recorder gave it up with its member. Where the end is open it may
    /// have
    /// been damaged since; the members cannot tell.
    pub not_durable: Vec<BadRange>,
    /// Number of those that are not listed.
    pub not_durable_unlisted: u64,
    /// The findings for each recording, oldest first.
    pub recordings: Vec<CheckedRecording>,
    /// All members of the store, missing ones included.
    pub members: Vec<ListedMember>,
    /// Notes for the user.
    pub notes: Vec<String>,
}

/// A flaw.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, schemars::JsonSchema)]
pub struct BadRange {
    /// The member's name as typed, if one can be named.
    pub member: Option<String>,
    /// Offset on the member.
    pub offset_bytes: Option<u64>,
    /// Number of the recording, if it belongs to one.
    pub recording: Option<u32>,
    /// Name of the stream, if it belongs to one.
    pub stream: Option<String>,
    /// The first byte of the stream that is lost by it.
    pub from_byte: Option<u64>,
    /// The first byte behind the loss; equal to `from_byte` if no byte is lost.
    pub to_byte: Option<u64>,
    /// What is wrong.
    pub why: String,
}

/// The findings for a recording.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, schemars::JsonSchema)]
pub struct CheckedRecording {
    /// Its number.
    pub recording: u32,
    /// Whether it has no end mark.
    pub open_end: bool,
    /// Its streams, in the order of their numbers.
    pub streams: Vec<CheckedStream>,
}

/// The findings for a stream: `bytes = whole_bytes + gap_bytes + hole_bytes + overwritten_bytes`.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, schemars::JsonSchema)]
pub struct CheckedStream {
    /// Its name.
    pub name: String,
    /// Its length, as far as it was checked.
    pub bytes: u64,
    /// Bytes that are present and whole.
    pub whole_bytes: u64,
    /// Bytes lost before they reached a member. Their loss is recorded.
    pub gap_bytes: u64,
    /// Bytes lost since they were recorded.
    pub hole_bytes: u64,
    /// Bytes that a ring has overwritten.
    pub overwritten_bytes: u64,
    /// Those of `hole_bytes` that are in `not_durable`.
    pub not_durable_bytes: u64,
    /// The watermark: below this offset every byte was durable, or was a gap whose account was, as
    /// far as the members show.
    pub settled_bytes: u64,
}

impl VerifyDocument {
    /// Makes the document of the check of this store.
    pub fn of(store: &Store, result: &VerifyResult) -> VerifyDocument {
        let stream_name = |bad: &Bad| {
            let recording = bad.recording?;
            let of_number = |checked: &&VerifiedRecording| checked.number == recording;
            let checked = result.recordings.iter().find(of_number)?;
            let stream = checked.streams.get(usize::from(bad.stream?))?;
            Some(stream.name.clone())
        };
        let range = |bad: &Bad| BadRange {
            member: bad.member.clone(),
            offset_bytes: bad.offset_bytes,
            recording: bad.recording,
            stream: stream_name(bad),
            from_byte: bad.from_byte,
            to_byte: bad.to_byte,
            why: bad.why.clone(),
        };
        VerifyDocument {
            schema: VERIFY_SCHEMA.to_owned(),
            store: uuid_text(store.id),
            ok: result.ok,
            complete: result.complete,
            checked_bytes: result.checked_bytes,
            bad: result.bad.iter().map(range).collect(),
            bad_unlisted: result.bad_unlisted,
            not_durable: result.not_durable.iter().map(range).collect(),
            not_durable_unlisted: result.not_durable_unlisted,
            recordings: result.recordings.iter().map(CheckedRecording::of).collect(),
            members: ListedMember::all_of(store),
            notes: store.notes.clone(),
        }
    }
}

impl CheckedRecording {
    fn of(verified: &VerifiedRecording) -> CheckedRecording {
        CheckedRecording {
            recording: verified.number,
            open_end: verified.open_end,
            streams: verified.streams.iter().map(CheckedStream::of).collect(),
        }
    }
}

impl CheckedStream {
    fn of(verified: &VerifiedStream) -> CheckedStream {
        CheckedStream {
            name: verified.name.clone(),
            bytes: verified.offered,
            whole_bytes: verified.recorded,
            gap_bytes: verified.gap_bytes,
            hole_bytes: verified.hole_bytes,
            overwritten_bytes: verified.overwritten_bytes,
            not_durable_bytes: verified.torn_bytes,
            settled_bytes: verified.settled_bytes,
        }
    }
}
