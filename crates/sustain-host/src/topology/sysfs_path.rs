//! A disk's way through sysfs, from its directory up to `devices`, and the names on it. Each family
//! of hops looks for its own directories there.

use std::fs;
use std::path::{Path, PathBuf};

/// The directories from a disk up to `devices`, nearest first.
pub(super) struct SysfsPath {
    /// The path of sysfs, in the form that the directories have.
    pub(super) sys: PathBuf,
    pub(super) directories: Vec<PathBuf>,
}

impl SysfsPath {
    /// Names a hop by its place below sysfs, which is the same for all disks above which it lies.
    pub(super) fn id_of(&self, directory: &Path) -> String {
        let place = directory.strip_prefix(&self.sys).unwrap_or(directory);
        place.to_string_lossy().into_owned()
    }

    /// The first directory, seen from the disk, whose name satisfies `is_so`.
    pub(super) fn nearest(&self, is_so: impl Fn(&str) -> bool) -> Option<&Path> {
        let mut directories = self.directories.iter();
        let found = directories.find(|directory| is_so(&name_of(directory)));
        found.map(PathBuf::as_path)
    }
}

/// The last part of a path as text.
pub(super) fn name_of(directory: &Path) -> String {
    let name = directory.file_name().unwrap_or_default();
    name.to_string_lossy().into_owned()
}

/// The name of the target of a link in sysfs, such as a device's driver.
pub(super) fn link_name(link: &Path) -> Option<String> {
    Some(name_of(&fs::read_link(link).ok()?))
}
