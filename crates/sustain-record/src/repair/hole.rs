//! The stretches of a slot in which nothing is, and what fills them. Pure.

use std::ops::Range;

use super::append::{APPEND_BYTES_MIN, DraftAppend, end_of, start_of};

/// A stretch of a slot in which nothing is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Hole {
    pub(super) range: Range<u32>,
    /// The append behind it in the slot, by its index.
    pub(super) after: Option<usize>,
}

impl Hole {
    /// The place of an append.
    pub(super) fn of(append: &DraftAppend) -> Hole {
        Hole {
            range: start_of(append)..end_of(append),
            after: None,
        }
    }

    /// Whether nothing is behind it in the slot.
    pub(super) fn is_last(&self) -> bool {
        self.after.is_none()
    }
}

/// The stretches of a hole that are filled with one append each, from the last one to the first, so
/// that an append begins where one is named. Behind all that is named nothing is needed.
pub(super) fn fillers(hole: &Hole, named: Option<u32>) -> impl Iterator<Item = Range<u32>> {
    let Range { start, end } = hole.range;
    let is_apart = |named: &u32| {
        let from_start = named.checked_sub(start);
        let to_end = end.checked_sub(*named);
        let is_room = |bytes: u32| bytes == 0 || bytes >= APPEND_BYTES_MIN;
        from_start.is_some_and(is_room) && to_end.is_some_and(|bytes| bytes >= APPEND_BYTES_MIN)
    };
    let ranges = match (named.filter(is_apart), hole.after) {
        (Some(named), Some(_)) => [start..named, named..end],
        (Some(named), None) => [start..named, named..named + APPEND_BYTES_MIN],
        (None, Some(_)) => [start..end, end..end],
        (None, None) => [start..start, start..start],
    };
    ranges.into_iter().filter(|range| !range.is_empty())
}
