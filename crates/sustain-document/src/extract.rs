//! The document of `sustain extract --json`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The version of [`ExtractDocument`].
pub const EXTRACT_SCHEMA: &str = "sustain.extract/1";
/// The most lost ranges that are listed. More are only counted.
pub const LOST_MAX: usize = 10_000;

/// What was read back of a stream.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ExtractDocument {
    /// Always `sustain.extract/1`.
    pub schema: String,
    /// UUID of the store.
    pub store: String,
    /// Number of the recording.
    pub recording: u32,
    /// Number of the pin that keeps what was read, with `--pin`; else null.
    #[serde(default)]
    pub pin: Option<u32>,
    /// Name of the stream.
    pub stream: String,
    /// Length of the stream, lost bytes included, as far as it is known; of what a pin keeps, as
    /// far as that goes.
    pub stream_bytes: u64,
    /// Whether the recording has no end mark: a crash or a kill ended it, or it is still running.
    /// Of what a pin keeps, also where it went on behind that.
    pub open_end: bool,
    /// The first byte of the stream that was looked at; null if none was.
    pub from_byte: Option<u64>,
    /// The byte behind the last one that was looked at; null if none was.
    pub to_byte: Option<u64>,
    /// Whether everything that was asked for was looked at: neither a loss nor the user ended it
    /// early.
    pub complete: bool,
    /// Bytes written, including zeros in the place of lost bytes.
    pub written_bytes: u64,
    /// Files written, one for each frame; null if the bytes were written to one file.
    pub written_frames: Option<u64>,
    /// Frames that are damaged or missing; null if the bytes were written to one file.
    pub lost_frames: Option<u64>,
    /// Frames asked for by number that a ring has overwritten; null if the bytes were written to
    /// one file.
    pub overwritten_frames: Option<u64>,
    /// Lost ranges, in order. Where frames were written, these are the lost bytes of lost frames.
    pub lost: Vec<Lost>,
    /// Number of lost ranges that are not listed.
    pub lost_unlisted: u64,
}

/// A lost range of a stream.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Lost {
    /// How the range was lost.
    pub kind: LostKind,
    /// Its first byte.
    pub from_byte: u64,
    /// The byte behind the last one. Equal to `from_byte` where a ring has overwritten frames that
    /// were asked for, because it is not known any more where these were.
    pub to_byte: u64,
    /// Why, in words.
    pub why: String,
}

/// How a range was lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum LostKind {
    /// It was lost before it reached a member.
    Gap,
    /// It should be on a member, and is not there or is damaged.
    Hole,
    /// A ring has overwritten it.
    Overwritten,
}
