//! The order in which a member's slots are written, which follows from its pins.

use super::pins::{NOT_YET, Pin};

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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::format::PINS_MAX;

    fn pin(from_slot: u64, end_slot: Option<u64>) -> Pin {
        Pin {
            number: 1,
            from_slot,
            end_slot,
            end_sequence: 0,
            freed_slot: None,
            from_time_ns: 0,
            to_time_ns: 0,
        }
    }

    fn course_of(course: &SlotCourse, from_slot: u64, count: u64) -> Vec<u64> {
        let first = course.at_or_after(from_slot).into_iter();
        let rest = first
            .clone()
            .flat_map(|first| course.following(first, count - 1));
        first.clone().chain(rest).collect()
    }

    #[test]
    fn without_pins_every_serial_has_its_turn() {
        let course = SlotCourse::new(8, &[]);
        assert_eq!(course_of(&course, 6, 4), [6, 7, 8, 9]);
        assert_eq!(course.ahead(5, 16), 21);
        assert_eq!(course.steps(5, 21, 100), 16);
        assert_eq!(course.free_slots(20), 8);
    }

    #[test]
    fn what_a_pin_keeps_is_left_out_from_the_next_lap_on() {
        let course = SlotCourse::new(8, &[pin(3, Some(6))]);
        assert_eq!(course_of(&course, 3, 3), [3, 4, 5], "it has its own turn");
        assert_eq!(course_of(&course, 9, 6), [9, 10, 14, 15, 16, 17]);
        assert_eq!(course_of(&course, 19, 2), [22, 23]);
        assert_eq!(course.ahead(10, 2), 15);
        assert_eq!(course.steps(10, 15, 9), 2);
        assert_eq!(course.preceding(16, 4).collect::<Vec<_>>(), [15, 14, 10, 9]);
        assert_eq!(course.free_slots(20), 5);
        let freed = Pin {
            freed_slot: Some(20),
            ..pin(3, Some(6))
        };
        let course = SlotCourse::new(8, &[freed]);
        assert_eq!(course_of(&course, 10, 7), [10, 14, 15, 16, 17, 18, 20]);
        assert_eq!(course.free_slots(20), 8);
        assert!(!course.has_outlived(&freed, 44, 16));
        assert!(course.has_outlived(&freed, 45, 16));
    }

    /// The example of docs/format.md.
    #[test]
    fn what_an_earlier_pin_has_left_out_a_later_one_does_not_keep() {
        let earlier = Pin {
            freed_slot: Some(19),
            ..pin(3, Some(6))
        };
        for pins in [[earlier, pin(10, Some(15))], [pin(10, Some(15)), earlier]] {
            let course = SlotCourse::new(8, &pins);
            let left_out: Vec<u64> = (0..31)
                .filter(|serial| course.at_or_after(*serial) != Some(*serial))
                .collect();
            assert_eq!(left_out, [11, 12, 13, 18, 22, 26, 30]);
            assert_eq!(course.kept_slots(&pin(10, Some(15)), 31), 2);
        }
    }

    #[test]
    fn a_freed_pin_stays_only_for_those_that_span_what_it_has_left_out() {
        let freed = Pin {
            freed_slot: Some(20),
            ..pin(3, Some(6))
        };
        // It has left out 11, 12, 13, 19.
        for (from_slot, end_slot, is_outlived) in [
            (8, Some(11), true),
            (8, Some(12), false),
            (14, Some(19), true),
            (14, Some(20), false),
            (20, Some(24), true),
            (14, None, false),
            (20, None, true),
        ] {
            let other = pin(from_slot, end_slot);
            let course = SlotCourse::new(8, &[freed, other]);
            assert_eq!(
                course.has_outlived(&freed, 60, 16),
                is_outlived,
                "{from_slot} to {end_slot:?}"
            );
        }
    }

    #[test]
    fn freed_pins_that_only_need_each_other_go_together() {
        let freed = |from_slot, end_slot, freed_slot| Pin {
            freed_slot: Some(freed_slot),
            ..pin(from_slot, Some(end_slot))
        };
        // The second one spans 11, which the first has left out, and the third what the second has.
        let table = [freed(3, 6, 20), freed(8, 12, 30), freed(16, 18, 40)];
        let course = SlotCourse::new(8, &table);
        assert!(!course.has_outlived(&table[0], 100, 16));
        assert!(!course.has_outlived(&table[1], 100, 16));
        assert_eq!(SlotCourse::pins_left(8, &table, 100, 16), []);
        assert_eq!(SlotCourse::pins_left(8, &table, 60, 16), table);
    }

    /// A ring with three pins of more than a lap each, of which the oldest is freed for each new
    /// one.
    #[test]
    fn a_table_of_pins_that_come_and_go_stays_small() {
        const SLOTS: u64 = 62;
        let mut table: Vec<Pin> = Vec::new();
        for round in 0..100_u64 {
            let begun = 100 + round * 25;
            table = SlotCourse::pins_left(SLOTS, &table, begun, 16);
            let mut set = table.iter_mut().filter(|one| one.is_set());
            if let Some(oldest) = set.next()
                && set.count() == 2
            {
                oldest.freed_slot = Some(begun);
            }
            let first = SlotCourse::new(SLOTS, &table).at_or_after(begun);
            let from_slot = first.expect("three of its pins do not keep all of the ring");
            table.push(Pin {
                number: round as u32 + 1,
                ..pin(from_slot, Some(from_slot + 10))
            });
            assert!(table.len() < PINS_MAX, "{table:?}");
        }
    }

    #[test]
    fn an_open_end_keeps_all_that_comes() {
        let course = SlotCourse::new(8, &[pin(5, None)]);
        assert_eq!(course_of(&course, 11, 9), [11, 12]);
        assert_eq!(course.after(12), None);
        assert_eq!(course.ahead(10, 9), 12);
        assert_eq!(course.at_or_before(40), Some(12));
        assert_eq!(course.free_slots(9), 4);
        let closed = pin(5, None).closed_at(9, 7);
        assert_eq!(
            course_of(&SlotCourse::new(8, &[closed]), 12, 3),
            [12, 17, 18]
        );
        assert_eq!(pin(5, None).closed_at(2, 7).end_slot, Some(6));
    }

    #[test]
    fn pins_that_keep_all_leave_nothing_until_one_is_freed() {
        let [low, high] = [pin(0, Some(4)), pin(4, Some(8))];
        assert_eq!(SlotCourse::new(8, &[low, high]).at_or_after(8), None);
        let freed = Pin {
            freed_slot: Some(1_000_000_005),
            ..high
        };
        let course = SlotCourse::new(8, &[low, freed]);
        assert_eq!(course.at_or_after(8), Some(1_000_000_005));
    }

    prop_compose! {
        fn any_pin(slot_count: u64)(
            from_slot in 0..40_u64,
            length in prop::option::of(1..=slot_count),
            freed_slot in prop::option::of(0..120_u64),
        ) -> Pin {
            let end_slot = length.map(|length| from_slot + length);
            Pin { freed_slot, ..pin(from_slot, end_slot) }
        }
    }

    /// What docs/format.md says of a serial, by those that are smaller.
    fn is_left_out(pins: &[Pin], slot_count: u64, serial: u64) -> bool {
        pins.iter().any(|pin| {
            let is_kept = |kept: u64| {
                let is_in = pin.end_slot.is_none_or(|end| kept < end);
                kept >= pin.from_slot && is_in && !is_left_out(pins, slot_count, kept)
            };
            let mut laps = (1..=serial / slot_count).map(|laps| serial - laps * slot_count);
            let is_before = pin.freed_slot.is_none_or(|freed| serial < freed);
            let is_behind = serial >= pin.from_slot + slot_count;
            is_before
                && match pin.end_slot {
                    None => is_behind,
                    Some(_) => laps.any(is_kept),
                }
        })
    }

    proptest! {
        #[test]
        fn the_course_is_what_the_format_says(
            (slot_count, pins) in (2..20_u64).prop_flat_map(|slot_count| {
                (Just(slot_count), prop::collection::vec(any_pin(slot_count), 0..5))
            }),
            from in 0..100_u64,
        ) {
            let course = SlotCourse::new(slot_count, &pins);
            let is_left_out = |serial: u64| is_left_out(&pins, slot_count, serial);
            // Nothing changes behind all that the pins tell.
            let told = from..200;
            let expected = told.clone().find(|serial| !is_left_out(*serial));
            prop_assert_eq!(course.at_or_after(from), expected);
            let expected = (0..=from).rev().find(|serial| !is_left_out(*serial));
            prop_assert_eq!(course.at_or_before(from), expected);
            let turns = (from..from + 50).filter(|serial| !is_left_out(*serial)).count() as u64;
            prop_assert_eq!(course.steps(from, from + 50, 100), turns);
            prop_assert_eq!(course.steps(from, from + 50, 7), turns.min(7));
            let kept = |slot: u64| pins.iter().any(|pin| {
                let end = pin.closed_at(60, 0).end_slot.unwrap();
                let mut serials = pin.from_slot..end;
                pin.is_set() && serials.any(|serial| {
                    let was_written = pin.end_slot.is_none() || !is_left_out(serial);
                    serial % slot_count == slot && was_written
                })
            });
            let free = (0..slot_count).filter(|slot| !kept(*slot)).count() as u64;
            prop_assert_eq!(course.free_slots(60), free);
        }

        #[test]
        fn no_table_takes_long_or_overflows(
            slot_count in prop_oneof![2..5_u64, any::<u64>().prop_map(|count| count.max(2))],
            fields in prop::collection::vec(any::<[u64; 3]>(), 0..=PINS_MAX),
            small in any::<bool>(),
            serial in any::<u64>(),
        ) {
            let pins: Vec<Pin> = fields
                .into_iter()
                .map(|[from, length, freed]| {
                    let from_slot = if small { from % 16 } else { from };
                    let length = length % slot_count + 1;
                    Pin {
                        freed_slot: (freed % 3 > 0).then_some(freed),
                        ..pin(from_slot, (freed % 5 > 0).then(|| from_slot.saturating_add(length)))
                    }
                })
                .filter(|pin| pin.is_valid(slot_count))
                .collect();
            let course = SlotCourse::new(slot_count, &pins);
            if let Some(found) = course.at_or_after(serial) {
                prop_assert!(found >= serial);
                prop_assert_eq!(course.at_or_after(found), Some(found));
            }
            course.ahead(serial, 16);
            if let Some(found) = course.at_or_before(serial) {
                prop_assert_eq!(course.at_or_after(found), Some(found));
            }
            prop_assert!(course.free_slots(serial) <= slot_count);
        }
    }
}
