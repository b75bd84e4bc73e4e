//! One member as the recorder sees it: where its next append goes, what is in flight on it, what is
//! written and not flushed, and whether it still works.

mod next_slot;
mod slot_time;
mod unflushed;

use std::collections::{BTreeMap, BTreeSet};

use sustain_disk::clock::Timestamp;
use sustain_disk::units::Size;
use uuid::Uuid;

use super::member_file::MemberFile;
use super::scatter::{RateEstimate, ScatterCandidate};
use crate::format::{
    AppendPlace, BLOCK_BYTES, Geometry, Kind, SlotCourse, Superblock, append_bytes_for,
};
use crate::opening::durable_end_slot;
use crate::store::{Store, next_slot};

/// A slot is not begun before the one this many slots back is flushed. So after a crash, nothing
/// lies further out than a search of this many slots.
pub const UNFLUSHED_SLOTS_MAX: u64 = 16;

/// What the recorder must know of a member before it begins.
#[derive(Debug, Clone)]
pub struct MemberSetup {
    /// The name as typed.
    pub name: String,
    /// Its own UUID.
    pub uuid: Uuid,
    /// Its slots.
    pub geometry: Geometry,
    /// The first slot that the recording may use.
    pub next_slot_serial: u64,
    /// The place of the last append on this member.
    pub previous: Option<AppendPlace>,
    /// The place of the start of the recording before, on this member.
    pub previous_start: Option<AppendPlace>,
    /// Whether the superblock tells that the end mark before became durable.
    pub follows_end: bool,
    /// The slot of the last end mark that became durable, if the superblock tells.
    pub end_slot: Option<u64>,
    /// Whether one durable write may be told of the error of another, so that they have to wait for
    /// each other.
    pub shares_errors: bool,
    /// The file of the member, if it is one.
    pub file: Option<MemberFile>,
    /// The superblock as it is on the member.
    pub superblock: Superblock,
    /// Whether nothing may be written on it, because it lacks what it was given before.
    pub is_left_alone: bool,
    /// When the slots that this run has begun got their first appends.
    pub(super) slot_times: SlotTimes,
}

impl MemberSetup {
    /// Describes all members of a store as opening has found them.
    pub fn of_store(store: &Store) -> Vec<MemberSetup> {
        let members = store.members.iter().zip(&store.tails);
        members
            .map(|(member, tail)| MemberSetup {
                name: member.name.clone(),
                uuid: member.superblock.member,
                geometry: member.superblock.geometry,
                next_slot_serial: next_slot(member, tail).unwrap_or(tail.next_slot_serial),
                previous: tail.last.as_ref().map(|last| last.place),
                previous_start: tail.start,
                follows_end: member.superblock.has_ended,
                end_slot: durable_end_slot(&member.superblock),
                shares_errors: member.target.is_cached(),
                file: MemberFile::of(&member.target, member.superblock.geometry.member_bytes),
                superblock: member.superblock.clone(),
                is_left_alone: store.is_left_alone(member),
                slot_times: SlotTimes::default(),
            })
            .collect()
    }
}

use slot_time::SlotTimes;
pub use sustain_document::record::MemberState;
pub(super) use unflushed::Unflushed;

/// How often a member did not answer for long.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Slowness {
    /// The number of times.
    pub times: u32,
    /// The longest time that a request was in flight then.
    pub longest_ns: u64,
}

/// A member while it is recorded on.
#[derive(Debug)]
pub(super) struct MemberWriter {
    pub(super) setup: MemberSetup,
    pub(super) state: MemberState,
    /// Whether a request has been in flight for so long that other members take its share.
    pub(super) is_slow: bool,
    pub(super) slowness: Slowness,
    /// Whether its requests are not waited for any longer.
    pub(super) is_given_up: bool,
    /// Whether its end mark is durable.
    pub(super) has_end: bool,
    /// Whether it was slow before it had a start, so that nobody waits for its start any more.
    is_start_waived: bool,
    ring: bool,
    /// The order in which its slots are written, as its superblock on the member tells.
    course: SlotCourse,
    /// The superblock that is being written.
    pub(super) renewing: Option<super::renewing::Renewing>,
    /// The slots that pins have left out since the recording began.
    slots_left_out: u64,
    /// Bytes kept free for the last accounts and the end mark.
    reserve_bytes: u32,
    /// Slots at its end that are kept free for the parity of what is open when it is full.
    parity_slots: u64,
    /// Those bytes of `reserve_bytes` that are kept for the end mark.
    end_bytes: u32,
    slot_serial: u64,
    slot_offset_bytes: u32,
    pub(super) previous: Option<AppendPlace>,
    pub(super) start: Option<AppendPlace>,
    /// The start or end mark that is being written.
    pub(super) marking: Option<Kind>,
    pub(super) in_flight: u32,
    pub(super) in_flight_bytes: u64,
    pub(super) rate: RateEstimate,
    /// Payload per stream that it was given in this recording.
    pub(super) stream_bytes: Vec<u64>,
    /// Of each stream, the payload on it that is durable.
    pub(super) durable_stream_bytes: Vec<u64>,
    /// All payload that is written on it.
    pub(super) written_bytes: u64,
    /// Whether its file was deleted or cut off.
    pub(super) is_harmed: bool,
    /// Payload that was durable on it and is lost with its file, at most.
    pub(super) lost_bytes: u64,
    /// The same by stream.
    pub(super) lost_stream_bytes: Vec<u64>,
    /// Written since the last flush was begun, oldest first.
    pub(super) unflushed: Vec<Unflushed>,
    /// The lowest slot in `unflushed`, whose appends complete in any order.
    unflushed_slot: Option<u64>,
    pub(super) unflushed_bytes: u64,
    pub(super) unflushed_since: Option<Timestamp>,
    /// What the flush in flight will make durable.
    pub(super) flushing: Option<Vec<Unflushed>>,
    /// The lowest slot in `flushing`.
    flushing_slot: Option<u64>,
    /// Sequences of appends that are in flight, or written and not flushed.
    undurable: BTreeSet<u64>,
    /// The newest sequence on it that is durable.
    newest_durable: u64,
    /// Slots of appends in flight, each with the number of appends.
    in_flight_slots: BTreeMap<u64, u32>,
    /// Slots whose first append the kernel never took, behind the last slot whose first append is
    /// durable. They look unused when the store is opened.
    headless_slots: BTreeSet<u64>,
}

impl MemberWriter {
    pub(super) fn new(
        setup: MemberSetup,
        streams: usize,
        ring: bool,
        reserve: u32,
    ) -> MemberWriter {
        MemberWriter {
            state: match setup.is_left_alone {
                true => MemberState::Full,
                false => MemberState::Active,
            },
            is_slow: false,
            slowness: Slowness::default(),
            is_given_up: false,
            has_end: false,
            is_start_waived: false,
            ring,
            course: setup.superblock.course(),
            renewing: None,
            slots_left_out: 0,
            reserve_bytes: reserve,
            parity_slots: 0,
            end_bytes: end_mark_bytes(streams),
            slot_serial: setup.next_slot_serial,
            slot_offset_bytes: 0,
            previous: setup.previous,
            start: None,
            marking: None,
            in_flight: 0,
            in_flight_bytes: 0,
            rate: RateEstimate::new(),
            stream_bytes: vec![0; streams],
            durable_stream_bytes: vec![0; streams],
            written_bytes: 0,
            is_harmed: false,
            lost_bytes: 0,
            lost_stream_bytes: vec![0; streams],
            unflushed: Vec::new(),
            unflushed_slot: None,
            unflushed_bytes: 0,
            unflushed_since: None,
            flushing: None,
            flushing_slot: None,
            undurable: BTreeSet::new(),
            newest_durable: 0,
            in_flight_slots: BTreeMap::new(),
            headless_slots: BTreeSet::new(),
            setup,
        }
    }

    /// The same member with so many slots kept for parity.
    pub(super) fn with_slots_for_parity(self, slots: u64) -> MemberWriter {
        MemberWriter {
            parity_slots: slots,
            ..self
        }
    }

    /// Whether an append of data fits in front of what is kept for the last accounts, and for
    /// parity.
    pub(super) fn has_room_for_data(&self, bytes: u32) -> bool {
        self.has_room(bytes, self.reserve_bytes) && self.leaves_slots_for_parity(bytes)
    }

    /// Whether an append of parity fits in front of what is kept for the last accounts.
    pub(super) fn has_room_for_parity(&self, bytes: u32) -> bool {
        self.has_room(bytes, self.reserve_bytes)
    }

    fn leaves_slots_for_parity(&self, bytes: u32) -> bool {
        let slot_count = self.setup.geometry.slot_count;
        let is_before = |place: AppendPlace| place.slot_serial + self.parity_slots < slot_count;
        self.parity_slots == 0 || self.ring || self.place_for(bytes).is_some_and(is_before)
    }

    /// Whether an account fits, and behind it still the end mark.
    pub(super) fn has_room_for_account(&self, bytes: u32) -> bool {
        self.has_room(bytes, self.end_bytes)
    }

    /// Whether a start or an end mark fits.
    pub(super) fn has_room_for_mark(&self, bytes: u32) -> bool {
        self.has_room(bytes, 0)
    }

    /// Whether a start with a note of this length fits.
    pub(super) fn has_room_for_start(&self, note_bytes: usize) -> bool {
        self.has_room_for_mark(append_bytes_for(note_bytes as u32, 0))
    }

    /// Takes the place for an append with this sequence.
    ///
    /// # Panics
    /// If there is no room for it, which is to be asked before.
    pub(super) fn take_place(
        &mut self,
        bytes: u32,
        sequence: u64,
        made_time_ns: i64,
    ) -> AppendPlace {
        self.undurable.insert(sequence);
        let place = self.place_for(bytes).expect("there is room for it");
        if place.slot_offset_bytes == 0 {
            let between = place.slot_serial.saturating_sub(self.slot_serial + 1);
            self.slots_left_out += between;
            self.note_slot(place.slot_serial, made_time_ns);
        }
        self.slot_serial = place.slot_serial;
        self.slot_offset_bytes = place.slot_offset_bytes + bytes;
        self.in_flight += 1;
        self.in_flight_bytes += u64::from(bytes);
        *self.in_flight_slots.entry(place.slot_serial).or_default() += 1;
        place
    }

    /// Notes that an append is no longer in flight.
    pub(super) fn landed(&mut self, place: AppendPlace, bytes: u32) {
        self.in_flight -= 1;
        self.in_flight_bytes -= u64::from(bytes);
        if let Some(count) = self.in_flight_slots.get_mut(&place.slot_serial) {
            *count -= 1;
            if *count == 0 {
                self.in_flight_slots.remove(&place.slot_serial);
            }
        }
    }

    /// Notes that the kernel never took the append of this place. Returns whether the member can
    /// take no more because of that: so many slots in a row have no first append that opening would
    /// find nothing behind them.
    pub(super) fn note_never_taken(&mut self, place: AppendPlace) -> bool {
        if place.slot_offset_bytes == 0 {
            self.headless_slots.insert(place.slot_serial);
        }
        self.headless_slots.len() as u64 >= self.unflushed_slots_max()
    }

    /// Whether the start must be written, or in a ring repeated before an append of `next_bytes`.
    pub(super) fn needs_start(&self, next_bytes: Option<u32>) -> bool {
        if self.marking.is_some() || self.state == MemberState::Full {
            return false;
        }
        match (self.start, next_bytes) {
            (None, _) => true,
            (Some(start), Some(bytes)) => {
                let next = self.place_for(bytes).map(|place| place.slot_serial);
                self.ring && next.is_some_and(|next| self.is_start_due(start, next))
            }
            (Some(_), None) => false,
        }
    }

    /// Whether its start is written, or it has no space for one.
    pub(super) fn has_begun(&self) -> bool {
        self.start.is_some() || self.state == MemberState::Full
    }

    /// The slot that is being filled, or comes next.
    pub(super) fn slot_serial(&self) -> u64 {
        self.slot_serial
    }

    /// The newest sequence on it that is durable.
    pub(super) fn newest_durable(&self) -> u64 {
        self.newest_durable
    }

    /// Slot serials that have been begun.
    pub(super) fn slots_begun(&self) -> u64 {
        if self.slot_offset_bytes == 0 {
            self.slot_serial
        } else {
            self.slot_serial + 1
        }
    }

    /// Notes how long a request has been in flight, or that none has been in flight for long.
    pub(super) fn note_slow(&mut self, waited_ns: Option<u64>) {
        if waited_ns.is_some() && !self.is_slow {
            self.slowness.times += 1;
            self.is_start_waived |= !self.has_begun();
        }
        self.is_slow = waited_ns.is_some();
        self.slowness.longest_ns = self.slowness.longest_ns.max(waited_ns.unwrap_or(0));
    }

    /// Whether data must wait for its start to become durable.
    pub(super) fn owes_start(&self) -> bool {
        self.works() && !self.has_begun() && !self.is_start_waived
    }

    /// Whether it takes an append of `bytes` now or soon.
    pub(super) fn is_ready_for(&self, bytes: u32) -> bool {
        self.state == MemberState::Active
            && !self.is_slow
            && self.start.is_some()
            && self.has_room_for_data(bytes)
    }

    /// The same for parity. A member that does not answer gets none.
    pub(super) fn parity_candidate(&self, bytes: u32) -> ScatterCandidate {
        ScatterCandidate {
            is_open: self.state == MemberState::Active
                && !self.is_slow
                && self.start.is_some()
                && self.has_room_for_parity(bytes)
                && self.may_begin_slot_for(bytes),
            ..self.candidate(bytes, false)
        }
    }

    /// The facts on which the choice of a member for `bytes` depends.
    pub(super) fn candidate(&self, bytes: u32, takes_slow: bool) -> ScatterCandidate {
        ScatterCandidate {
            in_flight_bytes: self.in_flight_bytes,
            in_flight: self.in_flight,
            rate_bytes_per_s: self.rate.bytes_per_s(),
            filled: self.filled(),
            is_open: self.state == MemberState::Active
                && (takes_slow || !self.is_slow)
                && self.start.is_some()
                && self.has_room_for_data(bytes)
                && self.may_begin_slot_for(bytes),
        }
    }

    /// Whether a flush, or a write that is durable when it completes, may begin.
    ///
    /// If something fails on its way from the page cache to the disk, the kernel reports the error
    /// once for each open file, to the first flush or durable write that asks. If two were in
    /// flight, the other would count as durable and may not be. So flushes, starts and end marks
    /// wait for each other, which costs nothing. Durable writes of data wait too where they go
    /// through the page cache. With direct I/O each has its own error, and one at a time would be
    /// slow.
    pub(super) fn may_make_durable(&self, is_each_durable: bool) -> bool {
        let waits_for_data = is_each_durable && self.setup.shares_errors;
        let is_renewing = self.renewing.as_ref().is_some_and(|one| one.is_in_flight);
        self.flushing.is_none()
            && self.marking.is_none()
            && !is_renewing
            && !(waits_for_data && self.in_flight > 0)
    }

    /// Notes it if its file was deleted or cut off, and says so in words. What was durable there is
    /// lost, too. With parity, what was not flushed yet is in no other account.
    pub(super) fn note_harm(&mut self, has_parity: bool) -> Option<String> {
        let words = self.setup.file.as_ref()?.harm()?;
        let mut lost_bytes = self.durable_stream_bytes.clone();
        let unflushed = self.unflushed.iter().chain(self.flushing.iter().flatten());
        unflushed::add_payload(&mut lost_bytes, unflushed.filter(|_| has_parity));
        self.is_harmed = true;
        // Of a ring the rest was written over before.
        let geometry = &self.setup.geometry;
        let mut left_bytes = geometry.slots_end_bytes() - geometry.first_slot_offset_bytes;
        for lost in &mut lost_bytes {
            *lost = left_bytes.min(*lost);
            left_bytes -= *lost;
        }
        self.lost_bytes = lost_bytes.iter().sum();
        self.lost_stream_bytes = lost_bytes;
        let lost = match self.lost_bytes {
            0 => String::new(),
            bytes => format!(", up to {} of this recording", Size(bytes)),
        };
        Some(format!("{} {words}{lost}", self.setup.name))
    }

    /// Whether it still takes writes of any kind.
    pub(super) fn works(&self) -> bool {
        matches!(self.state, MemberState::Active | MemberState::Full)
    }

    /// Whether its requests, if there are any, are waited for.
    pub(super) fn may_return(&self) -> bool {
        self.state != MemberState::Closed && !self.is_given_up
    }

    /// Notes that an append is written. A flush is to follow.
    pub(super) fn wrote(&mut self, one: Unflushed, bytes: u32, now: Timestamp) {
        self.unflushed_bytes += u64::from(bytes);
        self.unflushed_since.get_or_insert(now);
        let slot_serial = one.place.slot_serial;
        let slot = self.unflushed_slot.get_or_insert(slot_serial);
        *slot = slot_serial.min(*slot);
        self.unflushed.push(one);
    }

    /// Notes that the append with this sequence, at this place, is durable.
    pub(super) fn made_durable(&mut self, sequence: u64, place: AppendPlace) {
        if place.slot_offset_bytes == 0 {
            self.headless_slots = self.headless_slots.split_off(&place.slot_serial);
        }
        self.undurable.remove(&sequence);
        self.newest_durable = self.newest_durable.max(sequence);
    }

    /// The sequence up to which its appends are durable.
    pub(super) fn flushed_sequence(&self) -> u64 {
        let first = self.undurable.first();
        first.map_or(self.newest_durable, |first| {
            self.newest_durable.min(first - 1)
        })
    }

    /// Whether nothing is in flight on it and nothing waits for a flush.
    pub(super) fn is_quiet(&self) -> bool {
        self.in_flight == 0 && self.unflushed.is_empty() && self.flushing.is_none()
    }

    /// Begins a flush of what is written now.
    pub(super) fn begin_flush(&mut self) {
        self.flushing = Some(std::mem::take(&mut self.unflushed));
        self.flushing_slot = self.unflushed_slot.take();
        self.unflushed_bytes = 0;
        self.unflushed_since = None;
    }
}

/// How many accounts of each stream always find space.
pub(super) const ACCOUNTS_PER_STREAM: usize = 2;

/// The bytes kept for the last accounts and the end mark of so many streams, in whole blocks. When
/// a member becomes full the sources learn it at once, but each may have filled one more append.
pub(super) fn reserve_bytes(streams: usize, geometry: &Geometry) -> u32 {
    let accounts = (streams * ACCOUNTS_PER_STREAM * 2 * BLOCK_BYTES) as u32;
    (end_mark_bytes(streams) + accounts).min(geometry.slot_bytes / 2)
}

/// The most bytes that the end mark of so many streams takes, in whole blocks.
fn end_mark_bytes(streams: usize) -> u32 {
    const END_NOTE_BYTES_PER_STREAM: usize = 256;
    let note_bytes = streams * END_NOTE_BYTES_PER_STREAM;
    (2 * BLOCK_BYTES + note_bytes).next_multiple_of(BLOCK_BYTES) as u32
}
