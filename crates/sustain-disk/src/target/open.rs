//! Opens what the user named, and nothing that the guard has not seen: the descriptor that passed
//! the guard is the same one that is written through.

use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{
    FileType, Mode, OFlags, SeekFrom, Stat, fstat, major, minor, open, openat, seek, stat, unlink,
};
use rustix::io::Errno;
use sustain_document::setting::{PATH, READ};

use super::alignment::{self, Alignment};
use super::kernel_files::kernel_file_system;
use super::lock::{NoLock, PATIENCE_NS, WriteLock, is_being_written, is_waited_for, patiently};
use super::{DataPath, Direction, Guard, PASSED_THROUGH, Target, TargetKind, WriteCandidate};
use crate::clock::Clock;
use crate::error::Error;

/// How long claiming a claimed device is tried again; a mounted one is refused after that.
const CLAIM_PATIENCE_NS: u64 = 400_000_000;

/// The request to open a path.
#[derive(Debug, Clone, Copy)]
pub struct OpenRequest {
    /// Whether it will be written.
    pub direction: Direction,
    /// The I/O path.
    pub path: DataPath,
    /// Whether a path that does not exist may be created as a file.
    pub create: bool,
}

/// Opens the device, file or directory at `path`; `name` is what errors call it.
///
/// A directory yields a scratch file in it. A target that will be written is locked against other
/// writers; before an existing file or device may be written, `guard` is called.
///
/// # Errors
/// [`Error::Refused`] if the guard refuses, or if someone else writes there or has claimed the
/// device; [`Error::Target`] for everything else. Each says what to do.
pub fn open_path(
    name: &str,
    path: &Path,
    request: OpenRequest,
    guard: &mut Guard<'_>,
) -> Result<Target, Error> {
    let through = request.path == DataPath::Passthrough;
    if let Some(kind) = kernel_file_system(path) {
        let why = format!(
            "it is on a file system of the kernel itself ({kind}), which keeps nothing on a disk: \
             name a block device, or a file or directory on a disk"
        );
        return Err(Error::target(name, why));
    }
    let found = match stat(path) {
        Ok(found) => found,
        Err(Errno::NOENT) if request.create && !through => {
            return create_file(name, path, request);
        }
        Err(Errno::NOENT) if request.create => {
            return Err(no_commands(name, "would be a new file"));
        }
        Err(errno) => return Err(Error::target(name, unreachable_path(errno))),
    };
    match FileType::from_raw_mode(found.st_mode) {
        FileType::RegularFile if through => Err(no_commands(name, "is a file")),
        FileType::Directory if through => Err(no_commands(name, "is a directory")),
        FileType::BlockDevice => open_block_device(name, path, request, guard),
        FileType::RegularFile => open_file(name, path, request, guard),
        FileType::Directory => open_scratch(name, path, request),
        other => Err(Error::target(name, not_a_disk(other))),
    }
}

fn no_commands(name: &str, what: &str) -> Error {
    let why = format!(
        "passthrough needs {PASSED_THROUGH}, and this {what}: name the disk (/dev/nvme0n1, \
         /dev/sda), or use {}",
        PATH.to("direct")
    );
    Error::target(name, why)
}

fn unreachable_path(errno: Errno) -> String {
    match errno {
        Errno::NOENT => "there is nothing of that name; check the path".to_owned(),
        Errno::ACCESS => {
            "permission denied on the path to it; run as a user who may access it".to_owned()
        }
        other => format!("cannot be looked at: {other}"),
    }
}

fn not_a_disk(kind: FileType) -> String {
    let kind = match kind {
        FileType::CharacterDevice => "a character device",
        FileType::Fifo => "a FIFO (named pipe)",
        FileType::Socket => "a socket",
        _ => "neither a disk nor a file",
    };
    format!("it is {kind}; name a block device, a file or a directory")
}

fn flags(request: OpenRequest) -> OFlags {
    let mut flags = OFlags::CLOEXEC;
    // Reading is needed to look for existing content.
    flags |= match request.direction {
        Direction::Read => OFlags::RDONLY,
        Direction::Write => OFlags::RDWR,
    };
    if request.path != DataPath::Buffered {
        flags |= OFlags::DIRECT;
    }
    flags
}

fn open_error(name: &str, request: OpenRequest, errno: Errno) -> Error {
    let why = match errno {
        Errno::INVAL if request.path == DataPath::Direct => {
            let buffered = PATH.to("buffered");
            format!(
                "its file system refuses direct I/O; use {buffered}, or a place on another file \
                 system"
            )
        }
        Errno::ACCESS => {
            "permission denied; run as a user who may open it, or choose another place".to_owned()
        }
        // The rights of its file are not in the way: those are EACCES.
        Errno::PERM => "the kernel does not let even root open it: a container may not open this \
                        device, or the file is immutable; run outside of the container, or choose \
                        another place"
            .to_owned(),
        Errno::ROFS if request.direction == Direction::Read => {
            "it is read-only, and what is read from must be written first; choose another place"
                .to_owned()
        }
        Errno::ROFS => format!("it is read-only; choose another place, or {}", READ.the()),
        Errno::NOSPC => "no space is left there; free some, or choose another place".to_owned(),
        Errno::TXTBSY => "it is a program or swap file in use; choose another".to_owned(),
        Errno::NOMEDIUM | Errno::NXIO => "there is no medium in it, or it is gone".to_owned(),
        other => format!("cannot be opened: {other}"),
    };
    Error::target(name, why)
}

fn open_block_device(
    name: &str,
    path: &Path,
    request: OpenRequest,
    guard: &mut Guard<'_>,
) -> Result<Target, Error> {
    let writing = request.direction == Direction::Write;
    // O_EXCL on a block device claims it: the kernel refuses while it is mounted or claimed, and
    // refuses others as long as this descriptor is open.
    let claim = if writing {
        OFlags::EXCL
    } else {
        OFlags::empty()
    };
    let (file, waited_ns) = match open_claimed(path, flags(request) | claim) {
        Ok(claimed) => claimed,
        Err(Errno::BUSY) if writing => return Err(refused_claim(name, path, guard)),
        Err(errno) => return Err(open_error(name, request, errno)),
    };
    let found = facts(name, &file)?;
    if FileType::from_raw_mode(found.st_mode) != FileType::BlockDevice {
        return Err(Error::target(
            name,
            "it changed while it was being opened; try again",
        ));
    }
    if writing {
        ask(name, path, &file, &found, false, guard)?;
    }
    let size = seek(&file, SeekFrom::End(0)).map_err(|errno| open_error(name, request, errno))?;
    if size == 0 {
        return Err(Error::target(name, "the device has no medium or no size"));
    }
    let mut target = finish(name, TargetKind::BlockDevice, file, request, Some(size))?;
    target.device = Some((major(found.st_rdev), minor(found.st_rdev)));
    if writing {
        // The claim keeps others off. The lock is for readers, and for programs that leave a locked
        // disk alone (udev); if someone holds it for a moment, the target has none.
        target.lock = lock_of(&target, waited_ns).ok();
    }
    Ok(target)
}

/// A claim outlives a process that was killed for a moment, because the kernel closes the files of
/// its io_uring only later. As long as the lock of such a writer is there, too, this waits longer;
/// one that lives is not waited for.
fn open_claimed(path: &Path, flags: OFlags) -> Result<(OwnedFd, u64), Errno> {
    let clock = Clock::Real;
    let claim = || open(path, flags, Mode::empty());
    let seen = || open(path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty());
    let may_wait = |waited_ns| match seen() {
        Ok(seen) if is_being_written(&seen) => is_waited_for(&seen, waited_ns),
        _ => waited_ns < CLAIM_PATIENCE_NS,
    };
    patiently(&clock, PATIENCE_NS, Errno::BUSY, may_wait, claim)
}

/// The device is claimed: this lets the guard find out by whom.
fn refused_claim(name: &str, path: &Path, guard: &mut Guard<'_>) -> Error {
    let seen = open(path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())
        .map_err(|errno| Error::target(name, format!("cannot be opened: {errno}")))
        .and_then(|file| {
            let found = facts(name, &file)?;
            ask(name, path, &file, &found, true, guard)
        });
    seen.err().unwrap_or_else(|| Error::Refused {
        target: name.to_owned(),
        why: "another program or the kernel has claimed it".to_owned(),
    })
}

fn open_file(
    name: &str,
    path: &Path,
    request: OpenRequest,
    guard: &mut Guard<'_>,
) -> Result<Target, Error> {
    let file = open(path, flags(request), Mode::empty())
        .map_err(|errno| open_error(name, request, errno))?;
    let found = facts(name, &file)?;
    if FileType::from_raw_mode(found.st_mode) != FileType::RegularFile {
        return Err(Error::target(
            name,
            "it changed while it was being opened; try again",
        ));
    }
    let size = Some(found.st_size as u64);
    if request.direction == Direction::Read {
        if found.st_size == 0 {
            let why = "the file is empty: there is nothing to read";
            return Err(Error::target(name, why));
        }
        return finish(name, TargetKind::File, file, request, size);
    }
    let target = locked(finish(name, TargetKind::File, file, request, size)?, path)?;
    if let Some(file) = &target.file {
        ask(name, path, file, &found, false, guard)?;
    }
    Ok(target)
}

/// A file that is locked against other writers. If the file system does not support locks, it has
/// none: a store is not recorded to there.
fn locked(mut target: Target, path: &Path) -> Result<Target, Error> {
    target.lock = match lock_of(&target, 0) {
        Ok(lock) => Some(lock),
        Err(NoLock::Unknown) => None,
        Err(NoLock::Taken) => {
            return Err(Error::Refused {
                why: being_written(path),
                target: target.name,
            });
        }
    };
    Ok(target)
}

/// The lock on a target that may have been waited for already.
fn lock_of(target: &Target, waited_ns: u64) -> Result<Arc<WriteLock>, NoLock> {
    let file = target.file.as_ref().ok_or(NoLock::Unknown)?;
    let mut lock = WriteLock::take(file)?;
    lock.add_waited(waited_ns);
    Ok(Arc::new(lock))
}

/// Says why a file or device to which another program writes is not written, in words that follow
/// its name.
pub fn being_written(path: &Path) -> String {
    format!(
        "it is being recorded to, or measured: another run of sustain writes to it. Wait for that \
         to end (`fuser -v {}` shows which it is), or name another file or device",
        path.display()
    )
}

/// Says which directory a path needs that is missing. A slash at its end names a directory itself.
pub fn no_directory(path: &Path) -> String {
    let named = path.as_os_str().as_encoded_bytes();
    let directory = match path.parent() {
        _ if named.ends_with(b"/") => path,
        Some(parent) if parent.as_os_str().is_empty() => Path::new("."),
        parent => parent.unwrap_or(path),
    };
    format!(
        "the directory {} does not exist: create it first",
        directory.display()
    )
}

fn create_file(name: &str, path: &Path, request: OpenRequest) -> Result<Target, Error> {
    let file = open(
        path,
        flags(request) | OFlags::CREATE | OFlags::EXCL,
        Mode::from(0o600),
    )
    .map_err(|errno| match errno {
        Errno::NOENT | Errno::ISDIR => Error::target(name, no_directory(path)),
        Errno::EXIST => {
            let why = "it is a symbolic link to a file that does not exist, or was made a moment \
                       ago; use another name";
            Error::target(name, why)
        }
        // Some file systems refuse direct I/O only after the file has been made.
        other => {
            if other == Errno::INVAL {
                let _ = unlink(path);
            }
            open_error(name, request, other)
        }
    })?;
    // Others let it be opened, and refuse the requests.
    let target = finish(name, TargetKind::File, file, request, None).inspect_err(|_| {
        let _ = unlink(path);
    })?;
    locked(target, path)
}

/// A file without a name in `directory`: it is gone when it is closed, even after SIGKILL.
fn open_scratch(name: &str, directory: &Path, request: OpenRequest) -> Result<Target, Error> {
    let writing = OpenRequest {
        direction: Direction::Write,
        ..request
    };
    let nameless = open(
        directory,
        flags(writing) | OFlags::TMPFILE,
        Mode::from(0o600),
    );
    let file = match nameless {
        Ok(file) => file,
        Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::NOENT) => {
            create_and_unlink(name, directory, writing)?
        }
        Err(errno) => return Err(open_error(name, request, errno)),
    };
    let mut target = finish(name, TargetKind::ScratchFile, file, request, None)?;
    // Nobody else can open it. A rehearsal learns from it whether a file there could be locked.
    target.lock = lock_of(&target, 0).ok();
    Ok(target)
}

/// This is for file systems without O_TMPFILE.
fn create_and_unlink(name: &str, directory: &Path, request: OpenRequest) -> Result<OwnedFd, Error> {
    let refused = |errno| open_error(name, request, errno);
    let folder = open(
        directory,
        OFlags::DIRECTORY | OFlags::CLOEXEC,
        Mode::empty(),
    )
    .map_err(refused)?;
    let scratch = PathBuf::from(format!(".sustain-scratch-{}", std::process::id()));
    let create = flags(request) | OFlags::CREATE | OFlags::EXCL;
    let file = openat(&folder, &scratch, create, Mode::from(0o600));
    // This is also done if the open failed, because some file systems refuse direct I/O after
    // creating the file.
    let unlinked = unlink(directory.join(&scratch));
    let file = file.map_err(refused)?;
    unlinked.map_err(refused)?;
    Ok(file)
}

fn facts(name: &str, file: &OwnedFd) -> Result<Stat, Error> {
    fstat(file).map_err(|errno| Error::target(name, format!("cannot be looked at: {errno}")))
}

fn ask(
    name: &str,
    path: &Path,
    file: &OwnedFd,
    stat: &Stat,
    claimed_by_other: bool,
    guard: &mut Guard<'_>,
) -> Result<(), Error> {
    let candidate = WriteCandidate {
        name,
        path,
        descriptor: file.as_fd(),
        stat,
        claimed_by_other,
    };
    guard(&candidate).map_err(|why| Error::Refused {
        target: name.to_owned(),
        why,
    })
}

fn finish(
    name: &str,
    kind: TargetKind,
    file: OwnedFd,
    request: OpenRequest,
    capacity_bytes: Option<u64>,
) -> Result<Target, Error> {
    let alignment_bytes = match alignment::of(file.as_fd(), request.path) {
        Alignment::Multiple(bytes) => bytes,
        Alignment::Refused => return Err(open_error(name, request, Errno::INVAL)),
    };
    let found = facts(name, &file)?;
    Ok(Target {
        name: name.to_owned(),
        kind,
        file: Some(Arc::new(file)),
        capacity_bytes,
        alignment_bytes,
        device: Some((major(found.st_dev), minor(found.st_dev))),
        lock: None,
    })
}

/// A target that is not a disk, beside real ones: data written to it is gone at once, and data read
/// from it are zeros that the kernel makes.
///
/// # Errors
/// [`Error::Target`] if /dev does not have it.
pub fn open_dummy(direction: Direction) -> Result<Target, Error> {
    match direction {
        Direction::Write => open_kernel_device("dummy", "/dev/null", OFlags::WRONLY),
        Direction::Read => open_kernel_device("dummy", "/dev/zero", OFlags::RDONLY),
    }
}

/// /dev/null as a target: everything written there is gone at once.
///
/// # Errors
/// [`Error::Target`] if there is no /dev/null.
pub fn open_null(name: &str) -> Result<Target, Error> {
    open_kernel_device(name, "/dev/null", OFlags::WRONLY)
}

fn open_kernel_device(name: &str, path: &str, access: OFlags) -> Result<Target, Error> {
    let file = open(path, access | OFlags::CLOEXEC, Mode::empty())
        .map_err(|errno| Error::target(name, format!("{path} cannot be opened: {errno}")))?;
    Ok(Target {
        name: name.to_owned(),
        kind: TargetKind::Null,
        file: Some(Arc::new(file)),
        capacity_bytes: None,
        alignment_bytes: 1,
        device: None,
        lock: None,
    })
}
