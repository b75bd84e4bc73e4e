//! Finds which offsets and lengths direct I/O takes on an open file: as the kernel reports it
//! (statx), else by trying.

use std::os::fd::BorrowedFd;

use rustix::fs::{AtFlags, StatxFlags, statx};

use super::DataPath;
use crate::buffer::BufferPool;

/// A page, which every implementation of direct I/O takes.
const SAFE_BYTES: u32 = 4096;

/// The support for direct I/O on one file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Alignment {
    /// Offsets and lengths in multiples of this.
    Multiple(u32),
    /// The file system reports that it has no direct I/O for this file.
    Refused,
}

/// The alignment that `file` needs.
pub(super) fn of(file: BorrowedFd<'_>, path: DataPath) -> Alignment {
    if path == DataPath::Buffered {
        return Alignment::Multiple(1);
    }
    if let Ok(facts) = statx(file, "", AtFlags::EMPTY_PATH, StatxFlags::DIOALIGN)
        && facts.stx_mask & StatxFlags::DIOALIGN.bits() != 0
    {
        return match facts.stx_dio_offset_align {
            0 => Alignment::Refused,
            multiple => Alignment::Multiple(multiple.max(facts.stx_dio_mem_align.min(SAFE_BYTES))),
        };
    }
    Alignment::Multiple(try_out(file))
}

/// The shortest length that can be read directly; a page if reading shows nothing.
fn try_out(file: BorrowedFd<'_>) -> u32 {
    let Ok(mut pool) = BufferPool::new(1, SAFE_BYTES as usize) else {
        return SAFE_BYTES;
    };
    let Some(mut buffer) = pool.take() else {
        return SAFE_BYTES;
    };
    for length in [512u32, 1024, 2048] {
        let bytes = &mut buffer.bytes_mut()[..length as usize];
        // This reads at a multiple of `length` that is not a multiple of anything larger.
        if rustix::io::pread(file, bytes, u64::from(length)).is_ok_and(|read| read > 0) {
            return length;
        }
    }
    SAFE_BYTES
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd;

    use super::*;

    #[test]
    fn buffered_files_take_any_offset() {
        let file = tempfile::tempfile().unwrap();
        assert_eq!(of(file.as_fd(), DataPath::Buffered), Alignment::Multiple(1));
    }

    #[test]
    fn an_empty_file_gets_the_safe_answer_when_tried_out() {
        let file = tempfile::tempfile().unwrap();
        assert_eq!(try_out(file.as_fd()), SAFE_BYTES);
    }
}
