//! What other members have of members that were retired, or are to be: copies of appends. A copy of
//! data is parity of a group of that append alone, and a copy of parity is that parity once more.
//! Pure.

use std::collections::{BTreeMap, BTreeSet};

use super::found::{FoundParity, GroupPart};
use crate::format::{AppendPlace, GroupEntry};

/// Set in the number of a group that has the copies of one append; the rest of it is the sequence
/// of that append. No sequence is so large.
const COPIES: u64 = 1 << 63;
/// Set besides where it has only the beginning of the append, which is too long to be copied as a
/// whole; the group without this bit has the rest then.
const BEGINNING: u64 = 1 << 62;

/// The number of the group that has the copies of an append of data, or of its end.
pub(crate) fn copies_of(sequence: u64) -> u64 {
    COPIES | sequence
}

/// The number of the group that has the copies of the beginning of an append.
pub(crate) fn copies_of_beginning(sequence: u64) -> u64 {
    COPIES | BEGINNING | sequence
}

/// Whether a group has the copies of an append.
pub(crate) fn is_of_copies(group: u64) -> bool {
    group & COPIES != 0
}

/// The copies that are found, if any member was retired or is to be.
#[derive(Debug, Default)]
pub(crate) struct FoundCopies {
    pub(super) retired: BTreeSet<usize>,
    /// By the member that had it and its place there: the sequence of an append of data, and one
    /// of its copies.
    pub(super) data: BTreeMap<(u16, AppendPlace), (u64, GroupPart)>,
    /// What members, among those that are there, have of each part, and in which recording. Data
    /// is only noted where it is copied.
    holders: BTreeMap<CopiedPart, BTreeMap<usize, u32>>,
}

/// What there are copies of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum CopiedPart {
    /// An append of data, by the member that had it, and its place there.
    Data(u16, AppendPlace),
    /// A parity, by its group and its number there.
    Parity(u64, usize),
}

impl FoundCopies {
    /// Sorts what was found in a store of which these members were retired, or are to be.
    pub(super) fn of(parities: &[FoundParity], retired: &BTreeSet<usize>) -> FoundCopies {
        let mut copies = FoundCopies {
            retired: retired.clone(),
            ..FoundCopies::default()
        };
        if retired.is_empty() {
            return copies;
        }
        for parity in parities {
            copies.hold(CopiedPart::Parity(parity.group, parity.number), parity);
            if let Some(entry) = copied(parity, retired) {
                let part = GroupPart {
                    number: 0,
                    source: parity.source,
                    offset_bytes: parity.payload_offset_bytes,
                    length_bytes: entry.append_bytes,
                };
                let key = (entry.member, entry.place);
                let is_newer = |known: &(u64, GroupPart)| known.0 < entry.sequence;
                if copies.data.get(&key).is_none_or(is_newer) {
                    copies.data.insert(key, (entry.sequence, part));
                }
                copies.hold(CopiedPart::Data(entry.member, entry.place), parity);
            }
        }
        copies
    }

    fn hold(&mut self, part: CopiedPart, parity: &FoundParity) {
        let holders = self.holders.entry(part).or_default();
        holders.insert(parity.source, parity.recording);
    }

    /// A copy of an append of data.
    pub(super) fn of_data(&self, entry: &GroupEntry) -> Option<GroupPart> {
        let (sequence, part) = self.data.get(&(entry.member, entry.place))?;
        (*sequence == entry.sequence).then_some(*part)
    }

    /// The members, among those that are there, that have a part, and the recording in which each
    /// has it.
    pub(crate) fn holders(&self, part: CopiedPart) -> impl Iterator<Item = (usize, u32)> + '_ {
        let holders = self.holders.get(&part).into_iter().flatten();
        holders.map(|(source, recording)| (*source, *recording))
    }

    pub(super) fn count(&self, part: CopiedPart) -> usize {
        self.holders.get(&part).map_or(0, BTreeMap::len)
    }
}

/// The append of data of which this is a copy, if it is one.
fn copied<'a>(parity: &'a FoundParity, retired: &BTreeSet<usize>) -> Option<&'a GroupEntry> {
    let [entry] = parity.list.entries.as_slice() else {
        return None;
    };
    let is_copy = is_of_copies(parity.group) && retired.contains(&usize::from(entry.member));
    is_copy.then_some(entry)
}
