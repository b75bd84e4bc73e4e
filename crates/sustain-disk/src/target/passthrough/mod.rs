//! Passthrough to a disk past the block layer: commands to an NVMe namespace on its generic
//! character device, or to a SATA or SCSI disk on its block device. Both are opened beside, or on,
//! the block device that passed the guard, never without it, and keep its claim. The engines of
//! passthrough drive them.

mod nvme;
mod scsi;

use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::Arc;

use rustix::fs::{Advice, fadvise, fdatasync};

pub use nvme::NvmeNamespace;
pub use scsi::ScsiDisk;

use super::{Direction, Target, TargetKind};
use crate::error::Error;

/// Names what can be driven by passthrough, for messages that begin with "passthrough needs".
pub const PASSED_THROUGH: &str = "a whole NVMe, SATA or SCSI disk";

/// The host's facts about a disk to which commands can be passed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PassthroughPlace {
    /// It is an NVMe namespace.
    Nvme(GenericDevice),
    /// It is a SATA or SCSI disk.
    Scsi(ScsiFacts),
}

/// The character device of an NVMe namespace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GenericDevice {
    /// The device node.
    pub path: PathBuf,
    /// Its major and minor number; the node at the path must be this device.
    pub device: (u32, u32),
    /// The largest number of bytes that one command may move, however the memory is scattered.
    pub command_bytes_max: u64,
}

/// The host's facts about a SATA or SCSI disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ScsiFacts {
    /// The largest number of bytes that one command may move, if the memory lies together.
    pub command_bytes_max: u64,
    /// The same, however the memory is scattered.
    pub scattered_bytes_max: u64,
    /// The block size that the kernel has found.
    pub block_bytes: u64,
    /// Whether what was written may be in a volatile cache until it is flushed.
    pub is_cache_volatile: bool,
    /// Whether a write can be forced past that cache.
    pub can_force: bool,
}

/// A disk, open for commands.
#[derive(Debug, Clone)]
pub enum Passthrough {
    /// An NVMe namespace.
    Nvme(Arc<NvmeNamespace>),
    /// A SATA or SCSI disk.
    Scsi(Arc<ScsiDisk>),
}

impl Passthrough {
    /// Opens passthrough to the disk that `target` is, for the direction in which the target was
    /// opened.
    ///
    /// # Errors
    /// [`Error::Target`] if it is not a block device or not the disk that the place describes, or
    /// if the kernel refuses, saying what to do.
    pub fn open(
        target: &Target,
        place: &PassthroughPlace,
        direction: Direction,
    ) -> Result<Passthrough, Error> {
        Ok(match place {
            PassthroughPlace::Nvme(place) => {
                Passthrough::Nvme(Arc::new(NvmeNamespace::open(target, place, direction)?))
            }
            PassthroughPlace::Scsi(facts) => {
                Passthrough::Scsi(Arc::new(ScsiDisk::open(target, *facts, direction)?))
            }
        })
    }

    /// Bytes of a block: offsets and lengths are multiples of it.
    pub fn block_bytes(&self) -> u64 {
        match self {
            Passthrough::Nvme(namespace) => namespace.block_bytes(),
            Passthrough::Scsi(disk) => disk.block_bytes(),
        }
    }
}

fn block_device_of(target: &Target) -> Result<&Arc<OwnedFd>, Error> {
    match (&target.file, target.kind) {
        (Some(block_device), TargetKind::BlockDevice) => Ok(block_device),
        _ => {
            let why = format!("passthrough needs {PASSED_THROUGH}, and this is not a block device");
            Err(Error::target(&target.name, why))
        }
    }
}

/// A block device whose page cache does not see what is written past it: nothing that waits there
/// is written later, over what passthrough writes, and nobody reads old bytes from it.
#[derive(Debug)]
struct CacheKept {
    block_device: Arc<OwnedFd>,
    may_write: bool,
}

impl CacheKept {
    fn of(
        target: &Target,
        block_device: &Arc<OwnedFd>,
        direction: Direction,
    ) -> Result<CacheKept, Error> {
        let kept = CacheKept {
            block_device: Arc::clone(block_device),
            may_write: direction == Direction::Write,
        };
        if kept.may_write {
            fdatasync(block_device).map_err(|errno| {
                let why = format!("what was written to it before cannot be flushed: {errno}");
                Error::target(&target.name, why)
            })?;
            kept.forget();
        }
        Ok(kept)
    }

    fn forget(&self) {
        // This is only advice: it fails on no block device, and nothing could be done if it did.
        let _ = fadvise(&self.block_device, 0, None, Advice::DontNeed);
    }
}

impl Drop for CacheKept {
    fn drop(&mut self) {
        if self.may_write {
            self.forget();
        }
    }
}
