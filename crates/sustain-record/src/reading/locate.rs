//! Finds where to begin reading: bisection over each member's slots by what their first descriptors
//! say. Where one is damaged it begins earlier, never later.

use std::ops::Range;

use super::located_byte::LocatedByte;
use super::scope::Scope;
use crate::error::RecordError;
use crate::format::{AppendPlace, BLOCK_BYTES, Descriptor, SlotCourse};
use crate::member_io::MemberIo;
use crate::walk::first_descriptor;

/// Where to begin reading.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Start {
    /// For each member of the scope, the first slot to be read.
    pub(super) first_slots: Vec<u64>,
    /// Nothing that is looked for lies below this byte of the stream, and all above it lies in
    /// these slots.
    pub(super) from: LocatedByte,
}

/// What bisection has found on a member.
pub(super) struct Divided<T> {
    /// The last slot that is known to lie before what is looked for, or the first of all.
    pub(super) slot: u64,
    before: Option<T>,
    /// The nearest one behind it that is known not to.
    behind: Option<T>,
}

/// Finds the last place on each member up to which `is_before` holds, that is, up to which nothing
/// is needed. It must hold for the first slots of a member, and for none from some slot on.
///
/// # Errors
/// If the members cannot be driven. What cannot be read is passed over.
pub(super) fn locate(
    scope: &Scope,
    stream: u16,
    is_before: &dyn Fn(&Descriptor) -> bool,
) -> Result<Start, RecordError> {
    let mut io = scope.open_io()?;
    let mut start = Start {
        first_slots: Vec::new(),
        from: LocatedByte::default(),
    };
    for member in 0..scope.members.len() {
        let of_scope = &scope.members[member];
        let probe = |serial| probe(scope, &mut io, member, serial);
        let divided = divide(&of_scope.course, &of_scope.slots, probe, is_before);
        start.first_slots.push(divided.slot);
        if let Some(mark) = divided.before.and_then(|first| mark_in(&first, stream)) {
            start.from = if mark.bytes > start.from.bytes {
                mark
            } else {
                start.from
            };
        }
    }
    io.check_engine()?;
    Ok(start)
}

/// Finds the byte of a stream from which on nothing lies in an append for which `is_before` holds;
/// `None` if that may be the end of the stream. It must hold up to some append of the recording,
/// and for none behind it.
///
/// # Errors
/// The same as of [`locate`].
pub(super) fn locate_end(
    scope: &Scope,
    stream: u16,
    is_before: &dyn Fn(&Descriptor) -> bool,
) -> Result<Option<LocatedByte>, RecordError> {
    let mut io = scope.open_io()?;
    let mut end: Option<LocatedByte> = None;
    for member in 0..scope.members.len() {
        let of_scope = &scope.members[member];
        let probe = |serial| probe(scope, &mut io, member, serial);
        let divided = divide(&of_scope.course, &of_scope.slots, probe, is_before);
        let mark = divided.behind.and_then(|first| mark_in(&first, stream));
        if let Some(mark) = mark.filter(|mark| end.is_none_or(|end| mark.bytes < end.bytes)) {
            end = Some(mark);
        }
    }
    io.check_engine()?;
    Ok(end)
}

fn mark_in(descriptor: &Descriptor, stream: u16) -> Option<LocatedByte> {
    let position = descriptor.positions.get(usize::from(stream))?;
    Some(LocatedByte {
        bytes: position.next_offset_bytes,
        frames: position.frames,
    })
}

/// Bisects the slots of a member by what `probe` tells of them. It tells nothing of one that is
/// damaged, and serials that the course leaves out are not asked for: such a stretch is passed
/// over, and what lies behind it decides.
pub(super) fn divide<T>(
    course: &SlotCourse,
    slots: &Range<u64>,
    mut probe: impl FnMut(u64) -> Option<T>,
    is_before: impl Fn(&T) -> bool,
) -> Divided<T> {
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
        let known = down
            .take_while(|serial| *serial > low)
            .find_map(|serial| Some((serial, probe(serial)?)));
        match known {
            Some((serial, told)) if is_before(&told) => {
                divided.slot = serial;
                divided.before = Some(told);
                low = middle;
            }
            Some((serial, told)) => {
                divided.behind = Some(told);
                high = serial;
            }
            None => low = middle,
        }
    }
    divided
}

fn probe(scope: &Scope, io: &mut MemberIo, member: usize, serial: u64) -> Option<Descriptor> {
    let of_scope = &scope.members[member];
    let place = AppendPlace {
        slot_serial: serial,
        slot_offset_bytes: 0,
    };
    let offset_bytes = of_scope.identity.geometry.offset_of(place);
    let block = io.read(member, offset_bytes, BLOCK_BYTES).ok()?;
    let (descriptor, _) = first_descriptor(&block, &of_scope.identity, serial)?;
    (descriptor.recording_id == scope.recording_id).then_some(descriptor)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::Pin;

    #[test]
    fn bisection_passes_over_what_is_left_out_or_damaged() {
        let pin = Pin {
            number: 1,
            from_slot: 10,
            end_slot: Some(16),
            end_sequence: 0,
            freed_slot: None,
            from_time_ns: 0,
            to_time_ns: 0,
        };
        let course = SlotCourse::new(8, &[pin]);
        let slots = 10..60;
        let is_of_course = |serial: &u64| course.at_or_after(*serial) == Some(*serial);
        for damaged in [0..0, 16..17, 24..26, 30..50] {
            let probe = |serial: u64| {
                let is_told = is_of_course(&serial) && !damaged.contains(&serial);
                is_told.then_some(serial)
            };
            for last in slots.clone() {
                let divided = divide(&course, &slots, probe, |serial| *serial <= last);
                let told = || slots.clone().filter_map(probe);
                let before = told().rfind(|serial| *serial <= last);
                let behind = told().find(|serial| *serial > last);
                assert_eq!(Some(divided.slot), before, "{damaged:?}, {last}");
                assert_eq!(divided.behind, behind, "{damaged:?}, {last}");
            }
        }
    }
}
