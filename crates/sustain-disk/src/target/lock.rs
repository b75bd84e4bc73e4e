//! The lock on what is written: a recorder and a measurement, or two of either, never write to one
//! file at once. It lies on the descriptor that is written through, so it counts under every name of
//! the file, and it is taken before the guard is asked. Readers only look whether it is there.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use crate::clock::Clock;

/// The kernel keeps the files of a process that was killed for a moment.
const ATTEMPTS: u32 = 10;
const PAUSE_NS: u64 = 50_000_000;

/// Keeps others that write off a file or device, until the last who shares it is gone.
#[derive(Debug)]
pub struct WriteLock(Arc<OwnedFd>);

/// Why there is no lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NoLock {
    /// Someone else writes.
    Taken,
    /// The file system knows none.
    Unknown,
}

impl WriteLock {
    pub(super) fn take(file: &Arc<OwnedFd>) -> Result<WriteLock, NoLock> {
        let clock = Clock::Real;
        for attempt in 1.. {
            match flock(file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => break,
                Err(Errno::WOULDBLOCK) if attempt < ATTEMPTS => {
                    clock.wait_until(clock.now() + PAUSE_NS);
                }
                Err(Errno::WOULDBLOCK) => return Err(NoLock::Taken),
                Err(_) => return Err(NoLock::Unknown),
            }
        }
        Ok(WriteLock(Arc::clone(file)))
    }
}

impl Drop for WriteLock {
    fn drop(&mut self) {
        // The file itself may stay open a while longer in the kernel's hands.
        let _ = flock(&self.0, FlockOperation::Unlock);
    }
}

/// Whether someone holds the lock by which what is written is kept. To look, it is shared for a
/// moment; who wants it for himself in that moment tries again.
pub fn is_being_written(file: impl AsFd) -> bool {
    match flock(&file, FlockOperation::NonBlockingLockShared) {
        Ok(()) => {
            let _ = flock(&file, FlockOperation::Unlock);
            false
        }
        Err(errno) => errno == Errno::WOULDBLOCK,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open(path: &std::path::Path) -> Arc<OwnedFd> {
        let file = std::fs::File::options().read(true).write(true).open(path);
        Arc::new(file.unwrap().into())
    }

    #[test]
    fn a_file_is_locked_under_every_name_until_the_lock_goes() {
        let directory = tempfile::tempdir().unwrap();
        let (one, other) = (directory.path().join("one"), directory.path().join("other"));
        std::fs::write(&one, "x").unwrap();
        std::fs::hard_link(&one, &other).unwrap();
        let (writer, second) = (open(&one), open(&other));
        assert!(!is_being_written(&second));
        let lock = WriteLock::take(&writer).unwrap();
        assert!(is_being_written(&second));
        assert_eq!(WriteLock::take(&second).unwrap_err(), NoLock::Taken);
        // As the kernel may keep it open: the lock goes all the same.
        let kept = Arc::clone(&writer);
        drop(lock);
        assert!(!is_being_written(&second));
        WriteLock::take(&second).unwrap();
        drop(kept);
    }

    #[test]
    fn who_looks_does_not_lock() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let (one, other) = (open(file.path()), open(file.path()));
        assert!(!is_being_written(&one));
        WriteLock::take(&other).unwrap();
    }
}
