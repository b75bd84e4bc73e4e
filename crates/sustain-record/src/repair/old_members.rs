//! Reads what the members that are there have of groups and marks.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use super::append::{DraftAppend, is_filler};
use crate::error::RecordError;
use crate::format::{GroupList, Kind, marks_range, payload_range, verify_payload};
use crate::member_io::{MemberIo, ReadOrder};
use crate::rebuilt::{
    FoundGroups, FoundMark, LackingParity, MadeParity, WantedAppend, WantedParity,
};
use crate::store::{Store, StoreGroups};
use crate::walk::AppendIdentity;

/// Access to the members that are there, and what is known of their groups.
pub(super) struct OldMembers<'a> {
    store: &'a Store,
    io: MemberIo,
    groups: Arc<StoreGroups>,
    pub(super) found: Arc<FoundGroups>,
    identities: Vec<Option<AppendIdentity>>,
}

impl<'a> OldMembers<'a> {
    /// # Errors
    /// [`RecordError::Engine`].
    pub(super) fn new(
        store: &'a Store,
        (groups, found): (Arc<StoreGroups>, Arc<FoundGroups>),
    ) -> Result<OldMembers<'a>, RecordError> {
        Ok(OldMembers {
            store,
            io: store.io()?,
            identities: groups.identities(),
            groups,
            found,
        })
    }

    /// The parity that groups lack and that may be made again on a member.
    pub(super) fn lacking_parity(&self, member: usize) -> Vec<LackingParity> {
        let geometries = self.groups.geometries();
        let all = self
            .found
            .lacking_parity(member, geometries, self.store.parities());
        // Where a ring has overwritten something elsewhere, nothing is protected any more.
        let from_sequence = self.found.whole_from_sequence;
        let is_whole = |lacking: &LackingParity| lacking.last_sequence() >= from_sequence;
        all.into_iter().filter(is_whole).collect()
    }

    /// Reads a stretch of a member in the table; none if nothing of it can be computed, or it
    /// cannot be read as a whole.
    pub(super) fn read(
        &mut self,
        member: usize,
        offset_bytes: u64,
        length_bytes: usize,
    ) -> Result<Option<Vec<u8>>, RecordError> {
        let Some(position) = position_of(self.store, member) else {
            return Ok(None);
        };
        let read = self.io.read(position, offset_bytes, length_bytes);
        self.io.check_engine()?;
        Ok(read.ok())
    }

    /// Computes an append of data, by its group and its position there; none if too much of that is
    /// lost.
    pub(super) fn compute(
        &mut self,
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
        let (io, from) = (&mut self.io, (&*self.groups, self.store));
        wanted.compute(|source, range| read_part(io, from, source, range))
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
            None => list.is_some(),
        }
    }

    /// Makes parity again; none if some of its data is lost.
    pub(super) fn make(
        &mut self,
        lacking: &LackingParity,
    ) -> Result<Option<MadeParity>, RecordError> {
        let wanted = WantedParity {
            lacking,
            group: self.found.group(lacking.group),
            identities: &self.identities,
        };
        let (io, from) = (&mut self.io, (&*self.groups, self.store));
        let mut parts = read_at_once(io, from, lacking);
        io.check_engine()?;
        wanted.make(|source, range| match parts.remove(&(source, range.start)) {
            Some(bytes) => Ok(Some(bytes)),
            None => read_part(io, from, source, range),
        })
    }

    /// The payload of a start or an end mark, if it is whole.
    pub(super) fn payload_of(&mut self, mark: &FoundMark) -> Result<Option<Vec<u8>>, RecordError> {
        let member = self.groups.member_of(mark.source);
        let Some(identity) = self.identities.get(member).copied().flatten() else {
            return Ok(None);
        };
        let descriptor = &mark.descriptor;
        let start = identity.geometry.offset_of(descriptor.place);
        let length = descriptor.append_bytes as usize;
        let bytes = self.read(member, start, length)?;
        let payload = bytes.and_then(|bytes| Some(bytes.get(payload_range(descriptor))?.to_vec()));
        Ok(payload.filter(|payload| verify_payload(descriptor, payload).is_empty()))
    }
}

/// Reads a part of a group; none if it cannot be read.
fn read_part(
    io: &mut MemberIo,
    (groups, store): (&StoreGroups, &Store),
    source: usize,
    range: Range<u64>,
) -> Result<Option<Vec<u8>>, RecordError> {
    let Some(position) = position_of(store, groups.member_of(source)) else {
        return Ok(None);
    };
    let read = io.read(position, range.start, (range.end - range.start) as usize);
    io.check_engine()?;
    Ok(read.ok())
}

/// Reads the data of a group from all its members at once.
fn read_at_once(
    io: &mut MemberIo,
    (groups, store): (&StoreGroups, &Store),
    lacking: &LackingParity,
) -> HashMap<(usize, u64), Vec<u8>> {
    let mut names = Vec::new();
    let mut orders = Vec::new();
    for (source, range) in lacking.parts() {
        if let Some(member) = position_of(store, groups.member_of(source)) {
            names.push((source, range.start));
            orders.push(ReadOrder {
                member,
                offset_bytes: range.start,
                length_bytes: (range.end - range.start) as usize,
            });
        }
    }
    let read = names.into_iter().zip(io.read_all(&orders));
    read.filter_map(|(name, bytes)| Some((name, bytes.ok()?)))
        .collect()
}

/// Where a member in the table stands among those of a store.
fn position_of(store: &Store, member: usize) -> Option<usize> {
    let mut members = store.members.iter();
    members.position(|one| one.index() == member)
}
