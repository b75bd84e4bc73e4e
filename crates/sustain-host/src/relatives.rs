//! Finds the devices that share bytes with one: its disk and its partitions, partitions of its disk
//! that overlap it (hybrid images have such), and the same disk by another path. The guard calls
//! it, because data written to one of them is written to the other.

use std::ops::Range;
use std::path::{Path, PathBuf};

use sustain_document::block_device::{BlockDevice, MapperMaker, Node};

use crate::block_device::{Relation, device_in, device_named, relatives_within};
use crate::error::HostError;
use crate::mapper::maker_of_uuid;
use crate::roots::{Roots, attribute, names_in};

/// Serial numbers shorter than this are placeholders that makers of USB bridges and the like use
/// instead of a number of the disk's own.
const SERIAL_LENGTH_MIN: usize = 6;

/// Every node that shares bytes with `device`, itself first. A sibling partition beside it is not
/// among them, because it shares nothing.
///
/// # Errors
/// A `HostError` if sysfs cannot be read, because what is not known must not count as free.
pub fn relatives_of(
    roots: &Roots,
    device: &BlockDevice,
) -> Result<Vec<(Relation, Node)>, HostError> {
    let mut found: Vec<(Relation, Node)> = relatives_within(device)
        .map(|(relation, node)| (relation, node.clone()))
        .collect();
    if let Some(disk) = device.disk_directory() {
        for sibling in overlapping(roots, disk, &device.range())? {
            if sibling.name != device.node.name {
                found.push((Relation::OverlappingPartition, sibling));
            }
        }
    }
    for disk in other_paths(roots, device)? {
        let partitions = overlapping(roots, &disk.sysfs_directory, &device.range())?;
        found.push((Relation::OtherPath, disk.node));
        let partitions = partitions.into_iter();
        found.extend(partitions.map(|node| (Relation::OtherPath, node)));
    }
    Ok(found)
}

/// The same disk under other kernel names.
fn other_paths(roots: &Roots, device: &BlockDevice) -> Result<Vec<BlockDevice>, HostError> {
    let own = device.whole_disk_name();
    let Some(identity) = disk_identity(roots, device) else {
        return Ok(Vec::new());
    };
    let mut found = Vec::new();
    for name in names_in(&roots.sys.join("block"))? {
        // The single paths of an NVMe drive are listed beside it, and cannot be opened.
        let is_hidden = attribute(&roots.sys.join("block").join(&name).join("hidden"));
        if is_hidden.is_some_and(|flag| flag != "0") {
            continue;
        }
        // A device that disappears at this moment no longer shares anything.
        let Ok(other) = device_named(roots, &name) else {
            continue;
        };
        if other.name() != own && disk_identity(roots, &other).as_ref() == Some(&identity) {
            found.push(other);
        }
    }
    Ok(found)
}

fn overlapping(roots: &Roots, disk: &Path, range: &Range<u64>) -> Result<Vec<Node>, HostError> {
    let disk = device_in(roots, disk.to_owned())?;
    let mut found = Vec::new();
    for partition in disk.partitions {
        let other = device_named(roots, &partition.name)?.range();
        if other.start < range.end && range.start < other.end {
            found.push(partition);
        }
    }
    Ok(found)
}

/// An identity that tells a disk from all others in the world, whatever path it is connected by; it
/// includes the size, so that makers who give one number twice do less harm. `None` if nothing
/// reliable is reported.
///
/// Numbers that are registered (NAA, EUI-64, NGUID, UUID) count; a serial number counts together
/// with the model. Neither counts behind USB, because bridges report the same ones again and again.
pub(crate) fn disk_identity(roots: &Roots, device: &BlockDevice) -> Option<String> {
    let directory = identified_by(roots, device)?;
    let is_usb = directory
        .components()
        .any(|part| part.as_os_str().to_string_lossy().starts_with("usb"));
    if is_usb {
        return None;
    }
    let stated = ["wwid", "device/wwid"]
        .iter()
        .find_map(|name| attribute(&directory.join(name)));
    let registered = ["naa.", "eui.", "uuid.", "nvme."];
    let number = stated.filter(|text| registered.iter().any(|kind| text.starts_with(kind)));
    let number = number.or_else(|| {
        let disk = device_in(roots, directory.clone()).ok()?;
        let serial = disk.serial.filter(|serial| is_unique(serial))?;
        Some(format!("{} {serial}", disk.model?))
    })?;
    let disk = device.whole_disk.as_ref().unwrap_or(&device.node);
    Some(format!("{number} {}", disk.size_bytes))
}

/// The disk whose number counts: for a volume over several paths, one of these.
fn identified_by(roots: &Roots, device: &BlockDevice) -> Option<PathBuf> {
    let disk = device.disk_directory().unwrap_or(&device.sysfs_directory);
    let uuid = attribute(&disk.join("dm/uuid"));
    let is_multipath = uuid.and_then(|uuid| maker_of_uuid(&uuid)) == Some(MapperMaker::Multipath);
    if !is_multipath {
        return Some(disk.to_owned());
    }
    let path = names_in(&disk.join("slaves")).ok()?.into_iter().next()?;
    let path = device_named(roots, &path).ok()?;
    Some(path.sysfs_directory.to_owned())
}

/// Whether a serial number looks like one: it is not short, and not one character again and again.
fn is_unique(serial: &str) -> bool {
    let first = serial.chars().next();
    serial.len() >= SERIAL_LENGTH_MIN && serial.chars().any(|c| Some(c) != first)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake_host::FakeHost;

    fn relatives(host: &FakeHost, name: &str) -> Vec<(Relation, String)> {
        let device = device_named(host.roots(), name).unwrap();
        let found = relatives_of(host.roots(), &device).unwrap();
        let named = found.into_iter();
        named
            .map(|(relation, node)| (relation, node.name))
            .collect()
    }

    fn place(host: &FakeHost, partition: &str, start: u64) {
        host.write_sys(
            &format!("class/block/{partition}/start"),
            &format!("{start}\n"),
        );
    }

    #[test]
    fn a_partition_that_overlaps_another_is_its_relative() {
        let host = FakeHost::new();
        host.disk("sdzz", 300, 0, 4096);
        for (minor, start, sectors) in [(1, 0, 2000), (2, 276, 100), (3, 2000, 2000)] {
            let name = format!("sdzz{minor}");
            host.partition("sdzz", &name, 300, minor, sectors);
            place(&host, &name, start);
        }
        let (own, disk) = (Relation::Itself, Relation::WholeDisk);
        let over = Relation::OverlappingPartition;
        let named = |relation, name: &str| (relation, name.to_owned());
        assert_eq!(
            relatives(&host, "sdzz1"),
            [
                named(own, "sdzz1"),
                named(disk, "sdzz"),
                named(over, "sdzz2")
            ]
        );
        assert_eq!(
            relatives(&host, "sdzz2"),
            [
                named(own, "sdzz2"),
                named(disk, "sdzz"),
                named(over, "sdzz1")
            ]
        );
        assert_eq!(
            relatives(&host, "sdzz3"),
            [named(own, "sdzz3"), named(disk, "sdzz")]
        );
    }

    fn two_paths(host: &FakeHost) -> [PathBuf; 2] {
        [("sdzx", 32), ("sdzy", 48)].map(|(name, minor)| {
            let disk = host.disk_at("devices/pci0", name, 300, minor, 4096);
            let partition = format!("{name}1");
            host.partition(name, &partition, 300, minor + 1, 1024);
            place(host, &partition, 64);
            disk
        })
    }

    #[test]
    fn one_disk_by_two_paths_is_found_by_its_number() {
        let numbers = [
            ("device/wwid", "naa.5000c500a1b2c3d4\n"),
            ("wwid", "eui.0025385b01401b2c\n"),
        ];
        for (attribute, number) in numbers {
            let host = FakeHost::new();
            let paths = two_paths(&host);
            assert_eq!(relatives(&host, "sdzx").len(), 2);
            host.write_under(&paths[0], attribute, number);
            host.write_under(&paths[1], attribute, number);
            let other = |name: &str| (Relation::OtherPath, name.to_owned());
            assert_eq!(
                relatives(&host, "sdzx")[2..],
                [other("sdzy"), other("sdzy1")]
            );
            assert_eq!(
                relatives(&host, "sdzx1")[2..],
                [other("sdzy"), other("sdzy1")]
            );
            host.write_under(&paths[1], attribute, "naa.5000c500a1b2c3d5\n");
            assert_eq!(relatives(&host, "sdzx").len(), 2);
        }
    }

    #[test]
    fn model_and_serial_number_count_where_they_can_be_ones_own() {
        for (serial, count) in [("S5GXNX0R301234", 4), ("000000000000", 2), ("1", 2)] {
            let host = FakeHost::new();
            for path in two_paths(&host) {
                host.write_under(&path, "device/model", "Spinner 3000\n");
                host.write_under(&path, "device/serial", serial);
            }
            assert_eq!(relatives(&host, "sdzx").len(), count, "{serial}");
        }
    }

    #[test]
    fn bridges_that_all_have_one_number_are_no_paths_to_one_disk() {
        let host = FakeHost::new();
        for (name, minor) in [("sdzx", 32), ("sdzy", 48)] {
            let disk = host.disk_at("devices/pci0/usb2", name, 300, minor, 4096);
            host.write_under(&disk, "device/wwid", "naa.5000000000000001\n");
        }
        assert_eq!(relatives(&host, "sdzx").len(), 1);
    }

    #[test]
    fn a_volume_over_several_paths_is_the_disk_that_they_lead_to() {
        let host = FakeHost::new();
        let volume = host.disk("dm-900", 310, 0, 4096);
        host.write_under(&volume, "dm/uuid", "mpath-35000c500a1b2c3d4\n");
        for path in two_paths(&host) {
            host.write_under(&path, "device/wwid", "naa.5000c500a1b2c3d4\n");
            let name = path.file_name().unwrap().to_str().unwrap();
            host.write_under(&volume, &format!("slaves/{name}/marker"), "");
        }
        let named = |name: &str| {
            let found = relatives(&host, name).into_iter();
            let names = found.map(|(_, name)| name);
            names
                .filter(|name| !name.ends_with('1'))
                .collect::<Vec<_>>()
        };
        assert_eq!(named("dm-900"), ["dm-900", "sdzx", "sdzy"]);
        assert_eq!(named("sdzx"), ["sdzx", "dm-900", "sdzy"]);
    }
}
