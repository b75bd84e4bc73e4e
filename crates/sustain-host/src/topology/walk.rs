//! Walks from a disk's place in sysfs up to the memory. The tree of devices in sysfs is that of the
//! machine: each directory is below the device it is connected through. Called by `path_of`. Each
//! family of hops knows its own directories; this file knows their order.

use std::fs;
use std::path::{Path, PathBuf};

use sustain_document::block_device::BlockDevice;
use sustain_document::devices::{DiskPath, Hop, HopKind};

use super::hop::without_rate;
use super::sysfs_path::{SysfsPath, name_of};
use super::{controller, order, pcie, sas, sata, usb};
use crate::block_device::sysfs_name;
use crate::error::HostError;
use crate::roots::{Roots, attribute, names_in};

pub(super) fn path_of_disk(roots: &Roots, device: &BlockDevice) -> Result<DiskPath, HostError> {
    let disk = device.whole_disk_name().to_owned();
    let link = roots.sys.join("class/block").join(sysfs_name(&disk));
    let failed = |path: &Path, error| HostError::Read {
        path: path.to_owned(),
        error,
    };
    let sys = fs::canonicalize(&roots.sys).map_err(|error| failed(&roots.sys, error))?;
    let directory = fs::canonicalize(&link).map_err(|error| failed(&link, error))?;
    let multipath = first_nvme_path(&directory);
    let (start, ways) = match &multipath {
        Some((controller, ways)) => (controller, *ways),
        None => (&directory, 1),
    };
    let top = sys.join("devices");
    let directories = start
        .ancestors()
        .take_while(|directory| directory.starts_with(&top) && **directory != *top)
        .map(Path::to_owned)
        .collect();
    let way = SysfsPath { sys, directories };
    let name = match &multipath {
        Some((controller, _)) if ways > 1 => {
            format!(
                "{disk} (one of its {ways} paths, by {})",
                name_of(controller)
            )
        }
        _ => disk.clone(),
    };
    let own = without_rate(way.id_of(&directory), HopKind::Disk, name);
    let mut hops = vec![sata::with_transfer_mode(own, &way)];
    hops.extend(sata::hops(&way));
    hops.extend(sas::hops(&way));
    hops.extend(usb::hops(&way));
    hops.extend(controller::hops_without_pci(&way));
    hops.extend(pcie::hops(&way));
    hops.push(memory(&way));
    Ok(DiskPath {
        disk,
        hops,
        order: order::of(&way),
    })
}

/// The end of every path: the memory of the node that the nearest device reports; -1 means none.
fn memory(way: &SysfsPath) -> Hop {
    let mut directories = way.directories.iter();
    let stated = directories.find_map(|directory| attribute(&directory.join("numa_node")));
    match stated.and_then(|node| node.parse::<u32>().ok()) {
        Some(node) => {
            let id = format!("devices/system/node/node{node}");
            without_rate(id, HopKind::NumaNode, format!("NUMA node {node}"))
        }
        None => without_rate("memory".to_owned(), HopKind::Memory, "memory".to_owned()),
    }
}

/// A disk that NVMe reaches by several controllers is below none of them in sysfs, but below their
/// subsystem, which links to them. Its path is that of the first live controller; the controllers
/// are counted.
fn first_nvme_path(disk_directory: &Path) -> Option<(PathBuf, usize)> {
    let subsystem = disk_directory.parent()?;
    if !name_of(subsystem).starts_with("nvme-subsys") {
        return None;
    }
    let names = names_in(subsystem).ok()?;
    let mut controllers: Vec<PathBuf> = names
        .iter()
        .filter(|name| order::is_numbered(name, "nvme"))
        .map(|name| subsystem.join(name))
        .filter(|link| attribute(&link.join("state")).is_none_or(|state| state == "live"))
        .filter_map(|link| fs::canonicalize(link).ok())
        .collect();
    let ways = controllers.len();
    controllers.sort_by_key(|controller| order::numbers_in(&name_of(controller)));
    Some((controllers.into_iter().next()?, ways))
}
