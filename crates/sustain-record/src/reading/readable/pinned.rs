//! What pins keep, as it can be read. A ring leaves out the slots that they keep, so no cut of a
//! ring can have hit anything in them.

use super::whole::{leave_out, unended_frames};
use crate::error::RecordError;
use crate::opening::Recording;
use crate::reading::kept::{CutFrame, KeptByPin};
use crate::store::{Store, StorePin};

/// Returns what a pin keeps of recordings, newest first, as it can be read from now on. A frame
/// that is cut off at the end of what is kept is left out.
///
/// A pin whose end is open keeps all that comes, and members are opened one after the other. So the
/// store is looked at again: below what the look before calls durable, this one knows every append.
///
/// # Errors
/// [`RecordError::Usage`] if there is no such pin; otherwise as of [`Store::recordings`].
pub fn readable_pin(store: &mut Store, number: u32) -> Result<KeptByPin, RecordError> {
    let (mut kept, unended) = all_kept(store, number)?;
    leave_out(&unended, &mut kept.recordings);
    Ok(kept)
}

/// Returns what all pins of a store keep, to its last byte, also of frames that are cut off there.
///
/// # Errors
/// As of [`Store::recordings`].
pub fn readable_pins(store: &mut Store) -> Result<Vec<KeptByPin>, RecordError> {
    let mut kept = Vec::new();
    for pin in store.pins() {
        match all_kept(store, pin.number) {
            Ok((found, _)) => kept.push(found),
            // It was freed just now.
            Err(RecordError::Usage(_)) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(kept)
}

/// What a pin keeps to its last byte, and the frames that have not ended there.
fn all_kept(store: &mut Store, number: u32) -> Result<(KeptByPin, Vec<CutFrame>), RecordError> {
    let pin = store.pin(number)?;
    let before = store.pinned(number)?;
    if !pin.is_open || store.is_recorded_to() == Some(false) {
        return kept_by(store, pin, before, false);
    }
    let mut anew = Store::open_anew(&store.members, store.machines(), store.clock())?;
    let (now, pin) = (anew.pinned(number)?, anew.pin(number)?);
    let recordings = match pin.is_open {
        true => as_settled(&before, now),
        // What tells the end of a pin tells as well that all before was durable.
        false => now,
    };
    let is_to_come = pin.is_open;
    kept_by(&anew, pin, recordings, is_to_come)
}

fn kept_by(
    store: &Store,
    pin: StorePin,
    mut recordings: Vec<Recording>,
    is_end_to_come: bool,
) -> Result<(KeptByPin, Vec<CutFrame>), RecordError> {
    let unended = unended_frames(store, &mut recordings)?;
    let kept = KeptByPin {
        pin,
        recordings,
        cut_frames: match is_end_to_come {
            true => Vec::new(),
            false => unended.clone(),
        },
    };
    Ok((kept, unended))
}

/// What one look has found, of recordings that go on as far as the look before calls it durable.
pub(super) fn as_settled(before: &[Recording], now: Vec<Recording>) -> Vec<Recording> {
    let settled = now.into_iter().filter_map(|mut recording| {
        if !recording.under_way {
            return Some(recording);
        }
        let last = before.iter().find(|last| last.id == recording.id)?;
        for (stream, last) in recording.streams.iter_mut().zip(&last.streams) {
            let durable_bytes = last.offered_bytes.max(stream.readable_from_bytes);
            stream.offered_bytes = stream.offered_bytes.min(durable_bytes);
        }
        Some(recording)
    });
    settled.collect()
}
