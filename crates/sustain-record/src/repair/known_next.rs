//! What a member is known to have behind slots of which nothing is known. Pure.

use crate::format::{AppendPlace, Descriptor};

/// What the member is known to have next behind a slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct KnownNext {
    /// The first slot that its recording is known to have.
    pub(super) from_slot: u64,
    /// The slot in which it was found.
    pub(super) found_slot: u64,
    pub(super) recording: u32,
    /// The newest start before it.
    pub(super) start: Option<AppendPlace>,
    /// Where the last append of the recording before lay, if this is the first start of its own,
    /// which names that.
    pub(super) last_before: Option<AppendPlace>,
}

impl KnownNext {
    pub(super) fn of(found: &Descriptor) -> KnownNext {
        let found_slot = found.place.slot_serial;
        let start_slot = found.start.map(|start| start.slot_serial);
        KnownNext {
            from_slot: start_slot.map_or(found_slot, |start| start.min(found_slot)),
            found_slot,
            recording: found.recording,
            start: found.start,
            last_before: found.previous.filter(|_| found.is_first_start()),
        }
    }
}
