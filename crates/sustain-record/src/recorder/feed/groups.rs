//! Which group an append joins, how wide groups are, and where they would hold members up.

use sustain_disk::clock::Timestamp;

use super::RecordFeed;
use crate::format::GroupList;
use crate::recorder::inlet::Inlet;
use crate::recorder::member::{MemberState, MemberWriter};
use crate::recorder::parity::{OPEN_GROUPS_MAX, width_at_full_rate};

/// Groups are narrow for so long after they have held up fast members.
const NARROW_NS: u64 = 10_000_000_000;
/// So many appends of parity may wait for members, for each parity of a group. Where more do, they
/// wait for slow ones.
const WAITING_FOR_SLOW_MIN: usize = OPEN_GROUPS_MAX;

/// The group that an append is to join.
#[derive(Debug, Clone, Copy)]
pub(super) struct GroupChoice {
    /// An open one; none if the append begins one.
    pub(super) open: Option<u64>,
    /// How many appends of parity one that begins is to have. The place of the append itself may be
    /// the last one on its member, so that it would be fewer afterwards.
    pub(super) parities: usize,
}

impl GroupChoice {
    /// The group's number, if this is the append that is placed.
    pub(super) fn of(self, sequence: u64) -> u64 {
        self.open.unwrap_or(sequence)
    }
}

impl<I: Inlet> RecordFeed<I> {
    /// How many appends of data a group can have with the members that answer now; 0 if they are
    /// too few for any parity.
    fn group_width(&self, now: Timestamp) -> usize {
        let Some(protection) = &self.protection else {
            return 0;
        };
        let able = self.members_that_take_part(now).count();
        let most = able.saturating_sub(protection.setup.parities);
        // Too few for all parity mirror each append as often as they can.
        most.max(usize::from(able > 1)).min(GroupList::ENTRIES_MAX)
    }

    /// How many appends of parity a group can have with the members that answer now.
    pub(super) fn group_parities(&self, now: Timestamp) -> usize {
        let parities = self.protection.as_ref().map_or(0, |one| one.setup.parities);
        let able = self.members_that_take_part(now).count();
        parities.min(able.saturating_sub(1).max(1))
    }

    fn members_that_take_part(&self, now: Timestamp) -> impl Iterator<Item = &MemberWriter> {
        let members = self.members.iter().enumerate();
        let able = members.filter(move |(index, member)| self.takes_part(*index, member, now));
        able.map(|(_, member)| member)
    }

    /// Whether a member has parts of groups. One that still writes its start has some soon.
    fn takes_part(&self, index: usize, member: &MemberWriter, now: Timestamp) -> bool {
        let takes = self.has_room_in_groups(member);
        takes && !member.is_slow && !self.stands_still(index, now)
    }

    fn has_room_in_groups(&self, member: &MemberWriter) -> bool {
        let append_bytes = self.setup.parity.map_or(0, |parity| parity.append_bytes);
        member.state == MemberState::Active && member.has_room_for_data(append_bytes)
    }

    /// Whether so many members are full that what comes could not be protected any more. Where too
    /// few are left because others have failed, the recording goes on without.
    pub(super) fn lacks_protected_room(&self) -> bool {
        let Some(parity) = self.setup.parity.filter(|_| !self.setup.ring) else {
            return false;
        };
        let members = || self.members.iter();
        let working = members().filter(|member| member.works() && !member.setup.is_left_alone);
        let working = working.count();
        let with_room = members().filter(|member| self.has_room_in_groups(member));
        working > parity.parities && with_room.count() <= parity.parities
    }

    /// Whether data may go to this member: not while it is in all groups that may be open.
    pub(super) fn may_join_group(&self, queue: usize, now: Timestamp) -> bool {
        if self.protection.is_none() {
            return true;
        }
        if self.lacks_protected_room() {
            return false;
        }
        self.group_with_places(queue, now).is_some()
            || self.group_width(now) == 0
            || self.has_member_that_waits(now)
    }

    /// Whether memory for parity may be held up for long. Then data goes on without.
    fn has_member_that_waits(&self, now: Timestamp) -> bool {
        let mut members = self.members.iter().enumerate();
        members.any(|(index, member)| {
            member.works() && (member.is_slow || self.stands_still(index, now))
        })
    }

    /// The group for an append that is placed on this member now; none if it goes without.
    pub(super) fn choose_group(
        &self,
        queue: usize,
        bytes: u32,
        now: Timestamp,
    ) -> Option<GroupChoice> {
        let protection = self.protection.as_ref()?;
        if bytes > protection.setup.append_bytes {
            return None;
        }
        // What may not wait for places joins a group all the same: its parity may find one.
        let chosen = self.group_with_places(queue, now).or_else(|| {
            let open = protection.groups.open_without(queue).next();
            let parities = self.group_parities(now);
            open.map(|group| GroupChoice {
                open: Some(group),
                parities,
            })
        });
        chosen.filter(|chosen| chosen.open.is_some() || self.group_width(now) > 0)
    }

    /// The oldest open group that an append on this member may join, or that it may begin one. The
    /// parity of all groups has places then.
    fn group_with_places(&self, queue: usize, now: Timestamp) -> Option<GroupChoice> {
        let protection = self.protection.as_ref()?;
        let parities = self.group_parities(now);
        let room = self.parity_room(parities);
        let allows = |joined| room.as_ref().is_none_or(|room| room.allows(queue, joined));
        let mut open = protection.groups.open_without(queue);
        if let Some(group) = open.find(|group| allows(Some(*group))) {
            return Some(GroupChoice {
                open: Some(group),
                parities,
            });
        }
        let may_begin = protection.groups.open().count() < OPEN_GROUPS_MAX
            && protection.memory.has(parities)
            && allows(None);
        may_begin.then_some(GroupChoice {
            open: None,
            parities,
        })
    }

    /// Notes where groups hold up fast members: those that could write an append of `bytes`, and
    /// may join no group, because they are in all that are open, or because parity waits for slow
    /// members. For a while then, groups are narrower, and the oldest one closes. That costs room,
    /// and a wide group would go at the pace of its slowest member.
    ///
    /// As many of the fastest members as a group has parities may be held up, because more data
    /// does not fit on the others in the same time (docs/parity.md, "Room and rate").
    pub(super) fn note_held_up(&mut self, bytes: u32, now: Timestamp) {
        let Some(protection) = &self.protection else {
            return;
        };
        let parities = self.group_parities(now);
        let members = self.members.iter().enumerate();
        let held_up = members.filter(|(index, member)| {
            let candidate = member.candidate(bytes, false);
            let has_room = candidate.has_room(u64::from(bytes), self.setup.window);
            has_room && self.may_append(member) && !self.may_join_group(*index, now)
        });
        if held_up.count() <= parities {
            return;
        }
        let may_begin_another = protection.memory.has(parities);
        let mut open = protection.groups.open();
        let oldest = open.next();
        let all_are_open = open.count() + 1 >= OPEN_GROUPS_MAX;
        if let Some(oldest) = oldest.filter(|_| all_are_open && may_begin_another) {
            self.close_group(oldest, now);
        }
        if let Some(protection) = &mut self.protection {
            protection.narrow_until = Some(now + NARROW_NS);
        }
    }

    /// Notes where much parity waits, before it uses up the memory for open groups.
    pub(super) fn note_waiting_parity(&mut self, now: Timestamp) {
        if let Some(protection) = &mut self.protection
            && protection.waiting.len() > WAITING_FOR_SLOW_MIN * protection.setup.parities
        {
            protection.narrow_until = Some(now + NARROW_NS);
        }
    }

    /// How many appends of data groups get on average before they close.
    pub(super) fn wanted_width(&self, now: Timestamp) -> f64 {
        let width_max = self.group_width(now) as f64;
        let narrow = self.protection.as_ref().filter(|protection| {
            let until = protection.narrow_until;
            until.is_some_and(|until| now < until)
        });
        if narrow.is_none() {
            return width_max;
        }
        let able = self.members_that_take_part(now);
        let rates: Vec<f64> = able.map(|member| member.rate.bytes_per_s()).collect();
        width_at_full_rate(&rates, self.group_parities(now)).min(width_max)
    }
}
