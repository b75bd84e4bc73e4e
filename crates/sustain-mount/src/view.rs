//! What a mount shows at a time, and looking at the store again when that is due. A recorder comes
//! first: while its data waits for the disks, what is shown gets older.

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, TryLockError};

use sustain_disk::clock::{Clock, Timestamp};
use sustain_disk::engine::RecorderBacklog;
use sustain_document::list::{ListDocument, ListedRecording};
use sustain_record::document::list_document;
use sustain_record::error::RecordError;
use sustain_record::opening::{Recording, StreamSummary};
use sustain_record::reading::readable::{KeptStretch, LivePin, LiveRecordings};
use sustain_record::reading::scope::Scope;
use sustain_record::store::Store;
use sustain_targets::RecordersBeside;
use uuid::Uuid;

use crate::lock::lock;
use crate::node::INDEX_MAX;

/// While the store is recorded to, what is shown is no older than this; else than [`REST_NS`].
const LIVE_NS: u64 = 500_000_000;
const REST_NS: u64 = 1_000_000_000;
/// What the last look found is too old to be shown when this one has come, and it is followed by
/// another one.
const AGED_NS: u64 = 2 * LIVE_NS;
/// Above this part of its buffer a recorder is behind, and the store is looked at only so often.
const BEHIND_PART: f64 = 0.04;
const BEHIND_NS: u64 = 5_000_000_000;
/// So many threads wait for one that looks, where there is nothing to answer without it. A member
/// may not answer it for long, and the other threads of a mount answer whatever needs no look.
pub(crate) const WAITING_MAX: usize = 4;

/// What a mount shows.
pub(crate) struct StoreView {
    /// It is locked while the members are read, and any of them may not answer for long.
    pub(crate) state: Mutex<ViewState>,
    /// It is never locked for long: whoever reads needs it.
    shown: Mutex<ShownStore>,
    /// What was told last of all recordings. It is never locked for long.
    listed: Mutex<Option<Arc<ListDocument>>>,
    /// Threads that wait for one that looks.
    pub(crate) waiting: AtomicUsize,
    clock: Clock,
}

/// All recordings, oldest first, and behind them what each pin keeps, as they are shown from one
/// look on.
pub(crate) type ShownStore = Result<Arc<Vec<Arc<ShownRecording>>>, StoreReplaced>;

/// The store that was mounted is no more: another one was created on its members.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct StoreReplaced;

pub(crate) struct ViewState {
    live: LiveRecordings,
    beside: RecordersBeside,
    /// What this mount has met, in this order.
    met: Vec<MetRecording>,
    /// Whether nothing has changed since what was told last.
    is_listed: bool,
    looked_at: Timestamp,
}

/// What tells recordings apart for a mount: what a pin keeps of one is another one. A pin is told
/// apart by its number and the time from which it was set.
type MetRecording = (Uuid, Option<(u32, i64)>);

/// A recording, or what a pin keeps of one, as it is shown from one look on.
pub(crate) struct ShownRecording {
    /// Its place in the order in which the mount met recordings.
    pub(crate) slot: u16,
    pub(crate) recording: Recording,
    pub(crate) scope: Scope,
    /// Whether what is lost may be on its way, or may be what a ring overwrites.
    pub(crate) may_move: bool,
    /// Of what a pin keeps, what is shown.
    pinned: Option<ShownOfPin>,
}

/// What is shown of a pin.
struct ShownOfPin {
    /// Of each stream, what arrived in the time for which the pin was set.
    stretches: Vec<KeptStretch>,
    /// Notes for the user on frames that are left out.
    notes: Vec<String>,
    /// What was told of it.
    listed: OnceLock<ListDocument>,
}

impl ShownRecording {
    /// The bytes of a stream that are shown, by their offsets in the stream: all, with those that
    /// are lost, or those that belong to the pin.
    pub(crate) fn bytes(&self, number: u16) -> Option<Range<u64>> {
        match &self.pinned {
            None => Some(0..self.stream(number)?.offered_bytes),
            Some(pinned) => Some(pinned.stretches.get(usize::from(number))?.bytes.clone()),
        }
    }

    /// The numbers of the frames of a stream that are there to be shown.
    pub(crate) fn frames(&self, number: u16) -> Option<Range<u64>> {
        let frames = match &self.pinned {
            None => {
                let stream = self.stream(number)?;
                stream.readable_from_frame..stream.frames
            }
            Some(pinned) => pinned.stretches.get(usize::from(number))?.frames.clone(),
        };
        let end = frames.end.min(INDEX_MAX);
        Some(frames.start.min(end)..end)
    }

    /// A stream of it, by its number.
    pub(crate) fn stream(&self, number: u16) -> Option<&StreamSummary> {
        self.recording.streams.get(usize::from(number))
    }
}

impl StoreView {
    /// Looks at a store for the first time.
    pub(crate) fn open(store: Store) -> Result<StoreView, RecordError> {
        let clock = store.clock().clone();
        let beside = store.recorders_beside();
        let live = LiveRecordings::open(store)?;
        let mut state = ViewState {
            live,
            beside,
            met: Vec::new(),
            is_listed: false,
            looked_at: clock.now(),
        };
        let shown = Mutex::new(Ok(state.shown()));
        Ok(StoreView {
            state: Mutex::new(state),
            shown,
            listed: Mutex::new(None),
            waiting: AtomicUsize::new(0),
            clock,
        })
    }

    /// The recordings at the last look.
    pub(crate) fn last(&self) -> ShownStore {
        lock(&self.shown).clone()
    }

    /// The recordings now: the store is looked at again if that is due.
    pub(crate) fn now(&self) -> ShownStore {
        let last = self.last()?;
        let Some(mut state) = self.state_now() else {
            // What was shown until then is good for everybody else.
            return Ok(last);
        };
        let now = self.clock.now();
        if state.is_due(now) {
            let age_ns = now.since_ns(state.looked_at);
            self.look(&mut state);
            // Of a recording that goes on, what one look finds durable only the next one shows.
            if age_ns >= AGED_NS && state.live.is_recorded_to() {
                self.look(&mut state);
            }
        }
        self.last()
    }

    /// Whether a recording is known to be what it was when it was shown, and no recorder may change
    /// it. The store is looked at again for that.
    pub(crate) fn is_still(&self, shown: &ShownRecording) -> bool {
        if shown.may_move {
            return false;
        }
        let looked = self.state_awaited();
        if !looked.is_some_and(|mut state| self.look(&mut state)) {
            return false;
        }
        self.last().is_ok_and(|all| {
            let now = all.iter().find(|now| now.slot == shown.slot);
            now.is_some_and(|now| !now.may_move && now.recording == shown.recording)
        })
    }

    /// The state, unless somebody looks just now.
    fn state_now(&self) -> Option<MutexGuard<'_, ViewState>> {
        match self.state.try_lock() {
            Ok(state) => Some(state),
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    /// The state, which is waited for while somebody looks, unless enough others wait.
    fn state_awaited(&self) -> Option<MutexGuard<'_, ViewState>> {
        if let Some(state) = self.state_now() {
            return Some(state);
        }
        let waiting = self.waiting.fetch_add(1, Ordering::Relaxed);
        let state = (waiting < WAITING_MAX).then(|| lock(&self.state));
        self.waiting.fetch_sub(1, Ordering::Relaxed);
        state
    }

    /// Looks at the store again. Returns whether it could be looked at.
    fn look(&self, state: &mut ViewState) -> bool {
        let was_recorded_to = state.live.is_recorded_to();
        let looked = state.live.look();
        state.looked_at = self.clock.now();
        let is_recorded_to = state.live.is_recorded_to();
        match &looked {
            // What is shown stays the same thing as long as nothing changes: readers go by that.
            Ok(has_changed) if *has_changed || was_recorded_to != is_recorded_to => {
                *lock(&self.shown) = Ok(state.shown());
                state.is_listed = false;
            }
            // Of a recorder more is told than how far it can be read.
            Ok(_) if is_recorded_to => state.is_listed = false,
            Ok(_) => {}
            Err(RecordError::Replaced(_)) => *lock(&self.shown) = Err(StoreReplaced),
            // What cannot be looked at now stays as it was, and reading it fails by itself.
            Err(_) => {}
        }
        looked.is_ok()
    }

    /// What `sustain list --json` tells of one recording: by now, or as it was told last if
    /// somebody looks just now. `None` if nothing was told of it yet and too many wait for that.
    pub(crate) fn document(
        &self,
        shown: &ShownRecording,
    ) -> Result<Option<ListDocument>, RecordError> {
        if let Some(pinned) = &shown.pinned {
            let state = || self.state_awaited();
            return list_of_pin(pinned, shown, state);
        }
        let mut state = self.state_now();
        if state.is_none() {
            if let Some(last) = self.listed_last(shown) {
                return Ok(Some(last));
            }
            state = self.state_awaited();
        }
        let listed = state.map(|mut state| self.list(&mut state, shown));
        listed.transpose()
    }

    /// The same without waiting, and without telling anew what a recorder changes all the time.
    pub(crate) fn document_of_late(
        &self,
        shown: &ShownRecording,
    ) -> Result<Option<ListDocument>, RecordError> {
        if let Some(pinned) = &shown.pinned {
            let state = || self.state_now();
            return list_of_pin(pinned, shown, state);
        }
        let last = self.listed_last(shown);
        let Some(mut state) = self.state_now() else {
            return Ok(last);
        };
        match last {
            Some(last) if state.is_listed || state.live.is_recorded_to() => Ok(Some(last)),
            _ => self.list(&mut state, shown).map(Some),
        }
    }

    /// Tells of one recording what is known now.
    fn list(
        &self,
        state: &mut ViewState,
        shown: &ShownRecording,
    ) -> Result<ListDocument, RecordError> {
        let last = lock(&self.listed).clone().filter(|_| state.is_listed);
        let listed = match last {
            Some(last) => last,
            None => {
                let live = &state.live;
                let listed = Arc::new(list_document(live.store(), live.listed())?);
                *lock(&self.listed) = Some(Arc::clone(&listed));
                state.is_listed = true;
                listed
            }
        };
        Ok(part_of(&listed, shown))
    }

    /// What was told last, if that has this recording.
    fn listed_last(&self, shown: &ShownRecording) -> Option<ListDocument> {
        let last = lock(&self.listed).clone()?;
        Some(part_of(&last, shown)).filter(|listed| !listed.recordings.is_empty())
    }
}

/// What is told of what a pin keeps. It stays so until the pin changes, or until somebody begins or
/// ends to record.
fn list_of_pin<'a>(
    pinned: &ShownOfPin,
    shown: &ShownRecording,
    state: impl FnOnce() -> Option<MutexGuard<'a, ViewState>>,
) -> Result<Option<ListDocument>, RecordError> {
    if let Some(listed) = pinned.listed.get() {
        return Ok(Some(listed.clone()));
    }
    let Some(state) = state() else {
        return Ok(None);
    };
    let kept = std::slice::from_ref(&shown.recording);
    let mut listed = list_document(state.live.store(), kept)?;
    listed.notes.extend_from_slice(&pinned.notes);
    let newest = state.live.recordings().first();
    if !newest.is_some_and(|newest| newest.id == shown.recording.id && newest.open_end) {
        // Whatever is being recorded is another recording, or this one has ended behind the pin.
        listed
            .recordings
            .iter_mut()
            .for_each(|one| one.running = Some(false));
    }
    Ok(Some(pinned.listed.get_or_init(|| listed).clone()))
}

/// What is told of one recording.
fn part_of(listed: &ListDocument, shown: &ShownRecording) -> ListDocument {
    let is_it = |one: &&ListedRecording| one.recording == shown.recording.number;
    ListDocument {
        recordings: listed.recordings.iter().filter(is_it).cloned().collect(),
        ..listed.clone()
    }
}

impl ViewState {
    fn is_due(&mut self, now: Timestamp) -> bool {
        let age_ns = now.since_ns(self.looked_at);
        is_due(age_ns, self.live.is_recorded_to(), || self.beside.part(now))
    }

    /// What is to be shown of the last look.
    fn shown(&mut self) -> Arc<Vec<Arc<ShownRecording>>> {
        let (live, met) = (&self.live, &mut self.met);
        let recordings = live.recordings();
        let rings = recordings.first().is_some_and(|newest| newest.ring);
        let with_streams = recordings.iter().filter(|one| one.has_streams());
        let shown = with_streams.rev().filter_map(|recording| {
            let slot = slot_of(met, (recording.id, None))?;
            Some(Arc::new(ShownRecording {
                slot,
                scope: Scope::of_store(live.store(), recording),
                recording: recording.clone(),
                may_move: live.is_recorded_to() && (rings || recording.under_way),
                pinned: None,
            }))
        });
        let mut shown: Vec<_> = shown.collect();
        let pins = live.pins().iter();
        shown.extend(pins.flat_map(|pin| shown_of_pin(live, met, pin)));
        Arc::new(shown)
    }
}

/// What is to be shown of a pin, oldest first.
fn shown_of_pin(
    live: &LiveRecordings,
    met: &mut Vec<MetRecording>,
    LivePin { kept, stretches }: &LivePin,
) -> Vec<Arc<ShownRecording>> {
    let kept_of = kept.recordings.iter().zip(stretches).rev();
    let shown = kept_of.filter_map(|(recording, stretches)| {
        let pin = (kept.pin.number, kept.pin.from_time_ns);
        let slot = slot_of(met, (recording.id, Some(pin)))?;
        Some(Arc::new(ShownRecording {
            slot,
            scope: Scope::of_store(live.store(), recording),
            recording: recording.clone(),
            may_move: live.is_recorded_to() && kept.pin.is_open,
            pinned: Some(ShownOfPin {
                stretches: stretches.clone(),
                notes: kept.cut_notices(recording.number),
                listed: OnceLock::new(),
            }),
        }))
    });
    shown.collect()
}

/// Whether what was seen so long ago is too old. `waiting` tells what part of a recorder's buffer
/// waits for the disks, if somebody records there.
fn is_due(age_ns: u64, is_recorded_to: bool, waiting: impl FnOnce() -> Option<f64>) -> bool {
    let due_ns = match is_recorded_to {
        true => LIVE_NS,
        false => REST_NS,
    };
    let is_behind = |part: f64| part > BEHIND_PART;
    age_ns >= due_ns && (age_ns >= BEHIND_NS || !waiting().is_some_and(is_behind))
}

/// The place of a recording among those that were met; `None` if there were too many.
fn slot_of(met: &mut Vec<MetRecording>, id: MetRecording) -> Option<u16> {
    let place = met.iter().position(|one| *one == id).unwrap_or_else(|| {
        met.push(id);
        met.len() - 1
    });
    u16::try_from(place).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const BEHIND: Option<f64> = Some(0.5);
    const IN_TIME: Option<f64> = Some(0.01);

    #[test]
    fn a_store_is_looked_at_less_often_while_its_recorder_is_behind() {
        for (age_ns, is_recorded_to, waiting, expected) in [
            (LIVE_NS, true, IN_TIME, true),
            (LIVE_NS, true, BEHIND, false),
            (BEHIND_NS - 1, true, BEHIND, false),
            (BEHIND_NS, true, BEHIND, true),
            (LIVE_NS, false, None, false),
            (REST_NS, false, None, true),
            // The recorder of another store on the same disks comes first as well.
            (REST_NS, false, BEHIND, false),
        ] {
            let is_due = is_due(age_ns, is_recorded_to, || waiting);
            assert_eq!(is_due, expected, "{age_ns} ns, {waiting:?}");
        }
    }

    #[test]
    fn what_is_young_enough_costs_no_look_at_the_recorders() {
        assert!(!is_due(LIVE_NS - 1, true, || unreachable!(
            "nothing is due"
        )));
        assert!(!is_due(REST_NS - 1, false, || unreachable!(
            "nothing is due"
        )));
    }
}
