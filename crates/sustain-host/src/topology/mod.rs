//! How the disks hang together: from each disk through ports, port multipliers, expanders, hubs,
//! controllers and PCIe links up to the memory, with the rate that each link can carry.
//! The faces draw it, and a wall that was measured is looked for among the hops.
//! Best effort throughout: sysfs alone is read, and what it does not say is left open, never
//! guessed. It decides nothing; what may be written is the guard's word.

mod controller;
mod document;
mod facts;
mod hop;
mod link_rate;
mod order;
mod pcie;
mod sas;
mod sata;
mod usb;
mod walk;

pub use document::{DEVICES_SCHEMA, DevicesDocument};
pub use facts::{DeviceFacts, DeviceKind, DiskFacts, Topology, WhyNot};
pub use hop::{DiskPath, Hop, HopKind};

use crate::block_device::BlockDevice;
use crate::error::HostError;
use crate::file_system::disks_under_device;
use crate::roots::Roots;

/// The way from a disk up to the memory; of a partition, from its disk.
///
/// # Errors
/// `HostError::Read` when sysfs does not have the disk. A hop that says little is no error: its
/// rate stays open.
pub fn path_of(roots: &Roots, device: &BlockDevice) -> Result<DiskPath, HostError> {
    walk::path_of_disk(roots, device)
}

/// The ways from all disks under a device: of a partition its disk's, of RAID, a volume or a loop
/// device those of each disk it is built from, in the order in which they hang.
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
