//! Where the work is done: files, loop devices over memory, limits on these, huge pages. Each is
//! taken down when its owner is dropped, also by Ctrl-C or a panic.

mod file;
mod huge_pages;
mod loop_device;
mod throttle;

pub(crate) use file::{SparseFile, WrittenFile};
pub(crate) use huge_pages::HugePages;
pub(crate) use loop_device::{LoopDevice, MEMORY_DIRECTORY};
pub(crate) use throttle::Throttle;

/// Why loop devices, limits and huge pages cannot be had, if so.
pub(crate) fn refused() -> Option<String> {
    let is_root = rustix::process::geteuid().is_root();
    (!is_root).then(|| "needs root".to_owned())
}
