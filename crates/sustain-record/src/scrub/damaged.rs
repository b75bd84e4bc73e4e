//! The appends of groups in places that a check has found damaged, and what lay there.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

use crate::error::RecordError;
use crate::format::{
    AppendPlace, BLOCK_BYTES, Descriptor, GroupEntry, Kind, crc32c, encode_append, verify_payload,
};
use crate::member_io::MemberIo;
use crate::reading::verify::VerifyResult;
use crate::rebuilt::{FoundGroups, WantedAppend, WantedParity};
use crate::store::{OpenMember, StoreGroups};
use crate::walk::{AppendIdentity, Head};

const WHY: &str = "what is damaged is computed from the others";

/// Where a member, by its place in the table, is among those that are driven.
type PositionOf<'a> = dyn Fn(usize) -> Option<usize> + 'a;

/// Which append of a group it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Part {
    /// Data, by its position.
    Data(usize),
    /// Parity, by its number.
    Parity(usize),
}

/// An append that may be damaged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct DamagedAppend {
    /// The place of its member in the table.
    pub(super) member: usize,
    /// Where it begins there.
    pub(super) offset_bytes: u64,
    group: u64,
    part: Part,
}

/// Appends that may be damaged, and the groups of which they are computed.
pub(super) struct DamagedAppends {
    /// Data before parity, because parity is made of data.
    pub(super) appends: Vec<DamagedAppend>,
    groups: Arc<StoreGroups>,
    found: Arc<FoundGroups>,
    identities: Vec<Option<AppendIdentity>>,
}

impl DamagedAppends {
    /// Those in the places that `checked` names on these members.
    pub(super) fn find(
        groups: &Arc<StoreGroups>,
        checked: &VerifyResult,
        members: &[OpenMember],
    ) -> Result<DamagedAppends, RecordError> {
        let found = groups.find(WHY)?;
        let known = known(groups, &found);
        let places = checked.bad.iter().filter_map(|bad| {
            let mut members = members.iter();
            let member = members.find(|member| Some(&member.name) == bad.member.as_ref())?;
            Some((member.index(), bad.offset_bytes?))
        });
        let places: BTreeSet<(usize, u64)> = places.collect();
        let appends = places.into_iter().filter_map(|(member, offset_bytes)| {
            let (group, part) = known.get(&(member, offset_bytes)).copied()?;
            Some(DamagedAppend {
                member,
                offset_bytes,
                group,
                part,
            })
        });
        let mut appends: Vec<DamagedAppend> = appends.collect();
        appends.sort_by_key(|append| (append.part, append.group));
        appends.sort_by_key(|append| matches!(append.part, Part::Parity(_)));
        Ok(DamagedAppends {
            appends,
            identities: groups.identities(),
            groups: Arc::clone(groups),
            found,
        })
    }

    /// The bytes that lay in a place; none if they are there, or cannot be computed.
    pub(super) fn compute(
        &self,
        append: &DamagedAppend,
        io: &mut MemberIo,
        position_of: &PositionOf<'_>,
    ) -> Result<Option<Vec<u8>>, RecordError> {
        match append.part {
            Part::Data(position) => self.data(append, position, io, position_of),
            Part::Parity(number) => self.parity(append, number, io, position_of),
        }
    }

    fn data(
        &self,
        append: &DamagedAppend,
        position: usize,
        io: &mut MemberIo,
        position_of: &PositionOf<'_>,
    ) -> Result<Option<Vec<u8>>, RecordError> {
        let Some(group) = self.found.group(append.group) else {
            return Ok(None);
        };
        let wanted = WantedAppend {
            group_id: append.group,
            group,
            position,
            identities: &self.identities,
        };
        let start = append.offset_bytes;
        let range = start..start + u64::from(wanted.entry().append_bytes);
        let own = read(io, position_of(append.member), range)?;
        if own.is_some_and(|own| wanted.is(&own)) {
            return Ok(None);
        }
        let heads = self.heads_in_slot(append.member, wanted.entry().place, io, position_of)?;
        match stands_among(wanted.entry(), &heads) {
            SlotStanding::Fits => {}
            // Nothing else of the slot is left. So the scan must have seen that it is of this lap,
            // or there was no other one.
            SlotStanding::Alone if group.data[position].is_some() => {}
            SlotStanding::Alone if self.is_of_first_lap(append.member) => {}
            SlotStanding::Alone | SlotStanding::Conflicts => return Ok(None),
        }
        wanted.compute(|source, range| read(io, position_of(self.groups.member_of(source)), range))
    }

    fn is_of_first_lap(&self, member: usize) -> bool {
        let source = self.groups.source_of(member);
        source.is_some_and(|source| !self.groups.has_gone_round(source))
    }

    /// The descriptors in the slot of a place, wherever they stand: damage may hide them from a
    /// walk.
    fn heads_in_slot(
        &self,
        member: usize,
        place: AppendPlace,
        io: &mut MemberIo,
        position_of: &PositionOf<'_>,
    ) -> Result<Vec<Descriptor>, RecordError> {
        let Some(identity) = self.identities.get(member).copied().flatten() else {
            return Ok(Vec::new());
        };
        let start = identity.geometry.offset_of(AppendPlace {
            slot_offset_bytes: 0,
            ..place
        });
        let mut heads = Vec::new();
        let end = start + u64::from(identity.geometry.slot_bytes);
        for (offset_bytes, block) in blocks(io, position_of(member), start..end)? {
            if let Some(Head::Append(head, _)) = identity.head(&block)
                && identity.geometry.offset_of(head.place) == offset_bytes
            {
                heads.push(*head);
            }
        }
        Ok(heads)
    }

    /// Parity can be made again as it was as long as its descriptor is there, which nothing else
    /// tells.
    fn parity(
        &self,
        append: &DamagedAppend,
        number: usize,
        io: &mut MemberIo,
        position_of: &PositionOf<'_>,
    ) -> Result<Option<Vec<u8>>, RecordError> {
        let start = append.offset_bytes;
        let own = read(
            io,
            position_of(append.member),
            start..start + BLOCK_BYTES as u64,
        )?;
        let identity = self.identities.get(append.member).copied().flatten();
        let (Some(own), Some(identity)) = (own, identity) else {
            return Ok(None);
        };
        let descriptor = match identity.head(&own) {
            Some(Head::Append(descriptor, _)) if is_at(&identity, &descriptor, append) => {
                descriptor
            }
            _ => return Ok(None),
        };
        let Some(group) = self.found.group(append.group) else {
            return Ok(None);
        };
        let wanted = WantedParity {
            lacking: &group.again(append.group, number),
            group: Some(group),
            identities: &self.identities,
        };
        let made = wanted
            .make(|source, range| read(io, position_of(self.groups.member_of(source)), range))?;
        let Some(made) = made else {
            return Ok(None);
        };
        let list = made.list.encode();
        let is_it = descriptor.payload_bytes as usize == made.sum.len()
            && verify_payload(&descriptor, &made.sum).is_empty()
            && descriptor.marks_bytes as usize == list.len()
            && descriptor.marks_crc == crc32c(&list);
        if !is_it {
            return Ok(None);
        }
        let bytes = encode_append(&descriptor, &made.sum, &list);
        let was = read(
            io,
            position_of(append.member),
            start..start + bytes.len() as u64,
        )?;
        let is_whole = was.as_ref() == Some(&bytes);
        Ok((!is_whole && bytes.starts_with(&own)).then_some(bytes))
    }
}

/// How an append that is to be put back stands to what is in its slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SlotStanding {
    /// It has its place between others of the same lap.
    Fits,
    /// There is nothing else.
    Alone,
    /// Something else lies there, or should come in another order: a ring has gone on, or a later
    /// recording has written over what a power cut took.
    Conflicts,
}

/// How an append stands to descriptors in its slot, among which may be its own.
fn stands_among(entry: &GroupEntry, heads: &[Descriptor]) -> SlotStanding {
    let start = entry.place.slot_offset_bytes;
    let fits = |head: &&Descriptor| {
        let head_start = head.place.slot_offset_bytes;
        let is_in_order = match head.sequence < entry.sequence {
            true => head_start + head.append_bytes <= start,
            false => start + entry.append_bytes <= head_start,
        };
        head.place.slot_serial == entry.place.slot_serial && is_in_order
    };
    let is_older = |head: &&Descriptor| head.place.slot_serial < entry.place.slot_serial;
    let is_itself =
        |head: &&Descriptor| head.place == entry.place && head.sequence == entry.sequence;
    let others = heads
        .iter()
        .filter(|head| !is_older(head) && !is_itself(head));
    match (
        others.clone().count(),
        others.clone().all(|head| fits(&head)),
    ) {
        (0, _) => SlotStanding::Alone,
        (_, true) => SlotStanding::Fits,
        (_, false) => SlotStanding::Conflicts,
    }
}

/// Whether a descriptor is that of parity in its place.
fn is_at(identity: &AppendIdentity, descriptor: &Descriptor, append: &DamagedAppend) -> bool {
    descriptor.kind == Kind::Parity
        && descriptor.parity_group == append.group
        && Part::Parity(usize::from(descriptor.parity_role).wrapping_sub(1)) == append.part
        && identity.geometry.offset_of(descriptor.place) == append.offset_bytes
}

/// The appends of groups, by the places of their members in the table and where they begin there.
/// Of a place that was written several times the newest counts.
fn known(groups: &StoreGroups, found: &FoundGroups) -> BTreeMap<(usize, u64), (u64, Part)> {
    let mut known = BTreeMap::new();
    for (group, one) in found.listed() {
        for (position, entry) in one.list.entries.iter().enumerate() {
            let member = usize::from(entry.member);
            if let Some(geometry) = groups.geometry(member) {
                let offset_bytes = geometry.offset_of(entry.place);
                known.insert((member, offset_bytes), (group, Part::Data(position)));
            }
        }
        for parity in &one.parities {
            let member = groups.member_of(parity.source);
            let offset_bytes = parity.offset_bytes - BLOCK_BYTES as u64;
            known.insert((member, offset_bytes), (group, Part::Parity(parity.number)));
        }
    }
    known
}

/// Reads a stretch of a member; none if it cannot be read.
fn read(
    io: &mut MemberIo,
    position: Option<usize>,
    range: Range<u64>,
) -> Result<Option<Vec<u8>>, RecordError> {
    let Some(position) = position else {
        return Ok(None);
    };
    let read = io.read(position, range.start, (range.end - range.start) as usize);
    io.check_engine()?;
    Ok(read.ok())
}

/// The blocks of a stretch of a member that can be read, with their offsets.
fn blocks(
    io: &mut MemberIo,
    position: Option<usize>,
    range: Range<u64>,
) -> Result<Vec<(u64, Vec<u8>)>, RecordError> {
    let starts = range.clone().step_by(BLOCK_BYTES);
    if let Some(whole) = read(io, position, range)? {
        let blocks = whole.chunks_exact(BLOCK_BYTES).map(<[u8]>::to_vec);
        return Ok(starts.zip(blocks).collect());
    }
    let mut blocks = Vec::new();
    for start in starts {
        let block = read(io, position, start..start + BLOCK_BYTES as u64)?;
        blocks.extend(block.map(|block| (start, block)));
    }
    Ok(blocks)
}
