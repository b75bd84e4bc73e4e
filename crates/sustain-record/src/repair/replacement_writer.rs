//! The new member as it is written, request by request.

use std::collections::BTreeMap;
use std::ops::Range;

use sustain_disk::engine::Operation;
use sustain_disk::error::{IoFault, RequestError};

use crate::error::RecordError;
use crate::format::{AppendPlace, BLOCK_BYTES};
use crate::member_io::{MemberIo, ReadOrder};
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
    pub(super) io: MemberIo,
    pub(super) name: String,
    pub(super) identity: AppendIdentity,
    /// Its place in the table of members.
    pub(super) member: usize,
    /// Whether something of the lost member is on it: an earlier repair was interrupted there, or
    /// it is the lost member itself.
    pub(super) is_continued: bool,
    /// It has begun so many slots itself.
    pub(super) slots_begun: u64,
}

impl ReplacementWriter {
    /// Makes durable what was written.
    pub(super) fn flush(&mut self) -> Result<(), RecordError> {
        let flushed = self.io.flush(0);
        self.io.check_engine()?;
        flushed.map_err(|fault| self.failed(Operation::Flush, 0, fault))
    }

    /// The slot behind all that the member has begun already, from this one on: its superblock may
    /// tell of fewer.
    pub(super) fn behind_own(&mut self, behind: u64) -> Result<u64, RecordError> {
        let mut behind = behind;
        loop {
            let heads = self.heads(behind..behind + PATIENCE_SLOTS)?;
            match heads.last_key_value() {
                Some((newest, _)) => behind = newest + 1,
                None => return Ok(behind),
            }
        }
    }

    /// The first append of each of these slots that it has begun already.
    pub(super) fn heads(
        &mut self,
        slots: Range<u64>,
    ) -> Result<BTreeMap<u64, OwnHead>, RecordError> {
        let slots: Vec<u64> = slots.filter(|_| self.is_continued).collect();
        let mut first = BTreeMap::new();
        for slots in slots.chunks(HEADS_AT_ONCE) {
            let place = |slot_serial| AppendPlace {
                slot_serial,
                slot_offset_bytes: 0,
            };
            let order = |slot: &u64| ReadOrder {
                member: 0,
                offset_bytes: self.identity.geometry.offset_of(place(*slot)),
                length_bytes: BLOCK_BYTES,
            };
            let orders: Vec<ReadOrder> = slots.iter().map(order).collect();
            let read = self.io.read_all(&orders);
            self.io.check_engine()?;
            first.extend(slots.iter().zip(read).filter_map(|(slot, block)| {
                let head = self.identity.head_at(place(*slot), &block.ok()?)?;
                let descriptor = head.descriptor()?;
                let own = OwnHead {
                    sequence: descriptor.sequence,
                    previous: descriptor.previous,
                };
                Some((*slot, own))
            }));
        }
        Ok(first)
    }

    /// Reads a stretch. Where it cannot be read there are zeros.
    pub(super) fn read(
        &mut self,
        offset_bytes: u64,
        length_bytes: usize,
    ) -> Result<Vec<u8>, RecordError> {
        let whole = self.io.read(0, offset_bytes, length_bytes);
        self.io.check_engine()?;
        if let Ok(whole) = whole {
            return Ok(whole);
        }
        let starts = (0..length_bytes).step_by(BLOCK_BYTES);
        let orders = starts.map(|start| ReadOrder {
            member: 0,
            offset_bytes: offset_bytes + start as u64,
            length_bytes: BLOCK_BYTES.min(length_bytes - start),
        });
        let orders: Vec<ReadOrder> = orders.collect();
        let blocks = self.io.read_all(&orders).into_iter().zip(&orders);
        let read =
            blocks.flat_map(|(block, order)| block.unwrap_or_else(|_| vec![0; order.length_bytes]));
        let read = read.collect();
        self.io.check_engine()?;
        Ok(read)
    }

    /// Writes whole blocks.
    pub(super) fn write(&mut self, offset_bytes: u64, bytes: &[u8]) -> Result<(), RecordError> {
        let written = self.io.write(0, offset_bytes, bytes);
        self.io.check_engine()?;
        written.map_err(|fault| self.failed(Operation::Write, offset_bytes, fault))
    }

    fn failed(&self, operation: Operation, offset_bytes: u64, fault: IoFault) -> RecordError {
        RecordError::Request(RequestError {
            target: self.name.clone(),
            operation,
            offset_bytes,
            fault,
        })
    }
}
