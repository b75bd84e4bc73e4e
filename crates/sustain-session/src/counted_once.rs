//! The devices whose counters see just once what is driven to the targets: where others can be told
//! from us.

use std::path::Path;

use sustain_disk::target::{Target, TargetKind};
use sustain_host::{BlockDevice, FileSystem, Roots, layers_under_device};

/// File systems that write a file's data once and little besides. What others write for each record
/// (a copy elsewhere, a second copy, a log) is not known, so it cannot be told from others.
const WRITES_ONCE: [&str; 6] = ["ext2", "ext3", "ext4", "xfs", "vfat", "exfat"];

/// Kernel names of the devices whose counters see each byte that is driven to `targets` just once:
/// the whole disk of a target or of its file system, or the volume, array or loop device that it is.
/// What lies beneath these is left out, for there it differs. Empty where it cannot be known.
pub fn counted_once<'a>(
    targets: impl IntoIterator<Item = (&'a Target, Option<&'a Path>)>,
    roots: &Roots,
) -> Vec<String> {
    let mut tops: Vec<BlockDevice> = Vec::new();
    for (target, path) in targets {
        let top = top_of(target, path, roots).map(|top| match &top.whole_disk {
            Some(disk) => BlockDevice::from_name(roots, &disk.name).unwrap_or(top),
            None => top,
        });
        if let Some(top) = top
            && tops.iter().all(|known| known.name() != top.name())
        {
            tops.push(top);
        }
    }
    let below: Vec<String> = tops
        .iter()
        .flat_map(|top| layers_under_device(roots, top).unwrap_or_default())
        .map(|layer| layer.name().to_owned())
        .collect();
    let times = |name: &str| below.iter().filter(|one| *one == name).count();
    // Each is a layer of its own; one that is a second one's too sees what is driven twice.
    let once = tops.iter().filter(|top| times(top.name()) < 2);
    once.map(|top| top.name().to_owned()).collect()
}

/// The device through which all of a target's bytes go.
fn top_of(target: &Target, path: Option<&Path>, roots: &Roots) -> Option<BlockDevice> {
    match (target.kind, target.device, path) {
        (TargetKind::BlockDevice, Some((major, minor)), _) => {
            BlockDevice::from_device_number(roots, major, minor).ok()
        }
        (TargetKind::File | TargetKind::ScratchFile, _, Some(path)) => {
            let file_system = FileSystem::of(roots, path).ok()?;
            let journals_data = || file_system.options.iter().any(|one| one == "data=journal");
            match file_system.devices.as_slice() {
                [device] if WRITES_ONCE.contains(&file_system.kind.as_str()) => {
                    let device = BlockDevice::from_name(roots, device).ok();
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

    fn target(kind: TargetKind) -> Target {
        Target {
            name: "one".to_owned(),
            kind,
            file: None,
            capacity_bytes: None,
            alignment_bytes: 1,
            device: None,
            lock: None,
        }
    }

    /// A system with a disk, two partitions on it, and an array over the first of them.
    fn system_with_array() -> (tempfile::TempDir, Roots) {
        let place = tempfile::tempdir().unwrap();
        let sys = place.path().join("sys");
        let write = |path: &str, text: &str| {
            let path = sys.join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        let devices = [
            ("sdzz", "300:0"),
            ("sdzz/sdzz1", "300:1"),
            ("sdzz/sdzz2", "300:2"),
            ("md900", "9:900"),
        ];
        for directory in ["dev/block", "class/block"] {
            std::fs::create_dir_all(sys.join(directory)).unwrap();
        }
        for (device, number) in devices {
            let name = device.rsplit('/').next().unwrap();
            write(&format!("devices/{device}/dev"), number);
            write(&format!("devices/{device}/size"), "2048");
            write(&format!("devices/{device}/ro"), "0");
            let directory = sys.join("devices").join(device);
            for link in [format!("dev/block/{number}"), format!("class/block/{name}")] {
                std::os::unix::fs::symlink(&directory, sys.join(link)).unwrap();
            }
        }
        write("devices/sdzz/sdzz1/partition", "1");
        write("devices/sdzz/sdzz2/partition", "2");
        write("devices/md900/slaves/sdzz1/partition", "1");
        let proc = place.path().join("proc");
        (place, Roots { sys, proc })
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
            counted_once(targets.iter().map(|target| (target, None)), &roots)
        };
        assert_eq!(once(&[(300, 0)]), ["sdzz"]);
        assert_eq!(once(&[(300, 1), (300, 2)]), ["sdzz"]);
        assert_eq!(once(&[(9, 900)]), ["md900"]);
        // What goes to the array comes again on its disk.
        assert_eq!(once(&[(9, 900), (300, 2)]), ["md900"]);
        assert_eq!(once(&[(300, 7)]), [""; 0]);
    }
}
