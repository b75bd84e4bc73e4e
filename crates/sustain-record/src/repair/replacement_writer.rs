//! The new member as it is written, request by request.

use std::collections::{BTreeMap, BTreeSet};

use crate::error::RecordError;
use crate::format::{AppendPlace, BLOCK_BYTES, SlotCourse};
use crate::member_io::{MemberIo, QueuedWrites, ReadOrder, ReadStretch};
use crate::opening::PATIENCE_SLOTS;
use crate::walk::AppendIdentity;

/// Slots of which the first blocks are read at once.
const HEADS_AT_ONCE: usize = 256;

/// The first append of a slot.
#[derive(Debug, Clone, Copy)]
pub(super) struct OwnHead {
    pub(super) sequence: u64,
    /// The append before it on the member.
    pub(super) previous: Option<AppendPlace>,
}

/// The member that is written.
pub(super) struct ReplacementWriter {
    /// Its index where it is driven.
    pub(super) position: usize,
    pub(super) identity: AppendIdentity,
    /// Its place in the table of members.
    pub(super) member: usize,
    /// The order of its slots.
    pub(super) course: SlotCourse,
    /// Whether something of the lost member is on it: an earlier repair was interrupted there, or
    /// it is the lost member itself.
    pub(super) is_continued: bool,
    /// Whether it is the lost member itself, which has all that it was given but for what failed.
    pub(super) has_all_of_its_own: bool,
    /// It has begun so many slots itself.
    pub(super) slots_begun: u64,
    pub(super) writes: QueuedWrites,
}

impl ReplacementWriter {
    /// Makes durable what was written.
    pub(super) fn flush(&mut self, io: &mut MemberIo) -> Result<(), RecordError> {
        self.writes.flush(io)
    }

    /// The first append of each slot that the member has begun already, by serials, and the slot
    /// behind all of them, from this one on. Its superblock may tell of fewer, by whole laps of a
    /// ring, too: where a stretch of slots is gone, the newest lap shows in those before that.
    pub(super) fn begun(
        &self,
        io: &mut MemberIo,
        behind: u64,
    ) -> Result<(BTreeMap<u64, OwnHead>, u64), RecordError> {
        let mut behind = behind;
        loop {
            let next = self.course.at_or_after(behind).into_iter();
            let next = next.flat_map(|next| {
                let following = self.course.following(next, PATIENCE_SLOTS - 1);
                std::iter::once(next).chain(following)
            });
            let slots = self.slots_before(behind).into_iter().chain(next);
            let heads = self.heads(io, slots)?;
            let newest = heads.last_key_value().map(|(newest, _)| *newest);
            let after = newest.and_then(|newest| newest.checked_add(1));
            match after.filter(|after| *after > behind) {
                Some(after) => behind = after,
                None => return Ok((heads, behind)),
            }
        }
    }

    /// The serials that its slots have when all before this one are written: those of the last lap,
    /// and those that pins have kept instead.
    pub(super) fn slots_before(&self, behind: u64) -> Vec<u64> {
        let lap = behind.saturating_sub(self.identity.geometry.slot_count)..behind;
        let slots = lap.map(|serial| self.course.kept_in_place_of(serial).unwrap_or(serial));
        let slots: BTreeSet<u64> = slots.collect();
        slots.into_iter().collect()
    }

    /// The first append in the place of each of these slots, by the serial that it has: a ring may
    /// have come round there since.
    fn heads(
        &self,
        io: &mut MemberIo,
        slots: impl Iterator<Item = u64>,
    ) -> Result<BTreeMap<u64, OwnHead>, RecordError> {
        let slots: Vec<u64> = slots.filter(|_| self.is_continued).collect();
        let offset_of = |slot_serial: u64| {
            self.identity
                .geometry
                .offset_of(AppendPlace::of_slot(slot_serial))
        };
        let mut first = BTreeMap::new();
        for slots in slots.chunks(HEADS_AT_ONCE) {
            let order = |slot: &u64| ReadOrder {
                member: self.position,
                offset_bytes: offset_of(*slot),
                length_bytes: BLOCK_BYTES,
            };
            let orders: Vec<ReadOrder> = slots.iter().map(order).collect();
            let read = io.read_all(&orders);
            io.check_engine()?;
            first.extend(orders.iter().zip(read).filter_map(|(order, block)| {
                let head = self.identity.head(&block.ok()?)?;
                let descriptor = head.descriptor()?;
                let slot_serial = descriptor.place.slot_serial;
                let is_there = descriptor.place == AppendPlace::of_slot(slot_serial)
                    && offset_of(slot_serial) == order.offset_bytes;
                let own = OwnHead {
                    sequence: descriptor.sequence,
                    previous: descriptor.previous,
                };
                is_there.then_some((slot_serial, own))
            }));
        }
        Ok(first)
    }

    /// Reads a stretch.
    pub(super) fn read(
        &mut self,
        io: &mut MemberIo,
        offset_bytes: u64,
        length_bytes: usize,
    ) -> Result<ReadStretch, RecordError> {
        let end_bytes = offset_bytes + length_bytes as u64;
        self.writes.settle_within(io, offset_bytes..end_bytes)?;
        io.read_stretch(ReadOrder {
            member: self.position,
            offset_bytes,
            length_bytes,
        })
    }

    /// Begins to write whole blocks. A few writes go on beside what follows.
    pub(super) fn write(
        &mut self,
        io: &mut MemberIo,
        offset_bytes: u64,
        bytes: Vec<u8>,
    ) -> Result<(), RecordError> {
        self.writes.write(io, offset_bytes, bytes)
    }
}
