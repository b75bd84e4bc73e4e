//! Makes sure that data that is reported as written is on its medium. A file system may accept
//! bytes for which it has no space, or that its disk refuses, and report that only when it is asked
//! to make them durable.

use std::fs::File;
use std::io::ErrorKind;
use std::path::Path;

use anyhow::Context;

/// Waits until a file is on its medium, and its name as well if that is new. For a pipe, or a
/// device that keeps nothing, there is nothing to wait for.
pub(super) fn keep_file(
    file: &File,
    name: &str,
    new: Option<&Path>,
    written_bytes: u64,
) -> anyhow::Result<()> {
    let is_file = file.metadata().is_ok_and(|found| found.is_file());
    if !is_file {
        return Ok(());
    }
    file.sync_all().with_context(|| {
        format!(
            "{name} took {written_bytes} bytes, but they could not be made durable, and some \
             of them may be lost: write it to another place, and check the kernel log (dmesg)"
        )
    })?;
    let Some(path) = new else {
        return Ok(());
    };
    let directory = path
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty())
        .unwrap_or(Path::new("."));
    let kept = File::open(directory).and_then(|directory| directory.sync_all());
    match kept {
        // Some file systems make directories durable by themselves, and some directories can be
        // written but not read.
        Err(error)
            if matches!(
                error.kind(),
                ErrorKind::InvalidInput | ErrorKind::PermissionDenied
            ) =>
        {
            Ok(())
        }
        other => other.with_context(|| {
            format!(
                "{name} is written, but its name could not be made durable in {}: it may be \
                 gone after a power cut",
                directory.display()
            )
        }),
    }
}

/// The file system of a directory that gets many small files. Waiting for all of them at once takes
/// a moment; waiting for each by itself would take many.
pub(super) struct DestinationFileSystem(File);

impl DestinationFileSystem {
    /// Opens the file system of this directory. Errors of writing are reported from here on.
    pub(super) fn of(directory: &Path) -> anyhow::Result<DestinationFileSystem> {
        let opened = File::open(directory);
        let file = opened.with_context(|| format!("cannot open {}", directory.display()))?;
        Ok(DestinationFileSystem(file))
    }

    /// Waits until everything that was written is on the medium.
    pub(super) fn keep(&self, directory: &Path, files: u64) -> anyhow::Result<()> {
        if files == 0 {
            return Ok(());
        }
        let kept = rustix::fs::syncfs(&self.0).map_err(std::io::Error::from);
        kept.with_context(|| {
            format!(
                "{} took {files} frames, but they could not be made durable, and some of them \
                 may be lost: write them to another place, and check the kernel log (dmesg)",
                directory.display()
            )
        })
    }
}
