//! Finds where to begin reading, by what the first descriptors of each member's slots say. Where
//! one is damaged it begins earlier, never later.

use super::located_byte::LocatedByte;
use super::scope::Scope;
use crate::error::RecordError;
use crate::format::{AppendPlace, BLOCK_BYTES, Descriptor};
use crate::member_io::MemberIo;
use crate::walk::{divide, first_descriptor};

/// Where to begin reading.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Start {
    /// For each member of the scope, the first slot to be read.
    pub(super) first_slots: Vec<u64>,
    /// Nothing that is looked for lies below this byte of the stream, and all above it lies in
    /// these slots.
    pub(super) from: LocatedByte,
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
        let divided = divide(&of_scope.course, &of_scope.slots, probe, is_before)?;
        start.first_slots.push(divided.slot);
        if let Some(mark) = divided.before.and_then(|first| mark_in(&first, stream)) {
            start.from = if mark.bytes > start.from.bytes {
                mark
            } else {
                start.from
            };
        }
    }
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
        let divided = divide(&of_scope.course, &of_scope.slots, probe, is_before)?;
        let mark = divided.behind.and_then(|first| mark_in(&first, stream));
        if let Some(mark) = mark.filter(|mark| end.is_none_or(|end| mark.bytes < end.bytes)) {
            end = Some(mark);
        }
    }
    Ok(end)
}

fn mark_in(descriptor: &Descriptor, stream: u16) -> Option<LocatedByte> {
    let position = descriptor.positions.get(usize::from(stream))?;
    Some(LocatedByte {
        bytes: position.next_offset_bytes,
        frames: position.frames,
    })
}

/// The first descriptor of a slot, if it is whole and of this recording.
fn probe(
    scope: &Scope,
    io: &mut MemberIo,
    member: usize,
    serial: u64,
) -> Result<Option<Descriptor>, RecordError> {
    let of_scope = &scope.members[member];
    let place = AppendPlace {
        slot_serial: serial,
        slot_offset_bytes: 0,
    };
    let offset_bytes = of_scope.identity.geometry.offset_of(place);
    let Ok(block) = io.read(member, offset_bytes, BLOCK_BYTES) else {
        io.check_engine()?;
        return Ok(None);
    };
    let first = first_descriptor(&block, &of_scope.identity, serial);
    let first = first.map(|(descriptor, _)| descriptor);
    Ok(first.filter(|first| first.recording_id == scope.recording_id))
}
