//! What groups name on a member although nothing of it is left there: a power cut has taken it, and
//! a later recording has begun in its place. Pure.

use crate::format::{AppendPlace, GroupEntry};

/// An append of data on a member, as a group names it.
#[derive(Debug, Clone, Copy)]
pub(super) struct NamedAppend {
    pub(super) entry: GroupEntry,
    /// The sequence of the append that joined its group first.
    pub(super) group: u64,
    /// Its position there.
    pub(super) position: usize,
    /// The number of its recording, if that is known.
    pub(super) recording: Option<u32>,
}

/// Those of the appends on one member that may be left, in the order of their places: what came
/// later lies farther on, and a recording begins in a slot of its own.
pub(super) fn left_of(mut named: Vec<NamedAppend>) -> Vec<NamedAppend> {
    named.sort_by_key(|one| std::cmp::Reverse(one.entry.sequence));
    let mut next: Option<AppendPlace> = None;
    let mut slot_of: Option<(u64, u32)> = None;
    named.retain(|one| {
        let place = one.entry.place;
        // Its start lies before all else of it in that slot, and no list tells of starts.
        let has_later = slot_of.zip(one.recording).is_some_and(|(later, own)| {
            let (slot_serial, recording) = later;
            slot_serial == place.slot_serial && own < recording
        });
        let is_left = !has_later && next.is_none_or(|next| lies_before(&one.entry, next));
        if is_left {
            next = Some(place);
            slot_of = one
                .recording
                .map(|own| (place.slot_serial, own))
                .or(slot_of);
        }
        is_left
    });
    named.reverse();
    named
}

/// Whether all of an append lies before a place.
fn lies_before(entry: &GroupEntry, place: AppendPlace) -> bool {
    let end = AppendPlace {
        slot_offset_bytes: entry
            .place
            .slot_offset_bytes
            .saturating_add(entry.append_bytes),
        ..entry.place
    };
    match end.slot_serial == place.slot_serial {
        true => end <= place,
        false => end < place,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The sequences of those that are left of appends of 8192 bytes: each has a slot, an offset
    /// there, a sequence, and a recording.
    fn left(named: &[(u64, u32, u64, Option<u32>)]) -> Vec<u64> {
        let named =
            named.iter().map(
                |(slot_serial, slot_offset_bytes, sequence, recording)| NamedAppend {
                    entry: GroupEntry {
                        member: 0,
                        place: AppendPlace {
                            slot_serial: *slot_serial,
                            slot_offset_bytes: *slot_offset_bytes,
                        },
                        append_bytes: 8192,
                        sequence: *sequence,
                        descriptor_crc: 0,
                    },
                    group: *sequence,
                    position: 0,
                    recording: *recording,
                },
            );
        let left = left_of(named.collect()).into_iter();
        left.map(|one| one.entry.sequence).collect()
    }

    #[test]
    fn what_a_later_append_lies_on_or_before_is_not_left() {
        let own = Some(1);
        let later = [(3, 8192, 70, own), (2, 0, 50, own)];
        assert_eq!(left(&later), [50, 70]);
        for taken in [(3, 8192, 60, own), (3, 4096, 60, own), (4, 0, 60, own)] {
            assert_eq!(left(&[later[0], later[1], taken]), [50, 70]);
        }
        assert_eq!(left(&[later[0], later[1], (3, 0, 60, own)]), [50, 60, 70]);
    }

    #[test]
    fn nothing_is_left_of_an_earlier_recording_in_the_slot_of_a_later_one() {
        // The start of the later recording lies where the earlier one had its last append.
        let earlier = [(2, 0, 50, Some(1)), (3, 0, 60, Some(1))];
        let later = [(3, 8192, 70, Some(2)), (3, 16384, 71, Some(2))];
        let all = [earlier[0], earlier[1], later[0], later[1]];
        assert_eq!(left(&all), [50, 70, 71]);
        // Copies do not tell of which recording the data was.
        let unknown = (3, 0, 60, None);
        assert_eq!(left(&[earlier[0], unknown, later[0]]), [50, 60, 70]);
        let between = (3, 16384, 71, None);
        assert_eq!(
            left(&[earlier[0], earlier[1], later[0], between]),
            [50, 70, 71]
        );
    }
}
