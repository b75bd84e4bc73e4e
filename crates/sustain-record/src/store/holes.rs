//! The holes of an existing file that becomes a member: blocks that it gets there are given back if
//! the store is not made. `create` notes them before it changes anything. A file that has nothing
//! but holes and zeros can be taken without loss.

use std::fs::{File, Metadata};
use std::ops::Range;
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;

use rustix::fs::{FallocateFlags, SeekFrom, fallocate, fstat, ftruncate, seek};
use rustix::io::Errno;

/// A file as it was: its size, and where it had no data.
pub(super) struct Holes {
    file: Arc<OwnedFd>,
    size_bytes: u64,
    ranges: Vec<Range<u64>>,
}

impl Holes {
    /// Notes the holes of a file that is sparse. Where the file system does not tell them, there
    /// are none. A file that has all its blocks may have some that were never written, and keeps
    /// them.
    pub(super) fn of(file: Arc<OwnedFd>, is_sparse: bool) -> Holes {
        let size_bytes = fstat(&file).map_or(0, |found| found.st_size as u64);
        let (mut ranges, mut at) = (Vec::new(), 0);
        while is_sparse && at < size_bytes {
            let Ok(start) = seek(&file, SeekFrom::Hole(at)) else {
                break;
            };
            // Behind the last data there is a hole up to the end.
            let end = seek(&file, SeekFrom::Data(start)).unwrap_or(size_bytes);
            if start < end {
                ranges.push(start..end);
            }
            at = end.max(at + 1);
        }
        Holes {
            file,
            size_bytes,
            ranges,
        }
    }

    /// Gives back what the file got since: behind its end, and in its holes. It is only tidying up
    /// after the error that is being reported, so its own errors are not.
    pub(super) fn give_back(&self) {
        let grown = fstat(&self.file).is_ok_and(|found| found.st_size as u64 > self.size_bytes);
        if grown {
            let _ = ftruncate(&self.file, self.size_bytes);
        }
        let punch = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        for range in &self.ranges {
            let _ = fallocate(&self.file, punch, range.start, range.end - range.start);
        }
    }
}

/// More than is written to a new member before its superblocks.
const BLANK_BYTES_MAX: u64 = 64 << 20;
const LOOKED_AT_BYTES: usize = 1 << 20;

/// Whether a path is a file of nothing but zeros. One that has many of them counts as more.
pub(super) fn is_blank_file(path: &Path) -> bool {
    let Ok(file) = File::open(path) else {
        return false;
    };
    let metadata = file.metadata().ok().filter(Metadata::is_file);
    metadata.is_some_and(|metadata| has_only_zeros(&file, metadata.len()).unwrap_or(false))
}

fn has_only_zeros(file: &File, size_bytes: u64) -> std::io::Result<bool> {
    let mut looked_at = vec![0; LOOKED_AT_BYTES];
    let (mut at, mut left_bytes) = (0, BLANK_BYTES_MAX);
    while at < size_bytes {
        at = match seek(file, SeekFrom::Data(at)) {
            Ok(data) => data,
            // Behind it there is a hole up to the end.
            Err(Errno::NXIO) => return Ok(true),
            Err(errno) => return Err(errno.into()),
        };
        let count = file.read_at(&mut looked_at, at)?;
        let is_zero = looked_at[..count].iter().all(|byte| *byte == 0);
        if !is_zero || count as u64 > left_bytes {
            return Ok(false);
        }
        left_bytes -= count as u64;
        at += count.max(1) as u64;
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{FileExt, MetadataExt};

    use super::*;

    #[test]
    fn a_file_is_as_sparse_and_as_long_as_before() {
        let file = tempfile::tempfile().unwrap();
        file.set_len(8 << 20).unwrap();
        file.write_all_at(&[7; 65536], 2 << 20).unwrap();
        let blocks = file.metadata().unwrap().blocks();
        let holes = Holes::of(Arc::new(file.try_clone().unwrap().into()), true);
        file.write_all_at(&vec![9; 12 << 20], 0).unwrap();
        holes.give_back();
        let found = file.metadata().unwrap();
        assert_eq!((found.len(), found.blocks()), (8 << 20, blocks));
    }
}
