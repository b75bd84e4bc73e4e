//! Whether groups of which a retired member had a part are as safe as before. Pure.

use std::collections::BTreeSet;

use super::copies::{CopiedPart, copies_of, is_of_copies};
use super::groups::{FoundGroup, FoundGroups};
use crate::format::{AppendPlace, GroupEntry};

/// Parity of a group that was copied from a member which was retired.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CopiedParities {
    /// How many appends of data the group has.
    pub(crate) data: usize,
    /// How many of parity it should have.
    pub(crate) parities: u16,
    /// The numbers of those that were copied, from 0.
    pub(crate) copied: Vec<usize>,
}

impl FoundGroups {
    /// The newest recording that has copies of appends of data.
    pub(crate) fn recording_of_copies(&self) -> Option<u32> {
        let copies = self.listed().filter(|(id, _)| is_of_copies(*id));
        copies.map(|(_, group)| group.recording).max()
    }

    /// Whether an append of data of a retired member has copies on so many members that it is as
    /// safe as the rest of its group.
    pub(crate) fn has_enough_copies(&self, member: usize, place: AppendPlace, group: u64) -> bool {
        let parities = self.group(group).map_or(0, |group| group.list.parities);
        let copies = self.copies.count(CopiedPart::Data(member as u16, place));
        self.copies.retired.contains(&member) && copies > usize::from(parities)
    }

    /// Whether an append of data of a retired member is protected by its copies alone, and a group
    /// does not count on it: parity that was made again when it was retired already lists only
    /// appends on others.
    pub(crate) fn is_protected_by_copies(
        &self,
        member: usize,
        place: AppendPlace,
        group: u64,
    ) -> bool {
        let key = (member as u16, place);
        let Some((sequence, _)) = self
            .copies
            .data
            .get(&key)
            .filter(|_| self.copies.retired.contains(&member))
        else {
            return false;
        };
        let is_it = |entry: &GroupEntry| (entry.member, entry.place) == key;
        let of_group = self.group(group);
        let is_listed = of_group.is_some_and(|group| group.list.entries.iter().any(is_it));
        let copies = self.group(copies_of(*sequence));
        let is_enough = |copies: &FoundGroup| {
            copies.list.parities > 1 && copies.parities.len() == usize::from(copies.list.parities)
        };
        !is_listed && copies.is_some_and(is_enough)
    }

    /// What was copied of the parity of a group of this recording; none if nothing was.
    pub(crate) fn copied_parities(&self, id: u64, recording: u32) -> Option<CopiedParities> {
        if self.copies.retired.is_empty() {
            return None;
        }
        let group = self.group(id)?;
        let is_copied = |number: &usize| {
            let mut holders = self.copies.holders(CopiedPart::Parity(id, *number));
            holders.any(|(_, one)| one != recording)
                && self.is_placed_safely((id, group), *number, None)
        };
        let numbers = 0..usize::from(group.list.parities);
        let copied: Vec<usize> = numbers.filter(is_copied).collect();
        (!copied.is_empty()).then_some(CopiedParities {
            data: group.list.entries.len(),
            parities: group.list.parities,
            copied,
        })
    }

    /// Whether a parity of a group is there, and lost with none of as many members as the group
    /// survives but as one part of it: it lies on a member that has nothing else of the group, or
    /// on more members than can be lost.
    ///
    /// `without` is a member, among those that are there, that does not count.
    pub(crate) fn is_placed_safely(
        &self,
        (id, group): (u64, &FoundGroup),
        number: usize,
        without: Option<usize>,
    ) -> bool {
        let copies = &self.copies;
        let holders = |number| {
            let holders = copies.holders(CopiedPart::Parity(id, number));
            holders.filter(|(source, _)| Some(*source) != without)
        };
        if holders(number).count() > usize::from(group.list.parities) {
            return true;
        }
        let entries = group.list.entries.iter().zip(&group.data);
        let own = entries.filter(|(entry, _)| !copies.retired.contains(&usize::from(entry.member)));
        let mut taken: BTreeSet<usize> =
            own.filter_map(|(_, part)| Some((*part)?.source)).collect();
        for other in (0..usize::from(group.list.parities)).filter(|other| *other != number) {
            let mut others = holders(other);
            if let (Some((source, _)), None) = (others.next(), others.next()) {
                taken.insert(source);
            }
        }
        let mut sources = holders(number).map(|(source, _)| source);
        sources.any(|source| !taken.contains(&source))
    }
}
