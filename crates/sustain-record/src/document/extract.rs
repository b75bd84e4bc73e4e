//! The result of `extract`.

/// The version of [`ExtractDocument`].
pub const EXTRACT_SCHEMA: &str = "sustain.extract/1";
/// More lost ranges are counted, not listed.
pub const LOST_MAX: usize = 10_000;

/// What was given back of a stream.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, schemars::JsonSchema)]
pub struct ExtractDocument {
    /// Always `sustain.extract/1`.
    pub schema: String,
    /// UUID of the store.
    pub store: String,
    /// Number of the recording.
    pub recording: u32,
    /// Name of the stream.
    pub stream: String,
    /// Length of the stream, lost bytes included, as far as it is known.
    pub stream_bytes: u64,
    /// Whether the recording has no end mark: a crash or a kill ended it, or it is still running.
    pub open_end: bool,
    /// The first byte of the stream that was looked at; null if none was.
    pub from_byte: Option<u64>,
    /// The first byte behind those that were looked at; null if none was.
    pub to_byte: Option<u64>,
    /// Whether all that was asked for was looked at: neither a loss nor the user ended it before.
    pub complete: bool,
    /// Bytes written, zeros in the place of lost ones included.
    pub written_bytes: u64,
    /// Files written, each a frame; null where the bytes were written.
    pub written_frames: Option<u64>,
    /// Frames that are damaged or missing; null where the bytes were written.
    pub lost_frames: Option<u64>,
    /// Frames asked for by number that a ring has written over; null where the bytes were written.
    pub overwritten_frames: Option<u64>,
    /// What is lost of it, in order; where frames were written, what is lost of the bytes of lost
    /// frames.
    pub lost: Vec<Lost>,
    /// How many more lost ranges there are than are listed.
    pub lost_unlisted: u64,
}

/// A lost range of a stream.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, schemars::JsonSchema)]
pub struct Lost {
    /// What became of it.
    pub kind: LostKind,
    /// Its first byte.
    pub from_byte: u64,
    /// The first byte behind it; the same where a ring has written over frames that were asked
    /// for, since nobody knows any more where these lay.
    pub to_byte: u64,
    /// Why, in words.
    pub why: String,
}

/// What became of a lost range.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum LostKind {
    /// It was lost before it reached a member.
    Gap,
    /// It should be on a member, and is not there or is damaged.
    Hole,
    /// A ring has written over it.
    Overwritten,
}
