//! Targets: block devices, files, scratch files, `null:` and simulated disks.

mod alignment;
mod kernel_files;
mod lock;
mod lock_holder;
mod open;
mod passthrough;

use std::os::fd::{BorrowedFd, OwnedFd};
use std::path::Path;
use std::sync::Arc;

use rustix::fs::{OFlags, Stat, fcntl_getfl, fcntl_setfl};

pub use lock::{WriteLock, is_being_written};
pub use open::{OpenRequest, being_written, no_directory, open_dummy, open_null, open_path};
pub use passthrough::{
    GenericDevice, NvmeNamespace, PASSED_THROUGH, Passthrough, PassthroughPlace, ScsiDisk,
    ScsiFacts,
};
pub use sustain_document::vocabulary::{DataPath, Direction, TargetKind};

use crate::error::Error;

/// An open target.
#[derive(Debug, Clone)]
pub struct Target {
    /// The name as typed; for a simulated disk, the disk's name.
    pub name: String,
    /// Its kind.
    pub kind: TargetKind,
    /// The open file; simulated disks have none.
    pub file: Option<Arc<OwnedFd>>,
    /// Its size; `None` for `null:` and for files that grow as they are written.
    pub capacity_bytes: Option<u64>,
    /// Offsets and lengths must be multiples of this.
    pub alignment_bytes: u32,
    /// The device it is (block devices) or lies on (files), as major and minor number.
    pub device: Option<(u32, u32)>,
    /// The lock that keeps other writers off, as long as this target or a clone of it lives. `None`
    /// for targets that are only read, for those that nobody else can open, and if the file system
    /// does not support locks.
    pub lock: Option<Arc<WriteLock>>,
}

impl Target {
    /// Whether its bytes go through the page cache. Simulated disks have none.
    pub fn is_cached(&self) -> bool {
        let flags = self.file.as_ref().map(fcntl_getfl);
        flags.is_some_and(|flags| !flags.is_ok_and(|flags| flags.contains(OFlags::DIRECT)))
    }

    /// Closes it, unless a clone has it open: then the claim on a device and the lock end.
    pub fn let_go(&mut self) {
        self.lock = None;
        self.file = None;
    }

    /// Switches later requests to direct or buffered I/O on the same open file, so that its blocks,
    /// its place and the claim on a device stay. It should have been opened for direct I/O before,
    /// so that sizes suit both. Targets that are no file stay as they are, and so do all for
    /// passthrough, which uses no file.
    ///
    /// # Errors
    /// [`Error::Target`] if the file system refuses direct I/O.
    pub fn switch_path(&self, path: DataPath) -> Result<(), Error> {
        let (TargetKind::BlockDevice | TargetKind::File | TargetKind::ScratchFile, Some(file)) =
            (self.kind, &self.file)
        else {
            return Ok(());
        };
        if path == DataPath::Passthrough {
            return Ok(());
        }
        let switched = fcntl_getfl(file).and_then(|mut flags| {
            flags.set(OFlags::DIRECT, path == DataPath::Direct);
            fcntl_setfl(file, flags)
        });
        switched.map_err(|errno| {
            let why = format!("cannot be switched between direct and buffered: {errno}");
            Error::target(&self.name, why)
        })
    }
}

/// A target as the guard sees it before it may be written: the descriptor that will be written
/// through, if the guard agrees.
#[derive(Debug)]
pub struct WriteCandidate<'a> {
    /// The target's name as typed.
    pub name: &'a str,
    /// Its path.
    pub path: &'a Path,
    /// The open descriptor.
    pub descriptor: BorrowedFd<'a>,
    /// The kernel's status of the descriptor.
    pub stat: &'a Stat,
    /// Whether the exclusive claim on a block device failed because someone else has it.
    pub claimed_by_other: bool,
}

/// A function that decides whether an existing file or device may be written. It returns the reason
/// if not.
pub type Guard<'a> = dyn FnMut(&WriteCandidate<'_>) -> Result<(), String> + 'a;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_block_device_has_no_passthrough() {
        let directory = tempfile::tempdir().unwrap();
        let request = OpenRequest {
            direction: Direction::Write,
            path: DataPath::Passthrough,
            create: true,
        };
        for place in [directory.path().to_owned(), directory.path().join("new")] {
            let refused = open_path("typed", &place, request, &mut |_| Ok(())).unwrap_err();
            let refused = refused.to_string();
            assert!(refused.contains(PASSED_THROUGH), "{refused}");
        }
        assert!(std::fs::read_dir(&directory).unwrap().next().is_none());
    }

    #[test]
    fn a_target_is_switched_between_both_paths() {
        let directory = tempfile::tempdir_in(".").unwrap();
        let request = OpenRequest {
            direction: Direction::Write,
            path: DataPath::Buffered,
            create: false,
        };
        let scratch = open_path("here", directory.path(), request, &mut |_| Ok(())).unwrap();
        let is_direct = |target: &Target| {
            let file = target.file.as_ref().unwrap();
            fcntl_getfl(file).unwrap().contains(OFlags::DIRECT)
        };
        // Some file systems have no direct I/O; then nothing may change.
        let direct = scratch.switch_path(DataPath::Direct);
        assert_eq!(direct.is_ok(), is_direct(&scratch));
        assert_eq!(scratch.is_cached(), direct.is_err());
        scratch.switch_path(DataPath::Passthrough).unwrap();
        assert_eq!(direct.is_ok(), is_direct(&scratch));
        scratch.switch_path(DataPath::Buffered).unwrap();
        assert!(!is_direct(&scratch));
        let null = open_null("null:").unwrap();
        null.switch_path(DataPath::Direct).unwrap();
        assert!(!is_direct(&null));
    }
}
