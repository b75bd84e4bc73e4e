//! The starts and end marks of recordings, as other members have them, for a member that has lost
//! its own. Pure.

use crate::format::{
    AppendPlace, Descriptor, EndNote, Kind, SLOT_BYTES_MAX, StartNote, payload_room,
};
use crate::rebuilt::{FoundGroups, FoundMark};
use crate::store::SEQUENCE_STEP;

/// The oldest start of a recording, or its newest end mark, if any is found.
pub(super) fn mark_of(found: &FoundGroups, recording: u32, kind: Kind) -> Option<&FoundMark> {
    let marks = found.marks.iter().filter(|mark| {
        let descriptor = &mark.descriptor;
        descriptor.recording == recording && descriptor.kind == kind
    });
    let sequence = |mark: &&FoundMark| mark.descriptor.sequence;
    match kind {
        Kind::Start => marks.min_by_key(sequence),
        Kind::End | Kind::Data | Kind::Parity => marks.max_by_key(sequence),
    }
}

/// The sequence for a mark between two others, as near as possible to that of another member; none
/// if there is none between. Nothing of a recording comes behind its end mark.
pub(super) fn sequence_of(
    mark: &Descriptor,
    before: Option<u64>,
    after: Option<u64>,
) -> Option<u64> {
    let behind = before.map_or(0, |before| before.saturating_add(1));
    let least = match mark.kind {
        Kind::End => behind.max(mark.sequence.saturating_add(1)),
        Kind::Start | Kind::Data | Kind::Parity => behind,
    };
    let most = after.map_or(u64::MAX, |after| after.saturating_sub(1));
    // A start that is repeated in a ring comes in the middle of its recording.
    let wanted = match mark.kind == Kind::Start && !begins_recording(mark) {
        true => mark.sequence - mark.sequence % SEQUENCE_STEP,
        false => mark.sequence,
    };
    (least <= most).then(|| wanted.clamp(least, most))
}

/// Whether nothing of its recording was offered before a start.
pub(super) fn begins_recording(start: &Descriptor) -> bool {
    let mut positions = start.positions.iter();
    positions.all(|position| position.next_offset_bytes == 0)
}

/// The note of a start on this member, made of that of another one. `before` is the last append
/// before it, and says with which start and with which end mark the recording before has left off.
pub(super) fn start_note(of_other: &[u8], before: Option<&Descriptor>) -> Option<Vec<u8>> {
    let note = StartNote::from_json(of_other).ok()?;
    let end = before.filter(|before| before.kind == Kind::End);
    let end_slot = end.map(|end| end.place.slot_serial);
    let previous: Option<AppendPlace> = before.and_then(|before| before.start);
    let note = StartNote {
        previous_start: previous.map(Into::into),
        follows_end: Some(end.is_some()),
        end_slot,
        ..note
    };
    fitting(note.to_json())
}

/// The note of an end mark on this member, made of that of another one.
pub(super) fn end_note(of_other: &[u8]) -> Option<Vec<u8>> {
    let note = EndNote::from_json(of_other).ok()?;
    let note = EndNote {
        follows_end: None,
        start_was_whole: note.start_was_whole.map(|_| true),
        ..note
    };
    fitting(note.to_json())
}

/// A note, if any slot may have it: what it names here may be longer than there.
fn fitting(note: Vec<u8>) -> Option<Vec<u8>> {
    (note.len() <= payload_room(SLOT_BYTES_MAX as usize)).then_some(note)
}
