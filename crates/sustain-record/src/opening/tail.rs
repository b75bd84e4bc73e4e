//! Finds where a member's content ends: the newest slot by doubling strides and halving, the last
//! append in it, and what a crash left behind it.

use super::facts::{MemberEvidence, slot_start};
use super::{Asked, PATIENCE_SLOTS};
use crate::format::{AppendPlace, Descriptor, Kind};

/// Appends of the newest slot that are read one by one before all of the slot is read.
const STEPS_MAX: usize = 32;

/// Where a member's content ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemberTail {
    /// The newest slot that begins with an append; `None` if the member was never recorded to.
    pub newest_serial: Option<u64>,
    /// Where the next recording begins: behind everything that was found, and behind the slots that
    /// the superblock counts as begun.
    pub next_slot_serial: u64,
    /// The first slot behind those that are known to have been written. From here on up to
    /// `next_slot_serial` recordings were to begin that were cut off before they left an append.
    /// In a ring, what lay there a lap before may be whole still.
    pub written_slots_end: u64,
    /// Nothing in a slot before this one is looked at: 0, unless only what a pin keeps is wanted.
    pub from_slot: u64,
    /// The last append.
    pub last: Option<Descriptor>,
    /// The newest start, as the last append names it.
    pub start: Option<AppendPlace>,
    /// The largest sequence found; 0 if there is none.
    pub max_sequence: u64,
    /// The largest number of a recording; 0 if there is none.
    pub max_recording: u32,
    /// Whether the last recording ended in order, or there never was one. Otherwise the newest slot
    /// and those behind it were searched for what a crash left.
    pub clean_end: bool,
    /// Bytes that were read for that search.
    pub searched_bytes: u64,
    /// Blocks that could not be read, which count as empty.
    pub unreadable_blocks: u64,
}

pub(super) fn tail(facts: &MemberEvidence, slots_begun: u64, has_ended: bool) -> Asked<MemberTail> {
    let newest_serial = newest_slot(facts, slots_begun)?;
    // An end mark that became durable has been in the last of the slots that were begun.
    let ended_slots = if has_ended { slots_begun } else { 0 };
    let mut tail = MemberTail {
        newest_serial,
        next_slot_serial: newest_serial.map_or(0, after).max(slots_begun),
        written_slots_end: newest_serial.map_or(0, after).max(ended_slots),
        from_slot: 0,
        last: None,
        start: None,
        max_sequence: 0,
        max_recording: 0,
        clean_end: newest_serial.is_none() && slots_begun == 0,
        searched_bytes: 0,
        unreadable_blocks: 0,
    };
    if let Some(newest) = newest_serial {
        let end = last_if_end(facts, newest)?;
        // A larger hint says that a recording was to begin behind this end.
        tail.clean_end = end.is_some() && slots_begun <= after(newest);
        tail.last = end.cloned();
    }
    if tail.clean_end {
        tail.max_sequence = tail.last.as_ref().map_or(0, |last| last.sequence);
    } else {
        search_for_leftovers(facts, slots_begun, &mut tail)?;
    }
    if let (None, Some(newest)) = (&tail.last, newest_serial) {
        tail.last = last_before(facts, newest)?.cloned();
    }
    if let Some(last) = &tail.last {
        tail.start = last.start;
        tail.max_recording = last.recording;
    }
    tail.searched_bytes = facts.searched_bytes();
    tail.unreadable_blocks = facts.unreadable_blocks();
    Ok(tail)
}

/// Finds the newest slot that begins with an append: it has begun, and none of the next slots has.
pub(super) fn newest_slot(facts: &MemberEvidence, slots_begun: u64) -> Asked<Option<u64>> {
    let hinted = begun_from(facts, slots_begun.saturating_sub(1))?;
    let known = match hinted {
        Some(known) => Some(known),
        None => begun_before(facts, slots_begun)?,
    };
    let Some(mut low) = known else {
        return Ok(None);
    };
    loop {
        let mut stride = 1_u64;
        let mut high = loop {
            let probe = low.saturating_add(stride);
            match begun_in_course(facts, probe, u64::MAX)? {
                Some(begun) => low = begun,
                None => break probe,
            }
            stride = stride.saturating_mul(2);
        };
        while low < high && high - low > 1 {
            let middle = low + (high - low) / 2;
            match begun_in_course(facts, middle, high)? {
                Some(begun) => low = begun,
                None => high = middle,
            }
        }
        // Otherwise a slot that seemed not to have begun has, after all: it lies in a damaged
        // stretch.
        if low < high {
            return Ok(Some(low));
        }
    }
}

/// The same as [`begun_from`] for the first serial of the course from this one on, if that lies
/// below `high`. All before it are left out.
fn begun_in_course(facts: &MemberEvidence, serial: u64, high: u64) -> Asked<Option<u64>> {
    let next = facts.course().at_or_after(serial);
    match next.filter(|next| *next < high) {
        Some(next) => begun_from(facts, next),
        None => Ok(None),
    }
}

/// Returns the slot with this serial, or a later one, if it or one of the next few is known to have
/// begun. In a ring a later lap in the same slot shows that, too.
fn begun_from(facts: &MemberEvidence, serial: u64) -> Asked<Option<u64>> {
    let begun = |probe: u64| -> Asked<Option<u64>> {
        let start = facts.slot_start(probe)?;
        let found = start.map(|head| head.place().slot_serial);
        Ok(found.filter(|found| *found >= probe))
    };
    if let Some(found) = begun(serial)? {
        return Ok(Some(found));
    }
    let following = || facts.course().following(serial, PATIENCE_SLOTS);
    facts.know_slot_starts(following())?;
    let mut newest = None;
    for probe in following() {
        newest = newest.max(begun(probe)?);
    }
    Ok(newest)
}

/// Finds a slot that has begun before this serial, if the hint has led into a damaged stretch.
fn begun_before(facts: &MemberEvidence, slots_begun: u64) -> Asked<Option<u64>> {
    let mut serial = slots_begun.saturating_sub(1);
    let mut stride = PATIENCE_SLOTS;
    while serial > 0 {
        serial = serial.saturating_sub(stride);
        if let Some(begun) = begun_in_course(facts, serial, u64::MAX)? {
            return Ok(Some(begun));
        }
        stride = stride.saturating_mul(2);
    }
    Ok(None)
}

/// The last append of a slot, if it is an end mark.
fn last_if_end(facts: &MemberEvidence, slot_serial: u64) -> Asked<Option<&Descriptor>> {
    let mut place = slot_start(slot_serial);
    let mut last = None;
    let mut last_sequence = None;
    for _ in 0..STEPS_MAX {
        let head = facts.head(place)?;
        let Some(head) =
            head.filter(|head| last_sequence.is_none_or(|last| last < head.sequence()))
        else {
            return Ok(last.filter(is_end));
        };
        last = head.descriptor();
        last_sequence = Some(head.sequence());
        place.slot_offset_bytes += head.append_bytes();
    }
    Ok(facts.search(slot_serial)?.last().filter(is_end))
}

fn is_end(descriptor: &&Descriptor) -> bool {
    descriptor.kind == Kind::End
}

/// Looks block by block for what a crash left in the newest slot and behind it.
fn search_for_leftovers(
    facts: &MemberEvidence,
    slots_begun: u64,
    tail: &mut MemberTail,
) -> Asked<()> {
    let hinted = slots_begun.saturating_sub(1);
    // If no start of a slot is left, what follows one may be.
    let course = facts.course();
    let before_hint = || course.preceding(hinted, PATIENCE_SLOTS).last();
    let newest = tail
        .newest_serial
        .or_else(before_hint)
        .unwrap_or(hinted.saturating_sub(PATIENCE_SLOTS));
    let near_hint_end = course.ahead(hinted, PATIENCE_SLOTS);
    let near_hint = course.following(hinted.max(newest), PATIENCE_SLOTS);
    for serial in [newest]
        .into_iter()
        .chain(course.following(newest, PATIENCE_SLOTS))
        .chain([hinted.max(newest)])
        .chain(near_hint.filter(|serial| *serial <= near_hint_end))
        .filter(|serial| *serial != u64::MAX)
    {
        let content = facts.search(serial)?;
        let Some(max_sequence) = content.max_sequence else {
            continue;
        };
        tail.max_sequence = tail.max_sequence.max(max_sequence);
        tail.next_slot_serial = tail.next_slot_serial.max(after(serial));
        tail.written_slots_end = tail.written_slots_end.max(after(serial));
        let last = content.last();
        if last.is_some_and(|last| {
            tail.last
                .as_ref()
                .is_none_or(|before| before.place < last.place)
        }) {
            tail.last = last.cloned();
        }
    }
    Ok(())
}

/// The last append of a known kind, searching backwards from a slot.
pub(super) fn last_before(facts: &MemberEvidence, slot_serial: u64) -> Asked<Option<&Descriptor>> {
    let before = facts.course().preceding(slot_serial, PATIENCE_SLOTS);
    for serial in [slot_serial].into_iter().chain(before) {
        if let Some(last) = facts.search(serial)?.last() {
            return Ok(Some(last));
        }
    }
    Ok(None)
}

fn after(slot_serial: u64) -> u64 {
    slot_serial.saturating_add(1)
}
