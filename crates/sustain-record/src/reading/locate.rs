//! Finds where to begin reading: bisection over each member's slots by what their first descriptors
//! say. Where one is damaged it begins earlier, never later.

use super::scope::Scope;
use crate::error::RecordError;
use crate::format::{BLOCK_BYTES, Descriptor, Place};
use crate::member_io::MemberIo;
use crate::walk::first_descriptor;

/// Where to begin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Start {
    /// For each member of the scope, the first slot to be read.
    pub(super) first_slots: Vec<u64>,
    /// Nothing that is looked for lies below this byte of the stream, and all above it lies in
    /// these slots.
    pub(super) from_bytes: u64,
}

/// The last place on each member up to which `is_before` holds, that is, of which nothing is
/// needed. It must hold for the first slots of a member, and no more from some slot on.
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
        from_bytes: 0,
    };
    for member in 0..scope.members.len() {
        let (slot, first) = last_slot_before(scope, &mut io, member, is_before);
        start.first_slots.push(slot);
        let position = first
            .as_ref()
            .and_then(|first| first.positions.get(usize::from(stream)));
        if let Some(position) = position {
            start.from_bytes = start.from_bytes.max(position.next_offset_bytes);
        }
    }
    io.check_engine()?;
    Ok(start)
}

fn last_slot_before(
    scope: &Scope,
    io: &mut MemberIo,
    member: usize,
    is_before: &dyn Fn(&Descriptor) -> bool,
) -> (u64, Option<Descriptor>) {
    let slots = &scope.members[member].slots;
    let (mut low, mut high) = (slots.start, slots.end);
    let mut best = None;
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        let known = (low + 1..=middle)
            .rev()
            .find_map(|serial| Some((serial, probe(scope, io, member, serial)?)));
        match known {
            Some((serial, descriptor)) if is_before(&descriptor) => {
                low = serial;
                best = Some(descriptor);
            }
            Some((serial, _)) => high = serial,
            None => high = middle,
        }
    }
    (low, best)
}

fn probe(scope: &Scope, io: &mut MemberIo, member: usize, serial: u64) -> Option<Descriptor> {
    let of_scope = &scope.members[member];
    let place = Place {
        slot_serial: serial,
        slot_offset_bytes: 0,
    };
    let offset_bytes = of_scope.identity.geometry.offset_of(place);
    let block = io.read(member, offset_bytes, BLOCK_BYTES).ok()?;
    let (descriptor, _) = first_descriptor(&block, &of_scope.identity, serial)?;
    (descriptor.recording_id == scope.recording_id).then_some(descriptor)
}
