//! Where the bytes of a target lie: on which disks, and at which bytes of these. Settings that have
//! targets of their own are compared only on the same disks. Nothing is opened here.

use std::path::Path;

use sustain_disk::target::{Target, TargetKind};
use sustain_document::compare::PlaceOnDisk;
use sustain_host::Roots;

use crate::devices::{devices_of_file, disks_under_one, own_device};

/// What lies under a target, as far as is known.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Bottom {
    /// A disk, by its kernel name.
    Disk(String),
    /// A file system whose disks are not known, by its number.
    FileSystem(u32, u32),
    /// A simulated disk or `null:`, which only its name tells from others.
    Name(String),
    /// Nothing is known.
    Unknown,
}

impl Bottom {
    /// Its name in a sentence.
    pub fn words(&self) -> String {
        match self {
            Bottom::Disk(name) | Bottom::Name(name) => name.clone(),
            Bottom::FileSystem(..) => "a file system whose disks are not known".to_owned(),
            Bottom::Unknown => "a disk that is not known".to_owned(),
        }
    }
}

/// What lies under all of `targets`, each once, in the order of the names. Each target comes with
/// its path in the file system, if it has one.
pub fn bottoms<'a>(
    targets: impl IntoIterator<Item = (&'a Target, Option<&'a Path>)>,
    roots: &Roots,
) -> Vec<Bottom> {
    let each = targets
        .into_iter()
        .flat_map(|(target, path)| bottoms_of_one(target, path, roots));
    let mut found: Vec<Bottom> = each.collect();
    found.sort();
    found.dedup();
    found
}

fn bottoms_of_one(target: &Target, path: Option<&Path>, roots: &Roots) -> Vec<Bottom> {
    if matches!(target.kind, TargetKind::Null | TargetKind::Simulated) {
        return vec![Bottom::Name(target.name.clone())];
    }
    let disks = disks_under_one(target, path, roots);
    let is_file = matches!(target.kind, TargetKind::File | TargetKind::ScratchFile);
    match target.device {
        _ if !disks.is_empty() => {
            let names = disks.iter().map(|disk| disk.name().to_owned());
            names.map(Bottom::Disk).collect()
        }
        Some((major, minor)) if is_file => vec![Bottom::FileSystem(major, minor)],
        _ => vec![Bottom::Unknown],
    }
}

/// Which bytes of a disk a target is, or which the file system that it is on. `None` where that is
/// not known, or where they are not in one piece.
pub fn place_on_disk(target: &Target, path: Option<&Path>, roots: &Roots) -> Option<PlaceOnDisk> {
    let device = match own_device(target, roots) {
        Some(device) => device,
        None => {
            let mut devices = devices_of_file(target, path, roots).into_iter();
            devices.next().filter(|_| devices.next().is_none())?
        }
    };
    let bytes = device.range();
    Some(PlaceOnDisk {
        disk: device.whole_disk_name().to_owned(),
        from_bytes: bytes.start,
        to_bytes: bytes.end,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::{system, target, write};

    /// A machine with the disk `sdz`, two partitions on it, and the disk `sdy`; its root is on
    /// `sdz1`.
    fn machine() -> (tempfile::TempDir, Roots) {
        let devices = [
            ("sdz", "300:0"),
            ("sdz/sdz1", "300:1"),
            ("sdz/sdz2", "300:2"),
            ("sdy", "300:16"),
        ];
        let (directory, roots) = system(&devices);
        let root = "20 1 300:1 / / rw - ext4 /dev/sdz1 rw\n";
        write(&roots.proc.join("self/mountinfo"), root);
        for (partition, start) in [("sdz1", "2048\n"), ("sdz2", "4096\n")] {
            let file = format!("devices/sdz/{partition}/start");
            write(&roots.sys.join(file), start);
        }
        (directory, roots)
    }

    fn on_device(number: (u32, u32), kind: TargetKind) -> Target {
        Target {
            device: Some(number),
            ..target(kind)
        }
    }

    #[test]
    fn a_directory_and_a_partition_beside_it_lie_on_one_disk_at_other_bytes() {
        let (directory, roots) = machine();
        let here = Some(directory.path());
        let scratch = on_device((300, 1), TargetKind::ScratchFile);
        let partition = on_device((300, 2), TargetKind::BlockDevice);
        let disk = [Bottom::Disk("sdz".to_owned())];
        assert_eq!(bottoms([(&scratch, here)], &roots), disk);
        assert_eq!(bottoms([(&partition, None)], &roots), disk);
        let place = |from_bytes, to_bytes| {
            Some(PlaceOnDisk {
                disk: "sdz".to_owned(),
                from_bytes,
                to_bytes,
            })
        };
        let found = place_on_disk(&scratch, here, &roots);
        assert_eq!(found, place(1 << 20, 2 << 20));
        let found = place_on_disk(&partition, None, &roots);
        assert_eq!(found, place(2 << 20, 3 << 20));
    }

    #[test]
    fn another_disk_is_told_apart_and_all_disks_of_several_targets_count() {
        let (_directory, roots) = machine();
        let [partition, other] =
            [2, 16].map(|minor| on_device((300, minor), TargetKind::BlockDevice));
        let names = |targets: &[&Target]| {
            let targets = targets.iter().map(|target| (*target, None));
            let found = bottoms(targets, &roots);
            found.iter().map(Bottom::words).collect::<Vec<_>>()
        };
        assert_eq!(names(&[&other]), ["sdy"]);
        assert_eq!(names(&[&partition, &other, &partition]), ["sdy", "sdz"]);
    }

    #[test]
    fn what_is_on_no_known_disk_is_told_by_its_file_system_or_by_its_name() {
        let (directory, roots) = machine();
        let root = "20 1 0:50 / / rw - overlay overlay rw\n";
        write(&roots.proc.join("self/mountinfo"), root);
        let here = Some(directory.path());
        let scratch = on_device((0, 50), TargetKind::ScratchFile);
        let found = bottoms([(&scratch, here)], &roots);
        assert_eq!(found, [Bottom::FileSystem(0, 50)]);
        assert_eq!(place_on_disk(&scratch, here, &roots), None);
        let gone = on_device((300, 7), TargetKind::BlockDevice);
        assert_eq!(bottoms([(&gone, None)], &roots), [Bottom::Unknown]);
        let [null, simulated] = [TargetKind::Null, TargetKind::Simulated].map(target);
        let named = [Bottom::Name("one".to_owned())];
        assert_eq!(bottoms([(&null, None), (&simulated, None)], &roots), named);
    }
}
