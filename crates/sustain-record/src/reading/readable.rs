//! Decides which part of a recording can be read as one: what was durable at one time if the
//! recording goes on, and what a power cut has left of the oldest data if it is a ring.

mod lost;
mod pen;

pub(super) use lost::{is_crashed, was_durable};

use crate::error::RecordError;
use crate::opening::Recording;
use crate::reading::verify::Checkable;
use crate::store::Store;

/// The most times to look at a recording again that ends meanwhile.
const LOOKS_MAX: u32 = 4;

/// Returns the recordings of a store as they can be read from now on.
///
/// Members are opened one after the other, so what they say of a recording that goes on is of
/// different times. Such a recording is looked at twice: below what the first look calls durable,
/// the second one knows every append. It can be read up to there.
///
/// In a ring, a power cut leaves damaged appends of the lap before that were being overwritten. The
/// readable range begins behind them.
///
/// # Errors
/// If the members cannot be driven.
pub fn readable(store: Checkable<'_>) -> Result<Vec<Recording>, RecordError> {
    let mut recordings = at_one_time(store)?;
    let store = Checkable {
        recordings: &recordings,
        ..store
    };
    let traces = pen::traces(store)?;
    for trace in traces {
        trace.apply(&mut recordings);
    }
    Ok(recordings)
}

fn at_one_time(store: Checkable<'_>) -> Result<Vec<Recording>, RecordError> {
    let mut recordings = store.recordings.to_vec();
    for _ in 0..LOOKS_MAX {
        if recordings.iter().all(|recording| !recording.open_end) {
            break;
        }
        let mut anew = Store::open_anew(store.members, store.machines, store.clock)?;
        let now = anew.recordings()?;
        let mut has_ended = false;
        for recording in recordings.iter_mut().filter(|one| one.open_end) {
            let Some(now) = now.iter().find(|now| now.id == recording.id) else {
                continue;
            };
            let has_moved = !is_same_end(recording, now);
            has_ended |= has_moved && !now.open_end;
            if has_moved {
                *recording = going_on(recording, now);
            }
        }
        if !has_ended {
            break;
        }
    }
    Ok(recordings)
}

fn is_same_end(before: &Recording, now: &Recording) -> bool {
    let mut members = before.per_member.iter().zip(&now.per_member);
    let last = |extent: &Option<crate::opening::StreamExtent>| extent.map(|extent| extent.last);
    members.all(|(before, now)| last(before) == last(now))
}

/// A recording that has gone on since it was found before, up to what was durable then.
fn going_on(before: &Recording, now: &Recording) -> Recording {
    let mut recording = now.clone();
    recording.under_way = now.open_end;
    if recording.under_way {
        for (number, stream) in recording.streams.iter_mut().enumerate() {
            let settled_bytes = before
                .streams
                .get(number)
                .map_or(0, |before| before.settled_bytes);
            stream.offered_bytes = settled_bytes.max(stream.readable_from_bytes);
        }
    }
    recording
}
