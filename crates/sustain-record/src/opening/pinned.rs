//! Finds what a pin keeps of recordings on one member: the same as of the whole member, but from
//! the pin's first slot on, and up to its end.

use std::collections::BTreeSet;

use super::catalog::{earlier_notes, merge_with};
use super::chapters::chapter;
use super::facts::{MemberEvidence, slot_start};
use super::lost_marks::LastEnded;
use super::tail::last_before;
use super::{Apart, Asked, Chapter, MemberTail, Recording};
use crate::format::{AppendPlace, BLOCK_BYTES, Descriptor, EarlierNote, Kind, Pin};

/// The appends of one member around the beginning of a pin's time.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PinBegin {
    /// The last one that was made before it, of those that were looked at.
    pub last_before: Option<Descriptor>,
    /// The first one that was made in it, if the pin keeps any on this member.
    pub first: Option<Descriptor>,
    /// Whether nothing is missing between the two there, or before the first one. Of a member that
    /// is computed from others, whether nothing is that groups have.
    pub is_certain: bool,
}

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
            None => last_below(facts, pin, end_slot, tail)?,
        };
        let is_kept = |last: &Descriptor| last.place.slot_serial >= pin.from_slot;
        let Some(last) = next.filter(is_kept) else {
            return Ok(());
        };
        let mut chapter = chapter(facts, &pinned, &last, known, none_ended)?;
        chapter.pin_begin = begin_of(facts, &chapter, pin)?;
        if pin.told_sequence > 0 {
            chapter.last_in_pin_time = last_in_time(facts, &chapter, pin.to_time_ns)?;
        }
        known.push(chapter);
    }
}

/// Looks from the first slot that begins in the pin's time back along the links, because not all of
/// a member that is computed from others is known.
fn begin_of(facts: &MemberEvidence, chapter: &Chapter, pin: Pin) -> Asked<PinBegin> {
    let is_in_time = |append: &Descriptor| append.made_time_ns >= pin.from_time_ns;
    let mut begin = PinBegin {
        first: first_slot_in_time(facts, chapter, pin.from_time_ns)?,
        last_before: None,
        is_certain: true,
    };
    for _ in 0..LOOK_STEPS_MAX {
        let Some(first) = begin.first.as_ref() else {
            return Ok(begin);
        };
        if first.place == chapter.first.place {
            // What lies before is not the pin's, or of another recording.
            begin.is_certain &= chapter.before.is_some()
                || first.is_first_start()
                || first.place == slot_start(pin.from_slot);
            return Ok(begin);
        }
        let in_front = in_front_of(facts, first)?;
        begin.is_certain &= in_front.is_linked;
        match in_front.found.filter(|found| lies_in(found, chapter)) {
            Some(found) if is_in_time(found) => begin.first = Some(found.clone()),
            last_before => {
                begin.last_before = last_before.cloned();
                return Ok(begin);
            }
        }
    }
    begin.is_certain = false;
    Ok(begin)
}

/// The first append of a chapter that begins a slot, or the chapter, in this time, or else its last
/// one.
fn first_slot_in_time(
    facts: &MemberEvidence,
    chapter: &Chapter,
    from_time_ns: i64,
) -> Asked<Option<Descriptor>> {
    let is_in_time = |append: &&Descriptor| append.made_time_ns >= from_time_ns;
    if is_in_time(&&chapter.first) {
        return Ok(Some(chapter.first.clone()));
    }
    let mut serial = chapter.first.place.slot_serial;
    while let Some(next) = facts.course().after(serial) {
        if next > chapter.last.place.slot_serial {
            break;
        }
        let found = facts.descriptor(slot_start(next))?;
        let found = found.filter(|found| lies_in(found, chapter));
        if let Some(found) = found.filter(is_in_time) {
            return Ok(Some(found.clone()));
        }
        serial = next;
    }
    Ok(Some(&chapter.last).filter(is_in_time).cloned())
}

/// The last append of data of a chapter that was made up to this time, if it is not too far in
/// front of the next one.
fn last_in_time(
    facts: &MemberEvidence,
    chapter: &Chapter,
    to_time_ns: i64,
) -> Asked<Option<Descriptor>> {
    let is_in_time = |append: &Descriptor| append.made_time_ns <= to_time_ns;
    let mut found = &chapter.last;
    let mut slot = Some(found.place.slot_serial);
    while let Some(serial) = slot.filter(|serial| *serial > chapter.first.place.slot_serial) {
        if is_in_time(found) {
            break;
        }
        let first = facts.descriptor(slot_start(serial))?;
        match first.filter(|first| lies_in(first, chapter)) {
            Some(first) if is_in_time(first) => break,
            Some(first) => found = first,
            None => {}
        }
        slot = facts.course().preceding(serial, 1).next();
    }
    for _ in 0..LOOK_STEPS_MAX {
        if found.kind == Kind::Data && is_in_time(found) {
            return Ok(Some(found.clone()));
        }
        match in_front_of(facts, found)?
            .found
            .filter(|found| lies_in(found, chapter))
        {
            Some(in_front) => found = in_front,
            None => break,
        }
    }
    Ok(None)
}

fn lies_in(append: &Descriptor, chapter: &Chapter) -> bool {
    append.recording_id == chapter.recording_id && append.place >= chapter.first.place
}

/// The last append of the pin's slots that was made before its end was known.
fn last_below(
    facts: &MemberEvidence,
    pin: Pin,
    end_slot: u64,
    tail: &MemberTail,
) -> Asked<Option<Descriptor>> {
    let mut last = last_before(facts, end_slot.saturating_sub(1))?;
    // Of a member that is computed from others, or was rebuilt, nothing may be known for long
    // before the end of a pin: what lay there was parity.
    if last.is_none() && tail.next_slot_serial < end_slot {
        last = last_before(facts, tail.next_slot_serial.saturating_sub(1))?;
    }
    for _ in 0..STEPS_MAX {
        let Some(found) = last.filter(|found| found.sequence >= pin.end_sequence) else {
            return Ok(last.cloned());
        };
        last = in_front_of(facts, found)?.found;
    }
    Ok(None)
}

/// The append in front of another one.
struct InFront<'a> {
    found: Option<&'a Descriptor>,
    /// Whether it is the one that the other names.
    is_linked: bool,
}

fn in_front_of<'a>(facts: &'a MemberEvidence, append: &Descriptor) -> Asked<InFront<'a>> {
    // Links only lead back.
    let linked = append.previous.filter(|place| *place < append.place);
    if let Some(found) = linked
        .map(|place| facts.descriptor(place))
        .transpose()?
        .flatten()
    {
        return Ok(InFront {
            found: Some(found),
            is_linked: true,
        });
    }
    // A power cut may have taken what was not durable, and left what came behind it. What stands in
    // for what is not known names none.
    let has_none = append.previous.is_some() && linked.is_none();
    Ok(InFront {
        found: match has_none {
            true => None,
            false => last_in_front_of(facts, append.place)?,
        },
        is_linked: false,
    })
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
#[derive(Debug, Clone)]
pub struct Kept {
    /// The number of the pin.
    pub pin: u32,
    /// Whether recordings may have gone on behind it.
    pub is_cut: bool,
    /// Some member has an append from this sequence on in the slots that are kept.
    pub told_sequence: u64,
    /// The members, by their places in the table, that are computed from others. End marks are not.
    pub computed: BTreeSet<usize>,
    /// When the time begins that was pinned, in nanoseconds since 1970.
    pub from_time_ns: i64,
    /// Whether some members were computed, now or when they were repaired, and all that arrived in
    /// the pin's time is there all the same. Of what lies before that in the slots that are kept
    /// something may be gone then.
    pub begins_in_time: bool,
}

/// Merges what each member tells of what a pin keeps, as [`super::merge`] does. `all` is what they
/// tell of the whole store: the starts there have the names of streams, too.
///
/// # Errors
/// The same as of [`super::merge`].
pub fn merge_pinned(
    kept: &Kept,
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
    // Where damage hides the beginning on a member, it must show.
    let mut chapters = pinned.iter().flatten().flatten();
    let is_certain = chapters.all(|chapter| chapter.pin_begin.is_certain);
    let begins_in_time = kept.begins_in_time && is_certain;
    let mut merged = merge_with(pinned, &notes, begins_in_time)?;
    for recording in &mut merged {
        recording.pin = Some(kept.pin);
        let lacks_nothing = begins_in_time || lacks_nothing_at_begin(recording, pinned);
        recording.kept_from_ns = lacks_nothing.then_some(kept.from_time_ns);
        let extents = recording.per_member.iter().enumerate();
        let mut read = extents.filter(|(member, _)| !kept.computed.contains(member));
        if kept.is_cut && read.any(|(_, extent)| extent.is_some_and(|extent| !extent.has_end)) {
            // It went on behind the pin. Only what the appends that are kept call settled was in
            // slots that are kept.
            recording.under_way = true;
            let came = came_in_time(recording, pinned);
            for (stream, came_bytes) in recording.streams.iter_mut().zip(came) {
                stream.settled_bytes = stream.settled_bytes.max(came_bytes);
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

/// How far the streams of a recording had come in the time of a pin whose end is told: all of that
/// was durable then. An append that says so may be gone from a member that was repaired, where it
/// had parity or joined no group.
fn came_in_time(recording: &Recording, pinned: &[Option<Vec<Chapter>>]) -> Vec<u64> {
    let chapters = pinned.iter().flatten().flatten();
    let chapters = chapters.filter(|chapter| chapter.recording_id == recording.id);
    let mut came = vec![0; recording.streams.len()];
    for last in chapters.filter_map(|chapter| chapter.last_in_pin_time.as_ref()) {
        for (came_bytes, position) in came.iter_mut().zip(&last.positions) {
            *came_bytes = position.next_offset_bytes.max(*came_bytes);
        }
    }
    came
}

/// Whether the appends around the beginning of a pin's time tell that nothing of the recording was
/// handed out between them.
fn lacks_nothing_at_begin(recording: &Recording, pinned: &[Option<Vec<Chapter>>]) -> bool {
    let chapters = || pinned.iter().flatten().flatten();
    let begins = || {
        let of_it = chapters().filter(|chapter| chapter.recording_id == recording.id);
        of_it.map(|chapter| &chapter.pin_begin)
    };
    let last_before = begins().filter_map(|begin| begin.last_before.as_ref());
    let last_before = last_before.max_by_key(|append| append.sequence);
    let first = begins().filter_map(|begin| begin.first.as_ref());
    let first = first.min_by_key(|append| append.sequence);
    let (Some(last_before), Some(first)) = (last_before, first) else {
        return false;
    };
    let mut came = last_before.positions.iter().enumerate();
    last_before.sequence < first.sequence
        && first.positions.len() == last_before.positions.len()
        && came.all(|(stream, position)| {
            position.next_offset_bytes == first.position_before(stream).next_offset_bytes
        })
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
        absent: start.absent.clone(),
    })
}
