//! A made-up host for unit tests: sysfs and procfs trees in a temporary directory, laid out as the
//! kernel does it. It is only for tests of this crate; names and numbers are chosen so that no real
//! device has them.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::roots::Roots;

pub(crate) struct FakeHost {
    temporary: TempDir,
    roots: Roots,
}

impl FakeHost {
    pub(crate) fn new() -> FakeHost {
        let temporary = tempfile::tempdir().unwrap();
        let roots = Roots {
            sys: temporary.path().join("sys"),
            proc: temporary.path().join("proc"),
        };
        for directory in ["dev/block", "block", "class/block", "devices"] {
            fs::create_dir_all(roots.sys.join(directory)).unwrap();
        }
        let host = FakeHost { temporary, roots };
        host.write_proc("self/mountinfo", "");
        host.write_proc("swaps", "Filename\tType\tSize\tUsed\tPriority\n");
        host
    }

    pub(crate) fn roots(&self) -> &Roots {
        &self.roots
    }

    /// A directory for real files of the test.
    pub(crate) fn path(&self) -> &Path {
        self.temporary.path()
    }

    pub(crate) fn disk(&self, name: &str, major: u32, minor: u32, sectors: u64) -> PathBuf {
        self.disk_at("devices/virtual/block", name, major, minor, sectors)
    }

    pub(crate) fn disk_at(
        &self,
        place: &str,
        name: &str,
        major: u32,
        minor: u32,
        sectors: u64,
    ) -> PathBuf {
        let directory = self.roots.sys.join(place).join(name);
        self.node(&directory, name, major, minor, sectors);
        symlink(&directory, self.roots.sys.join("block").join(name)).unwrap();
        directory
    }

    pub(crate) fn partition(
        &self,
        disk: &str,
        name: &str,
        major: u32,
        minor: u32,
        sectors: u64,
    ) -> PathBuf {
        let disk = fs::canonicalize(self.roots.sys.join("block").join(disk)).unwrap();
        let directory = disk.join(name);
        // It is placed after those that exist.
        let siblings = fs::read_dir(&disk)
            .unwrap()
            .map(|entry| entry.unwrap().path());
        let end = |sibling: PathBuf| {
            let number = |file: &str| -> Option<u64> {
                let text = fs::read_to_string(sibling.join(file)).ok()?;
                text.trim().parse().ok()
            };
            Some(number("start")? + number("size")?)
        };
        let start = siblings.filter_map(end).max().unwrap_or(0);
        self.node(&directory, name, major, minor, sectors);
        self.write_under(&directory, "partition", "1\n");
        self.write_under(&directory, "start", &format!("{start}\n"));
        directory
    }

    fn node(&self, directory: &Path, name: &str, major: u32, minor: u32, sectors: u64) {
        fs::create_dir_all(directory).unwrap();
        self.write_under(directory, "dev", &format!("{major}:{minor}\n"));
        self.write_under(directory, "size", &format!("{sectors}\n"));
        self.write_under(directory, "ro", "0\n");
        let by_number = self.roots.sys.join(format!("dev/block/{major}:{minor}"));
        symlink(directory, by_number).unwrap();
        symlink(directory, self.roots.sys.join("class/block").join(name)).unwrap();
    }

    pub(crate) fn write_under(&self, directory: &Path, name: &str, content: &str) {
        let path = directory.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    pub(crate) fn write_proc(&self, name: &str, content: &str) {
        self.write_under(&self.roots.proc, name, content);
    }

    pub(crate) fn write_sys(&self, name: &str, content: &str) {
        self.write_under(&self.roots.sys, name, content);
    }
}
