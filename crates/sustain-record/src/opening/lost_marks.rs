//! Start and end marks that were durable on a member and are not found there any more: how that is
//! known, and the words for it, so that whoever tells of them says the same.

use super::facts::{MemberEvidence, slot_start};
use super::{Asked, Chapter, StreamExtent};
use crate::format::{AppendPlace, Descriptor, EndNote, Kind, StartNote};

const END_IS_LOST: &str = "its end mark is damaged or lost: another place on this member says that \
     the recording ended in order. What was recorded last there may be lost with it";
const LAST_IS_LOST: &str = "its last append there is damaged or lost, most likely its end mark: \
     the start of the next recording names it";
const BEFORE_IS_LOST: &str = "the append before its start, which the start names, is damaged or \
     lost, and with it all that is known there of the recording before";
const RECORDING_IS_LOST: &str = "its start says that a recording before it ended in order in this \
     slot, and nothing of that recording is found there";

/// What [`StreamExtent::unknown_mark`] means.
pub(crate) const MARK_IS_UNKNOWN: &str = "a mark that was durable is not here, most likely the end \
     mark of a recording. In this ring a power cut may have written over it, or it was damaged \
     since: which of the two cannot be told";

impl StreamExtent {
    /// Where marks were on this member that are lost, and how that is known. What a power cut may
    /// have left half written over in a ring is none of them.
    pub fn lost_marks(&self) -> impl Iterator<Item = (AppendPlace, &'static str)> {
        let unless_overwritten =
            |place: Option<AppendPlace>| place.filter(|_| !self.end_is_overwritten);
        let marks = [
            (unless_overwritten(self.lost_end), END_IS_LOST),
            (unless_overwritten(self.lost_last), LAST_IS_LOST),
            (self.lost_before, BEFORE_IS_LOST),
            (self.lost_recording, RECORDING_IS_LOST),
        ];
        marks
            .into_iter()
            .filter_map(|(place, why)| Some((place?, why)))
    }
}

/// What the superblock tells of the last end.
#[derive(Debug, Clone, Copy)]
pub(super) struct LastEnded {
    /// Whether the last recording has ended, and its end mark became durable.
    pub(super) has_ended: bool,
    /// The slot of the last end mark that became durable, be it of the last recording or not.
    pub(super) end_slot: Option<u64>,
}

/// Whether an end mark became durable before anything damaged it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EndDurability {
    /// The start of the next recording tells so, or the superblock where none follows that can be
    /// read. Whatever is not whole in it now is damage.
    Told,
    /// It was written by an older recorder, which does not tell, and counts as durable.
    Assumed,
    /// Nothing tells. A power cut may have left it half written, and the start behind it, too.
    Unknown,
}

/// Whether the end mark of a recording became durable. Of recovering it is not assumed: the
/// recorder of the start is not the one of the mark. Nor is it where neither the own start nor the
/// next one is there to tell how old the recorder was.
pub(super) fn end_durability(
    last: &Descriptor,
    own: Option<&StartNote>,
    end: Option<&EndNote>,
    next: Option<&Chapter>,
    ended: LastEnded,
) -> EndDurability {
    let is_recovered = end.is_some_and(|end| end.ended == EndNote::RECOVERED);
    let is_of_older = own.is_some_and(|start| start.follows_end.is_none());
    let lies_in = |end_slot: Option<u64>| end_slot == Some(last.place.slot_serial);
    let (is_reported, is_older) = match next.and_then(|next| next.start.as_ref()) {
        Some(start) => (
            start.follows_end == Some(true) || lies_in(start.end_slot),
            // A newer recorder can only pass on what the older one has told.
            start.follows_end.is_none() || is_of_older,
        ),
        None => (
            ended.has_ended && next.is_none() || lies_in(ended.end_slot),
            is_of_older,
        ),
    };
    match (is_reported, is_older && !is_recovered) {
        (true, _) => EndDurability::Told,
        (false, true) => EndDurability::Assumed,
        (false, false) => EndDurability::Unknown,
    }
}

/// Where the end mark of a recording should be that was durable and is not found, as the superblock
/// tells, or else the start that follows it, or the end mark of recovering.
pub(super) fn lost_end(
    facts: &MemberEvidence,
    last: &Descriptor,
    end: Option<&EndNote>,
    next: Option<&Chapter>,
    ended: LastEnded,
) -> Asked<Option<AppendPlace>> {
    if last.kind == Kind::End {
        let follows_end = end.is_some_and(|end| end.follows_end == Some(true));
        let place = last.previous.filter(|_| follows_end);
        let Some(place) = place else { return Ok(None) };
        let before = facts.descriptor(place)?;
        return Ok(Some(before.map_or(place, |before| behind(facts, before))));
    }
    let slot = last.place.slot_serial;
    let end_slot = match next {
        Some(next) => {
            let start = next.start.as_ref();
            let follows_end = start.and_then(|start| start.follows_end) == Some(true);
            let told = start.and_then(|start| start.end_slot);
            // Where the next start names an append that is gone, that one is the end mark.
            let is_before = |place: AppendPlace| place < next.first.place;
            let is_named = next.lost_before.is_some() || next.unknown_mark.is_some_and(is_before);
            told.or(follows_end.then_some(slot)).filter(|_| !is_named)
        }
        None => ended.end_slot,
    };
    // An end mark in an earlier slot is of a recording before. And what lies behind the slot that
    // the superblock told of has come since that was read.
    let end_slot = end_slot.filter(|end_slot| slot <= *end_slot);
    Ok(end_slot.map(|end_slot| behind(facts, last).max(slot_start(end_slot))))
}

/// Whether nothing is found of a recording that ended in a slot before the first append of another
/// one, given what is the last append before that. If that one is no end mark, it may be of the
/// recording that ended there.
pub(super) fn is_lost_between(
    end_slot: u64,
    before: Option<&Descriptor>,
    first: &Descriptor,
) -> bool {
    let is_first = first.is_first_start() && first.start.is_none_or(|start| start == first.place);
    let is_older =
        |before: &Descriptor| before.kind == Kind::End && before.place.slot_serial < end_slot;
    is_first && end_slot < first.place.slot_serial && before.is_none_or(is_older)
}

/// The first place behind an append where another one may be.
fn behind(facts: &MemberEvidence, append: &Descriptor) -> AppendPlace {
    let mut place = append.place;
    place.slot_offset_bytes += append.append_bytes;
    if place.slot_offset_bytes >= facts.slot_bytes() {
        let next = facts.course().after(place.slot_serial);
        return slot_start(next.unwrap_or(place.slot_serial.saturating_add(1)));
    }
    place
}

/// The append that the first start of a recording names as the one before it, if that is not found
/// there and no later lap has come to its slot. It was durable: the superblocks were renewed
/// between the two.
pub(super) fn gone_before(
    facts: &MemberEvidence,
    first: &Descriptor,
    oldest_serial: u64,
) -> Asked<Option<AppendPlace>> {
    // A repeated start names the one before it.
    let is_first = first.is_first_start() && first.start.is_none_or(|start| start == first.place);
    let named = first
        .previous
        .filter(|previous| is_first && previous.slot_serial >= oldest_serial);
    Ok(match named {
        Some(place) if facts.descriptor(place)?.is_none() => Some(place),
        _ => None,
    })
}
