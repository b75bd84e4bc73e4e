//! The parity that is to be made again, in the order of the data that it is of. Pure.

use std::collections::{BTreeMap, HashMap};

use crate::rebuilt::LackingParity;

/// Parity that groups lack, at most one for each.
#[derive(Debug, Default)]
pub(super) struct ParityQueue {
    /// By the largest sequence of its data, and its group.
    in_order: BTreeMap<(u64, u64), LackingParity>,
    /// By group, the largest sequence of its data.
    by_group: HashMap<u64, u64>,
    /// By recording, how many bytes it takes on a member.
    bytes: BTreeMap<u32, u64>,
}

impl ParityQueue {
    pub(super) fn new(all: impl IntoIterator<Item = LackingParity>) -> ParityQueue {
        let mut queue = ParityQueue::default();
        for lacking in all {
            let sequence = lacking.last_sequence();
            queue.by_group.insert(lacking.group, sequence);
            *queue.bytes.entry(lacking.recording).or_default() += u64::from(lacking.append_bytes());
            queue.in_order.insert((sequence, lacking.group), lacking);
        }
        queue
    }

    pub(super) fn is_empty(&self) -> bool {
        self.in_order.is_empty()
    }

    pub(super) fn len(&self) -> usize {
        self.in_order.len()
    }

    /// In their order.
    pub(super) fn iter(&self) -> impl Iterator<Item = &LackingParity> {
        self.in_order.values()
    }

    /// The recording of the first one.
    pub(super) fn recording(&self) -> Option<u32> {
        self.iter().next().map(|lacking| lacking.recording)
    }

    /// That of a group.
    pub(super) fn get(&self, group: u64) -> Option<&LackingParity> {
        let sequence = self.by_group.get(&group)?;
        self.in_order.get(&(*sequence, group))
    }

    /// Takes out that of a group.
    pub(super) fn remove(&mut self, group: u64) -> Option<LackingParity> {
        let sequence = self.by_group.remove(&group)?;
        let removed = self.in_order.remove(&(sequence, group))?;
        if let Some(bytes) = self.bytes.get_mut(&removed.recording) {
            *bytes -= u64::from(removed.append_bytes());
        }
        Some(removed)
    }

    /// The bytes that parity of a recording takes on a member.
    pub(super) fn bytes_of(&self, recording: u32) -> u64 {
        self.bytes.get(&recording).copied().unwrap_or(0)
    }

    /// Leaves out what is of recordings before this one, and returns how many that were.
    pub(super) fn leave_out_before(&mut self, recording: u32) -> u64 {
        self.bytes = self.bytes.split_off(&recording);
        let mut count = 0;
        while let Some(first) = self.in_order.first_entry() {
            if first.get().recording >= recording {
                break;
            }
            let first = first.remove();
            self.by_group.remove(&first.group);
            count += 1;
        }
        count
    }
}
