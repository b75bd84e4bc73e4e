//! Tells what a ring has overwritten during the check from damage, by opening its members again. It
//! excuses only what lies below the place where the oldest data begins by then.

use super::{Checkable, Discrepancy, VerifyResult};
use crate::opening::{Recording, StreamExtent};
use crate::store::Store;

/// A write that was in flight when the members were opened again shows when it is done.
const LOOKS_MAX: u32 = 10;
const PAUSE_NS: u64 = 100_000_000;

/// Turns flaws that a recorder has made by writing on in a ring into overwritten bytes. Where the
/// members cannot be opened again, nothing is excused.
pub(super) fn excuse_overwritten(store: Checkable<'_>, result: &mut VerifyResult) {
    for look in 0..LOOKS_MAX {
        let has_more = look == 0 && !result.not_durable.is_empty();
        if result.bad.is_empty() && !has_more {
            return;
        }
        if look > 0 {
            store.clock.wait_until(store.clock.now() + PAUSE_NS);
        }
        let Ok(meanwhile) = Meanwhile::look(store) else {
            return;
        };
        // Without a recorder nothing will change.
        if !meanwhile.has_moved() {
            return;
        }
        meanwhile.excuse(result);
    }
}

/// Where the rest of a stream begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RemainingFrom {
    /// Below this byte it has been overwritten, at least in part.
    pub from_bytes: u64,
    /// Frames that began below that byte.
    pub from_frame: u64,
}

/// Where the rest of a stream of a recording begins by now; `None` if a ring has overwritten
/// nothing since these recordings were found, or that cannot be found out.
pub fn left_by_now(
    store: Checkable<'_>,
    recording: &Recording,
    stream: u16,
) -> Option<RemainingFrom> {
    let meanwhile = Meanwhile::look(store).ok()?;
    let has_moved = meanwhile.has_moved_in(recording);
    has_moved.then(|| meanwhile.left(recording, stream))
}

/// Where the oldest data begins by now.
struct Meanwhile<'a> {
    store: Checkable<'a>,
    /// The oldest slot of each member that has not been overwritten.
    oldest_serials: Vec<u64>,
    recordings: Vec<Recording>,
    /// The pins that are still set.
    pins: Vec<u32>,
}

impl<'a> Meanwhile<'a> {
    fn look(store: Checkable<'a>) -> Result<Meanwhile<'a>, crate::error::RecordError> {
        let mut anew = Store::open_anew(store.members, store.machines, store.clock)?;
        // Members keep the order of the store's table.
        let members = store.members.iter().map(|member| {
            let place = |other: &crate::store::OpenMember| other.index() == member.index();
            let tail = anew.members.iter().position(place);
            let next_serial = tail.map_or(0, |tail| anew.tails[tail].next_slot_serial);
            next_serial.saturating_sub(member.superblock.geometry.slot_count)
        });
        Ok(Meanwhile {
            store,
            oldest_serials: members.collect(),
            recordings: anew.recordings()?,
            pins: anew.pins().into_iter().map(|pin| pin.number).collect(),
        })
    }

    fn has_moved(&self) -> bool {
        let pinned = self.store.pins.iter().flat_map(|kept| &kept.recordings);
        let mut recordings = self.store.recordings.iter().chain(pinned);
        recordings.any(|recording| self.has_moved_in(recording))
    }

    /// Whether slots of this recording have been overwritten.
    fn has_moved_in(&self, recording: &Recording) -> bool {
        if recording.pin.is_some_and(|pin| self.pins.contains(&pin)) {
            return false;
        }
        let mut members = self.store.members.iter().zip(&self.oldest_serials);
        members.any(|(member, oldest_serial)| {
            let extent = recording.per_member.get(member.index()).copied().flatten();
            extent.is_some_and(|extent| extent.first.slot_serial < *oldest_serial)
        })
    }

    fn excuse(&self, result: &mut VerifyResult) {
        let bad = std::mem::take(&mut result.bad);
        result.bad = self.left_of(bad, |bad| enter_overwritten(result, bad, false));
        let torn = std::mem::take(&mut result.not_durable);
        result.not_durable = self.left_of(torn, |bad| enter_overwritten(result, bad, true));
    }

    /// Returns the flaws, or parts of flaws, that have not been overwritten; the others go to
    /// `overwritten`.
    fn left_of(
        &self,
        flaws: Vec<Discrepancy>,
        mut overwritten: impl FnMut(&Discrepancy),
    ) -> Vec<Discrepancy> {
        let mut left = Vec::new();
        for bad in flaws {
            let (below, above) = self.divide(bad);
            below.iter().for_each(&mut overwritten);
            left.extend(above);
        }
        left
    }

    /// Divides a flaw into what has been overwritten, and what has not.
    fn divide(&self, bad: Discrepancy) -> (Option<Discrepancy>, Option<Discrepancy>) {
        let of_bad = |recording: &&Recording| Some(recording.number) == bad.recording;
        let mut pins = self.store.pins.iter();
        let recordings = match bad.pin {
            None => self.store.recordings,
            Some(number) => pins
                .find(|kept| kept.pin.number == number)
                .map_or(&[][..], |kept| &kept.recordings),
        };
        let Some(recording) = recordings.iter().find(of_bad) else {
            return (None, Some(bad));
        };
        if !self.has_moved_in(recording) {
            return (None, Some(bad));
        }
        match bad.stream {
            Some(stream) if bad.from_byte < bad.to_byte => {
                super::torn::divide(bad, self.readable_from_bytes(recording, stream))
            }
            _ if self.is_place_overwritten(recording, &bad) => (Some(bad), None),
            _ => (None, Some(bad)),
        }
    }

    fn left(&self, recording: &Recording, stream: u16) -> RemainingFrom {
        let mut recordings = self.recordings.iter();
        let is_pinned = recording.pin.is_some_and(|pin| self.pins.contains(&pin));
        let now = recordings.find(|now| now.id == recording.id && !is_pinned);
        let stream = now.and_then(|now| now.streams.get(usize::from(stream)));
        match stream {
            Some(stream) => RemainingFrom {
                from_bytes: stream.readable_from_bytes,
                from_frame: stream.readable_from_frame,
            },
            None if self.is_gone(recording) => RemainingFrom {
                from_bytes: u64::MAX,
                from_frame: u64::MAX,
            },
            None => RemainingFrom::default(),
        }
    }

    /// Below this byte the stream has been overwritten, at least in part.
    fn readable_from_bytes(&self, recording: &Recording, stream: u16) -> u64 {
        self.left(recording, stream).from_bytes
    }

    /// Whether all slots of a recording have been overwritten.
    fn is_gone(&self, recording: &Recording) -> bool {
        if recording.pin.is_some_and(|pin| self.pins.contains(&pin)) {
            return false;
        }
        let mut members = self.store.members.iter().zip(&self.oldest_serials);
        members.all(|(member, oldest_serial)| {
            let extent = recording.per_member.get(member.index()).copied().flatten();
            extent.is_none_or(|extent| extent.last.slot_serial < *oldest_serial)
        })
    }

    fn is_place_overwritten(&self, recording: &Recording, bad: &Discrepancy) -> bool {
        let mut members = self.store.members.iter().zip(&self.oldest_serials);
        let named = members.find(|(member, _)| Some(&member.name) == bad.member.as_ref());
        let (Some((member, oldest_serial)), Some(offset_bytes)) = (named, bad.offset_bytes) else {
            return false;
        };
        let geometry = member.superblock.geometry;
        let extent = recording.per_member.get(member.index()).copied().flatten();
        let (Some(extent), Some(in_slots_bytes)) = (
            extent,
            offset_bytes.checked_sub(geometry.first_slot_offset_bytes),
        ) else {
            return false;
        };
        // The serial that was in this slot when the check began.
        let slot = in_slots_bytes / u64::from(geometry.slot_bytes);
        let first_serial = extent.first.slot_serial;
        let first_slot = first_serial % geometry.slot_count;
        let distance = (slot + geometry.slot_count - first_slot) % geometry.slot_count;
        let in_first_lap = first_serial + distance;
        // A recording that has gone round has its newest in the slot where its oldest was.
        let laps_more = newest_serial(extent).saturating_sub(in_first_lap) / geometry.slot_count;
        let serial = in_first_lap + laps_more * geometry.slot_count;
        // What lies before the recording is of the lap before the slots that are not begun yet.
        let extents = self.store.recordings.iter().filter_map(|recording| {
            let extent = recording.per_member.get(member.index());
            extent.copied().flatten().map(newest_serial)
        });
        let is_ahead = extents.max().is_some_and(|newest| newest < serial);
        let laps = if is_ahead { geometry.slot_count } else { 0 };
        serial.saturating_sub(laps) < *oldest_serial
    }
}

/// The last slot of a recording. An end mark that is lost may have been all that its slot had.
fn newest_serial(extent: StreamExtent) -> u64 {
    let last = extent.last.max(extent.lost_end.unwrap_or(extent.last));
    last.slot_serial
}

/// Counts a lost stretch as overwritten from now on.
fn enter_overwritten(result: &mut VerifyResult, bad: &Discrepancy, is_torn: bool) {
    let (Some(from_byte), Some(to_byte), Some(stream)) = (bad.from_byte, bad.to_byte, bad.stream)
    else {
        return;
    };
    let recordings = match bad.pin {
        None => &mut result.recordings,
        Some(number) => {
            let mut pins = result.pins.iter_mut();
            match pins.find(|pin| pin.number == number) {
                Some(pin) => &mut pin.recordings,
                None => return,
            }
        }
    };
    let of_bad = recordings
        .iter_mut()
        .find(|recording| Some(recording.number) == bad.recording);
    if let Some(stream) =
        of_bad.and_then(|recording| recording.streams.get_mut(usize::from(stream)))
    {
        let lost_bytes = to_byte - from_byte;
        stream.hole_bytes = stream.hole_bytes.saturating_sub(lost_bytes);
        stream.overwritten_bytes += lost_bytes;
        if is_torn {
            stream.not_durable_bytes = stream.not_durable_bytes.saturating_sub(lost_bytes);
        }
    }
}
