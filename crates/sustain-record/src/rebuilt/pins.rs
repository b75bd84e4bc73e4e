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

/// Where a slot lies, and the first sequence that is known of it.
pub(super) type SlotSequence = (u64, u64);

impl KnownPin {
    /// The same pin as it lies on a member of so many slots, of which these are known, in their
    /// order. Slots of which nothing is known have parity, and count with those around them. It
    /// keeps at least one slot: a pin that a member does not have is freed.
    pub(super) fn on_member(&self, slots: &[SlotSequence], slot_count: u64) -> Pin {
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
        let spanned = begun.max(end_slot.saturating_sub(slot_count))..end_slot;
        let again = written_again(&spanned, slots, slot_count);
        let own = before.iter().rev().map(|(serial, _)| *serial);
        let mut own = own.take_while(|serial| *serial >= spanned.start);
        let kept = match own.find(|serial| !again.contains(serial)) {
            Some(own) => stretch_around(own, &spanned, &again),
            None => longest_stretch(&spanned, &again),
        };
        let newest = slots.last().map_or(0, |(serial, _)| *serial);
        let kept = kept.unwrap_or(newest..newest + 1);
        Pin {
            from_slot: kept.start,
            end_slot: self.pin.end_slot.map(|_| kept.end),
            ..self.pin
        }
    }
}

/// Those of some slots, at most a lap, that were written again since.
fn written_again(spanned: &Range<u64>, slots: &[SlotSequence], slot_count: u64) -> BTreeSet<u64> {
    let again = slots.iter().filter_map(|(serial, _)| {
        let laps_behind = serial.checked_sub(spanned.start)? / slot_count;
        let lay_there = serial - laps_behind * slot_count;
        (laps_behind > 0 && lay_there < spanned.end).then_some(lay_there)
    });
    again.collect()
}

/// The slots around this one that were not written again.
fn stretch_around(slot: u64, spanned: &Range<u64>, again: &BTreeSet<u64>) -> Option<Range<u64>> {
    let before = again.range(..slot).next_back();
    let behind = again.range(slot..).next().copied();
    Some(before.map_or(spanned.start, |before| before + 1)..behind.unwrap_or(spanned.end))
}

/// The longest stretch of slots that were not written again.
fn longest_stretch(spanned: &Range<u64>, again: &BTreeSet<u64>) -> Option<Range<u64>> {
    let mut from_slot = spanned.start;
    let ends = again.iter().copied().chain([spanned.end]);
    let stretches = ends.map(|end| {
        let stretch = from_slot..end;
        from_slot = end + 1;
        stretch
    });
    let longest = stretches.max_by_key(|stretch| stretch.end.saturating_sub(stretch.start));
    longest.filter(|stretch| !stretch.is_empty())
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
        let found = known.on_member(slots, 10);
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
