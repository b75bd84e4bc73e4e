//! Finds where a recording begins on one member, by bisection over its slots.

use super::facts::{MemberEvidence, slot_start};
use super::{Asked, PATIENCE_SLOTS};
use crate::format::Descriptor;

/// Finds what lies before the first start of a recording: nothing, or the last append of the
/// recording before. Returns `None` if the start is a repeated one, or the link is damaged.
pub(super) fn before_start<'a>(
    facts: &'a MemberEvidence,
    start: &Descriptor,
    oldest_serial: u64,
) -> Asked<Option<Option<&'a Descriptor>>> {
    if !start.is_first_start() {
        return Ok(None);
    }
    let Some(place) = start.previous else {
        return Ok(Some(None));
    };
    if place.slot_serial < oldest_serial {
        return Ok(Some(None));
    }
    let found = facts.descriptor(place)?;
    let before = found
        .filter(|before| before.recording < start.recording && before.sequence < start.sequence);
    Ok(before.map(Some))
}

/// The findings of a bisection.
#[derive(Default)]
pub(super) struct Boundary<'a> {
    pub(super) first: Option<&'a Descriptor>,
    pub(super) before: Option<&'a Descriptor>,
}

/// Finds the first append of the recording of `last`, and the last one before it, by the numbers of
/// the recordings at the starts of slots. These only grow, and a recording begins in a slot of its
/// own.
pub(super) fn first_by_slots<'a>(
    facts: &'a MemberEvidence,
    last: &'a Descriptor,
    oldest_serial: u64,
) -> Asked<Boundary<'a>> {
    let (mut low, mut high) = (oldest_serial, last.place.slot_serial);
    while low < high {
        let middle = low + (high - low) / 2;
        let begins = start_from(facts, middle, high)?;
        if begins.is_some_and(|found| found.recording < last.recording) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    // Slots from `low` on may be damaged at their starts, and may belong to either recording.
    let mut boundary = Boundary::default();
    let slots_end = facts
        .course()
        .ahead(low, PATIENCE_SLOTS)
        .min(last.place.slot_serial);
    for serial in slots_around(facts, low, oldest_serial, slots_end) {
        let at_start = facts.descriptor(slot_start(serial))?;
        if let Some(first) = at_start.filter(|first| first.is_of_recording_of(last)) {
            boundary.first = Some(first);
            if facts.course().at_or_after(oldest_serial) == Some(serial) {
                return Ok(boundary);
            }
            // The link makes it unnecessary to search the slots before.
            if let Some(before) = before_start(facts, first, oldest_serial)? {
                boundary.before = before.or(boundary.before);
                return Ok(boundary);
            }
            break;
        }
    }
    let boundary = search_around(facts, last, oldest_serial, low, boundary)?;
    if boundary.first.is_some() {
        return Ok(boundary);
    }
    Ok(Boundary {
        first: first_behind_gap(facts, last, low)?,
        ..boundary
    })
}

/// Finds the first slot that begins with something of the recording of `last`, where nothing is in
/// many slots from `low` on: damage took them, or what a pin keeps of a member that was rebuilt may
/// have begun behind them.
fn first_behind_gap<'a>(
    facts: &'a MemberEvidence,
    last: &Descriptor,
    low: u64,
) -> Asked<Option<&'a Descriptor>> {
    let (mut low, mut high) = (low, last.place.slot_serial);
    let mut first = None;
    while low <= high {
        let middle = low + (high - low) / 2;
        let begins = start_from(facts, middle, high)?;
        match begins.filter(|found| found.is_of_recording_of(last)) {
            None => low = middle + 1,
            found => {
                first = found;
                let Some(before) = middle.checked_sub(1) else {
                    break;
                };
                high = before;
            }
        }
    }
    Ok(first)
}

/// Searches the slots at a boundary that no link bridges.
fn search_around<'a>(
    facts: &'a MemberEvidence,
    last: &'a Descriptor,
    oldest_serial: u64,
    low: u64,
    mut boundary: Boundary<'a>,
) -> Asked<Boundary<'a>> {
    let slots_end = boundary
        .first
        .map_or(facts.course().ahead(low, PATIENCE_SLOTS), |first| {
            first.place.slot_serial
        })
        .min(last.place.slot_serial);
    for serial in slots_around(facts, low, oldest_serial, slots_end) {
        for (first, end) in &facts.search(serial)?.recordings {
            if end.recording < last.recording {
                boundary.before = Some(end);
            } else if first.is_of_recording_of(last) {
                boundary.first = Some(first);
                return Ok(boundary);
            }
        }
    }
    Ok(boundary)
}

/// The slots of the course from the one before `low` on, up to `slots_end`.
fn slots_around(
    facts: &MemberEvidence,
    low: u64,
    oldest_serial: u64,
    slots_end: u64,
) -> impl Iterator<Item = u64> {
    let course = facts.course();
    let before = course.preceding(low, 1).last().unwrap_or(low);
    let first = course.at_or_after(before.max(oldest_serial));
    let rest = first.map(|first| course.following(first, u64::MAX));
    let all = first.into_iter().chain(rest.into_iter().flatten());
    all.take_while(move |serial| *serial <= slots_end)
}

/// Finds the descriptor at the start of this slot, or of one of the next few up to `last_serial`.
fn start_from(facts: &MemberEvidence, serial: u64, last_serial: u64) -> Asked<Option<&Descriptor>> {
    let next = facts.course().at_or_after(serial);
    let Some(serial) = next.filter(|next| *next <= last_serial) else {
        return Ok(None);
    };
    let found = facts.descriptor(slot_start(serial))?;
    if found.is_some() {
        return Ok(found);
    }
    let following = || {
        let following = facts.course().following(serial, PATIENCE_SLOTS);
        following.take_while(|probe| *probe <= last_serial)
    };
    facts.know_slot_starts(following())?;
    for probe in following() {
        let found = facts.descriptor(slot_start(probe))?;
        if found.is_some() {
            return Ok(found);
        }
    }
    Ok(None)
}
