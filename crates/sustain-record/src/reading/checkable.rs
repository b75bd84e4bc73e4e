//! An open store as those take it who look at all of it.

use sustain_disk::clock::Clock;
use sustain_disk::engine::SharedMachine;

use crate::format::AppendPlace;
use crate::opening::{Recording, durable_end_slot};
use crate::store::{OpenMember, Store};

/// What [`Checkable::gone_ends`] means.
pub(crate) const IS_GONE: &str = "the superblock says that a recording ended in order in this \
     slot, and nothing of that recording is found here";

/// What [`Checkable::unseen_recording`] means.
pub(super) const IS_UNSEEN: &str = "it was begun, and nothing of it is on the members that are \
     here: what it has, if anything, is on those that are missing";

/// An open store to check.
#[derive(Clone, Copy)]
pub struct Checkable<'a> {
    /// Its members that are there.
    pub members: &'a [OpenMember],
    /// All recordings on them.
    pub recordings: &'a [Recording],
    /// The simulated machines of the members, if they are simulated.
    pub machines: &'a [SharedMachine],
    /// The clock of the machines.
    pub clock: &'a Clock,
}

impl<'a> Checkable<'a> {
    /// Takes a store with all its recordings.
    pub fn of(store: &'a Store, recordings: &'a [Recording]) -> Checkable<'a> {
        Checkable {
            members: &store.members,
            recordings,
            machines: store.machines(),
            clock: store.clock(),
        }
    }

    /// The number of the newest recording that was begun on the store, as the superblocks tell, if
    /// nothing of it is found, and a member that may have it is not there. While all members are
    /// there, a crash has ended such a recording before it had anything.
    pub fn unseen_recording(&self) -> Option<u32> {
        let superblocks = self.members.iter().map(|member| &member.superblock);
        let mut counts = superblocks.clone().map(|one| one.members.len());
        if counts.all(|count| count == self.members.len()) {
            return None;
        }
        let begun = superblocks.map(|one| one.recordings_begun).max()?;
        let found = self.recordings.iter().map(|recording| recording.number);
        (begun > found.max().unwrap_or(0)).then_some(begun)
    }

    /// The slots in which a recording ended in order, as the superblocks of their members tell, of
    /// which nothing is left there, be it in that slot or before. What is missing of a recording
    /// that is found is told with it.
    pub(crate) fn gone_ends(&self) -> Vec<(&'a OpenMember, AppendPlace)> {
        let gone_from = |member: &'a OpenMember| {
            let extents = self.recordings.iter();
            let extents =
                extents.filter_map(|one| one.per_member.get(member.index()).copied().flatten());
            let newest = extents.max_by_key(|extent| extent.last);
            let end_slot = durable_end_slot(&member.superblock)?;
            let is_found = newest.is_some_and(|newest| {
                newest.last.slot_serial >= end_slot || newest.lost_end.is_some()
            });
            let place = AppendPlace {
                slot_serial: end_slot,
                slot_offset_bytes: 0,
            };
            (!is_found).then_some((member, place))
        };
        self.members.iter().filter_map(gone_from).collect()
    }

    /// Whether old slots may have been overwritten.
    pub(crate) fn has_laps(&self) -> bool {
        let is_beyond = |member: &OpenMember| {
            member.superblock.slots_begun > member.superblock.geometry.slot_count
        };
        self.recordings.iter().any(|recording| recording.ring) || self.members.iter().any(is_beyond)
    }

    /// The note for the user about [`Checkable::unseen_recording`].
    pub fn unseen_note(&self) -> Option<String> {
        let number = self.unseen_recording()?;
        Some(format!("recording {number}: {IS_UNSEEN}"))
    }
}
