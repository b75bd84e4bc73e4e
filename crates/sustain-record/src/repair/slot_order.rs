//! Goes through the slots of the member that is rebuilt, in the order in which they were begun.
//! Those that pins have kept come first. What finds no place in them is put behind.

use std::collections::BTreeMap;
use std::ops::Range;

use super::copy::SlotCopy;
use crate::error::RecordError;
use crate::format::{AppendPlace, GroupEntry};
use crate::rebuilt::LackingParity;

/// So much is read ahead, of the member itself and of parity, or one slot and one append more.
const AHEAD_BYTES: u64 = 8 << 20;

impl SlotCopy<'_> {
    /// Writes all slots, and returns the serial behind the last one. `observer` is told how many
    /// slots are written, and of how many; where it returns false, it ends.
    pub(super) fn run(
        &mut self,
        observer: &mut dyn FnMut(u64, u64) -> bool,
    ) -> Result<Option<u64>, RecordError> {
        let newest = self.from.found.newest_slot(self.to.member);
        let behind = newest.map_or(0, |newest| newest + 1);
        let behind = behind.max(self.to.slots_begun);
        let (mut own_heads, behind) = self.to.begun(&mut self.io, behind)?;
        let slot_count = self.to.identity.geometry.slot_count;
        let slots = self.to.slots_before(behind);
        own_heads.retain(|slot, _| slots.binary_search(slot).is_ok());
        self.own_heads = own_heads;
        self.make_room();
        self.passed_to = self.passed_to();
        self.has_gone_round = behind > slot_count || self.left_from > 0;
        self.slots = self.behind_passed(slots);
        let slots = self.slots.clone();
        let (mut done, all) = (0, slots.len() as u64);
        let mut next = None;
        for (index, slot_serial) in slots.iter().copied().enumerate() {
            if !observer(done, all) {
                return Ok(None);
            }
            self.read_ahead(&slots[index + usize::from(next.is_some())..]);
            let draft = match next.take() {
                Some(draft) => draft,
                None => self.draft(slot_serial)?,
            };
            if let Some(behind) = slots.get(index + 1) {
                next = Some(self.draft(*behind)?);
            }
            self.write(draft, next.as_ref())?;
            done += 1;
        }
        // What is left goes behind it, where nothing of an earlier lap lies.
        let mut behind = behind;
        while self.is_anything_left()
            && let Some(slot_serial) = self.free_slot_from(behind)?
        {
            self.read_ahead(&[slot_serial]);
            if !observer(done, slot_count.max(done + 1)) {
                return Ok(None);
            }
            let before = self.last.as_ref().map(|last| last.sequence);
            let draft = self.draft(slot_serial)?;
            self.write(draft, None)?;
            if self.last.as_ref().map(|last| last.sequence) == before {
                break;
            }
            behind = slot_serial + 1;
            done += 1;
        }
        self.tally.unprotected_groups += self.parity.len() as u64;
        (self.tally.lost_appends, self.tally.lost_bytes) = self.lost.total();
        Ok(Some(behind))
    }

    /// Finds out what the ring had written over on the lost member itself: slots that had parity in
    /// the end, which nothing tells of but that groups lack it. It needs them again.
    fn make_room(&mut self) {
        let overwritten = &self.from.found.overwritten;
        // What groups lack may have been on any of several, or where pins keep it.
        let is_of_one = self.from.missing() == 1 && self.to.course.is_plain();
        if self.to.has_all_of_its_own || !overwritten.is_any() || !is_of_one {
            return;
        }
        // One that had failed was not given the parity that groups lack since: they had too few
        // members, or were closed without it.
        if self.from.is_behind(self.to.member) {
            return;
        }
        // The first append that is left of a recording tells where it begins. Of several recordings
        // nothing would tell that one had been there.
        let mut newest: BTreeMap<u32, &GroupEntry> = BTreeMap::new();
        for (recording, entry) in self.from.found.data_on(self.to.member) {
            newest.insert(recording, entry);
        }
        let mut newest = newest.into_iter();
        let (Some((recording, last)), None) = (newest.next(), newest.next()) else {
            return;
        };
        // The last groups before a crash may never have had parity.
        if self.crashed.contains(&recording) {
            return;
        }
        let behind = self.parity.iter();
        let behind = behind.filter(|lacking| {
            lacking.last_sequence() > last.sequence
                && !self.from.found.is_lone(lacking.group)
                && !overwritten.was_absent(lacking.recording, self.to.member)
        });
        let behind = behind.map(LackingParity::append_bytes);
        let behind = behind.chain([self.end_mark_bytes(recording)]);
        let end_bytes = last.place.slot_offset_bytes + last.append_bytes;
        let slots = slots_of(behind, end_bytes, self.slot_bytes);
        let end_slot = last.place.slot_serial.saturating_add(1 + slots);
        let lap = end_slot.saturating_sub(self.to.identity.geometry.slot_count);
        let mut data = self.from.found.data_on(self.to.member);
        let first = data.find(|(_, entry)| entry.place.slot_serial >= lap);
        self.left_from = first
            .filter(|_| lap > 0)
            .map_or(0, |(_, first)| first.sequence);
    }

    /// The sequence before which rings have passed something.
    fn passed_to(&self) -> u64 {
        let of_member = self.from.found.data_on(self.to.member);
        let passed = of_member.take_while(|(_, entry)| !self.is_left(entry.sequence));
        let passed = passed.map(|(_, entry)| entry.sequence + 1);
        let of_others = self.from.found.overwritten.passed_to_sequence();
        passed.max().unwrap_or(0).max(of_others)
    }

    /// The slots without those before the first of which anything is left: they are written at the
    /// end, as slots of the next lap.
    fn behind_passed(&self, mut slots: Vec<u64>) -> Vec<u64> {
        if self.left_from > 0 {
            let mut data = self.from.found.data_on(self.to.member);
            let first = data.find(|(_, entry)| self.is_left(entry.sequence));
            let first = first.map(|(_, entry)| entry.place.slot_serial);
            let own = self.own_heads.keys().next().copied();
            let first = first.into_iter().chain(own).min();
            slots.retain(|slot| Some(*slot) >= first);
        }
        slots
    }

    /// Whether there is anything to put behind all that is known.
    fn is_anything_left(&self) -> bool {
        let last = self.last.as_ref().map(|last| last.recording);
        let is_any_waiting = self.waiting(last, None).next().is_some();
        !self.parity.is_empty() || self.owed_end.is_some() || is_any_waiting
    }

    /// The slot that the member has behind this one.
    pub(super) fn slot_behind(&self, slot_serial: u64) -> Option<u64> {
        let behind = self.slots.partition_point(|slot| *slot <= slot_serial);
        self.slots.get(behind).copied()
    }

    /// How many slots the member has from this one on, up to before another one.
    pub(super) fn slots_between(&self, slots: Range<u64>) -> u64 {
        let before = |serial: u64| self.slots.partition_point(|slot| *slot < serial);
        (before(slots.end) as u64).saturating_sub(before(slots.start) as u64)
    }

    /// The first slot behind this one that may be written, although nothing was known there.
    pub(super) fn free_slot_behind(
        &mut self,
        slot_serial: u64,
    ) -> Result<Option<u64>, RecordError> {
        self.free_slot_from(slot_serial + 1)
    }

    fn free_slot_from(&mut self, slot_serial: u64) -> Result<Option<u64>, RecordError> {
        let Some(next) = self.to.course.at_or_after(slot_serial) else {
            return Ok(None);
        };
        Ok(self.has_room(next)?.then_some(next))
    }

    /// Whether a slot behind all that is known may be written: nothing that a ring has left whole
    /// lies there.
    fn has_room(&mut self, slot_serial: u64) -> Result<bool, RecordError> {
        let Some(lap_before) = slot_serial.checked_sub(self.to.identity.geometry.slot_count) else {
            return Ok(true);
        };
        let own = self.own_appends(lap_before)?;
        let own = own.iter().flat_map(|own| &own.appends);
        let own = own.map(|(append, _)| (append.descriptor.recording, append.descriptor.sequence));
        let found = &self.from.found;
        let entries = found.in_slot(self.to.member, lap_before);
        let entries = entries.filter_map(|(id, position)| {
            let group = found.group(id)?;
            Some((group.recording, group.list.entries[position].sequence))
        });
        // Parity of what a pin keeps may have found no place in the slots of the pin.
        if self.protected.has_kept_in(lap_before) {
            return Ok(false);
        }
        let protected = self.protected.newest_in(lap_before);
        let mut appends = own.chain(entries).chain(protected);
        // Where members were missing, less is overwritten of one recording than of another.
        let left_from = |recording: u32| {
            let whole_from = found.overwritten.whole_from_sequence(recording);
            whole_from.max(self.left_from)
        };
        let is_passed = appends.all(|(recording, sequence)| sequence < left_from(recording));
        Ok(is_passed && left_from(0) > 0)
    }

    /// Where a slot lies on the member.
    pub(super) fn range_of(&self, slot_serial: u64) -> Range<u64> {
        let start = self
            .to
            .identity
            .geometry
            .offset_of(AppendPlace::of_slot(slot_serial));
        start..start + u64::from(self.slot_bytes)
    }

    /// Begins to read what is wanted for the first of these slots, for those behind it, and for the
    /// parity that comes next.
    fn read_ahead(&mut self, slots: &[u64]) {
        let count = (AHEAD_BYTES / u64::from(self.slot_bytes)).max(1) as usize;
        let slots = slots.iter().take(count + 1);
        let stretches: Vec<Range<u64>> = slots.map(|slot| self.range_of(*slot)).collect();
        let mut bytes = 0;
        let recording = self.last.as_ref().map(|last| last.recording);
        let recording = recording.filter(|_| self.left_from > 0).unwrap_or(0);
        let lacking = self.parity.iter_from(recording, self.left_from);
        let lacking = lacking.take_while(|lacking| {
            let is_wanted = bytes < AHEAD_BYTES;
            bytes += u64::from(lacking.append_bytes());
            is_wanted
        });
        let wanted = (self.to.member, &stretches[..]);
        self.from.read_ahead(&mut self.io, wanted, lacking);
    }
}

/// How many slots are begun where appends of these lengths follow each other from an offset in a
/// slot on.
fn slots_of(append_bytes: impl Iterator<Item = u32>, offset_bytes: u32, slot_bytes: u32) -> u64 {
    let (mut slots, mut offset_bytes) = (0, offset_bytes);
    for bytes in append_bytes {
        if slot_bytes.saturating_sub(offset_bytes) < bytes {
            slots += 1;
            offset_bytes = 0;
        }
        offset_bytes += bytes;
    }
    slots
}

#[cfg(test)]
mod tests {
    #[test]
    fn appends_lie_within_slots() {
        let slots_of = |appends: &[u32], offset_bytes| {
            super::slots_of(appends.iter().copied(), offset_bytes, 1000)
        };
        assert_eq!(slots_of(&[], 1000), 0);
        assert_eq!(slots_of(&[300; 7], 1000), 3);
        assert_eq!(slots_of(&[300; 6], 100), 1);
        assert_eq!(slots_of(&[300; 6], 101), 2);
        assert_eq!(slots_of(&[900, 200], 0), 1);
    }
}
