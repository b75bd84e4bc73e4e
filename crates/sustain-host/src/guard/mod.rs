//! Decides whether something may be written: facts and verdict on one candidate, before a byte of
//! it is touched. Called with the very descriptor that will be written through, so that nothing can
//! be swapped in between. It must never open, claim or change anything itself; a caller that opens
//! with O_EXCL and is turned away reports `Refusal::Claimed`. Reading a device is never decided
//! here.

use std::ops::Range;
use std::os::fd::BorrowedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{FileType, Stat, StatVfsMountFlags};
use sustain_document::block_device::{BlockDevice, Node};

use crate::block_device::{Relation, device_named, device_of_number, relatives_within};
use crate::error::HostError;
use crate::in_use::{InUse, LoopDevice};
use crate::refusal::Refusal;
use crate::relatives::relatives_of;
use crate::roots::Roots;
use crate::signature::{Signature, read_signature};

/// How many loop devices over loop devices are followed.
const LAYERS_MAX: u32 = 8;

/// What the candidate is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CandidateKind {
    /// A disk or partition.
    BlockDevice(Box<BlockDevice>),
    /// An existing file.
    RegularFile {
        /// Its length in bytes.
        size_bytes: u64,
    },
    /// A directory, in which a scratch file may be made.
    Directory,
    /// A character device, such as a terminal: never written.
    CharacterDevice,
    /// A named pipe: never written.
    Fifo,
    /// A socket: never written.
    Socket,
    /// Anything else: never written.
    Other,
}

/// One thing under one of its names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum InspectedIdentity {
    /// A device, by its number.
    Device {
        /// Major device number.
        major: u32,
        /// Minor device number.
        minor: u32,
    },
    /// A file or directory.
    File {
        /// The device number of its file system, as stat(2) gives it.
        device: u64,
        /// Its inode.
        inode: u64,
    },
}

/// Facts and verdict on one candidate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inspection {
    /// The path as typed.
    pub path: PathBuf,
    /// Its kind.
    pub kind: CandidateKind,
    /// The same for every name of the same thing.
    pub identity: InspectedIdentity,
    /// Every reason not to write it; empty when it may be written.
    pub refusals: Vec<Refusal>,
    /// The dormant content that would be lost.
    pub signature: Option<Signature>,
    /// The nodes that share bytes with a block device, itself first.
    pub relatives: Vec<(Relation, Node)>,
    /// Free bytes for an ordinary user in the file system of a file or directory.
    pub free_bytes: Option<u64>,
}

impl Inspection {
    /// Whether both share bytes: the same thing under two names, or a disk and its partition.
    #[must_use]
    pub fn overlaps(&self, other: &Inspection) -> bool {
        let contains = |inspection: &Inspection, identity: InspectedIdentity| {
            let mut relatives = inspection.relatives.iter();
            inspection.identity == identity
                || relatives.any(|(_, node)| identity == identity_of(node))
        };
        contains(self, other.identity) || contains(other, self.identity)
    }

    /// Whether both are one disk by two paths.
    #[must_use]
    pub fn is_other_path_of(&self, other: &Inspection) -> bool {
        let CandidateKind::BlockDevice(own) = &self.kind else {
            return false;
        };
        self.relatives.iter().any(|(relation, node)| {
            *relation == Relation::OtherPath
                && other.identity == identity_of(node)
                && node.size_bytes == own.node.size_bytes
        })
    }
}

fn identity_of(node: &Node) -> InspectedIdentity {
    InspectedIdentity::Device {
        major: node.major,
        minor: node.minor,
    }
}

/// Inspects an open descriptor, which must be readable so that a signature can be looked for; it
/// may be O_DIRECT.
///
/// # Errors
/// A `HostError` when a fact cannot be learned. Then nothing must be written.
pub fn inspect(
    roots: &Roots,
    path: &Path,
    descriptor: BorrowedFd<'_>,
) -> Result<Inspection, HostError> {
    let failed = |operation, errno: rustix::io::Errno| HostError::Descriptor {
        path: path.to_owned(),
        operation,
        error: errno.into(),
    };
    let stat = rustix::fs::fstat(descriptor).map_err(|errno| failed("fstat", errno))?;
    let mut inspection = inspect_stat(roots, path, &stat)?;
    let size_bytes = match &inspection.kind {
        CandidateKind::BlockDevice(device) => Some(device.node.size_bytes),
        CandidateKind::RegularFile { size_bytes } => Some(*size_bytes),
        _ => None,
    };
    if let Some(size_bytes) = size_bytes {
        inspection.signature = read_signature(descriptor, size_bytes)
            .map_err(|errno| failed("looking for data", errno))?;
    }
    if matches!(
        inspection.kind,
        CandidateKind::RegularFile { .. } | CandidateKind::Directory
    ) {
        let file_system =
            rustix::fs::fstatvfs(descriptor).map_err(|errno| failed("fstatvfs", errno))?;
        inspection.free_bytes = Some(file_system.f_bavail.saturating_mul(file_system.f_frsize));
        if file_system.f_flag.contains(StatVfsMountFlags::RDONLY) {
            inspection.refusals.push(Refusal::ReadOnlyFileSystem);
        }
    }
    Ok(inspection)
}

/// Inspects what a stat(2) result describes: kind and refusals, without signature or free space.
///
/// # Errors
/// A `HostError` when a fact cannot be learned. Then nothing must be written.
pub fn inspect_stat(roots: &Roots, path: &Path, stat: &Stat) -> Result<Inspection, HostError> {
    let (major, minor) = (
        rustix::fs::major(stat.st_rdev),
        rustix::fs::minor(stat.st_rdev),
    );
    let wrong = |kind, what| (kind, vec![Refusal::WrongKind { what }]);
    let mut relatives = Vec::new();
    let (kind, refusals) = match FileType::from_raw_mode(stat.st_mode) {
        FileType::BlockDevice => {
            let device = device_of_number(roots, major, minor)?;
            let in_use = InUse::read(roots)?;
            let refusals = device_refusals(roots, &in_use, &device, 0)?;
            relatives = relatives_of(roots, &device)?;
            relatives.extend(loops_beside(roots, &in_use, &device));
            (CandidateKind::BlockDevice(Box::new(device)), refusals)
        }
        FileType::RegularFile => {
            let refusals = file_refusals(&InUse::read(roots)?, (stat.st_dev, stat.st_ino));
            let size_bytes = u64::try_from(stat.st_size).unwrap_or(0);
            (CandidateKind::RegularFile { size_bytes }, refusals)
        }
        FileType::Directory => (CandidateKind::Directory, Vec::new()),
        FileType::CharacterDevice => wrong(CandidateKind::CharacterDevice, "a character device"),
        FileType::Fifo => wrong(CandidateKind::Fifo, "a named pipe (FIFO)"),
        FileType::Socket => wrong(CandidateKind::Socket, "a socket"),
        _ => wrong(CandidateKind::Other, "neither a device nor a file"),
    };
    let identity = match kind {
        CandidateKind::BlockDevice(_) => InspectedIdentity::Device { major, minor },
        _ => InspectedIdentity::File {
            device: stat.st_dev,
            inode: stat.st_ino,
        },
    };
    let path = path.to_owned();
    Ok(Inspection {
        path,
        kind,
        identity,
        refusals,
        signature: None,
        relatives,
        free_bytes: None,
    })
}

pub(crate) fn device_refusals(
    roots: &Roots,
    in_use: &InUse,
    device: &BlockDevice,
    layer: u32,
) -> Result<Vec<Refusal>, HostError> {
    let mut refusals = Vec::new();
    for (relation, node) in &relatives_of(roots, device)? {
        // A volume over several paths is compared with these paths: the volume contains them.
        let is_of_volume = device.slaves.contains(&node.name)
            || device.node.holders.iter().any(|one| one.name == node.name);
        if *relation != Relation::OtherPath || !is_of_volume {
            refusals.extend(node_refusals(in_use, *relation, node));
        }
    }
    let read_only = relatives_within(device).find(|(relation, node)| {
        // A read-only partition does not keep its disk from being written.
        node.read_only && *relation != Relation::Partition
    });
    if let Some((_, node)) = read_only {
        refusals.push(Refusal::ReadOnly {
            device: node.name.clone(),
        });
    }
    if layer < LAYERS_MAX {
        refusals.extend(refusals_below(roots, in_use, device, layer)?);
    }
    Ok(refusals)
}

/// The device mapper and md claim the devices they are built on, so that nobody else can use these;
/// a loop device does not. Data written to a loop device is nevertheless written below it.
fn refusals_below(
    roots: &Roots,
    in_use: &InUse,
    device: &BlockDevice,
    layer: u32,
) -> Result<Vec<Refusal>, HostError> {
    let loop_name = device.whole_disk_name();
    let Some(backing) = in_use.backing_of_loop(loop_name) else {
        return Ok(Vec::new());
    };
    let mut found = Vec::new();
    for &(major, minor) in &backing.devices {
        let device = device_of_number(roots, major, minor)?;
        for refusal in device_refusals(roots, in_use, &device, layer + 1)? {
            found.push((device.name().to_owned(), refusal));
        }
    }
    if let Some(file) = backing.file {
        for refusal in file_refusals(in_use, file) {
            found.push((format!("the file {}", backing.path.display()), refusal));
        }
    }
    // The device below may lie under this very loop device, and under others that stand for other
    // bytes of it; neither is a reason against this loop device.
    let sharing = in_use.loops_sharing(backing, &part_below(device, backing));
    found.retain(|(_, refusal)| match refusal {
        Refusal::BacksLoop {
            loop_device,
            relation: Relation::Itself,
            ..
        }
        | Refusal::FileBacksLoop { loop_device } => sharing.contains(loop_device),
        Refusal::BacksLoop { loop_device, .. } => loop_device != loop_name,
        _ => true,
    });
    let below = found.into_iter().map(|(below, refusal)| Refusal::Below {
        below,
        refusal: Box::new(refusal),
    });
    Ok(below.collect())
}

/// The bytes below a loop device that it, or a partition of it, stands for.
fn part_below(device: &BlockDevice, backing: &LoopDevice) -> Range<u64> {
    let range = device.range();
    let start = backing.range.start.saturating_add(range.start);
    start..start.saturating_add(range.end - range.start)
}

/// Other loop devices over bytes of this one. A loop device that disappears at this moment shares
/// nothing.
fn loops_beside(roots: &Roots, in_use: &InUse, device: &BlockDevice) -> Vec<(Relation, Node)> {
    let Some(backing) = in_use.backing_of_loop(device.whole_disk_name()) else {
        return Vec::new();
    };
    let names = in_use.loops_sharing(backing, &part_below(device, backing));
    let devices = names
        .iter()
        .filter_map(|name| device_named(roots, name).ok());
    devices
        .map(|device| (Relation::SameBacking, device.node))
        .collect()
}

fn node_refusals(in_use: &InUse, relation: Relation, node: &Node) -> Vec<Refusal> {
    let number = (node.major, node.minor);
    let device = &node.name;
    let mut refusals = Vec::new();
    if let Some(mount_points) = in_use.mount_points(number) {
        refusals.push(Refusal::Mounted {
            device: device.clone(),
            relation,
            mount_points,
        });
    }
    if in_use.is_swap_device(number) {
        refusals.push(Refusal::SwapDevice {
            device: device.clone(),
            relation,
        });
    }
    if !node.holders.is_empty() {
        let holders = node.holders.clone();
        refusals.push(Refusal::Held {
            device: device.clone(),
            relation,
            holders,
        });
    }
    for loop_device in in_use.loops_over_device(number) {
        refusals.push(Refusal::BacksLoop {
            device: device.clone(),
            relation,
            loop_device,
        });
    }
    refusals
}

fn file_refusals(in_use: &InUse, file: (u64, u64)) -> Vec<Refusal> {
    let mut refusals = Vec::new();
    if in_use.is_swap_file(file) {
        refusals.push(Refusal::SwapFile);
    }
    let loops = in_use.loops_over_file(file).into_iter();
    refusals.extend(loops.map(|loop_device| Refusal::FileBacksLoop { loop_device }));
    refusals
}

#[cfg(test)]
mod tests;
