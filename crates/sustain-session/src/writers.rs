//! Who else writes to what a target's bytes lie on. Recorders and measurements lock what they write,
//! and claim it if it is a device; a loop device stands over such a thing without a lock or a claim of
//! its own. Nothing is changed here.

use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{FileType, Mode, OFlags, fstat, major, minor, open};
use rustix::io::Errno;
use sustain_disk::target::{Target, TargetKind, is_being_written};
use sustain_host::{
    BlockDevice, Inspection, Node, Relation, Roots, layers_under_device, relatives_of,
};

/// The file or device below a loop device, however deep below `device`, to which another one writes.
pub(crate) fn written_below(device: &BlockDevice, roots: &Roots) -> Option<PathBuf> {
    let layers = layers_under_device(roots, device).unwrap_or_default();
    let backings = layers
        .into_iter()
        .filter_map(|layer| layer.loop_backing_file);
    backings.into_iter().find(|path| is_written(path))
}

/// Whether another one writes to what is being read: to it, to a part of it or the whole of which it
/// is a part, or to what lies below it.
pub(crate) fn is_written_meanwhile(target: &Target, roots: &Roots) -> bool {
    if target.file.as_ref().is_some_and(is_being_written) {
        return true;
    }
    let (TargetKind::BlockDevice, Some((major, minor))) = (target.kind, target.device) else {
        return false;
    };
    let Ok(device) = BlockDevice::from_device_number(roots, major, minor) else {
        return false;
    };
    let relatives = relatives_of(roots, &device).unwrap_or_default();
    relatives.iter().any(|(_, node)| is_node_written(node))
        || written_below(&device, roots).is_some()
}

/// The name of a device to which another one writes and that shares bytes with what `inspection` is
/// about, other than this itself: an overlapping partition, the same disk by another path. Neither
/// is kept by the claim.
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

/// What cannot be opened is taken for free: only root meets loop devices, and for root that is what
/// is gone, or out of sight in another mount namespace.
fn is_written(path: &Path) -> bool {
    let Some(file) = opened(path, OFlags::empty()).ok() else {
        return false;
    };
    let Ok(found) = fstat(&file) else {
        return false;
    };
    match FileType::from_raw_mode(found.st_mode) {
        FileType::RegularFile => is_being_written(&file),
        // To claim it for a moment tells whether another one has.
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
