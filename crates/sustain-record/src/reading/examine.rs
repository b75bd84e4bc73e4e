//! Examines the bytes of one slot: which appends it has, and which parts of them are damaged. It is
//! pure, and is called for each slot that the pump has read. It never passes on a byte as whole
//! unless its checksum was right.

use std::ops::Range;
use std::sync::Arc;

use super::bytes::SharedBytes;
use super::merge::CheckedPart;
use super::part::{HoleReason, Origin};
use crate::format::{
    AppendPlace, BLOCK_BYTES, Descriptor, DescriptorError, Kind, SEAL_BYTES, Seal, marks_are_whole,
    marks_range, payload_range, verify_payload,
};
use crate::walk::{AppendIdentity, FoundAppend, Walk};
use sustain_disk::error::IoFault;

/// A stretch of a member that could not be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unreadable {
    /// The member's index in the store.
    pub member: usize,
    /// The range on the member.
    pub range: Range<u64>,
    /// The error of the device; `None` where the member ends before.
    pub errno: Option<IoFault>,
}

/// One slot of a member, as it was read.
#[derive(Debug, Clone, Copy)]
pub struct Slot<'a> {
    /// The member's index in the store.
    pub member: usize,
    /// Its serial.
    pub serial: u64,
    /// Its bytes. Where it could not be read, they may be anything but an old descriptor of this
    /// slot.
    pub bytes: &'a SharedBytes,
    /// Stretches of the member that could not be read. Those outside the slot do not matter.
    pub unreadable: &'a [Unreadable],
    /// Where those of its appends begin in it that were computed by parity.
    pub restored_at_bytes: &'a [u32],
}

/// The appends of a slot, in order.
pub fn examine(identity: &AppendIdentity, slot: Slot<'_>) -> Vec<CheckedPart> {
    let place = AppendPlace {
        slot_serial: slot.serial,
        slot_offset_bytes: 0,
    };
    let slot_offset_bytes = identity.geometry.offset_of(place);
    Walk::new(identity, slot.serial, slot.bytes)
        .map(|found| check(found, slot, slot_offset_bytes))
        .collect()
}

/// What is left of an append whose descriptor is damaged: its seal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Headless {
    /// Where the append begins on its member.
    pub(super) offset_bytes: u64,
    /// Its sequence, as the seal says.
    pub(super) sequence: u64,
    /// Its length, as the seal says.
    pub(super) append_bytes: u32,
}

/// Finds seals behind all appends of a slot that end none of them. A seal does not name its
/// recording. But behind an end mark there is nothing of the recording, and a whole descriptor that
/// does not belong here makes its append that of an earlier store.
pub(super) fn headless_seals(identity: &AppendIdentity, slot: Slot<'_>) -> Vec<Headless> {
    let mut walk = Walk::new(identity, slot.serial, slot.bytes);
    let Some(last) = walk.by_ref().last() else {
        return Vec::new();
    };
    if last.descriptor.kind == Kind::End {
        return Vec::new();
    }
    let last_sequence = walk.last_sequence().unwrap_or(0);
    seals_behind(identity, slot, last.range.end, last_sequence)
}

/// Finds the seal of an append that began a slot, if its descriptor is damaged.
pub(super) fn headless_first(identity: &AppendIdentity, slot: Slot<'_>) -> Option<Headless> {
    let slot_start = AppendPlace {
        slot_serial: slot.serial,
        slot_offset_bytes: 0,
    };
    let start_bytes = identity.geometry.offset_of(slot_start);
    let mut seals = seals_behind(identity, slot, 0, 0).into_iter();
    seals.find(|seal| seal.offset_bytes == start_bytes)
}

/// Finds seals behind this offset in a slot that end no append.
fn seals_behind(
    identity: &AppendIdentity,
    slot: Slot<'_>,
    end: usize,
    last_sequence: u64,
) -> Vec<Headless> {
    let behind = slot.bytes.get(end..).unwrap_or_default();
    let blocks = behind.chunks_exact(BLOCK_BYTES).enumerate().skip(1);
    let headless = blocks.filter_map(|(index, block)| {
        let seal = Seal::decode(&block[BLOCK_BYTES - SEAL_BYTES..])?;
        let seal_end = end + (index + 1) * BLOCK_BYTES;
        let start = seal_end.checked_sub(seal.append_bytes as usize)?;
        // A seal of an earlier lap, or in the data of another member, would have other numbers.
        let is_next = seal.slot_serial == slot.serial && seal.sequence > last_sequence;
        let place = AppendPlace {
            slot_serial: slot.serial,
            slot_offset_bytes: start as u32,
        };
        let begins = slot.bytes.get(start..start + BLOCK_BYTES)?;
        let is_damaged = matches!(
            Descriptor::decode(begins),
            Err(DescriptorError::NotADescriptor | DescriptorError::WrongChecksum)
        );
        (is_next && start >= end && is_damaged).then(|| Headless {
            offset_bytes: identity.geometry.offset_of(place),
            sequence: seal.sequence,
            append_bytes: seal.append_bytes,
        })
    });
    headless.collect()
}

fn check(found: FoundAppend, slot: Slot<'_>, slot_offset_bytes: u64) -> CheckedPart {
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
    let at_bytes = descriptor.place.slot_offset_bytes;
    CheckedPart {
        origin: Arc::new(Origin {
            member: slot.member,
            offset_bytes: append_offset_bytes,
            descriptor,
            sealed: found.sealed,
            marks,
            is_restored: slot.restored_at_bytes.contains(&at_bytes),
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
