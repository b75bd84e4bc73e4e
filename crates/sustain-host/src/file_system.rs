//! The file system that a path is on: its kind, its free space, and the disks under it, so that
//! their counters and log lines can be followed while a file is driven. Called by the measuring
//! program and for the report. The disks are best effort: an empty list means "not known". The
//! guard must not rely on it.

use std::fs;
use std::path::Path;

use sustain_document::block_device::BlockDevice;
use sustain_document::host::FileSystem;

use crate::block_device::{device_named, device_of_number};
use crate::error::HostError;
use crate::in_use::{read_multi_device, resolve};
use crate::mounts::{Mount, read_mounts, unescape};
use crate::roots::Roots;

/// How many layers (overlay on loop on LVM on RAID ...) are followed before giving up.
const LAYERS_MAX: u32 = 8;

/// The file system that an existing path is on.
///
/// # Errors
/// `HostError::Read` when the path does not exist or a table cannot be read,
/// `HostError::Malformed` when the mount table is not understood.
pub fn file_system_of(roots: &Roots, path: &Path) -> Result<FileSystem, HostError> {
    file_system_of_layer(roots, path, 0)
}

fn file_system_of_layer(roots: &Roots, path: &Path, layer: u32) -> Result<FileSystem, HostError> {
    let absolute = fs::canonicalize(path).map_err(|error| HostError::Read {
        path: path.to_owned(),
        error,
    })?;
    let mounts = read_mounts(roots)?;
    let mount = mount_of(&mounts, &absolute).ok_or_else(|| HostError::Malformed {
        path: roots.proc.join("self/mountinfo"),
        why: format!("no mount holds {}", absolute.display()),
    })?;
    Ok(FileSystem {
        kind: mount.kind.clone(),
        mount_point: mount.mount_point.clone(),
        source: mount.source.clone(),
        options: mount.options.clone(),
        devices: devices_under_mount(roots, mount, layer)?,
    })
}

/// The disks at the bottom, each once, from which the devices are built.
///
/// # Errors
/// A `HostError` when sysfs cannot be read.
pub fn disks_under_file_system(
    roots: &Roots,
    file_system: &FileSystem,
) -> Result<Vec<BlockDevice>, HostError> {
    let mut layers = Vec::new();
    for name in &file_system.devices {
        collect_layers(roots, &device_named(roots, name)?, 0, &mut layers)?;
    }
    Ok(disks_among(layers))
}

/// Bytes that an ordinary user may still write in the file system of this path; `None` where the
/// file system does not count them (ramfs).
///
/// # Errors
/// `HostError::Read` when the path does not exist.
pub fn free_bytes(path: &Path) -> Result<Option<u64>, HostError> {
    let status = rustix::fs::statvfs(path).map_err(|errno| HostError::Read {
        path: path.to_owned(),
        error: errno.into(),
    })?;
    let counts = status.f_blocks > 0;
    Ok(counts.then(|| status.f_bavail.saturating_mul(status.f_frsize)))
}

/// The disks from which a device is built in the end: a partition's disk, or the disks under LVM,
/// RAID, encryption or a loop device; the device itself if it is a disk.
///
/// # Errors
/// A `HostError` when sysfs cannot be read.
pub fn disks_under_device(
    roots: &Roots,
    device: &BlockDevice,
) -> Result<Vec<BlockDevice>, HostError> {
    let mut layers = Vec::new();
    collect_layers(roots, device, 0, &mut layers)?;
    Ok(disks_among(layers))
}

/// All devices from which a device is built, itself first: partitions, LVM, RAID, encryption, loop
/// devices, and at the bottom the disks.
///
/// # Errors
/// A `HostError` when sysfs cannot be read.
pub fn layers_under_device(
    roots: &Roots,
    device: &BlockDevice,
) -> Result<Vec<BlockDevice>, HostError> {
    let mut layers = Vec::new();
    collect_layers(roots, device, 0, &mut layers)?;
    Ok(layers.into_iter().map(|layer| layer.device).collect())
}

struct Layer {
    device: BlockDevice,
    /// Whether nothing is known below it.
    is_disk: bool,
}

fn disks_among(layers: Vec<Layer>) -> Vec<BlockDevice> {
    let disks = layers.into_iter().filter(|layer| layer.is_disk);
    disks.map(|layer| layer.device).collect()
}

/// Kernel names of the devices directly under a device: the disk of a partition, the device of a
/// loop device's file, the parts of an array or a volume. Empty for a disk.
pub fn devices_directly_under(roots: &Roots, device: &BlockDevice) -> Vec<String> {
    directly_under(roots, device, 0)
}

fn directly_under(roots: &Roots, device: &BlockDevice, depth: u32) -> Vec<String> {
    if depth >= LAYERS_MAX {
        return Vec::new();
    }
    if let Some(disk) = &device.whole_disk {
        return vec![disk.name.clone()];
    }
    let Some(file) = &device.loop_backing_file else {
        return device.slaves.clone();
    };
    // The file may be deleted, or named as another mount namespace sees it.
    if file.starts_with("/dev") {
        let numbers = resolve(roots, file).devices;
        return names_of(roots, numbers.into_iter().take(1));
    }
    let file_system = file_system_of_layer(roots, file, depth + 1);
    file_system.map_or_else(|_| Vec::new(), |found| found.devices)
}

fn collect_layers(
    roots: &Roots,
    device: &BlockDevice,
    depth: u32,
    layers: &mut Vec<Layer>,
) -> Result<(), HostError> {
    let below = directly_under(roots, device, depth);
    if layers
        .iter()
        .all(|known| known.device.name() != device.name())
    {
        layers.push(Layer {
            device: device.clone(),
            is_disk: below.is_empty(),
        });
    }
    for name in &below {
        let below = device_named(roots, name)?;
        collect_layers(roots, &below, depth + 1, layers)?;
    }
    Ok(())
}

/// The mount with the longest mount point above the path; of equal ones the last made, which
/// covers the others.
fn mount_of<'a>(mounts: &'a [Mount], path: &Path) -> Option<&'a Mount> {
    let above = mounts
        .iter()
        .filter(|mount| path.starts_with(&mount.mount_point));
    above.max_by_key(|mount| mount.mount_point.components().count())
}

fn devices_under_mount(roots: &Roots, mount: &Mount, layer: u32) -> Result<Vec<String>, HostError> {
    if mount.kind == "overlay" {
        return Ok(devices_under_overlay(roots, mount, layer));
    }
    if mount.device.0 != 0 {
        return Ok(names_of(roots, [mount.device]));
    }
    if !mount.source.starts_with("/dev") {
        return Ok(Vec::new());
    }
    let mut numbers = resolve(roots, &mount.source).devices;
    for group in read_multi_device(roots)? {
        if group.members.iter().any(|member| numbers.contains(member)) {
            numbers.extend(group.members);
        }
    }
    Ok(names_of(roots, numbers))
}

/// New data of an overlay goes to its upper directory. In a container that path is the host's and
/// usually out of sight.
fn devices_under_overlay(roots: &Roots, mount: &Mount, layer: u32) -> Vec<String> {
    let upper = mount
        .options
        .iter()
        .find_map(|option| option.strip_prefix("upperdir="));
    let Some(upper) = upper.filter(|_| layer < LAYERS_MAX) else {
        return Vec::new();
    };
    let below = file_system_of_layer(roots, &unescape(upper.as_bytes()), layer + 1);
    below.map_or_else(|_| Vec::new(), |file_system| file_system.devices)
}

/// Kernel names of those devices that sysfs knows, each once.
fn names_of(roots: &Roots, numbers: impl IntoIterator<Item = (u32, u32)>) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for (major, minor) in numbers {
        if let Ok(device) = device_of_number(roots, major, minor)
            && !names.iter().any(|known| known == device.name())
        {
            names.push(device.name().to_owned());
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::fake_host::FakeHost;

    fn names(disks: &[BlockDevice]) -> Vec<&str> {
        disks.iter().map(BlockDevice::name).collect()
    }

    /// A host whose root is `sdzz1`, with more mounts after it.
    fn host(more: &str) -> FakeHost {
        let host = FakeHost::new();
        host.disk("sdzz", 300, 0, 4096);
        host.partition("sdzz", "sdzz1", 300, 1, 1024);
        host.disk("sdzy", 300, 16, 4096);
        let root = "20 1 300:1 / / rw,noatime - ext4 /dev/root rw,discard\n";
        host.write_proc("self/mountinfo", &format!("{root}{more}"));
        host
    }

    #[test]
    fn a_directory_is_on_the_nearest_mount_and_its_disk_is_found() {
        let host = host("");
        let file_system = file_system_of(host.roots(), host.path()).unwrap();
        assert_eq!(file_system.kind, "ext4");
        assert_eq!(file_system.mount_point, PathBuf::from("/"));
        assert_eq!(file_system.options, ["rw", "noatime", "discard"]);
        assert_eq!(file_system.devices, ["sdzz1"]);
        assert_eq!(
            names(&disks_under_file_system(host.roots(), &file_system).unwrap()),
            ["sdzz"]
        );
    }

    #[test]
    fn the_last_mount_on_a_place_covers_the_others() {
        let host = host("");
        let place = fs::canonicalize(host.path()).unwrap();
        let place = place.display();
        let table = format!(
            "20 1 300:1 / / rw - ext4 /dev/root rw\n21 20 300:16 / {place} rw - xfs /dev/sdzy rw\n\
             22 20 0:50 / {place} rw - tmpfs tmpfs rw\n"
        );
        host.write_proc("self/mountinfo", &table);
        let file_system = file_system_of(host.roots(), host.path()).unwrap();
        assert_eq!(file_system.kind, "tmpfs");
        assert!(file_system.devices.is_empty());
    }

    #[test]
    fn all_devices_of_a_btrfs_are_found() {
        let host = host("21 1 0:45 / / rw - btrfs /dev/sdzz1 rw\n");
        host.write_sys("fs/btrfs/4711/devices/sdzz1/dev", "300:1\n");
        host.write_sys("fs/btrfs/4711/devices/sdzy/dev", "300:16\n");
        let file_system = file_system_of(host.roots(), host.path()).unwrap();
        assert_eq!(file_system.devices, ["sdzz1", "sdzy"]);
    }

    #[test]
    fn an_overlay_is_followed_to_its_upper_directory() {
        let host = host("");
        let (merged, upper) = (host.path().join("merged"), host.path().join("upper"));
        fs::create_dir(&merged).unwrap();
        fs::create_dir(&upper).unwrap();
        let place = fs::canonicalize(&merged).unwrap();
        let table = |upper: &Path| {
            format!(
                "20 1 300:1 / / rw - ext4 /dev/root rw\n21 20 0:50 / {} rw - overlay overlay \
                 rw,lowerdir=/a,upperdir={}\n",
                place.display(),
                upper.display()
            )
        };
        host.write_proc("self/mountinfo", &table(&upper));
        let file_system = file_system_of(host.roots(), &merged).unwrap();
        assert_eq!(
            (file_system.kind.as_str(), file_system.devices),
            ("overlay", vec!["sdzz1".into()])
        );
        host.write_proc("self/mountinfo", &table(Path::new("/out/of/sight")));
        assert!(
            file_system_of(host.roots(), &merged)
                .unwrap()
                .devices
                .is_empty()
        );
        // An overlay that names itself ends, too.
        host.write_proc("self/mountinfo", &table(&merged));
        assert!(
            file_system_of(host.roots(), &merged)
                .unwrap()
                .devices
                .is_empty()
        );
    }

    #[test]
    fn layers_end_at_the_disks_each_once() {
        let host = host("");
        let raid = host.disk("md900", 309, 0, 4096);
        host.write_under(&raid, "slaves/sdzz1/marker", "");
        host.write_under(&raid, "slaves/sdzy/marker", "");
        let mapper = host.disk("dm-900", 310, 0, 4096);
        host.write_under(&mapper, "slaves/md900/marker", "");
        host.write_under(&mapper, "slaves/sdzy/marker", "");
        let device = device_named(host.roots(), "dm-900").unwrap();
        assert_eq!(
            names(&disks_under_device(host.roots(), &device).unwrap()),
            ["sdzy", "sdzz"]
        );

        let over_device = host.disk("loop900", 302, 0, 512);
        host.write_under(&over_device, "loop/backing_file", "/dev/sdzy\n");
        let device = device_named(host.roots(), "loop900").unwrap();
        assert_eq!(
            names(&disks_under_device(host.roots(), &device).unwrap()),
            ["sdzy"]
        );

        let image = host.path().join("image");
        fs::write(&image, b"").unwrap();
        let over_file = host.disk("loop901", 302, 1, 512);
        host.write_under(&over_file, "loop/backing_file", image.to_str().unwrap());
        let device = device_named(host.roots(), "loop901").unwrap();
        assert_eq!(
            names(&disks_under_device(host.roots(), &device).unwrap()),
            ["sdzz"]
        );
    }

    #[test]
    fn free_space_of_a_missing_path_is_an_error() {
        let host = FakeHost::new();
        assert!(free_bytes(host.path()).is_ok());
        assert!(free_bytes(&host.path().join("absent")).is_err());
    }
}
