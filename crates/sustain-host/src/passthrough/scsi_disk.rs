//! What sysfs says of a SATA or SCSI disk to which commands are to be passed: the limits of a
//! command, the block size, the write cache.

use std::path::Path;

use super::{bus_of, command_bytes_max};
use crate::roots::{attribute, number};

/// The type of a disk with random access (SPC-4, 6.6.2); 20 has zones, 5 is for CDs.
const TYPE_DISK: u64 = 0;
/// The block size of a disk that does not report it.
const BLOCK_BYTES_USUAL: u64 = 512;

/// The host's facts about a SATA or SCSI disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScsiDiskFacts {
    /// The largest number of bytes that one command may move, as the disk and the adapter allow it.
    pub command_bytes_max: u64,
    /// The same, however the memory is scattered, as the list of pages allows it.
    pub scattered_bytes_max: u64,
    /// The size of a logical block.
    pub block_bytes: u64,
    /// Whether what was written may be in a volatile cache until it is flushed; so it is assumed of
    /// a disk that does not say.
    pub is_cache_volatile: bool,
    /// Whether a write can be forced past that cache (FUA).
    pub can_force: bool,
}

impl ScsiDiskFacts {
    /// Reads them from the disk's directory of sysfs; `None` if it is no such disk.
    pub(super) fn of_disk(directory: &Path) -> Option<ScsiDiskFacts> {
        let kind = number(&directory.join("device/type"));
        if bus_of(directory)? != "scsi" || kind != Some(TYPE_DISK) {
            return None;
        }
        let queue = directory.join("queue");
        // The kernel holds its own requests to this, which knows what the disk takes at most;
        // commands that are passed through it does not hold to it.
        let bytes = |name| number(&queue.join(name)).map(|kib| kib.saturating_mul(1024));
        let taken = [bytes("max_sectors_kb"), bytes("max_hw_sectors_kb")];
        let scattered = command_bytes_max(&queue);
        let command_bytes_max = taken.into_iter().flatten().min().unwrap_or(scattered);
        let cache = attribute(&queue.join("write_cache"));
        let block_bytes = number(&queue.join("logical_block_size"));
        Some(ScsiDiskFacts {
            command_bytes_max,
            scattered_bytes_max: scattered.min(command_bytes_max),
            block_bytes: block_bytes.unwrap_or(BLOCK_BYTES_USUAL),
            is_cache_volatile: cache.as_deref() != Some("write through"),
            can_force: number(&queue.join("fua")) == Some(1),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::fake_host::FakeHost;

    #[test]
    fn the_limits_and_the_cache_are_those_of_the_queue() {
        let host = FakeHost::new();
        let disk = host.disk("sdzz", 300, 0, 2048);
        let bus = host.roots().sys.join("bus/scsi");
        fs::create_dir_all(&bus).unwrap();
        host.write_under(&disk, "device/type", "0\n");
        assert_eq!(ScsiDiskFacts::of_disk(&disk), None, "on no bus");
        symlink(&bus, disk.join("device/subsystem")).unwrap();
        let silent = ScsiDiskFacts::of_disk(&disk).unwrap();
        let expected = ScsiDiskFacts {
            command_bytes_max: 128 << 10,
            scattered_bytes_max: 128 << 10,
            block_bytes: 512,
            is_cache_volatile: true,
            can_force: false,
        };
        assert_eq!(silent, expected);
        for (name, content) in [
            ("max_hw_sectors_kb", "32767\n"),
            ("max_sectors_kb", "256\n"),
            ("max_segments", "168\n"),
            ("logical_block_size", "4096\n"),
            ("write_cache", "write through\n"),
            ("fua", "1\n"),
        ] {
            host.write_under(&disk.join("queue"), name, content);
        }
        let expected = ScsiDiskFacts {
            command_bytes_max: 256 << 10,
            scattered_bytes_max: 256 << 10,
            block_bytes: 4096,
            is_cache_volatile: false,
            can_force: true,
        };
        assert_eq!(ScsiDiskFacts::of_disk(&disk), Some(expected));
        host.write_under(&disk.join("queue"), "max_sectors_kb", "1280\n");
        let larger = ScsiDiskFacts::of_disk(&disk).unwrap();
        let by_pages = 167 * rustix::param::page_size() as u64;
        assert_eq!(larger.scattered_bytes_max, by_pages.min(1280 << 10));
        assert_eq!(larger.command_bytes_max, 1280 << 10);
    }
}
