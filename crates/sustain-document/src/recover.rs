//! The document of `sustain recover --json`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::record::RecordingEnd;

/// The version of [`RecoverDocument`].
pub const RECOVER_SCHEMA: &str = "sustain.recover/1";

/// What opening a store has found, and what was then written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RecoverDocument {
    /// Always `sustain.recover/1`.
    pub schema: String,
    /// UUID of the store.
    pub store: String,
    /// The recording that was given an end mark; null if none needed or could be given one.
    pub recording: Option<u32>,
    /// Names of the members on which the end mark was written.
    pub marked: Vec<String>,
    /// Whether the superblocks were renewed.
    pub superblocks_renewed: bool,
    /// Number of start and end marks that were durable and are damaged or lost; the notes name
    /// them. If there are any the exit code is 1, as it is of `verify`.
    #[serde(default)]
    pub lost_marks: u64,
    /// Bytes that were recorded, and that are on no member any more or cannot be read, as far as
    /// that shows without reading all; the notes name them. Where a ring has gone round, a
    /// recording that seems to lack some is read, and damaged bytes of it count, too. If there are
    /// any the exit code is 1.
    #[serde(default)]
    pub lost_bytes: u64,
    /// The recordings on the store, oldest first.
    pub recordings: Vec<RecoveredRecording>,
    /// Notes for the user.
    pub notes: Vec<String>,
}

/// A recording, as it was found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RecoveredRecording {
    /// Its number.
    pub recording: u32,
    /// Why it ended; `recovered` if it was given an end mark now; null for an open end.
    pub ended: Option<RecordingEnd>,
    /// Its streams, in the order of their numbers.
    pub streams: Vec<RecoveredStream>,
}

/// A stream, as it was found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RecoveredStream {
    /// Its name.
    pub name: String,
    /// Whether it is the stream in which the recording keeps its marks.
    #[serde(default)]
    pub marks: bool,
    /// Its length, lost bytes included.
    pub bytes: u64,
    /// Frames begun.
    pub frames: u64,
    /// Bytes that the recorder lost, or gave up with a member that did not write them.
    pub gap_bytes: u64,
    /// Those of `gap_bytes` that may be there all the same, at most, as in `list`.
    pub given_up_bytes: u64,
    /// Bytes that should be on members and are not there, without those that a crash took. Damage
    /// is found by `verify`, and counts here only where `lost_bytes` counts it.
    pub hole_bytes: u64,
    /// In a ring: all bytes before this one are overwritten, in whole or in part. 0 in documents of
    /// earlier versions.
    #[serde(default)]
    pub readable_from_byte: u64,
}
