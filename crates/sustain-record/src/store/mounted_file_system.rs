//! A file system that tests freeze. Needs root, loop devices, mkfs.ext4 and fsfreeze.

use std::fs::File;
use std::path::PathBuf;
use std::process::Command;

/// An ext4 file system in a file, with a file called `file` in it. It is thawed and unmounted
/// whatever happens.
pub(crate) struct MountedFileSystem {
    folder: tempfile::TempDir,
}

impl MountedFileSystem {
    /// Mounts one of this size, or says why that cannot be done here.
    pub(crate) fn new(bytes: u64) -> Result<MountedFileSystem, String> {
        let folder = tempfile::tempdir().unwrap();
        let image = folder.path().join("image");
        File::create(&image).unwrap().set_len(bytes).unwrap();
        let mounted = MountedFileSystem { folder };
        run(Command::new("mkfs.ext4").arg("-q").arg(&image))?;
        std::fs::create_dir(mounted.place()).unwrap();
        let mut mount = Command::new("mount");
        run(mount.args(["-o", "loop"]).arg(&image).arg(mounted.place()))?;
        std::fs::write(mounted.place().join("file"), "x").unwrap();
        Ok(mounted)
    }

    /// Where it is mounted.
    pub(crate) fn place(&self) -> PathBuf {
        self.folder.path().join("place")
    }

    /// Freezes it: no write returns before it is thawed.
    pub(crate) fn freeze(&self) -> Result<(), String> {
        run(Command::new("fsfreeze").arg("-f").arg(self.place()))
    }

    /// Thaws it, if it is frozen.
    pub(crate) fn thaw(&self) {
        let _ = run(Command::new("fsfreeze").arg("-u").arg(self.place()));
    }
}

impl Drop for MountedFileSystem {
    fn drop(&mut self) {
        self.thaw();
        let _ = run(Command::new("umount").arg("-l").arg(self.place()));
    }
}

fn run(command: &mut Command) -> Result<(), String> {
    let ran = command.output();
    let ran = ran.map_err(|error| format!("{command:?}: {error}"))?;
    let said = String::from_utf8_lossy(&ran.stderr).into_owned();
    ran.status.success().then_some(()).ok_or(said)
}
