//! The document of `sustain list --json`.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::control::UserMark;
use crate::record::RecordingEnd;

/// The version of [`ListDocument`].
pub const LIST_SCHEMA: &str = "sustain.list/1";

/// The recordings on a store.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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
    /// The pins of the store, in the order of their numbers.
    #[serde(default)]
    pub pins: Vec<ListedPin>,
    /// Notes for the user.
    pub notes: Vec<String>,
}

impl ListDocument {
    /// The recordings of which only pins keep anything that can be read, oldest first, each with
    /// the numbers of these pins: a ring has overwritten the rest.
    #[must_use]
    pub fn only_pinned(&self) -> BTreeMap<u32, Vec<u32>> {
        let mut pins: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        for pin in &self.pins {
            for recording in &pin.found.kept_recordings {
                pins.entry(*recording).or_default().push(pin.number);
            }
        }
        let has_own = |number: u32| {
            let mut recordings = self.recordings.iter();
            recordings.any(|one| one.recording == number && !one.is_overwritten())
        };
        pins.retain(|number, _| !has_own(*number));
        pins
    }
}

/// A stretch of a ring that is kept from being overwritten.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ListedPin {
    /// Its number.
    pub number: u32,
    /// The beginning that was asked for, RFC 3339.
    pub from: String,
    /// The end that was asked for, RFC 3339.
    pub to: String,
    /// Whether all that comes is kept, because the end was not reached, or not noted, so far.
    pub open: bool,
    /// The space that it takes of the ring, in whole slots, on the members that are there.
    pub kept_bytes: u64,
    /// The recordings of which it keeps something, oldest first.
    pub recordings: Vec<u32>,
    /// What is found of it.
    #[serde(flatten)]
    pub found: PinFindings,
}

/// What is found of what a pin keeps.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PinFindings {
    /// When what is found of it arrived; null where nothing is found.
    #[serde(default)]
    pub kept: Option<KeptTimes>,
    /// Whether no byte of a stream is found that it keeps.
    #[serde(default)]
    pub absent: bool,
    /// The recordings of which bytes of a stream are found that it keeps, oldest first. One that is
    /// not in the list of recordings is there only as far as pins keep it.
    #[serde(default)]
    pub kept_recordings: Vec<u32>,
}

/// When the first and the last byte arrived that are found of a pin, whichever streams they are of.
/// It keeps whole slots, which may have some of what came before its time and behind it, too.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct KeptTimes {
    /// When the first byte arrived, RFC 3339.
    pub from: String,
    /// When the last byte arrived, RFC 3339.
    pub to: String,
}

/// A recording.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ListedRecording {
    /// Its number.
    pub recording: u32,
    /// Its UUID.
    pub id: String,
    /// When it began, RFC 3339; null if no member's start can be read.
    pub started: Option<String>,
    /// Why it ended. Null for an open end: a crash or a kill ended it, or it is still running.
    pub ended: Option<RecordingEnd>,
    /// Whether a recorder is still at it. Null where that cannot be told: a recorder began or ended
    /// just then, or the file system of the members knows no locks.
    #[serde(default)]
    pub running: Option<bool>,
    /// Whether old data was overwritten when the members were full.
    pub ring: bool,
    /// How many members may be lost without loss of data that was protected: each group of appends
    /// was to have so many of parity. 0 without parity; null if no start can be read.
    #[serde(default)]
    pub parity: Option<u16>,
    /// Its streams, in the order of their numbers.
    pub streams: Vec<ListedStream>,
    /// The marks that users set in it, as far as they can be read; the newest of them if there are
    /// very many.
    #[serde(default)]
    pub marks: Vec<UserMark>,
    /// Marks that were set in it, those included that are not in `marks`: the next three, and older
    /// ones if there are very many.
    #[serde(default)]
    pub marks_made: u64,
    /// Of `marks_made`, those that a ring has overwritten.
    #[serde(default)]
    pub marks_overwritten: u64,
    /// Of `marks_made`, those that no member took: the store was full, or its members had failed.
    #[serde(default)]
    pub marks_not_kept: u64,
    /// Of `marks_made`, those that are damaged, were not durable when a crash came, or lie on a
    /// member that is not there.
    #[serde(default)]
    pub marks_not_found: u64,
    /// Where it lies on each member that has anything of it, in the order of the members.
    #[serde(default)]
    pub places: Vec<ListedPlace>,
}

impl ListedRecording {
    /// Whether a ring has overwritten all of its streams, at least in part.
    #[must_use]
    pub fn is_overwritten(&self) -> bool {
        let is_gone = |stream: &ListedStream| {
            stream.readable_from_byte > 0 && stream.readable_from_byte >= stream.bytes
        };
        let with_bytes = self.streams.iter().filter(|stream| stream.bytes > 0);
        with_bytes.clone().next().is_some() && with_bytes.clone().all(is_gone)
    }
}

/// Where a recording lies on a member. In a ring it may go on in the first slot behind the last
/// one: then `to_device_byte` is not above `from_device_byte`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ListedPlace {
    /// The member's name as typed.
    pub member: String,
    /// The member's place in the store, from 0.
    pub index: u64,
    /// The byte of the device or file at which the oldest append begins that is left of it.
    pub from_device_byte: u64,
    /// The byte behind its newest append.
    pub to_device_byte: u64,
    /// Whether a ring has overwritten what came before on this member.
    pub overwritten: bool,
}

/// A stream of a recording: `bytes = recorded_bytes + gap_bytes + crash_bytes`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ListedStream {
    /// Its name.
    pub name: String,
    /// How its frames are told apart; null if no member's start can be read.
    pub framing: Option<String>,
    /// Its length: all bytes that the source offered, lost ones included. Byte offsets count these.
    pub bytes: u64,
    /// Bytes that were written to members.
    pub recorded_bytes: u64,
    /// Frames begun. Where the stream ends within a frame, that frame is counted too; `list
    /// --frames` calls it cut.
    pub frames: u64,
    /// Bytes that the recorder lost, or gave up with a member that did not write them. Their loss
    /// is recorded.
    pub gap_bytes: u64,
    /// Bytes that a crash took, as `sustain recover` found when it gave the recording its end.
    #[serde(default)]
    pub crash_bytes: u64,
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

/// A member of a store, present or missing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ListedMember {
    /// The name as typed; null for a member that was not given.
    pub name: Option<String>,
    /// Its place in the store, from 0.
    pub index: u64,
    /// UUID of the member.
    pub member: String,
    /// Whether it was given.
    pub state: MemberPresence,
    /// Bytes of it that the store uses, superblocks included; null if it is missing.
    pub bytes: Option<u64>,
    /// Number of slots; null if it is missing.
    pub slots: Option<u64>,
}

impl ListedMember {
    /// Whether the member was given.
    #[must_use]
    pub fn is_present(&self) -> bool {
        self.bytes.is_some()
    }
}

closed_set! {
    /// Whether a member was given.
    pub enum MemberPresence {
        /// It was.
        Present,
        /// It was not.
        Missing,
    }
}
