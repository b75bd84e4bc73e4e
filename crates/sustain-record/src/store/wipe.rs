//! Wipes the signatures of partition tables, file systems and arrays from new members, for
//! `create`. Other programs that still found one might write to the store.

use std::ops::Range;

use sustain_disk::clock::Clock;
use sustain_disk::engine::{Operation, SimulatedTarget};
use sustain_disk::error::RequestError;
use sustain_disk::target::{Target, TargetKind};
use sustain_targets::Stop;

use super::{Mode, access};
use crate::error::RecordError;
use crate::format::{AppendPlace, BLOCK_BYTES, Geometry, Superblock};

/// The signatures farthest from the start are second headers of LUKS, at up to 4 MiB.
const HEAD_BYTES: u64 = 8 << 20;
/// The signatures farthest from the end are labels of ZFS (768 KiB) and of bcachefs (1 MiB).
const TAIL_BYTES: u64 = 2 << 20;
/// Between so many bytes it is asked whether to go on.
const CLEARED_AT_ONCE_BYTES: u64 = 256 << 20;

/// Writes zeros where signatures may lie, and flushes. It must come before the first superblock. In
/// a member that was prewritten nothing is left in the slots, so they are not wiped.
///
/// # Errors
/// [`RecordError::Request`] if a member cannot be written; [`RecordError::Engine`].
pub(super) fn wipe(
    targets: &[(&Target, Option<SimulatedTarget>)],
    geometries: &[Geometry],
    is_prewritten: &dyn Fn(&Target) -> bool,
) -> Result<(), RecordError> {
    let mut io = access::io_over(targets, Mode::Record, &[], &Clock::Real)?;
    let members = targets.iter().zip(geometries).enumerate();
    let ranges: Vec<(usize, Range<u64>)> = members
        .flat_map(|(member, ((target, _), geometry))| {
            let end_bytes = end_bytes(target, geometry);
            let ranges = match is_prewritten(target) {
                true => vec![
                    0..geometry.first_slot_offset_bytes,
                    geometry.slots_end_bytes()..end_bytes,
                ],
                false => ranges(geometry, end_bytes),
            };
            ranges.into_iter().map(move |range| (member, range))
        })
        .collect();
    let failed = |member: usize, operation, offset_bytes, fault| RequestError {
        target: targets[member].0.name.clone(),
        operation,
        offset_bytes,
        fault,
    };
    let written = io.write_zeros(&ranges);
    io.check_engine()?;
    for ((member, range), written) in ranges.iter().zip(written) {
        written.map_err(|fault| failed(*member, Operation::Write, range.start, fault))?;
    }
    let all: Vec<usize> = (0..targets.len()).collect();
    let flushed = io.flush_all(&all);
    io.check_engine()?;
    for (member, flushed) in flushed.into_iter().enumerate() {
        flushed.map_err(|fault| failed(member, Operation::Flush, 0, fault))?;
    }
    Ok(())
}

/// Writes zeros to all slots of a member, the newest first, so that whoever is cut off leaves
/// nothing behind what is still there: what a member of the same store has recorded apart from the
/// others would be taken for what comes next behind all that a repair puts there.
///
/// # Errors
/// [`RecordError::Request`] if the member cannot be written; [`RecordError::Engine`];
/// [`RecordError::Interrupted`] if `stop` says so.
pub(super) fn clear_slots(
    target: (&Target, Option<SimulatedTarget>),
    superblock: &Superblock,
    stop: &Stop,
) -> Result<(), RecordError> {
    let name = &target.0.name;
    let mut io = access::io_over(&[target], Mode::Record, &[], &Clock::Real)?;
    let geometry = &superblock.geometry;
    let at_once_bytes = CLEARED_AT_ONCE_BYTES.max(u64::from(geometry.slot_bytes));
    // Where a ring has gone round, the newest slots are those before the next one.
    let is_lapped = superblock.slots_begun > geometry.slot_count;
    let next = AppendPlace::of_slot(superblock.slots_begun);
    let newest_end = match is_lapped {
        true => geometry.offset_of(next),
        false => geometry.slots_end_bytes(),
    };
    let newest = geometry.first_slot_offset_bytes..newest_end;
    for stretch in [newest, newest_end..geometry.slots_end_bytes()] {
        let mut end = stretch.end;
        while end > stretch.start {
            if stop.reason().is_some() {
                return Err(RecordError::Interrupted(format!(
                    "interrupted before {name} was empty: the same command goes on"
                )));
            }
            let start = end.saturating_sub(at_once_bytes).max(stretch.start);
            let written = io.write_zeros(&[(0, start..end)]);
            io.check_engine()?;
            let mut faults = written.into_iter().filter_map(Result::err);
            if let Some(fault) = faults.next() {
                return Err(RecordError::from(RequestError {
                    target: name.clone(),
                    operation: Operation::Write,
                    offset_bytes: start,
                    fault,
                }));
            }
            end = start;
        }
    }
    Ok(())
}

/// The byte at which a target really ends. On a device, part of a block may lie behind the store.
fn end_bytes(target: &Target, geometry: &Geometry) -> u64 {
    let capacity_bytes = match target.kind {
        TargetKind::File => None,
        _ => target.capacity_bytes,
    };
    capacity_bytes.map_or(geometry.member_bytes, |bytes| {
        bytes.max(geometry.member_bytes)
    })
}

/// The ranges to wipe: everything before the first slot and behind the last one, and as much of the
/// slots as signatures may take.
fn ranges(geometry: &Geometry, end_bytes: u64) -> Vec<Range<u64>> {
    let head_end = geometry.first_slot_offset_bytes.max(HEAD_BYTES);
    let tail = end_bytes.saturating_sub(TAIL_BYTES);
    let tail_start = geometry.slots_end_bytes().min(tail);
    let tail_start = tail_start - tail_start % BLOCK_BYTES as u64;
    if tail_start <= head_end {
        return vec![0..end_bytes; 1];
    }
    vec![0..head_end, tail_start..end_bytes]
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn all_outside_the_slots_is_wiped_and_no_byte_beyond_the_end(
            capacity_blocks in 200..1_u64 << 24,
            sectors in 0..8_u64,
            shift in 16..=24_u32,
        ) {
            let end_bytes = capacity_blocks * 4096 + sectors * 512;
            let Ok(geometry) = Geometry::of_member(end_bytes, 1 << shift) else {
                return Ok(());
            };
            let ranges = ranges(&geometry, end_bytes);
            let (first, last) = (&ranges[0], &ranges[ranges.len() - 1]);
            prop_assert_eq!(first.start, 0);
            prop_assert_eq!(last.end, end_bytes);
            prop_assert!(first.end >= geometry.first_slot_offset_bytes);
            prop_assert!(last.start <= geometry.slots_end_bytes());
            prop_assert!(first.end.min(end_bytes) >= HEAD_BYTES.min(end_bytes));
            prop_assert!(last.start <= end_bytes.saturating_sub(TAIL_BYTES));
            prop_assert!(ranges.iter().all(|range| range.start % 4096 == 0));
            prop_assert!(ranges.len() == 1 || first.end < last.start);
        }
    }
}
