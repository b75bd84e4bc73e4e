//! Whether the parity of all that is open or waits will find its places when members are nearly
//! full. Data is only taken as far as that is so.

use super::RecordFeed;
use crate::recorder::inlet::Inlet;
use crate::recorder::member::{MemberState, MemberWriter};
use crate::recorder::parity::{OUTSTANDING_GROUPS_MAX, Protection};

/// A group of which parity is still to be placed.
struct OutstandingGroup {
    /// Whether each member has nothing of it, and takes parity.
    outside: Vec<bool>,
    /// How many appends of parity are to come.
    parities: u64,
}

impl<I: Inlet> RecordFeed<I> {
    /// Whether all parity finds a place if an append is placed on this member and joins the group,
    /// or begins one. Where a member has failed or is slow, data goes on as it can.
    pub(super) fn has_places_with(&self, queue: usize, group: Option<u64>) -> bool {
        let (Some(protection), false) = (&self.protection, self.setup.ring) else {
            return true;
        };
        let answers = |member: &MemberWriter| member.works() && !member.is_slow;
        if !self.members.iter().all(answers) {
            return true;
        }
        // Then waiting changes nothing: members are so small that they keep little for parity.
        if protection.groups.open().next().is_none() && protection.waiting.is_empty() {
            return true;
        }
        let bytes = protection.setup.parity_bytes();
        let takes = |member: &MemberWriter| {
            member.state == MemberState::Active && !member.setup.is_left_alone
        };
        let rooms = self.members.iter().map(|member| match takes(member) {
            true => member.parity_that_fits(bytes),
            false => 0,
        });
        let mut rooms: Vec<u64> = rooms.collect();
        if rooms.iter().all(|room| *room > OUTSTANDING_GROUPS_MAX) {
            return true;
        }
        rooms[queue] = rooms[queue].saturating_sub(1);
        let takers: Vec<bool> = self.members.iter().map(takes).collect();
        let outstanding = outstanding(protection, (queue, group), &takers);
        have_places(&outstanding, &rooms)
    }
}

/// The groups of which parity is still to be placed when an append on this member has joined one.
fn outstanding(
    protection: &Protection,
    (queue, joined): (usize, Option<u64>),
    takers: &[bool],
) -> Vec<OutstandingGroup> {
    let groups = &protection.groups;
    let outside_of = |id: u64| {
        let members = takers.iter().enumerate();
        members.map(move |(member, takes)| {
            *takes
                && !groups.has_part_on(id, member)
                && (member != queue || joined.is_none_or(|joined| joined != id))
        })
    };
    let parities = protection.setup.parities as u64;
    let begun = joined.is_none().then(|| OutstandingGroup {
        outside: takers
            .iter()
            .enumerate()
            .map(|(member, takes)| *takes && member != queue)
            .collect(),
        parities,
    });
    let open = groups.open().map(|id| OutstandingGroup {
        outside: outside_of(id).collect(),
        parities,
    });
    let waiting = protection.waiting.iter().map(|parity| OutstandingGroup {
        outside: outside_of(parity.group).collect(),
        parities: 1,
    });
    begun.into_iter().chain(open).chain(waiting).collect()
}

/// Whether members with so much room can take all parity: of the groups that have no other members
/// than those outside one of them, each member takes one append of each at most.
fn have_places(outstanding: &[OutstandingGroup], rooms: &[u64]) -> bool {
    outstanding.iter().all(|one| {
        let is_within = |other: &&OutstandingGroup| {
            let mut both = other.outside.iter().zip(&one.outside);
            both.all(|(other, one)| *one || !*other)
        };
        let within = outstanding.iter().filter(is_within);
        let (count, wanted) = within.fold((0, 0), |(count, wanted), other| {
            (count + 1, wanted + other.parities)
        });
        let members = one.outside.iter().zip(rooms);
        let places = members.map(|(is_outside, room)| match is_outside {
            true => (*room).min(count),
            false => 0,
        });
        places.sum::<u64>() >= wanted
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether groups with these members outside, each with so much parity to come, have places.
    fn fit(groups: &[(&[usize], u64)], rooms: &[u64]) -> bool {
        let outstanding = groups.iter().map(|(outside, parities)| OutstandingGroup {
            outside: (0..rooms.len()).map(|one| outside.contains(&one)).collect(),
            parities: *parities,
        });
        have_places(&outstanding.collect::<Vec<_>>(), rooms)
    }

    #[test]
    fn groups_that_have_one_member_left_need_as_much_room_there() {
        let one: (&[usize], u64) = (&[2], 1);
        assert!(fit(&[one, one], &[0, 0, 2]));
        assert!(!fit(&[one, one, one], &[9, 9, 2]));
        // Others that may go elsewhere do not count with them.
        assert!(fit(&[one, one, (&[0, 2], 1)], &[1, 0, 2]));
        assert!(!fit(&[one, one, (&[0, 2], 1)], &[0, 9, 2]));
    }

    #[test]
    fn each_append_of_parity_of_a_group_needs_a_member_of_its_own() {
        assert!(fit(&[(&[0, 1], 2)], &[1, 1, 0]));
        assert!(!fit(&[(&[0, 1], 2)], &[5, 0, 0]));
        assert!(fit(&[(&[0, 1, 2], 2), (&[0, 1, 2], 2)], &[2, 1, 1]));
        assert!(!fit(&[(&[0, 1, 2], 2), (&[0, 1, 2], 2)], &[3, 1, 0]));
    }

    #[test]
    fn nothing_that_is_outstanding_needs_no_room() {
        assert!(fit(&[], &[0, 0]));
        assert!(!fit(&[(&[], 1)], &[9, 9]));
    }
}
