//! Which recording a slot goes to that has no data to tell it. All that a member has of a recording
//! lies together, and each recording begins in a slot of its own. So where little is known of a
//! member, recordings take turns, and none may take the last slot that another one needs: without
//! its start and its end mark there, nobody would find it on this member alone.

use super::append::APPEND_BYTES_MIN;
use super::copy::SlotCopy;
use super::draft::SlotDraft;
use super::known_next::KnownNext;
use crate::error::RecordError;
use crate::format::{AppendPlace, BLOCK_BYTES, Kind};

impl SlotCopy<'_> {
    /// What comes next behind a slot, if anything is known. `next` is the slot behind it, as far as
    /// that has data.
    pub(super) fn known_next(
        &mut self,
        slot_serial: u64,
        next: Option<&SlotDraft>,
    ) -> Result<Option<KnownNext>, RecordError> {
        if let Some(known) = next.and_then(SlotDraft::known) {
            return Ok(Some(KnownNext::of(known)));
        }
        // Behind a stretch of slots without data the same comes next, whichever of them it is.
        let is_behind = |known: &KnownNext| known.found_slot > slot_serial;
        if self.known_next.is_none_or(|known| !is_behind(&known)) {
            self.known_next = self.find_next(slot_serial)?;
        }
        Ok(self.known_next)
    }

    fn find_next(&mut self, slot_serial: u64) -> Result<Option<KnownNext>, RecordError> {
        let own = self.own_heads.range(slot_serial + 1..).next();
        let own = own.map(|(slot_serial, _)| AppendPlace {
            slot_serial: *slot_serial,
            slot_offset_bytes: 0,
        });
        let found = &self.from.found;
        let in_groups = found.entry_behind(self.to.member, slot_serial);
        let in_groups = in_groups.map(|entry| entry.place);
        // A slot that the member has is as good as one that can be computed.
        if let Some(own) = own.filter(|own| in_groups.is_none_or(|place| *own <= place)) {
            let offset_bytes = self.to.identity.geometry.offset_of(own);
            let read = self.to.read(&mut self.io, offset_bytes, BLOCK_BYTES)?;
            let head = self.to.identity.head_at(own, &read.bytes);
            if let Some(found) = head.as_ref().and_then(|head| head.descriptor()) {
                return Ok(Some(KnownNext::of(found)));
            }
        }
        let Some(place) = in_groups else {
            return Ok(None);
        };
        let start = self.to.identity.geometry.offset_of(place);
        let range = start..start + BLOCK_BYTES as u64;
        let block = self.from.read(&mut self.io, self.to.member, &range)?;
        let head = block.and_then(|block| self.to.identity.head_at(place, &block));
        let found = head.as_ref().and_then(|head| head.descriptor());
        Ok(found.map(KnownNext::of))
    }

    /// The recording that a slot goes to, if none is known to have it.
    pub(super) fn turn_of(&self, slot_serial: u64, next: Option<KnownNext>) -> Option<u32> {
        if let Some(next) = next.filter(|next| next.from_slot <= slot_serial) {
            return Some(next.recording);
        }
        let current = self.last.as_ref().map(|last| last.recording);
        let goes_on = current.filter(|current| {
            // What the member has in the last slots may have been put elsewhere meanwhile. Of other
            // slots it is not known that nothing comes behind.
            let was_begun = self.own_heads.contains_key(&slot_serial);
            let is_last = was_begun && next.is_none() && self.is_open(*current);
            let has_end = self.end_mark_bytes(*current) > 0;
            let is_told =
                self.is_open(*current) && self.told_end(slot_serial, *current, next).is_some();
            let is_owed = self.owed_end == Some(*current) || is_last && has_end || is_told;
            let is_between = next.is_some_and(|next| next.recording == *current);
            // Nothing of a recording comes behind its end mark.
            let lacks_parity = self.parity.recording() == Some(*current) && self.is_open(*current);
            is_owed || is_between || lacks_parity
        });
        let goes_on = goes_on.filter(|one| self.may_have(slot_serial, *one, next));
        goes_on
            .or_else(|| self.waiting(current, next).next())
            .or_else(|| self.kept_of_next(slot_serial, current, next))
    }

    /// The recording of what comes next, where a pin keeps the slot and nothing of another
    /// recording can have been in it: a ring that repeats its starts tells of a later one than
    /// the first, and in front of that the member had parity of what the pin keeps.
    fn kept_of_next(
        &self,
        slot_serial: u64,
        current: Option<u32>,
        next: Option<KnownNext>,
    ) -> Option<u32> {
        let next = next?.recording;
        let lap_behind = slot_serial.checked_add(self.to.identity.geometry.slot_count)?;
        let is_kept = self.to.course.kept_in_place_of(lap_behind) == Some(slot_serial);
        let from = current.map_or(0, |current| current.saturating_add(1));
        let is_any_between = self
            .known_recordings
            .range(from..next.max(from))
            .next()
            .is_some();
        let mut lacking = self.parity.iter_from(next, 0);
        let first = lacking.next().filter(|first| first.recording == next)?;
        let is_of_pin = self.from.found.overwritten.is_kept(first.last_sequence());
        (is_kept && is_of_pin && !is_any_between).then_some(next)
    }

    /// Whether a recording that is under way may have a slot as well, or would take it from one
    /// that comes later.
    pub(super) fn may_have(
        &self,
        slot_serial: u64,
        recording: u32,
        next: Option<KnownNext>,
    ) -> bool {
        let Some(next) = next.filter(|next| next.recording != recording) else {
            return true;
        };
        let left = self.slots_between(slot_serial..next.from_slot);
        let slot_bytes = u64::from(self.to.identity.geometry.slot_bytes);
        let needed = self.waiting(Some(recording), Some(next)).map(|waiting| {
            let marks_bytes = 2 * u64::from(APPEND_BYTES_MIN);
            (self.parity.bytes_of(waiting) + marks_bytes).div_ceil(slot_bytes)
        });
        left > needed.sum()
    }

    /// Whether what was written last is of this recording, and not its end mark. That comes in a
    /// slot of its own where parity that was to come there could not be made.
    pub(super) fn is_open(&self, recording: u32) -> bool {
        let last = self.last.as_ref();
        last.is_some_and(|last| last.recording == recording && last.kind != Kind::End)
    }

    /// The recordings behind this one that the member has nothing of so far, in their order, up to
    /// what is known to come next.
    pub(super) fn waiting(
        &self,
        behind: Option<u32>,
        next: Option<KnownNext>,
    ) -> impl Iterator<Item = u32> + '_ {
        let from = behind.map_or(0, |behind| behind.saturating_add(1));
        let before = next.map_or(u32::MAX, |next| next.recording).max(from);
        // A ring has overwritten the oldest ones. What was added to the store later may have those
        // before that, too: they have no bytes of it.
        let had_all = !self.has_gone_round;
        let known = self.known_recordings.range(from..before).copied();
        known.filter(move |one| had_all || self.parity.bytes_of(*one) > 0)
    }
}
