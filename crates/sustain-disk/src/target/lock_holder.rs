//! Who holds the lock on a file, by what the kernel tells of locks and processes. A process that
//! was killed holds its locks until its requests have ended, and is waited for. One that lives may
//! still write, and what it has written until it ends must not be overwritten a moment later.

use std::os::fd::AsFd;
use std::path::Path;

use rustix::fs::fstat;

/// The kernel's flag of a process that is ending (PF_EXITING).
const FLAG_EXITING: u64 = 4;
/// The bit of SIGKILL among the signals that a process has pending.
const PENDING_KILL: u64 = 1 << 8;

/// Who holds the lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LockHolder {
    /// Another process, which lives, so that the file may still be written.
    Alive,
    /// Nobody who will write: a process that was killed or is ending, this one, or one that reads.
    Harmless,
    /// Not told: it has just let go, or the kernel does not show it, as in a container.
    Unseen,
}

/// The process that has locked the file exclusively. `procfs` is where the kernel tells of it.
pub(super) fn holder_of(file: impl AsFd, procfs: &Path) -> LockHolder {
    let (Ok(found), Ok(locks)) = (fstat(file), std::fs::read_to_string(procfs.join("locks")))
    else {
        return LockHolder::Unseen;
    };
    let mut holder = LockHolder::Unseen;
    for lock in locks.lines().filter_map(|line| lock_in(line, found.st_ino)) {
        match lock {
            FileLock::Exclusive { pid } if may_write(pid, procfs) => return LockHolder::Alive,
            FileLock::Exclusive { .. } | FileLock::Shared => holder = LockHolder::Harmless,
        }
    }
    holder
}

/// A lock on a file.
enum FileLock {
    Exclusive { pid: u32 },
    Shared,
}

/// The lock of a line such as `1: FLOCK  ADVISORY  WRITE 4711 08:01:1234 0 EOF`, if it is on this
/// inode. The device is not compared: some file systems (btrfs, overlayfs) show one number there
/// and another one to `fstat`.
fn lock_in(line: &str, inode: u64) -> Option<FileLock> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let &[_, "FLOCK", _, access, pid, place, ..] = words.as_slice() else {
        return None;
    };
    if place.rsplit(':').next()?.parse() != Ok(inode) {
        return None;
    }
    match access {
        "WRITE" => Some(FileLock::Exclusive {
            pid: pid.parse().ok()?,
        }),
        _ => Some(FileLock::Shared),
    }
}

/// Whether this is another process, and goes on.
fn may_write(pid: u32, procfs: &Path) -> bool {
    pid != std::process::id() && !is_ending(pid, procfs).unwrap_or(true)
}

/// Whether a process has ended or will without another instruction; `None` if it is gone.
fn is_ending(pid: u32, procfs: &Path) -> Option<bool> {
    let folder = procfs.join(pid.to_string());
    let stat = std::fs::read_to_string(folder.join("stat")).ok()?;
    let status = std::fs::read_to_string(folder.join("status")).ok()?;
    // The name of the program comes before, in parentheses, and may hold anything.
    let mut fields = stat.rsplit(')').next()?.split_whitespace();
    let is_dead = matches!(fields.next()?, "Z" | "X" | "x");
    let flags: u64 = fields.nth(5)?.parse().ok()?;
    let mut pending = status.lines().filter_map(|line| {
        let signals = line
            .strip_prefix("SigPnd:")
            .or_else(|| line.strip_prefix("ShdPnd:"))?;
        u64::from_str_radix(signals.trim(), 16).ok()
    });
    let is_killed = pending.any(|signals| signals & PENDING_KILL != 0);
    Some(is_dead || is_killed || flags & FLAG_EXITING != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the kernel would tell if these processes were there, one of which has the lock.
    fn told(lock: &str, pid: u32, state: &str, flags: u64, pending: u64) -> LockHolder {
        let procfs = tempfile::tempdir().unwrap();
        let file = tempfile::tempfile().unwrap();
        let inode = fstat(&file).unwrap().st_ino;
        let line = format!("1: FLOCK  ADVISORY  {lock} {pid} 00:1f:{inode} 0 EOF\n");
        std::fs::write(procfs.path().join("locks"), line).unwrap();
        let folder = procfs.path().join("4711");
        std::fs::create_dir(&folder).unwrap();
        let stat = format!("4711 (a ) b) {state} 1 2 3 4 5 {flags} 7");
        std::fs::write(folder.join("stat"), stat).unwrap();
        let status = format!("Name:\ta\nSigPnd:\t{pending:016x}\nShdPnd:\t{:016x}\n", 0);
        std::fs::write(folder.join("status"), status).unwrap();
        holder_of(&file, procfs.path())
    }

    #[test]
    fn a_process_that_lives_is_told_from_one_that_was_killed() {
        use LockHolder::{Alive, Harmless, Unseen};
        let cases = [
            ("WRITE", 4711, "S", 0, 0, Alive),
            ("WRITE", 4711, "D", 0x40, 1, Alive),
            ("WRITE", 4711, "D", 0x40, PENDING_KILL, Harmless),
            ("WRITE", 4711, "D", FLAG_EXITING, 0, Harmless),
            ("WRITE", 4711, "Z", 0, 0, Harmless),
            ("WRITE", 4712, "S", 0, 0, Harmless),
            ("WRITE", std::process::id(), "S", 0, 0, Harmless),
            ("READ", 4711, "S", 0, 0, Harmless),
        ];
        for (lock, pid, state, flags, pending, expected) in cases {
            let holder = told(lock, pid, state, flags, pending);
            assert_eq!(holder, expected, "{lock} {pid} {state} {flags} {pending}");
        }
        let file = tempfile::tempfile().unwrap();
        assert_eq!(holder_of(&file, Path::new("/no-such-place")), Unseen);
    }
}
