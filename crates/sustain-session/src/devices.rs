//! The block devices under open targets, for watching them and for the machine's description.

use std::path::Path;

use sustain_disk::target::{Target, TargetKind};
use sustain_host::{BlockDevice, FileSystem, Roots, disks_under_device};

/// The block devices under all of `targets`, each once. With each target comes where it lies in the
/// file system, if it does. Best effort: what cannot be known is left out.
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

fn devices_under_one(target: &Target, path: Option<&Path>, roots: &Roots) -> Vec<BlockDevice> {
    match (target.kind, target.device, path) {
        (TargetKind::BlockDevice, Some((major, minor)), _) => {
            let Ok(device) = BlockDevice::from_device_number(roots, major, minor) else {
                return Vec::new();
            };
            let mut devices = disks_under_device(roots, &device).unwrap_or_default();
            devices.push(device);
            devices
        }
        (TargetKind::File | TargetKind::ScratchFile, _, Some(path)) => FileSystem::of(roots, path)
            .and_then(|file_system| file_system.disks(roots))
            .unwrap_or_default(),
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(kind: TargetKind) -> Target {
        Target {
            name: "one".to_owned(),
            kind,
            file: None,
            capacity_bytes: None,
            alignment_bytes: 1,
            device: None,
        }
    }

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
}
