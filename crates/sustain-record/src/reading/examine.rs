//! What the bytes of one slot hold: its appends, and what of them is damaged. Pure; called for each
//! slot that the pump has read. It never passes on a byte as whole whose checksum it has not seen
//! to be right.

use std::ops::Range;
use std::sync::Arc;

use super::bytes::SharedBytes;
use super::merge::Checked;
use super::part::{HoleReason, Origin};
use crate::format::{
    BLOCK_BYTES, Place, SEAL_BYTES, Seal, marks_are_whole, marks_range, payload_range,
    verify_payload,
};
use crate::walk::{Found, Identity, Walk};
use sustain_disk::error::Errno;

/// A stretch of a member that could not be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unreadable {
    /// The member's index in the store.
    pub member: usize,
    /// On the member.
    pub range: Range<u64>,
    /// What the device said; none where the member ends before.
    pub errno: Option<Errno>,
}

/// One slot of a member, as it was read.
#[derive(Debug, Clone, Copy)]
pub struct Slot<'a> {
    /// The member's index in the store.
    pub member: usize,
    /// Its serial.
    pub serial: u64,
    /// Its bytes; where it could not be read, anything but an old descriptor of this slot.
    pub bytes: &'a SharedBytes,
    /// What of the member could not be read; what lies outside the slot does not matter.
    pub unreadable: &'a [Unreadable],
}

/// The appends of a slot, in order.
pub fn examine(identity: &Identity, slot: Slot<'_>) -> Vec<Checked> {
    let place = Place {
        slot_serial: slot.serial,
        slot_offset_bytes: 0,
    };
    let slot_offset_bytes = identity.geometry.offset_of(place);
    Walk::new(identity, slot.serial, slot.bytes)
        .map(|found| check(found, slot, slot_offset_bytes))
        .collect()
}

/// Where an append begins, on its member, of which nothing is left but its seal, behind all others
/// of the slot.
pub(super) fn headless_seal(identity: &Identity, slot: Slot<'_>) -> Option<u64> {
    let mut walk = Walk::new(identity, slot.serial, slot.bytes);
    let end = walk.by_ref().last()?.range.end;
    let last_sequence = walk.last_sequence()?;
    let blocks = slot.bytes.get(end..)?.chunks_exact(BLOCK_BYTES).enumerate();
    blocks.skip(1).find_map(|(index, block)| {
        let seal = Seal::decode(&block[BLOCK_BYTES - SEAL_BYTES..])?;
        let seal_end = end + (index + 1) * BLOCK_BYTES;
        let start = seal_end.checked_sub(seal.append_bytes as usize)?;
        // Of an earlier lap, or of another member's data, it would say otherwise.
        let is_next = seal.slot_serial == slot.serial && seal.sequence > last_sequence;
        let place = Place {
            slot_serial: slot.serial,
            slot_offset_bytes: start as u32,
        };
        (is_next && start >= end).then(|| identity.geometry.offset_of(place))
    })
}

fn check(found: Found, slot: Slot<'_>, slot_offset_bytes: u64) -> Checked {
    let descriptor = found.descriptor;
    let part = |range: Range<usize>| {
        let length = slot.bytes.len();
        let start = (found.range.start + range.start).min(length);
        start..(found.range.start + range.end).min(length)
    };
    let payload = slot.bytes.slice(part(payload_range(&descriptor)));
    let marks = &slot.bytes[part(marks_range(&descriptor))];
    let marks = marks_are_whole(&descriptor, marks).then(|| marks.to_vec());
    let append_offset_bytes = slot_offset_bytes + found.range.start as u64;
    let payload_offset_bytes = append_offset_bytes + payload_range(&descriptor).start as u64;
    let damaged = verify_payload(&descriptor, &payload)
        .into_iter()
        .map(|range| {
            let on_member = payload_offset_bytes + u64::from(range.start)
                ..payload_offset_bytes + u64::from(range.end);
            (range, reason(slot, &on_member))
        })
        .collect();
    Checked {
        origin: Arc::new(Origin {
            member: slot.member,
            offset_bytes: append_offset_bytes,
            descriptor,
            sealed: found.sealed,
            marks,
        }),
        payload,
        damaged,
    }
}

fn reason(slot: Slot<'_>, damaged: &Range<u64>) -> HoleReason {
    let unreadable = slot
        .unreadable
        .iter()
        .find(|bad| bad.range.start < damaged.end && damaged.start < bad.range.end);
    match unreadable {
        Some(bad) => HoleReason::Unreadable {
            member: slot.member,
            offset_bytes: bad.range.start.max(damaged.start),
            errno: bad.errno,
        },
        None => HoleReason::Damaged {
            member: slot.member,
            offset_bytes: damaged.start,
        },
    }
}
