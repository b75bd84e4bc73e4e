//! When slots were begun.

use std::collections::VecDeque;

/// When a slot got its first append, in nanoseconds since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::recorder) struct SlotTime {
    pub(in crate::recorder) slot_serial: u64,
    pub(in crate::recorder) made_time_ns: i64,
}

/// When the slots that a run has begun on a member got their first appends.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(in crate::recorder) struct SlotTimes {
    /// In the order in which they were begun, as far as they are not overwritten.
    pub(in crate::recorder) left: VecDeque<SlotTime>,
    /// Whether the ring has come round to any of them.
    pub(in crate::recorder) has_gone_round: bool,
}

impl SlotTimes {
    /// A slot of a member that has so many is begun.
    pub(super) fn note(&mut self, begun: SlotTime, slot_count: u64) {
        self.left.push_back(begun);
        let is_gone = |oldest: &SlotTime| oldest.slot_serial + slot_count <= begun.slot_serial;
        while self.left.front().is_some_and(is_gone) {
            self.left.pop_front();
            self.has_gone_round = true;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_ring_has_come_round_to_is_forgotten() {
        let mut times = SlotTimes::default();
        for slot_serial in 5..9 {
            let made_time_ns = slot_serial as i64;
            let begun = SlotTime {
                slot_serial,
                made_time_ns,
            };
            times.note(begun, 3);
            assert_eq!(times.has_gone_round, slot_serial == 8);
        }
        let left: Vec<u64> = times.left.iter().map(|slot| slot.slot_serial).collect();
        assert_eq!(left, [6, 7, 8]);
    }
}
