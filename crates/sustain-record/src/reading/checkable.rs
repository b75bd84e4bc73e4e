//! An open store as those take it who look at all of it.

use sustain_disk::clock::Clock;
use sustain_disk::engine::SharedMachine;

use crate::opening::Recording;
use crate::store::{OpenMember, Store};

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
}
