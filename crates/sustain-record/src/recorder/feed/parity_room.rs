//! Whether the parity of all that is open or waits will find its places when members are nearly
//! full. Data is only taken as far as that is so.

use super::RecordFeed;
use crate::recorder::inlet::Inlet;
use crate::recorder::member::{MemberState, MemberWriter};
use crate::recorder::parity::{OUTSTANDING_GROUPS_MAX, Protection};

/// A set of members, a bit for each.
type MemberSet = u128;

/// A group of which parity is still to be placed.
#[derive(Debug, Clone, Copy)]
struct OutstandingGroup {
    group: u64,
    /// The members that have nothing of it, and take parity.
    outside: MemberSet,
    /// How many appends of parity are to come.
    parities: u32,
}

/// The parity that is still to be placed, and the room for it.
pub(super) struct ParityRoom<'a> {
    protection: &'a Protection,
    takers: MemberSet,
    /// What a group that is begun now is to have.
    parities: u32,
    pub(super) places: ParityPlaces,
}

/// The same, apart from the groups.
pub(super) struct ParityPlaces {
    /// How many appends of parity fit on each member.
    rooms: Vec<u64>,
    /// None if there is room for more than there can ever be.
    outstanding: Option<Vec<OutstandingGroup>>,
}

impl<I: Inlet> RecordFeed<I> {
    /// The room for parity where a group that is begun has so much, if there is anything to be
    /// looked at: a ring has enough, and where a member has failed or is slow, data goes on as it
    /// can.
    pub(super) fn parity_room(&self, parities: usize) -> Option<ParityRoom<'_>> {
        let protection = self.protection.as_ref().filter(|_| !self.setup.ring)?;
        let answers = |member: &MemberWriter| member.works() && !member.is_slow;
        // Where nothing is outstanding, waiting changes nothing: members are so small that they
        // keep little for parity.
        let is_any = protection.groups.open().next().is_some() || !protection.waiting.is_empty();
        if !is_any || !self.members.iter().all(answers) {
            return None;
        }
        let bytes = protection.setup.parity_bytes();
        let rooms = self.members.iter().map(|member| {
            let takes = member.state == MemberState::Active && !member.setup.is_left_alone;
            if takes {
                member.parity_that_fits(bytes)
            } else {
                0
            }
        });
        let rooms: Vec<u64> = rooms.collect();
        Some(ParityRoom::new(protection, rooms, parities as u32))
    }
}

impl<'a> ParityRoom<'a> {
    fn new(protection: &'a Protection, rooms: Vec<u64>, parities: u32) -> ParityRoom<'a> {
        let with_room = rooms.iter().enumerate().filter(|(_, room)| **room > 0);
        let takers = with_room.fold(0, |set, (member, _)| set | only(member));
        let most = OUTSTANDING_GROUPS_MAX * protection.setup.parities as u64;
        let is_ample = rooms.iter().all(|room| *room == 0 || *room > most);
        let mut room = ParityRoom {
            protection,
            takers,
            parities,
            places: ParityPlaces {
                rooms,
                outstanding: None,
            },
        };
        if !is_ample {
            room.places.outstanding = Some(room.all_outstanding());
        }
        room
    }

    /// Whether all parity finds a place if an append is placed on this member and joins the group,
    /// or begins one.
    pub(super) fn allows(&self, queue: usize, joined: Option<u64>) -> bool {
        let own = match joined {
            Some(group) => OutstandingGroup {
                group,
                outside: self.outside_of(group) & !only(queue),
                parities: self.parities_of(group),
            },
            None => OutstandingGroup {
                group: u64::MAX,
                outside: self.takers & !only(queue),
                parities: self.parities,
            },
        };
        if !own.has_members() {
            return false;
        }
        let Some(outstanding) = &self.places.outstanding else {
            return true;
        };
        let mut rooms = self.places.rooms.clone();
        rooms[queue] = rooms[queue].saturating_sub(1);
        let others = outstanding
            .iter()
            .filter(|one| one.group != own.group && one.has_members());
        let all: Vec<OutstandingGroup> = others.copied().chain([own]).collect();
        have_places(&all, &rooms)
    }

    fn all_outstanding(&self) -> Vec<OutstandingGroup> {
        let open = self.protection.groups.open().map(|group| OutstandingGroup {
            group,
            outside: self.outside_of(group),
            parities: self.parities_of(group),
        });
        let mut all: Vec<OutstandingGroup> = open.collect();
        for parity in &self.protection.waiting {
            match all.iter_mut().find(|one| one.group == parity.group) {
                Some(one) => one.parities += 1,
                None => all.push(OutstandingGroup {
                    group: parity.group,
                    outside: self.outside_of(parity.group),
                    parities: 1,
                }),
            }
        }
        all
    }

    fn outside_of(&self, group: u64) -> MemberSet {
        let members =
            (0..self.places.rooms.len()).filter(|member| self.takers & only(*member) != 0);
        let outside = members.filter(|one| !self.protection.groups.has_part_on(group, *one));
        outside.fold(0, |set, member| set | only(member))
    }

    /// How many appends of parity an open group is to have.
    fn parities_of(&self, group: u64) -> u32 {
        let sums = self.protection.sums.get(&group);
        sums.map_or(self.parities, |sums| sums.count() as u32)
    }
}

impl ParityPlaces {
    /// Whether a member is to be left to the parity of other groups: with parity of this one there,
    /// some would find no place any more, and this one may have another member that leaves them
    /// theirs.
    pub(super) fn is_reserved(&self, member: usize, group: u64) -> bool {
        let outstanding = self.outstanding.iter().flatten();
        let Some(own) = outstanding.clone().find(|one| one.group == group) else {
            return false;
        };
        let others = outstanding.filter(|one| one.group != group && one.has_members());
        let others: Vec<OutstandingGroup> = others.copied().collect();
        let leaves_places = |member: usize| {
            let mut rooms = self.rooms.clone();
            rooms[member] = rooms[member].saturating_sub(1);
            let rest = OutstandingGroup {
                outside: own.outside & !only(member),
                parities: own.parities.saturating_sub(1),
                ..*own
            };
            let rest = Some(rest).filter(|rest| rest.parities > 0 && rest.has_members());
            let all: Vec<OutstandingGroup> = others.iter().copied().chain(rest).collect();
            have_places(&all, &rooms)
        };
        let outside = (0..self.rooms.len()).filter(|one| own.outside & only(*one) != 0);
        let mut elsewhere = outside.filter(|one| *one != member);
        !leaves_places(member) && elsewhere.any(leaves_places)
    }
}

impl OutstandingGroup {
    /// Whether there are members for all that is to come. Where they are too few, waiting helps
    /// nothing.
    fn has_members(&self) -> bool {
        self.outside.count_ones() >= self.parities
    }
}

fn only(member: usize) -> MemberSet {
    1 << member
}

/// Whether members with so much room can take all parity. Each takes one append of a group at most,
/// so of some groups it takes no more than there are among them that have nothing on it yet. This
/// is asked of the groups that have no other members outside than one of them, or than all
/// together. Others that share members in other ways may lack places all the same.
fn have_places(outstanding: &[OutstandingGroup], rooms: &[u64]) -> bool {
    let all = outstanding.iter().fold(0, |all, one| all | one.outside);
    let sets = outstanding.iter().map(|one| one.outside).chain([all]);
    let mut sets: Vec<MemberSet> = sets.collect();
    sets.sort_unstable();
    sets.dedup();
    sets.into_iter().all(|set| {
        let within = || outstanding.iter().filter(|one| one.outside & !set == 0);
        let wanted: u64 = within().map(|one| u64::from(one.parities)).sum();
        let places = rooms.iter().enumerate().map(|(member, room)| {
            let groups = within().filter(|one| one.outside & only(member) != 0);
            (*room).min(groups.count() as u64)
        });
        places.sum::<u64>() >= wanted
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether groups with these members outside, each with so much parity to come, have places.
    fn fit(groups: &[(&[usize], u32)], rooms: &[u64]) -> bool {
        let outstanding = groups.iter().map(|(outside, parities)| OutstandingGroup {
            group: 1,
            outside: outside.iter().fold(0, |set, member| set | only(*member)),
            parities: *parities,
        });
        have_places(&outstanding.collect::<Vec<_>>(), rooms)
    }

    #[test]
    fn groups_that_have_one_member_left_need_as_much_room_there() {
        let one: (&[usize], u32) = (&[2], 1);
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
    fn a_member_gives_groups_that_have_something_on_it_no_place() {
        let of_first: (&[usize], u32) = (&[0], 1);
        let of_both: (&[usize], u32) = (&[0, 1], 1);
        assert!(fit(&[of_first, of_first, of_both], &[2, 1]));
        assert!(!fit(&[of_first, of_first, of_both, of_both], &[2, 1]));
        assert!(!fit(&[of_first, of_first, of_both], &[1, 9]));
    }

    #[test]
    fn groups_that_share_members_in_pairs_need_room_for_all_together() {
        let pairs: [(&[usize], u32); 3] = [(&[0, 1], 1), (&[1, 2], 1), (&[0, 2], 1)];
        assert!(fit(&pairs, &[1, 1, 1]));
        assert!(!fit(&pairs, &[1, 1, 0]));
    }

    /// Whether a member with so much room is left to others by the parity of the last group.
    fn reserved(groups: &[&[usize]], rooms: &[u64]) -> Vec<bool> {
        let outstanding = (0..).zip(groups).map(|(group, outside)| OutstandingGroup {
            group,
            outside: outside.iter().fold(0, |set, member| set | only(*member)),
            parities: 1,
        });
        let places = ParityPlaces {
            rooms: rooms.to_vec(),
            outstanding: Some(outstanding.collect()),
        };
        let last = groups.len() as u64 - 1;
        let members = (0..rooms.len()).map(|member| places.is_reserved(member, last));
        members.collect()
    }

    #[test]
    fn parity_that_has_another_member_leaves_those_to_groups_that_have_no_other() {
        let pair: &[usize] = &[0, 1];
        let three: &[usize] = &[0, 1, 2];
        let of_pairs = |rooms: &[u64]| reserved(&[pair, pair, pair, three], rooms);
        assert_eq!(of_pairs(&[2, 1, 9]), [true, true, false]);
        assert_eq!(of_pairs(&[2, 2, 9]), [false; 3]);
        // Nothing is won by waiting where no member leaves the others their places.
        assert_eq!(of_pairs(&[1, 1, 9]), [false; 3]);
        assert_eq!(reserved(&[pair, pair, pair], &[2, 1]), [false; 2]);
        // A group that lacks members anyway reserves nothing.
        assert_eq!(
            reserved(&[&[], pair, three], &[1, 0, 9]),
            [true, false, false]
        );
    }

    #[test]
    fn nothing_that_is_outstanding_needs_no_room() {
        assert!(fit(&[], &[0, 0]));
        assert!(!fit(&[(&[], 1)], &[9, 9]));
    }
}
