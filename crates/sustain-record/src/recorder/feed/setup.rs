//! Everything about a recording that is fixed before its first byte. The feed takes it; `Recorder`
//! and the simulation make it.

use sustain_disk::clock::{Timestamp, UnixClock};
use uuid::Uuid;

use super::Patience;
use crate::format::{MARKS_FRAMING, MARKS_STREAM};
use crate::recorder::earlier::Earlier;
use crate::recorder::member::MemberSetup;
use crate::recorder::parity::ParitySetup;
use crate::recorder::scatter::ScatterWindow;

/// One stream of a recording.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StreamSetup {
    /// Its name, unique in the recording.
    pub name: String,
    /// How its frames are told apart, by the name that `--frames` uses.
    pub framing: String,
    /// The source, if that helps to check the stream later.
    pub source: Option<String>,
}

impl StreamSetup {
    /// The stream that has the marks of users, if there are any.
    pub(crate) fn marks() -> StreamSetup {
        StreamSetup {
            name: MARKS_STREAM.to_owned(),
            framing: MARKS_FRAMING.to_owned(),
            source: None,
        }
    }

    /// Whether it has the marks of users, and is of no source.
    pub(crate) fn is_marks(&self) -> bool {
        self.framing == MARKS_FRAMING
    }
}

/// When written data is made durable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Durability {
    /// Every write is durable when it completes.
    pub each: bool,
    /// The maximum age of a byte that is not durable, roughly.
    pub interval_ns: u64,
    /// A member is flushed when this many bytes on it are not durable.
    pub bytes: u64,
}

impl Default for Durability {
    fn default() -> Durability {
        Durability {
            each: false,
            interval_ns: 1_000_000_000,
            bytes: 64 << 20,
        }
    }
}

/// Everything about a recording that is fixed before its first byte.
#[derive(Debug, Clone)]
pub struct RecordSetup {
    /// The store.
    pub store: Uuid,
    /// Its members, all of them.
    pub members: Vec<MemberSetup>,
    /// The streams, at least one.
    pub streams: Vec<StreamSetup>,
    /// Number of the recording in the store.
    pub recording: u32,
    /// Its UUID.
    pub recording_id: Uuid,
    /// The first sequence that it may use.
    pub first_sequence: u64,
    /// Whether the oldest data of the store is overwritten.
    pub ring: bool,
    /// Whether it waits where pins keep all of a ring, instead of ending.
    pub outlasts_pins: bool,
    /// The places in the table of the members that are missing.
    pub absent: Vec<u16>,
    /// Recordings that are on the store and may lose their starts, oldest first. Empty unless this
    /// is a ring.
    pub earlier: Vec<Earlier>,
    /// When data becomes durable.
    pub durability: Durability,
    /// What protects it from the loss of members, if anything does.
    pub parity: Option<ParitySetup>,
    /// How much may be in flight on a member.
    pub window: ScatterWindow,
    /// How long members are waited for.
    pub patience: Patience,
    /// The time of day.
    pub unix_clock: UnixClock,
    /// The moment from which times count.
    pub start: Timestamp,
    /// The program that records, for the start note.
    pub tool: String,
}
