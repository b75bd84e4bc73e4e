//! The parity of a store: what a recording has by default, and what its superblocks tell of it.

use super::{OpenMember, Store};

impl Store {
    /// Appends of parity that each group of a recording has by default.
    pub fn parities(&self) -> u16 {
        parities_of(&self.members)
    }

    /// What was computed so far because members that are there do not have it as it was recorded,
    /// in words for the user.
    pub fn restored_notes(&self) -> Vec<String> {
        let groups = self
            .members
            .iter()
            .find_map(|member| member.groups.as_ref());
        groups
            .map(|groups| groups.restored_notes())
            .unwrap_or_default()
    }

    /// Notes that a recording with parity is to come. The superblocks tell it when they are renewed
    /// next, and members that are missing later can be read through the others.
    pub(crate) fn note_parity(&mut self) {
        let slot_counts = self.slot_counts();
        for member in &mut self.members {
            member.superblock.slot_counts.clone_from(&slot_counts);
        }
    }

    /// How many slots each member in the table has; 0 where it is not told.
    pub(super) fn slot_counts(&self) -> Vec<u64> {
        // Those of retired members are told by the others.
        let told = self.members.iter().map(|one| &one.superblock.slot_counts);
        let told = told.max_by_key(|counts| counts.len());
        let mut slot_counts = told.cloned().unwrap_or_default();
        slot_counts.resize(self.member_count(), 0);
        for member in &self.members {
            slot_counts[member.index()] = member.superblock.geometry.slot_count;
        }
        slot_counts
    }
}

/// The appends of parity that groups of the store of these members have by default.
pub(super) fn parities_of(members: &[OpenMember]) -> u16 {
    let parities = members.iter().map(|member| member.superblock.parities);
    parities.max().unwrap_or(0)
}
