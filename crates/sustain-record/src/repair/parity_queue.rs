//! The parity that is to be made again, in the order of the data that it is of. Pure.

use std::collections::{BTreeMap, BTreeSet};

use crate::rebuilt::LackingParity;

/// Parity that groups lack: at most one for each, and copies of what a retired member had.
#[derive(Debug, Default)]
pub(super) struct ParityQueue {
    /// By its recording, the largest sequence of its data, its group, and its number. Copies are in
    /// a later recording than the data.
    in_order: BTreeMap<(u32, u64, u64, usize), LackingParity>,
    /// By group and number, the recording, and the largest sequence of the data.
    by_group: BTreeSet<(u64, usize, u32, u64)>,
    /// The recording that has copies.
    copies: Option<u32>,
    /// By recording, how many bytes it takes on a member.
    bytes: BTreeMap<u32, u64>,
}

impl ParityQueue {
    /// `copies` is a recording that has copies of what retired members had, if there is one.
    pub(super) fn new(
        all: impl IntoIterator<Item = LackingParity>,
        copies: Option<u32>,
    ) -> ParityQueue {
        let mut queue = ParityQueue {
            copies,
            ..ParityQueue::default()
        };
        all.into_iter().for_each(|lacking| queue.insert(lacking));
        queue
    }

    fn insert(&mut self, lacking: LackingParity) {
        let (group, number) = (lacking.group, lacking.number);
        let (recording, sequence) = (lacking.recording, lacking.last_sequence());
        self.by_group.insert((group, number, recording, sequence));
        *self.bytes.entry(recording).or_default() += u64::from(lacking.append_bytes());
        self.in_order
            .insert((recording, sequence, group, number), lacking);
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

    /// Those of a recording and behind, in their order, of data from this sequence on.
    pub(super) fn iter_from(
        &self,
        recording: u32,
        sequence: u64,
    ) -> impl Iterator<Item = &LackingParity> {
        let from = (recording, sequence, 0, 0);
        self.in_order.range(from..).map(|(_, lacking)| lacking)
    }

    /// The recording of the first one.
    pub(super) fn recording(&self) -> Option<u32> {
        self.iter().next().map(|lacking| lacking.recording)
    }

    /// The first one of a group.
    pub(super) fn get(&self, group: u64) -> Option<&LackingParity> {
        self.of_group(group).next()
    }

    fn of_group(&self, group: u64) -> impl Iterator<Item = &LackingParity> {
        let keys = self
            .by_group
            .range((group, 0, 0, 0)..=(group, usize::MAX, u32::MAX, u64::MAX));
        keys.filter_map(|(group, number, recording, sequence)| {
            self.in_order.get(&(*recording, *sequence, *group, *number))
        })
    }

    /// Notes that the member has this parity of a group: no other one is put there, but for copies
    /// of others.
    pub(super) fn leave_out(&mut self, group: u64, number: usize) {
        let is_done = |one: &&LackingParity| !one.is_copy || one.number == number;
        let done = self.of_group(group).filter(is_done);
        let done: Vec<usize> = done.map(|one| one.number).collect();
        for number in done {
            self.remove(group, number);
        }
    }

    /// Takes out one of a group.
    pub(super) fn remove(&mut self, group: u64, number: usize) -> Option<LackingParity> {
        let lacking = self.of_group(group).find(|one| one.number == number)?;
        let (recording, sequence) = (lacking.recording, lacking.last_sequence());
        self.by_group.remove(&(group, number, recording, sequence));
        let key = (recording, sequence, group, number);
        let removed = self.in_order.remove(&key)?;
        if let Some(bytes) = self.bytes.get_mut(&removed.recording) {
            *bytes -= u64::from(removed.append_bytes());
        }
        Some(removed)
    }

    /// The bytes that parity of a recording takes on a member.
    pub(super) fn bytes_of(&self, recording: u32) -> u64 {
        self.bytes.get(&recording).copied().unwrap_or(0)
    }

    /// Leaves out what is of recordings before this one, and returns how many that were. What
    /// found no place there may go to a recording of copies that comes later.
    pub(super) fn leave_out_before(&mut self, recording: u32) -> u64 {
        self.bytes = self.bytes.split_off(&recording);
        let copies = self.copies.filter(|copies| *copies >= recording);
        let mut count = 0;
        while let Some(first) = self.in_order.first_entry() {
            if first.get().recording >= recording {
                break;
            }
            let (before, sequence, group, number) = *first.key();
            let mut lacking = first.remove();
            self.by_group.remove(&(group, number, before, sequence));
            match copies {
                Some(copies) => {
                    lacking.recording = copies;
                    self.insert(lacking);
                }
                None => count += 1,
            }
        }
        count
    }
}
