//! Finds what passes commands to a disk past the block layer: the generic character device of an
//! NVMe namespace, or the block device itself of a SATA or SCSI disk, with the limits of a command.
//! Called by whoever uses passthrough. It only looks: the guard, which sees the block device,
//! decides whether the disk may be written.

mod nvme_generic;
mod scsi_disk;

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

pub use nvme_generic::NvmeGeneric;
pub use scsi_disk::ScsiDiskFacts;

use sustain_document::setting::PATH;

use crate::block_device::device_of_number;
use crate::error::HostError;
use crate::roots::{Roots, number};

/// The size that is assumed to be safe for a queue that does not report its limits.
const COMMAND_BYTES_SAFE: u64 = 128 << 10;

/// What passes commands to a disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PassthroughDevice {
    /// The character device of an NVMe namespace.
    Nvme(NvmeGeneric),
    /// The block device of a SATA or SCSI disk.
    Scsi(ScsiDiskFacts),
}

/// The reason why nothing passes commands to a block device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoPassthrough {
    /// It is driven by another kind of driver.
    OtherDriver {
        /// Kernel name of the device.
        device: String,
        /// What it is: `virtio`, `a loop device`.
        what: String,
    },
    /// It is a part of a disk, and commands do not know partitions.
    Partition {
        /// Kernel name of the disk.
        disk: String,
    },
    /// The kernel made no character device for the namespace.
    NoGenericDevice {
        /// Kernel name of the namespace.
        disk: String,
    },
}

impl fmt::Display for NoPassthrough {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NoPassthrough::OtherDriver { device, what } => write!(
                formatter,
                "passthrough needs a whole NVMe, SATA or SCSI disk, and /dev/{device} is {what}: \
                 use {}",
                PATH.to("direct")
            ),
            NoPassthrough::Partition { disk } => write!(
                formatter,
                "passthrough needs a whole NVMe, SATA or SCSI disk, and this is a partition, \
                 which commands do not know: name /dev/{disk}"
            ),
            NoPassthrough::NoGenericDevice { disk } => write!(
                formatter,
                "the kernel has made no generic device for /dev/{disk}: Linux 5.13 and later make \
                 one for the formats that they support"
            ),
        }
    }
}

impl PassthroughDevice {
    /// Finds what passes commands to the block device with this number.
    ///
    /// # Errors
    /// `HostError` if sysfs cannot be read; the inner error says why there is nothing.
    pub fn of(
        roots: &Roots,
        major: u32,
        minor: u32,
    ) -> Result<Result<PassthroughDevice, NoPassthrough>, HostError> {
        let device = device_of_number(roots, major, minor)?;
        let disk = device.whole_disk_name().to_owned();
        let directory = resolve(&roots.sys.join("class/block").join(&disk))?;
        let found = match NvmeGeneric::of_disk(roots, &disk, &directory)? {
            Some(generic) => generic.map(PassthroughDevice::Nvme),
            None => match ScsiDiskFacts::of_disk(&directory) {
                Some(facts) => Ok(PassthroughDevice::Scsi(facts)),
                None => {
                    let what = what_it_is(&disk, &directory);
                    let device = device.name().to_owned();
                    return Ok(Err(NoPassthrough::OtherDriver { device, what }));
                }
            },
        };
        if device.is_partition() {
            return Ok(Err(NoPassthrough::Partition { disk }));
        }
        Ok(found)
    }
}

fn resolve(link: &Path) -> Result<PathBuf, HostError> {
    fs::canonicalize(link).map_err(|error| HostError::Read {
        path: link.to_owned(),
        error,
    })
}

/// The kernel's name of the bus that a disk is on.
fn bus_of(directory: &Path) -> Option<String> {
    let bus = fs::read_link(directory.join("device/subsystem")).ok()?;
    Some(bus.file_name()?.to_string_lossy().into_owned())
}

/// Names a device that takes no commands, in a word or two.
fn what_it_is(disk: &str, directory: &Path) -> String {
    let by_name = [
        ("loop", "a loop device"),
        ("dm-", "a device mapper volume"),
        ("md", "an md array"),
        ("zram", "a disk in memory"),
        ("ram", "a disk in memory"),
        ("nbd", "a network block device"),
    ];
    if let Some((_, what)) = by_name.iter().find(|(start, _)| disk.starts_with(start)) {
        return (*what).to_owned();
    }
    match bus_of(directory).as_deref() {
        Some("scsi") => "a SCSI device of another kind, or a disk with zones".to_owned(),
        Some(bus) => bus.to_owned(),
        None => "driven by something else".to_owned(),
    }
}

/// In the worst case each page of the memory is a segment of its own, and the first and the last
/// page are used only partly.
fn command_bytes_max(queue: &Path) -> u64 {
    let page = rustix::param::page_size() as u64;
    let stated = number(&queue.join("max_hw_sectors_kb")).map(|kib| kib.saturating_mul(1024));
    let by_pages = number(&queue.join("max_segments"))
        .map(|segments| segments.saturating_sub(1).max(1).saturating_mul(page));
    let all = [stated, by_pages].into_iter().flatten();
    all.min().unwrap_or(COMMAND_BYTES_SAFE).max(512)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::fake_host::FakeHost;

    fn on_bus(host: &FakeHost, disk: &Path, bus: &str) {
        let bus = host.roots().sys.join("bus").join(bus);
        fs::create_dir_all(&bus).unwrap();
        fs::create_dir_all(disk.join("device")).unwrap();
        symlink(&bus, disk.join("device/subsystem")).unwrap();
    }

    fn found(host: &FakeHost, minor: u32) -> Result<PassthroughDevice, NoPassthrough> {
        PassthroughDevice::of(host.roots(), 300, minor).unwrap()
    }

    #[test]
    fn what_takes_no_commands_says_what_it_is() {
        let host = FakeHost::new();
        let disk = host.disk("vdzz", 300, 0, 2048);
        on_bus(&host, &disk, "virtio");
        host.disk("loop7", 300, 1, 2048);
        host.disk("nvme3n1", 300, 2, 2048);
        host.partition("nvme3n1", "nvme3n1p1", 300, 3, 1024);
        host.disk("dm-3", 300, 4, 2048);
        host.disk("md7", 300, 5, 2048);
        host.disk("zram0", 300, 6, 2048);
        let words = |minor| found(&host, minor).unwrap_err().to_string();
        assert_eq!(
            words(0),
            "passthrough needs a whole NVMe, SATA or SCSI disk, and /dev/vdzz is virtio: use the \
             I/O path direct"
        );
        assert!(words(1).contains("/dev/loop7 is a loop device"));
        assert!(words(2).contains("no generic device for /dev/nvme3n1"));
        assert!(words(3).contains("name /dev/nvme3n1"));
        assert!(words(4).contains("a device mapper volume"));
        assert!(words(5).contains("an md array"));
        assert!(words(6).contains("a disk in memory"));
    }

    #[test]
    fn scsi_disks_are_told_from_what_else_is_on_their_bus() {
        let host = FakeHost::new();
        for (minor, (name, kind)) in [("sdzz", "0"), ("sr7", "5"), ("sdzy", "20")]
            .iter()
            .enumerate()
        {
            let disk = host.disk(name, 300, minor as u32, 2048);
            on_bus(&host, &disk, "scsi");
            host.write_under(&disk, "device/type", &format!("{kind}\n"));
        }
        host.partition("sdzz", "sdzz1", 300, 7, 1024);
        assert!(matches!(found(&host, 0), Ok(PassthroughDevice::Scsi(_))));
        let words = |minor| found(&host, minor).unwrap_err().to_string();
        assert!(words(1).contains("/dev/sr7 is a SCSI device of another kind"));
        assert!(words(2).contains("with zones"));
        assert!(words(7).contains("name /dev/sdzz"));
    }

    #[test]
    fn commands_are_as_large_as_scattered_memory_allows() {
        let host = FakeHost::new();
        let queue = host.path().join("queue");
        assert_eq!(command_bytes_max(&queue), COMMAND_BYTES_SAFE);
        host.write_under(&queue, "max_hw_sectors_kb", "2048\n");
        assert_eq!(command_bytes_max(&queue), 2 << 20);
        host.write_under(&queue, "max_segments", "33\n");
        let page = rustix::param::page_size() as u64;
        assert_eq!(command_bytes_max(&queue), 32 * page);
    }
}
