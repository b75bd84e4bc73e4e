//! The block devices under open targets, for watching them and for the machine's description.

use std::collections::BTreeMap;
use std::path::Path;

use sustain_disk::target::{Target, TargetKind};
use sustain_document::block_device::BlockDevice;
use sustain_host::{
    DeviceNumber, Roots, device_named, device_of_number, disks_under_device,
    disks_under_file_system, file_system_of, neighbour_caution,
};

use crate::guard::folder_of;

/// The block devices under all of `targets`, each once. Each target comes with its path in the file
/// system, if it has one. Best effort: devices that cannot be found are left out.
pub fn devices_under<'a>(
    targets: impl IntoIterator<Item = (&'a Target, Option<&'a Path>)>,
    roots: &Roots,
) -> Vec<BlockDevice> {
    let mut devices: Vec<BlockDevice> = Vec::new();
    for (target, path) in targets {
        for device in devices_under_one(target, path, roots) {
            if devices.iter().all(|known| known.name() != device.name()) {
                devices.push(device);
            }
        }
    }
    devices
}

/// The whole disks among devices and under their partitions, each once: kernel name and number.
pub fn whole_disks(devices: &[BlockDevice]) -> Vec<(String, DeviceNumber)> {
    let mut disks: Vec<(String, DeviceNumber)> = Vec::new();
    for device in devices {
        let whole = device.whole_disk.as_ref().unwrap_or(&device.node);
        let number = (whole.major, whole.minor);
        if disks.iter().all(|(_, known)| *known != number) {
            disks.push((whole.name.clone(), number));
        }
    }
    disks
}

fn devices_under_one(target: &Target, path: Option<&Path>, roots: &Roots) -> Vec<BlockDevice> {
    let mut devices = disks_under_one(target, path, roots);
    devices.extend(own_device(target, roots));
    devices
}

/// The disks at the bottom of a target; empty if they are not known.
pub(crate) fn disks_under_one(
    target: &Target,
    path: Option<&Path>,
    roots: &Roots,
) -> Vec<BlockDevice> {
    if let Some(device) = own_device(target, roots) {
        return disks_under_device(roots, &device).unwrap_or_default();
    }
    match (target.kind, path) {
        // A file that does not exist yet lies in its directory.
        (TargetKind::File | TargetKind::ScratchFile, Some(path)) => file_system_of(roots, path)
            .or_else(|_| file_system_of(roots, folder_of(path)))
            .and_then(|file_system| disks_under_file_system(roots, &file_system))
            .unwrap_or_default(),
        _ => Vec::new(),
    }
}

/// The device that a target is.
pub(crate) fn own_device(target: &Target, roots: &Roots) -> Option<BlockDevice> {
    match (target.kind, target.device) {
        (TargetKind::BlockDevice, Some((major, minor))) => {
            device_of_number(roots, major, minor).ok()
        }
        _ => None,
    }
}

/// Cautions about what a power cut in the middle of a write may do to neighbouring bytes, for each
/// device that one of `targets` is or whose file system it is on, each once. Best effort, as
/// [`devices_under`].
pub fn neighbour_cautions<'a>(
    targets: impl IntoIterator<Item = (&'a Target, Option<&'a Path>)>,
    roots: &Roots,
) -> Vec<String> {
    let mut cautions = Vec::new();
    for (target, path) in targets {
        let devices = match own_device(target, roots) {
            Some(device) => vec![device],
            None => devices_of_file(target, path, roots),
        };
        let found = devices.iter().filter_map(neighbour_caution);
        for caution in found {
            if !cautions.contains(&caution) {
                cautions.push(caution);
            }
        }
    }
    cautions
}

/// The devices directly under the file system that a file is on.
pub(crate) fn devices_of_file(
    target: &Target,
    path: Option<&Path>,
    roots: &Roots,
) -> Vec<BlockDevice> {
    let (TargetKind::File | TargetKind::ScratchFile, Some(path)) = (target.kind, path) else {
        return Vec::new();
    };
    devices_of_place(path, roots)
}

/// The devices directly under the file system of this path.
pub(crate) fn devices_of_place(path: &Path, roots: &Roots) -> Vec<BlockDevice> {
    // A file that does not exist yet lies in its directory.
    let file_system =
        file_system_of(roots, path).or_else(|_| file_system_of(roots, folder_of(path)));
    let names = file_system.map_or_else(|_| Vec::new(), |found| found.devices);
    let devices = names.iter().map(|name| device_named(roots, name));
    devices.filter_map(Result::ok).collect()
}

/// A disk or file system that two or more targets certainly share.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SharedDisk {
    /// Their places in the order given.
    pub targets: Vec<usize>,
    /// Kernel name of the disk that lies under all of them (`sda`); `None` if they are on one file
    /// system whose disks are not known.
    pub disk: Option<String>,
}

impl SharedDisk {
    /// What they share, in words.
    pub fn words(&self) -> String {
        match &self.disk {
            Some(disk) => format!("one disk, {disk}"),
            None => "one file system".to_owned(),
        }
    }
}

/// Groups of `targets` that certainly share one disk: because it lies under all of them, whatever
/// is in between, or because they are on one file system. Each target comes with its path in the
/// file system, if it has one. Targets that are not named together may share a disk nevertheless.
pub fn shared_disks<'a>(
    targets: impl IntoIterator<Item = (&'a Target, Option<&'a Path>)>,
    roots: &Roots,
) -> Vec<SharedDisk> {
    let mut by_disk: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    let mut by_file_system: BTreeMap<(u32, u32), Vec<usize>> = BTreeMap::new();
    for (index, (target, path)) in targets.into_iter().enumerate() {
        let disks = disks_under_one(target, path, roots);
        let is_file = matches!(target.kind, TargetKind::File | TargetKind::ScratchFile);
        if let (true, true, Some(device)) = (disks.is_empty(), is_file, target.device) {
            by_file_system.entry(device).or_default().push(index);
        }
        for disk in disks {
            let sharers = by_disk.entry(disk.name().to_owned()).or_default();
            if sharers.last() != Some(&index) {
                sharers.push(index);
            }
        }
    }
    let disks = by_disk
        .into_iter()
        .map(|(disk, targets)| (Some(disk), targets));
    let file_systems = by_file_system.into_values().map(|targets| (None, targets));
    disks
        .chain(file_systems)
        .filter(|(_, targets)| targets.len() > 1)
        .map(|(disk, targets)| SharedDisk { targets, disk })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::{system, target, write};

    #[test]
    fn targets_that_are_on_no_disk_have_no_devices() {
        let [null, simulated] = [TargetKind::Null, TargetKind::Simulated].map(target);
        let targets = [(&null, None), (&simulated, None)];
        assert!(devices_under(targets, &Roots::default()).is_empty());
    }

    #[test]
    fn a_disk_under_two_targets_is_listed_once() {
        let directory = tempfile::tempdir().unwrap();
        let scratch = target(TargetKind::ScratchFile);
        let place = (&scratch, Some(directory.path()));
        let names = |targets: &[(&Target, Option<&Path>)]| -> Vec<String> {
            devices_under(targets.iter().copied(), &Roots::default())
                .iter()
                .map(|device| device.name().to_owned())
                .collect()
        };
        assert_eq!(names(&[place, place]), names(&[place]));
    }

    /// A machine with the disk `sdz`, its partition `sdz1`, and `sdy`; its root is on `sdz1`.
    fn machine() -> (tempfile::TempDir, Roots) {
        let (directory, roots) =
            system(&[("sdz", "300:0"), ("sdz/sdz1", "300:1"), ("sdy", "300:16")]);
        let root = "20 1 300:1 / / rw - ext4 /dev/sdz1 rw\n";
        write(&roots.proc.join("self/mountinfo"), root);
        (directory, roots)
    }

    fn on_device(number: (u32, u32), kind: TargetKind) -> Target {
        Target {
            device: Some(number),
            ..target(kind)
        }
    }

    #[test]
    fn two_directories_and_a_partition_share_their_disk_and_another_disk_does_not() {
        let (directory, roots) = machine();
        let scratch = on_device((300, 1), TargetKind::ScratchFile);
        let [partition, other] =
            [1, 16].map(|minor| on_device((300, minor), TargetKind::BlockDevice));
        let here = Some(directory.path());
        let targets = [
            (&scratch, here),
            (&other, None),
            (&partition, None),
            (&scratch, here),
        ];
        let shared = SharedDisk {
            targets: vec![0, 2, 3],
            disk: Some("sdz".to_owned()),
        };
        assert_eq!(shared_disks(targets, &roots), [shared]);
        assert!(shared_disks(targets[..2].iter().copied(), &roots).is_empty());
    }

    #[test]
    fn what_may_be_harmed_beside_a_write_is_told_of_partitions_and_of_files_on_them() {
        let (directory, roots) = machine();
        let disk = roots.sys.join("devices/sdz");
        std::fs::create_dir_all(disk.join("queue")).unwrap();
        std::fs::write(disk.join("queue/physical_block_size"), "4096\n").unwrap();
        std::fs::write(disk.join("sdz1/start"), "63\n").unwrap();
        let file = on_device((300, 1), TargetKind::File);
        let [whole, partition] =
            [0, 1].map(|minor| on_device((300, minor), TargetKind::BlockDevice));
        let new = directory.path().join("new");
        for place in [(&partition, None), (&file, Some(new.as_path()))] {
            let cautions = neighbour_cautions([place, place, (&whole, None)], &roots);
            assert_eq!(cautions.len(), 1, "{cautions:?}");
            assert!(
                cautions[0].starts_with("sdz1 does not begin at a boundary"),
                "{cautions:?}"
            );
        }
        assert!(neighbour_cautions([(&whole, None)], &roots).is_empty());
    }

    #[test]
    fn files_on_one_file_system_share_it_where_its_disks_are_not_known() {
        let (directory, roots) = machine();
        let root = "20 1 0:50 / / rw - overlay overlay rw\n";
        std::fs::write(roots.proc.join("self/mountinfo"), root).unwrap();
        let one = on_device((0, 50), TargetKind::ScratchFile);
        let other = on_device((0, 51), TargetKind::ScratchFile);
        let here = Some(directory.path());
        let shared = SharedDisk {
            targets: vec![0, 2],
            disk: None,
        };
        assert_eq!(
            shared_disks([(&one, here), (&other, here), (&one, here)], &roots),
            [shared]
        );
    }
}
