//! The parity that groups lack, to be made again from their data. Pure.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use super::copies::CopiedPart;
use super::crashed::Crashed;
use super::found::{FoundData, GroupPart};
use super::groups::{FoundGroup, FoundGroups};
use crate::format::{
    Geometry, GroupEntry, GroupList, SLOT_BYTES_MAX, append_bytes_for, payload_room,
};

/// One append of parity that a group lacks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LackingParity {
    /// The sequence of the append that joined its group first.
    pub(crate) group: u64,
    /// The number of its recording.
    pub(crate) recording: u32,
    /// Which parity of the group it is, from 0.
    pub(crate) number: usize,
    /// The list of the group.
    pub(crate) list: GroupList,
    /// Whether others have it too, and it is to be on more members, because the one that had it was
    /// retired.
    pub(crate) is_copy: bool,
    /// The appends in the list, where they are there.
    pub(super) data: Vec<Option<GroupPart>>,
}

impl LackingParity {
    /// The largest sequence of its data. Its own is larger.
    pub(crate) fn last_sequence(&self) -> u64 {
        let sequences = self.list.entries.iter().map(|entry| entry.sequence);
        sequences.max().unwrap_or(0)
    }

    /// Where its data is that is there: the member, among those that are, and the range there.
    pub(crate) fn parts(&self) -> impl Iterator<Item = (usize, Range<u64>)> + '_ {
        let parts = self.data.iter().flatten();
        parts.map(|part| (part.source, part.range()))
    }

    /// The bytes that it takes on a member.
    pub(crate) fn append_bytes(&self) -> u32 {
        let list_bytes = GroupList::bytes_of(self.list.entries.len());
        append_bytes_for(self.list.parity_bytes(), list_bytes as u32)
    }
}

impl FoundGroup {
    /// One of its appends of parity, to be made again as it was. The group's own number is not
    /// known to it.
    pub(crate) fn again(&self, id: u64, number: usize) -> LackingParity {
        LackingParity {
            group: id,
            recording: self.recording,
            number,
            list: self.list.clone(),
            is_copy: false,
            data: self.data.clone(),
        }
    }
}

impl FoundGroups {
    /// Whether a member that is there, with an old state of which this is the newest sequence, may
    /// have been given parity since that it lacks: some group that came later lacks parity, and has
    /// no data there.
    pub(crate) fn may_lack_parity(
        &self,
        (member, newest_sequence): (usize, u64),
        absent_in: &BTreeSet<u32>,
        crashed: &Crashed,
    ) -> bool {
        let is_since = |sequence: u64, recording: u32| {
            sequence > newest_sequence
                && !absent_in.contains(&recording)
                && !crashed.took(recording, member as u16, sequence)
        };
        let listed = self.listed().any(|(_, group)| {
            let mut numbers = 0..usize::from(group.list.parities);
            let mut entries = group.list.entries.iter();
            let mut members = group.list.entries.iter().map(|entry| entry.member);
            numbers.any(|number| !group.has_parity(number))
                && entries.any(|entry| is_since(entry.sequence, group.recording))
                && members.all(|other| usize::from(other) != member)
        });
        let unlisted = self.unlisted.values().any(|data| {
            data.iter().all(|(other, _)| *other != member)
                && data
                    .iter()
                    .any(|(_, one)| is_since(one.sequence, one.recording))
        });
        listed || unlisted
    }

    /// Whether a list names all that is found of a group of which no list is.
    pub(crate) fn is_all_of(&self, group: u64, list: &GroupList) -> bool {
        let mut found = self.unlisted.get(&group).into_iter().flatten();
        found.all(|(_, data)| {
            let mut entries = list.entries.iter();
            entries.any(|entry| entry.sequence == data.sequence)
        })
    }

    /// The appends of parity that may be made again on a member, one for each group that lacks some
    /// and has nothing on that member, and what was copied from a retired member to too few others,
    /// in the order of their data. `geometries` says how the
    /// members that are there are divided, by their places in the table. Where nothing tells how
    /// many a group was to have, it is as many as `parities`.
    pub(crate) fn lacking_parity(
        &self,
        member: usize,
        geometries: &[Option<Geometry>],
        parities: u16,
    ) -> Vec<LackingParity> {
        let listed = self.listed().filter_map(|(id, group)| {
            let is_beside = group
                .list
                .entries
                .iter()
                .all(|entry| usize::from(entry.member) != member);
            lacking_of(id, group).filter(|_| is_beside)
        });
        let mut parities_before = parities.max(1);
        let mut listed_before = self.listed().peekable();
        let unlisted = self.unlisted.iter().filter_map(|(id, data)| {
            // A group beside it tells how many parities its recording has.
            while let Some((_, group)) = listed_before.next_if(|(before, _)| before < id) {
                parities_before = group.list.parities;
            }
            unlisted(*id, data, geometries, parities_before)
                .filter(|_| data.iter().all(|(other, _)| *other != member))
        });
        let copies = self.lacking_copies();
        let mut lacking: Vec<LackingParity> = listed.chain(unlisted).chain(copies).collect();
        lacking.sort_by_key(LackingParity::last_sequence);
        lacking
    }

    /// The parity that a member may be given of appends that joined no group, because too few
    /// members were left: each becomes a group of its own. `parities` says how many appends of
    /// parity a group of each recording is to have.
    pub(crate) fn lone_parity(
        &self,
        member: usize,
        geometries: &[Option<Geometry>],
        parities: &BTreeMap<u32, u16>,
    ) -> Vec<LackingParity> {
        let lone = self.lone.iter().filter(|(_, (other, _))| *other != member);
        let lacking = lone.filter_map(|(id, data)| {
            let parities = *parities.get(&data.1.recording)?;
            unlisted(*id, &[*data], geometries, parities)
        });
        lacking.collect()
    }

    /// Whether a group is that of an append that joined none.
    pub(crate) fn is_lone(&self, group: u64) -> bool {
        self.lone.contains_key(&group)
    }

    /// The parity that was copied from a retired member, and is on too few others by now.
    fn lacking_copies(&self) -> Vec<LackingParity> {
        if self.copies.retired.is_empty() {
            return Vec::new();
        }
        let mut lacking = Vec::new();
        for (id, group) in self.listed() {
            for number in 0..usize::from(group.list.parities) {
                let holders = self.copies.holders(CopiedPart::Parity(id, number));
                let recording = holders.map(|(_, recording)| recording).max();
                let is_safe = self.is_placed_safely((id, group), number, None);
                if let Some(recording) = recording.filter(|_| !is_safe) {
                    lacking.push(LackingParity {
                        recording,
                        is_copy: true,
                        ..group.again(id, number)
                    });
                }
            }
        }
        lacking
    }
}

/// The first parity that a group lacks, if its data is there or can be computed.
fn lacking_of(id: u64, group: &FoundGroup) -> Option<LackingParity> {
    let number = (0..usize::from(group.list.parities)).find(|one| !group.has_parity(*one))?;
    let lost = group.data.iter().filter(|part| part.is_none()).count();
    (lost <= group.parities.len()).then(|| group.again(id, number))
}

/// The first parity of a group of which none is there.
fn unlisted(
    id: u64,
    data: &[(usize, FoundData)],
    geometries: &[Option<Geometry>],
    parities: u16,
) -> Option<LackingParity> {
    let mut members: Vec<usize> = data.iter().map(|(member, _)| *member).collect();
    members.sort_unstable();
    let is_once = members.windows(2).all(|pair| pair[0] != pair[1]);
    let mut data = data.to_vec();
    data.sort_by_key(|(_, one)| one.sequence);
    let entry = |(member, one): &(usize, FoundData)| GroupEntry {
        member: *member as u16,
        place: one.place,
        append_bytes: one.append_bytes,
        sequence: one.sequence,
        descriptor_crc: one.descriptor_crc,
    };
    let part = |(position, (member, one)): (usize, &(usize, FoundData))| {
        let geometry = geometries.get(*member).copied().flatten()?;
        Some(GroupPart {
            number: position,
            source: one.source,
            offset_bytes: geometry.offset_of(one.place),
            length_bytes: one.append_bytes,
        })
    };
    let list_bytes = GroupList::bytes_of(data.len());
    let room_bytes = payload_room(SLOT_BYTES_MAX as usize).saturating_sub(list_bytes);
    let has_room = |(_, one): &(usize, FoundData)| one.append_bytes as usize <= room_bytes;
    // Descriptors that no recorder wrote may tell anything.
    let fits =
        is_once && (1..=GroupList::ENTRIES_MAX).contains(&data.len()) && data.iter().all(has_room);
    fits.then(|| LackingParity {
        group: id,
        recording: data[0].1.recording,
        number: 0,
        list: GroupList {
            parities,
            entries: data.iter().map(entry).collect(),
        },
        is_copy: false,
        data: data.iter().enumerate().map(part).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::AppendPlace;

    #[test]
    fn parity_that_no_slot_has_room_for_is_not_made() {
        let lacking = |append_bytes| {
            let data = FoundData {
                group: 7,
                source: 0,
                recording: 1,
                place: AppendPlace {
                    slot_serial: 0,
                    slot_offset_bytes: 0,
                },
                append_bytes,
                sequence: 7,
                descriptor_crc: 1,
            };
            unlisted(7, &[(0, data)], &[None], 1)
        };
        let fits = lacking(SLOT_BYTES_MAX - 8192).expect("it has room beside its list");
        assert_eq!(fits.append_bytes(), SLOT_BYTES_MAX);
        // A recorder makes no such append, but bytes on a disk may say so.
        assert!(lacking(SLOT_BYTES_MAX).is_none());
        assert!(lacking(SLOT_BYTES_MAX - 4096).is_none());
    }
}
