//! The tables of pins on the members of one store, compared. They are written one after the other,
//! and a member may be an earlier state that was put back. It is pure.

use crate::format::{PINS_MAX, Pin, Superblock};

/// A change of pins is on all members before the next one begins. So a member that a crash has kept
/// from the last one is one generation behind the others, and one that is further behind is an
/// earlier state.
const CRASH_GENERATIONS: u64 = 1;

/// What a pin that is set on some member is, by all of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum PinStanding {
    /// It is set. These members are too old to know of it.
    Set { unknown_on: Vec<usize> },
    /// It was freed, or a crash came before it was set on all members.
    Freed,
    /// One or the other: these members lack it, and may have been cut off by a crash while it was
    /// being set, or be too old to know of it.
    Doubtful { unknown_on: Vec<usize> },
}

/// What has become of a pin. A freed one is never set again, and the newest members tell.
pub(super) fn standing(superblocks: &[&Superblock], pin: &Pin) -> PinStanding {
    let on_member = |superblock: &Superblock| {
        let mut pins = superblock.pins.iter();
        pins.find(|other| is_same(other, pin)).copied()
    };
    let entries: Vec<Option<Pin>> = superblocks.iter().map(|one| on_member(one)).collect();
    let holders = superblocks.iter().zip(&entries);
    let holders = holders.filter(|(_, entry)| entry.is_some());
    let holders: Vec<&Superblock> = holders.map(|(one, _)| *one).collect();
    let known_until = holders.iter().map(|one| one.generation).max().unwrap_or(0);
    let unknown_on: Vec<usize> = (0..entries.len())
        .filter(|index| entries[*index].is_none())
        .collect();
    let is_forgotten = |index: &usize| superblocks[*index].generation > known_until;
    let is_old = |index: &usize| {
        let own = superblocks[*index];
        // Of one that was slow or has failed, the others may have told that before and since.
        let was_behind = own.behind.contains(&own.member_index);
        // A pin may be set when it has failed.
        is_told_behind(&holders, own)
            || known_until.saturating_sub(own.generation) > CRASH_GENERATIONS && !was_behind
    };
    let is_freed = entries.iter().flatten().any(|entry| !entry.is_set());
    if is_freed || unknown_on.iter().any(is_forgotten) {
        PinStanding::Freed
    } else if unknown_on.iter().all(is_old) {
        PinStanding::Set { unknown_on }
    } else {
        PinStanding::Doubtful { unknown_on }
    }
}

/// Whether members of a newer generation say that this one may lack what they have.
fn is_told_behind(newer: &[&Superblock], own: &Superblock) -> bool {
    newer
        .iter()
        .any(|one| one.generation > own.generation && one.behind.contains(&own.member_index))
}

/// All pins that are set on some member, each once, by their numbers.
pub(super) fn set_somewhere(superblocks: &[&Superblock]) -> Vec<Pin> {
    let mut pins: Vec<Pin> = Vec::new();
    for pin in superblocks.iter().flat_map(|one| &one.pins) {
        if pin.is_set() && !pins.iter().any(|known| is_same(known, pin)) {
            pins.push(*pin);
        }
    }
    pins.sort_by_key(|pin| pin.number);
    pins
}

/// The pins of which some member tells the end, with that end.
pub(super) fn ended_somewhere(superblocks: &[&Superblock]) -> Vec<Pin> {
    let pins = superblocks.iter().flat_map(|one| &one.pins);
    let ended = pins.filter(|pin| pin.end_slot.is_some());
    ended.copied().collect()
}

/// Whether two members tell of the same pin. Before numbers were kept, one of a pin that had been
/// freed could be given again.
pub(super) fn is_same(one: &Pin, other: &Pin) -> bool {
    let named = |pin: &Pin| (pin.number, pin.from_time_ns, pin.to_time_ns);
    named(one) == named(other)
}

/// Whether a table can take a further pin of this number.
pub(super) fn has_place_for(pins: &[Pin], number: u32) -> bool {
    pins.len() < PINS_MAX && pins.iter().all(|pin| pin.number != number)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::opening::tests::image::Image;

    const PIN: Pin = Pin {
        number: 3,
        from_slot: 2,
        end_slot: None,
        end_sequence: 0,
        told_sequence: 0,
        freed_slot: None,
        from_time_ns: 10,
        to_time_ns: 20,
    };
    const FREED: Pin = Pin {
        freed_slot: Some(9),
        ..PIN
    };

    /// What has become of the pin, by the generations and tables of two members.
    fn told(members: [(u64, &[Pin]); 2]) -> PinStanding {
        let image = Image::new(&[1 << 20, 1 << 20], 64 << 10);
        let superblocks = [0, 1].map(|index| Superblock {
            generation: members[index].0,
            pins: members[index].1.to_vec(),
            ..image.members[index].superblock.clone()
        });
        standing(&[&superblocks[0], &superblocks[1]], &PIN)
    }

    #[test]
    fn the_newest_members_tell_whether_a_pin_is_set() {
        let set = |unknown_on: &[usize]| PinStanding::Set {
            unknown_on: unknown_on.to_vec(),
        };
        let other = Pin {
            from_time_ns: 11,
            ..PIN
        };
        for (members, expected) in [
            ([(5, &[PIN][..]), (5, &[PIN][..])], set(&[])),
            // A member that has failed before is behind, and has the pin all the same.
            ([(9, &[PIN]), (5, &[PIN])], set(&[])),
            ([(5, &[]), (7, &[PIN])], set(&[0])),
            ([(7, &[PIN]), (5, &[other])], set(&[1])),
            (
                [(6, &[PIN]), (5, &[])],
                PinStanding::Doubtful {
                    unknown_on: vec![1],
                },
            ),
            ([(6, &[FREED]), (5, &[PIN])], PinStanding::Freed),
            ([(5, &[FREED]), (6, &[PIN])], PinStanding::Freed),
            ([(6, &[]), (5, &[PIN])], PinStanding::Freed),
            ([(9, &[]), (5, &[PIN])], PinStanding::Freed),
        ] {
            assert_eq!(told(members), expected, "{members:?}");
        }
    }

    /// The others may have told that it was slow before they had the pin, and once more since.
    #[test]
    fn a_member_that_was_behind_is_not_called_old_by_its_generation() {
        let image = Image::new(&[1 << 20, 1 << 20], 64 << 10);
        let slow = image.members[1].superblock.clone();
        let told = Superblock {
            generation: slow.generation + 2,
            pins: vec![PIN],
            ..image.members[0].superblock.clone()
        };
        let unknown_on = vec![1];
        let old = PinStanding::Set {
            unknown_on: unknown_on.clone(),
        };
        assert_eq!(standing(&[&told, &slow], &PIN), old);
        let slow = Superblock {
            behind: [slow.member_index].into(),
            ..slow
        };
        let doubtful = PinStanding::Doubtful { unknown_on };
        assert_eq!(standing(&[&told, &slow], &PIN), doubtful);
    }

    /// One generation is no more than a crash leaves, but the other member says that it had failed.
    #[test]
    fn a_pin_is_set_beside_a_member_that_had_failed() {
        let image = Image::new(&[1 << 20, 1 << 20], 64 << 10);
        let failed = image.members[1].superblock.clone();
        let newer = |behind: &[u16]| Superblock {
            generation: failed.generation + 1,
            pins: vec![PIN],
            behind: behind.iter().copied().collect(),
            ..image.members[0].superblock.clone()
        };
        let unknown_on = vec![1];
        let doubtful = PinStanding::Doubtful {
            unknown_on: unknown_on.clone(),
        };
        assert_eq!(standing(&[&newer(&[]), &failed], &PIN), doubtful);
        let set = PinStanding::Set { unknown_on };
        let told = newer(&[failed.member_index]);
        assert_eq!(standing(&[&told, &failed], &PIN), set);
    }

    #[test]
    fn a_pin_that_some_members_have_is_met_once() {
        let image = Image::new(&[1 << 20, 1 << 20], 64 << 10);
        let first = Pin { number: 1, ..PIN };
        let of = |index: usize, pins: &[Pin]| Superblock {
            pins: pins.to_vec(),
            ..image.members[index].superblock.clone()
        };
        let superblocks = [of(0, &[PIN]), of(1, &[first, PIN])];
        let all = set_somewhere(&[&superblocks[0], &superblocks[1]]);
        assert_eq!(all, [first, PIN]);
        assert!(!has_place_for(&[first, PIN], 3));
        assert!(has_place_for(&[first], 3));
    }
}
