//! Host adapters: the kind of a PCI device by its class, and adapters that are connected to no PCI
//! bus. Called by the walk and by the PCIe family. An adapter's own rate is not in sysfs; the rates
//! of its links are.

use std::path::Path;

use sustain_document::devices::{Hop, HopKind};

use super::hop::without_rate;
use super::order::{PciAddress, is_numbered};
use super::sysfs_path::{SysfsPath, link_name, name_of};
use crate::roots::attribute;

/// PCI's vendor number of virtio devices.
const VENDOR_VIRTIO: &str = "0x1af4";

/// The controller that a PCI device is, named by its class and driver.
pub(super) fn of_pci_device(way: &SysfsPath, directory: &Path) -> Hop {
    let is_virtio = attribute(&directory.join("vendor")).as_deref() == Some(VENDOR_VIRTIO);
    let class = attribute(&directory.join("class")).unwrap_or_default();
    let what = if is_virtio {
        "virtio device"
    } else {
        class_words(&class)
    };
    let mut name = format!("{what} {}", name_of(directory));
    let nvme = way.nearest(|name| is_numbered(name, "nvme"));
    let known_as = nvme
        .filter(|nvme| nvme.ancestors().nth(2) == Some(directory))
        .map(name_of)
        .or_else(|| link_name(&directory.join("driver")));
    if let Some(known_as) = known_as {
        name.push_str(&format!(" ({known_as})"));
    }
    without_rate(way.id_of(directory), HopKind::Controller, name)
}

/// Words for a class, by the base class, subclass and programming interface of the PCI Code and ID
/// Assignment Specification, chapter 1: `0x010601`.
fn class_words(class: &str) -> &'static str {
    let digits = class.strip_prefix("0x").unwrap_or(class);
    let starts = |prefix| digits.starts_with(prefix);
    match digits {
        _ if starts("010601") => "AHCI controller",
        _ if starts("0106") => "SATA controller",
        _ if starts("0101") => "IDE controller",
        _ if starts("0100") => "SCSI host adapter",
        _ if starts("0104") => "RAID controller",
        _ if starts("0107") => "SAS host adapter",
        _ if starts("0108") => "NVMe controller",
        _ if starts("0c0330") => "xHCI USB controller",
        _ if starts("0c03") => "USB controller",
        _ if starts("0c04") => "Fibre Channel adapter",
        _ if starts("0805") => "SD controller",
        _ => "controller",
    }
}

/// The controller of a disk that is connected to no PCI device: on a board's own bus, in a
/// hypervisor, on the network.
pub(super) fn hops_without_pci(way: &SysfsPath) -> Option<Hop> {
    let network = way
        .nearest(|name| is_numbered(name, "nvme"))
        .and_then(|nvme| Some((nvme, attribute(&nvme.join("transport"))?)))
        .filter(|(_, transport)| transport != "pcie");
    if let Some((nvme, transport)) = network {
        let name = format!("NVMe over {transport} ({})", name_of(nvme));
        return Some(without_rate(way.id_of(nvme), HopKind::Controller, name));
    }
    let is_inside = |name: &str| name == "virtual" || PciAddress::parse(name).is_some();
    if way.nearest(is_inside).is_some() {
        return None;
    }
    let last = way
        .directories
        .iter()
        .rposition(|directory| is_below_controller(&name_of(directory)))?;
    let above = way.directories.get(last + 1);
    let directory = above
        .filter(|directory| name_of(directory) != "platform")
        .unwrap_or(&way.directories[last]);
    let name = format!("controller {}", name_of(directory));
    Some(without_rate(
        way.id_of(directory),
        HopKind::Controller,
        name,
    ))
}

/// Directories between a disk and its controller.
fn is_below_controller(name: &str) -> bool {
    const NUMBERED: [&str; 7] = ["ata", "host", "mmc", "nvme", "session", "usb", "virtio"];
    const FIXED: [&str; 4] = ["block", "mmc_host", "nvme", "scsi_host"];
    FIXED.contains(&name) || NUMBERED.iter().any(|word| is_numbered(name, word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_are_named_as_people_know_them() {
        assert_eq!(class_words("0x010601"), "AHCI controller");
        assert_eq!(class_words("0x010802"), "NVMe controller");
        assert_eq!(class_words("0x010700"), "SAS host adapter");
        assert_eq!(class_words("0x0c0330"), "xHCI USB controller");
        assert_eq!(class_words("0x0c0320"), "USB controller");
        assert_eq!(class_words(""), "controller");
    }
}
