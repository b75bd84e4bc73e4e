//! The lock on files and devices that are written: a recorder and a measurement, or two of either,
//! never write to one file at once. The lock is on the descriptor that is written through, so it
//! counts under every name of the file, and it is taken before the guard is asked. Readers only
//! check whether it is there.

use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::sync::Arc;

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use super::lock_holder::{LockHolder, holder_of};
use crate::clock::Clock;

/// The kernel keeps the files of a process that was killed open until its requests have ended,
/// which takes some time on a slow disk.
pub(super) const PATIENCE_NS: u64 = 2_000_000_000;
const PAUSE_NS: u64 = 20_000_000;
/// A holder that the kernel does not show is waited for no longer than one that only looks whether
/// there is a lock.
const UNSEEN_PATIENCE_NS: u64 = 200_000_000;
const PROCFS: &str = "/proc";

/// Keeps other writers off a file or device, until the last owner of this lock is gone.
#[derive(Debug)]
pub struct WriteLock {
    file: Arc<OwnedFd>,
    waited_ns: u64,
}

/// The reason why there is no lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NoLock {
    /// Another program writes.
    Taken,
    /// The file system does not support locks.
    Unknown,
}

impl WriteLock {
    pub(super) fn take(file: &Arc<OwnedFd>) -> Result<WriteLock, NoLock> {
        let may_wait = |waited_ns| is_waited_for(file, waited_ns);
        let lock = || flock(file, FlockOperation::NonBlockingLockExclusive);
        let locked = patiently(&Clock::Real, PATIENCE_NS, Errno::WOULDBLOCK, may_wait, lock);
        match locked {
            Ok(((), waited_ns)) => Ok(WriteLock {
                file: Arc::clone(file),
                waited_ns,
            }),
            Err(Errno::WOULDBLOCK) => Err(NoLock::Taken),
            Err(_) => Err(NoLock::Unknown),
        }
    }

    /// How long another owner still held it.
    pub fn waited_ns(&self) -> u64 {
        self.waited_ns
    }

    pub(super) fn add_waited(&mut self, waited_ns: u64) {
        self.waited_ns += waited_ns;
    }
}

/// Whether someone who has a lock is waited for: not one that lives and may write.
pub(super) fn is_waited_for(file: impl AsFd, waited_ns: u64) -> bool {
    match holder_of(file, Path::new(PROCFS)) {
        LockHolder::Alive => false,
        LockHolder::Harmless => true,
        LockHolder::Unseen => waited_ns < UNSEEN_PATIENCE_NS,
    }
}

/// Tries again for a while if the result is an error that counts as `busy`, as long as `may_wait`
/// says so. Returns the last result, and how long it took.
pub(super) fn patiently<T>(
    clock: &Clock,
    patience_ns: u64,
    busy: Errno,
    mut may_wait: impl FnMut(u64) -> bool,
    mut attempt: impl FnMut() -> Result<T, Errno>,
) -> Result<(T, u64), Errno> {
    let start = clock.now();
    loop {
        let waited_ns = clock.now().since_ns(start);
        match attempt() {
            Err(errno) if errno == busy && waited_ns < patience_ns && may_wait(waited_ns) => {
                clock.wait_until(clock.now() + PAUSE_NS);
            }
            other => return other.map(|done| (done, waited_ns)),
        }
    }
}

impl Drop for WriteLock {
    fn drop(&mut self) {
        // The kernel may still keep the file itself open for a while.
        let _ = flock(&self.file, FlockOperation::Unlock);
    }
}

/// Whether someone holds the lock that protects what is written. To check, the lock is shared for a
/// moment; a program that wants it exclusively in that moment tries again.
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
    use sustain_testing::{Requirement, skip};

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
        // The kernel may keep the file open: the lock is released nevertheless.
        let kept = Arc::clone(&writer);
        drop(lock);
        assert!(!is_being_written(&second));
        WriteLock::take(&second).unwrap();
        drop(kept);
    }

    #[test]
    fn what_a_killed_process_still_holds_is_waited_for_and_no_longer() {
        for (held_ns, is_got) in [(0, true), (1_900_000_000, true), (2_100_000_000, false)] {
            let clock = Clock::simulated();
            let start = clock.now();
            let attempt = || {
                if clock.now().since_ns(start) < held_ns {
                    return Err(Errno::WOULDBLOCK);
                }
                Ok(())
            };
            let taken = patiently(&clock, PATIENCE_NS, Errno::WOULDBLOCK, |_| true, attempt);
            let waited_ns = clock.now().since_ns(start);
            assert_eq!(taken.is_ok(), is_got, "held for {held_ns} ns");
            assert!(waited_ns <= PATIENCE_NS + PAUSE_NS);
            if let Ok(((), told_ns)) = taken {
                assert_eq!(told_ns, waited_ns);
            }
        }
        let unlike = || Err::<(), Errno>(Errno::NOLCK);
        let clock = Clock::simulated();
        let other = patiently(&clock, PATIENCE_NS, Errno::BUSY, |_| true, unlike);
        assert_eq!(other, Err(Errno::NOLCK));
    }

    #[test]
    fn a_process_that_lives_is_not_waited_for() {
        use std::io::Read;
        use std::process::{Command, Stdio};

        let file = tempfile::NamedTempFile::new().unwrap();
        let opened = open(file.path());
        let mut holder = Command::new("flock");
        holder.arg("-x").arg(file.path());
        holder.args(["sh", "-c", "echo locked; exec cat"]);
        let holder = holder.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let mut holder = match holder {
            Ok(holder) => holder,
            Err(error) => return skip(Requirement::Program("flock"), error),
        };
        let mut said = [0; 7];
        let mut output = holder.stdout.take().unwrap();
        output.read_exact(&mut said).unwrap();
        assert!(is_being_written(&opened));
        assert!(!is_waited_for(&opened, 0));
        assert_eq!(WriteLock::take(&opened).unwrap_err(), NoLock::Taken);
        drop(holder.stdin.take());
        assert!(holder.wait().unwrap().success());
        WriteLock::take(&opened).unwrap();
    }

    #[test]
    fn who_looks_does_not_lock() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let (one, other) = (open(file.path()), open(file.path()));
        assert!(!is_being_written(&one));
        WriteLock::take(&other).unwrap();
    }
}
