//! What a recorder tells, on its side.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::{FlockOperation, flock};
use sustain_host::DeviceNumber;

use super::{FIRST_LINE_BYTES, NAME_END, NAME_START};

/// The file of a recorder, removed with it.
#[derive(Debug)]
pub struct PublishedNeed {
    path: PathBuf,
    file: File,
}

impl PublishedNeed {
    /// Tells that a recorder of this process needs these disks, and that nothing waits yet.
    ///
    /// # Errors
    /// The cause, if the file cannot be written.
    pub fn create(directory: &Path, disks: &[DeviceNumber]) -> io::Result<PublishedNeed> {
        static MADE: AtomicU64 = AtomicU64::new(0);
        let number = MADE.fetch_add(1, Ordering::Relaxed);
        let process = std::process::id();
        let path = directory.join(format!("{NAME_START}{process}-{number}{NAME_END}"));
        // It has this name only once it is locked and whole: readers take one that is not locked
        // for that of a recorder which was killed.
        let beginning = path.with_extension("new");
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(true);
        let file = options.mode(0o644).open(&beginning)?;
        flock(&file, FlockOperation::NonBlockingLockExclusive)?;
        let mut text = first_line(0, 1);
        for (major, minor) in disks {
            text.push_str(&format!("disk {major}:{minor}\n"));
        }
        file.write_all_at(text.as_bytes(), 0)?;
        fs::rename(&beginning, &path)?;
        Ok(PublishedNeed { path, file })
    }

    /// Tells how much waits for the disks, of a buffer of this size.
    ///
    /// # Errors
    /// The cause, if the file cannot be written.
    pub fn publish(&mut self, waiting_bytes: u64, buffer_bytes: u64) -> io::Result<()> {
        let line = first_line(waiting_bytes, buffer_bytes);
        self.file.write_all_at(line.as_bytes(), 0)
    }
}

impl Drop for PublishedNeed {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

/// Always of one length, so that a reader finds all of it, old or new.
fn first_line(waiting_bytes: u64, buffer_bytes: u64) -> String {
    let line = format!("{waiting_bytes:020} {buffer_bytes:020}\n");
    debug_assert_eq!(line.len(), FIRST_LINE_BYTES);
    line
}
