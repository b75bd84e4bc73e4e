//! What is driven: block devices, files, scratch files, `null:` and simulated disks.

mod alignment;
mod open;
mod passthrough;

use std::fmt;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::path::Path;
use std::sync::Arc;

use rustix::fs::Stat;

pub use open::{OpenRequest, open_dummy, open_null, open_path};
pub use passthrough::{Passthrough, PassthroughPlace};

/// The sort of a target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TargetKind {
    /// A disk or partition.
    BlockDevice,
    /// A file that the user named.
    File,
    /// A nameless file of our own in a directory that the user named; gone when it is closed,
    /// however that comes about.
    ScratchFile,
    /// /dev/null: what the tool itself can do.
    Null,
    /// A disk of a simulated machine.
    Simulated,
}

impl fmt::Display for TargetKind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            TargetKind::BlockDevice => "block_device",
            TargetKind::File => "file",
            TargetKind::ScratchFile => "scratch_file",
            TargetKind::Null => "null",
            TargetKind::Simulated => "simulated",
        })
    }
}

/// Which way through the kernel bytes go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DataPath {
    /// Past the page cache (O_DIRECT).
    Direct,
    /// Through the page cache.
    Buffered,
    /// Past the block layer too: NVMe commands by [`Passthrough`]. The target itself is opened as
    /// for [`DataPath::Direct`].
    Passthrough,
}

impl DataPath {
    /// Its name on the command line and in results.
    pub fn name(self) -> &'static str {
        match self {
            DataPath::Direct => "direct",
            DataPath::Buffered => "buffered",
            DataPath::Passthrough => "passthrough",
        }
    }
}

/// Which way the bytes go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// From the target.
    Read,
    /// To the target.
    Write,
}

/// An open target.
#[derive(Debug, Clone)]
pub struct Target {
    /// What was typed; of simulated disks the disk's name.
    pub name: String,
    /// Its sort.
    pub kind: TargetKind,
    /// The open file; simulated disks have none.
    pub file: Option<Arc<OwnedFd>>,
    /// Its size; none for `null:` and for files that grow as they are written.
    pub capacity_bytes: Option<u64>,
    /// Offsets and lengths must be multiples of this.
    pub alignment_bytes: u32,
    /// The device it is (block devices) or lies on (files), as major and minor number.
    pub device: Option<(u32, u32)>,
}

/// What the guard sees of a target before it may be written: the descriptor that will be written
/// through, if the guard agrees.
#[derive(Debug)]
pub struct Candidate<'a> {
    /// The target's name as typed.
    pub name: &'a str,
    /// Its path.
    pub path: &'a Path,
    /// The open descriptor.
    pub descriptor: BorrowedFd<'a>,
    /// What the kernel says of the descriptor.
    pub stat: &'a Stat,
    /// Whether the exclusive claim on a block device failed: someone else has it.
    pub claimed_by_other: bool,
}

/// Decides whether an existing thing may be written. Returns the reason if not.
pub type Guard<'a> = dyn FnMut(&Candidate<'_>) -> Result<(), String> + 'a;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_block_device_has_no_passthrough() {
        let directory = tempfile::tempdir().unwrap();
        let request = OpenRequest {
            direction: Direction::Write,
            path: DataPath::Passthrough,
            create: true,
        };
        for place in [directory.path().to_owned(), directory.path().join("new")] {
            let refused = open_path("typed", &place, request, &mut |_| Ok(())).unwrap_err();
            let refused = refused.to_string();
            assert!(refused.contains("needs an NVMe namespace"), "{refused}");
        }
        assert!(std::fs::read_dir(&directory).unwrap().next().is_none());
    }
}
