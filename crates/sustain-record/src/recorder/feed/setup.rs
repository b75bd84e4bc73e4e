//! All that fixes a recording before its first byte.

use sustain_disk::clock::{Timestamp, WallClock};
use uuid::Uuid;

use super::Patience;
use crate::recorder::earlier::Earlier;
use crate::recorder::member::MemberSetup;
use crate::recorder::scatter::Window;

/// One stream of a recording.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StreamSetup {
    /// Its name, unique in the recording.
    pub name: String,
    /// How its frames are told apart, as `--frames` calls it.
    pub framing: String,
    /// Where it comes from, if that helps to check it later.
    pub source: Option<String>,
}

/// When what is written is made durable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Durability {
    /// Every write is durable when it completes.
    pub each: bool,
    /// The oldest byte that is not durable is at most about so old.
    pub interval_ns: u64,
    /// A member is flushed when so much on it is not.
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

/// All that fixes a recording before its first byte.
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
    /// What is on the store and may lose its starts, oldest first; nothing unless it is a ring.
    pub earlier: Vec<Earlier>,
    /// When data becomes durable.
    pub durability: Durability,
    /// How much may be in flight on a member.
    pub window: Window,
    /// How long members are waited for.
    pub patience: Patience,
    /// The time of day.
    pub wall: WallClock,
    /// Where times count from.
    pub start: Timestamp,
    /// What writes it, for the start note.
    pub tool: String,
}
