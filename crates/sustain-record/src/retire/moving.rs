//! What is on a member that is to be retired, be it there or computed from the others: its appends
//! of data, and the parity that groups have there.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::error::RecordError;
use crate::format::{
    AppendPlace, BLOCK_BYTES, Descriptor, GroupEntry, GroupList, Kind, append_bytes_for,
};
use crate::member_io::{MemberIo, ReadOrder};
use crate::rebuilt::{
    CopiedPart, FoundGroups, LackingParity, copies_of, copies_of_beginning, is_of_copies,
};
use crate::repair::append::{DraftAppend, appends_in};
use crate::repair::old_members::OldMembers;
use crate::store::{Store, StoreGroups};
use crate::walk::AppendIdentity;

/// An append of data that is to be copied, or a piece of one that would be too long with what a
/// copy has besides.
pub(super) struct MovingData {
    /// The group that has the copies.
    pub(super) group: u64,
    pub(super) entry: GroupEntry,
    /// On so many members there are to be copies.
    pub(super) copies: u16,
    pub(super) bytes: Vec<u8>,
}

/// The append of parity of a group that is to be written once more.
pub(super) struct MovingParity {
    pub(super) lacking: LackingParity,
    /// On so many members it is to be.
    pub(super) copies: u16,
}

/// A member that is to be retired.
pub(super) struct Moving<'a> {
    old: OldMembers<'a>,
    pub(super) found: Arc<FoundGroups>,
    groups: Arc<StoreGroups>,
    /// Its place in the table of members.
    pub(super) member: usize,
    /// Where it is driven, and its identity; none if it has nothing that can be read.
    own: Option<(usize, AppendIdentity)>,
    slot_bytes: u32,
    /// The slots of which anything may be left, in order.
    pub(super) slots: Vec<u64>,
}

impl MovingData {
    pub(super) fn part(&self) -> CopiedPart {
        CopiedPart::Data(self.entry.member, self.entry.place)
    }

    /// Whether an append ends with it: it is one, or the last piece of one.
    pub(super) fn ends_append(&self) -> bool {
        self.group == copies_of(self.entry.sequence)
    }

    fn whole(entry: GroupEntry, copies: u16, bytes: Vec<u8>) -> MovingData {
        MovingData {
            group: copies_of(entry.sequence),
            entry,
            copies,
            bytes,
        }
    }

    /// What one copy takes.
    pub(super) fn copy_bytes(&self) -> u32 {
        let list_bytes = GroupList::bytes_of(1);
        append_bytes_for(self.bytes.len() as u32, list_bytes as u32)
    }

    /// As pieces of which each fits into a slot with what a copy has besides. Readers put a piece
    /// where it was, so it need not be an append.
    fn fitting(self, slot_bytes: u32) -> Vec<MovingData> {
        if self.copy_bytes() <= slot_bytes {
            return vec![self];
        }
        // The rest is short, but no shorter than an append may be.
        let beginning_bytes = slot_bytes as usize - 3 * BLOCK_BYTES;
        let (beginning, end) = self.bytes.split_at(beginning_bytes);
        let piece = |group, bytes: &[u8], from: usize| MovingData {
            group,
            entry: GroupEntry {
                place: AppendPlace {
                    slot_offset_bytes: self.entry.place.slot_offset_bytes + from as u32,
                    ..self.entry.place
                },
                append_bytes: bytes.len() as u32,
                descriptor_crc: Descriptor::checksum_in(bytes),
                ..self.entry
            },
            copies: self.copies,
            bytes: bytes.to_vec(),
        };
        let sequence = self.entry.sequence;
        vec![
            piece(copies_of_beginning(sequence), beginning, 0),
            piece(copies_of(sequence), end, beginning_bytes),
        ]
    }

    pub(super) fn list(&self) -> GroupList {
        GroupList {
            parities: self.copies,
            entries: vec![self.entry],
        }
    }
}

impl MovingParity {
    pub(super) fn part(&self) -> CopiedPart {
        CopiedPart::Parity(self.lacking.group, self.lacking.number)
    }
}

impl<'a> Moving<'a> {
    /// A member of a store that is open for reading.
    pub(super) fn of(
        store: &'a Store,
        groups: Arc<StoreGroups>,
        found: Arc<FoundGroups>,
        member: usize,
    ) -> Moving<'a> {
        let position = store.members.iter().position(|one| one.index() == member);
        let own = position.map(|position| (position, store.members[position].identity()));
        // Laps before the last one are overwritten.
        let lap = own.map_or(0..0, |(position, identity)| {
            let end = store.tails[position].next_slot_serial;
            end.saturating_sub(identity.geometry.slot_count)..end
        });
        // Nothing of it may be there, and yet groups tell of it.
        let listed = found
            .data_on(member)
            .map(|(_, entry)| entry.place.slot_serial);
        let slots: BTreeSet<u64> = lap.chain(listed).collect();
        Moving {
            old: OldMembers::new(store, (Arc::clone(&groups), Arc::clone(&found)), None),
            found,
            groups,
            member,
            own,
            slot_bytes: store.slot_bytes,
            slots: slots.into_iter().collect(),
        }
    }

    /// The appends of data in one of its slots, in their order, and the lengths of those that are
    /// lost.
    pub(super) fn data_in(
        &mut self,
        io: &mut MemberIo,
        slot_serial: u64,
    ) -> Result<(Vec<MovingData>, Vec<u32>), RecordError> {
        let mut there = self.data_there(io, slot_serial)?;
        let mut lost = Vec::new();
        let mut moving = Vec::new();
        let listed: Vec<(u64, usize)> = self.found.in_slot(self.member, slot_serial).collect();
        for (group, position) in listed {
            let Some((entry, copies)) = self.listed(group, position) else {
                continue;
            };
            if !self.is_left(group, entry.sequence) {
                there.remove(&entry.place);
                continue;
            }
            let found_there = there.get(&entry.place);
            let is_it = found_there
                .is_some_and(|(one, _)| one.descriptor.append_bytes == entry.append_bytes);
            if is_of_copies(group) && !is_it {
                // A piece of an append, which is here as a whole.
                continue;
            }
            let is_newer = |(one, is_whole): &(DraftAppend, bool)| {
                *is_whole && one.descriptor.sequence > entry.sequence
            };
            if found_there.is_some_and(is_newer) {
                // A power cut took it, and a later recording has written over its place.
                continue;
            }
            let own = there.remove(&entry.place).filter(|(append, _)| {
                Descriptor::checksum_in(&append.bytes) == entry.descriptor_crc
            });
            let (whole, damaged) = match own {
                Some((append, true)) => (Some(append.bytes), None),
                Some((append, false)) => (None, Some(append.bytes)),
                None => (None, None),
            };
            let whole = match whole {
                Some(bytes) => Some(bytes),
                None => self.old.compute(io, group, position)?,
            };
            if whole.is_none() {
                lost.push(entry.append_bytes);
            }
            // What is whole of a damaged one can be read still.
            let bytes = whole.or(damaged);
            moving.extend(bytes.map(|bytes| MovingData::whole(entry, copies, bytes)));
        }
        let overwritten = &self.found.overwritten;
        let is_left = |one: &Descriptor| overwritten.leaves(one.recording, one.sequence);
        there.retain(|_, (append, _)| is_left(&append.descriptor));
        for (append, is_whole) in there.into_values() {
            if !is_whole {
                lost.push(append.descriptor.append_bytes);
            }
            moving.push(self.unlisted(append.bytes, &append.descriptor));
        }
        moving.sort_by_key(|one| one.entry.place);
        let fitting = moving
            .into_iter()
            .flat_map(|one| one.fitting(self.slot_bytes));
        Ok((fitting.collect(), lost))
    }

    /// The appends of data that are found in one of its slots, and whether each is whole.
    fn data_there(
        &self,
        io: &mut MemberIo,
        slot_serial: u64,
    ) -> Result<BTreeMap<AppendPlace, (DraftAppend, bool)>, RecordError> {
        let Some((position, identity)) = self.own else {
            return Ok(BTreeMap::new());
        };
        let start = AppendPlace {
            slot_serial,
            slot_offset_bytes: 0,
        };
        let read = io.read_stretch(ReadOrder {
            member: position,
            offset_bytes: identity.geometry.offset_of(start),
            length_bytes: identity.geometry.slot_bytes as usize,
        })?;
        let appends = appends_in((self.member, &identity), slot_serial, read.bytes).into_iter();
        let data = appends.filter(|(append, _)| append.descriptor.kind == Kind::Data);
        Ok(data
            .map(|(append, is_whole)| (append.descriptor.place, (append, is_whole)))
            .collect())
    }

    /// Whether an append of a group is of a time of which no ring has overwritten anything yet.
    /// Nothing else is promised to be kept.
    fn is_left(&self, group: u64, sequence: u64) -> bool {
        let recording = self.found.group(group).map_or(0, |group| group.recording);
        self.found.overwritten.leaves(recording, sequence)
    }

    /// An append in a group, and on how many members copies of it are wanted: one more than the
    /// group has parity, so that one is left whatever members it survives.
    fn listed(&self, group: u64, position: usize) -> Option<(GroupEntry, u16)> {
        let group_found = self.found.group(group)?;
        let entry = *group_found.list.entries.get(position)?;
        let parities = group_found.list.parities;
        Some((entry, parities + u16::from(!is_of_copies(group))))
    }

    /// An append in no group, or in one of which no list is found: it was as safe as its member.
    fn unlisted(&self, bytes: Vec<u8>, descriptor: &Descriptor) -> MovingData {
        let entry = GroupEntry {
            member: self.member as u16,
            place: descriptor.place,
            append_bytes: descriptor.append_bytes,
            sequence: descriptor.sequence,
            descriptor_crc: Descriptor::checksum_in(&bytes),
        };
        MovingData::whole(entry, 1, bytes)
    }

    /// The parity that the member has, and what groups lack: if it is not there, or has failed,
    /// that is what it had; and what an interrupted retirement has not copied to enough members.
    pub(super) fn parities(&self) -> Vec<MovingParity> {
        let (lacking, _) = self.old.lacking_parity(self.member);
        let mut moving: Vec<MovingParity> = lacking.into_iter().map(moving_parity).collect();
        for (id, group) in self.found.listed() {
            for number in 0..usize::from(group.list.parities) {
                let holders = self.holders(CopiedPart::Parity(id, number));
                if holders.contains(&self.member) {
                    moving.push(moving_parity(group.again(id, number)));
                }
            }
        }
        let overwritten = &self.found.overwritten;
        moving.retain(|MovingParity { lacking, .. }| {
            overwritten.leaves(lacking.recording, lacking.last_sequence())
        });
        // Where several are of one group, they come one behind the other.
        let part = |one: &MovingParity| (one.lacking.group, one.lacking.number);
        moving.sort_by_key(part);
        moving.dedup_by_key(|one| part(one));
        moving
    }

    /// Whether parity is where it is safe on members that stay.
    pub(super) fn has_elsewhere(&self, moving: &MovingParity) -> bool {
        let (id, number) = (moving.lacking.group, moving.lacking.number);
        let own = self.groups.source_of(self.member);
        let group = self.found.group(id);
        group.is_some_and(|group| self.found.is_placed_safely((id, group), number, own))
    }

    /// The members in the table that have a copy.
    pub(super) fn holders(&self, part: CopiedPart) -> BTreeSet<usize> {
        let sources = self.found.copies.holders(part);
        sources
            .map(|(source, _)| self.groups.member_of(source))
            .collect()
    }

    /// Makes parity again, or reads a copy once more: its sum, and the list of its group. None if
    /// some of its data is lost, or no copy can be read.
    pub(super) fn make(
        &mut self,
        io: &mut MemberIo,
        moving: &MovingParity,
    ) -> Result<Option<(Vec<u8>, GroupList)>, RecordError> {
        let made = self.old.make(io, &moving.lacking)?;
        Ok(made.map(|made| (made.sum, made.list)))
    }
}

/// Parity of a group of copies is one of them, and of any other group it is to be on as many
/// members as can be lost, and one more.
fn moving_parity(lacking: LackingParity) -> MovingParity {
    let copies = match is_of_copies(lacking.group) {
        true => 1,
        false => lacking.list.parities + 1,
    };
    MovingParity { lacking, copies }
}
