//! The notes about earlier recordings in the starts of a ring. A ring overwrites their starts while
//! data of theirs is still there, and without a start nothing knows the names of their streams.

use crate::error::RecordError;
use crate::format::{EarlierNote, StartNote, StreamNote};
use crate::opening::{Recording, StreamSummary};
use crate::recorder::member::MemberWriter;
use crate::store::Store;

/// The fraction of a slot that a start may use for earlier recordings.
const SLOT_PARTS: usize = 8;

/// One recording that is on the store already.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Earlier {
    pub(super) note: EarlierNote,
    /// The slots of its first and last append on each member; `None` on a member that has nothing
    /// of it.
    pub(super) slots: Vec<Option<(u64, u64)>>,
}

impl Earlier {
    /// Returns all recordings of a store whose streams are known, oldest first.
    ///
    /// # Errors
    /// [`RecordError::Engine`]. Blocks that cannot be read count as empty.
    pub fn of_store(store: &mut Store) -> Result<Vec<Earlier>, RecordError> {
        let newest_first = match store.recordings() {
            Ok(recordings) => recordings,
            // It is not known which of the two recordings a number means, so no start names them.
            Err(RecordError::RecordedApart { .. }) => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        let mut earlier: Vec<Earlier> = newest_first.iter().filter_map(Earlier::of).collect();
        for pin in store.pins() {
            let pinned = store.pinned(pin.number)?;
            earlier.extend(pinned.iter().filter_map(Earlier::of));
        }
        earlier.sort_by_key(|one| one.note.number);
        Ok(earlier)
    }

    /// Returns `None` if the streams of the recording are not known.
    fn of(recording: &Recording) -> Option<Earlier> {
        let streams: Option<Vec<StreamNote>> = recording.streams.iter().map(stream_note).collect();
        let extents = recording.per_member.iter();
        Some(Earlier {
            note: EarlierNote {
                id: recording.id,
                number: recording.number,
                started_ns: recording.started_ns?,
                ring: recording.ring,
                streams: streams?,
                absent: recording.absent.clone(),
            },
            slots: extents
                .map(|extent| {
                    extent.map(|extent| (extent.first.slot_serial, extent.last.slot_serial))
                })
                .collect(),
        })
    }

    pub(super) fn is_left(&self, members: &[MemberWriter]) -> bool {
        let mut slots = members.iter().zip(&self.slots);
        slots.any(|(member, slots)| {
            let slot_count = member.setup.geometry.slot_count;
            slots.is_some_and(|(first, last)| {
                member.slots_begun() <= last.saturating_add(slot_count)
                    || member.keeps_any(first, last)
            })
        })
    }
}

fn stream_note(stream: &StreamSummary) -> Option<StreamNote> {
    Some(StreamNote {
        name: stream.name.clone(),
        framing: stream.framing.clone()?,
        source: None,
    })
}

/// Adds as many earlier recordings to a start as it can hold. The oldest come first, because their
/// starts are overwritten first. Those of which nothing is left are passed over in favour of the
/// next.
pub(super) fn add_earlier(
    earlier: &[Earlier],
    members: &[MemberWriter],
    start: &mut StartNote,
    note_bytes_max: usize,
) {
    let slots = members
        .iter()
        .map(|member| member.setup.geometry.slot_bytes);
    let share_bytes = slots.min().unwrap_or(0) as usize / SLOT_PARTS;
    let own_bytes = start.to_json().len();
    let note_bytes_max = note_bytes_max.min(own_bytes + share_bytes);
    for one in earlier.iter().filter(|one| one.is_left(members)) {
        // What a pin keeps of a recording is there beside what the ring has of it.
        if start.earlier.iter().any(|known| known.id == one.note.id) {
            continue;
        }
        start.earlier.push(one.note.clone());
        if start.to_json().len() > note_bytes_max {
            start.earlier.pop();
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use uuid::Uuid;

    use super::*;
    use crate::format::{Geometry, Superblock};
    use crate::recorder::member::MemberSetup;

    const SLOT_BYTES: u32 = 64 << 10;
    const ROOM_BYTES: usize = 28 << 10;

    fn member(next_slot_serial: u64) -> MemberWriter {
        let geometry = Geometry::of_member(16 << 20, SLOT_BYTES).unwrap();
        let setup = MemberSetup {
            name: "sda".to_owned(),
            uuid: Uuid::nil(),
            geometry,
            next_slot_serial,
            previous: None,
            previous_start: None,
            follows_end: false,
            end_slot: None,
            shares_errors: false,
            file: None,
            is_left_alone: false,
            superblock: Superblock {
                store: Uuid::nil(),
                member: Uuid::nil(),
                generation: 1,
                created_ns: 0,
                geometry,
                member_index: 0,
                members: vec![Uuid::nil()],
                is_prewritten: false,
                has_ended: false,
                slots_begun: 0,
                recordings_begun: 0,
                end_slot: None,
                pins: Vec::new(),
                pins_numbered: 0,
                parities: 0,
                slot_counts: Vec::new(),
                repaired_slots: 0,
                is_being_repaired: false,
                first_recording: 0,
                retired: BTreeSet::new(),
                behind: BTreeSet::new(),
            },
            slot_times: Default::default(),
        };
        MemberWriter::new(setup, 1, true, 0)
    }

    /// Recordings of one slot each, with the numbers of their slots.
    fn recordings(numbers: std::ops::Range<u32>) -> Vec<Earlier> {
        let recording = |number: u32| Earlier {
            note: EarlierNote {
                id: Uuid::from_u128(number.into()),
                number,
                started_ns: 0,
                ring: false,
                streams: Vec::new(),
                absent: Vec::new(),
            },
            slots: vec![Some((number.into(), number.into()))],
        };
        numbers.map(recording).collect()
    }

    fn told(next_slot_serial: u64) -> StartNote {
        let mut start = StartNote {
            started_ns: 0,
            tool: String::new(),
            ring: true,
            parities: 0,
            streams: Vec::new(),
            previous_start: None,
            follows_end: None,
            end_slot: None,
            copies_of: None,
            absent: Vec::new(),
            earlier: Vec::new(),
        };
        let members = [member(next_slot_serial)];
        add_earlier(&recordings(0..200), &members, &mut start, ROOM_BYTES);
        start
    }

    #[test]
    fn a_start_tells_of_the_oldest_recordings_that_are_left_and_of_no_more_than_fit() {
        let slot_count = member(0).setup.geometry.slot_count;
        let first = told(200);
        let count = first.earlier.len();
        assert!((10..200).contains(&count), "{count}");
        assert!(first.to_json().len() <= SLOT_BYTES as usize / SLOT_PARTS + 100);
        assert_eq!(first.earlier[0].number, 0);
        // The slot of recording 2 was the last one to be used again.
        let later = told(slot_count + 3);
        assert_eq!(later.earlier[0].number, 3);
        assert!(told(slot_count + 200).earlier.is_empty());
    }
}
