//! A block device over a file. In memory it is faster than most disks, so that the programs' own
//! cost shows; over a sparse file it is larger than any disk at hand.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, bail, ensure};

use super::{SparseFile, WrittenFile};
use crate::interrupt::Interrupt;

/// Where files are held in memory.
pub(crate) const MEMORY_DIRECTORY: &str = "/dev/shm";

/// A loop device, detached when dropped.
#[derive(Debug)]
pub(crate) struct LoopDevice {
    path: PathBuf,
    // Dropped after the device is detached, and not before.
    file: Backing,
}

#[derive(Debug)]
enum Backing {
    Written(WrittenFile),
    Sparse(SparseFile),
}

impl Backing {
    fn path(&self) -> &Path {
        match self {
            Backing::Written(file) => file.path(),
            Backing::Sparse(file) => file.path(),
        }
    }
}

impl LoopDevice {
    /// A device of `size_bytes` of memory, all of it in place.
    pub(crate) fn new(size_bytes: u64, interrupt: &Interrupt) -> anyhow::Result<LoopDevice> {
        let file = WrittenFile::new(Path::new(MEMORY_DIRECTORY), size_bytes, interrupt)?;
        LoopDevice::over(Backing::Written(file))
    }

    /// A device of `size_bytes` that read as zeros and take room in `directory` as they are
    /// written.
    pub(crate) fn sparse(directory: &Path, size_bytes: u64) -> anyhow::Result<LoopDevice> {
        let file = SparseFile::new(directory, size_bytes)?;
        LoopDevice::over(Backing::Sparse(file))
    }

    fn over(file: Backing) -> anyhow::Result<LoopDevice> {
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
        Ok(LoopDevice { path, file })
    }

    /// Takes the medium away: whatever is in flight ends, and nothing is read or written any more.
    pub(crate) fn kill(&self) -> anyhow::Result<()> {
        let file = File::options().write(true).open(self.file.path());
        let file = file.context("cannot open the file of a loop device")?;
        file.set_len(0)
            .context("cannot shorten the file of a loop device")?;
        let output = Command::new("losetup")
            .arg("--set-capacity")
            .arg(&self.path)
            .output()
            .context("cannot run losetup")?;
        ensure!(output.status.success(), "losetup did not take the new size");
        Ok(())
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
