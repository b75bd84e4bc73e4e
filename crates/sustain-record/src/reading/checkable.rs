//! An open store as those take it who look at all of it.

use sustain_disk::clock::Clock;
use sustain_disk::engine::SharedMachine;

use crate::opening::Recording;
use crate::store::{OpenMember, Store};

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

    /// The note for the user about [`Checkable::unseen_recording`].
    pub fn unseen_note(&self) -> Option<String> {
        let number = self.unseen_recording()?;
        Some(format!("recording {number}: {IS_UNSEEN}"))
    }
}
