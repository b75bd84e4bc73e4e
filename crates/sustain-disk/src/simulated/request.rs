//! What a simulated disk is asked for, and what comes back.

use super::fault::FaultKind;

/// The operations of a simulated disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SimulatedOperation {
    /// Read a range. Data always comes from the media, never from the write cache.
    Read,
    /// Write a range.
    Write,
    /// Make durable everything that was written before; offset and length are ignored.
    Flush,
}

/// A request to a simulated disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SimulatedRequest {
    /// The caller's id; returned with the completion.
    pub id: u64,
    /// Index into the machine's disks.
    pub disk: usize,
    /// The operation.
    pub operation: SimulatedOperation,
    /// Offset.
    pub offset_bytes: u64,
    /// Length.
    pub length_bytes: u64,
    /// A write completes only when it would survive a power cut.
    pub durable: bool,
}

/// The end of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SimulatedCompletion {
    /// As in the request.
    pub id: u64,
    /// As in the request.
    pub disk: usize,
    /// When it completed.
    pub time_ns: u64,
    /// Bytes transferred (fewer than asked at the end of the disk, zero for a read beyond it), or
    /// what went wrong.
    pub outcome: Result<u64, FaultKind>,
}
