//! The state of a recording as the line of JSON that `--status` writes, for programs that watch a
//! recording. It repeats what the recorder reports; nothing is computed here.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::record::{LimitedBy, MemberState};

/// The value of [`StatusLine::schema`].
pub const STATUS_SCHEMA: &str = "sustain.status/1";

/// A recording at one moment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StatusLine {
    /// Always `sustain.status/1`; a reader refuses a schema that it does not know.
    pub schema: String,
    /// The recording's number in the store. When it changes, all other figures begin anew. 0 in
    /// older lines.
    #[serde(default)]
    pub recording: u32,
    /// The time since the recording's start.
    pub time_s: f64,
    /// The recording's streams.
    pub streams: Vec<StatusStream>,
    /// The store's members.
    pub members: Vec<StatusMember>,
    /// The part of the buffer that waits for members, 0 to 1.
    pub buffer_fill: f64,
    /// The longest time so far from handing an append over to the completion of its write. One that
    /// is under way counts with its age.
    pub longest_write_ns: u64,
    /// Whether that write has not returned.
    #[serde(default)]
    pub is_longest_write_under_way: bool,
    /// `source`, `members`, `pins` (which keep all of a ring), or the name of a member that is much
    /// slower than the others.
    pub limited_by: LimitedBy,
    /// The rate of other programs on the disks of the members now; null if there is none, or if it
    /// cannot be known.
    pub others_bytes_per_s: Option<f64>,
    /// Whether the recording is paused by a command.
    #[serde(default)]
    pub paused: bool,
    /// The marks that were set so far; null where none can be set.
    #[serde(default)]
    pub marks: Option<StatusMarks>,
    /// The pins of the store; null where the recording is no ring.
    #[serde(default)]
    pub pins: Option<StatusPins>,
}

/// The stretches of a ring that are kept while it goes on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StatusPins {
    /// The numbers of the pins.
    pub numbers: Vec<u32>,
    /// The space that they keep on all members, in whole slots; what two keep counts once.
    pub kept_bytes: u64,
    /// The space that the ring has with it, in whole slots.
    pub ring_bytes: u64,
    /// Whether they leave no space, so that what comes is lost, or waits, until one is freed.
    pub leave_nothing: bool,
}

/// The marks of a recording that can be commanded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StatusMarks {
    /// Marks that were handed to the recorder.
    pub made: u64,
    /// Of these, the marks that are durable, or whose loss is durably recorded: always the first
    /// ones.
    pub settled: u64,
}

/// The state of a stream.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StatusStream {
    /// Its name.
    pub name: String,
    /// Bytes that reached the recorder, lost ones included.
    pub offered_bytes: u64,
    /// The bytes that are durable: of the first `settled_bytes`, all that are not lost.
    pub durable_bytes: u64,
    /// Every byte below this offset is durable, or is durably recorded as lost.
    pub settled_bytes: u64,
    /// With parity, the bytes that can be read although as many members are gone as each group of
    /// appends has parity, those included that have failed meanwhile; null without parity.
    #[serde(default)]
    pub protected_bytes: Option<u64>,
    /// With parity, the watermark of that: every byte below this offset is protected so, or is
    /// durably recorded as lost.
    #[serde(default)]
    pub protected_settled_bytes: Option<u64>,
    /// Bytes that were lost before they reached a medium.
    pub gap_bytes: u64,
}

/// The state of a member.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StatusMember {
    /// Its name as typed.
    pub name: String,
    /// The bytes of payload written on it.
    pub bytes: u64,
    /// Its state.
    pub state: MemberState,
}
