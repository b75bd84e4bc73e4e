//! What sysfs reports about one block device: its place among disk and partitions, its holders, its
//! size and its properties. Called by the guard, by the owner of the sampler and for the report. It
//! goes by device number only, never by the path typed: a by-id link stands for the device it
//! points to.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use sustain_document::block_device::{BlockDevice, Holder, Node};

use crate::error::HostError;
use crate::mapper::maker_of_uuid;
use crate::roots::{Roots, attribute, names_in, number, read_text};

/// sysfs counts sizes in sectors of 512 bytes, whatever the device's block size is.
const SYSFS_SECTOR_BYTES: u64 = 512;

/// The relation of a node to the device that was asked about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relation {
    /// It is the device.
    Itself,
    /// It is a partition of the device.
    Partition,
    /// It is the whole disk of which the device is a partition.
    WholeDisk,
    /// It is a partition of the same disk, and the two overlap.
    OverlappingPartition,
    /// It is the same disk by another path, or a part of that.
    OtherPath,
    /// It is a loop device over some of the same bytes.
    SameBacking,
}

/// Looks up the device with this number.
///
/// # Errors
/// `HostError::NoSuchDevice` if sysfs does not have it; `HostError::Read` or
/// `HostError::Malformed` if a fact that is needed to guard it cannot be read.
pub fn device_of_number(roots: &Roots, major: u32, minor: u32) -> Result<BlockDevice, HostError> {
    let link = roots.sys.join(format!("dev/block/{major}:{minor}"));
    let directory = fs::canonicalize(&link).map_err(|_| HostError::NoSuchDevice {
        major,
        minor,
        path: link.clone(),
    })?;
    device_in(roots, directory)
}

/// Looks up the device with this kernel name (`sda1`).
///
/// # Errors
/// As [`device_of_number`]; `HostError::Read` when there is no such name.
pub fn device_named(roots: &Roots, name: &str) -> Result<BlockDevice, HostError> {
    let link = roots.sys.join("class/block").join(sysfs_name(name));
    let directory =
        fs::canonicalize(&link).map_err(|error| HostError::Read { path: link, error })?;
    device_in(roots, directory)
}

/// Reads what sysfs has in the directory of a device.
pub(crate) fn device_in(roots: &Roots, directory: PathBuf) -> Result<BlockDevice, HostError> {
    let is_partition = directory.join("partition").exists();
    let disk_directory = match directory.parent() {
        Some(parent) if is_partition => parent.to_owned(),
        _ => directory.clone(),
    };
    let node = read_node(roots, &directory)?;
    let whole_disk = if is_partition {
        Some(read_node(roots, &disk_directory)?)
    } else {
        None
    };
    let mut partitions = Vec::new();
    for name in if is_partition {
        Vec::new()
    } else {
        names_in(&directory)?
    } {
        let candidate = directory.join(&name);
        if candidate.join("partition").exists() {
            partitions.push(read_node(roots, &candidate)?);
        }
    }
    let queue = disk_directory.join("queue");
    let device = disk_directory.join("device");
    Ok(BlockDevice {
        slaves: kernel_names(&names_in(&directory.join("slaves"))?),
        mapper_name: attribute(&directory.join("dm/name")),
        loop_backing_file: attribute(&directory.join("loop/backing_file")).map(PathBuf::from),
        logical_block_size_bytes: number(&queue.join("logical_block_size")),
        physical_block_size_bytes: number(&queue.join("physical_block_size")),
        rotational: number(&queue.join("rotational")).map(|flag| flag != 0),
        scheduler: attribute(&queue.join("scheduler")).map(|text| scheduler_in_force(&text)),
        write_cache: attribute(&queue.join("write_cache")),
        max_request_bytes: number(&queue.join("max_sectors_kb")).map(|kib| kib * 1024),
        model: attribute(&device.join("model")),
        serial: serial(&disk_directory),
        numa_node: numa_node(&roots.sys, &disk_directory),
        node,
        whole_disk,
        partitions,
        start_bytes: start_bytes(&directory),
        alignment_offset_bytes: number(&directory.join("alignment_offset")),
        sysfs_directory: directory,
    })
}

/// The device itself, its partitions, and its whole disk. Other devices may share bytes with
/// it, too: [`relatives_of`](crate::relatives_of).
pub(crate) fn relatives_within(device: &BlockDevice) -> impl Iterator<Item = (Relation, &Node)> {
    std::iter::once((Relation::Itself, &device.node))
        .chain(
            device
                .partitions
                .iter()
                .map(|node| (Relation::Partition, node)),
        )
        .chain(
            device
                .whole_disk
                .iter()
                .map(|node| (Relation::WholeDisk, node)),
        )
}

/// The words under which the kernel log speaks of this device: its name, its disk's, the ATA
/// port (`ata2`), the SCSI address (`1:0:0:0`), the NVMe controller (`nvme0`), the USB device
/// (`usb 2-1`), the MMC host (`mmc0`).
#[must_use]
pub fn log_names(device: &BlockDevice) -> Vec<String> {
    let mut names = BTreeSet::from([
        device.name().to_owned(),
        device.whole_disk_name().to_owned(),
    ]);
    let mut usb_device = None;
    for component in device.sysfs_directory.components() {
        let component = component.as_os_str().to_string_lossy();
        let numbered = ["ata", "nvme", "mmc"].iter().any(|prefix| {
            component
                .strip_prefix(prefix)
                .is_some_and(|rest| is_numbers(rest, &[]))
        });
        let scsi_address =
            component.split(':').count() == 4 && is_numbers(&component.replace(':', ""), &[]);
        if numbered || scsi_address {
            names.insert(component.into_owned());
        } else if component.contains('-') && is_numbers(&component, &['-', '.']) {
            usb_device = Some(format!("usb {component}"));
        }
    }
    names.extend(usb_device);
    names.into_iter().collect()
}

fn read_node(roots: &Roots, directory: &Path) -> Result<Node, HostError> {
    let malformed = |path: &Path, text: &str| HostError::Malformed {
        path: path.to_owned(),
        why: format!("found {text:?}"),
    };
    let number_file = directory.join("dev");
    let text = read_text(&number_file)?;
    let (major, minor) = device_number(&text).ok_or_else(|| malformed(&number_file, &text))?;
    let size_file = directory.join("size");
    let text = read_text(&size_file)?;
    let sectors: u64 = text
        .trim()
        .parse()
        .map_err(|_| malformed(&size_file, &text))?;
    let read_only = read_text(&directory.join("ro"))?.trim() != "0";
    let base_name = directory.file_name().unwrap_or_default().to_string_lossy();
    let mut holders = Vec::new();
    for holder in names_in(&directory.join("holders"))? {
        let mapper = roots.sys.join("class/block").join(&holder).join("dm");
        let uuid = attribute(&mapper.join("uuid"));
        holders.push(Holder {
            name: kernel_name(&holder),
            mapper_name: attribute(&mapper.join("name")),
            mapper_maker: uuid.and_then(|uuid| maker_of_uuid(&uuid)),
        });
    }
    Ok(Node {
        name: kernel_name(&base_name),
        major,
        minor,
        size_bytes: sectors.saturating_mul(SYSFS_SECTOR_BYTES),
        read_only,
        holders,
    })
}

/// A whole disk begins at 0, and sysfs has no entry for that.
fn start_bytes(directory: &Path) -> u64 {
    number(&directory.join("start")).unwrap_or(0) * SYSFS_SECTOR_BYTES
}

/// Reads `8:1`.
pub(crate) fn device_number(text: &str) -> Option<(u32, u32)> {
    let (major, minor) = text.trim().split_once(':')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

/// A name with a slash (`cciss/c0d0`) is a directory with an exclamation mark in sysfs.
fn kernel_name(sysfs_name: &str) -> String {
    sysfs_name.replace('!', "/")
}

pub(crate) fn sysfs_name(kernel_name: &str) -> String {
    kernel_name.replace('/', "!")
}

fn kernel_names(sysfs_names: &[String]) -> Vec<String> {
    sysfs_names.iter().map(|name| kernel_name(name)).collect()
}

fn is_numbers(text: &str, also: &[char]) -> bool {
    text.starts_with(|c: char| c.is_ascii_digit())
        && text
            .chars()
            .all(|c| c.is_ascii_digit() || also.contains(&c))
}

/// `none [mq-deadline] kyber` names the one in brackets; some kernels state a bare `none`.
fn scheduler_in_force(text: &str) -> String {
    let bracketed = text
        .split_once('[')
        .and_then(|(_, rest)| rest.split_once(']'));
    bracketed.map_or(text, |(name, _)| name).to_owned()
}

/// NVMe and virtio state it as text; SCSI and ATA as vital product data page 0x80, whose text
/// follows a header of four bytes (SPC-4, 7.8.15).
fn serial(disk_directory: &Path) -> Option<String> {
    let stated = ["serial", "device/serial"];
    if let Some(text) = stated
        .iter()
        .find_map(|name| attribute(&disk_directory.join(name)))
    {
        return Some(text);
    }
    let page = fs::read(disk_directory.join("device/vpd_pg80")).ok()?;
    let text = String::from_utf8_lossy(page.get(4..)?);
    let text = text.trim_matches(|c: char| c.is_whitespace() || c == '\0');
    (!text.is_empty()).then(|| text.to_owned())
}

/// The nearest device above the disk that states a node; -1 means there is only one.
fn numa_node(sys: &Path, disk_directory: &Path) -> Option<u32> {
    let sys = fs::canonicalize(sys).ok()?;
    let above = disk_directory
        .ancestors()
        .take_while(|directory| directory.starts_with(&sys));
    let stated = above
        .filter_map(|directory| attribute(&directory.join("numa_node")))
        .next()?;
    stated.parse().ok()
}

#[cfg(test)]
mod tests {
    use sustain_document::block_device::MapperMaker;

    use super::*;
    use crate::fake_host::FakeHost;

    #[test]
    fn a_disk_knows_its_partitions_and_facts() {
        let host = FakeHost::new();
        let disk = host.disk("sdzz", 300, 0, 2048);
        host.partition("sdzz", "sdzz1", 300, 1, 1024);
        host.write_under(&disk, "queue/scheduler", "none [mq-deadline] kyber\n");
        host.write_under(&disk, "queue/logical_block_size", "512\n");
        host.write_under(&disk, "queue/physical_block_size", "4096\n");
        host.write_under(&disk, "queue/rotational", "1\n");
        host.write_under(&disk, "queue/max_sectors_kb", "1280\n");
        host.write_under(&disk, "queue/write_cache", "write back\n");
        host.write_under(&disk, "device/model", "Spinner 3000   \n");
        host.write_under(&disk, "device/vpd_pg80", "\0\u{0}\0\u{8}  AB1234");
        let device = device_of_number(host.roots(), 300, 0).unwrap();
        assert_eq!(device.name(), "sdzz");
        assert!(!device.is_partition());
        assert_eq!(device.node.size_bytes, 2048 * 512);
        assert_eq!(device.partitions.len(), 1);
        assert_eq!(device.partitions[0].name, "sdzz1");
        assert_eq!(device.scheduler.as_deref(), Some("mq-deadline"));
        assert_eq!(device.physical_block_size_bytes, Some(4096));
        assert_eq!(device.rotational, Some(true));
        assert_eq!(device.max_request_bytes, Some(1280 * 1024));
        assert_eq!(device.write_cache.as_deref(), Some("write back"));
        assert_eq!(device.model.as_deref(), Some("Spinner 3000"));
        assert_eq!(device.serial.as_deref(), Some("AB1234"));
        let json = serde_json::to_string(&device).unwrap();
        let again: BlockDevice = serde_json::from_str(&json).unwrap();
        assert_eq!(again, device);
    }

    #[test]
    fn a_partition_knows_its_disk_and_not_its_siblings() {
        let host = FakeHost::new();
        let disk = host.disk("sdzz", 300, 0, 2048);
        host.partition("sdzz", "sdzz1", 300, 1, 512);
        host.partition("sdzz", "sdzz2", 300, 2, 1024);
        host.write_under(&disk, "queue/logical_block_size", "4096\n");
        let device = device_of_number(host.roots(), 300, 2).unwrap();
        assert!(device.is_partition());
        assert_eq!(device.whole_disk_name(), "sdzz");
        assert_eq!(device.logical_block_size_bytes, Some(4096));
        let relatives: Vec<_> = relatives_within(&device)
            .map(|(relation, node)| (relation, node.name.as_str()))
            .collect();
        assert_eq!(
            relatives,
            [(Relation::Itself, "sdzz2"), (Relation::WholeDisk, "sdzz")]
        );
    }

    #[test]
    fn holders_carry_their_mapper_name_and_slashes_come_back() {
        let host = FakeHost::new();
        let disk = host.disk("cciss!c9d0", 300, 0, 2048);
        let mapper = host.disk("dm-900", 301, 0, 2048);
        host.write_under(&mapper, "dm/name", "vg-home\n");
        host.write_under(&mapper, "dm/uuid", "LVM-Yqu0rDrZ\n");
        host.write_under(&disk, "holders/dm-900/marker", "");
        let device = device_named(host.roots(), "cciss/c9d0").unwrap();
        assert_eq!(device.name(), "cciss/c9d0");
        let expected = Holder {
            name: "dm-900".into(),
            mapper_name: Some("vg-home".into()),
            mapper_maker: Some(MapperMaker::Lvm),
        };
        assert_eq!(device.node.holders, [expected]);
    }

    #[test]
    fn the_log_names_come_from_the_place_in_sysfs() {
        let host = FakeHost::new();
        let place = "devices/pci0000:00/0000:00:1f.2/ata2/host1/target1:0:0/1:0:0:0/block";
        host.disk_at(place, "sdzz", 300, 0, 2048);
        host.partition("sdzz", "sdzz1", 300, 1, 1024);
        let device = device_of_number(host.roots(), 300, 1).unwrap();
        assert_eq!(log_names(&device), ["1:0:0:0", "ata2", "sdzz", "sdzz1"]);

        let place = "devices/pci0000:00/usb2/2-1/2-1.4/2-1.4:1.0/host6/target6:0:0/6:0:0:0/block";
        host.disk_at(place, "sdzy", 300, 16, 2048);
        let device = device_of_number(host.roots(), 300, 16).unwrap();
        assert_eq!(log_names(&device), ["6:0:0:0", "sdzy", "usb 2-1.4"]);

        host.disk_at("devices/pci0000:00/nvme/nvme7", "nvme7n1", 301, 0, 2048);
        let device = device_of_number(host.roots(), 301, 0).unwrap();
        assert_eq!(log_names(&device), ["nvme7", "nvme7n1"]);
    }

    #[test]
    fn the_memory_node_is_the_nearest_stated_and_minus_one_is_none() {
        let host = FakeHost::new();
        host.disk_at(
            "devices/pci0000:00/card/nvme/nvme7",
            "nvme7n1",
            301,
            0,
            2048,
        );
        let node = || device_of_number(host.roots(), 301, 0).unwrap().numa_node;
        assert_eq!(node(), None);
        host.write_sys("devices/pci0000:00/card/numa_node", "1\n");
        assert_eq!(node(), Some(1));
        host.write_sys("devices/pci0000:00/card/numa_node", "-1\n");
        assert_eq!(node(), None);
    }

    #[test]
    fn an_unknown_number_is_named_in_the_error() {
        let host = FakeHost::new();
        let error = device_of_number(host.roots(), 300, 7).unwrap_err();
        assert!(error.to_string().contains("300:7"), "{error}");
    }
}
