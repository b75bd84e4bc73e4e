//! Finds the devices whose counters see each byte that is driven to the targets exactly once, so
//! that I/O of other programs can be told from that of this process.

use std::path::Path;

use sustain_disk::target::{Target, TargetKind};
use sustain_document::block_device::BlockDevice;
use sustain_host::{Roots, device_named, device_of_number, file_system_of, layers_under_device};

use crate::beneath::{Beneath, WRITES_ONCE, beneath};

/// A target, and the device whose counters see each byte that is driven to it exactly once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CountedTarget {
    /// The target's name.
    pub target: String,
    /// Kernel name of the device: the whole disk of the target or of its file system, or the
    /// volume, array or loop device that it is.
    pub device: String,
}

/// The devices on which foreign I/O can be told from that of this process.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Counted {
    /// The targets whose bytes a known device sees exactly once.
    pub targets: Vec<CountedTarget>,
    /// The devices beneath, where the same bytes appear again.
    pub(crate) beneath: Vec<Beneath>,
}

impl Counted {
    /// All devices whose counters are needed.
    pub(crate) fn devices(&self) -> impl Iterator<Item = &String> {
        let beneath = self.beneath.iter();
        let beneath = beneath.flat_map(|one| one.seen_on.iter().chain(&one.own_on));
        self.targets.iter().map(|one| &one.device).chain(beneath)
    }
}

/// The devices on which foreign I/O can be told from that of these targets.
pub fn counted<'a>(
    targets: impl IntoIterator<Item = (&'a Target, Option<&'a Path>)>,
    roots: &Roots,
) -> Counted {
    let places: Vec<_> = targets.into_iter().collect();
    let targets = counted_once(places.iter().copied(), roots);
    let once: Vec<&str> = targets.iter().map(|one| one.device.as_str()).collect();
    let nodes: Vec<BlockDevice> = places
        .iter()
        .flat_map(|(target, path)| nodes_of(target, *path, roots))
        .collect();
    Counted {
        beneath: beneath(&nodes, &once, roots),
        targets,
    }
}

/// The devices that a target is or directly lies on.
fn nodes_of(target: &Target, path: Option<&Path>, roots: &Roots) -> Vec<BlockDevice> {
    match (target.kind, target.device, path) {
        (TargetKind::BlockDevice, Some((major, minor)), _) => {
            let device = device_of_number(roots, major, minor);
            device.into_iter().collect()
        }
        (TargetKind::File | TargetKind::ScratchFile, _, Some(path)) => {
            let names = file_system_of(roots, path).map_or_else(|_| Vec::new(), |one| one.devices);
            let devices = names.iter().map(|name| device_named(roots, name));
            devices.filter_map(Result::ok).collect()
        }
        _ => Vec::new(),
    }
}

/// The targets for which such a device is known. Devices that lie beneath another one of these are
/// left out, because this process's bytes appear there again in other amounts.
fn counted_once<'a>(
    targets: impl IntoIterator<Item = (&'a Target, Option<&'a Path>)>,
    roots: &Roots,
) -> Vec<CountedTarget> {
    let top = |(target, path): (&Target, Option<&Path>)| {
        let top = top_of(target, path, roots)?;
        let disk = top.whole_disk.as_ref();
        let disk = disk.and_then(|disk| device_named(roots, &disk.name).ok());
        Some((target.name.clone(), disk.unwrap_or(top)))
    };
    let tops: Vec<(String, BlockDevice)> = targets.into_iter().filter_map(top).collect();
    let lies_beneath = |name: &str| {
        let others = tops.iter().filter(|(_, other)| other.name() != name);
        let mut layers =
            others.flat_map(|(_, other)| layers_under_device(roots, other).unwrap_or_default());
        layers.any(|layer| layer.name() == name)
    };
    // A device beneath another one sees the bytes of both.
    let once = tops.iter().filter(|(_, top)| !lies_beneath(top.name()));
    once.map(|(target, top)| CountedTarget {
        target: target.clone(),
        device: top.name().to_owned(),
    })
    .collect()
}

/// The device through which all of a target's bytes go.
fn top_of(target: &Target, path: Option<&Path>, roots: &Roots) -> Option<BlockDevice> {
    match (target.kind, target.device, path) {
        (TargetKind::BlockDevice, Some((major, minor)), _) => {
            device_of_number(roots, major, minor).ok()
        }
        (TargetKind::File | TargetKind::ScratchFile, _, Some(path)) => {
            let file_system = file_system_of(roots, path).ok()?;
            let journals_data = || file_system.options.iter().any(|one| one == "data=journal");
            match file_system.devices.as_slice() {
                [device] if WRITES_ONCE.contains(&file_system.kind.as_str()) => {
                    let device = device_named(roots, device).ok();
                    device.filter(|_| !journals_data())
                }
                _ => None,
            }
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::{system, target, write};

    /// A system with a disk, two partitions on it, and an array over the first of them.
    fn system_with_array() -> (tempfile::TempDir, Roots) {
        let (place, roots) = system(&[
            ("sdzz", "300:0"),
            ("sdzz/sdzz1", "300:1"),
            ("sdzz/sdzz2", "300:2"),
            ("md900", "9:900"),
        ]);
        let slave = "devices/md900/slaves/sdzz1/partition";
        write(&roots.sys.join(slave), "1");
        (place, roots)
    }

    #[test]
    fn each_byte_is_counted_once_wherever_targets_lie_on_each_other() {
        let (_place, roots) = system_with_array();
        let device = |major, minor| Target {
            device: Some((major, minor)),
            ..target(TargetKind::BlockDevice)
        };
        let once = |numbers: &[(u32, u32)]| {
            let targets: Vec<Target> = numbers.iter().map(|one| device(one.0, one.1)).collect();
            let counted = counted_once(targets.iter().map(|target| (target, None)), &roots);
            let devices = counted.into_iter().map(|one| one.device);
            devices.collect::<Vec<_>>()
        };
        assert_eq!(once(&[(300, 0)]), ["sdzz"]);
        assert_eq!(once(&[(300, 1), (300, 2)]), ["sdzz", "sdzz"]);
        assert_eq!(once(&[(9, 900)]), ["md900"]);
        // Bytes written to the array appear again on its disk.
        assert_eq!(once(&[(9, 900), (300, 2)]), ["md900"]);
        assert_eq!(once(&[(300, 7)]), [""; 0]);
    }

    #[test]
    fn beneath_an_array_its_disks_and_its_parts_are_compared_with_what_it_passed_down() {
        let (place, roots) = system_with_array();
        let device = |major, minor| Target {
            device: Some((major, minor)),
            ..target(TargetKind::BlockDevice)
        };
        let (array, partition) = (device(9, 900), device(300, 2));
        let names = |names: &[&str]| names.iter().map(|one| (*one).to_owned()).collect();
        let compared = |seen_on: &[&str], own_on: &[&str]| Beneath {
            seen_on: names(seen_on),
            own_on: names(own_on),
        };
        let of = |targets: &[&Target]| {
            let places = targets.iter().map(|target| (*target, None));
            counted(places, &roots).beneath
        };
        // For an array that keeps copies, only the rest of its disks can be judged.
        let disk = compared(&["sdzz"], &["sdzz1"]);
        assert_eq!(of(&[&array]), std::slice::from_ref(&disk));
        let level = place.path().join("sys/devices/md900/md/level");
        std::fs::create_dir_all(level.parent().unwrap()).unwrap();
        std::fs::write(level, "linear\n").unwrap();
        let part = compared(&["sdzz1"], &["md900"]);
        assert_eq!(of(&[&array]), [disk, part.clone()]);
        // Bytes driven to a partition beside it are not foreign I/O.
        let both = compared(&["sdzz"], &["sdzz1", "sdzz2"]);
        assert_eq!(of(&[&array, &partition]), [both, part]);
        // Bytes driven to a disk's partition are known without it.
        assert_eq!(of(&[&partition]), []);
    }
}
