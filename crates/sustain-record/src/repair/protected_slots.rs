//! The slots of the member that is rebuilt whose parity is still needed: a ring may not write over
//! them again. Pure.

use std::collections::{BTreeMap, BTreeSet};

use super::append::{DraftAppend, is_filler};
use crate::format::{GroupList, Kind, marks_range};
use crate::rebuilt::FoundGroups;

/// By slot and recording, the newest sequence of data whose parity lies there.
#[derive(Debug, Default)]
pub(super) struct ProtectedSlots {
    newest: BTreeMap<(u64, u32), u64>,
    /// Slots in which parity of what pins keep lies, be they the pins' own or not.
    kept: BTreeSet<u64>,
}

impl ProtectedSlots {
    /// Notes an append that is on the member now.
    pub(super) fn note(&mut self, draft: &DraftAppend, found: &FoundGroups) {
        let append = &draft.descriptor;
        if append.kind != Kind::Parity || is_filler(append) {
            return;
        }
        let group = found.group(append.parity_group);
        // Of a group that had lost all of its parity only what was made now has the list. The
        // sequence of parity that came late says nothing of its data.
        let own = draft.bytes.get(marks_range(append)).map(GroupList::decode);
        let own = own.and_then(Result::ok);
        let list = group.map(|group| &group.list).or(own.as_ref());
        let last = list.and_then(|list| list.entries.last());
        let newest = last.map_or(append.sequence, |entry| entry.sequence);
        if found.overwritten.is_kept(newest) {
            self.kept.insert(append.place.slot_serial);
        }
        // Copies are in a later recording than the data.
        let recording = group.map_or(append.recording, |group| group.recording);
        let key = (append.place.slot_serial, recording);
        let of_slot = self.newest.entry(key).or_default();
        *of_slot = newest.max(*of_slot);
    }

    /// Whether parity of what pins keep lies in a slot.
    pub(super) fn has_kept_in(&self, slot_serial: u64) -> bool {
        self.kept.contains(&slot_serial)
    }

    /// The recordings of data whose parity lies in a slot, and the newest sequence of each.
    pub(super) fn newest_in(&self, slot_serial: u64) -> impl Iterator<Item = (u32, u64)> {
        let of_slot = (slot_serial, 0)..=(slot_serial, u32::MAX);
        let newest = self.newest.range(of_slot);
        newest.map(|((_, recording), sequence)| (*recording, *sequence))
    }
}
