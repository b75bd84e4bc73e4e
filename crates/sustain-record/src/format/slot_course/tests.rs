use proptest::prelude::*;

use super::*;
use crate::format::PINS_MAX;

fn pin(from_slot: u64, end_slot: Option<u64>) -> Pin {
    Pin {
        number: 1,
        from_slot,
        end_slot,
        end_sequence: 0,
        told_sequence: 0,
        freed_slot: None,
        from_time_ns: 0,
        to_time_ns: 0,
    }
}

fn course_of(course: &SlotCourse, from_slot: u64, count: u64) -> Vec<u64> {
    let first = course.at_or_after(from_slot).into_iter();
    let rest = first
        .clone()
        .flat_map(|first| course.following(first, count - 1));
    first.clone().chain(rest).collect()
}

#[test]
fn without_pins_every_serial_has_its_turn() {
    let course = SlotCourse::new(8, &[]);
    assert_eq!(course_of(&course, 6, 4), [6, 7, 8, 9]);
    assert_eq!(course.ahead(5, 16), 21);
    assert_eq!(course.steps(5, 21, 100), 16);
    assert_eq!(course.free_slots(20), 8);
}

#[test]
fn what_a_pin_keeps_is_left_out_from_the_next_lap_on() {
    let course = SlotCourse::new(8, &[pin(3, Some(6))]);
    assert_eq!(course_of(&course, 3, 3), [3, 4, 5], "it has its own turn");
    assert_eq!(course_of(&course, 9, 6), [9, 10, 14, 15, 16, 17]);
    assert_eq!(course_of(&course, 19, 2), [22, 23]);
    assert_eq!(course.ahead(10, 2), 15);
    assert_eq!(course.steps(10, 15, 9), 2);
    assert_eq!(course.preceding(16, 4).collect::<Vec<_>>(), [15, 14, 10, 9]);
    assert_eq!(course.free_slots(20), 5);
    let freed = Pin {
        freed_slot: Some(20),
        ..pin(3, Some(6))
    };
    let course = SlotCourse::new(8, &[freed]);
    assert_eq!(course_of(&course, 10, 7), [10, 14, 15, 16, 17, 18, 20]);
    assert_eq!(course.free_slots(20), 8);
    assert!(!course.has_outlived(&freed, 44, 16));
    assert!(course.has_outlived(&freed, 45, 16));
}

/// The example of docs/format.md.
#[test]
fn what_an_earlier_pin_has_left_out_a_later_one_does_not_keep() {
    let earlier = Pin {
        freed_slot: Some(19),
        ..pin(3, Some(6))
    };
    for pins in [[earlier, pin(10, Some(15))], [pin(10, Some(15)), earlier]] {
        let course = SlotCourse::new(8, &pins);
        let left_out: Vec<u64> = (0..31)
            .filter(|serial| course.at_or_after(*serial) != Some(*serial))
            .collect();
        assert_eq!(left_out, [11, 12, 13, 18, 22, 26, 30]);
        assert_eq!(course.kept_slots(&pin(10, Some(15)), 31), 2);
    }
}

#[test]
fn a_freed_pin_stays_only_for_those_that_span_what_it_has_left_out() {
    let freed = Pin {
        freed_slot: Some(20),
        ..pin(3, Some(6))
    };
    // It has left out 11, 12, 13, 19.
    for (from_slot, end_slot, is_outlived) in [
        (8, Some(11), true),
        (8, Some(12), false),
        (14, Some(19), true),
        (14, Some(20), false),
        (20, Some(24), true),
        (14, None, false),
        (20, None, true),
    ] {
        let other = pin(from_slot, end_slot);
        let course = SlotCourse::new(8, &[freed, other]);
        assert_eq!(
            course.has_outlived(&freed, 60, 16),
            is_outlived,
            "{from_slot} to {end_slot:?}"
        );
    }
}

#[test]
fn freed_pins_that_only_need_each_other_go_together() {
    let freed = |from_slot, end_slot, freed_slot| Pin {
        freed_slot: Some(freed_slot),
        ..pin(from_slot, Some(end_slot))
    };
    // The second one spans 11, which the first has left out, and the third what the second has.
    let table = [freed(3, 6, 20), freed(8, 12, 30), freed(16, 18, 40)];
    let course = SlotCourse::new(8, &table);
    assert!(!course.has_outlived(&table[0], 100, 16));
    assert!(!course.has_outlived(&table[1], 100, 16));
    assert_eq!(SlotCourse::pins_left(8, &table, 100, 16), []);
    assert_eq!(SlotCourse::pins_left(8, &table, 60, 16), table);
}

/// A ring with three pins of more than a lap each, of which the oldest is freed for each new
/// one.
#[test]
fn a_table_of_pins_that_come_and_go_stays_small() {
    const SLOTS: u64 = 62;
    let mut table: Vec<Pin> = Vec::new();
    for round in 0..100_u64 {
        let begun = 100 + round * 25;
        table = SlotCourse::pins_left(SLOTS, &table, begun, 16);
        let mut set = table.iter_mut().filter(|one| one.is_set());
        if let Some(oldest) = set.next()
            && set.count() == 2
        {
            oldest.freed_slot = Some(begun);
        }
        let first = SlotCourse::new(SLOTS, &table).at_or_after(begun);
        let from_slot = first.expect("three of its pins do not keep all of the ring");
        table.push(Pin {
            number: round as u32 + 1,
            ..pin(from_slot, Some(from_slot + 10))
        });
        assert!(table.len() < PINS_MAX, "{table:?}");
    }
}

#[test]
fn an_open_end_keeps_all_that_comes() {
    let course = SlotCourse::new(8, &[pin(5, None)]);
    assert_eq!(course_of(&course, 11, 9), [11, 12]);
    assert_eq!(course.after(12), None);
    assert_eq!(course.ahead(10, 9), 12);
    assert_eq!(course.at_or_before(40), Some(12));
    assert_eq!(course.free_slots(9), 4);
    let closed = pin(5, None).closed_at(9, 7);
    assert_eq!(
        course_of(&SlotCourse::new(8, &[closed]), 12, 3),
        [12, 17, 18]
    );
    assert_eq!(pin(5, None).closed_at(2, 7).end_slot, Some(6));
}

#[test]
fn pins_that_keep_all_leave_nothing_until_one_is_freed() {
    let [low, high] = [pin(0, Some(4)), pin(4, Some(8))];
    assert_eq!(SlotCourse::new(8, &[low, high]).at_or_after(8), None);
    let freed = Pin {
        freed_slot: Some(1_000_000_005),
        ..high
    };
    let course = SlotCourse::new(8, &[low, freed]);
    assert_eq!(course.at_or_after(8), Some(1_000_000_005));
}

prop_compose! {
    fn any_pin(slot_count: u64)(
        from_slot in 0..40_u64,
        length in prop::option::of(1..=slot_count),
        freed_slot in prop::option::of(0..120_u64),
    ) -> Pin {
        let end_slot = length.map(|length| from_slot + length);
        Pin { freed_slot, ..pin(from_slot, end_slot) }
    }
}

/// What docs/format.md says of a serial, by those that are smaller.
fn is_left_out(pins: &[Pin], slot_count: u64, serial: u64) -> bool {
    pins.iter().any(|pin| {
        let is_kept = |kept: u64| {
            let is_in = pin.end_slot.is_none_or(|end| kept < end);
            kept >= pin.from_slot && is_in && !is_left_out(pins, slot_count, kept)
        };
        let mut laps = (1..=serial / slot_count).map(|laps| serial - laps * slot_count);
        let is_before = pin.freed_slot.is_none_or(|freed| serial < freed);
        let is_behind = serial >= pin.from_slot + slot_count;
        is_before
            && match pin.end_slot {
                None => is_behind,
                Some(_) => laps.any(is_kept),
            }
    })
}

proptest! {
    #[test]
    fn the_course_is_what_the_format_says(
        (slot_count, pins) in (2..20_u64).prop_flat_map(|slot_count| {
            (Just(slot_count), prop::collection::vec(any_pin(slot_count), 0..5))
        }),
        from in 0..100_u64,
    ) {
        let course = SlotCourse::new(slot_count, &pins);
        let is_left_out = |serial: u64| is_left_out(&pins, slot_count, serial);
        // Nothing changes behind all that the pins tell.
        let told = from..200;
        let expected = told.clone().find(|serial| !is_left_out(*serial));
        prop_assert_eq!(course.at_or_after(from), expected);
        let expected = (0..=from).rev().find(|serial| !is_left_out(*serial));
        prop_assert_eq!(course.at_or_before(from), expected);
        let turns = (from..from + 50).filter(|serial| !is_left_out(*serial)).count() as u64;
        prop_assert_eq!(course.steps(from, from + 50, 100), turns);
        prop_assert_eq!(course.steps(from, from + 50, 7), turns.min(7));
        let kept = |slot: u64| pins.iter().any(|pin| {
            let end = pin.closed_at(60, 0).end_slot.unwrap();
            let mut serials = pin.from_slot..end;
            pin.is_set() && serials.any(|serial| {
                let was_written = pin.end_slot.is_none() || !is_left_out(serial);
                serial % slot_count == slot && was_written
            })
        });
        let free = (0..slot_count).filter(|slot| !kept(*slot)).count() as u64;
        prop_assert_eq!(course.free_slots(60), free);
    }

    #[test]
    fn no_table_takes_long_or_overflows(
        slot_count in prop_oneof![2..5_u64, any::<u64>().prop_map(|count| count.max(2))],
        fields in prop::collection::vec(any::<[u64; 3]>(), 0..=PINS_MAX),
        small in any::<bool>(),
        serial in any::<u64>(),
    ) {
        let pins: Vec<Pin> = fields
            .into_iter()
            .map(|[from, length, freed]| {
                let from_slot = if small { from % 16 } else { from };
                let length = length % slot_count + 1;
                Pin {
                    freed_slot: (freed % 3 > 0).then_some(freed),
                    ..pin(from_slot, (freed % 5 > 0).then(|| from_slot.saturating_add(length)))
                }
            })
            .filter(|pin| pin.is_valid(slot_count))
            .collect();
        let course = SlotCourse::new(slot_count, &pins);
        if let Some(found) = course.at_or_after(serial) {
            prop_assert!(found >= serial);
            prop_assert_eq!(course.at_or_after(found), Some(found));
        }
        course.ahead(serial, 16);
        if let Some(found) = course.at_or_before(serial) {
            prop_assert_eq!(course.at_or_after(found), Some(found));
        }
        prop_assert!(course.free_slots(serial) <= slot_count);
    }
}
