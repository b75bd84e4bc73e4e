//! How much of one recording's data a new member takes, by the arithmetic of the recorder and its
//! format. `create` says it.

use super::member::reserve_bytes;
use crate::format::{Geometry, append_bytes_for, payload_room};

/// The payload of one stream without frames that a member takes which has no recording yet, if
/// every append is as large as `append_bytes`, or as a slot where that is smaller.
///
/// A start lies before the data in the first slot, and the last one keeps space for the end mark.
/// What is too short for an append at the end of a slot stays empty.
pub fn data_bytes(geometry: &Geometry, append_bytes: u32) -> u64 {
    let slot_bytes = geometry.slot_bytes;
    let append_bytes = append_bytes.min(slot_bytes);
    let appends_in = |bytes: u32| u64::from(bytes / append_bytes);
    let start_bytes = append_bytes_for(1, 0);
    let end_bytes = reserve_bytes(1, geometry);
    let between = geometry.slot_count.saturating_sub(2);
    let appends = appends_in(slot_bytes - start_bytes)
        + between * appends_in(slot_bytes)
        + appends_in(slot_bytes - end_bytes);
    appends * payload_room(append_bytes as usize) as u64
}
