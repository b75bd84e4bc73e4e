//! Follows a store that may be recorded to meanwhile: each look tells how far its recordings can be
//! read by then. What was told to be readable stays so as long as the recording goes on, unless a
//! ring overwrites it.

use std::collections::VecDeque;

use sustain_disk::clock::Timestamp;
use uuid::Uuid;

use super::pinned::readable_pin;
use super::stretch::{KeptStretch, pinned_stretches};
use super::{behind_cuts, ended_while_looked_at, going_on, is_same_end};
use crate::error::RecordError;
use crate::opening::Recording;
use crate::reading::checkable::Checkable;
use crate::reading::kept::KeptByPin;
use crate::reading::scope::Scope;
use crate::store::Store;

/// When the newest append of a recording has been the newest for so long, all of it is read. It is
/// durable by then if its members answer and are flushed every half second, as they are by default.
/// Only a further append would tell that, and of a silent source there may be none for days.
const RESTS_AFTER_NS: u64 = 2_000_000_000;
/// Looks that are kept until what they saw is durable.
const LOOKS_KEPT: usize = 64;

/// The recordings of a store, as far as they can be read at the last look.
pub struct LiveRecordings {
    store: Store,
    /// As the last look found them.
    seen: Vec<Recording>,
    readable: Vec<Recording>,
    pins: Vec<LivePin>,
    is_recorded_to: bool,
    going: Option<Going>,
}

/// What a pin keeps at the last look.
#[derive(Debug, Clone, PartialEq)]
pub struct LivePin {
    /// The pin, and what it keeps of recordings, newest first.
    pub kept: KeptByPin,
    /// What of each stream of these recordings arrived in the time for which the pin was set.
    pub stretches: Vec<Vec<KeptStretch>>,
}

/// What is known of the recording that goes on.
#[derive(Debug, Clone)]
struct Going {
    id: Uuid,
    /// Since when its newest append has been the newest.
    rests_since: Timestamp,
    streams: Vec<GoingStream>,
}

/// How far a stream of it is readable. It never becomes less.
#[derive(Debug, Clone, Default)]
struct GoingStream {
    readable_bytes: u64,
    /// Frames that have ended below that.
    whole_frames: u64,
    /// Bytes handed out and frames begun at earlier looks.
    looks: VecDeque<(u64, u64)>,
}

impl LiveRecordings {
    /// Looks at an open store for the first time.
    ///
    /// # Errors
    /// If the members cannot be driven, as of [`Store::recordings`].
    pub fn open(mut store: Store) -> Result<LiveRecordings, RecordError> {
        let seen = store.recordings()?;
        let mut live = LiveRecordings {
            store,
            seen,
            readable: Vec::new(),
            pins: Vec::new(),
            is_recorded_to: true,
            going: None,
        };
        live.look()?;
        Ok(live)
    }

    /// The store as the last look found it.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// All recordings of which anything is left, newest first, as far as they can be read. Of one
    /// that goes on, `frames` counts those that are complete.
    pub fn recordings(&self) -> &[Recording] {
        &self.readable
    }

    /// What pins keep besides, in the order of their numbers.
    pub fn pins(&self) -> &[LivePin] {
        &self.pins
    }

    /// Whether a recorder was at the store at the last look, as far as that can be told.
    pub fn is_recorded_to(&self) -> bool {
        self.is_recorded_to
    }

    /// All recordings, newest first, as they are listed: of one that goes on, all that was handed
    /// out to its members.
    pub fn listed(&self) -> &[Recording] {
        match self.is_recorded_to {
            true => &self.seen,
            false => &self.readable,
        }
    }

    /// Looks again. Returns whether anything can be read otherwise than before.
    ///
    /// # Errors
    /// [`RecordError::Replaced`] if there is another store on the members; otherwise if they cannot
    /// be driven. Then all stays as it was.
    pub fn look(&mut self) -> Result<bool, RecordError> {
        let (mut store, mut now) = self.look_once()?;
        if self.has_just_ended(&now) {
            (store, now) = self.look_once()?;
        }
        let is_recorded_to = store.is_recorded_to() != Some(false);
        let is_still = !is_recorded_to && !self.is_recorded_to;
        let pins = pins_since(&mut store, &self.pins, is_still)?;
        let are_others_kept = pins != self.pins;
        let newest = now.first().filter(|newest| newest.open_end);
        let going = newest.filter(|_| is_recorded_to).cloned();
        let is_at_rest = going.is_none() && self.going.is_none();
        if is_at_rest && now == self.seen && is_recorded_to == self.is_recorded_to {
            (self.store, self.pins) = (store, pins);
            return Ok(are_others_kept);
        }
        let mut readable = now.clone();
        if let Some(newest) = &going {
            let at = store.clock().now();
            readable[0] = self.follow(newest, at);
        } else {
            self.going = None;
            readable = behind_cuts(Checkable::of(&store, &readable), &mut |_| ())?;
        }
        let has_changed = are_others_kept || readable != self.readable;
        (self.store, self.seen, self.readable) = (store, now, readable);
        self.pins = pins;
        self.is_recorded_to = is_recorded_to;
        Ok(has_changed)
    }

    /// The store and its recordings, as the members tell of them one after the other.
    fn look_once(&self) -> Result<(Store, Vec<Recording>), RecordError> {
        let last = &self.store;
        let mut store = Store::open_anew(&last.members, last.machines(), last.clock())?;
        if store.id != last.id {
            return Err(RecordError::Replaced(format!(
                "the store {} is no more: the store {} was created in its place",
                last.id, store.id
            )));
        }
        let now = store.recordings()?;
        Ok((store, now))
    }

    /// Whether a recording has ended since the last look, and maybe while this one went from member
    /// to member. What was looked at first would then seem to lack the last appends.
    fn has_just_ended(&self, now: &[Recording]) -> bool {
        let known = |ended: &Recording| {
            let mut seen = self.seen.iter();
            seen.any(|before| before.id == ended.id && !before.open_end)
        };
        ended_while_looked_at(now).is_some_and(|ended| !known(&now[ended]))
    }

    /// The recording that goes on, as far as it can be read.
    fn follow(&mut self, now: &Recording, at: Timestamp) -> Recording {
        let before = self.seen.iter().find(|before| before.id == now.id);
        let known = self.going.take().filter(|known| known.id == now.id);
        let mut going = known.unwrap_or_else(|| Going {
            id: now.id,
            rests_since: at,
            streams: vec![GoingStream::default(); now.streams.len()],
        });
        if !before.is_some_and(|before| is_same_end(before, now)) {
            going.rests_since = at;
        }
        let rests = at.since_ns(going.rests_since) >= RESTS_AFTER_NS;
        // What one look calls durable, the next one knows.
        let settled = before.map(|before| going_on(before, now));
        let mut readable = settled.clone().unwrap_or_else(|| now.clone());
        readable.under_way = true;
        let streams = readable.streams.iter_mut().zip(&now.streams);
        going
            .streams
            .resize(now.streams.len(), GoingStream::default());
        for (known, (stream, now)) in going.streams.iter_mut().zip(streams) {
            let durable_bytes = match (rests, &settled) {
                (true, _) => now.offered_bytes,
                (false, Some(_)) => stream.offered_bytes,
                (false, None) => now.readable_from_bytes,
            };
            known.come(durable_bytes, (now.offered_bytes, now.frames));
            stream.offered_bytes = known.readable_bytes.max(now.readable_from_bytes);
            stream.frames = known.whole_frames.max(now.readable_from_frame);
        }
        self.going = Some(going);
        readable
    }
}

/// What pins keep now. What one keeps whose end was told stays as it was at an earlier look, and so
/// does all else if nobody has recorded since.
fn pins_since(
    store: &mut Store,
    earlier: &[LivePin],
    is_still: bool,
) -> Result<Vec<LivePin>, RecordError> {
    let stays = |is_open: bool| is_still || !is_open;
    let mut pins = Vec::new();
    for pin in store.pins() {
        let before = earlier.iter().find(|before| {
            let before = &before.kept.pin;
            // Earlier versions gave a number again when its pin was freed long ago.
            (before.number, before.from_time_ns) == (pin.number, pin.from_time_ns)
        });
        if let Some(before) = before.filter(|before| stays(pin.is_open) && before.kept.pin == pin) {
            pins.push(before.clone());
            continue;
        }
        let kept = match readable_pin(store, pin.number) {
            Ok(kept) => kept,
            // It was freed just now.
            Err(RecordError::Usage(_)) => continue,
            Err(error) => return Err(error),
        };
        let stretches = kept.recordings.iter().map(|recording| {
            let scope = Scope::of_store(store, recording);
            let earlier = before.and_then(|before| before.of(recording));
            pinned_stretches(&scope, &kept.pin, recording, earlier)
        });
        let stretches = stretches.collect::<Result<_, RecordError>>()?;
        pins.push(LivePin { kept, stretches });
    }
    Ok(pins)
}

impl LivePin {
    /// What of the streams of a recording belongs to it, if it keeps any of that.
    fn of(&self, recording: &Recording) -> Option<&[KeptStretch]> {
        let mut all = self.kept.recordings.iter().zip(&self.stretches);
        let found = all.find(|(kept, _)| kept.id == recording.id);
        found.map(|(_, stretches)| &stretches[..])
    }
}

impl GoingStream {
    /// Takes note of how far it is durable, and of how far it has come.
    fn come(&mut self, durable_bytes: u64, (offered_bytes, frames): (u64, u64)) {
        self.readable_bytes = self.readable_bytes.max(durable_bytes);
        if self.looks.back() != Some(&(offered_bytes, frames)) {
            self.looks.push_back((offered_bytes, frames));
        }
        // Of many, one in the middle is let go: the rest still tells nearly as much.
        if self.looks.len() > LOOKS_KEPT {
            self.looks.remove(LOOKS_KEPT / 2);
        }
        while let Some((offered_bytes, frames)) = self.looks.front().copied() {
            if offered_bytes > self.readable_bytes {
                break;
            }
            // The last frame that had begun by then may go on.
            self.whole_frames = self.whole_frames.max(frames.saturating_sub(1));
            self.looks.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_count_when_all_that_was_there_with_them_is_durable() {
        let mut stream = GoingStream::default();
        let mut come = |durable_bytes, look| {
            stream.come(durable_bytes, look);
            (stream.readable_bytes, stream.whole_frames)
        };
        assert_eq!(come(0, (100, 3)), (0, 0));
        assert_eq!(come(90, (200, 7)), (90, 0));
        assert_eq!(come(150, (300, 9)), (150, 2));
        // It never becomes less.
        assert_eq!(come(120, (300, 9)), (150, 2));
        assert_eq!(come(300, (300, 9)), (300, 8));
    }

    #[test]
    fn looks_that_are_never_durable_do_not_pile_up() {
        let mut stream = GoingStream::default();
        (1..1000).for_each(|look| stream.come(0, (100 * look, look)));
        assert_eq!(stream.looks.len(), LOOKS_KEPT);
        stream.come(1_000_000, (1_000_000, 5000));
        assert_eq!(stream.whole_frames, 4999);
    }
}
