//! Gives back what a slot of a store with parity lacks: appends that are damaged, missing or
//! unreadable on a member that is there are computed from the rest of their groups.
//!
//! The groups are not looked for before something is doubtful, because that takes long and most
//! stores are whole.

use std::sync::Arc;

use super::bytes::SharedBytes;
use super::examine::Slot;
use super::merge::CheckedPart;
use super::pump::Pump;
use super::scope::ScopeMember;
use crate::error::RecordError;
use crate::format::{AppendPlace, GroupEntry};
use crate::rebuilt::{FoundGroups, WantedAppend};
use crate::store::StoreGroups;

const WHY: &str = "something is damaged or cannot be read, and is computed by parity";

/// Restores slots of the members of a scope.
pub(super) struct Restorer {
    groups: Arc<StoreGroups>,
    found: Option<Arc<FoundGroups>>,
}

/// A slot of which appends were computed.
pub(super) struct RestoredSlot {
    pub(super) bytes: SharedBytes,
    /// Where they begin in the slot.
    pub(super) at_bytes: Vec<u32>,
}

impl Restorer {
    pub(super) fn new(groups: Arc<StoreGroups>) -> Restorer {
        Restorer {
            found: groups.known(),
            groups,
        }
    }

    /// Computes what a slot lacks, given what was found in it, and its last append, if that is
    /// known from elsewhere. Returns none if it lacks nothing that can be computed.
    pub(super) fn restore(
        &mut self,
        (member, members): (usize, &[ScopeMember]),
        slot: Slot<'_>,
        (appends, told_last): (&[CheckedPart], Option<AppendPlace>),
        pump: &mut Pump,
    ) -> Result<Option<RestoredSlot>, RecordError> {
        let of_scope = &members[member];
        // Of a member that is computed from the others, starts and parity are always missing.
        let has_holes = of_scope.is_there() && has_holes(slot, appends, told_last);
        if !has_holes && appends.iter().all(is_whole) && !self.lacks(of_scope, slot, appends) {
            return Ok(None);
        }
        let found = self.find(pump)?;
        let lost: Vec<(u64, usize)> = found
            .in_slot(of_scope.index, slot.serial)
            .filter(|(id, position)| {
                let group = found.group(*id);
                let entry = group.map(|group| group.list.entries[*position]);
                entry.is_some_and(|entry| !is_found(&entry, appends) && fits(&entry, appends))
            })
            .collect();
        if lost.is_empty() {
            return Ok(None);
        }
        let identities = self.groups.identities();
        let mut bytes = slot.bytes.to_vec();
        let mut at_bytes = Vec::new();
        for (group_id, position) in lost {
            let Some(group) = found.group(group_id) else {
                continue;
            };
            let lost = WantedAppend {
                group_id,
                group,
                position,
                identities: &identities,
            };
            let start = lost.entry().place.slot_offset_bytes;
            let computed = lost.compute(|source, range| {
                let index = self.groups.member_of(source);
                let target = members.iter().position(|member| member.index == index);
                target.map_or(Ok(None), |target| pump.fetch(target, &range))
            })?;
            let into = computed.as_ref().and_then(|computed| {
                bytes.get_mut(start as usize..start as usize + computed.len())
            });
            if let (Some(computed), Some(into)) = (&computed, into) {
                into.copy_from_slice(computed);
                at_bytes.push(start);
                let place = lost.entry().place;
                if of_scope.is_there() {
                    self.groups
                        .note_restored(of_scope.index, place, computed.len() as u32);
                }
            }
        }
        Ok((!at_bytes.is_empty()).then(|| RestoredSlot {
            bytes: SharedBytes::from(bytes),
            at_bytes,
        }))
    }

    /// Whether a member that is not there lacks something in a slot that its groups name: it was
    /// computed from an append that is damaged, and there may be other parity.
    fn lacks(&self, member: &ScopeMember, slot: Slot<'_>, appends: &[CheckedPart]) -> bool {
        let Some(found) = self.found.as_ref().filter(|_| !member.is_there()) else {
            return false;
        };
        let mut named = found.in_slot(member.index, slot.serial);
        named.any(|(id, position)| {
            let group = found.group(id);
            let entry = group.map(|group| group.list.entries[position]);
            entry.is_some_and(|entry| !is_found(&entry, appends))
        })
    }

    fn find(&mut self, pump: &mut Pump) -> Result<Arc<FoundGroups>, RecordError> {
        if let Some(found) = &self.found {
            return Ok(Arc::clone(found));
        }
        pump.settle()?;
        let found = self.groups.find(WHY)?;
        self.found = Some(Arc::clone(&found));
        Ok(found)
    }
}

/// Whether there is room between the appends of a slot for one that was not found. They lie one
/// behind the other.
fn has_holes(slot: Slot<'_>, appends: &[CheckedPart], told_last: Option<AppendPlace>) -> bool {
    let mut end_bytes = 0;
    for append in appends {
        let descriptor = &append.origin.descriptor;
        if descriptor.place.slot_offset_bytes != end_bytes {
            return true;
        }
        end_bytes += descriptor.append_bytes;
    }
    let last = appends.last().map(|last| last.origin.descriptor.place);
    // If nothing tells, the last one may be missing.
    told_last.is_none_or(|told| told.slot_serial == slot.serial && last < Some(told))
}

fn is_found(entry: &GroupEntry, appends: &[CheckedPart]) -> bool {
    let mut appends = appends.iter();
    appends.any(|append| {
        let descriptor = &append.origin.descriptor;
        let is_it = descriptor.place == entry.place && descriptor.sequence == entry.sequence;
        is_it && is_whole(append)
    })
}

/// Whether an append may be missing between those that are whole: on a member, what came later lies
/// farther on. What a power cut has taken may have been written over by a later recording.
fn fits(entry: &GroupEntry, appends: &[CheckedPart]) -> bool {
    let entry_start_bytes = entry.place.slot_offset_bytes;
    let mut whole = appends.iter().filter(|append| is_whole(append));
    whole.all(|append| {
        let descriptor = &append.origin.descriptor;
        let start_bytes = descriptor.place.slot_offset_bytes;
        match descriptor.sequence < entry.sequence {
            true => start_bytes + descriptor.append_bytes <= entry_start_bytes,
            false => entry_start_bytes + entry.append_bytes <= start_bytes,
        }
    })
}

fn is_whole(append: &CheckedPart) -> bool {
    append.damaged.is_empty() && append.origin.sealed && append.origin.marks.is_some()
}
