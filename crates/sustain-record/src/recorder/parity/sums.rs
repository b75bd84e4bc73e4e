//! The sums over an open group, and the appends of parity that they become.

use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use sustain_disk::buffer::{Buffer, BufferPool};
use sustain_disk::clock::Timestamp;
use sustain_disk::engine::Vectors;
use sustain_disk::error::Error;
use sustain_parity::Sums;

use crate::format::{BLOCK_BYTES, GroupEntry, GroupList, PieceChecksums, append_bytes_for};

/// Memory for one append of parity. As bytes it is what lies behind the descriptor.
#[derive(Debug)]
struct SumMemory(Buffer);

impl Deref for SumMemory {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0.bytes()[BLOCK_BYTES..]
    }
}

impl DerefMut for SumMemory {
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.0.bytes_mut()[BLOCK_BYTES..]
    }
}

/// An open group: what has joined it, and the sums so far.
#[derive(Debug)]
pub(in crate::recorder) struct GroupSums {
    sums: Sums<SumMemory>,
    entries: Vec<GroupEntry>,
    /// How many appends of parity the group is to have. There may be fewer sums, where too few
    /// members were left for them.
    parities: u16,
    /// How many sums there are.
    count: usize,
    /// When the first append joined.
    pub(in crate::recorder) begun_at: Timestamp,
}

/// An append of parity that is on no member yet, or not durable there.
#[derive(Debug)]
pub(in crate::recorder) struct ParityAppend {
    /// Its group.
    pub(in crate::recorder) group: u64,
    /// Which parity of the group it is, from 0.
    pub(in crate::recorder) number: usize,
    /// The encoded list of the group.
    pub(in crate::recorder) list: Arc<[u8]>,
    /// The length of the sum.
    pub(in crate::recorder) payload_bytes: u32,
    /// The checksums of the sum.
    pub(in crate::recorder) checksums: Vec<u32>,
    /// The memory with the sum; none while a request has it.
    pub(in crate::recorder) memory: Option<Buffer>,
}

impl GroupSums {
    /// Sums of nothing in so much memory. The group is to have so many parities.
    pub(in crate::recorder) fn new(
        memory: Vec<Buffer>,
        parities: usize,
        now: Timestamp,
    ) -> GroupSums {
        let numbers: Vec<usize> = (0..memory.len()).collect();
        let memory = memory.into_iter().map(SumMemory).collect();
        GroupSums {
            count: numbers.len(),
            sums: Sums::empty(&numbers, memory).expect("each parity has its memory"),
            entries: Vec::new(),
            parities: parities as u16,
            begun_at: now,
        }
    }

    /// How many sums there are.
    pub(in crate::recorder) fn count(&self) -> usize {
        self.count
    }

    /// Adds an append as it lies on its member.
    pub(in crate::recorder) fn add(&mut self, entry: GroupEntry, vectors: &Vectors) {
        let (position, mut offset_bytes) = (self.entries.len(), 0);
        for vector in vectors.as_slice() {
            let added = self.sums.add(position, offset_bytes, vector.bytes());
            added.expect("an append is no longer than the memory");
            offset_bytes += vector.len();
        }
        self.entries.push(entry);
    }

    /// Turns the sums into appends of parity.
    pub(in crate::recorder) fn into_parities(self, group: u64) -> Vec<ParityAppend> {
        let payload_bytes = self.sums.length_bytes();
        let memory = self.sums.into_memory();
        let list = GroupList {
            parities: self.parities,
            entries: self.entries,
        };
        let list: Arc<[u8]> = list.encode().into();
        let parities = memory.into_iter().enumerate();
        let parities = parities.map(|(number, memory)| {
            let mut checksums = PieceChecksums::new();
            checksums.push(&memory[..payload_bytes]);
            ParityAppend {
                group,
                number,
                list: Arc::clone(&list),
                payload_bytes: payload_bytes as u32,
                checksums: checksums.take(),
                memory: Some(memory.0),
            }
        });
        parities.collect()
    }
}

impl ParityAppend {
    /// The bytes that it takes on a member.
    pub(in crate::recorder) fn append_bytes(&self) -> u32 {
        append_bytes_for(self.payload_bytes, self.list.len() as u32)
    }
}

/// The memory for sums. It is taken from the kernel when it is touched first, in huge pages where
/// there are some: scattered pages would make a device cut each write in two.
#[derive(Debug)]
pub(in crate::recorder) struct SumPool {
    buffers: BufferPool,
    /// How many of them are not lent.
    free: usize,
}

impl SumPool {
    /// So many pieces of this length.
    ///
    /// # Errors
    /// [`Error::Memory`].
    pub(in crate::recorder) fn new(count: usize, length_bytes: usize) -> Result<SumPool, Error> {
        Ok(SumPool {
            buffers: BufferPool::new(count, length_bytes)?,
            free: count,
        })
    }

    /// Whether there are so many pieces.
    pub(in crate::recorder) fn has(&self, count: usize) -> bool {
        self.free >= count
    }

    /// Takes so many pieces; none if there are not as many.
    pub(in crate::recorder) fn take(&mut self, count: usize) -> Option<Vec<Buffer>> {
        self.free = self.free.checked_sub(count)?;
        (0..count).map(|_| self.buffers.take()).collect()
    }

    /// Takes a piece back.
    pub(in crate::recorder) fn give(&mut self, memory: Buffer) {
        self.free += 1;
        self.buffers.give(memory);
    }
}
