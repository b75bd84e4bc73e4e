//! The groups of a store of which something is lost, and what can be computed of them. Pure.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::copies::{FoundCopies, is_of_copies};
use super::crashed::Crashed;
use super::found::{FoundData, FoundMark, FoundParity, GroupPart, StoreShape, group_of_data};
use super::overwritten::Overwritten;
use super::pins::{KnownPin, PinOnMember};
use super::superseded::{NamedAppend, left_of};
use crate::format::{AppendPlace, GroupEntry, GroupList};

/// A group of which at least one parity is found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FoundGroup {
    /// The number of its recording.
    pub(crate) recording: u32,
    pub(crate) list: GroupList,
    /// The appends of data, by their position; none for one on a member that is not there, or in a
    /// slot that was written again since.
    pub(crate) data: Vec<Option<GroupPart>>,
    /// The sums that are there, by their numbers.
    pub(crate) parities: Vec<GroupPart>,
}

/// The groups of a store.
#[derive(Debug, Default)]
pub(crate) struct FoundGroups {
    /// By the sequence of the append that joined each first.
    groups: BTreeMap<u64, FoundGroup>,
    /// By member: the places of the appends of data in their order, the group of each, and its
    /// position there.
    places: BTreeMap<usize, Vec<(AppendPlace, u64, usize)>>,
    /// By group, the positions of appends of data that their members, which are there, were given
    /// and do not have: they lie behind their ends.
    lacking: BTreeMap<u64, Vec<usize>>,
    /// The same of those that lay in slots before their ends, of which nothing is left.
    gone: BTreeMap<u64, Vec<usize>>,
    /// What is found of groups of which no parity is, by the sequence of the append that joined
    /// each first: the member of each append in the table, and itself.
    pub(super) unlisted: BTreeMap<u64, Vec<(usize, FoundData)>>,
    /// The appends of data that joined no group, and of which no parity was made since, by their
    /// sequences: the member of each in the table, and itself.
    pub(super) lone: BTreeMap<u64, (usize, FoundData)>,
    /// The starts and end marks of recordings, in no order.
    pub(crate) marks: Vec<FoundMark>,
    /// What rings have overwritten on the members that are there.
    pub(crate) overwritten: Overwritten,
    /// What others have of retired members.
    pub(crate) copies: FoundCopies,
    /// The old members, in the table, that have something else where they were given an append.
    pub(crate) displaced: BTreeSet<usize>,
}

/// What is left of a group, and what is lost.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct BrokenGroup {
    /// The appends of data that are there.
    pub(super) data: Vec<GroupPart>,
    /// The positions of the others.
    pub(super) lost: Vec<usize>,
    /// The sums that are there, by their numbers. Each is as long as the longest append of data.
    pub(super) parities: Vec<GroupPart>,
}

/// What can be computed of members that are not there.
#[derive(Debug, Default)]
pub(crate) struct Computed {
    pub(super) groups: Arc<Vec<BrokenGroup>>,
    /// By member: group, position in it, and what the list says.
    pub(super) lost: BTreeMap<usize, Vec<(usize, usize, GroupEntry)>>,
    /// By member: bytes of appends that groups name, and that cannot be computed. What rings may
    /// have passed does not count.
    pub(crate) beyond_bytes: BTreeMap<usize, u64>,
}

impl Computed {
    /// The appends of a member that can be computed.
    pub(super) fn lost_on(
        &self,
        member: usize,
    ) -> impl Iterator<Item = (usize, usize, GroupEntry)> + '_ {
        self.lost.get(&member).into_iter().flatten().copied()
    }
}

/// The groups of a store, as far as their parity is found. What contradicts the store, or the rest
/// of its group, is left out: it could only give bytes that fail their checksums.
pub(crate) fn grouped(
    (parities, data): (Vec<FoundParity>, Vec<FoundData>),
    shape: &StoreShape<'_>,
) -> FoundGroups {
    let is_possible = |parity: &FoundParity| is_possible(parity, shape);
    let parities: Vec<FoundParity> = parities.into_iter().filter(is_possible).collect();
    let mut groups = FoundGroups {
        copies: FoundCopies::of(&parities, &shape.retired),
        ..FoundGroups::default()
    };
    let mut by_group: BTreeMap<u64, Vec<FoundParity>> = BTreeMap::new();
    for parity in parities {
        let of_group = by_group.entry(parity.group).or_default();
        let fits = of_group.iter().all(|other| {
            other.list == parity.list
                && other.number != parity.number
                && (other.source != parity.source || !shape.retired.is_empty())
        });
        if fits {
            of_group.push(parity);
        }
    }
    // Parity that was copied is in a later recording than its data.
    let with_copies = data.iter().filter(|_| !shape.retired.is_empty());
    let recordings: BTreeMap<u64, u32> =
        with_copies.map(|one| (one.group, one.recording)).collect();
    for (id, parities) in by_group {
        let mut group = group(parities, shape, &groups.copies);
        group.recording = recordings.get(&id).copied().unwrap_or(group.recording);
        groups.add(id, group);
    }
    // What copies alone tell of is in an earlier recording than they are.
    groups.leave_out_superseded(|id, group| match shape.retired.is_empty() {
        true => Some(group.recording),
        false => recordings.get(&id).copied(),
    });
    groups.find_lacking(shape);
    groups.note_unlisted(data, shape);
    groups
}

/// Finds out what can be computed of the members that are not there, and of those that lack some of
/// what they were given.
///
/// Of members that are there, what `crashed` took is left out.
pub(crate) fn computed(found: &FoundGroups, is_there: &[bool], crashed: &Crashed) -> Computed {
    let mut computed = Computed::default();
    let mut groups = Vec::new();
    for (id, group) in &found.groups {
        let entries = group.list.entries.iter().enumerate();
        let missing = entries.filter(|(position, entry)| {
            let is_copied = group.data[*position].is_some();
            !is_there[usize::from(entry.member)] && !is_copied && found.is_left(entry)
        });
        let missing: Vec<usize> = missing.map(|(position, _)| position).collect();
        let lacking = [&found.lacking, &found.gone].into_iter();
        let lacking = lacking.filter_map(|lacking| lacking.get(id)).flatten();
        let was_given = |position: &&usize| {
            let entry = &group.list.entries[**position];
            !crashed.took(group.recording, entry.member, entry.sequence)
        };
        let lacking: Vec<usize> = lacking.filter(was_given).copied().collect();
        let without = group.broken(&lacking);
        if without.is_enough() {
            let all: Vec<usize> = missing.iter().chain(&lacking).copied().collect();
            computed.add((group, &found.overwritten), without, &all, &mut groups);
            continue;
        }
        // The first block of a slot may be damaged, and the rest of it be there all the same.
        computed.add(
            (group, &found.overwritten),
            group.broken(&[]),
            &missing,
            &mut groups,
        );
        for position in lacking {
            computed.add(
                (group, &found.overwritten),
                group.broken(&[position]),
                &[position],
                &mut groups,
            );
        }
    }
    computed.groups = Arc::new(groups);
    computed
}

impl Computed {
    /// Adds these appends of data of a group, of which so much is left.
    fn add(
        &mut self,
        (group, overwritten): (&FoundGroup, &Overwritten),
        broken: BrokenGroup,
        positions: &[usize],
        groups: &mut Vec<BrokenGroup>,
    ) {
        let is_enough = broken.is_enough();
        for position in positions {
            let entry = group.list.entries[*position];
            let member = usize::from(entry.member);
            if is_enough {
                let of_member = self.lost.entry(member).or_default();
                of_member.push((groups.len(), *position, entry));
            } else if overwritten.leaves(group.recording, entry.sequence) {
                *self.beyond_bytes.entry(member).or_default() += u64::from(entry.append_bytes);
            }
        }
        if is_enough && !positions.is_empty() {
            groups.push(broken);
        }
    }
}

/// Whether a list, and the parity that has it, may be of this store.
fn is_possible(parity: &FoundParity, shape: &StoreShape<'_>) -> bool {
    let lies_somewhere = |entry: &GroupEntry| {
        let geometry = shape.geometries.get(usize::from(entry.member));
        geometry.copied().flatten().is_some_and(|geometry| {
            let end_bytes =
                u64::from(entry.place.slot_offset_bytes) + u64::from(entry.append_bytes);
            end_bytes <= u64::from(geometry.slot_bytes)
        })
    };
    let is_beside = |entry: &GroupEntry| {
        let there = &shape.there[usize::from(entry.member)];
        // Copies take the place that is left.
        !shape.retired.is_empty() || there.is_none_or(|there| there.source != parity.source)
    };
    parity.number < usize::from(parity.list.parities)
        && parity.payload_bytes == parity.list.parity_bytes()
        && parity
            .list
            .entries
            .iter()
            .all(|entry| lies_somewhere(entry) && is_beside(entry))
}

fn group(parities: Vec<FoundParity>, shape: &StoreShape<'_>, copies: &FoundCopies) -> FoundGroup {
    let has_copies = is_of_copies(parities[0].group);
    let list = parities[0].list.clone();
    // A copy that was made later is in another one.
    let recordings = parities.iter().map(|parity| parity.recording);
    let recording = recordings.min().unwrap_or(0);
    let mut parities: Vec<GroupPart> = parities
        .into_iter()
        .map(|parity| GroupPart {
            number: parity.number,
            source: parity.source,
            offset_bytes: parity.payload_offset_bytes,
            length_bytes: parity.payload_bytes,
        })
        .collect();
    parities.sort_by_key(|parity| parity.number);
    let part = |(position, entry): (usize, &GroupEntry)| {
        let member = usize::from(entry.member);
        let Some(there) = shape.there[member] else {
            let copy = copies.of_data(entry).filter(|_| !has_copies)?;
            return Some(GroupPart {
                number: position,
                ..copy
            });
        };
        let geometry = shape.geometries[member]?;
        let slot = (entry.place.slot_serial % geometry.slot_count) as usize;
        let serial = there.serials.get(slot).copied().flatten();
        let is_there = serial == Some(entry.place.slot_serial)
            && !there.gone.contains(&entry.place.slot_serial)
            && !there.torn.contains(&entry.place);
        is_there.then(|| GroupPart {
            number: position,
            source: there.source,
            offset_bytes: geometry.offset_of(entry.place),
            length_bytes: entry.append_bytes,
        })
    };
    FoundGroup {
        recording,
        data: list.entries.iter().enumerate().map(part).collect(),
        list,
        parities,
    }
}

impl BrokenGroup {
    /// Whether what is lost can be computed.
    fn is_enough(&self) -> bool {
        self.lost.len() <= self.parities.len()
    }
}

impl FoundGroup {
    /// Whether this parity, from 0, is there.
    pub(crate) fn has_parity(&self, number: usize) -> bool {
        let mut parities = self.parities.iter();
        parities.any(|parity| parity.number == number)
    }

    /// The group as it is when those are lost that are not there, and these as well.
    fn broken(&self, lost: &[usize]) -> BrokenGroup {
        let is_lost = |position: &usize| self.data[*position].is_none() || lost.contains(position);
        let there = (0..self.data.len()).filter(|position| !is_lost(position));
        BrokenGroup {
            data: there.filter_map(|position| self.data[position]).collect(),
            lost: (0..self.data.len()).filter(is_lost).collect(),
            parities: self.parities.clone(),
        }
    }
}

impl FoundGroups {
    fn add(&mut self, id: u64, group: FoundGroup) {
        for (position, entry) in group.list.entries.iter().enumerate() {
            let places = self.places.entry(usize::from(entry.member)).or_default();
            places.push((entry.place, id, position));
        }
        self.groups.insert(id, group);
    }

    /// Sorts the places, and leaves out those of which nothing is left. `recording_of` tells of
    /// which recording the data of a group is, if that is known.
    fn leave_out_superseded(&mut self, recording_of: impl Fn(u64, &FoundGroup) -> Option<u32>) {
        let groups = &self.groups;
        for places in self.places.values_mut() {
            let named = places.iter().map(|(_, id, position)| NamedAppend {
                entry: groups[id].list.entries[*position],
                group: *id,
                position: *position,
                recording: recording_of(*id, &groups[id]),
            });
            let left = left_of(named.collect()).into_iter();
            *places = left
                .map(|one| (one.entry.place, one.group, one.position))
                .collect();
        }
    }

    fn find_lacking(&mut self, shape: &StoreShape<'_>) {
        for (id, group) in &self.groups {
            for (position, entry) in group.list.entries.iter().enumerate() {
                let member = usize::from(entry.member);
                let Some(there) = shape.there[member].filter(|_| self.is_left(entry)) else {
                    continue;
                };
                if there.lacks_behind_end(entry) {
                    self.lacking.entry(*id).or_default().push(position);
                } else if there.gone.contains(&entry.place.slot_serial) {
                    self.gone.entry(*id).or_default().push(position);
                }
            }
        }
    }

    fn note_unlisted(&mut self, data: Vec<FoundData>, shape: &StoreShape<'_>) {
        let mut member_of = BTreeMap::new();
        for (member, there) in shape.there.iter().enumerate() {
            member_of.extend(there.map(|there| (there.source, member)));
        }
        for data in data {
            let group = group_of_data(data.group, data.sequence);
            let member = member_of.get(&data.source).copied();
            let Some(member) = member.filter(|_| !self.groups.contains_key(&group)) else {
                continue;
            };
            match data.group {
                0 => {
                    self.lone.insert(group, (member, data));
                }
                _ => self.unlisted.entry(group).or_default().push((member, data)),
            }
        }
    }

    /// The groups of which at least one parity is found, by the sequence of the append that joined
    /// each first.
    pub(crate) fn listed(&self) -> impl Iterator<Item = (u64, &FoundGroup)> {
        self.groups.iter().map(|(id, group)| (*id, group))
    }

    /// The members that are there and lack appends of data that they were given.
    pub(crate) fn members_that_lack(&self, crashed: &Crashed) -> BTreeSet<usize> {
        self.members_of(&self.lacking, crashed)
    }

    /// The members that are there, and lack whole slots before their ends.
    pub(crate) fn members_with_gone_slots(&self, crashed: &Crashed) -> BTreeSet<usize> {
        self.members_of(&self.gone, crashed)
    }

    /// The appends of data that crashes seem to have taken from members that are there: the group,
    /// and the position in it.
    pub(crate) fn taken_by(&self, crashed: &Crashed) -> Vec<(u64, usize)> {
        let lacking = [&self.lacking, &self.gone].into_iter().flatten();
        let lacking = lacking.flat_map(|(id, positions)| positions.iter().map(|one| (*id, *one)));
        let is_taken = |(id, position): &(u64, usize)| {
            let group = &self.groups[id];
            let entry = &group.list.entries[*position];
            crashed.took(group.recording, entry.member, entry.sequence)
        };
        lacking.filter(is_taken).collect()
    }

    /// The positions in a group of what members that are there lack.
    pub(crate) fn lacking_in(&self, id: u64) -> Vec<usize> {
        let lacking = [&self.lacking, &self.gone].into_iter();
        let lacking = lacking.filter_map(|lacking| lacking.get(&id));
        lacking.flatten().copied().collect()
    }

    /// The members of these positions in groups, but for what a crash took.
    fn members_of(
        &self,
        lacking: &BTreeMap<u64, Vec<usize>>,
        crashed: &Crashed,
    ) -> BTreeSet<usize> {
        let members = lacking.iter().flat_map(|(id, positions)| {
            let group = &self.groups[id];
            let entries = positions
                .iter()
                .map(|position| &group.list.entries[*position]);
            let given = entries
                .filter(|entry| !crashed.took(group.recording, entry.member, entry.sequence));
            given.map(|entry| entry.member)
        });
        members.map(usize::from).collect()
    }

    /// Whether nothing that came later lies where this append of data did.
    fn is_left(&self, entry: &GroupEntry) -> bool {
        let places = self.places.get(&usize::from(entry.member));
        let places = places.map_or(&[][..], Vec::as_slice);
        let found = places.binary_search_by_key(&entry.place, |(place, ..)| *place);
        found.is_ok_and(|index| {
            let (_, id, position) = places[index];
            self.groups[&id].list.entries[position].sequence == entry.sequence
        })
    }

    /// The most appends of parity that a group was to have.
    pub(crate) fn parities(&self) -> u16 {
        let groups = self.groups.iter().filter(|(id, _)| !is_of_copies(**id));
        let parities = groups.map(|(_, group)| group.list.parities);
        parities.max().unwrap_or(0)
    }

    /// A pin as it lies on a member of so many slots that is not there. It spans so many stretches
    /// at most that were left out.
    pub(crate) fn pin_on(
        &self,
        (member, slot_count): (usize, u64),
        pin: &KnownPin,
        left_out_max: usize,
    ) -> PinOnMember {
        let places = self.places.get(&member).map_or(&[][..], Vec::as_slice);
        let slots = places.chunk_by(|(one, ..), (other, ..)| one.slot_serial == other.slot_serial);
        let first = slots.map(|of_slot| {
            let (place, id, position) = of_slot[0];
            let entry = &self.groups[&id].list.entries[position];
            (place.slot_serial, entry.sequence)
        });
        pin.on_member(&first.collect::<Vec<_>>(), slot_count, left_out_max)
    }

    /// The appends of data that groups have on a member, in the order of their places, with the
    /// number of the recording.
    pub(crate) fn data_on(&self, member: usize) -> impl Iterator<Item = (u32, &GroupEntry)> {
        let places = self.places.get(&member).into_iter().flatten();
        places.map(|(_, id, position)| {
            let group = &self.groups[id];
            (group.recording, &group.list.entries[*position])
        })
    }

    /// The newest slot of a member in which groups have an append of data.
    pub(crate) fn newest_slot(&self, member: usize) -> Option<u64> {
        let (place, ..) = self.places.get(&member)?.last()?;
        Some(place.slot_serial)
    }

    /// The first append of data of groups behind a slot of a member.
    pub(crate) fn entry_behind(&self, member: usize, slot_serial: u64) -> Option<&GroupEntry> {
        let places = self.places.get(&member)?;
        let first = places.partition_point(|(place, ..)| place.slot_serial <= slot_serial);
        let (_, id, position) = places.get(first)?;
        Some(&self.groups[id].list.entries[*position])
    }

    /// A group, by the sequence of the append that joined it first.
    pub(crate) fn group(&self, id: u64) -> Option<&FoundGroup> {
        self.groups.get(&id)
    }

    /// The appends of data of groups in one slot of a member, in their order: the group, and the
    /// position in it.
    pub(crate) fn in_slot(
        &self,
        member: usize,
        slot_serial: u64,
    ) -> impl Iterator<Item = (u64, usize)> + '_ {
        let places = self.places.get(&member).map_or(&[][..], Vec::as_slice);
        let first = places.partition_point(|(place, ..)| place.slot_serial < slot_serial);
        let behind = places[first..].iter();
        behind
            .take_while(move |(place, ..)| place.slot_serial == slot_serial)
            .map(|(_, id, position)| (*id, *position))
    }
}
