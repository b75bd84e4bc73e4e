//! The state of a running recording. The recorder writes it; the status line and callers of the
//! library read it, and may wait here for a watermark.

use std::sync::{Condvar, Mutex, MutexGuard};
use std::time::Duration;

use sustain_disk::clock::Timestamp;

use super::member::MemberState;
use super::pinning::PinDesk;

/// The state of a stream.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StreamStanding {
    /// Its name.
    pub name: String,
    /// Bytes that reached the recorder, lost ones included.
    pub offered_bytes: u64,
    /// The same with what waits for its append to become full. Rates go by this: slow sources fill
    /// an append in a second and more.
    pub arrived_bytes: u64,
    /// Payload handed to members.
    pub recorded_bytes: u64,
    /// Bytes that are on the medium for good: of the first `settled_bytes`, all but the gaps and
    /// what was lost from there with a file that was deleted or cut off (its member's
    /// `lost_bytes`).
    pub durable_bytes: u64,
    /// The watermark: below this offset every byte is durable, or is a gap whose account is
    /// durable. A caller who waits until the fate of its bytes is certain waits for this.
    pub settled_bytes: u64,
    /// With parity, the payload that can be read although as many members are gone as each group
    /// has appends of parity, those included that have failed meanwhile.
    pub protected_bytes: Option<u64>,
    /// The watermark of that: below this offset every byte is protected so, or is a gap whose
    /// account is.
    pub protected_settled_bytes: Option<u64>,
    /// Bytes lost before they reached a medium.
    pub gap_bytes: u64,
    /// Frames begun.
    pub frames: u64,
}

impl StreamStanding {
    /// The state of a stream before its first byte.
    pub(super) fn of_name(name: &str) -> StreamStanding {
        StreamStanding {
            name: name.to_owned(),
            ..StreamStanding::default()
        }
    }
}

/// The marks of users in a recording that can be commanded.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MarksStanding {
    /// Marks that were handed to members.
    pub made: u64,
    /// The first of them, which are durable, or whose loss is.
    pub settled: u64,
    /// The stream that they are in.
    pub stream: StreamStanding,
}

/// The pins of a ring.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PinsStanding {
    /// Their numbers.
    pub numbers: Vec<u32>,
    /// The space of the slots that they keep, on all members.
    pub kept_bytes: u64,
    /// The space of all slots.
    pub ring_bytes: u64,
    /// Whether they leave no space, so that what comes waits until one is freed, or is lost.
    pub leave_nothing: bool,
    /// Where ends are still to come: how long until all of them are noted, at most, so that the
    /// ring goes on behind.
    pub ends_in_ns: Option<i64>,
}

/// The state of a member.
#[derive(Debug, Clone, PartialEq)]
pub struct MemberStanding {
    /// The name as typed.
    pub name: String,
    /// Payload written to it.
    pub bytes: u64,
    /// All that was written to it: payload, parity, and the descriptors and marks of both.
    pub written_bytes: u64,
    /// Whether it works.
    pub state: MemberState,
    /// Its recent rate.
    pub rate_bytes_per_s: f64,
    /// Free space for recordings; `None` in a ring.
    pub free_bytes: Option<u64>,
    /// Offset at which its slots end. The free space lies just before it.
    pub slots_end_bytes: u64,
    /// Payload that was durable on it and is lost with it, at most.
    pub lost_bytes: u64,
    /// Why it failed, if it did.
    pub error: Option<String>,
}

pub use sustain_document::record::LimitedBy;

/// The state of a recording at one moment.
#[derive(Debug, Clone, PartialEq)]
pub struct RecordingProgress {
    /// The recording's number in the store. When it changes, all that follows counts from the
    /// beginning again.
    pub recording: u32,
    /// When it began.
    pub begun_at: Timestamp,
    /// Seconds from its start.
    pub time_s: f64,
    /// The streams of its sources.
    pub streams: Vec<StreamStanding>,
    /// The marks that users set; `None` where they can set none.
    pub marks: Option<MarksStanding>,
    /// The pins of the store; `None` where the recording is no ring.
    pub pins: Option<PinsStanding>,
    /// The store's members.
    pub members: Vec<MemberStanding>,
    /// Appends of parity that each group is to have.
    pub parities: usize,
    /// Share of the buffer that waits for members.
    pub buffer_fill: f64,
    /// The longest time so far from handing over an append to the completion of its write. One that
    /// is under way counts with its age.
    pub longest_write_ns: u64,
    /// Whether that write has not returned.
    pub is_longest_write_under_way: bool,
    /// What limits its rate.
    pub limited_by: LimitedBy,
    /// The rate of foreign I/O on the members' disks, if there is any. The recorder itself does not
    /// know it.
    pub others_bytes_per_s: Option<f64>,
    /// Whether it is paused by a command. The recorder itself does not know it.
    pub is_paused: bool,
    /// Flushes completed so far.
    pub flushes: u64,
    /// Whether the recording is over.
    pub is_over: bool,
}

/// That a write is still on its way is told once it takes this long.
const OVERDUE_NS: u64 = 1_000_000_000;

impl RecordingProgress {
    /// The free space of the members that take data, as far as it is of use; none in a ring. With
    /// parity, a member has place for no more groups than those others that have the rest of each.
    #[must_use]
    pub fn usable_free_bytes(&self) -> Option<u64> {
        let free = self.members.iter().filter_map(|member| match member.state {
            MemberState::Active => Some(member.free_bytes),
            MemberState::Full => Some(Some(0)),
            _ => None,
        });
        let mut free = free.collect::<Option<Vec<u64>>>()?;
        free.sort_unstable_by(|one, other| other.cmp(one));
        let most = free.get(self.parities_now()).copied().unwrap_or(0);
        Some(free.into_iter().map(|bytes| bytes.min(most)).sum())
    }

    /// How many appends of parity a group gets now: as soon as too few members work for all, it has
    /// less.
    pub(crate) fn parities_now(&self) -> usize {
        let is_working = |member: &&MemberStanding| {
            matches!(member.state, MemberState::Active | MemberState::Full)
        };
        let working = self.members.iter().filter(is_working).count();
        self.parities.min(working.saturating_sub(1))
    }

    /// Whether the longest write so far has not returned, and takes so long that this is worth
    /// telling.
    #[must_use]
    pub fn is_write_overdue(&self) -> bool {
        self.is_longest_write_under_way && self.longest_write_ns >= OVERDUE_NS
    }
}

/// The place through which the state is shared.
#[derive(Debug)]
pub struct RecordingBoard {
    entries: Mutex<BoardEntries>,
    changed: Condvar,
    pins: PinDesk,
}

#[derive(Debug)]
struct BoardEntries {
    standing: RecordingProgress,
    /// The last states of recordings that ended where the next one began, until somebody takes
    /// them.
    ended: Vec<RecordingProgress>,
    /// The number of the newest recording of which a start is durable.
    begun: u32,
}

impl RecordingBoard {
    pub(super) fn new(standing: RecordingProgress) -> RecordingBoard {
        let ended = Vec::new();
        RecordingBoard {
            entries: Mutex::new(BoardEntries {
                standing,
                ended,
                begun: 0,
            }),
            changed: Condvar::new(),
            pins: PinDesk::default(),
        }
    }

    /// Returns the state of the recording.
    pub fn read(&self) -> RecordingProgress {
        self.lock().standing.clone()
    }

    /// Returns the last states of recordings that ended since this was called last, oldest first,
    /// and the state of the one that runs.
    pub fn take_ended(&self) -> (Vec<RecordingProgress>, RecordingProgress) {
        let mut entries = self.lock();
        (std::mem::take(&mut entries.ended), entries.standing.clone())
    }

    /// The number of the newest recording that has begun: its start is durable on a member. It is 0
    /// before the first.
    pub fn begun(&self) -> u32 {
        self.lock().begun
    }

    /// Where pins of the store are asked for.
    pub fn pins(&self) -> &PinDesk {
        &self.pins
    }

    /// Notes that a start of the recording that runs is durable.
    pub(super) fn note_begun(&self) {
        let mut entries = self.lock();
        entries.begun = entries.standing.recording;
    }

    /// Waits until `is_met`, the recording is over, or the time has passed. Returns the state then.
    pub fn wait_for(
        &self,
        is_met: impl Fn(&RecordingProgress) -> bool,
        at_most: Duration,
    ) -> RecordingProgress {
        let waiting = |entries: &mut BoardEntries| {
            let standing = &entries.standing;
            !standing.is_over && !is_met(standing)
        };
        self.changed
            .wait_timeout_while(self.lock(), at_most, waiting)
            .map_or_else(
                |poisoned| poisoned.into_inner().0.standing.clone(),
                |(entries, _)| entries.standing.clone(),
            )
    }

    /// Waits until all of a stream below this offset is durable, or is a gap whose account is;
    /// until the recording is over; or until the time has passed. `stream` counts from 0, in the
    /// order of [`RecordingProgress::streams`]. Returns whether it is so.
    pub fn wait_durable(&self, stream: usize, offset_bytes: u64, at_most: Duration) -> bool {
        let is_durable = |standing: &RecordingProgress| {
            let stream = standing.streams.get(stream);
            stream.is_some_and(|stream| stream.settled_bytes >= offset_bytes)
        };
        is_durable(&self.wait_for(is_durable, at_most))
    }

    /// As [`RecordingBoard::wait_durable`], until it can be read although as many members are gone
    /// as each group has appends of parity. Without parity that is never so.
    pub fn wait_protected(&self, stream: usize, offset_bytes: u64, at_most: Duration) -> bool {
        let is_protected = |standing: &RecordingProgress| {
            let stream = standing.streams.get(stream);
            stream.is_some_and(|stream| stream.protected_settled_bytes >= Some(offset_bytes))
        };
        is_protected(&self.wait_for(is_protected, at_most))
    }

    pub(super) fn write(&self, change: impl FnOnce(&mut RecordingProgress)) {
        change(&mut self.lock().standing);
        self.changed.notify_all();
    }

    /// Goes on with the recording that follows.
    pub(super) fn begin_next(&self, first: RecordingProgress) {
        let mut entries = self.lock();
        let last = std::mem::replace(&mut entries.standing, first);
        entries.ended.push(last);
        drop(entries);
        self.changed.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, BoardEntries> {
        // A panic elsewhere leaves a state that was true a moment ago.
        self.entries
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}
