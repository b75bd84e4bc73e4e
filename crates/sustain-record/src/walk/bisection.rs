//! Finds a place among the slots of a member by bisection.

use std::ops::Range;

use crate::format::SlotCourse;

/// What bisection has found on a member.
pub(crate) struct Divided<T> {
    /// The last slot that is known to lie before what is looked for, or the first of all.
    pub(crate) slot: u64,
    /// What was told of it, if anything was.
    pub(crate) before: Option<T>,
    /// What was told of the nearest one behind it that is known not to lie before that.
    pub(crate) behind: Option<T>,
}

/// Bisects the slots of a member by what `probe` tells of them. It tells nothing of one that is
/// damaged, and serials that the course leaves out are not asked for: such a stretch is passed
/// over, and what lies behind it decides.
///
/// # Errors
/// The first one of `probe`.
pub(crate) fn divide<T, E>(
    course: &SlotCourse,
    slots: &Range<u64>,
    mut probe: impl FnMut(u64) -> Result<Option<T>, E>,
    is_before: impl Fn(&T) -> bool,
) -> Result<Divided<T>, E> {
    let mut divided = Divided {
        slot: slots.start,
        before: None,
        behind: None,
    };
    let (mut low, mut high) = (slots.start, slots.end);
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        let first = course.at_or_before(middle);
        let rest = first.map(|first| course.preceding(first, u64::MAX));
        let down = first.into_iter().chain(rest.into_iter().flatten());
        let mut known = None;
        for serial in down.take_while(|serial| *serial > low) {
            known = probe(serial)?.map(|readable| (serial, readable));
            if known.is_some() {
                break;
            }
        }
        match known {
            Some((serial, readable)) if is_before(&readable) => {
                divided.slot = serial;
                divided.before = Some(readable);
                low = middle;
            }
            Some((serial, readable)) => {
                divided.behind = Some(readable);
                high = serial;
            }
            None => low = middle,
        }
    }
    Ok(divided)
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use super::*;
    use crate::format::Pin;

    #[test]
    fn bisection_passes_over_what_is_left_out_or_damaged() {
        let pin = Pin {
            number: 1,
            from_slot: 10,
            end_slot: Some(16),
            end_sequence: 0,
            told_sequence: 0,
            freed_slot: None,
            from_time_ns: 0,
            to_time_ns: 0,
        };
        let course = SlotCourse::new(8, &[pin]);
        let slots = 10..60;
        let is_of_course = |serial: &u64| course.at_or_after(*serial) == Some(*serial);
        for damaged in [0..0, 16..17, 24..26, 30..50] {
            let probe = |serial: u64| {
                let is_reported = is_of_course(&serial) && !damaged.contains(&serial);
                is_reported.then_some(serial)
            };
            for last in slots.clone() {
                let readable = |serial| Ok::<_, Infallible>(probe(serial));
                let Ok(divided) = divide(&course, &slots, readable, |serial| *serial <= last);
                let readable = || slots.clone().filter_map(probe);
                let before = readable().rfind(|serial| *serial <= last);
                let behind = readable().find(|serial| *serial > last);
                assert_eq!(Some(divided.slot), before, "{damaged:?}, {last}");
                assert_eq!(divided.behind, behind, "{damaged:?}, {last}");
            }
        }
    }
}
