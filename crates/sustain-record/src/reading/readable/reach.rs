//! The slots of an earlier lap in which a recorder may have been writing when it was cut off.

use std::ops::Range;

use crate::format::SlotCourse;
use crate::opening::{PATIENCE_SLOTS, Recording, StreamExtent};
use crate::store::OpenMember;

/// The reach of a cut on one member: docs/format.md, "The ring".
pub(super) struct CutReach {
    /// From the first slot that is written next, a lap before, to behind the last one.
    slots: Range<u64>,
    slot_count: u64,
    course: SlotCourse,
}

impl CutReach {
    /// The slots next in order, up to where the recorder would have had to wait for a flush, or for
    /// the next copy of the start; none if it cannot have been writing over anything.
    pub(super) fn of(member: &OpenMember, recordings: &[Recording]) -> Option<CutReach> {
        // Of one that is not there it cannot be told what a power cut has hit.
        if member.rebuilt.is_some() {
            return None;
        }
        let geometry = &member.superblock.geometry;
        let course = member.superblock.course();
        let reach = |(recording, extent): (&Recording, StreamExtent)| {
            let may_be_ring = recording.ring || recording.started_ns.is_none();
            let has_ended = extent.has_end && !recording.is_recovered();
            if !may_be_ring || recording.under_way || has_ended {
                return None;
            }
            // The end mark of recovering has taken one of the slots.
            let slots = PATIENCE_SLOTS - u64::from(extent.has_end);
            let by_start = extent.start.map_or(u64::MAX, |start| {
                let repeats_at = start.slot_serial + geometry.start_repeat_slots();
                course.at_or_after(repeats_at).unwrap_or(u64::MAX)
            });
            Some(by_start.min(course.ahead(extent.last.slot_serial, slots)))
        };
        let extents = recordings.iter().filter_map(|recording| {
            let extent = recording.per_member.get(member.index()).copied().flatten();
            extent.map(|extent| (recording, extent))
        });
        let newest = extents
            .clone()
            .map(|(_, extent)| extent.last.slot_serial)
            .max()?;
        // A recording may have been cut off while it wrote its first start, in the last slot that
        // the superblock counts as begun.
        let first_start = member.superblock.slots_begun.checked_sub(1);
        let last = extents.filter_map(reach).chain(first_start).max()?;
        let slot_count = geometry.slot_count;
        let start = (newest + 1).saturating_sub(slot_count);
        let end = (last + 1).saturating_sub(slot_count).min(newest + 1);
        (start < end).then_some(CutReach {
            slots: start..end,
            slot_count,
            course,
        })
    }

    /// Whether a slot lies between the first and the last one that may be hit.
    pub(super) fn spans(&self, slot_serial: u64) -> bool {
        self.slots.contains(&slot_serial)
    }

    /// Whether the recorder may have been writing over a slot. It leaves out what pins keep.
    pub(super) fn may_be_hit(&self, slot_serial: u64) -> bool {
        self.spans(slot_serial) && self.is_written(slot_serial.saturating_add(self.slot_count))
    }

    /// The slots that tell what was hit. The first append behind those that may be hit tells of the
    /// last ones in them.
    pub(super) fn slots_to_read(&self) -> Vec<u64> {
        let slots = self.slots.clone().filter(|serial| self.is_written(*serial));
        slots
            .chain(self.course.at_or_after(self.slots.end))
            .collect()
    }

    fn is_written(&self, slot_serial: u64) -> bool {
        self.course.at_or_after(slot_serial) == Some(slot_serial)
    }
}
