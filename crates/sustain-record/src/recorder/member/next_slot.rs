//! Which slot of a member comes next, and what fits there: the order in which slots are written,
//! the flushes and starts that it waits for, and what pins leave of a ring.

use super::slot_time::SlotTime;
use super::{MemberWriter, UNFLUSHED_SLOTS_MAX};
use crate::format::{AppendPlace, Pin, Superblock};

impl MemberWriter {
    /// The place for an append of `bytes`; none if pins keep all slots that follow.
    pub(super) fn place_for(&self, bytes: u32) -> Option<AppendPlace> {
        if bytes > self.setup.geometry.slot_bytes - self.slot_offset_bytes {
            return Some(AppendPlace {
                slot_serial: self.course.after(self.slot_serial)?,
                slot_offset_bytes: 0,
            });
        }
        // A recording that follows another one may find no slot at all.
        let begins = self.slot_offset_bytes == 0;
        if begins && self.course.at_or_after(self.slot_serial) != Some(self.slot_serial) {
            return None;
        }
        Some(AppendPlace {
            slot_serial: self.slot_serial,
            slot_offset_bytes: self.slot_offset_bytes,
        })
    }

    /// Whether a slot is the last one that a ring can begin, because a pin keeps all that follow.
    pub(super) fn is_last_of_course(&self, slot_serial: u64) -> bool {
        !self.course.is_plain() && self.course.after(slot_serial).is_none()
    }

    /// Whether `bytes` fit, and behind them still `reserve`.
    pub(super) fn has_room(&self, bytes: u32, reserve: u32) -> bool {
        let geometry = &self.setup.geometry;
        if bytes > geometry.slot_bytes {
            return false;
        }
        if self.ring {
            // If there are only two slots, each begins with a copy of the start.
            if geometry.slot_count == 2 {
                return bytes <= geometry.slot_bytes - self.reserve_bytes;
            }
            return self.place_for(bytes).is_some_and(|place| {
                let behind = geometry.slot_bytes - place.slot_offset_bytes - bytes;
                behind >= reserve || !self.is_last_of_course(place.slot_serial)
            });
        }
        let Some(place) = self.place_for(bytes) else {
            return false;
        };
        let is_last = place.slot_serial + 1 == geometry.slot_count;
        let behind = geometry.slot_bytes - place.slot_offset_bytes - bytes;
        place.slot_serial < geometry.slot_count && (!is_last || behind >= reserve)
    }

    /// Whether a ring comes to an end, because a pin keeps all that comes.
    pub(in crate::recorder) fn has_last_slot(&self) -> bool {
        let mut pins = self.setup.superblock.pins.iter();
        pins.any(|pin| pin.is_set() && pin.end_slot.is_none())
    }

    /// How many slots can be begun behind the one that is being filled, where that is bounded.
    pub(super) fn slots_behind(&self) -> Option<u64> {
        let slot_count = self.setup.geometry.slot_count;
        if !self.ring {
            return slot_count.checked_sub(self.slot_serial + 1);
        }
        let next = self.slot_serial + 1;
        Some(self.course.steps(next, u64::MAX, slot_count))
    }

    /// Whether an append of `bytes` may be placed. [`UNFLUSHED_SLOTS_MAX`] holds back the slot that
    /// it begins, and in a ring the start must be repeated, and durable, before.
    pub(in crate::recorder) fn may_begin_slot_for(&self, bytes: u32) -> bool {
        let Some(place) = self.place_for(bytes) else {
            return false;
        };
        let slot_serial = place.slot_serial;
        let keeps_start = self
            .start
            .is_none_or(|start| !self.ring || !self.is_start_due(start, slot_serial));
        keeps_start && self.may_begin_slot(slot_serial)
    }

    /// Whether the start must be repeated before anything else lies in this slot: it is far from
    /// the last copy, or the slot behind it would be that of the last copy.
    pub(super) fn is_start_due(&self, start: AppendPlace, slot_serial: u64) -> bool {
        let geometry = &self.setup.geometry;
        let overwrites = |next: u64| next >= start.slot_serial + geometry.slot_count;
        let is_next = || self.course.after(slot_serial).is_some_and(overwrites);
        slot_serial >= start.slot_serial + geometry.start_repeat_slots()
            || slot_serial > start.slot_serial && !self.course.is_plain() && is_next()
    }

    pub(super) fn may_begin_slot(&self, slot_serial: u64) -> bool {
        // As long as a superblock does not tell yet what is kept, nothing is overwritten.
        let begins = slot_serial != self.slot_serial || self.slot_offset_bytes == 0;
        if begins && self.renewing.is_some() {
            return false;
        }
        let Some(oldest) = self.oldest_unflushed_slot() else {
            return true;
        };
        let most = self.unflushed_slots_max();
        if self.course.is_plain() {
            return slot_serial < oldest + most;
        }
        slot_serial < oldest + self.setup.geometry.slot_count
            && self.course.steps(oldest, slot_serial, most) < most
    }

    /// In a ring the slots of one lap must be flushed before the next lap reaches them.
    pub(super) fn unflushed_slots_max(&self) -> u64 {
        UNFLUSHED_SLOTS_MAX.min(self.setup.geometry.slot_count)
    }

    /// The lowest slot whose beginning, or other content, is not durable.
    pub(super) fn oldest_unflushed_slot(&self) -> Option<u64> {
        let flushing = self.flushing.as_ref().and(self.flushing_slot);
        let in_flight = self.in_flight_slots.keys().next().copied();
        let headless = self.headless_slots.first().copied();
        let all = [flushing, self.unflushed_slot, in_flight, headless];
        all.into_iter().flatten().min()
    }

    /// How many slots there are from the lowest with unflushed content to the one being filled.
    pub(in crate::recorder) fn unflushed_slots(&self) -> u64 {
        self.oldest_unflushed_slot().map_or(0, |oldest| {
            let most = 2 * UNFLUSHED_SLOTS_MAX;
            self.course.steps(oldest, self.slot_serial + 1, most)
        })
    }

    /// Whether so many slots are unflushed that the flush should come early.
    pub(in crate::recorder) fn needs_flush_for_slots(&self) -> bool {
        self.unflushed_slots() * 2 > self.unflushed_slots_max()
    }

    /// Makes sure that a repeated start lies in a new slot. Behind the content of the last one, it
    /// would lie in the slot after the next, which may have the last copy. Where the next one has
    /// it, because a pin was freed that had kept all that followed, the start may go behind that
    /// content: what is kept in a last slot for accounts and the end mark is free again.
    pub(in crate::recorder) fn begin_slot_for_start(&mut self) -> bool {
        let Some(start) = self.start else {
            return true;
        };
        let next = self.course.after(self.slot_serial);
        let may_begin = next.is_some_and(|next| self.may_begin_slot(next));
        let overwrites = next >= Some(start.slot_serial + self.setup.geometry.slot_count);
        if may_begin && !overwrites {
            self.slot_offset_bytes = self.setup.geometry.slot_bytes;
        }
        may_begin
    }

    /// Share of its slots that have been used.
    pub(super) fn filled(&self) -> f64 {
        let geometry = &self.setup.geometry;
        let in_slot = f64::from(self.slot_offset_bytes) / f64::from(geometry.slot_bytes);
        // With pins, members go round at paces of their own, and stay apart when all are freed.
        let base = match self.setup.superblock.largest_pin() {
            0 => 0,
            _ => self.setup.next_slot_serial,
        };
        let used = self.slot_serial.saturating_sub(self.slots_left_out + base);
        (used as f64 + in_slot) / geometry.slot_count as f64
    }

    pub(super) fn note_slot(&mut self, slot_serial: u64, made_time_ns: i64) {
        let begun = SlotTime {
            slot_serial,
            made_time_ns,
        };
        let slot_count = self.setup.geometry.slot_count;
        self.setup.slot_times.note(begun, slot_count);
    }

    /// Takes over what the superblock on the member tells of pins.
    pub(in crate::recorder) fn know_superblock(&mut self, superblock: Superblock) {
        self.course = superblock.course();
        self.setup.superblock = superblock;
    }

    /// Whether a pin keeps any of these slots.
    pub(in crate::recorder) fn keeps_any(&self, first: u64, last: u64) -> bool {
        let overlaps = |pin: &&Pin| {
            let end_slot = pin.end_slot.unwrap_or(u64::MAX);
            pin.is_set() && pin.from_slot <= last && first < end_slot
        };
        self.setup.superblock.pins.iter().any(|pin| overlaps(&pin))
    }

    /// The slot in which another recording would begin; none if pins keep all that follow.
    pub(in crate::recorder) fn next_slot(&self) -> Option<u64> {
        self.course.at_or_after(self.slots_begun())
    }

    /// Bytes that are free for data, so without those kept for the end; `None` in a ring.
    pub(in crate::recorder) fn free_bytes(&self) -> Option<u64> {
        if self.ring && !self.has_last_slot() {
            return None;
        }
        let geometry = &self.setup.geometry;
        let Some(slots) = self.slots_behind() else {
            return Some(0);
        };
        let rest = u64::from(geometry.slot_bytes - self.slot_offset_bytes);
        let free_bytes = slots * u64::from(geometry.slot_bytes) + rest;
        let kept_bytes = self.parity_slots * u64::from(geometry.slot_bytes);
        Some(free_bytes.saturating_sub(u64::from(self.reserve_bytes) + kept_bytes))
    }

    /// How many accounts of so many bytes fit, and behind them still the end mark.
    pub(in crate::recorder) fn accounts_that_fit(&self, bytes: u32) -> u64 {
        self.appends_that_fit(bytes, self.end_bytes)
    }

    /// How many appends of parity of so many bytes fit, and behind them still the last accounts.
    pub(in crate::recorder) fn parity_that_fits(&self, bytes: u32) -> u64 {
        self.appends_that_fit(bytes, self.reserve_bytes)
    }

    fn appends_that_fit(&self, bytes: u32, reserve_bytes: u32) -> u64 {
        let geometry = &self.setup.geometry;
        if self.ring && !self.has_last_slot() {
            return u64::MAX;
        }
        let Some(later) = self.slots_behind() else {
            return 0;
        };
        let fit = |free_bytes: u32| u64::from(free_bytes / bytes);
        let here_bytes = geometry.slot_bytes - self.slot_offset_bytes;
        match later {
            0 => fit(here_bytes.saturating_sub(reserve_bytes)),
            _ => {
                let last = fit(geometry.slot_bytes.saturating_sub(reserve_bytes));
                fit(here_bytes) + (later - 1) * fit(geometry.slot_bytes) + last
            }
        }
    }
}
