//! The reasons not to write to something, each in plain words that say what to do next. The guard
//! makes them, and whoever opens makes `Refusal::Claimed`. Nothing is decided here.

use std::fmt;
use std::path::{Path, PathBuf};

use sustain_document::block_device::{Holder, MapperMaker};

use crate::block_device::Relation;
use crate::mapper::{LvmName, lvm_name};

/// The reason why the candidate must not be written, even if the user named it for destruction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// It, a partition of it, or its whole disk is mounted.
    Mounted {
        /// Kernel name of what is mounted.
        device: String,
        /// The relation of that device to the candidate.
        relation: Relation,
        /// The mount points; empty if the place is not visible from here.
        mount_points: Vec<PathBuf>,
    },
    /// It, a partition of it, or its whole disk is active swap.
    SwapDevice {
        /// Kernel name of the swap device.
        device: String,
        /// The relation of that device to the candidate.
        relation: Relation,
    },
    /// The file is an active swap file.
    SwapFile,
    /// Another device (device mapper, md, bcache) is built on it, a partition of it, or its disk.
    Held {
        /// Kernel name of what is held.
        device: String,
        /// The relation of that device to the candidate.
        relation: Relation,
        /// The devices that are built on it.
        holders: Vec<Holder>,
    },
    /// A loop device uses it, a partition of it, or its whole disk.
    BacksLoop {
        /// Kernel name of what the loop device uses.
        device: String,
        /// The relation of that device to the candidate.
        relation: Relation,
        /// Kernel name of the loop device.
        loop_device: String,
    },
    /// A loop device uses the file.
    FileBacksLoop {
        /// Kernel name of the loop device.
        loop_device: String,
    },
    /// The device is set read-only.
    ReadOnly {
        /// Kernel name of the device.
        device: String,
    },
    /// The file system is mounted read-only.
    ReadOnlyFileSystem,
    /// Opening it with O_EXCL failed: the kernel or a program has claimed it. Whoever opens makes
    /// this.
    Claimed,
    /// It is a loop device, and the file or device under it must not be written.
    Below {
        /// What lies under it: a kernel name, or the path of a file.
        below: String,
        /// Why that must not be written.
        refusal: Box<Refusal>,
    },
    /// It is of a kind that cannot be driven.
    WrongKind {
        /// What it is, with its article.
        what: &'static str,
    },
}

fn subject(device: &str, relation: Relation) -> String {
    match relation {
        Relation::Itself => "it".to_owned(),
        Relation::Partition => format!("its partition {device}"),
        Relation::WholeDisk => format!("the whole disk {device}, of which it is a part,"),
        Relation::OverlappingPartition => format!("the partition {device}, which overlaps it,"),
        Relation::OtherPath => format!("{device}, the same disk by another path,"),
        Relation::SameBacking => format!("the loop device {device}, over the same bytes,"),
    }
}

/// The text follows the path as typed and a colon.
impl fmt::Display for Refusal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::Mounted {
                device,
                relation,
                mount_points,
            } => mounted_text(formatter, &subject(device, *relation), mount_points),
            Refusal::SwapDevice { device, relation } => write!(
                formatter,
                "{} is active swap: switch it off first (swapoff /dev/{device}), or choose another \
                 target",
                subject(device, *relation)
            ),
            Refusal::SwapFile => formatter.write_str(
                "it is an active swap file: switch it off first (swapoff), or choose another \
                 target",
            ),
            Refusal::Held {
                device,
                relation,
                holders,
            } => held_text(formatter, &subject(device, *relation), holders),
            Refusal::BacksLoop {
                device,
                relation,
                loop_device,
            } => write!(
                formatter,
                "{} backs the loop device {loop_device}: detach that first (losetup -d \
                 /dev/{loop_device}), or name /dev/{loop_device} instead",
                subject(device, *relation)
            ),
            Refusal::FileBacksLoop { loop_device } => write!(
                formatter,
                "it is the file behind the loop device {loop_device}: detach that first (losetup \
                 -d /dev/{loop_device}), or name /dev/{loop_device} instead"
            ),
            Refusal::ReadOnly { device } => write!(
                formatter,
                "{device} is set read-only: remove its write protection (blockdev --setrw \
                 /dev/{device}), or choose another target"
            ),
            Refusal::ReadOnlyFileSystem => formatter.write_str(
                "its file system is mounted read-only: mount it writable (mount -o remount,rw), or \
                 choose another target",
            ),
            Refusal::Claimed => formatter.write_str(
                "a program or the kernel has claimed it for exclusive use (opening it with O_EXCL \
                 fails as busy): find out which with lsblk and fuser -v, and end that first",
            ),
            Refusal::Below { below, refusal } => write!(
                formatter,
                "it is a loop device over {below}, which must not be written either: {refusal}"
            ),
            Refusal::WrongKind { what } => write!(
                formatter,
                "it is {what}, not a disk: name a block device, a file or a directory, or null: to \
                 write to nothing"
            ),
        }
    }
}

fn mounted_text(
    formatter: &mut fmt::Formatter<'_>,
    subject: &str,
    mount_points: &[PathBuf],
) -> fmt::Result {
    let places: Vec<String> = mount_points.iter().map(|path| shell_word(path)).collect();
    if places.is_empty() {
        write!(
            formatter,
            "{subject} belongs to a mounted file system of several devices: unmount that first, or \
             choose another target"
        )
    } else if places.iter().any(|place| place == "/") {
        write!(
            formatter,
            "{subject} is mounted on / and carries the running system: choose another target"
        )
    } else {
        write!(
            formatter,
            "{subject} is mounted on {}: unmount it first (umount {}), or choose another target",
            places.join(" and "),
            places.join(" ")
        )
    }
}

/// A path as it can be pasted into a shell; control characters in it are made harmless.
fn shell_word(path: &Path) -> String {
    let text = path.display().to_string();
    let plain = |c: char| c.is_alphanumeric() || "/._-+:@%,=".contains(c);
    if text.chars().all(plain) {
        return text;
    }
    let shown: String = text
        .chars()
        .map(|c| if c.is_control() { '?' } else { c })
        .collect();
    format!("'{}'", shown.replace('\'', "'\\''"))
}

fn held_text(formatter: &mut fmt::Formatter<'_>, subject: &str, holders: &[Holder]) -> fmt::Result {
    let names: Vec<String> = holders.iter().map(holder_text).collect();
    let mut ways_on: Vec<String> = Vec::new();
    for holder in holders {
        let way_on = way_on(holder, holders);
        // One command removes all volumes of a group.
        if !ways_on.contains(&way_on) {
            ways_on.push(way_on);
        }
    }
    write!(
        formatter,
        "{subject} is part of {}: stop that first ({}), or choose another target",
        names.join(" and "),
        ways_on.join("; ")
    )
}

fn holder_text(holder: &Holder) -> String {
    let name = &holder.name;
    match &holder.mapper_name {
        Some(mapper) => format!("{mapper} ({name})"),
        None => name.clone(),
    }
}

/// The command that removes a holder, by the program that made it.
fn way_on(holder: &Holder, holders: &[Holder]) -> String {
    let name = &holder.name;
    let Some(mapper) = &holder.mapper_name else {
        return if name.starts_with("md") {
            format!("mdadm --stop /dev/{name}")
        } else {
            format!("lsblk /dev/{name} shows what it is")
        };
    };
    let word = shell_word(Path::new(mapper));
    match holder.mapper_maker {
        Some(MapperMaker::Cryptsetup) => format!("cryptsetup close {word}"),
        Some(MapperMaker::Multipath) => format!(
            "multipath -f {word}; to measure the disk by all its paths instead, name \
             /dev/mapper/{word}"
        ),
        Some(MapperMaker::Lvm) => lvm_way_on(mapper, holders),
        None => format!("dmsetup remove {word}"),
    }
}

/// The volume alone if that is all; otherwise its whole group.
fn lvm_way_on(mapper: &str, holders: &[Holder]) -> String {
    let Some(LvmName { group, volume }) = lvm_name(mapper) else {
        return format!("dmsetup remove {}", shell_word(Path::new(mapper)));
    };
    match volume.filter(|_| holders.len() == 1) {
        Some(volume) => format!("lvchange -an {group}/{volume}"),
        None => format!("vgchange -an {group}"),
    }
}
