//! Describes the machine of a recording for its result, as far as it can be known.

use std::path::Path;

use sustain_disk::target::TargetKind;
use sustain_host::{BlockDevice, Description, FileSystem, Roots};

use crate::result::{HostResult, MemberFileSystem};
use crate::store::Store;

/// Describes the machine, the devices under the store's members, and the file systems of members
/// that are files. A simulated machine has no description.
pub(super) fn host(store: &Store, devices: &[BlockDevice], roots: &Roots) -> HostResult {
    let is_simulated = store.clock().is_virtual();
    let description = (!is_simulated).then(|| Description::read(roots).ok());
    let files = store
        .members
        .iter()
        .filter(|member| member.target.kind == TargetKind::File);
    let file_systems = files.filter_map(|member| {
        let file_system = FileSystem::of(roots, Path::new(&member.name)).ok()?;
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
