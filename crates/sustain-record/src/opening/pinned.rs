//! Finds what a pin keeps of recordings on one member: the same as of the whole member, but from
//! the pin's first slot on, and up to its end.

use super::catalog::{earlier_notes, merge_with};
use super::chapters::chapter;
use super::facts::{MemberEvidence, slot_start};
use super::lost_marks::LastEnded;
use super::tail::last_before;
use super::{Apart, Asked, Chapter, MemberTail, Recording};
use crate::format::{AppendPlace, BLOCK_BYTES, Descriptor, EarlierNote, Pin};

/// Appends of the last slot that are passed over, one by one, because they came behind the end.
const STEPS_MAX: usize = 1 << 16;
/// Appends of the first slot that are looked at, one by one, because they may be of the pin's time.
const LOOK_STEPS_MAX: usize = 256;

/// Adds the recordings that a pin keeps to those that are known, newest first.
pub(super) fn chapters(
    facts: &MemberEvidence,
    tail: &MemberTail,
    pin: Pin,
    known: &mut Vec<Chapter>,
) -> Asked<()> {
    let is_open = pin.end_slot.is_none();
    // All that was found is kept as long as the end is open.
    let pin = pin.closed_at(tail.next_slot_serial, u64::MAX);
    let end_slot = pin.end_slot.unwrap_or(tail.next_slot_serial);
    let pinned = MemberTail {
        newest_serial: end_slot.checked_sub(1),
        next_slot_serial: end_slot,
        written_slots_end: end_slot,
        from_slot: pin.from_slot,
        ..tail.clone()
    };
    let none_ended = LastEnded {
        has_ended: false,
        end_slot: None,
    };
    loop {
        let next = match known.last() {
            Some(newer) => newer.before.clone(),
            None if is_open => tail.last.clone(),
            None => last_below(facts, pin, end_slot)?,
        };
        let is_kept = |last: &Descriptor| last.place.slot_serial >= pin.from_slot;
        let Some(last) = next.filter(is_kept) else {
            return Ok(());
        };
        let mut chapter = chapter(facts, &pinned, &last, known, none_ended)?;
        chapter.first_in_time = first_in_time(facts, &chapter, pin.from_time_ns)?;
        known.push(chapter);
    }
}

/// The first append of a chapter that was made at this time or later. Where many small ones lie
/// before it in the first slot, it may be that of the next slot.
fn first_in_time(
    facts: &MemberEvidence,
    chapter: &Chapter,
    from_time_ns: i64,
) -> Asked<Option<Descriptor>> {
    let mut place = chapter.first.place;
    let mut steps = 0;
    while place <= chapter.last.place {
        let found = facts.descriptor(place)?;
        let found = found.filter(|found| found.recording_id == chapter.recording_id);
        match found {
            Some(found) if found.made_time_ns >= from_time_ns => return Ok(Some(found.clone())),
            Some(found) if steps < LOOK_STEPS_MAX => {
                place.slot_offset_bytes += found.append_bytes;
                steps += 1;
            }
            _ => match facts.course().after(place.slot_serial) {
                Some(next) => place = slot_start(next),
                None => break,
            },
        }
    }
    Ok(None)
}

/// The last append of the pin's slots that was made before its end was known.
fn last_below(facts: &MemberEvidence, pin: Pin, end_slot: u64) -> Asked<Option<Descriptor>> {
    let mut last = last_before(facts, end_slot.saturating_sub(1))?;
    for _ in 0..STEPS_MAX {
        let Some(found) = last.filter(|found| found.sequence >= pin.end_sequence) else {
            return Ok(last.cloned());
        };
        last = match found.previous {
            // Links only lead back.
            Some(place) if place < found.place => match facts.descriptor(place)? {
                Some(previous) => Some(previous),
                // A power cut may have taken what was not durable, and left what came behind it.
                None => last_in_front_of(facts, found.place)?,
            },
            _ => None,
        };
    }
    Ok(None)
}

/// The last append in front of a place that can be read, whatever the links say.
fn last_in_front_of(facts: &MemberEvidence, place: AppendPlace) -> Asked<Option<&Descriptor>> {
    for slot_offset_bytes in (0..place.slot_offset_bytes).step_by(BLOCK_BYTES).rev() {
        let in_front = AppendPlace {
            slot_offset_bytes,
            ..place
        };
        if let Some(found) = facts.descriptor(in_front)? {
            return Ok(Some(found));
        }
    }
    match facts.course().preceding(place.slot_serial, 1).next() {
        Some(serial) => last_before(facts, serial),
        None => Ok(None),
    }
}

/// What a pin keeps, as all members tell.
#[derive(Debug, Clone, Copy)]
pub struct Kept {
    /// The number of the pin.
    pub pin: u32,
    /// Whether recordings may have gone on behind it.
    pub is_cut: bool,
    /// Some member has an append from this sequence on in the slots that are kept.
    pub told_sequence: u64,
}

/// Merges what each member tells of what a pin keeps, as [`super::merge`] does. `all` is what they
/// tell of the whole store: the starts there have the names of streams, too.
///
/// # Errors
/// The same as of [`super::merge`].
pub fn merge_pinned(
    kept: Kept,
    pinned: &[Option<Vec<Chapter>>],
    all: &[Option<Vec<Chapter>>],
) -> Result<Vec<Recording>, Apart> {
    let starts: Vec<EarlierNote> = all
        .iter()
        .flatten()
        .flatten()
        .filter_map(own_note)
        .collect();
    let mut notes = earlier_notes(all);
    notes.extend(earlier_notes(pinned));
    notes.extend(starts.iter().map(|note| (note.id, note)));
    let mut merged = merge_with(pinned, &notes)?;
    for recording in &mut merged {
        recording.pin = Some(kept.pin);
        let mut extents = recording.per_member.iter().flatten();
        if kept.is_cut && extents.any(|extent| !extent.has_end) {
            // It went on behind the pin. Only what the appends that are kept call settled was in
            // slots that are kept.
            recording.under_way = true;
            for stream in &mut recording.streams {
                stream.offered_bytes = stream.settled_bytes.max(stream.readable_from_bytes);
            }
        }
    }
    let chapters = pinned.iter().flatten().flatten();
    let newest_sequence = chapters.map(|chapter| chapter.last.sequence).max();
    if let Some(newest) = merged.first_mut() {
        newest.lacks_end_of_pin = newest_sequence < Some(kept.told_sequence);
    }
    Ok(merged)
}

/// What the start of a recording says, as a later one would repeat it.
fn own_note(chapter: &Chapter) -> Option<EarlierNote> {
    let start = chapter.start.as_ref()?;
    Some(EarlierNote {
        id: chapter.recording_id,
        number: chapter.recording,
        started_ns: start.started_ns,
        ring: start.ring,
        streams: start.streams.clone(),
    })
}
