//! What everyone may know of a running recording: written by the recorder, read by the status line
//! and by the library's callers, who may wait for a watermark here.

use std::sync::{Condvar, Mutex, MutexGuard};
use std::time::Duration;

use super::member::MemberState;

/// How a stream stands.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StreamStanding {
    /// Its name.
    pub name: String,
    /// Bytes that reached the recorder, lost ones included.
    pub offered_bytes: u64,
    /// Payload handed to members.
    pub recorded_bytes: u64,
    /// Bytes that are on the medium for good: of the first `settled_bytes`, all but the gaps and what
    /// was lost from there with a file that was deleted or cut off (its member's `lost_bytes`).
    pub durable_bytes: u64,
    /// The watermark: below this offset every byte is on the medium for good, or is a gap that is
    /// accounted for there. Whoever waits until nothing more can become of his bytes waits for this.
    pub settled_bytes: u64,
    /// Bytes lost before the medium.
    pub gap_bytes: u64,
    /// Frames begun.
    pub frames: u64,
}

/// How a member stands.
#[derive(Debug, Clone, PartialEq)]
pub struct MemberStanding {
    /// As the user named it.
    pub name: String,
    /// Payload written on it.
    pub bytes: u64,
    /// Whether it works.
    pub state: MemberState,
    /// Its rate as seen lately.
    pub rate_bytes_per_s: f64,
    /// Room that is left; none in a ring.
    pub free_bytes: Option<u64>,
    /// Where its slots end, from its start; what is free lies just before.
    pub slots_end_bytes: u64,
    /// Payload of it that was durable and is gone with it, at most.
    pub lost_bytes: u64,
    /// Why it failed, if it did.
    pub error: Option<String>,
}

/// What holds the recording at its rate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LimitedBy {
    /// The members take all that comes.
    Source,
    /// All members are busy.
    Members,
    /// One member is much slower than the others.
    Member(String),
}

impl LimitedBy {
    /// As the status line says it.
    pub fn words(&self) -> &str {
        match self {
            LimitedBy::Source => "source",
            LimitedBy::Members => "members",
            LimitedBy::Member(name) => name,
        }
    }
}

/// A recording at one moment.
#[derive(Debug, Clone, PartialEq)]
pub struct Standing {
    /// From its start.
    pub time_s: f64,
    /// Its streams.
    pub streams: Vec<StreamStanding>,
    /// The store's members.
    pub members: Vec<MemberStanding>,
    /// Share of the buffer that waits for members.
    pub buffer_fill: f64,
    /// The longest time so far from an append's handing over to its write's completion.
    pub longest_write_ns: u64,
    /// What holds it.
    pub limited_by: LimitedBy,
    /// How fast others use the members' disks, if they do; the recorder itself does not know.
    pub others_bytes_per_s: Option<f64>,
    /// Flushes completed so far.
    pub flushes: u64,
    /// Whether it is over.
    pub is_over: bool,
}

/// The shared place.
#[derive(Debug)]
pub struct Board {
    standing: Mutex<Standing>,
    changed: Condvar,
}

impl Board {
    pub(super) fn new(standing: Standing) -> Board {
        Board {
            standing: Mutex::new(standing),
            changed: Condvar::new(),
        }
    }

    /// How the recording stands.
    pub fn read(&self) -> Standing {
        self.lock().clone()
    }

    /// Waits until `is_met`, the recording is over, or the time has passed; how it stands then.
    pub fn wait_for(&self, is_met: impl Fn(&Standing) -> bool, at_most: Duration) -> Standing {
        let waiting = |standing: &mut Standing| !standing.is_over && !is_met(standing);
        self.changed
            .wait_timeout_while(self.lock(), at_most, waiting)
            .map_or_else(
                |poisoned| poisoned.into_inner().0.clone(),
                |(standing, _)| standing.clone(),
            )
    }

    pub(super) fn write(&self, change: impl FnOnce(&mut Standing)) {
        change(&mut self.lock());
        self.changed.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, Standing> {
        // A panic elsewhere leaves a standing that was true a moment ago.
        self.standing
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}
