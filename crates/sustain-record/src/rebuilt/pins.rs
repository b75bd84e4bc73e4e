//! What pins keep on a member that is not there. Its table of pins is lost with it, and the others
//! tell which pins there are, by sequence. Groups tell where it was given what. Pure.

use std::collections::BTreeSet;
use std::ops::Range;

use crate::format::Pin;

/// A pin that is set, as the members that are there tell of it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct KnownPin {
    /// As one of them has it, with its end if any of them tells that.
    pub(crate) pin: Pin,
    /// What all members keep begins at this sequence, or before.
    pub(crate) from_sequence: u64,
    /// So many slots does it keep on one of them at most.
    pub(crate) slots_max: u64,
}

/// A pin as it lies on a member that is not there.
#[derive(Debug, Clone)]
pub(crate) struct PinOnMember {
    pub(crate) pin: Pin,
    /// Serials that it spans, and that were never written: an earlier pin had left them out, and
    /// was freed since.
    pub(crate) left_out: Vec<Range<u64>>,
}

/// Where a slot lies, and the first sequence that is known of it.
pub(super) type SlotSequence = (u64, u64);

impl KnownPin {
    /// The same pin as it lies on a member of so many slots, of which these are known, in their
    /// order. Slots of which nothing is known have parity, and count with those around them. It
    /// keeps at least one slot: a pin that a member does not have is freed. It spans so many
    /// stretches at most that were left out.
    pub(super) fn on_member(
        &self,
        slots: &[SlotSequence],
        slot_count: u64,
        left_out_max: usize,
    ) -> PinOnMember {
        let count_below = |sequence: u64| slots.partition_point(|(_, own)| *own < sequence);
        let (before, behind) = match self.pin.end_slot {
            Some(_) => slots.split_at(count_below(self.pin.end_sequence)),
            None => (slots, &[][..]),
        };
        let begun = count_below(self.from_sequence.saturating_add(1)).checked_sub(1);
        let begun = begun.map_or(0, |index| slots[index].0);
        let behind_last = before.last().map_or(0, |(serial, _)| serial + 1);
        // Where nothing at all is known, all that lay there was parity.
        let behind_known = slots.last().map_or(u64::MAX, |(serial, _)| serial + 1);
        let most = behind.first().map_or(behind_known, |(serial, _)| *serial);
        let end_slot = most
            .min(begun.saturating_add(self.slots_max.min(slot_count)))
            .max(behind_last);
        let spanned = Spanned::of(
            begun.max(end_slot.saturating_sub(slot_count))..end_slot,
            slots,
            slot_count,
        );
        let own = before.iter().rev().map(|(serial, _)| *serial);
        let mut own = own.take_while(|serial| *serial >= spanned.slots.start);
        let own = own.find(|serial| !spanned.again.contains(serial));
        let (kept, left_out) = match own {
            Some(own) => spanned.kept_up_to(own, slots, left_out_max),
            None => (spanned.longest_stretch(), Vec::new()),
        };
        let newest = slots.last().map_or(0, |(serial, _)| *serial);
        let kept = kept.unwrap_or(newest..newest + 1);
        PinOnMember {
            pin: Pin {
                from_slot: kept.start,
                end_slot: self.pin.end_slot.map(|_| kept.end),
                ..self.pin
            },
            left_out,
        }
    }
}

/// The slots that a pin may keep, at most a lap.
struct Spanned {
    slots: Range<u64>,
    /// Those whose places have something of a later lap.
    again: BTreeSet<u64>,
    slot_count: u64,
}

impl Spanned {
    fn of(spanned: Range<u64>, slots: &[SlotSequence], slot_count: u64) -> Spanned {
        let again = slots.iter().filter_map(|(serial, _)| {
            let laps_behind = serial.checked_sub(spanned.start)? / slot_count;
            let lay_there = serial - laps_behind * slot_count;
            (laps_behind > 0 && lay_there < spanned.end).then_some(lay_there)
        });
        Spanned {
            again: again.collect(),
            slots: spanned,
            slot_count,
        }
    }

    /// What the pin keeps if this is the last slot that it is known to keep, and which stretches of
    /// that were left out, the last one first.
    fn kept_up_to(
        &self,
        own: u64,
        slots: &[SlotSequence],
        left_out_max: usize,
    ) -> (Option<Range<u64>>, Vec<Range<u64>>) {
        let mut kept = self.stretch_around(own);
        let mut left_out = Vec::new();
        while left_out.len() < left_out_max
            && let Some(own) = self.known_before(kept.start, slots)
        {
            let stretch = self.stretch_around(own);
            // Only what lies a lap behind something can have been left out.
            if stretch.end < self.slot_count {
                break;
            }
            left_out.push(stretch.end..kept.start);
            kept.start = stretch.start;
        }
        (Some(kept), left_out)
    }

    /// The last slot before this one of which something is known, unless that was written again:
    /// the pin began behind it then. Where a later lap has written slots of which nothing is known,
    /// and not the known ones before, these were kept, and an earlier pin had left out the others.
    fn known_before(&self, slot: u64, slots: &[SlotSequence]) -> Option<u64> {
        let before = slots.partition_point(|(serial, _)| *serial < slot);
        let (serial, _) = slots[..before].last()?;
        let is_kept = *serial >= self.slots.start && !self.again.contains(serial);
        is_kept.then_some(*serial)
    }

    /// The slots around this one that were not written again.
    fn stretch_around(&self, slot: u64) -> Range<u64> {
        let before = self.again.range(..slot).next_back();
        let behind = self.again.range(slot..).next().copied();
        before.map_or(self.slots.start, |before| before + 1)..behind.unwrap_or(self.slots.end)
    }

    /// The longest stretch of slots that were not written again.
    fn longest_stretch(&self) -> Option<Range<u64>> {
        let mut from_slot = self.slots.start;
        let ends = self.again.iter().copied().chain([self.slots.end]);
        let stretches = ends.map(|end| {
            let stretch = from_slot..end;
            from_slot = end + 1;
            stretch
        });
        let longest = stretches.max_by_key(|stretch| stretch.end.saturating_sub(stretch.start));
        longest.filter(|stretch| !stretch.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Where a pin with this end lies on a member of ten slots, which keeps four at most on others:
    /// its first slot, and its end.
    fn on_member(
        slots: &[SlotSequence],
        from_sequence: u64,
        end_sequence: Option<u64>,
    ) -> (u64, Option<u64>) {
        let open = Pin::open(3, 77, (10, 20));
        let pin = match end_sequence {
            Some(end_sequence) => open.closed_at(99, end_sequence),
            None => open,
        };
        let known = KnownPin {
            pin,
            from_sequence,
            slots_max: 4,
        };
        let found = known.on_member(slots, 10, 0).pin;
        assert_eq!(
            (found.number, found.from_time_ns, found.end_sequence),
            (3, 10, pin.end_sequence)
        );
        (found.from_slot, found.end_slot)
    }

    #[test]
    fn a_pin_keeps_the_slots_of_its_sequences_and_those_of_parity() {
        let slots = [(4, 40), (5, 50), (6, 60), (8, 80)];
        assert_eq!(on_member(&slots, 50, Some(61)), (5, Some(8)));
        // The slot that was begun before may have what came later.
        assert_eq!(on_member(&slots, 59, Some(60)), (5, Some(6)));
        assert_eq!(on_member(&slots, 3, Some(1000)), (0, Some(9)));
        // As long as its end is not told it keeps all.
        assert_eq!(on_member(&slots, 60, None), (6, None));
    }

    /// Where a pin that keeps four slots at most on others lies on a member of ten, whose ring has
    /// gone on in the places of an earlier pin that is freed.
    #[test]
    fn a_pin_keeps_slots_on_both_sides_of_what_an_earlier_one_had_left_out() {
        let known = KnownPin {
            pin: Pin::open(3, 77, (10, 20)).closed_at(99, 165),
            from_sequence: 120,
            slots_max: 4,
        };
        let kept = |slots: &[SlotSequence], left_out_max: usize| {
            let found = known.on_member(slots, 10, left_out_max);
            let end_slot = found.pin.end_slot.unwrap();
            (found.pin.from_slot..end_slot, found.left_out)
        };
        let slots = [
            (11, 110),
            (12, 120),
            (16, 160),
            (23, 230),
            (34, 340),
            (45, 450),
        ];
        let gap = 13..16;
        assert_eq!(kept(&slots, 1), (12..17, vec![gap]));
        // Where its table has no place for what was left out it keeps less.
        assert_eq!(kept(&slots, 0), (16..17, vec![]));
        // What was written, and written again, is not the pin's.
        let slots = [(12, 120), (14, 140), (16, 160), (24, 240)];
        assert_eq!(kept(&slots, 1), (15..17, vec![]));
    }

    #[test]
    fn what_was_written_again_is_not_kept() {
        let slots = [(4, 40), (5, 50), (6, 60), (7, 70), (14, 140), (17, 170)];
        assert_eq!(on_member(&slots, 40, Some(65)), (5, Some(7)));
        let slots = [(4, 40), (5, 50), (6, 60), (18, 180), (25, 250)];
        assert_eq!(on_member(&slots, 40, Some(65)), (6, Some(8)));
        // The ring has gone round often, and no lists are left of what it has passed.
        let slots = [(4, 40), (5, 50), (96, 960), (97, 970)];
        assert_eq!(on_member(&slots, 40, Some(55)), (4, Some(6)));
    }

    #[test]
    fn slots_of_which_nothing_is_known_are_kept_where_all_may_be_parity() {
        // As many as on others at most, and not where the ring has come by.
        assert_eq!(on_member(&[], 40, Some(65)), (0, Some(4)));
        assert_eq!(
            on_member(&[(96, 960), (99, 990)], 40, Some(65)),
            (0, Some(4))
        );
        assert_eq!(
            on_member(&[(92, 920), (99, 990)], 40, Some(65)),
            (0, Some(2))
        );
        assert_eq!(
            on_member(&[(91, 910), (99, 990)], 40, Some(65)),
            (2, Some(4))
        );
    }

    #[test]
    fn a_pin_without_a_slot_that_it_may_keep_keeps_the_newest_one() {
        assert_eq!(on_member(&[], 40, None), (0, None));
        // All that it kept was written again.
        let slots = [(4, 40), (5, 50), (6, 60), (14, 140), (15, 150)];
        assert_eq!(on_member(&slots, 40, Some(55)), (15, Some(16)));
    }

    #[test]
    fn a_pin_keeps_no_more_slots_than_there_are() {
        let slots: Vec<SlotSequence> = (0..25).map(|slot| (slot, slot * 10)).collect();
        assert_eq!(on_member(&slots, 0, Some(1000)), (15, Some(25)));
    }
}
