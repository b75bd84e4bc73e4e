//! The machine of a run, without anything that names its owner: no host name, no addresses.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::block_device::BlockDevice;

/// The machine of the run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Host {
    /// Kernel release, CPU, memory.
    pub description: Option<Description>,
    /// The block devices under the targets.
    pub devices: Vec<BlockDevice>,
    /// The file systems under file targets, by target name.
    pub file_systems: Vec<TargetFileSystem>,
}

/// The file system of a file target.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TargetFileSystem {
    /// The target's name.
    pub target: String,
    /// The properties of its file system.
    pub file_system: FileSystem,
    /// The size that the target may reach, together with the others of this run; null if the file
    /// system does not report its free space.
    #[serde(default)]
    pub room_bytes: Option<u64>,
}

/// The host of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Description {
    /// Kernel release: `6.12.48-amd64`.
    pub kernel: String,
    /// `x86_64`, `aarch64`.
    pub architecture: String,
    /// The processor's name for itself.
    pub cpu_model: Option<String>,
    /// Logical processors on line.
    pub cpu_count: u32,
    /// What sets the clock frequency: `performance`, `powersave`, `schedutil`.
    pub cpu_frequency_governor: Option<String>,
    /// Whether the processor says that it runs under a hypervisor (x86 only).
    pub virtual_machine: bool,
    /// Memory the kernel manages.
    pub memory_bytes: u64,
    /// Size of a memory page.
    pub page_size_bytes: u64,
}

/// A mounted file system.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FileSystem {
    /// `ext4`, `xfs`, `btrfs`, `overlay`, `tmpfs`.
    pub kind: String,
    /// Where it is mounted.
    pub mount_point: PathBuf,
    /// What was mounted: usually a device path.
    pub source: PathBuf,
    /// Options of the mount and of the file system.
    pub options: Vec<String>,
    /// Kernel names of the block devices directly under it; empty when there are none or they
    /// cannot be known (network, memory, an overlay whose layers are out of sight).
    pub devices: Vec<String>,
}
