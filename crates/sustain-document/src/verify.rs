//! The document of `sustain verify --json`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::list::{ListedMember, PinFindings};

/// The version of [`VerifyDocument`].
pub const VERIFY_SCHEMA: &str = "sustain.verify/1";

/// The findings of the check of a store.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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
    /// Every flaw, by recording, in the order of their streams; behind these, those that lie in
    /// what only pins keep.
    pub bad: Vec<BadRange>,
    /// Number of flaws that are not listed.
    pub bad_unlisted: u64,
    /// What no append on the members calls durable, in the same order: a crash took it before
    /// `recover` came, or the recorder gave it up with its member. Where the end is open it may
    /// have been damaged since; the members cannot tell.
    pub not_durable: Vec<BadRange>,
    /// Number of those that are not listed.
    pub not_durable_unlisted: u64,
    /// The findings for each recording, oldest first.
    pub recordings: Vec<CheckedRecording>,
    /// The findings for each pin, in the order of their numbers.
    #[serde(default)]
    pub pins: Vec<CheckedPin>,
    /// All members of the store, missing ones included.
    pub members: Vec<ListedMember>,
    /// Notes for the user.
    pub notes: Vec<String>,
}

/// A flaw.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BadRange {
    /// The member's name as typed, if one can be named.
    pub member: Option<String>,
    /// Offset on the member.
    pub offset_bytes: Option<u64>,
    /// Number of a pin that keeps the place, if one does.
    #[serde(default)]
    pub pin: Option<u32>,
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

/// The findings for what a pin keeps of a ring.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CheckedPin {
    /// Its number.
    pub pin: u32,
    /// The beginning of the time for which it was set, RFC 3339.
    pub from_time: String,
    /// The end of the same.
    pub to_time: String,
    /// Whether all that comes is kept, because that time has not come to its end.
    pub open: bool,
    /// The space that it takes in the ring, on the members that are there.
    pub kept_bytes: u64,
    /// Whether all of it was checked, and nothing of it is damaged or missing.
    pub whole: bool,
    /// The findings for what it keeps of recordings, oldest first. What the ring still has in the
    /// same place, or a pin before this one, is checked and told there.
    pub recordings: Vec<CheckedRecording>,
    /// What is found of it.
    #[serde(flatten)]
    pub found: PinFindings,
}

/// The findings for a recording.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CheckedRecording {
    /// Its number.
    pub recording: u32,
    /// Whether it has no end mark.
    pub open_end: bool,
    /// Its streams, in the order of their numbers.
    pub streams: Vec<CheckedStream>,
    /// How parity protects it; null if it has none.
    #[serde(default)]
    pub protection: Option<CheckedProtection>,
}

/// How parity protects a recording by now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CheckedProtection {
    /// Appends of parity that each of its groups was to have.
    pub parities: u16,
    /// Bytes of which every append of their group is there and whole, so that they outlast the loss
    /// of any so many members.
    pub protected_bytes: u64,
    /// Bytes in no group, or in one that lacks an append by now.
    pub unprotected_bytes: u64,
    /// Those of them that outlast the loss of any one further member all the same, because their
    /// group has more appends of parity than it lacks appends.
    #[serde(default)]
    pub protected_from_one_bytes: u64,
}

/// The findings for a stream: `bytes = whole_bytes + gap_bytes + hole_bytes + overwritten_bytes`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CheckedStream {
    /// Its name.
    pub name: String,
    /// Whether it is the stream in which the recording keeps its marks.
    #[serde(default)]
    pub marks: bool,
    /// Its length, as far as it was checked.
    pub bytes: u64,
    /// Bytes that are present and whole.
    pub whole_bytes: u64,
    /// Those of `whole_bytes` that lie below the readable range of a ring: between them it has
    /// overwritten others. `extract` returns them of a range that is asked for.
    #[serde(default)]
    pub below_readable_bytes: u64,
    /// Where the readable range begins: from this byte on nothing has been overwritten.
    #[serde(default)]
    pub readable_from_byte: u64,
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
