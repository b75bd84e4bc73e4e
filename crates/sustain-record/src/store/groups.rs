//! The groups of a store with parity, as its members tell of them. They are looked for when they
//! are needed first: looking through a whole store takes long, and one that is whole does not need
//! them.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use sustain_disk::clock::Clock;
use sustain_disk::engine::SharedMachine;
use sustain_disk::units::Size;
use uuid::Uuid;

use super::absences::note_absences;
use super::scan::scan;
use super::slot_heads::{ScannedMember, begin_behind};
use super::torn::leave_out_torn;
use super::{Mode, OpenMember, access};
use crate::error::RecordError;
use crate::format::{AppendPlace, Geometry, Pin, Superblock};
use crate::member_io::MemberIo;
use crate::opening::MemberTail;
use crate::rebuilt::{FoundGroups, MemberThere, OwnAppends, StoreShape, grouped};
use crate::walk::AppendIdentity;

/// More appends of one member are not counted when they are computed.
const RESTORED_MAX: usize = 100_000;

/// Where a member ends.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StoreTail {
    /// The first slot behind those that are known to have been written.
    written_slots_end: u64,
    /// Its last append.
    last: Option<AppendPlace>,
    /// The sequence of that; 0 if it is in no order with what lies around it.
    last_sequence: u64,
}

impl StoreTail {
    /// Where a member ends that is there.
    pub(super) fn of(member: &OpenMember, tail: &MemberTail) -> StoreTail {
        let last = tail.last.as_ref();
        // What a repair has put between data or behind it may have any sequence.
        let repaired_slots = member.superblock.repaired_slots;
        let in_order = last.filter(|last| last.place.slot_serial >= repaired_slots);
        StoreTail {
            written_slots_end: tail.written_slots_end,
            last: last.map(|last| last.place),
            last_sequence: in_order.map_or(0, |last| last.sequence),
        }
    }
}

/// The groups of a store, and where to look for them.
pub struct StoreGroups {
    /// The members that are there.
    members: Vec<OpenMember>,
    /// Where each ends.
    tails: Vec<StoreTail>,
    /// Of every member of the store, how it is divided into slots, if that is told.
    geometries: Vec<Option<Geometry>>,
    /// Those of them that were retired, or are to be.
    retired: BTreeSet<usize>,
    machines: Vec<SharedMachine>,
    clock: Clock,
    found: Mutex<Option<Arc<FoundGroups>>>,
    /// By the member's place in the table: the appends that were computed because they are not on
    /// it as they were recorded, and their lengths.
    restored: Mutex<BTreeMap<usize, BTreeMap<AppendPlace, u32>>>,
}

impl StoreGroups {
    /// The groups on these members, of which the tails are given. `table` is the superblock that
    /// tells most of the store.
    pub(crate) fn of(
        members: &[OpenMember],
        tails: Vec<StoreTail>,
        table: &Superblock,
        (machines, clock): (&[SharedMachine], &Clock),
    ) -> StoreGroups {
        let told = (0..table.members.len()).map(|index| geometry_of(table, index));
        let mut geometries: Vec<Option<Geometry>> = told.collect();
        for member in members {
            geometries[member.index()] = Some(member.superblock.geometry);
        }
        StoreGroups {
            members: members.to_vec(),
            tails,
            geometries,
            retired: table.retired.iter().copied().map(usize::from).collect(),
            machines: machines.to_vec(),
            clock: clock.clone(),
            found: Mutex::new(None),
            restored: Mutex::default(),
        }
    }

    /// How a member of the store is divided into slots, if that is told.
    pub(crate) fn geometry(&self, member: usize) -> Option<Geometry> {
        self.geometries.get(member).copied().flatten()
    }

    /// How each member of the store is divided into slots, if that is told, in the order of the
    /// table.
    pub(crate) fn geometries(&self) -> &[Option<Geometry>] {
        &self.geometries
    }

    /// Of each member in the table, the identity that descriptors there carry, if it is known.
    pub(crate) fn identities(&self) -> Vec<Option<AppendIdentity>> {
        let Some(superblock) = self.members.first().map(|member| &member.superblock) else {
            return Vec::new();
        };
        let members = superblock.members.iter().zip(&self.geometries);
        let identity = |(member, geometry): (&Uuid, &Option<Geometry>)| {
            Some(AppendIdentity {
                store: superblock.store,
                member: *member,
                geometry: (*geometry)?,
            })
        };
        members.map(identity).collect()
    }

    /// The place in the table of members of one that is there, by which parts of groups name it.
    pub(crate) fn member_of(&self, source: usize) -> usize {
        self.members[source].index()
    }

    /// The same the other way round; none if it is not there.
    pub(crate) fn source_of(&self, member: usize) -> Option<usize> {
        self.members.iter().position(|one| one.index() == member)
    }

    /// Whether slots of a member that is there were written more than once.
    pub(crate) fn has_gone_round(&self, source: usize) -> bool {
        let slot_count = self.members[source].superblock.geometry.slot_count;
        self.tails[source].written_slots_end > slot_count
    }

    /// The groups. The first time, the members are looked through for them, and `why` says in words
    /// what for, if that takes long. Simulated machines may have nothing in flight then.
    ///
    /// # Errors
    /// If the members cannot be driven. What cannot be read on them counts as empty.
    pub(crate) fn find(&self, why: &str) -> Result<Arc<FoundGroups>, RecordError> {
        let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = &*found {
            return Ok(Arc::clone(found));
        }
        let looked_at = Arc::new(self.look(why, None)?);
        *found = Some(Arc::clone(&looked_at));
        Ok(looked_at)
    }

    /// The groups of which parity came behind this sequence, and some others: all that tell of
    /// appends behind it. Only the slots are looked through in which that can be.
    ///
    /// # Errors
    /// The same as of [`StoreGroups::find`].
    pub(crate) fn find_behind(&self, sequence: u64, why: &str) -> Result<FoundGroups, RecordError> {
        self.look(why, Some(sequence))
    }

    /// Access to the members that are there, in the order by which parts of groups name them.
    ///
    /// # Errors
    /// If they cannot be driven.
    pub(crate) fn io(&self) -> Result<MemberIo, RecordError> {
        access::io(&self.members, Mode::Read, &self.machines, &self.clock)
    }

    /// Notes that an append was computed of a member that is there.
    pub(crate) fn note_restored(&self, member: usize, place: AppendPlace, append_bytes: u32) {
        let mut restored = self.restored.lock().unwrap_or_else(PoisonError::into_inner);
        let of_member = restored.entry(member).or_default();
        if of_member.len() < RESTORED_MAX {
            of_member.insert(place, append_bytes);
        }
    }

    /// What was computed of members that are there, in words for the user.
    pub(super) fn restored_notes(&self) -> Vec<String> {
        let restored = self.restored.lock().unwrap_or_else(PoisonError::into_inner);
        let note = |(index, appends): (&usize, &BTreeMap<AppendPlace, u32>)| {
            let mut members = self.members.iter();
            let member = members.find(|member| member.index() == *index)?;
            let size = Size(appends.values().map(|bytes| u64::from(*bytes)).sum());
            let appends = match appends.len() {
                1 => "1 append".to_owned(),
                RESTORED_MAX => format!("at least {RESTORED_MAX} appends"),
                count => format!("{count} appends"),
            };
            Some(format!(
                "{}: {appends} ({size}) could not be read there or had been damaged. Nothing of \
                 that is lost: it was computed by parity",
                member.name
            ))
        };
        restored.iter().filter_map(note).collect()
    }

    /// The groups, if they were looked for before.
    pub(crate) fn known(&self) -> Option<Arc<FoundGroups>> {
        let found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        found.clone()
    }

    fn look(&self, why: &str, behind_sequence: Option<u64>) -> Result<FoundGroups, RecordError> {
        let mut scanned: Vec<ScannedMember> = self
            .members
            .iter()
            .zip(&self.tails)
            .map(|(member, tail)| ScannedMember {
                identity: member.identity(),
                index: member.index(),
                written_slots_end: tail.written_slots_end,
                from_slot: 0,
                first_recording: member.superblock.first_recording,
                repaired_slots: member.superblock.repaired_slots,
                pins: member
                    .superblock
                    .pins
                    .iter()
                    .copied()
                    .filter(Pin::is_set)
                    .collect(),
            })
            .collect();
        let mut io = self.io()?;
        if let Some(sequence) = behind_sequence {
            begin_behind(&mut io, &mut scanned, sequence)?;
        }
        let mut found = scan(&mut io, &scanned, &self.clock, why)?;
        let identities = self.members.iter().map(OpenMember::identity);
        let identities: Vec<AppendIdentity> = identities.collect();
        let torn = leave_out_torn(&mut io, &identities, &mut found)?;
        note_absences(&mut io, &identities, &mut found)?;
        let mut shape = StoreShape {
            geometries: self.geometries.clone(),
            there: vec![None; self.geometries.len()],
            retired: self.retired.clone(),
        };
        let generation = |member: &OpenMember| member.superblock.generation;
        let newest_generation = self.members.iter().map(generation).max();
        for (source, member) in self.members.iter().enumerate() {
            shape.there[member.index()] = Some(MemberThere {
                source,
                serials: &found.serials[source],
                gone: &found.gone[source],
                torn: &torn[source],
                last: self.tails[source].last,
                last_sequence: self.tails[source].last_sequence,
                is_old: Some(generation(member)) < newest_generation,
            });
        }
        let own = OwnAppends::of_old((&found.parities, &found.data), &found.marks, &shape);
        let mut groups = grouped((found.parities, found.data), &shape);
        let named = groups.listed().flat_map(|(_, group)| &group.list.entries);
        groups.displaced = own.displaced_in(named, &shape);
        groups.marks = found.marks;
        groups.overwritten = found.overwritten;
        Ok(groups)
    }
}

impl fmt::Debug for StoreGroups {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("StoreGroups")
            .field("members", &self.members.len())
            .finish_non_exhaustive()
    }
}

/// How a member is divided into slots of which a superblock of another one tells how many it has.
fn geometry_of(table: &Superblock, index: usize) -> Option<Geometry> {
    let slot_count = *table.slot_counts.get(index)?;
    let slot_bytes = table.geometry.slot_bytes;
    let smallest_bytes = Geometry::member_bytes_min(slot_bytes);
    let smallest = Geometry::of_member(smallest_bytes, slot_bytes).ok()?;
    let further_slots = slot_count.checked_sub(smallest.slot_count)?;
    let member_bytes = further_slots
        .checked_mul(u64::from(slot_bytes))
        .and_then(|bytes| bytes.checked_add(smallest_bytes))?;
    let geometry = Geometry::of_member(member_bytes, slot_bytes).ok();
    geometry.filter(|geometry| geometry.slot_count == slot_count)
}
