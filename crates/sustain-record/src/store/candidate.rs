//! What is named as a member, before it is known to be one: where it lies, and the lock on it.

use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::Arc;

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use sustain_disk::clock::Clock;
use sustain_disk::target::{Direction, Target, TargetKind};
use sustain_host::Roots;
use sustain_session::{TargetName, check_distinct};

use super::FILE_NAME;
use crate::error::RecordError;

const LOCK_ATTEMPTS: u32 = 10;
const LOCK_PAUSE_NS: u64 = 50_000_000;

/// Something in the file system that is named as a member.
pub(super) struct Candidate<'a> {
    /// As typed.
    pub(super) name: &'a str,
    /// Where it lies; of a directory the member's file in it.
    pub(super) path: PathBuf,
}

/// Finds out what each name means, and that no two mean the same.
///
/// # Errors
/// [`RecordError::Usage`], naming the first that cannot be a member.
pub(super) fn candidates<'a>(
    typed: &'a [String],
    direction: Direction,
    roots: &Roots,
) -> Result<Vec<Candidate<'a>>, RecordError> {
    if typed.is_empty() {
        return Err(RecordError::Usage(
            "no member is named: name block devices, files or directories".to_owned(),
        ));
    }
    let mut found = Vec::new();
    for name in typed {
        let path = match TargetName::parse(name)? {
            TargetName::Path(path) if path.is_dir() => path.join(FILE_NAME),
            TargetName::Path(path) => path,
            TargetName::Null | TargetName::Simulated { .. } => {
                return Err(RecordError::Usage(format!(
                    "{name} keeps nothing of what is written: name block devices, files or \
                     directories"
                )));
            }
        };
        found.push(Candidate { name, path });
    }
    let names: Vec<TargetName> = found
        .iter()
        .map(|candidate| TargetName::Path(candidate.path.clone()))
        .collect();
    check_distinct(typed, &names, direction, roots)?;
    Ok(found)
}

/// Keeps other recorders off a file, as the exclusive claim does with a device, until it is dropped.
#[derive(Debug)]
pub(super) struct Lock(Arc<OwnedFd>);

impl Lock {
    /// Locks a member that is a file; others need no lock.
    ///
    /// # Errors
    /// [`RecordError::Member`] if another has it, or the file system knows no locks.
    pub(super) fn take(target: &Target) -> Result<Option<Lock>, RecordError> {
        let (TargetKind::File, Some(file)) = (target.kind, &target.file) else {
            return Ok(None);
        };
        for _ in 0..LOCK_ATTEMPTS {
            match flock(file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => return Ok(Some(Lock(Arc::clone(file)))),
                // The kernel keeps the files of a recorder that was killed for a moment.
                Err(Errno::WOULDBLOCK) => {
                    let clock = Clock::Real;
                    clock.wait_until(clock.now() + LOCK_PAUSE_NS);
                }
                Err(errno) => {
                    let why = format!(
                        "it cannot be locked against other recorders: {errno}; use another file \
                         system"
                    );
                    return Err(RecordError::member(&target.name, why));
                }
            }
        }
        let why = "another recorder has this store: wait for it to end, or use another store";
        Err(RecordError::member(&target.name, why))
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // The file itself may stay open a while longer in the kernel's hands.
        let _ = flock(&self.0, FlockOperation::Unlock);
    }
}
