//! The order in which a member's slots are written, which follows from its pins.

use super::pins::{NOT_YET, Pin};

#[cfg(test)]
mod tests;

/// The order in which a member's slots are written: all serials but those that pins leave out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SlotCourse {
    slot_count: u64,
    /// As in the table.
    pins: Vec<Pin>,
    /// What they keep: a pin in several parts where it spans serials that others have left out.
    parts: Vec<Pin>,
}

impl SlotCourse {
    /// The course of a member with so many slots and these pins.
    ///
    /// # Panics
    /// If a pin is not one of such a member.
    pub fn new(slot_count: u64, pins: &[Pin]) -> SlotCourse {
        let are_valid = pins.iter().all(|pin| pin.is_valid(slot_count));
        assert!(are_valid, "pins of {slot_count} slots: {pins:?}");
        let mut course = SlotCourse {
            slot_count,
            pins: pins.to_vec(),
            parts: Vec::new(),
        };
        // Only a pin that begins before another one can leave out what that one spans.
        let mut oldest_first = pins.to_vec();
        oldest_first.sort_by_key(|pin| pin.from_slot);
        for pin in oldest_first {
            let parts = course.parts_of(&pin);
            course.parts.extend(parts);
        }
        course
    }

    /// A pin without the serials that others have left out, which were never written. One whose end
    /// is open has a single part: it keeps all that comes.
    fn parts_of(&self, pin: &Pin) -> Vec<Pin> {
        let Some(end_slot) = pin.end_slot else {
            return vec![*pin];
        };
        let mut parts = Vec::new();
        let mut at = pin.from_slot;
        while at < end_slot {
            let before = || self.parts.iter();
            let until = before().filter_map(|other| self.left_out_until(other, at));
            if let Some(until) = until.max() {
                at = until;
                continue;
            }
            let next = before().filter_map(|other| self.next_left_out(other, at));
            let part_end = next.min().unwrap_or(end_slot).min(end_slot);
            parts.push(Pin {
                from_slot: at,
                end_slot: Some(part_end),
                ..*pin
            });
            at = part_end;
        }
        parts
    }

    /// The slots that a pin of the table keeps, if its end is told or lies here.
    pub fn kept_slots(&self, pin: &Pin, slots_begun: u64) -> u64 {
        let parts = self.parts_of(&pin.closed_at(slots_begun, 0));
        let lengths = parts.iter().map(|part| {
            let end_slot = part.end_slot.unwrap_or(part.from_slot);
            end_slot - part.from_slot
        });
        lengths.sum()
    }

    /// The serial that lies where this one would, which is left out; none if it is not.
    pub fn kept_in_place_of(&self, slot_serial: u64) -> Option<u64> {
        let kept = self.parts.iter().filter_map(|pin| {
            let (place, _) = self.place_in(pin, slot_serial)?;
            Some(pin.from_slot + place % self.slot_count)
        });
        kept.max()
    }

    /// Whether it leaves out nothing, ever.
    pub fn is_plain(&self) -> bool {
        self.pins.is_empty()
    }

    /// The first serial of the course that is not below this one; none if pins keep all from there
    /// on.
    pub fn at_or_after(&self, slot_serial: u64) -> Option<u64> {
        let mut at = slot_serial;
        let mut lap_start = at;
        loop {
            let untils = self
                .parts
                .iter()
                .filter_map(|pin| self.left_out_until(pin, at));
            let Some(until) = untils.max() else {
                return Some(at).filter(|at| *at != NOT_YET);
            };
            if at - lap_start >= self.slot_count {
                // A whole lap is left out, and goes on to be so until one of the pins is freed.
                let freed = || self.parts.iter().filter_map(|pin| pin.freed_slot);
                if !freed().any(|freed| lap_start < freed && freed <= at) {
                    at = freed().filter(|freed| *freed > at).min()?;
                }
                lap_start = at;
                continue;
            }
            at = until;
            if at == NOT_YET {
                return None;
            }
        }
    }

    /// The serial of the course behind this one; none if pins keep all that follows.
    pub fn after(&self, slot_serial: u64) -> Option<u64> {
        self.at_or_after(slot_serial.saturating_add(1))
    }

    /// The serial so many steps of the course behind this one, which need not be of it; the last
    /// one if the course ends before.
    pub fn ahead(&self, slot_serial: u64, steps: u64) -> u64 {
        if self.is_plain() {
            return slot_serial.saturating_add(steps);
        }
        self.following(slot_serial, steps)
            .last()
            .unwrap_or(slot_serial)
    }

    /// The serials of the course behind this one, at most so many.
    pub fn following(&self, slot_serial: u64, at_most: u64) -> impl Iterator<Item = u64> {
        let mut at = Some(slot_serial);
        (0..at_most).map_while(move |_| {
            at = self.after(at?);
            at
        })
    }

    /// The last serial of the course that is not above this one, if there is one.
    pub fn at_or_before(&self, slot_serial: u64) -> Option<u64> {
        let mut at = slot_serial;
        let mut lap_start = at;
        loop {
            let froms = self
                .parts
                .iter()
                .filter_map(|pin| self.left_out_from(pin, at));
            let Some(from) = froms.min() else {
                return Some(at);
            };
            if lap_start - at >= self.slot_count {
                // A whole lap is left out, as are those before, down to where one of the pins
                // begins.
                let begins = || self.parts.iter().filter_map(|pin| self.lap_behind(pin));
                if !begins().any(|begin| at < begin && begin <= lap_start) {
                    let begin = begins().filter(|begin| *begin <= at).max()?;
                    at = begin.checked_sub(1)?;
                }
                lap_start = at;
                continue;
            }
            at = from.checked_sub(1)?;
        }
    }

    /// The serials of the course before this one, nearest first, at most so many.
    pub fn preceding(&self, slot_serial: u64, at_most: u64) -> impl Iterator<Item = u64> {
        let mut at = Some(slot_serial);
        (0..at_most).map_while(move |_| {
            at = self.at_or_before(at?.checked_sub(1)?);
            at
        })
    }

    /// How many slots of the course lie from one serial up to before another one, counted up to
    /// `at_most`.
    pub fn steps(&self, from_slot: u64, to_slot: u64, at_most: u64) -> u64 {
        if self.is_plain() {
            return to_slot.saturating_sub(from_slot).min(at_most);
        }
        // Whole runs are counted: a lap may have millions of slots.
        let mut at = self.at_or_after(from_slot);
        let mut count = 0;
        while let Some(serial) = at.filter(|serial| *serial < to_slot && count < at_most) {
            let next = |pin: &Pin| self.next_left_out(pin, serial);
            let run_end = self.parts.iter().filter_map(next).min().unwrap_or(NOT_YET);
            let run_end = run_end.min(to_slot);
            count += run_end - serial;
            at = self.at_or_after(run_end);
        }
        count.min(at_most)
    }

    /// The slots of a lap that no pin keeps. One whose end is open keeps them up to the last one
    /// that was begun.
    pub fn free_slots(&self, slots_begun: u64) -> u64 {
        let mut kept: Vec<(u64, u64)> = Vec::new();
        for pin in self.parts.iter().filter(|pin| pin.is_set()) {
            let end_slot = pin
                .closed_at(slots_begun, 0)
                .end_slot
                .unwrap_or(slots_begun);
            let length = (end_slot - pin.from_slot).min(self.slot_count);
            let from = pin.from_slot % self.slot_count;
            let to = from + length;
            kept.push((from, to.min(self.slot_count)));
            kept.push((0, to.saturating_sub(self.slot_count)));
        }
        kept.sort_unstable();
        let (mut count, mut counted_to) = (0, 0);
        for (from, to) in kept {
            count += to.saturating_sub(from.max(counted_to));
            counted_to = counted_to.max(to);
        }
        self.slot_count - count
    }

    /// Whether nothing depends on this pin any more that is less than a lap and a bit old, or that
    /// another pin of the table spans: what this one has left out of that was never written.
    fn has_outlived(&self, pin: &Pin, slots_begun: u64, patience_slots: u64) -> bool {
        let Some(freed) = pin.freed_slot else {
            return false;
        };
        let is_needed = |other: &Pin| {
            let end_slot = other.end_slot.unwrap_or(NOT_YET);
            let next = self.next_left_out(pin, other.from_slot);
            other != pin && next.is_some_and(|next| next < end_slot)
        };
        let lap_end = freed.saturating_add(self.slot_count);
        lap_end.saturating_add(patience_slots) < slots_begun && !self.pins.iter().any(is_needed)
    }

    /// The pins of a table without those that nothing depends on any more.
    pub fn pins_left(
        slot_count: u64,
        pins: &[Pin],
        slots_begun: u64,
        patience_slots: u64,
    ) -> Vec<Pin> {
        let mut left = pins.to_vec();
        loop {
            let (course, count) = (SlotCourse::new(slot_count, &left), left.len());
            left.retain(|pin| !course.has_outlived(pin, slots_begun, patience_slots));
            // Those that are gone may have been all that others were there for.
            if left.len() == count {
                return left;
            }
        }
    }

    /// The first serial behind those that the pin leaves out from this one on, if it leaves this
    /// one out.
    fn left_out_until(&self, pin: &Pin, slot_serial: u64) -> Option<u64> {
        let freed = pin.freed_slot.unwrap_or(NOT_YET);
        let (_, left) = self.place_in(pin, slot_serial)?;
        Some(slot_serial.saturating_add(left).min(freed))
    }

    /// The first serial from this one on that the pin leaves out, if there is one.
    fn next_left_out(&self, pin: &Pin, slot_serial: u64) -> Option<u64> {
        let lap_behind = self.lap_behind(pin)?;
        let next = if slot_serial < lap_behind {
            lap_behind
        } else if self.place_in(pin, slot_serial).is_some() {
            slot_serial
        } else {
            let place = (slot_serial - pin.from_slot) % self.slot_count;
            slot_serial.checked_add(self.slot_count - place)?
        };
        Some(next).filter(|next| *next < pin.freed_slot.unwrap_or(NOT_YET))
    }

    /// The first serial of those that the pin leaves out up to this one, if it leaves this one out.
    fn left_out_from(&self, pin: &Pin, slot_serial: u64) -> Option<u64> {
        let (place, _) = self.place_in(pin, slot_serial)?;
        Some(slot_serial - place)
    }

    /// How many of the serials that the pin leaves out as one lie before this one, and from this
    /// one on, if it leaves this one out.
    fn place_in(&self, pin: &Pin, slot_serial: u64) -> Option<(u64, u64)> {
        let lap_behind = self.lap_behind(pin)?;
        let is_freed = pin.freed_slot.is_some_and(|freed| slot_serial >= freed);
        if slot_serial < lap_behind || is_freed {
            return None;
        }
        let Some(end_slot) = pin.end_slot else {
            return Some((slot_serial - lap_behind, u64::MAX));
        };
        let place = (slot_serial - pin.from_slot) % self.slot_count;
        let left = (end_slot - pin.from_slot).checked_sub(place);
        left.filter(|left| *left > 0).map(|left| (place, left))
    }

    /// The serial a lap behind the first that the pin keeps.
    fn lap_behind(&self, pin: &Pin) -> Option<u64> {
        pin.from_slot.checked_add(self.slot_count)
    }
}
