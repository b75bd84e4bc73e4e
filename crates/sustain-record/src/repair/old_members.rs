//! Reads what the members that are there have of groups and marks.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::sync::Arc;

use super::append::{DraftAppend, is_filler};
use super::beside::RecordingBeside;
use crate::error::RecordError;
use crate::format::{
    BLOCK_BYTES, Descriptor, GroupList, Kind, marks_range, payload_range, verify_payload,
};
use crate::member_io::{AheadId, MemberIo, ReadOrder};
use crate::rebuilt::{
    FoundGroups, FoundMark, LackingParity, MadeParity, WantedAppend, WantedParity, is_of_copies,
};
use crate::store::{Store, StoreGroups};
use crate::walk::AppendIdentity;

/// Access to the members that are there, and what is known of their groups.
pub(crate) struct OldMembers<'a> {
    store: &'a Store,
    groups: Arc<StoreGroups>,
    pub(crate) found: Arc<FoundGroups>,
    identities: Vec<Option<AppendIdentity>>,
    /// The recording that goes on meanwhile.
    beside: Option<RecordingBeside>,
    /// What is read already, or is being read.
    ahead: HashMap<ReadOrder, AheadId>,
}

impl<'a> OldMembers<'a> {
    pub(crate) fn new(
        store: &'a Store,
        (groups, found): (Arc<StoreGroups>, Arc<FoundGroups>),
        beside: Option<RecordingBeside>,
    ) -> OldMembers<'a> {
        OldMembers {
            store,
            beside,
            identities: groups.identities(),
            groups,
            found,
            ahead: HashMap::new(),
        }
    }

    /// Begins to read what will be wanted next: stretches of a member in the table, and the data
    /// of groups that lack parity. What was begun before and is not among it is let go of.
    pub(super) fn read_ahead<'l>(
        &mut self,
        io: &mut MemberIo,
        (member, stretches): (usize, &[Range<u64>]),
        lacking: impl Iterator<Item = &'l LackingParity>,
    ) {
        let mut wanted = Vec::new();
        if let Some(position) = position_of(self.store, member) {
            wanted.extend(stretches.iter().map(|range| order(position, range)));
        }
        for lacking in lacking {
            wanted.extend(self.orders_of(lacking));
        }
        let mut before = std::mem::take(&mut self.ahead);
        for order in wanted {
            let begun = before.remove(&order);
            let id = begun.unwrap_or_else(|| io.begin_read(order));
            self.ahead.insert(order, id);
        }
        before.into_values().for_each(|id| io.forget(id));
    }

    /// The reads of the data of a group.
    fn orders_of(&self, lacking: &LackingParity) -> Vec<ReadOrder> {
        let parts = lacking.parts().filter_map(|(source, range)| {
            let position = position_of(self.store, self.groups.member_of(source))?;
            Some(order(position, &range))
        });
        parts.collect()
    }

    /// The parity that groups lack and that may be made again on a member, and how many groups lack
    /// some of which it is not known what else was in them.
    pub(crate) fn lacking_parity(&self, member: usize) -> (Vec<LackingParity>, u64) {
        let geometries = self.groups.geometries();
        let all = self
            .found
            .lacking_parity(member, geometries, self.store.parities());
        // Where a ring has overwritten something elsewhere, nothing is protected any more.
        let overwritten = &self.found.overwritten;
        let is_whole = |lacking: &LackingParity| {
            overwritten.leaves(lacking.recording, lacking.last_sequence())
        };
        let all = all.into_iter().filter(is_whole);
        let (known, unknown): (Vec<_>, Vec<_>) = all.partition(|lacking| self.is_known(lacking));
        let known = known.into_iter().filter(|one| self.is_settled(one));
        (known.collect(), unknown.len() as u64)
    }

    /// The same of appends that joined no group when they were recorded.
    pub(super) fn lone_parity(
        &self,
        member: usize,
        parities: &BTreeMap<u32, u16>,
    ) -> impl Iterator<Item = LackingParity> {
        let geometries = self.groups.geometries();
        let all = self.found.lone_parity(member, geometries, parities);
        let overwritten = &self.found.overwritten;
        all.into_iter().filter(|lacking| {
            overwritten.leaves(lacking.recording, lacking.last_sequence())
                && self.is_settled(lacking)
        })
    }

    /// How many members are missing.
    pub(super) fn missing(&self) -> usize {
        self.store.not_given().len()
    }

    /// Whether the members that are there say that another one had failed, or was slow.
    pub(super) fn is_behind(&self, member: usize) -> bool {
        let mut superblocks = self.store.members.iter().map(|one| &one.superblock);
        superblocks.any(|one| one.behind.contains(&(member as u16)))
    }

    /// Whether it is known what was in a group. Where no list is found, all its parity lay on
    /// missing members: if there are more of those, one may have had data of it, and parity without
    /// that would take the place of what that could be computed from.
    fn is_known(&self, lacking: &LackingParity) -> bool {
        self.found.group(lacking.group).is_some()
            || self.missing() <= usize::from(lacking.list.parities)
    }

    /// Whether nothing joins the group of this parity any more, which then is the one that the
    /// recorder has made or makes.
    fn is_settled(&self, lacking: &LackingParity) -> bool {
        self.beside.is_none_or(|beside| {
            lacking.recording != beside.recording
                || self.found.group(lacking.group).is_some()
                || lacking.last_sequence() <= beside.settled_sequence
        })
    }

    /// Reads a stretch of a member in the table; none if nothing of it can be computed, or it
    /// cannot be read as a whole.
    pub(crate) fn read(
        &mut self,
        io: &mut MemberIo,
        member: usize,
        range: &Range<u64>,
    ) -> Result<Option<Vec<u8>>, RecordError> {
        match position_of(self.store, member) {
            Some(position) => read_order(io, &mut self.ahead, order(position, range)),
            None => Ok(None),
        }
    }

    /// Computes an append of data, by its group and its position there; none if too much of that is
    /// lost.
    pub(crate) fn compute(
        &mut self,
        io: &mut MemberIo,
        group_id: u64,
        position: usize,
    ) -> Result<Option<Vec<u8>>, RecordError> {
        let Some(group) = self.found.group(group_id) else {
            return Ok(None);
        };
        let wanted = WantedAppend {
            group_id,
            group,
            position,
            identities: &self.identities,
        };
        let (store, groups, ahead) = (self.store, &self.groups, &mut self.ahead);
        wanted.compute(
            |source, range| match position_of(store, groups.member_of(source)) {
                Some(position) => read_order(io, ahead, order(position, &range)),
                None => Ok(None),
            },
        )
    }

    /// Whether an append that the member has fits what the others have: while it was away, parity
    /// may have been made again.
    pub(super) fn fits(&self, append: &DraftAppend) -> bool {
        let descriptor = &append.descriptor;
        if descriptor.kind != Kind::Parity || is_filler(descriptor) {
            return true;
        }
        let list = append.bytes.get(marks_range(descriptor));
        let list = list.and_then(|list| GroupList::decode(list).ok());
        let number = usize::from(descriptor.parity_role).saturating_sub(1);
        match self.found.group(descriptor.parity_group) {
            Some(group) => list.as_ref() == Some(&group.list) && !group.has_parity(number),
            None => list.is_some_and(|list| self.found.is_all_of(descriptor.parity_group, &list)),
        }
    }

    /// Makes parity again, or reads a copy of what a retired member had once more; none if some of
    /// its data is lost, or no copy can be read.
    pub(crate) fn make(
        &mut self,
        io: &mut MemberIo,
        lacking: &LackingParity,
    ) -> Result<Option<MadeParity>, RecordError> {
        if is_of_copies(lacking.group) {
            return self.read_copy(io, lacking);
        }
        // From all its members at once.
        for order in self.orders_of(lacking) {
            let begin = || io.begin_read(order);
            self.ahead.entry(order).or_insert_with(begin);
        }
        let wanted = WantedParity {
            lacking,
            group: self.found.group(lacking.group),
            identities: &self.identities,
        };
        let (store, groups, ahead) = (self.store, &self.groups, &mut self.ahead);
        wanted.make(
            |source, range| match position_of(store, groups.member_of(source)) {
                Some(position) => read_order(io, ahead, order(position, &range)),
                None => Ok(None),
            },
        )
    }

    /// Reads any copy of a group, undamaged. It may be one of a piece of an append, which has no
    /// checksum of its own.
    fn read_copy(
        &mut self,
        io: &mut MemberIo,
        lacking: &LackingParity,
    ) -> Result<Option<MadeParity>, RecordError> {
        let found = Arc::clone(&self.found);
        let group = found.group(lacking.group);
        for copy in group.into_iter().flat_map(|group| &group.parities) {
            let member = self.groups.member_of(copy.source);
            let sum = copy.range();
            let range = sum.start - BLOCK_BYTES as u64..sum.end;
            let Some(mut bytes) = self.read(io, member, &range)? else {
                continue;
            };
            let head = Descriptor::decode(&bytes[..BLOCK_BYTES]).ok();
            let head = head.map(|(descriptor, _)| descriptor).filter(|head| {
                let sum = bytes.get(payload_range(head));
                head.parity_group == lacking.group
                    && sum.is_some_and(|sum| verify_payload(head, sum).is_empty())
            });
            if let Some(newest) = head {
                return Ok(Some(MadeParity {
                    list: lacking.list.clone(),
                    sum: bytes.split_off(BLOCK_BYTES),
                    newest,
                }));
            }
        }
        Ok(None)
    }

    /// The payload of a start or an end mark, if it is whole.
    pub(super) fn payload_of(
        &mut self,
        io: &mut MemberIo,
        mark: &FoundMark,
    ) -> Result<Option<Vec<u8>>, RecordError> {
        let member = self.groups.member_of(mark.source);
        let Some(identity) = self.identities.get(member).copied().flatten() else {
            return Ok(None);
        };
        let descriptor = &mark.descriptor;
        let start = identity.geometry.offset_of(descriptor.place);
        let range = start..start + u64::from(descriptor.append_bytes);
        let bytes = self.read(io, member, &range)?;
        let payload = bytes.and_then(|bytes| Some(bytes.get(payload_range(descriptor))?.to_vec()));
        Ok(payload.filter(|payload| verify_payload(descriptor, payload).is_empty()))
    }
}

/// Reads a stretch, or takes what was read of it ahead; none if it cannot be read.
fn read_order(
    io: &mut MemberIo,
    ahead: &mut HashMap<ReadOrder, AheadId>,
    order: ReadOrder,
) -> Result<Option<Vec<u8>>, RecordError> {
    let read = match ahead.remove(&order) {
        Some(id) => io.fetch(id),
        None => io.read(order.member, order.offset_bytes, order.length_bytes),
    };
    io.check_engine()?;
    Ok(read.ok())
}

/// A read of a range of a member, by its position among those of the store.
fn order(position: usize, range: &Range<u64>) -> ReadOrder {
    ReadOrder {
        member: position,
        offset_bytes: range.start,
        length_bytes: (range.end - range.start) as usize,
    }
}

/// Where a member in the table stands among those of a store.
fn position_of(store: &Store, member: usize) -> Option<usize> {
    let mut members = store.members.iter();
    members.position(|one| one.index() == member)
}
