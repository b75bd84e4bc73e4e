//! The superblocks of the members that are left say which ones have failed, before what those lack
//! is told to be durable. After a power cut nothing else tells it from what the power cut took, if
//! they are there again.

use std::collections::BTreeSet;

use sustain_disk::clock::Timestamp;

use super::RecordFeed;
use crate::recorder::inlet::Inlet;
use crate::recorder::member::{MemberState, MemberWriter};
use crate::recorder::parity::{GroupChange, HeldChange};
use crate::recorder::pinning::Renewing;

impl<I: Inlet> RecordFeed<I> {
    /// Begins to write superblocks that say which members have failed.
    pub(super) fn note_failure(&mut self) {
        if self.protection.is_none() {
            return;
        }
        let failed = self.failed_by_table();
        for member in self
            .members
            .iter_mut()
            .filter(|one| one.is_told_of_failures())
        {
            let mut superblock = member.superblock_to_be().clone();
            if failed.is_subset(&superblock.failed) {
                continue;
            }
            superblock.generation = superblock.generation.saturating_add(1);
            superblock.failed.extend(&failed);
            let is_in_flight = member.renewing.as_ref().is_some_and(|one| one.is_in_flight);
            member.renewing = Some(Renewing {
                superblock,
                copies: 0,
                is_in_flight,
                is_outdated: is_in_flight,
            });
        }
        self.has_changed = true;
    }

    /// The members that have failed, by their places in the table.
    fn failed_by_table(&self) -> BTreeSet<u16> {
        let members = self.members.iter();
        let failed = members.filter(|member| member.state == MemberState::Failed);
        failed
            .map(|member| member.setup.superblock.member_index)
            .collect()
    }

    /// Whether the superblocks of all members that answer, and of one at least, say which ones have
    /// failed. If none is left, none can.
    fn is_failure_told(&self) -> bool {
        let failed = self.failed_by_table();
        let members = self.members.iter();
        let mut left = members
            .filter(|member| member.is_told_of_failures())
            .peekable();
        if failed.is_empty() || left.peek().is_none() {
            return true;
        }
        let is_told = |member: &MemberWriter| failed.is_subset(&member.setup.superblock.failed);
        let (told, others): (Vec<&MemberWriter>, Vec<&MemberWriter>) =
            left.partition(|member| is_told(member));
        !told.is_empty() && others.iter().all(|member| member.is_slow)
    }

    /// Holds back what follows for an append, if it may not be told yet. Returns whether it does.
    pub(super) fn holds(&mut self, change: GroupChange) -> bool {
        let (GroupChange::Covered(sequence) | GroupChange::Protected(sequence)) = change else {
            return false;
        };
        if self.is_failure_told() {
            return false;
        }
        let Some(protection) = &mut self.protection else {
            return false;
        };
        if let Some(stretch) = protection.stretches.get(&sequence).copied() {
            protection.held.push(HeldChange { change, stretch });
        }
        true
    }

    /// Tells what was held back, as soon as that may be.
    pub(super) fn see_failures(&mut self, now: Timestamp) {
        let Some(protection) = &self.protection else {
            return;
        };
        if protection.held.is_empty() || !self.is_failure_told() {
            return;
        }
        let held = self
            .protection
            .as_mut()
            .map(|one| std::mem::take(&mut one.held));
        for HeldChange { change, stretch } in held.into_iter().flatten() {
            self.take_change(change, Some(stretch), now);
        }
        self.has_changed = true;
    }
}

impl MemberWriter {
    /// Whether its superblock is to say which members have failed: it is written at all, and its
    /// end mark is not there yet.
    fn is_told_of_failures(&self) -> bool {
        self.works() && !self.setup.is_left_alone
    }
}
