//! The limits that are set, written down before they are, so that they can be put back by whoever
//! survives. The file lies where a reboot takes it, because a reboot takes the limits too.
//!
//! Whoever may still put limits back by itself holds a shared lock on the file. A file that nobody
//! holds was left by a recorder that was killed together with its supervisor.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};
use sustain_host::{ControlGroups, DeviceNumber, GroupLimits};

use crate::error::HoldBackError;
use crate::limiter::{LimitChange, Limiter, Put};

/// A limit that was set.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct JournalEntry {
    /// The group, relative to the root of its hierarchy.
    pub(crate) group: PathBuf,
    pub(crate) device: DeviceNumber,
    /// What was there before.
    pub(crate) original: SavedLimits,
    /// What was set last and what is set now: between the two the recorder may have been killed.
    pub(crate) set: [SavedLimits; 2],
}

/// The limits of a group on a disk, as they are written down: of reads, then of writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SavedLimits(Option<u64>, Option<u64>);

impl From<GroupLimits> for SavedLimits {
    fn from(limits: GroupLimits) -> SavedLimits {
        SavedLimits(limits.read_bytes_per_s, limits.write_bytes_per_s)
    }
}

impl From<SavedLimits> for GroupLimits {
    fn from(SavedLimits(read_bytes_per_s, write_bytes_per_s): SavedLimits) -> GroupLimits {
        GroupLimits {
            read_bytes_per_s,
            write_bytes_per_s,
        }
    }
}

/// The file of one recorder.
#[derive(Debug)]
pub(crate) struct Journal {
    path: PathBuf,
    file: File,
    entries: Vec<JournalEntry>,
    written_bytes: usize,
}

impl Journal {
    /// A new one of this process.
    pub(crate) fn create(directory: &Path) -> Result<Journal, HoldBackError> {
        let path = directory.join(format!("hold-back-{}.json", std::process::id()));
        let failed = |error| HoldBackError::Journal {
            path: path.clone(),
            error,
        };
        let mut options = OpenOptions::new();
        options.read(true).write(true).create_new(true).mode(0o600);
        let file = options.open(&path).map_err(failed)?;
        flock(&file, FlockOperation::LockShared).map_err(|errno| failed(errno.into()))?;
        Ok(Journal {
            path,
            file,
            entries: Vec::new(),
            written_bytes: 0,
        })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Writes down what is about to be set. In one write, so that no reader finds half of it; what
    /// is left of a longer text is blank.
    pub(crate) fn put(&mut self, entry: JournalEntry) -> io::Result<()> {
        let is_same =
            |known: &JournalEntry| known.group == entry.group && known.device == entry.device;
        match self.entries.iter_mut().find(|known| is_same(known)) {
            Some(known) => *known = entry,
            None => self.entries.push(entry),
        }
        self.write()
    }

    /// Forgets a limit that is nobody's any more.
    pub(crate) fn forget(&mut self, group: &Path, device: DeviceNumber) -> io::Result<()> {
        self.entries
            .retain(|entry| entry.group != group || entry.device != device);
        self.write()
    }

    fn write(&mut self) -> io::Result<()> {
        let mut text = serde_json::to_vec(&self.entries).map_err(io::Error::other)?;
        let length_bytes = text.len();
        text.resize(length_bytes.max(self.written_bytes), b' ');
        self.file.write_all_at(&text, 0)?;
        self.written_bytes = length_bytes;
        Ok(())
    }

    /// Removes the file, when everything is put back.
    pub(crate) fn remove(&self) -> io::Result<()> {
        fs::remove_file(&self.path)
    }
}

/// The directory of the journals, made if it is not there. Only this user may write to it, because
/// what is written there is done.
pub(crate) fn directory() -> Result<PathBuf, HoldBackError> {
    let is_root = rustix::process::geteuid().is_root();
    let runtime = std::env::var_os("XDG_RUNTIME_DIR").filter(|_| !is_root);
    let path = PathBuf::from(runtime.unwrap_or_else(|| "/run".into())).join("sustain");
    safe_directory(&path)?;
    Ok(path)
}

fn safe_directory(path: &Path) -> Result<(), HoldBackError> {
    let failed = |error| HoldBackError::Journal {
        path: path.to_owned(),
        error,
    };
    match fs::DirBuilder::new().mode(0o700).create(path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(failed(error)),
        _ => {}
    }
    let metadata = fs::symlink_metadata(path).map_err(failed)?;
    let is_own = metadata.uid() == rustix::process::geteuid().as_raw();
    if !metadata.is_dir() || !is_own || metadata.mode() & 0o022 != 0 {
        return Err(HoldBackError::UnsafeDirectory {
            path: path.to_owned(),
        });
    }
    Ok(())
}

/// Puts back what recorders left that were killed with their supervisors. Returns how many there
/// were.
pub(crate) fn put_back_leftovers(
    directory: &Path,
    groups: &ControlGroups,
) -> Result<usize, HoldBackError> {
    let failed = |error| HoldBackError::Journal {
        path: directory.to_owned(),
        error,
    };
    let mut count = 0;
    for file in fs::read_dir(directory).map_err(failed)? {
        let path = file.map_err(failed)?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if !name.starts_with("hold-back-") {
            continue;
        }
        let Ok(file) = File::open(&path) else {
            continue;
        };
        if flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok() {
            put_back(&path, groups).map_err(failed)?;
            count += 1;
        }
    }
    Ok(count)
}

/// Puts back what this journal says, and removes it. Limits that are no longer as they were set
/// belong to whoever has changed them.
pub(crate) fn put_back(path: &Path, groups: &ControlGroups) -> io::Result<()> {
    let text = fs::read(path)?;
    let entries: Vec<JournalEntry> = if text.is_empty() {
        Vec::new()
    } else {
        serde_json::from_slice(&text).map_err(io::Error::other)?
    };
    for entry in entries {
        let ours = entry.set.map(GroupLimits::from);
        let put = Limiter::new(groups).put(&LimitChange {
            group: &entry.group,
            device: entry.device,
            limits: entry.original.into(),
            original: entry.original.into(),
            expected: &ours,
        });
        if let Put::Refused(why) = put {
            return Err(io::Error::other(why));
        }
    }
    fs::remove_file(path)
}
