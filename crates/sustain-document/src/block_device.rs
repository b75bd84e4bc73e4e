//! A block device as sysfs describes it: its place among disk and partitions, the devices built on
//! it, its size and its properties. Every document that names the machine carries it;
//! `sustain-host` reads it.

use std::ops::Range;
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The program that made a volume of the device mapper.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MapperMaker {
    /// LVM.
    Lvm,
    /// cryptsetup, veritysetup or integritysetup.
    Cryptsetup,
    /// multipathd.
    Multipath,
}

/// A device that the kernel built on top of another one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Holder {
    /// Kernel name: `dm-0`, `md127`, `bcache0`.
    pub name: String,
    /// The name the device mapper knows it by: `vg-home`.
    pub mapper_name: Option<String>,
    /// The program that made it; null if it is no volume of the device mapper, or if its maker is
    /// not known.
    #[serde(default)]
    pub mapper_maker: Option<MapperMaker>,
}

/// One device node: a whole disk or a partition.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Node {
    /// Kernel name: `sda`, `sda1`, `nvme0n1`.
    pub name: String,
    /// Major device number.
    pub major: u32,
    /// Minor device number.
    pub minor: u32,
    /// Size in bytes.
    pub size_bytes: u64,
    /// Whether the kernel refuses all writes to it.
    pub read_only: bool,
    /// The devices that are built directly on this node.
    pub holders: Vec<Holder>,
}

/// A block device and its facts for the report.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BlockDevice {
    /// The device itself.
    pub node: Node,
    /// The disk of which this is a partition; `None` for a whole disk.
    pub whole_disk: Option<Node>,
    /// The partitions of a whole disk.
    pub partitions: Vec<Node>,
    /// Kernel names of the devices it is built from (device mapper, md).
    pub slaves: Vec<String>,
    /// Device mapper name, such as `vg-home`.
    pub mapper_name: Option<String>,
    /// The file under a loop device.
    pub loop_backing_file: Option<PathBuf>,
    /// Smallest unit that can be addressed.
    pub logical_block_size_bytes: Option<u64>,
    /// Smallest unit that the medium writes without reading first.
    pub physical_block_size_bytes: Option<u64>,
    /// Whether the kernel takes it for a rotating disk.
    pub rotational: Option<bool>,
    /// The I/O scheduler in force.
    pub scheduler: Option<String>,
    /// `write back` (a cache that a power cut may lose) or `write through`.
    pub write_cache: Option<String>,
    /// The largest single request the kernel sends.
    pub max_request_bytes: Option<u64>,
    /// Maker's name for it.
    pub model: Option<String>,
    /// Serial number.
    pub serial: Option<String>,
    /// The memory node it is attached to, if the machine has several.
    pub numa_node: Option<u32>,
    /// The first byte of a partition on its disk; 0 for a whole disk.
    #[serde(default)]
    pub start_bytes: u64,
    /// Where its first physical block begins; null if the kernel does not know.
    #[serde(default)]
    pub alignment_offset_bytes: Option<u64>,
    /// Its directory in sysfs, for this boot. Empty in older documents.
    #[serde(default)]
    pub sysfs_directory: PathBuf,
}

impl BlockDevice {
    /// Kernel name of the device: `sda1`.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.node.name
    }

    /// Whether this is a partition of a disk.
    #[must_use]
    pub fn is_partition(&self) -> bool {
        self.whole_disk.is_some()
    }

    /// Kernel name of the whole disk: its own unless it is a partition.
    #[must_use]
    pub fn whole_disk_name(&self) -> &str {
        &self.whole_disk.as_ref().unwrap_or(&self.node).name
    }

    /// Its bytes, counted from the start of its disk.
    #[must_use]
    pub fn range(&self) -> Range<u64> {
        self.start_bytes..self.start_bytes.saturating_add(self.node.size_bytes)
    }

    /// The sysfs directory of the disk of which it is a partition.
    #[must_use]
    pub fn disk_directory(&self) -> Option<&Path> {
        self.sysfs_directory
            .parent()
            .filter(|_| self.is_partition())
    }
}
