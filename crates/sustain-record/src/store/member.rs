//! A member of an open store: the target that drives it, and its superblock.

use std::sync::Arc;

use sustain_disk::engine::SimulatedTarget;
use sustain_disk::target::{Passthrough, Target};

use super::groups::StoreGroups;
use crate::format::{BLOCK_BYTES, Superblock};
use crate::rebuilt::{DrivenMember, RebuiltMember};
use crate::walk::AppendIdentity;

/// A member of an open store.
#[derive(Debug, Clone)]
pub struct OpenMember {
    /// The name as typed, or the name of a simulated disk.
    pub name: String,
    /// The target that reads and writes the member.
    pub target: Target,
    /// The simulated disk, if the member is one.
    pub simulated: Option<SimulatedTarget>,
    /// The way past the block layer, if the recorder is to take it.
    pub passthrough: Option<Passthrough>,
    /// The newest of its valid superblocks, which describes the store and this member.
    pub superblock: Superblock,
    /// What is computed of the member from the others: all of it, if it is not there, or what it
    /// lacks. Then it can only be read. If it is not there, its target has no file, and its
    /// superblock is made up.
    pub rebuilt: Option<Arc<RebuiltMember>>,
    /// The groups of a store with parity that was opened for reading: what members lack is computed
    /// by them.
    pub groups: Option<Arc<StoreGroups>>,
}

impl OpenMember {
    /// The identity that every descriptor on this member must carry.
    pub fn identity(&self) -> AppendIdentity {
        AppendIdentity::of(&self.superblock)
    }

    /// Whether it is there, and not only computed from the others.
    pub fn is_there(&self) -> bool {
        self.rebuilt
            .as_ref()
            .is_none_or(|rebuilt| rebuilt.is_there())
    }

    /// Whether what it has in a slot was computed from other members, now or when it was repaired.
    /// Then it may lack marks and parity there.
    pub(crate) fn is_computed_at(&self, slot_serial: u64) -> bool {
        let rebuilt = self.rebuilt.as_ref();
        rebuilt.is_some_and(|rebuilt| rebuilt.may_compute_in(slot_serial))
            || slot_serial < self.superblock.repaired_slots
    }

    /// The member, as an engine drives it.
    pub(crate) fn driven(&self) -> DrivenMember<'_> {
        DrivenMember {
            member: self.index(),
            target: &self.target,
            simulated: self.simulated,
            rebuilt: self.rebuilt.as_ref(),
        }
    }

    /// Its place among all members of the store.
    pub fn index(&self) -> usize {
        usize::from(self.superblock.member_index)
    }
}

/// Whether a member that needs offsets and lengths in multiples of `alignment_bytes` can be driven
/// in blocks.
pub(super) fn takes_blocks(alignment_bytes: u32) -> bool {
    (BLOCK_BYTES as u32).is_multiple_of(alignment_bytes.max(1))
}
