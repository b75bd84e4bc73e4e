//! Where a recording begins once a ring has begun to write over it.

use uuid::Uuid;

use crate::format::{AppendPlace, Position};
use crate::opening::Recording;

/// Where a recording begins by now, as one member tells.
#[derive(Debug)]
pub(super) struct ReadableStart {
    pub(super) recording_id: Uuid,
    /// Place of the member in the table of members.
    pub(super) member: usize,
    /// Behind the last append that is not whole.
    pub(super) place: AppendPlace,
    pub(super) sequence: u64,
    /// How far each stream had come there; none if nothing of the recording is left behind.
    pub(super) positions: Option<Vec<Position>>,
}

impl ReadableStart {
    /// Lets the recording begin there, if it began before.
    pub(super) fn apply(&self, recordings: &mut [Recording]) {
        let mut recordings = recordings.iter_mut();
        let Some(recording) = recordings.find(|one| one.id == self.recording_id) else {
            return;
        };
        recording.readable_from_sequence =
            recording.readable_from_sequence.max(Some(self.sequence));
        for (number, stream) in recording.streams.iter_mut().enumerate() {
            let from = match &self.positions {
                Some(positions) => positions.get(number).copied().unwrap_or_default(),
                None => Position {
                    next_offset_bytes: stream.offered_bytes,
                    frames: stream.frames,
                    gap_bytes: stream.gap_bytes,
                    ..Position::default()
                },
            };
            if from.next_offset_bytes > stream.readable_from_bytes {
                stream.readable_from_bytes = from.next_offset_bytes;
                stream.readable_from_frame = from.frames;
                stream.readable_from_gap_bytes = from.gap_bytes;
                let before_bytes = from.next_offset_bytes.saturating_sub(from.gap_bytes);
                let left_bytes = stream.recorded_bytes.saturating_sub(before_bytes);
                stream.hole_bytes = stream.hole_bytes.min(left_bytes);
                stream.absent_bytes = stream.absent_bytes.min(left_bytes);
            }
        }
        if let Some(extent) = recording.per_member[self.member].as_mut() {
            extent.first = extent.first.max(self.place);
            extent.is_overwritten = true;
        }
    }
}
