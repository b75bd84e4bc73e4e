//! Finds where to begin reading: bisection over each member's slots by what their first descriptors
//! say. Where one is damaged it begins earlier, never later.

use super::located_byte::LocatedByte;
use super::scope::Scope;
use crate::error::RecordError;
use crate::format::{AppendPlace, BLOCK_BYTES, Descriptor};
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
struct Divided {
    /// The last slot that is known to lie before what is looked for, or the first of all.
    slot: u64,
    before: Option<Descriptor>,
    /// The nearest descriptor behind it that is known not to.
    behind: Option<Descriptor>,
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
        let divided = divide(scope, &mut io, member, is_before);
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
        let divided = divide(scope, &mut io, member, is_before);
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

fn divide(
    scope: &Scope,
    io: &mut MemberIo,
    member: usize,
    is_before: &dyn Fn(&Descriptor) -> bool,
) -> Divided {
    let slots = &scope.members[member].slots;
    let (mut low, mut high) = (slots.start, slots.end);
    let (mut before, mut behind) = (None, None);
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        let known = scope
            .slots_down(member, low, middle)
            .find_map(|serial| Some((serial, probe(scope, io, member, serial)?)));
        match known {
            Some((serial, descriptor)) if is_before(&descriptor) => {
                low = serial;
                before = Some(descriptor);
            }
            Some((serial, descriptor)) => {
                high = serial;
                behind = Some(descriptor);
            }
            None => high = middle,
        }
    }
    Divided {
        slot: low,
        before,
        behind,
    }
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
