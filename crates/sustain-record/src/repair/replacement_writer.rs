//! The new member as it is written, request by request.

use sustain_disk::engine::Operation;
use sustain_disk::error::{IoFault, RequestError};

use crate::error::RecordError;
use crate::member_io::MemberIo;
use crate::walk::AppendIdentity;

/// The member that is written.
pub(super) struct ReplacementWriter {
    pub(super) io: MemberIo,
    pub(super) name: String,
    pub(super) identity: AppendIdentity,
    /// Its place in the table of members.
    pub(super) member: usize,
    /// Whether an earlier repair was interrupted there.
    pub(super) is_continued: bool,
}

impl ReplacementWriter {
    /// Makes durable what was written.
    pub(super) fn flush(&mut self) -> Result<(), RecordError> {
        let flushed = self.io.flush(0);
        self.io.check_engine()?;
        flushed.map_err(|fault| self.failed(Operation::Flush, 0, fault))
    }

    /// Reads a stretch; none if it cannot be read.
    pub(super) fn read(
        &mut self,
        offset_bytes: u64,
        length_bytes: usize,
    ) -> Result<Option<Vec<u8>>, RecordError> {
        let read = self.io.read(0, offset_bytes, length_bytes);
        self.io.check_engine()?;
        Ok(read.ok())
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
