//! Finds the generic character device (`ng0n1`) that belongs to an NVMe namespace's block device
//! (`nvme0n1`), and the other way round. Called by whoever uses passthrough. It only looks: the
//! guard, which sees the block device, decides whether the namespace may be written.

use std::fmt;
use std::fs;
use std::path::Path;

use crate::block_device::{device_number, device_of_number};
use crate::error::HostError;
use crate::roots::{Roots, attribute, names_in, number};

/// Where the kernel lists these devices.
const CLASS: &str = "class/nvme-generic";
/// The size that is assumed to be safe for a queue that does not report its limits.
const COMMAND_BYTES_SAFE: u64 = 128 << 10;

/// A namespace's character device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NvmeGeneric {
    /// Kernel name: `ng0n1`.
    pub name: String,
    /// Major device number.
    pub major: u32,
    /// Minor device number.
    pub minor: u32,
    /// The largest number of bytes that one command may move, however the memory is scattered, as
    /// the drive (MDTS), the bus and the list of pages allow it.
    pub command_bytes_max: u64,
}

/// The reason why a block device has none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoNvmeGeneric {
    /// It is driven by another kind of driver.
    OtherDriver {
        /// Kernel name of the device.
        device: String,
        /// What it is: `virtio`, `a loop device`.
        what: String,
    },
    /// It is a part of a namespace, and NVMe commands do not know partitions.
    Partition {
        /// Kernel name of the namespace.
        disk: String,
    },
    /// The kernel made none for it.
    Missing {
        /// Kernel name of the namespace.
        disk: String,
    },
}

impl fmt::Display for NoNvmeGeneric {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NoNvmeGeneric::OtherDriver { device, what } => write!(
                formatter,
                "passthrough needs an NVMe namespace; /dev/{device} is {what}"
            ),
            NoNvmeGeneric::Partition { disk } => write!(
                formatter,
                "passthrough needs a whole NVMe namespace, and this is a partition, which NVMe \
                 commands do not know: name /dev/{disk}"
            ),
            NoNvmeGeneric::Missing { disk } => write!(
                formatter,
                "the kernel has made no generic device for /dev/{disk}: Linux 5.13 and later make \
                 one for the formats that they support"
            ),
        }
    }
}

impl NvmeGeneric {
    /// Finds the character device of the block device with this number.
    ///
    /// Both are in the same directory of sysfs, that of the controller or, for a namespace with
    /// several paths, that of the subsystem; and both names end in the namespace's number. What
    /// comes before that need not be the same in both names.
    ///
    /// # Errors
    /// `HostError` if sysfs cannot be read; the inner error says why there is none.
    pub fn of(
        roots: &Roots,
        major: u32,
        minor: u32,
    ) -> Result<Result<NvmeGeneric, NoNvmeGeneric>, HostError> {
        let device = device_of_number(roots, major, minor)?;
        let disk = device.whole_disk_name().to_owned();
        let disk_directory = resolve(&roots.sys.join("class/block").join(&disk))?;
        let Some(namespace) = namespace_of(&disk, "nvme") else {
            let what = what_it_is(&disk, &disk_directory);
            let device = device.name().to_owned();
            return Ok(Err(NoNvmeGeneric::OtherDriver { device, what }));
        };
        if device.is_partition() {
            return Ok(Err(NoNvmeGeneric::Partition { disk }));
        }
        let home = disk_directory.parent().unwrap_or(&disk_directory);
        for name in names_in(home)? {
            let is_its = namespace_of(&name, "ng") == Some(namespace);
            if !is_its || resolve(&roots.sys.join(CLASS).join(&name))? != home.join(&name) {
                continue;
            }
            let stated = attribute(&home.join(&name).join("dev"));
            if let Some((major, minor)) = stated.as_deref().and_then(device_number) {
                return Ok(Ok(NvmeGeneric {
                    name,
                    major,
                    minor,
                    command_bytes_max: command_bytes_max(&disk_directory.join("queue")),
                }));
            }
        }
        Ok(Err(NoNvmeGeneric::Missing { disk }))
    }

    /// Kernel name of the block device to which the character device with this number belongs;
    /// `None` if it is not the generic device of a namespace.
    ///
    /// # Errors
    /// `HostError` if sysfs cannot be read.
    pub fn block_device(
        roots: &Roots,
        major: u32,
        minor: u32,
    ) -> Result<Option<String>, HostError> {
        let names = names_in(&roots.sys.join(CLASS))?;
        let found = names.into_iter().find(|name| {
            let stated = attribute(&roots.sys.join(CLASS).join(name).join("dev"));
            stated.as_deref().and_then(device_number) == Some((major, minor))
        });
        let Some((name, namespace)) =
            found.and_then(|name| Some((name.clone(), namespace_of(&name, "ng")?)))
        else {
            return Ok(None);
        };
        let directory = resolve(&roots.sys.join(CLASS).join(name))?;
        let home = directory.parent().unwrap_or(&directory);
        let names = names_in(home)?;
        Ok(names
            .into_iter()
            .find(|name| namespace_of(name, "nvme") == Some(namespace)))
    }
}

fn resolve(link: &Path) -> Result<std::path::PathBuf, HostError> {
    fs::canonicalize(link).map_err(|error| HostError::Read {
        path: link.to_owned(),
        error,
    })
}

/// The namespace's number in `nvme0n1` or `ng0n1`. A hidden path (`nvme0c1n1`) has none.
fn namespace_of(name: &str, prefix: &str) -> Option<u32> {
    let (controller, namespace) = name.strip_prefix(prefix)?.split_once('n')?;
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    (is_number(controller) && is_number(namespace))
        .then(|| namespace.parse().ok())
        .flatten()
}

/// Names a device that is not NVMe, in a word or two.
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
    let bus = fs::read_link(directory.join("device/subsystem")).ok();
    let bus = bus.as_deref().and_then(Path::file_name);
    match bus.map(|name| name.to_string_lossy().into_owned()) {
        Some(bus) if bus == "scsi" => "a SCSI or SATA disk".to_owned(),
        Some(bus) => bus,
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
    use std::path::PathBuf;

    use super::*;
    use crate::fake_host::FakeHost;

    const CONTROLLER: &str = "devices/pci0000:00/0000:00:04.0/nvme/nvme3";

    fn generic_at(host: &FakeHost, place: &str, name: &str, minor: u32) -> PathBuf {
        let sys = &host.roots().sys;
        let directory = sys.join(place).join(name);
        host.write_under(&directory, "dev", &format!("237:{minor}\n"));
        fs::create_dir_all(sys.join(CLASS)).unwrap();
        symlink(&directory, sys.join(CLASS).join(name)).unwrap();
        directory
    }

    fn found(host: &FakeHost, minor: u32) -> Result<NvmeGeneric, NoNvmeGeneric> {
        NvmeGeneric::of(host.roots(), 300, minor).unwrap()
    }

    #[test]
    fn a_namespace_and_its_character_device_find_each_other() {
        let host = FakeHost::new();
        let one = host.disk_at(CONTROLLER, "nvme3n1", 300, 0, 2048);
        host.disk_at(CONTROLLER, "nvme3n12", 300, 1, 2048);
        host.write_under(&one, "queue/max_hw_sectors_kb", "128\n");
        host.write_under(&one, "queue/max_segments", "127\n");
        generic_at(&host, CONTROLLER, "ng3n12", 5);
        generic_at(&host, CONTROLLER, "ng3n1", 4);
        let expected = NvmeGeneric {
            name: "ng3n1".to_owned(),
            major: 237,
            minor: 4,
            command_bytes_max: 128 << 10,
        };
        assert_eq!(found(&host, 0).unwrap(), expected);
        assert_eq!(found(&host, 1).unwrap().name, "ng3n12");
        let block = |minor| NvmeGeneric::block_device(host.roots(), 237, minor).unwrap();
        assert_eq!(block(4).as_deref(), Some("nvme3n1"));
        assert_eq!(block(5).as_deref(), Some("nvme3n12"));
        assert_eq!(block(6), None);
    }

    #[test]
    fn of_several_paths_that_of_the_subsystem_counts() {
        let host = FakeHost::new();
        let subsystem = "devices/virtual/nvme-subsystem/nvme-subsys1";
        host.disk_at(subsystem, "nvme1n2", 300, 0, 2048);
        host.disk_at(CONTROLLER, "nvme1c3n2", 300, 1, 2048);
        generic_at(&host, subsystem, "ng1n2", 0);
        assert_eq!(found(&host, 0).unwrap().name, "ng1n2");
        let block = NvmeGeneric::block_device(host.roots(), 237, 0).unwrap();
        assert_eq!(block.as_deref(), Some("nvme1n2"));
        let hidden = found(&host, 1).unwrap_err();
        assert!(matches!(hidden, NoNvmeGeneric::OtherDriver { .. }));
    }

    /// The number in front is the controller's in one name and the subsystem's in the other.
    #[test]
    fn only_the_namespace_and_the_place_must_agree() {
        let host = FakeHost::new();
        host.disk_at(CONTROLLER, "nvme0n1", 300, 0, 2048);
        generic_at(&host, CONTROLLER, "ng3n1", 7);
        let elsewhere = "devices/pci0000:00/0000:00:05.0/nvme/nvme0";
        generic_at(&host, elsewhere, "ng0n1", 8);
        assert_eq!(found(&host, 0).unwrap().minor, 7);
    }

    #[test]
    fn what_is_no_namespace_says_what_it_is() {
        let host = FakeHost::new();
        let disk = host.disk("vdzz", 300, 0, 2048);
        let bus = host.roots().sys.join("bus/virtio");
        fs::create_dir_all(&bus).unwrap();
        fs::create_dir_all(disk.join("device")).unwrap();
        symlink(&bus, disk.join("device/subsystem")).unwrap();
        host.disk("loop7", 300, 1, 2048);
        host.disk_at(CONTROLLER, "nvme3n1", 300, 2, 2048);
        host.partition("nvme3n1", "nvme3n1p1", 300, 3, 1024);
        let words = |minor| found(&host, minor).unwrap_err().to_string();
        assert_eq!(
            words(0),
            "passthrough needs an NVMe namespace; /dev/vdzz is virtio"
        );
        assert!(words(1).contains("/dev/loop7 is a loop device"));
        assert!(words(2).contains("no generic device for /dev/nvme3n1"));
        assert!(words(3).contains("name /dev/nvme3n1"));
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
