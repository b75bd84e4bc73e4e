//! The slots of the member that is rebuilt whose parity is still needed: a ring may not write over
//! them again. Pure.

use std::collections::BTreeMap;

use super::append::is_filler;
use crate::format::{Descriptor, Kind};
use crate::rebuilt::FoundGroups;

/// By slot, the newest sequence of data whose parity lies there.
#[derive(Debug, Default)]
pub(super) struct ProtectedSlots {
    newest: BTreeMap<u64, u64>,
}

impl ProtectedSlots {
    /// Notes an append that is on the member now.
    pub(super) fn note(&mut self, append: &Descriptor, found: &FoundGroups) {
        if append.kind != Kind::Parity || is_filler(append) {
            return;
        }
        let group = found.group(append.parity_group);
        let last = group.and_then(|group| group.list.entries.last());
        let newest = last.map_or(append.sequence, |entry| entry.sequence);
        let of_slot = self.newest.entry(append.place.slot_serial).or_default();
        *of_slot = newest.max(*of_slot);
    }

    /// The newest sequence of data whose parity lies in a slot.
    pub(super) fn newest_in(&self, slot_serial: u64) -> Option<u64> {
        self.newest.get(&slot_serial).copied()
    }
}
