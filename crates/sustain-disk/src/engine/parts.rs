//! Splits a request into the parts that commands can carry: their lengths, their memory, and the
//! result that follows from their completions. The engines of passthrough call it; nothing is
//! submitted here.

use super::transfer::EngineTransfer;
use super::{Completion, Vectors};
use crate::clock::Timestamp;
use crate::error::IoFault;

/// Parts of a request are multiples of a page, so that none begins within one, and of a block.
pub(super) const PAGE_BYTES: u64 = 4096;

/// A request in progress.
#[derive(Debug)]
pub(super) struct PartsInFlight {
    pub(super) transfer: EngineTransfer,
    pub(super) commands_left: u32,
    /// The first part that failed: where it begins in the request, and why.
    pub(super) failed: Option<(u64, IoFault)>,
}

impl PartsInFlight {
    pub(super) fn complete(mut self, now: Timestamp) -> Completion {
        let all = self.transfer.left_bytes();
        // Bytes after a part that failed may have been moved, but the caller cannot go on there.
        self.transfer.done_bytes = self.failed.map_or(all, |(start, _)| start);
        self.transfer
            .complete(now, self.failed.map(|(_, errno)| errno))
    }
}

pub(super) fn first_failed(
    one: Option<(u64, IoFault)>,
    other: Option<(u64, IoFault)>,
) -> Option<(u64, IoFault)> {
    [one, other]
        .into_iter()
        .flatten()
        .min_by_key(|(start, _)| *start)
}

/// Bytes of each part but the last, in whole blocks: as few parts as may be, all of about one
/// length.
pub(super) fn part_bytes(length: u64, most: u64, block_bytes: u64) -> u64 {
    // A command counts in blocks: less than a block would be left out of it.
    let most = (most / block_bytes).max(1) * block_bytes;
    let parts = length.div_ceil(most).max(1);
    let unit = PAGE_BYTES.max(block_bytes);
    let even = length.div_ceil(parts).next_multiple_of(unit);
    if even <= most { even.max(1) } else { most }
}

/// The memory of a part, in the pieces in which the request has it.
pub(super) fn stretch(vectors: &Vectors, start: u64, length: u64) -> Vec<libc::iovec> {
    let pieces = vectors.as_slice().iter().map(|vector| libc::iovec {
        iov_base: vector.address().cast(),
        iov_len: vector.len(),
    });
    cut(pieces, start, length)
}

/// A part of memory that lies in pieces, of which each is one allocation or within one.
pub(super) fn cut(
    pieces: impl Iterator<Item = libc::iovec>,
    start: u64,
    length: u64,
) -> Vec<libc::iovec> {
    let (mut skip, mut left) = (start as usize, length as usize);
    let mut iovecs = Vec::new();
    for piece in pieces {
        if skip >= piece.iov_len {
            skip -= piece.iov_len;
            continue;
        }
        let bytes = (piece.iov_len - skip).min(left);
        if bytes == 0 {
            break;
        }
        iovecs.push(libc::iovec {
            iov_base: piece.iov_base.wrapping_byte_add(skip),
            iov_len: bytes,
        });
        left -= bytes;
        skip = 0;
    }
    iovecs
}

#[cfg(test)]
mod tests {
    use super::super::Vector;
    use super::*;
    use crate::buffer::BufferPool;
    use crate::error::NvmeStatus;

    #[test]
    fn parts_are_as_few_and_as_even_as_may_be() {
        let kib = |count: u64| count << 10;
        assert_eq!(part_bytes(kib(4), kib(504), 512), kib(4));
        assert_eq!(part_bytes(kib(1024), kib(504), 4096), kib(344));
        assert_eq!(part_bytes(kib(1008), kib(504), 512), kib(504));
        assert_eq!(part_bytes(kib(1024), kib(504), kib(16)), kib(352));
        assert_eq!(
            part_bytes(512, 512, 512),
            512,
            "a drive that takes a block at a time"
        );
        assert_eq!(part_bytes(kib(8), 512, 512), 512);
    }

    #[test]
    fn the_blocks_of_all_parts_are_those_of_the_request() {
        for block_bytes in [512_u64, 4096, 16_384, 65_536] {
            for most in [
                1,
                512,
                4096,
                5000,
                65_537,
                129_024,
                516_096,
                1 << 20,
                1 << 30,
            ] {
                for length in [1, 2, 3, 7, 16, 63, 64].map(|blocks| blocks * block_bytes) {
                    let step = part_bytes(length, most, block_bytes);
                    let mut next_block = 0;
                    for part in 0..length.div_ceil(step) {
                        let start = part * step;
                        let here = (start / block_bytes, step.min(length - start) / block_bytes);
                        let bytes = here.1 * block_bytes;
                        assert_eq!(here.0, next_block, "{length} by {most} in {block_bytes}");
                        assert!(bytes <= most.max(block_bytes), "{bytes} at most {most}");
                        next_block += here.1;
                    }
                    assert_eq!(
                        next_block * block_bytes,
                        length,
                        "by {most} in {block_bytes}"
                    );
                }
            }
        }
    }

    #[test]
    fn a_part_takes_its_memory_from_all_pieces_of_the_request() {
        let mut pool = BufferPool::new(3, 8192).unwrap();
        let mut vector = |length| Vector::new(pool.take().unwrap(), 0, length);
        let vectors = Vectors::Many(vec![vector(4096), vector(512), vector(8192)]);
        let lengths = |start, length| -> Vec<usize> {
            let iovecs = stretch(&vectors, start, length);
            iovecs.iter().map(|iovec| iovec.iov_len).collect()
        };
        assert_eq!(lengths(0, 12800), [4096, 512, 8192]);
        assert_eq!(lengths(0, 4096), [4096]);
        assert_eq!(lengths(3584, 2048), [512, 512, 1024]);
        assert_eq!(lengths(4608, 8192), [8192]);
    }

    #[test]
    fn of_several_parts_the_first_that_failed_counts() {
        let (late, early) = (
            (8192, IoFault::Kernel(libc::EIO)),
            (4096, IoFault::Nvme(NvmeStatus(0x281))),
        );
        assert_eq!(first_failed(Some(late), Some(early)), Some(early));
        assert_eq!(first_failed(Some(early), Some(late)), Some(early));
        assert_eq!(first_failed(None, Some(late)), Some(late));
        assert_eq!(first_failed(None, None), None);
    }
}
