//! Writes of one member, one behind the other, of which a few are under way while the next ones are
//! made.

use std::collections::VecDeque;
use std::ops::Range;

use sustain_disk::engine::Operation;
use sustain_disk::error::{IoFault, RequestError};

use super::{AheadId, MemberIo};
use crate::error::RecordError;

/// Writes that go on while the next bytes are made.
const UNDER_WAY_MAX: usize = 2;

/// The writes of one member.
pub(crate) struct QueuedWrites {
    /// Its index where it is driven.
    position: usize,
    name: String,
    /// Writes that are not over, and where.
    under_way: VecDeque<(AheadId, Range<u64>)>,
}

impl QueuedWrites {
    /// Those of the member with this index and this name; none so far.
    pub(crate) fn of(position: usize, name: &str) -> QueuedWrites {
        QueuedWrites {
            position,
            name: name.to_owned(),
            under_way: VecDeque::new(),
        }
    }

    /// Begins to write whole blocks. A few writes go on beside what follows.
    ///
    /// # Errors
    /// [`RecordError::Request`] for one that has failed, [`RecordError::Silent`],
    /// [`RecordError::Engine`].
    pub(crate) fn write(
        &mut self,
        io: &mut MemberIo,
        offset_bytes: u64,
        bytes: Vec<u8>,
    ) -> Result<(), RecordError> {
        let range = offset_bytes..offset_bytes + bytes.len() as u64;
        let id = io.begin_write(self.position, offset_bytes, bytes);
        self.under_way.push_back((id, range));
        self.settle(io, UNDER_WAY_MAX)
    }

    /// Makes durable what was written.
    ///
    /// # Errors
    /// The same as of [`QueuedWrites::write`].
    pub(crate) fn flush(&mut self, io: &mut MemberIo) -> Result<(), RecordError> {
        self.settle(io, 0)?;
        let flushed = io.flush(self.position);
        io.check_engine()?;
        flushed.map_err(|fault| self.failed(Operation::Flush, 0, fault))
    }

    /// Waits for all writes if one of them is of a part of this range.
    ///
    /// # Errors
    /// The same as of [`QueuedWrites::write`].
    pub(crate) fn settle_within(
        &mut self,
        io: &mut MemberIo,
        wanted: Range<u64>,
    ) -> Result<(), RecordError> {
        let is_there = |range: &Range<u64>| range.start < wanted.end && wanted.start < range.end;
        match self.under_way.iter().any(|(_, range)| is_there(range)) {
            true => self.settle(io, 0),
            false => Ok(()),
        }
    }

    /// Waits until no more writes than so many are under way.
    fn settle(&mut self, io: &mut MemberIo, count: usize) -> Result<(), RecordError> {
        while self.under_way.len() > count {
            let Some((id, range)) = self.under_way.pop_front() else {
                break;
            };
            let written = io.fetch(id);
            io.check_engine()?;
            written.map_err(|fault| self.failed(Operation::Write, range.start, fault))?;
        }
        Ok(())
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
