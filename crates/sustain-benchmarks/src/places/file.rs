//! A file that is written from end to end before it is measured, so that neither program meets
//! unwritten extents; and one that is all hole.

use std::fs::File;
use std::io::Write;
use std::path::Path;

use anyhow::Context;
use rustix::fs::{Advice, fadvise};
use sustain::disk::data::FreshData;
use tempfile::{Builder, NamedTempFile};

use crate::interrupt::Interrupt;

const BLOCK_BYTES: usize = 4 << 20;

/// A file full of random bytes, removed when dropped.
#[derive(Debug)]
pub(crate) struct WrittenFile(NamedTempFile);

impl WrittenFile {
    /// `size_bytes` is a multiple of 4 MiB.
    pub(crate) fn new(
        directory: &Path,
        size_bytes: u64,
        interrupt: &Interrupt,
    ) -> anyhow::Result<WrittenFile> {
        let cannot = || format!("cannot write a file of {size_bytes} bytes in {directory:?}");
        let file = Builder::new()
            .prefix("sustain-benchmarks-")
            .tempfile_in(directory)
            .with_context(cannot)?;
        fill(file.as_file(), size_bytes, interrupt).with_context(cannot)?;
        Ok(WrittenFile(file))
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }
}

/// A file without a byte in place, removed when dropped.
#[derive(Debug)]
pub(crate) struct SparseFile(NamedTempFile);

impl SparseFile {
    pub(crate) fn new(directory: &Path, size_bytes: u64) -> anyhow::Result<SparseFile> {
        let cannot = || format!("cannot make a sparse file of {size_bytes} bytes in {directory:?}");
        let file = Builder::new()
            .prefix("sustain-benchmarks-")
            .tempfile_in(directory)
            .with_context(cannot)?;
        file.as_file().set_len(size_bytes).with_context(cannot)?;
        Ok(SparseFile(file))
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }
}

fn fill(mut file: &File, size_bytes: u64, interrupt: &Interrupt) -> anyhow::Result<()> {
    rustix::fs::fallocate(file, rustix::fs::FallocateFlags::empty(), 0, size_bytes)?;
    let mut data = FreshData::new(size_bytes);
    let mut block = vec![0; BLOCK_BYTES];
    data.fill(&mut block);
    for _ in 0..size_bytes / BLOCK_BYTES as u64 {
        interrupt.check()?;
        data.stamp(&mut block);
        file.write_all(&block)?;
    }
    file.sync_all()?;
    // Direct I/O must not be slowed by throwing away what the page cache holds of it.
    fadvise(file, 0, None, Advice::DontNeed)?;
    Ok(())
}
