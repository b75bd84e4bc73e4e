//! The document of `sustain devices --json`: the disks of a machine, the path of each up to the
//! memory, what is built on them, and what the guard says of each.

use std::cmp::Ordering;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::block_device::BlockDevice;
use crate::effect::MemoryCopy;

/// The version of [`DevicesDocument`].
pub const DEVICES_SCHEMA: &str = "sustain.devices/1";

/// The disks of a machine, how they are connected, and what is built on them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DevicesDocument {
    /// Always `sustain.devices/1`.
    pub schema: String,
    /// The disks, in the order in which they are connected.
    pub disks: Vec<DiskFacts>,
    /// Devices built on them: partitions, RAID, volumes, loop devices.
    pub layers: Vec<DeviceFacts>,
    /// How fast this machine copies memory; null unless that was asked for.
    #[serde(default)]
    pub memory_copy: Option<MemoryCopy>,
    /// Notes on what could not be read.
    pub notes: Vec<String>,
}

/// The kind of a block device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DeviceKind {
    /// A whole disk, or a device that the host treats as one.
    Disk,
    /// A partition.
    Partition,
    /// Software RAID.
    Md,
    /// A volume of the device mapper: LVM, encryption, multipath.
    Dm,
    /// A loop device over a file or a device.
    Loop,
    /// Compressed memory.
    Zram,
    /// Anything else that is built on other devices, such as bcache.
    Other,
}

/// A reason why a device must not be written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WhyNot {
    /// The reason in a few words: `sda1 is mounted on /`.
    pub reason: String,
    /// The guard's sentence, with what to do.
    pub advice: String,
}

/// A block device and how it is used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DeviceFacts {
    /// Its kind.
    pub kind: DeviceKind,
    /// The device.
    pub device: BlockDevice,
    /// Kernel names of the devices directly under it.
    pub lies_on: Vec<String>,
    /// Its mount points, as far as this process can see.
    pub mount_points: Vec<PathBuf>,
    /// Whether it is active swap.
    pub swap: bool,
    /// Whether the guard lets it be written, if it is named for that; null if that cannot be
    /// determined, and then it does not. A program that has claimed it is found only by opening it.
    pub may_be_written: Option<bool>,
    /// Every reason against that.
    pub why_not: Vec<WhyNot>,
    /// What a power cut in the middle of a write may do to neighbouring bytes, and what to do about
    /// it; null if the physical blocks that the device reports are harmless.
    pub caution: Option<String>,
}

/// A disk, and its path up to the memory.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DiskFacts {
    /// The disk and how it is used.
    pub facts: DeviceFacts,
    /// Its path.
    pub path: DiskPath,
}

closed_set! {
    /// The kind of a hop.
    pub enum HopKind {
        /// The disk itself, where every path begins.
        Disk,
        /// A link between a disk, a multiplier, an expander or a hub and the next hop above it.
        Port,
        /// A SATA port multiplier.
        PortMultiplier,
        /// A SAS expander.
        Expander,
        /// A USB hub.
        UsbHub,
        /// A host adapter, an NVMe controller, a virtual adapter.
        Controller,
        /// A link of PCI Express.
        PcieLink,
        /// A PCIe switch.
        PcieSwitch,
        /// A bus of conventional PCI, which all devices on it share.
        PciBus,
        /// The memory of one node, where every path ends on a machine that has nodes.
        NumaNode,
        /// The memory, if the node is not known.
        Memory,
        /// A device as a whole, where no more is known of its path.
        Device,
        /// A limit of a simulated machine.
        SimulatedLimit,
    }
}

/// One hop of the path between a disk and the memory: a link or a device.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Hop {
    /// The same for all disks whose path includes it, within one boot: its place in sysfs.
    pub id: String,
    /// Its kind.
    pub kind: HopKind,
    /// A name for people: `AHCI controller 0000:00:1f.2`, `SATA port ata3`.
    pub name: String,
    /// The rate that it can carry in one direction after line encoding; null if sysfs does not
    /// report it or if it is no link.
    pub rate_bytes_per_s: Option<f64>,
    /// How that rate is computed: `3 Gbit/s x 8/10 / 8`.
    pub formula: Option<String>,
    /// The rate that it could carry, if it runs below what both ends can do; else null.
    pub possible_rate_bytes_per_s: Option<f64>,
    /// What it runs at and what both ends can do, in words: `runs at 2.5 GT/s x1; both ends can do
    /// 8 GT/s x4`; else null. Of a disk, that its transfer mode is below the best it can do.
    pub slow: Option<String>,
    /// Of a disk on ATA, the mode in which it and its channel transfer: `UDMA/100`, `PIO 4`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transfer_mode: Option<String>,
}

/// The path from a disk up to the memory.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DiskPath {
    /// Kernel name of the disk: `sda`, `nvme0n1`.
    pub disk: String,
    /// The hops of the path, the disk first, the memory last.
    pub hops: Vec<Hop>,
    /// The key that sorts disks as they are connected: host, controller, port, address, slot. It is
    /// only for comparing.
    pub order: Vec<u64>,
}

impl DiskPath {
    /// Compares disks by the order in which they are connected; those at one place, by name.
    #[must_use]
    pub fn compare(&self, other: &DiskPath) -> Ordering {
        let by_name = |path: &DiskPath| (path.disk.len(), path.disk.clone());
        self.order
            .cmp(&other.order)
            .then_with(|| by_name(self).cmp(&by_name(other)))
    }
}
