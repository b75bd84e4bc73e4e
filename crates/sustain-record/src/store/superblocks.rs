//! The copies of superblocks on their members: read when a store is opened, written two at a time.

use sustain_disk::engine::Operation;
use sustain_disk::error::{Errno, RequestError};

use crate::error::RecordError;
use crate::format::{BLOCK_BYTES, Geometry, SLOT_BYTES_MIN, Superblock, SuperblockError, newest};
use crate::member_io::{MemberIo, ReadOrder, Step, WriteOrder};

/// What a member's superblocks say, and whether the medium refused to be read.
pub(super) struct Finding {
    pub(super) superblock: Result<Superblock, SuperblockError>,
    pub(super) unreadable: Option<Errno>,
}

/// Reads the newest superblock of each member, given what they can hold, in bytes: copies A and B,
/// and where none of these is valid C and D.
pub(super) fn read(io: &mut MemberIo, capacities_bytes: &[u64]) -> Vec<Finding> {
    let mut findings: Vec<Finding> = capacities_bytes
        .iter()
        .map(|_| Finding {
            superblock: Err(SuperblockError::Foreign),
            unreadable: None,
        })
        .collect();
    for copies in [0..2, 2..4] {
        let mut orders = Vec::new();
        for (member, capacity_bytes) in capacities_bytes.iter().enumerate() {
            if findings[member].superblock.is_ok() {
                continue;
            }
            let offsets = offsets_within(*capacity_bytes);
            let offsets = offsets.iter().flat_map(|all| &all[copies.clone()]);
            orders.extend(offsets.map(|offset_bytes| ReadOrder {
                member,
                offset_bytes: *offset_bytes,
                length_bytes: BLOCK_BYTES,
            }));
        }
        let blocks = io.read_all(&orders);
        for (order, block) in orders.iter().zip(blocks) {
            findings[order.member].add(block);
        }
    }
    findings
}

impl Finding {
    fn add(&mut self, block: Result<Vec<u8>, Errno>) {
        match block {
            Ok(block) => {
                let before = self.superblock.clone();
                self.superblock = newest([before, Superblock::decode(&block)]);
            }
            Err(errno) => self.unreadable = Some(errno),
        }
    }
}

/// Where the copies lie on a member that holds so many bytes: that does not depend on the slots.
fn offsets_within(capacity_bytes: u64) -> Option<[u64; 4]> {
    let geometry = Geometry::of_member(capacity_bytes, SLOT_BYTES_MIN).ok()?;
    Some(geometry.superblock_offsets())
}

/// Writes the superblocks of all members, given with their names: copies A and C, a flush, B and D,
/// a flush. So at every instant a valid copy is on each medium that had one before.
pub(super) fn write(io: &mut MemberIo, members: &[(&str, &Superblock)]) -> Result<(), RecordError> {
    for copies in [[0, 2], [1, 3]] {
        let blocks: Vec<(usize, u64, Vec<u8>)> = members
            .iter()
            .enumerate()
            .flat_map(|(member, (_, superblock))| {
                let offsets = superblock.geometry.superblock_offsets();
                copies.map(|copy| {
                    let block = superblock.encode(copy);
                    (member, offsets[copy as usize], block)
                })
            })
            .collect();
        let names: Vec<&str> = members.iter().map(|(name, _)| *name).collect();
        write_blocks(io, &names, &blocks)?;
    }
    Ok(())
}

/// The same for one member, step by step.
pub(super) fn steps(superblock: &Superblock) -> Vec<Step> {
    let offsets = superblock.geometry.superblock_offsets();
    let write = |copy: u32| Step::Write {
        offset_bytes: offsets[copy as usize],
        bytes: superblock.encode(copy),
    };
    let (first, second) = ([0, 2].map(write), [1, 3].map(write));
    let mut steps = Vec::from(first);
    steps.push(Step::Flush);
    steps.extend(second);
    steps.push(Step::Flush);
    steps
}

/// Writes blocks to members, given with their place, and flushes all members.
pub(super) fn write_blocks(
    io: &mut MemberIo,
    names: &[&str],
    blocks: &[(usize, u64, Vec<u8>)],
) -> Result<(), RecordError> {
    let orders: Vec<WriteOrder<'_>> = blocks
        .iter()
        .map(|(member, offset_bytes, bytes)| WriteOrder {
            member: *member,
            offset_bytes: *offset_bytes,
            bytes,
        })
        .collect();
    let written = io.write_all(&orders);
    io.check_engine()?;
    let failed = |member: usize, operation, offset_bytes, errno| RequestError {
        target: names[member].to_owned(),
        operation,
        offset_bytes,
        errno,
    };
    for (order, written) in orders.iter().zip(written) {
        written
            .map_err(|errno| failed(order.member, Operation::Write, order.offset_bytes, errno))?;
    }
    let all: Vec<usize> = (0..names.len()).collect();
    let flushed = io.flush_all(&all);
    io.check_engine()?;
    for (member, flushed) in flushed.into_iter().enumerate() {
        flushed.map_err(|errno| failed(member, Operation::Flush, 0, errno))?;
    }
    Ok(())
}
