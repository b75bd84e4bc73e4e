//! Finds out whether another program writes to the bytes of a target. Recordings and measurements
//! lock the files that they write, and claim the devices; a loop device over such a file or device
//! has no lock or claim of its own. Nothing is changed here.

use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{FileType, Mode, OFlags, fstat, major, minor, open};
use rustix::io::Errno;
use sustain_disk::target::{Target, TargetKind, is_being_written};
use sustain_document::block_device::{BlockDevice, Node};
use sustain_host::{
    Inspection, Relation, Roots, device_of_number, layers_under_device, relatives_of,
};

/// The file or device below a loop device, at any depth below `device`, to which another program
/// writes.
pub(crate) fn written_below(device: &BlockDevice, roots: &Roots) -> Option<PathBuf> {
    let layers = layers_under_device(roots, device).unwrap_or_default();
    let backings = layers
        .into_iter()
        .filter_map(|layer| layer.loop_backing_file);
    backings.into_iter().find(|path| is_written(path))
}

/// Whether another program writes to what is being read: to it, to a part of it, to the whole that
/// it is a part of, or to what lies below it.
pub(crate) fn is_written_meanwhile(target: &Target, roots: &Roots) -> bool {
    if target.file.as_ref().is_some_and(is_being_written) {
        return true;
    }
    let (TargetKind::BlockDevice, Some((major, minor))) = (target.kind, target.device) else {
        return false;
    };
    let Ok(device) = device_of_number(roots, major, minor) else {
        return false;
    };
    let relatives = relatives_of(roots, &device).unwrap_or_default();
    relatives.iter().any(|(_, node)| is_node_written(node))
        || written_below(&device, roots).is_some()
}

/// The name of a device other than this one to which another program writes and that shares bytes
/// with what `inspection` is about: an overlapping partition, or the same disk by another path. The
/// claim prevents neither.
pub(crate) fn written_beside(inspection: &Inspection) -> Option<&str> {
    let mut others = inspection
        .relatives
        .iter()
        .filter(|(relation, _)| *relation != Relation::Itself);
    others
        .find(|(_, node)| is_node_written(node))
        .map(|(_, node)| node.name.as_str())
}

fn is_node_written(node: &Node) -> bool {
    let path = Path::new("/dev").join(&node.name);
    node_of(&path, (node.major, node.minor)).is_some_and(is_being_written)
}

/// A device that cannot be opened counts as free: only root meets loop devices, and for root such a
/// device is gone, or out of sight in another mount namespace.
fn is_written(path: &Path) -> bool {
    let Some(file) = opened(path, OFlags::empty()).ok() else {
        return false;
    };
    let Ok(found) = fstat(&file) else {
        return false;
    };
    match FileType::from_raw_mode(found.st_mode) {
        FileType::RegularFile => is_being_written(&file),
        // Claiming it for a moment shows whether another program has claimed it.
        FileType::BlockDevice => opened(path, OFlags::EXCL).is_err_and(|why| why == Errno::BUSY),
        _ => false,
    }
}

fn node_of(path: &Path, number: (u32, u32)) -> Option<OwnedFd> {
    let file = opened(path, OFlags::empty()).ok()?;
    let found = fstat(&file).ok()?;
    let is_it = FileType::from_raw_mode(found.st_mode) == FileType::BlockDevice
        && (major(found.st_rdev), minor(found.st_rdev)) == number;
    is_it.then_some(file)
}

fn opened(path: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
    let always = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    open(path, always | flags, Mode::empty())
}
