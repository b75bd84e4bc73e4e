//! Finds which of this host's block devices and files are in use: mounts, swap areas, loop devices.
//! Called by the guard, which turns them into refusals; `FileSystem` asks which devices a mount
//! spans. Everything is read anew for each verdict. Mounts in other mount namespaces are not
//! visible here; opening with O_EXCL finds those.

use std::ffi::OsStr;
use std::ops::Range;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::block_device::{device_number, sysfs_name};
use crate::error::HostError;
use crate::mounts::{Mount, read_mounts, unescape};
use crate::roots::{Roots, attribute, names_in, number, read_if_present, read_text};

/// Inode and the device it lives on: one file, whatever its name.
pub(crate) type FileIdentity = (u64, u64);

/// What a path in a kernel table stands for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Resolved {
    pub(crate) devices: Vec<(u32, u32)>,
    pub(crate) file: Option<FileIdentity>,
}

/// A file system that keeps several devices under one anonymous device number.
pub(crate) struct MultiDevice {
    pub(crate) members: Vec<(u32, u32)>,
}

/// A loop device in use.
pub(crate) struct LoopDevice {
    name: String,
    /// The path under it, as the kernel shows it.
    pub(crate) path: PathBuf,
    /// The block devices that this path may be.
    pub(crate) devices: Vec<(u32, u32)>,
    /// The file that it is.
    pub(crate) file: Option<FileIdentity>,
    /// The range of bytes that it stands for.
    pub(crate) range: Range<u64>,
}

/// The tables of one moment.
pub(crate) struct InUse {
    mounts: Vec<(Mount, Resolved)>,
    multi_device: Vec<MultiDevice>,
    swap: Vec<Resolved>,
    loops: Vec<LoopDevice>,
}

impl InUse {
    /// # Errors
    /// A table that exists but cannot be read is an error, because what is not known must not count
    /// as free.
    pub(crate) fn read(roots: &Roots) -> Result<InUse, HostError> {
        let resolve_mount = |mount: Mount| {
            // Other sources are words ("tmpfs"), remote, or a FUSE program's business: asking for
            // the status of those could hang.
            let is_node = mount.source.starts_with("/dev");
            let resolved = if is_node {
                resolve(roots, &mount.source)
            } else {
                Resolved::default()
            };
            (mount, resolved)
        };
        Ok(InUse {
            mounts: read_mounts(roots)?.into_iter().map(resolve_mount).collect(),
            multi_device: read_multi_device(roots)?,
            swap: read_swap(roots)?,
            loops: read_loops(roots)?,
        })
    }

    /// Where the device is mounted; `None` when it is not. The list is empty when it belongs to a
    /// mounted file system whose mount point is not visible here.
    pub(crate) fn mount_points(&self, device: (u32, u32)) -> Option<Vec<PathBuf>> {
        let group = self
            .multi_device
            .iter()
            .find(|group| group.members.contains(&device));
        let alone = [device];
        let members = group.map_or(alone.as_slice(), |group| group.members.as_slice());
        let mut mount_points: Vec<PathBuf> = Vec::new();
        for (mount, resolved) in &self.mounts {
            let own = mount.device == device;
            // btrfs and others have an anonymous number of their own; for these the source is
            // compared.
            let by_source = resolved
                .devices
                .iter()
                .any(|source| members.contains(source));
            if (own || by_source) && !mount_points.contains(&mount.mount_point) {
                mount_points.push(mount.mount_point.clone());
            }
        }
        (group.is_some() || !mount_points.is_empty()).then_some(mount_points)
    }

    pub(crate) fn is_swap_device(&self, device: (u32, u32)) -> bool {
        self.swap.iter().any(|area| area.devices.contains(&device))
    }

    pub(crate) fn is_swap_file(&self, file: FileIdentity) -> bool {
        self.swap.iter().any(|area| area.file == Some(file))
    }

    /// Kernel names of the loop devices over this device.
    pub(crate) fn loops_over_device(&self, device: (u32, u32)) -> Vec<String> {
        self.loops_where(|found| found.devices.contains(&device))
    }

    /// Kernel names of the loop devices over this file.
    pub(crate) fn loops_over_file(&self, file: FileIdentity) -> Vec<String> {
        self.loops_where(|found| found.file == Some(file))
    }

    fn loops_where(&self, matches: impl Fn(&LoopDevice) -> bool) -> Vec<String> {
        let found = self.loops.iter().filter(|found| matches(found));
        found.map(|found| found.name.clone()).collect()
    }

    /// Kernel names of other loop devices over bytes that this one stands for, or this part of
    /// them.
    pub(crate) fn loops_sharing(&self, own: &LoopDevice, part: &Range<u64>) -> Vec<String> {
        self.loops_where(|found| {
            let same_file = found.file.is_some() && found.file == own.file;
            let same_device = found
                .devices
                .iter()
                .any(|device| own.devices.contains(device));
            found.name != own.name
                && (same_file || same_device)
                && found.range.start < part.end
                && part.start < found.range.end
        })
    }

    /// The loop device with this kernel name, when it is one and in use.
    pub(crate) fn backing_of_loop(&self, name: &str) -> Option<&LoopDevice> {
        self.loops.iter().find(|found| found.name == name)
    }
}

/// A path that a kernel table names. Device nodes are looked up in sysfs by kernel name and by
/// what the node in /dev says; where the two differ both count, for a refusal too many does no
/// harm.
pub(crate) fn resolve(roots: &Roots, path: &Path) -> Resolved {
    let mut resolved = Resolved::default();
    if let Ok(name) = path.strip_prefix("/dev") {
        let directory = roots
            .sys
            .join("class/block")
            .join(sysfs_name(&name.to_string_lossy()));
        resolved
            .devices
            .extend(attribute(&directory.join("dev")).and_then(|t| device_number(&t)));
    }
    if let Ok(stat) = rustix::fs::stat(path) {
        match rustix::fs::FileType::from_raw_mode(stat.st_mode) {
            rustix::fs::FileType::BlockDevice => {
                let number = (
                    rustix::fs::major(stat.st_rdev),
                    rustix::fs::minor(stat.st_rdev),
                );
                if !resolved.devices.contains(&number) {
                    resolved.devices.push(number);
                }
            }
            rustix::fs::FileType::RegularFile => {
                resolved.file = Some((stat.st_dev, stat.st_ino));
            }
            _ => {}
        }
    }
    resolved
}

/// `/proc/swaps`; a kernel built without swap has none.
fn read_swap(roots: &Roots) -> Result<Vec<Resolved>, HostError> {
    let Some(content) = read_if_present(&roots.proc.join("swaps"))? else {
        return Ok(Vec::new());
    };
    let lines = content.split(|&byte| byte == b'\n').skip(1);
    let names = lines.filter_map(|line| line.split(u8::is_ascii_whitespace).next());
    Ok(names
        .filter(|name| !name.is_empty())
        .map(|name| resolve(roots, &unescape(name)))
        .collect())
}

fn read_loops(roots: &Roots) -> Result<Vec<LoopDevice>, HostError> {
    let block = roots.sys.join("block");
    if !block.is_dir() {
        // An empty answer here would make every loop device's file look free.
        read_text(&block)?;
    }
    let mut loops = Vec::new();
    for name in names_in(&block)? {
        let backing = read_if_present(&block.join(&name).join("loop/backing_file"))?;
        if let Some(path) = backing {
            // Unlike the tables of procfs, this one escapes nothing.
            let path = Path::new(OsStr::from_bytes(path.strip_suffix(b"\n").unwrap_or(&path)));
            let Resolved { devices, file } = resolve(roots, path);
            let range = range_of_loop(&block.join(&name));
            loops.push(LoopDevice {
                name,
                path: path.to_owned(),
                devices,
                file,
                range,
            });
        }
    }
    Ok(loops)
}

/// The device reports its size, from which `sizelimit` is already subtracted. A device that cannot
/// report where it begins is taken to begin at 0.
fn range_of_loop(directory: &Path) -> Range<u64> {
    const SYSFS_SECTOR_BYTES: u64 = 512;
    let start = number(&directory.join("loop/offset")).unwrap_or(0);
    let sectors = number(&directory.join("size")).unwrap_or(u64::MAX / SYSFS_SECTOR_BYTES);
    start..start.saturating_add(sectors.saturating_mul(SYSFS_SECTOR_BYTES))
}

/// btrfs (`/sys/fs/btrfs/UUID/devices/NAME`) and bcachefs (`/sys/fs/bcachefs/UUID/dev-N/block`)
/// list the devices of each mounted file system; the mount table names one of them at most.
pub(crate) fn read_multi_device(roots: &Roots) -> Result<Vec<MultiDevice>, HostError> {
    let mut groups = Vec::new();
    for (kind, members, inside) in [("btrfs", "devices", "dev"), ("bcachefs", "", "block/dev")] {
        let root = roots.sys.join("fs").join(kind);
        for name in names_in(&root)? {
            let directory = root.join(name).join(members);
            if !directory.is_dir() {
                continue;
            }
            let files = names_in(&directory)?;
            let numbers = files.iter().filter_map(|member| {
                device_number(&attribute(&directory.join(member).join(inside))?)
            });
            groups.push(MultiDevice {
                members: numbers.collect(),
            });
        }
    }
    Ok(groups)
}
