//! The superblocks of the members that work say which ones are behind, before what those lack is
//! told to be durable. After a power cut nothing else tells it from what the power cut took, if
//! they are there again.
//!
//! A member is behind when it has failed, and while it keeps what it was given for long. What waits
//! on such a slow one is durable where it can be computed, so that the others need not wait for it.

use std::collections::BTreeSet;

use sustain_disk::clock::Timestamp;

use super::RecordFeed;
use crate::recorder::inlet::Inlet;
use crate::recorder::member::{MemberState, MemberWriter};

/// A member that has caught up is not hedged again for so long: each time, the superblocks of all
/// others are written twice.
const HEDGE_AGAIN_NS: u64 = 10_000_000_000;

impl<I: Inlet> RecordFeed<I> {
    /// Hedges a member that stands still, until it has caught up.
    pub(super) fn hedge(&mut self, queue: usize, now: Timestamp) {
        let member = &self.members[queue];
        let stands_still = member.works() && (member.is_slow || self.stands_still(queue, now));
        let Some(protection) = &mut self.protection else {
            return;
        };
        let is_hedged = protection.groups.is_hedged(queue);
        if stands_still && !is_hedged {
            self.begin_hedge(queue, now);
        } else if is_hedged && !stands_still && !protection.groups.owes(queue) {
            protection.caught_up.insert(queue, now);
            protection.groups.end_hedge(queue);
            self.note_behind();
        }
    }

    /// Waits for a member no longer, unless so many are behind already as parity replaces: then
    /// nothing more can be computed, and all would be behind where the whole machine stood still.
    fn begin_hedge(&mut self, queue: usize, now: Timestamp) {
        let behind = self.behind().len();
        let Some(protection) = &mut self.protection else {
            return;
        };
        let caught_up_at = protection.caught_up.get(&queue);
        let is_too_soon = caught_up_at.is_some_and(|at| now.since_ns(*at) < HEDGE_AGAIN_NS);
        if behind < protection.setup.parities && !is_too_soon {
            // Until the superblocks say so.
            protection.groups.hold();
            let changes = protection.groups.hedge(queue);
            self.take_changes(changes, now);
            self.note_behind();
        }
    }

    /// Whether a member is hedged.
    pub(super) fn is_hedged(&self, queue: usize) -> bool {
        let protection = self.protection.as_ref();
        protection.is_some_and(|one| one.groups.is_hedged(queue))
    }

    /// Begins to write superblocks that say which members are behind, beside those that were so
    /// before this recording, and are given nothing by it: those that it leaves alone, those that
    /// are not there, and those that failed before.
    pub(super) fn note_behind(&mut self) {
        if self.protection.is_none() {
            return;
        }
        let behind = self.behind();
        let given = self.members.iter().filter(|member| {
            let has_failed = member.state == MemberState::Failed;
            !member.setup.is_left_alone && (!has_failed || was_given(member))
        });
        let given: BTreeSet<u16> = given
            .map(|member| member.setup.superblock.member_index)
            .collect();
        let members = self.members.iter_mut();
        for member in members.filter(|one| one.renews_superblock()) {
            let mut superblock = member.superblock_to_be().clone();
            let before = superblock.behind.difference(&given);
            let behind: BTreeSet<u16> = before.chain(&behind).copied().collect();
            if superblock.behind == behind {
                continue;
            }
            superblock.behind = behind;
            member.renew_superblock(superblock);
        }
        let is_told = self.do_all_tell_who_is_behind();
        if let Some(protection) = self.protection.as_mut().filter(|_| !is_told) {
            protection.groups.hold();
        }
        self.has_changed = true;
    }

    /// The members that are behind, by their places in the table.
    fn behind(&self) -> BTreeSet<u16> {
        let members = self.members.iter().enumerate();
        let behind = members.filter(|(queue, member)| {
            let has_failed = member.state == MemberState::Failed && was_given(member);
            has_failed || member.works() && self.is_hedged(*queue)
        });
        behind
            .map(|(_, member)| member.setup.superblock.member_index)
            .collect()
    }

    /// Whether the superblocks of all members that answer, and of one at least, say who is behind.
    /// If none is left, none can.
    fn do_all_tell_who_is_behind(&self) -> bool {
        let behind = self.behind();
        let members = self.members.iter();
        let mut left = members
            .filter(|member| member.renews_superblock())
            .peekable();
        if behind.is_empty() || left.peek().is_none() {
            return true;
        }
        // One that is being renewed may have a newer one already that does not say so.
        let is_told = |member: &MemberWriter| {
            member.renewing.is_none() && behind.is_subset(&member.setup.superblock.behind)
        };
        let (told, others): (Vec<&MemberWriter>, Vec<&MemberWriter>) =
            left.partition(|member| is_told(member));
        let is_behind =
            |member: &&MemberWriter| behind.contains(&member.setup.superblock.member_index);
        // What a slow one has is older, and does not count.
        let is_waited_for = |member: &&MemberWriter| !is_behind(member) && !member.is_slow;
        !told.is_empty() && !others.iter().any(is_waited_for)
    }

    /// Tells what was held back, as soon as that may be.
    pub(super) fn see_held(&mut self, now: Timestamp) {
        let is_held = self
            .protection
            .as_ref()
            .is_some_and(|one| one.groups.is_held());
        if !is_held || !self.do_all_tell_who_is_behind() {
            return;
        }
        if let Some(protection) = &mut self.protection {
            let changes = protection.groups.release();
            self.take_changes(changes, now);
        }
    }
}

/// Whether a member was given anything by the recording. One that was left out from its beginning
/// was not.
fn was_given(member: &MemberWriter) -> bool {
    member.previous != member.setup.previous
}
