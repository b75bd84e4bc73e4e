//! The limits that are set, written down before they are, so that they can be put back by whoever
//! survives. The file lies where a reboot takes it, because a reboot takes the limits too.
//!
//! Whoever may still put limits back by itself holds a shared lock on the file. A file that nobody
//! holds was left by a recorder that was killed together with its supervisor.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};
use sustain_host::{ControlGroups, DeviceNumber, GroupLimits};

use crate::error::HoldBackError;
use crate::limiter::{LimitChange, Limiter, Put};

const NAME_START: &str = "hold-back-";
const NAME_END: &str = ".json";
/// Room for the limits of a hundred groups.
const ROOM_BYTES: usize = 16 << 10;
/// A supervisor puts limits back within this time of its recorder's death.
const SUPERVISOR_WAIT: Duration = Duration::from_secs(5);
const LOOK_AGAIN: Duration = Duration::from_millis(20);

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
        let path = directory.join(format!("{NAME_START}{}{NAME_END}", std::process::id()));
        let failed = |error| HoldBackError::Journal {
            path: path.clone(),
            error,
        };
        let mut options = OpenOptions::new();
        options.read(true).write(true).create_new(true).mode(0o600);
        let file = options.open(&path).map_err(failed)?;
        flock(&file, FlockOperation::LockShared).map_err(|errno| failed(errno.into()))?;
        let mut journal = Journal {
            path: path.clone(),
            file,
            entries: Vec::new(),
            // The room is taken now, so that no write finds the file system full later.
            written_bytes: ROOM_BYTES,
        };
        journal.write().map_err(failed)?;
        Ok(journal)
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
        self.written_bytes = self.written_bytes.max(text.len());
        text.resize(self.written_bytes, b' ');
        self.file.write_all_at(&text, 0)
    }

    /// Removes the file, when everything is put back.
    pub(crate) fn remove(&self) -> io::Result<()> {
        fs::remove_file(&self.path)
    }
}

/// Puts back what recorders left that were killed with their supervisors, and waits for supervisors
/// whose recorders were killed. What cannot be put back stays written down for the next start.
pub(crate) fn put_back_leftovers(
    directory: &Path,
    groups: &ControlGroups,
) -> Result<(), HoldBackError> {
    let failed = |error| HoldBackError::Journal {
        path: directory.to_owned(),
        error,
    };
    for file in fs::read_dir(directory).map_err(failed)? {
        let path = file.map_err(failed)?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let numbers = name.strip_prefix(NAME_START);
        let process = numbers.and_then(|rest| rest.strip_suffix(NAME_END)?.parse::<u32>().ok());
        let is_file = path.symlink_metadata().is_ok_and(|found| found.is_file());
        let Some(process) = process.filter(|_| is_file) else {
            continue;
        };
        if let Ok(file) = File::open(&path)
            && is_left(&file, process)
        {
            let _ = put_back(&path, groups);
        }
    }
    Ok(())
}

/// Whether nobody holds this journal any more. A supervisor alone is waited for.
fn is_left(file: &File, process: u32) -> bool {
    let mut waited = Duration::ZERO;
    loop {
        if flock(file, FlockOperation::NonBlockingLockExclusive).is_ok() {
            return true;
        }
        let lives = Path::new("/proc").join(process.to_string()).exists();
        if lives || waited >= SUPERVISOR_WAIT {
            return false;
        }
        std::thread::park_timeout(LOOK_AGAIN);
        waited += LOOK_AGAIN;
    }
}

/// Puts back what this journal says, and removes it. Limits that are no longer as they were set
/// belong to whoever has changed them.
pub(crate) fn put_back(path: &Path, groups: &ControlGroups) -> io::Result<()> {
    let text = fs::read(path)?;
    let entries: Vec<JournalEntry> = serde_json::from_slice(&text).map_err(io::Error::other)?;
    let mut refused = None;
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
            refused = Some(why);
        }
    }
    match refused {
        Some(why) => Err(io::Error::other(why)),
        None => fs::remove_file(path),
    }
}

/// The disks that are this recorder's: of two that hold others back on one disk, each would take
/// the other's limits for those that were there before.
#[derive(Debug)]
pub(crate) struct DiskClaims(Vec<File>);

impl DiskClaims {
    /// Takes them.
    pub(crate) fn take(
        directory: &Path,
        devices: impl Iterator<Item = DeviceNumber>,
    ) -> Result<DiskClaims, HoldBackError> {
        let mut claims = DiskClaims(Vec::new());
        for (major, minor) in devices {
            let path = directory.join(format!("holds-back-on-{major}-{minor}"));
            let mut options = OpenOptions::new();
            options.write(true).create(true).truncate(false).mode(0o600);
            let failed = |error| HoldBackError::Journal {
                path: path.clone(),
                error,
            };
            let file = options.open(&path).map_err(failed)?;
            match flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => claims.0.push(file),
                Err(Errno::WOULDBLOCK) => return Err(HoldBackError::Claimed { major, minor }),
                Err(errno) => return Err(failed(errno.into())),
            }
        }
        Ok(claims)
    }
}

impl Drop for DiskClaims {
    fn drop(&mut self) {
        // Closing is not enough: a process that another thread is just starting has the file too,
        // until it becomes the program that it is to be.
        for file in &self.0 {
            let _ = flock(file, FlockOperation::Unlock);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_claim_ends_although_another_process_still_has_its_file() {
        let directory = tempfile::tempdir().unwrap();
        let take = || DiskClaims::take(directory.path(), [(8, 16)].into_iter());
        let first = take().unwrap();
        // As a process has it that was just made by another thread.
        let inherited = first.0[0].try_clone().unwrap();
        assert!(matches!(take(), Err(HoldBackError::Claimed { .. })));
        drop(first);
        assert!(take().is_ok());
        drop(inherited);
    }
}
