//! Finds how the disks are connected: from each disk through ports, port multipliers, expanders,
//! hubs, controllers and PCIe links up to the memory, with the rate that each link can carry. The
//! reports draw it, and a measured wall is looked for among the hops. Best effort throughout: only
//! sysfs is read, and what it does not report is left open, never guessed. Nothing is decided here;
//! the guard decides what may be written.

mod ata_mode;
mod controller;
mod facts;
mod hop;
mod link_rate;
mod order;
mod pcie;
mod sas;
mod sata;
mod sysfs_path;
mod usb;
mod walk;

pub use facts::{Topology, devices_document};

use sustain_document::block_device::BlockDevice;
use sustain_document::devices::DiskPath;

use crate::error::HostError;
use crate::file_system::disks_under_device;
use crate::roots::Roots;

/// The path from a disk up to the memory; for a partition, from its disk.
///
/// # Errors
/// `HostError::Read` if sysfs does not have the disk. A hop about which little is known is no
/// error: its rate stays open.
pub fn path_of(roots: &Roots, device: &BlockDevice) -> Result<DiskPath, HostError> {
    walk::path_of_disk(roots, device)
}

/// The paths from all disks under a device: for a partition that of its disk; for RAID, a volume or
/// a loop device those of each disk it is built from, in the order in which they are connected.
///
/// # Errors
/// As [`path_of`]; also when a device in between cannot be read.
pub fn paths_under(roots: &Roots, device: &BlockDevice) -> Result<Vec<DiskPath>, HostError> {
    let mut paths = Vec::new();
    for disk in disks_under_device(roots, device)? {
        paths.push(path_of(roots, &disk)?);
    }
    paths.sort_by(DiskPath::compare);
    Ok(paths)
}

#[cfg(test)]
mod tests;
