//! How much of one recording's data a new member takes, by the arithmetic of the recorder and its
//! format. `create` says it.

use super::member::reserve_bytes;
use super::parity::ParitySetup;
use crate::format::{Geometry, append_bytes_for, payload_room};

/// The payload of one stream without frames that a member takes which has no recording yet, if
/// every append is as large as `append_bytes`, or as a slot where that is smaller.
///
/// A start lies before the data in the first slot, and the last one keeps space for the end mark.
/// What is too short for an append at the end of a slot stays empty.
pub fn data_bytes(geometry: &Geometry, append_bytes: u32) -> u64 {
    let append_bytes = append_bytes.min(geometry.slot_bytes);
    appends(geometry, append_bytes) * payload_room(append_bytes as usize) as u64
}

/// The same of all members of a new store together, where groups have so many appends of parity of
/// this size. Each group has at most one append on a member, so parity takes as much as the largest
/// members have, whatever the others are.
pub fn protected_data_bytes(geometries: &[Geometry], append_bytes: u32, parities: u16) -> u64 {
    let slot_bytes = geometries.iter().map(|geometry| geometry.slot_bytes).min();
    let append_bytes = append_bytes.min(slot_bytes.unwrap_or(append_bytes));
    let setup = ParitySetup {
        parities: usize::from(parities),
        append_bytes: append_bytes - ParitySetup::AROUND_BYTES,
    };
    let for_data = geometries.iter().map(|geometry| {
        let kept_slots = setup.kept_slots(geometry.slot_bytes, geometry.slot_count);
        let slot_count = geometry.slot_count - kept_slots;
        let in_front = Geometry {
            slot_count,
            ..*geometry
        };
        appends(&in_front, append_bytes)
    });
    let mut members: Vec<u64> = for_data.collect();
    members.sort_unstable();
    members.truncate(members.len().saturating_sub(usize::from(parities)));
    let payload_bytes = payload_room(setup.append_bytes as usize) as u64;
    members.iter().sum::<u64>() * payload_bytes
}

/// How many appends of a size find space on a member.
fn appends(geometry: &Geometry, append_bytes: u32) -> u64 {
    let slot_bytes = geometry.slot_bytes;
    let appends_in = |bytes: u32| u64::from(bytes / append_bytes);
    let start_bytes = append_bytes_for(1, 0);
    let end_bytes = reserve_bytes(1, geometry);
    let between = geometry.slot_count.saturating_sub(2);
    appends_in(slot_bytes - start_bytes)
        + between * appends_in(slot_bytes)
        + appends_in(slot_bytes - end_bytes)
}
