//! A member of a store that is open: what it is driven by, and what it says of itself.

use sustain_disk::engine::SimulatedTarget;
use sustain_disk::target::Target;

use crate::format::Superblock;
use crate::walk::Identity;

/// A member of a store that is open.
#[derive(Debug, Clone)]
pub struct OpenMember {
    /// As typed; of a simulated disk its name.
    pub name: String,
    /// What is driven.
    pub target: Target,
    /// Which simulated disk it is, if it is one.
    pub simulated: Option<SimulatedTarget>,
    /// What it says of its store and of itself: the newest of its valid copies.
    pub superblock: Superblock,
}

impl OpenMember {
    /// What every descriptor on it must say of itself.
    pub fn identity(&self) -> Identity {
        Identity::of(&self.superblock)
    }

    /// Its place among all members of the store.
    pub fn index(&self) -> usize {
        usize::from(self.superblock.member_index)
    }
}
