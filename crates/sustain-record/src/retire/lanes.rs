//! Where copies go: each member that stays has a lane, which is what is free on it. Pure, so that
//! all places are known before anything is written.

use crate::format::{AppendPlace, BLOCK_BYTES};

/// What an end mark takes.
const END_BYTES: u64 = 2 * BLOCK_BYTES as u64;

/// The free slots of a member.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CopyLane {
    /// The place of the member in the table.
    pub(super) member: usize,
    /// Its index where it is driven.
    pub(super) position: usize,
    slot_bytes: u32,
    /// The slot behind the last one.
    end_slot: u64,
    /// Where the next append goes, if it fits there.
    next: AppendPlace,
}

impl CopyLane {
    /// The lane of a member of which the slots from `next_slot` up to `end_slot` are free.
    pub(super) fn new(
        (member, position): (usize, usize),
        slot_bytes: u32,
        (next_slot, end_slot): (u64, u64),
    ) -> CopyLane {
        CopyLane {
            member,
            position,
            slot_bytes,
            end_slot,
            next: AppendPlace {
                slot_serial: next_slot,
                slot_offset_bytes: 0,
            },
        }
    }

    /// What is left of it, in bytes.
    pub(super) fn free_bytes(&self) -> u64 {
        let slots = self.end_slot.saturating_sub(self.next.slot_serial);
        let bytes = slots * u64::from(self.slot_bytes);
        bytes.saturating_sub(u64::from(self.next.slot_offset_bytes))
    }

    /// The place of the next append of so many bytes; none if there is no room for it.
    pub(super) fn take(&mut self, append_bytes: u32) -> Option<AppendPlace> {
        let mut place = self.next;
        if place.slot_offset_bytes + append_bytes > self.slot_bytes {
            place = AppendPlace {
                slot_serial: place.slot_serial + 1,
                slot_offset_bytes: 0,
            };
        }
        if place.slot_serial >= self.end_slot || append_bytes > self.slot_bytes {
            return None;
        }
        self.next = AppendPlace {
            slot_offset_bytes: place.slot_offset_bytes + append_bytes,
            ..place
        };
        Some(place)
    }

    /// Whether an append fits, and an end mark behind it.
    fn has_room_for(&self, append_bytes: u32) -> bool {
        let mut after = self.clone();
        after.take(append_bytes).is_some() && after.free_bytes() >= END_BYTES
    }
}

/// Chooses lanes for so many copies of an append, on members that have none yet: those that have
/// most room. `has` says of a member in the table whether it has one. None if there are too few.
pub(super) fn choose(
    lanes: &[CopyLane],
    append_bytes: u32,
    copies: usize,
    has: impl Fn(usize) -> bool,
) -> Option<Vec<usize>> {
    let fits = |lane: &CopyLane| !has(lane.member) && lane.has_room_for(append_bytes);
    let mut fitting: Vec<usize> = (0..lanes.len()).filter(|at| fits(&lanes[*at])).collect();
    fitting.sort_by_key(|at| std::cmp::Reverse(lanes[*at].free_bytes()));
    fitting.truncate(copies);
    (fitting.len() == copies).then_some(fitting)
}

#[cfg(test)]
mod tests {
    use super::*;

    const KIB_64: u32 = 64 << 10;

    fn lane(member: usize, slots: u64) -> CopyLane {
        CopyLane::new((member, member), KIB_64, (5, 5 + slots))
    }

    fn place(slot_serial: u64, slot_offset_bytes: u32) -> AppendPlace {
        AppendPlace {
            slot_serial,
            slot_offset_bytes,
        }
    }

    #[test]
    fn an_append_goes_to_the_next_slot_where_it_does_not_fit() {
        let mut lane = lane(1, 2);
        assert_eq!(lane.free_bytes(), 128 << 10);
        assert_eq!(lane.take(40 << 10), Some(place(5, 0)));
        assert_eq!(lane.take(24 << 10), Some(place(5, 40 << 10)));
        assert_eq!(lane.take(8 << 10), Some(place(6, 0)));
        assert_eq!(lane.free_bytes(), 56 << 10);
        assert_eq!(lane.take(KIB_64), None, "there is no further slot");
        assert_eq!(lane.take(56 << 10), Some(place(6, 8 << 10)));
        assert_eq!(lane.take(8 << 10), None);
        assert_eq!(lane.free_bytes(), 0);
    }

    #[test]
    fn copies_go_to_members_without_one_that_have_most_room() {
        let lanes = [lane(0, 3), lane(1, 9), lane(2, 5), lane(3, 7)];
        assert_eq!(choose(&lanes, 8192, 2, |_| false), Some(vec![1, 3]));
        assert_eq!(
            choose(&lanes, 8192, 2, |member| member == 1),
            Some(vec![3, 2])
        );
        assert_eq!(choose(&lanes, 8192, 4, |member| member == 1), None);
        assert_eq!(choose(&lanes, 8192, 0, |_| true), Some(Vec::new()));
        // An end mark must fit behind it.
        let one = [lane(0, 1)];
        assert_eq!(choose(&one, KIB_64, 1, |_| false), None);
        assert_eq!(choose(&one, KIB_64 - 8192, 1, |_| false), Some(vec![0]));
    }
}
