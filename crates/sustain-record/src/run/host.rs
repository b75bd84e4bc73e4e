//! Describes the machine of a recording for its result, as far as it can be known.

use std::path::Path;

use sustain_disk::target::TargetKind;
use sustain_document::block_device::BlockDevice;
use sustain_document::record::{HostResult, MemberFileSystem};
use sustain_host::{Roots, describe_host, file_system_of};

use crate::store::Store;

/// Describes the machine, the devices under the store's members, and the file systems of members
/// that are files. A simulated machine has no description.
pub(super) fn host(store: &Store, devices: &[BlockDevice], roots: &Roots) -> HostResult {
    let is_simulated = store.clock().is_virtual();
    let description = (!is_simulated).then(|| describe_host(roots).ok());
    let files = store
        .members
        .iter()
        .filter(|member| member.target.kind == TargetKind::File);
    let file_systems = files.filter_map(|member| {
        let file_system = file_system_of(roots, Path::new(&member.name)).ok()?;
        Some(MemberFileSystem {
            member: member.name.clone(),
            file_system,
        })
    });
    HostResult {
        description: description.flatten(),
        devices: devices.to_vec(),
        file_systems: file_systems.collect(),
    }
}
