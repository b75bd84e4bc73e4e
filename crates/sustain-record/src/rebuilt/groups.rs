//! The groups of a store of which something is lost, and what can be computed of them. Pure.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::format::{Geometry, GroupEntry, GroupList};

/// The members of a store, in the order of their table.
pub(crate) struct StoreShape<'a> {
    /// How each is divided into slots; none if that is not told.
    pub(crate) geometries: Vec<Option<Geometry>>,
    /// Those that are there.
    pub(crate) there: Vec<Option<MemberThere<'a>>>,
}

/// A member that is there.
#[derive(Clone, Copy)]
pub(crate) struct MemberThere<'a> {
    /// Its index among those.
    pub(crate) source: usize,
    /// The serial that each of its slots has.
    pub(crate) serials: &'a [Option<u64>],
}

/// An append of parity that was found, with its list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FoundParity {
    /// The sequence of the append that joined its group first.
    pub(crate) group: u64,
    /// Which parity of the group it is, from 0.
    pub(crate) number: usize,
    /// The member that has it, among those that are there.
    pub(crate) source: usize,
    /// Where the sum begins there.
    pub(crate) payload_offset_bytes: u64,
    pub(crate) payload_bytes: u32,
    pub(crate) list: GroupList,
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

/// An append of data, or a sum, that is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct GroupPart {
    /// Position of the data, or number of the parity.
    pub(super) number: usize,
    /// The member that has it, among those that are there.
    pub(super) source: usize,
    /// Where it begins there.
    pub(super) offset_bytes: u64,
    pub(super) length_bytes: u32,
}

/// What can be computed of members that are not there.
#[derive(Debug, Default)]
pub(crate) struct Computed {
    pub(super) groups: Arc<Vec<BrokenGroup>>,
    /// By member: group, position in it, and what the list says.
    lost: BTreeMap<usize, Vec<(usize, usize, GroupEntry)>>,
    /// By member: bytes of appends that groups name, and that cannot be computed.
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

/// Finds out what can be computed, given the parity that is there. What contradicts the store, or
/// the rest of its group, is left out: it could only give bytes that fail their checksums.
pub(crate) fn computed(found: Vec<FoundParity>, shape: &StoreShape<'_>) -> Computed {
    let mut by_group: BTreeMap<u64, Vec<FoundParity>> = BTreeMap::new();
    for parity in found
        .into_iter()
        .filter(|parity| is_possible(parity, shape))
    {
        let of_group = by_group.entry(parity.group).or_default();
        let fits = of_group.iter().all(|other| {
            other.list == parity.list
                && other.number != parity.number
                && other.source != parity.source
        });
        if fits {
            of_group.push(parity);
        }
    }
    let mut computed = Computed::default();
    let mut groups = Vec::new();
    for parities in by_group.into_values() {
        let Some(list) = parities.first().map(|parity| parity.list.clone()) else {
            continue;
        };
        let group = group(parities, shape, &list);
        let lost = group.lost.iter().map(|position| list.entries[*position]);
        let lost = lost.zip(group.lost.iter().copied()).filter(|(entry, _)| {
            let there = &shape.there[usize::from(entry.member)];
            there.is_none()
        });
        let is_enough = group.lost.len() <= group.parities.len();
        let mut is_needed = false;
        for (entry, position) in lost {
            let member = usize::from(entry.member);
            if is_enough {
                let of_member = computed.lost.entry(member).or_default();
                of_member.push((groups.len(), position, entry));
                is_needed = true;
            } else {
                *computed.beyond_bytes.entry(member).or_default() += u64::from(entry.append_bytes);
            }
        }
        if is_needed {
            groups.push(group);
        }
    }
    computed.groups = Arc::new(groups);
    computed
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
        there.is_none_or(|there| there.source != parity.source)
    };
    parity.number < usize::from(parity.list.parities)
        && parity.payload_bytes == parity.list.parity_bytes()
        && parity
            .list
            .entries
            .iter()
            .all(|entry| lies_somewhere(entry) && is_beside(entry))
}

fn group(parities: Vec<FoundParity>, shape: &StoreShape<'_>, list: &GroupList) -> BrokenGroup {
    let mut group = BrokenGroup {
        data: Vec::new(),
        lost: Vec::new(),
        parities: parities
            .into_iter()
            .map(|parity| GroupPart {
                number: parity.number,
                source: parity.source,
                offset_bytes: parity.payload_offset_bytes,
                length_bytes: parity.payload_bytes,
            })
            .collect(),
    };
    group.parities.sort_by_key(|parity| parity.number);
    for (position, entry) in list.entries.iter().enumerate() {
        let member = usize::from(entry.member);
        let there = shape.there[member].zip(shape.geometries[member]);
        let kept = there.filter(|(there, geometry)| {
            let slot = (entry.place.slot_serial % geometry.slot_count) as usize;
            there.serials.get(slot).copied().flatten() == Some(entry.place.slot_serial)
        });
        match kept {
            Some((there, geometry)) => group.data.push(GroupPart {
                number: position,
                source: there.source,
                offset_bytes: geometry.offset_of(entry.place),
                length_bytes: entry.append_bytes,
            }),
            None => group.lost.push(position),
        }
    }
    group
}
