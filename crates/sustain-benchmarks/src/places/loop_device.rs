//! A block device over a file in memory: faster than most disks, so that the programs' own cost
//! shows.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, bail};

use super::WrittenFile;
use crate::interrupt::Interrupt;

/// Where files are held in memory.
const MEMORY_DIRECTORY: &str = "/dev/shm";

/// A loop device, detached when dropped.
#[derive(Debug)]
pub(crate) struct LoopDevice {
    path: PathBuf,
    // Dropped after the device is detached, and not before.
    _file: WrittenFile,
}

impl LoopDevice {
    /// A device of `size_bytes` of memory, all of it in place.
    pub(crate) fn new(size_bytes: u64, interrupt: &Interrupt) -> anyhow::Result<LoopDevice> {
        let file = WrittenFile::new(Path::new(MEMORY_DIRECTORY), size_bytes, interrupt)?;
        let output = Command::new("losetup")
            .args(["--find", "--show", "--direct-io=on"])
            .arg(file.path())
            .output()
            .context("cannot run losetup: install the package `mount` or `util-linux`")?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            bail!("losetup gave no loop device: {}", said.trim());
        }
        let path = PathBuf::from(String::from_utf8_lossy(&output.stdout).trim());
        Ok(LoopDevice { path, _file: file })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Major and minor number as the kernel's control files want them.
    pub(crate) fn number(&self) -> anyhow::Result<String> {
        let name = self.path.file_name().context("a device has a name")?;
        let file = Path::new("/sys/block").join(name).join("dev");
        let number = std::fs::read_to_string(&file)
            .with_context(|| format!("cannot read {}", file.display()))?;
        Ok(number.trim().to_owned())
    }
}

impl Drop for LoopDevice {
    fn drop(&mut self) {
        // Where that fails nothing better can be done; the device names its file in losetup -l.
        let _ = Command::new("losetup").arg("-d").arg(&self.path).status();
    }
}
