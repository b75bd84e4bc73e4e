//! Reads facts about the host: those that decide whether a disk may be written, what dormant
//! content it has, how the system fares during a run, and what the kernel logs at that time. Called
//! by the measuring program and the command line. It only reads: it never writes to a device, never
//! mounts, stops or configures anything. The facts have the types of `sustain-document`.
//!
//! ```
//! use sustain_host::{Roots, describe_host};
//!
//! let machine = describe_host(&Roots::default())?;
//! println!("Linux {} on {} processors", machine.kernel, machine.cpu_count);
//! # Ok::<(), sustain_host::HostError>(())
//! ```
#![forbid(unsafe_code)]

mod block_device;
mod control_groups;
mod description;
mod error;
#[cfg(test)]
mod fake_host;
mod file_system;
mod guard;
mod in_use;
mod kernel_counters;
mod kernel_log;
mod mapper;
mod mounts;
mod neighbours;
mod passthrough;
mod processor_cache;
mod refusal;
mod relatives;
mod roots;
mod signature;
mod system;
mod throttled;
mod topology;

pub use block_device::{Relation, device_named, device_of_number, log_names};
pub use control_groups::{ControlGroups, DeviceNumber, GroupBytes, GroupLimits};
pub use description::describe_host;
pub use error::HostError;
pub use file_system::{
    devices_directly_under, disks_under_device, disks_under_file_system, file_system_of,
    free_bytes, layers_under_device,
};
pub use guard::{CandidateKind, InspectedIdentity, Inspection, inspect, inspect_stat};
pub use kernel_counters::read_kernel_counters;
pub use kernel_log::{KernelLog, KernelLogLine};
pub use neighbours::neighbour_caution;
pub use passthrough::{NoPassthrough, NvmeGeneric, PassthroughDevice, ScsiDiskFacts};
pub use processor_cache::last_level_cache_bytes;
pub use refusal::Refusal;
pub use relatives::relatives_of;
pub use roots::Roots;
pub use signature::{Signature, SignatureKind, read_signature};
pub use system::Sampler;
pub use topology::{Topology, devices_document, path_of, paths_under};
