//! The state of a recording as the line of JSON that `--status` writes, for programs that watch a
//! recording. It repeats what the recorder reports; nothing is computed here.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sustain_record::recorder::{MemberStanding, Standing, StreamStanding};

/// The value of [`StatusLine::schema`].
pub const STATUS_SCHEMA: &str = "sustain.status/1";

/// A recording at one moment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StatusLine {
    /// Always `sustain.status/1`; a reader refuses a schema that it does not know.
    pub schema: String,
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
    /// `source`, `members`, or the name of a member that is much slower than the others.
    pub limited_by: String,
    /// The rate of other programs on the disks of the members now; null if there is none, or if it
    /// cannot be known.
    pub others_bytes_per_s: Option<f64>,
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
    /// `active`, `slow`, `full`, `failed` or `closed`.
    pub state: String,
}

impl StatusLine {
    pub(crate) fn of(standing: &Standing) -> StatusLine {
        StatusLine {
            schema: STATUS_SCHEMA.to_owned(),
            time_s: standing.time_s,
            streams: standing.streams.iter().map(stream).collect(),
            members: standing.members.iter().map(member).collect(),
            buffer_fill: standing.buffer_fill,
            longest_write_ns: standing.longest_write_ns,
            is_longest_write_under_way: standing.is_longest_write_under_way,
            limited_by: standing.limited_by.words().to_owned(),
            others_bytes_per_s: standing.others_bytes_per_s,
        }
    }
}

fn stream(standing: &StreamStanding) -> StatusStream {
    StatusStream {
        name: standing.name.clone(),
        offered_bytes: standing.offered_bytes,
        durable_bytes: standing.durable_bytes,
        settled_bytes: standing.settled_bytes,
        gap_bytes: standing.gap_bytes,
    }
}

fn member(standing: &MemberStanding) -> StatusMember {
    StatusMember {
        name: standing.name.clone(),
        bytes: standing.bytes,
        state: standing.state.name().to_owned(),
    }
}
