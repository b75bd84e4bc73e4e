//! The memory of a pump: how much is read ahead, and buffers that come back when the last consumer
//! of their bytes is gone. It always has a buffer for the pump: consumers that hold on to parts
//! cost memory, and never bring reading to a stand.

use std::sync::Arc;

use sustain_disk::buffer::{Buffer, BufferPool, Region, SharedPool};
use sustain_disk::engine::{Completion, Limits, Vectors};
use sustain_disk::error::Error;

use super::MemberReads;
use crate::format::BLOCK_BYTES;
use crate::reading::bytes::SharedBytes;

/// The least that one read should move, if slots are smaller.
const READ_BYTES_MIN: u64 = 4 << 20;
/// The bytes that all reads in flight together should have.
const WINDOW_BYTES: u64 = 512 << 20;
const READS_PER_MEMBER_MIN: u64 = 2;
const READS_PER_MEMBER_MAX: u64 = 6;
/// Slots that a consumer who reads far ahead holds in parts that wait for it, and in those that it
/// has. A buffer that is not of the pool costs as much time as its bytes take to be copied: the
/// kernel clears it first.
const HELD_SLOTS: u64 = 3;
/// Reads of pieces in flight, where a large read failed.
pub(super) const MENDS_MAX: usize = 16;

/// Memory and depth for reading members together.
pub struct ReadWindow {
    pool: SharedPool,
    pub(super) reads_per_member: usize,
    pub(super) read_bytes: usize,
    limits: Limits,
}

/// A read buffer that goes back to its pool.
struct Lent {
    buffer: Option<Buffer>,
    length: usize,
    /// `None` for a buffer that was mapped because consumers hold all others.
    pool: Option<SharedPool>,
}

impl AsRef<[u8]> for Lent {
    fn as_ref(&self) -> &[u8] {
        let bytes = self.buffer.as_ref().map_or(&[][..], Buffer::bytes);
        &bytes[..self.length.min(bytes.len())]
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        if let (Some(buffer), Some(pool)) = (self.buffer.take(), &self.pool) {
            pool.give(buffer);
        }
    }
}

impl ReadWindow {
    /// Chooses memory and depth for these members, with as many reads ahead of each as is useful,
    /// or as many as are given.
    ///
    /// # Errors
    /// [`Error::Memory`].
    pub fn for_members(
        members: &[MemberReads],
        reads_ahead: Option<usize>,
    ) -> Result<ReadWindow, Error> {
        let read_bytes = read_bytes(members);
        let count = members.len().max(1) as u64;
        let reads_per_member =
            (WINDOW_BYTES / (count * read_bytes)).clamp(READS_PER_MEMBER_MIN, READS_PER_MEMBER_MAX);
        let reads_per_member = reads_ahead.map_or(reads_per_member, |reads| reads.max(1) as u64);
        // The slots that are being merged are held beside those that are being read. A consumer
        // that is slower than the members always holds some more.
        let held = if reads_ahead.is_none() { HELD_SLOTS } else { 0 };
        let buffers = (count * (reads_per_member + 1) + held) as usize;
        let depth = reads_per_member as usize + MENDS_MAX + 1;
        Ok(ReadWindow {
            pool: SharedPool::new(buffers, read_bytes as usize)?,
            reads_per_member: reads_per_member as usize,
            read_bytes: read_bytes as usize,
            limits: Limits {
                depth: depth as u32,
                in_flight_max: (count * reads_per_member) as u32 + MENDS_MAX as u32 + 1,
            },
        })
    }

    /// What the engine must allow.
    pub fn limits(&self) -> Limits {
        self.limits
    }

    /// The memory to be registered with the engine.
    pub fn regions(&self) -> &[Arc<Region>] {
        self.pool.regions()
    }

    /// Takes a buffer for one read. When consumers hold all buffers, it makes one more.
    pub(super) fn take(&self) -> Result<Buffer, Error> {
        match self.pool.try_take() {
            Some(buffer) => Ok(buffer),
            // It is one block longer, to be told apart when it comes back.
            None => map_buffer(self.read_bytes + BLOCK_BYTES),
        }
    }

    /// The first bytes of a buffer, to be shared.
    pub(super) fn share(&self, buffer: Buffer, length: usize) -> SharedBytes {
        let is_lent = buffer.len() == self.read_bytes;
        SharedBytes::new(Arc::new(Lent {
            pool: is_lent.then(|| self.pool.clone()),
            buffer: Some(buffer),
            length,
        }))
    }
}

/// The most that one read has to hold: some slots together, but no more than there are, so that a
/// short recording is read with little memory.
fn read_bytes(members: &[MemberReads]) -> u64 {
    let most = members.iter().map(|member| {
        let slot_bytes = u64::from(member.geometry.slot_bytes);
        let slots = member.slots.end.saturating_sub(member.slots.start);
        let whole_bytes = slot_bytes.saturating_mul(slots);
        slot_bytes.max(whole_bytes.min(READ_BYTES_MIN))
    });
    most.max().unwrap_or(READ_BYTES_MIN)
}

/// Shares the first bytes of a buffer that no pool waits for.
pub(super) fn share_own(buffer: Buffer, length: usize) -> SharedBytes {
    SharedBytes::new(Arc::new(Lent {
        pool: None,
        buffer: Some(buffer),
        length,
    }))
}

/// Takes the buffer of a request that is done.
pub(super) fn take_buffer(completion: Completion) -> Option<Buffer> {
    match completion.request.vectors {
        Vectors::One(vector) => Some(vector.into_buffer()),
        Vectors::None | Vectors::Many(_) => None,
    }
}

/// Makes a buffer outside of the pool.
pub(super) fn map_buffer(length: usize) -> Result<Buffer, Error> {
    let mut pool = BufferPool::new(1, length)?;
    Ok(pool.take().expect("a pool of one buffer has one"))
}
