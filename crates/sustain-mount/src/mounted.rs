//! A mounted store: from the mount to its end, whoever unmounts it.

use std::io;
use std::mem::{forget, replace};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use fuser::{Config, MountOption, Session};
use rustix::fs::{AtFlags, CWD, StatxFlags, statx};
use rustix::io::Errno;
use rustix::mount::{UnmountFlags, unmount};
use rustix::process::{getgid, getuid};
use sustain_disk::units::Size;
use sustain_record::store::Store;
use sustain_targets::Stop;

use crate::attributes::MountOwner;
use crate::contents::MountContents;
use crate::error::MountError;
use crate::file_system::RecordingFiles;
use crate::plan::MountPlan;
use crate::point;

/// The least size of the files that a stream is split into.
pub const SPLIT_BYTES_MIN: u64 = 1_000_000;
/// Threads that answer the kernel. Some may wait for a disk while others go on.
const THREADS: usize = 8;
/// What the kernel reads ahead of who reads a file in order, where this user may set it.
const READ_AHEAD_KIB: u32 = 2048;
/// A wish to end is heeded within this time.
const HEED_EVERY: Duration = Duration::from_millis(100);
/// What unmounts for users other than root.
const HELPER: &str = "fusermount3";

/// A store that is mounted. It is unmounted when this is dropped.
pub struct MountedStore {
    directory: PathBuf,
    /// The mount's device number, which no other mount has as long as this one is open.
    device: Option<(u32, u32)>,
    ended: Receiver<io::Result<()>>,
    is_mounted: bool,
}

/// How unmounting went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Unmounted {
    Whole,
    /// The mount is gone from its directory. Files that are open stay readable until they are
    /// closed.
    Detached,
}

/// Checks a plan, before the store is opened.
///
/// # Errors
/// [`MountError::Refused`], with what to do.
pub fn check(plan: &MountPlan) -> Result<PathBuf, MountError> {
    if let Some(split_bytes) = plan.split_bytes.filter(|size| *size < SPLIT_BYTES_MIN) {
        return Err(MountError::Refused(format!(
            "streams cannot be split into files of {split_bytes} bytes: take at least {}",
            Size(SPLIT_BYTES_MIN)
        )));
    }
    let directory = point::check(&plan.directory, &plan.members)?;
    point::check_machine()?;
    Ok(directory)
}

/// Mounts an open store. `say` is told what cannot be returned to who reads a file.
///
/// # Errors
/// [`MountError`], if it is not mounted.
pub fn mount(plan: &MountPlan, store: Store, say: fn(&str)) -> Result<MountedStore, MountError> {
    let directory = check(plan)?;
    let owner = MountOwner {
        user: getuid().as_raw(),
        group: getgid().as_raw(),
    };
    let contents = MountContents::open(store, plan.losses, plan.split_bytes, owner)?;
    let mut config = Config::default();
    config.mount_options = vec![
        MountOption::RO,
        MountOption::NoSuid,
        MountOption::NoDev,
        MountOption::NoExec,
        MountOption::DefaultPermissions,
        MountOption::FSName("sustain".to_owned()),
        MountOption::Subtype("sustain".to_owned()),
    ];
    config.n_threads = Some(THREADS);
    config.clone_fd = true;
    let files = RecordingFiles::new(contents, say);
    let session = Session::new(files, &directory, &config)
        .map_err(|error| point::failed(&plan.directory, error))?;
    let (sender, ended) = channel();
    let started = std::thread::Builder::new()
        .name("mount".to_owned())
        .spawn(move || {
            // Nobody waits for it any more if that fails.
            let _ = sender.send(run(session));
        });
    started.map_err(|error| MountError::Failed {
        what: "cannot start a thread: is the limit on tasks reached (ulimit -u)?".to_owned(),
        error,
    })?;
    let device = device_at(&directory);
    read_far_ahead(device);
    Ok(MountedStore {
        directory,
        device,
        ended,
        is_mounted: true,
    })
}

/// Serves until the mount is gone. Unmounting is left to [`take_away`]: fuser 0.18.0 unmounts its
/// directory once more when the mount was taken from it by somebody else, and whatever has been
/// mounted there since would be gone (its pull request 703 mends that). So its handle of the mount
/// is not dropped.
fn run(session: Session<RecordingFiles>) -> io::Result<()> {
    let mut background = session.spawn()?;
    let guard = replace(&mut background.guard, std::thread::spawn(|| Ok(())));
    forget(background);
    guard
        .join()
        .unwrap_or_else(|_panic| Err(io::Error::other("its thread has ended")))
}

impl MountedStore {
    /// Where it is mounted.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Serves until somebody unmounts it, or until `stop` says so. Then it is unmounted here; if
    /// files are open, it goes on for them until they are closed, and `say` is told.
    ///
    /// # Errors
    /// [`MountError::Failed`] if the kernel or the unmounting fails.
    pub fn serve(mut self, stop: &Stop, say: fn(&str)) -> Result<(), MountError> {
        let failed = |what: String| move |error| MountError::Failed { what, error };
        let name = self.directory.display().to_string();
        let mut is_unmounted = false;
        loop {
            match self.ended.recv_timeout(HEED_EVERY) {
                Ok(ended) => {
                    let ended = or_taken_away(ended);
                    self.is_mounted = ended.is_err();
                    return ended.map_err(failed(format!("the mount at {name} has failed")));
                }
                Err(RecvTimeoutError::Disconnected) => {
                    let error = io::Error::other("its thread has ended");
                    return Err(failed(format!("the mount at {name} has failed"))(error));
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
            if is_unmounted || stop.reason().is_none() {
                continue;
            }
            is_unmounted = true;
            let what = format!("cannot unmount {name}");
            if self.take_away().map_err(failed(what))? == Unmounted::Detached {
                say(&format!(
                    "files of {name} are open: it is unmounted for everybody else, and this ends \
                     when they are closed; a second Ctrl-C ends it at once, and reading them fails"
                ));
            }
        }
    }

    /// Unmounts the directory, unless somebody has done so, and may have mounted something else
    /// there.
    fn take_away(&self) -> io::Result<Unmounted> {
        match device_at(&self.directory) == self.device {
            true => take_away(&self.directory),
            false => Ok(Unmounted::Detached),
        }
    }
}

impl Drop for MountedStore {
    fn drop(&mut self) {
        if self.is_mounted {
            // If somebody has unmounted it just now, that is fine.
            let _ = self.take_away();
        }
    }
}

/// A connection that the kernel has broken off is an end that somebody wanted: of the last file of
/// a mount that was taken away before, or by `umount -f`.
fn or_taken_away(ended: io::Result<()>) -> io::Result<()> {
    let is_broken_off =
        |error: &io::Error| error.raw_os_error() == Some(Errno::CONNABORTED.raw_os_error());
    match ended {
        Err(error) if is_broken_off(&error) => Ok(()),
        ended => ended,
    }
}

/// Unmounts a directory: at once, or, while files are open, from everybody but these.
fn take_away(directory: &Path) -> io::Result<Unmounted> {
    match unmount(directory, UnmountFlags::NOFOLLOW) {
        Ok(()) => Ok(Unmounted::Whole),
        Err(Errno::BUSY) => {
            unmount(directory, UnmountFlags::NOFOLLOW | UnmountFlags::DETACH)?;
            Ok(Unmounted::Detached)
        }
        Err(Errno::PERM) => help(directory, &["-u"])
            .map(|()| Unmounted::Whole)
            .or_else(|_| help(directory, &["-u", "-z"]).map(|()| Unmounted::Detached)),
        Err(errno) => Err(errno.into()),
    }
}

/// Unmounts with the helper.
fn help(directory: &Path, flags: &[&str]) -> io::Result<()> {
    let output = Command::new(HELPER)
        .args(flags)
        .arg("--")
        .arg(directory)
        .output()?;
    if output.status.success() {
        return Ok(());
    }
    let words = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    Err(io::Error::other(words))
}

/// The device number of what is mounted at a directory, or of the directory. A mount of which the
/// program is dead or busy tells it, too.
fn device_at(directory: &Path) -> Option<(u32, u32)> {
    let flags = AtFlags::STATX_DONT_SYNC;
    let found = statx(CWD, directory, flags, StatxFlags::BASIC_STATS).ok()?;
    Some((found.stx_dev_major, found.stx_dev_minor))
}

/// Lets the kernel read far ahead in this mount, and in no other. Only root may set that; without
/// it, reading in order is slower.
fn read_far_ahead(device: Option<(u32, u32)>) {
    let Some((major, minor)) = device else { return };
    let setting = format!("/sys/class/bdi/{major}:{minor}/read_ahead_kb");
    let _ = std::fs::write(setting, READ_AHEAD_KIB.to_string());
}
