//! Checks what pins keep. Most of it only they have: the ring has gone on. What the ring still has,
//! too, or another pin, is read and told once.

use std::collections::BTreeMap;
use std::ops::Range;

use serde::Serialize;

use super::{
    Checkable, Discrepancy, VerifiedRecording, VerifyBasis, VerifyResult, check_recording,
};
use crate::error::RecordError;
use crate::opening::Recording;
use crate::reading::kept::{FoundOfPin, KeptByPin};
use crate::reading::scope::Scope;
use crate::store::OpenMember;

/// Why a pin is not whole of which no append can be read.
const NOTHING_FOUND: &str = "nothing of what the pin keeps is found on the members that are here";

/// The findings for what a pin keeps.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct VerifiedPin {
    /// Its number.
    pub number: u32,
    /// The times that it was set for, in nanoseconds since 1970.
    pub from_time_ns: i64,
    /// The end of the same.
    pub to_time_ns: i64,
    /// Whether its end was open.
    pub is_open: bool,
    /// The space that it takes in the ring.
    pub kept_bytes: u64,
    /// Whether all of it was checked, and nothing of it is damaged or missing.
    pub is_whole: bool,
    /// What was found of recordings, oldest first, but of those that the ring still has in the same
    /// place, or a pin before this one: they are told there.
    pub recordings: Vec<VerifiedRecording>,
    /// What is found of all that it keeps, wherever that is told.
    pub found: FoundOfPin,
}

/// The readings that were made, and the slots that they read: by member, the ranges of their
/// serials.
#[derive(Default)]
pub(super) struct ReadSlots<'a> {
    by_member: BTreeMap<usize, Vec<Range<u64>>>,
    recordings: Vec<&'a Recording>,
}

impl<'a> ReadSlots<'a> {
    pub(super) fn add(&mut self, recording: &'a Recording, scope: &Scope) {
        self.recordings.push(recording);
        for member in &scope.members {
            let of_member = self.by_member.entry(member.index).or_default();
            of_member.push(member.slots.clone());
        }
    }

    /// Whether one reading had all that a pin keeps of a recording. A ring may begin behind it in
    /// the same slot, and what lies below that is overwritten to the ring and whole to the pin.
    fn have_all_of(&self, kept: &Recording) -> bool {
        self.recordings.iter().any(|read| reaches_over(read, kept))
    }

    /// Of the slots of a scope, the bytes of those that were not read yet.
    pub(super) fn unread_bytes(&self, scope: &Scope) -> u64 {
        let unread = scope.members.iter().map(|member| {
            let read = self.by_member.get(&member.index);
            let is_read = |serial: u64| {
                let mut ranges = read.into_iter().flatten();
                ranges.any(|range| range.contains(&serial))
            };
            let slots = member.slots.clone().filter(|serial| !is_read(*serial));
            slots.count() as u64 * u64::from(member.identity.geometry.slot_bytes)
        });
        unread.sum()
    }
}

/// Whether what can be read of one recording has all that can be read of the other.
fn reaches_over(read: &Recording, kept: &Recording) -> bool {
    let are_streams_read = kept.streams.iter().enumerate().all(|(number, kept)| {
        read.streams.get(number).is_some_and(|read| {
            read.readable_from_bytes <= kept.readable_from_bytes
                && read.offered_bytes >= kept.offered_bytes
        })
    });
    let mut members = kept.per_member.iter().zip(&read.per_member);
    // What is missing further back may be overwritten to the one that was read. Where a crash took
    // all that the pin had on a member, what lay before it there is none of the pin's.
    let is_everywhere = members
        .clone()
        .all(|(kept, read)| kept.is_some() || read.is_none());
    read.id == kept.id
        && read.readable_from_sequence <= kept.readable_from_sequence
        && are_streams_read
        && members.all(|(kept, read)| match (kept, read) {
            (None, _) => true,
            (Some(_), None) => false,
            (Some(kept), Some(read)) => {
                let may_excuse = is_everywhere && read.kept_from_slot > kept.kept_from_slot;
                read.first <= kept.first && read.last >= kept.last && !may_excuse
            }
        })
}

/// Checks what pins keep and was not read yet. `report` is told how much is checked and returns
/// whether the check goes on. Returns whether it came to its end.
pub(super) fn check_pins<'a>(
    store: Checkable<'a>,
    given: VerifyBasis,
    mut read: ReadSlots<'a>,
    result: &mut VerifyResult,
    report: &mut dyn FnMut(u64, u64) -> bool,
) -> Result<bool, RecordError> {
    for kept in store.pins {
        let pin = &kept.pin;
        result.pins.push(VerifiedPin::begun(kept));
        for name in &pin.unknown_on {
            result.add(Discrepancy::of_old_member(pin.number, name));
        }
        if pin.is_end_told && kept.recordings.is_empty() {
            result.add(Discrepancy {
                pin: Some(pin.number),
                ..Discrepancy::of_store(None, NOTHING_FOUND)
            });
        }
        let mut oldest_first: Vec<&Recording> = kept.recordings.iter().collect();
        oldest_first.sort_by_key(|recording| recording.number);
        for recording in oldest_first {
            result.notes.extend(kept.cut_notices(recording.number));
            if let Some(why) = store.unknown_end(recording) {
                result.add(Discrepancy {
                    pin: Some(pin.number),
                    ..Discrepancy::of_store(Some(recording.number), &why)
                });
            }
            let scope = Scope::of(recording, store.members, store.machines, store.clock);
            let unread_bytes = read.unread_bytes(&scope);
            if unread_bytes == 0 && read.have_all_of(recording) {
                continue;
            }
            read.add(recording, &scope);
            let before_bytes = result.checked_bytes;
            let mut own = VerifyResult::begun(Vec::new());
            let mut reported =
                |bytes: u64, bad: u64| report(before_bytes + bytes.min(unread_bytes), bad);
            let is_complete = check_recording(recording, &scope, given, &mut own, &mut reported)?;
            result.checked_bytes += own.checked_bytes.min(unread_bytes);
            result.take_pinned(pin.number, own);
            if !is_complete {
                return Ok(false);
            }
        }
    }
    Ok(true)
}

/// Tells which flaws lie in what pins keep, and which pins are whole.
pub(super) fn judge_pins(store: Checkable<'_>, result: &mut VerifyResult) {
    let is_all_told =
        result.complete && result.bad_unlisted == 0 && result.not_durable_unlisted == 0;
    for (kept, pin) in store.pins.iter().zip(&mut result.pins) {
        pin.is_whole = is_all_told;
        // What a crash took, or damage to what it left, is missing from the pin all the same.
        for bad in result.bad.iter_mut().chain(&mut result.not_durable) {
            if bad.pin == Some(pin.number) || lies_in(bad, kept, store.members) {
                bad.pin.get_or_insert(pin.number);
                pin.is_whole = false;
            }
        }
    }
}

/// Whether a flaw lies in the slots that a pin keeps, or, where its place is not known, in the
/// bytes.
fn lies_in(bad: &Discrepancy, kept: &KeptByPin, members: &[OpenMember]) -> bool {
    let mut recordings = kept.recordings.iter();
    let Some(recording) = recordings.find(|one| Some(one.number) == bad.recording) else {
        return false;
    };
    if let (Some(member), Some(offset_bytes)) = (&bad.member, bad.offset_bytes) {
        let named = members.iter().find(|one| one.name == *member);
        return named.is_some_and(|named| is_kept_there(named, recording, offset_bytes));
    }
    let stream = bad
        .stream
        .and_then(|stream| recording.streams.get(usize::from(stream)));
    stream.is_some_and(|stream| {
        bad.from_byte < Some(stream.offered_bytes) && bad.to_byte > Some(stream.readable_from_bytes)
    })
}

fn is_kept_there(member: &OpenMember, recording: &Recording, offset_bytes: u64) -> bool {
    let geometry = &member.superblock.geometry;
    let extent = recording.per_member.get(member.index()).copied().flatten();
    let in_slots_bytes = offset_bytes.checked_sub(geometry.first_slot_offset_bytes);
    let (Some(extent), Some(in_slots_bytes)) = (extent, in_slots_bytes) else {
        return false;
    };
    let slot = in_slots_bytes / u64::from(geometry.slot_bytes);
    let first_slot = extent.first.slot_serial % geometry.slot_count;
    let distance = (slot + geometry.slot_count - first_slot) % geometry.slot_count;
    extent.first.slot_serial + distance <= extent.last.slot_serial
}

impl VerifiedPin {
    fn begun(kept: &KeptByPin) -> VerifiedPin {
        let pin = &kept.pin;
        VerifiedPin {
            number: pin.number,
            from_time_ns: pin.from_time_ns,
            to_time_ns: pin.to_time_ns,
            is_open: pin.is_open,
            kept_bytes: pin.kept_bytes,
            is_whole: false,
            recordings: Vec::new(),
            found: FoundOfPin::of(&kept.recordings),
        }
    }
}

impl VerifyResult {
    /// Takes what was found of a recording that a pin keeps. What the ring has in the same place is
    /// told already.
    fn take_pinned(&mut self, number: u32, own: VerifyResult) {
        if let Some(pin) = self.pins.last_mut() {
            pin.recordings.extend(own.recordings);
        }
        let of_pin = |bad: Discrepancy| Discrepancy {
            pin: Some(number),
            ..bad
        };
        for bad in own.bad.into_iter().map(of_pin) {
            match self.bad.iter_mut().find(|reported| reported.is_same(&bad)) {
                Some(reported) => reported.pin = reported.pin.or(bad.pin),
                None => self.add(bad),
            }
        }
        for torn in own.not_durable.into_iter().map(of_pin) {
            if !self
                .not_durable
                .iter()
                .any(|reported| reported.is_same(&torn))
            {
                self.not_durable.push(torn);
            }
        }
        self.bad_unlisted += own.bad_unlisted;
        self.not_durable_unlisted += own.not_durable_unlisted;
    }
}

impl Discrepancy {
    /// A pin of which a member does not know, because an earlier state of it was put back. What it
    /// had of the pin may be lost without a trace: where it alone had the last of what is pinned,
    /// no other member tells of that.
    fn of_old_member(pin: u32, name: &str) -> Discrepancy {
        Discrepancy {
            member: Some(name.to_owned()),
            pin: Some(pin),
            ..Discrepancy::of_store(
                None,
                "an earlier state of the member, which does not know of the pin, was put back: \
                 what it had of the pin is not checked",
            )
        }
    }

    /// Whether it is the same flaw, met once more.
    fn is_same(&self, other: &Discrepancy) -> bool {
        let place = |bad: &Discrepancy| (bad.member.clone(), bad.offset_bytes);
        let lost = |bad: &Discrepancy| (bad.recording, bad.stream, bad.from_byte, bad.to_byte);
        place(self) == place(other) && lost(self) == lost(other)
    }
}
