//! Whether a directory may be a mount point, and whether this machine can mount there at all. Each
//! refusal says what to do.

use std::fs::{self, File};
use std::io::{Error, ErrorKind};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::io::Errno;

use crate::error::MountError;

/// What serves file systems of programs.
const DEVICE: &str = "/dev/fuse";

/// Checks a mount point for a store of these members. Returns its whole path.
pub(crate) fn check(directory: &Path, members: &[String]) -> Result<PathBuf, MountError> {
    let name = directory.display();
    let metadata = fs::metadata(directory).map_err(|error| unusable(directory, &error))?;
    if !metadata.is_dir() {
        return Err(refused(format!(
            "{name} is not a directory: name an empty directory to mount at"
        )));
    }
    let whole = directory
        .canonicalize()
        .map_err(|error| unusable(directory, &error))?;
    let beneath = whole.parent().and_then(|parent| fs::metadata(parent).ok());
    if beneath.is_none_or(|beneath| beneath.dev() != metadata.dev()) {
        return Err(refused(format!(
            "{name} is a mount point already: unmount what is there (umount {name}), or mount at \
             another directory"
        )));
    }
    for member in members {
        let is_within = Path::new(member)
            .canonicalize()
            .is_ok_and(|member| member.is_dir() && whole.starts_with(member));
        if is_within {
            return Err(refused(format!(
                "{name} lies in the store ({member}), whose members must stay in reach: mount at a \
                 directory outside of it"
            )));
        }
    }
    let mut entries = fs::read_dir(&whole).map_err(|error| unusable(directory, &error))?;
    if entries.next().is_some() {
        return Err(refused(format!(
            "{name} is not empty, and the mount would hide what is in it: name an empty directory"
        )));
    }
    Ok(whole)
}

/// Checks that programs can serve file systems here.
pub(crate) fn check_machine() -> Result<(), MountError> {
    let opened = File::options().read(true).write(true).open(DEVICE);
    let why = match opened.map_err(|error| (error.kind(), error)) {
        Ok(_) => return Ok(()),
        Err((ErrorKind::NotFound, _)) => {
            "load the kernel's module (modprobe fuse); a container has to be given this device \
             when it is started"
                .to_owned()
        }
        Err((ErrorKind::PermissionDenied, _)) => {
            "this user may not open it: ask who looks after this machine for access to it"
                .to_owned()
        }
        Err((_, error)) if error.raw_os_error() == Some(Errno::NODEV.raw_os_error()) => {
            "the kernel has no FUSE: load its module (modprobe fuse)".to_owned()
        }
        Err((_, error)) => error.to_string(),
    };
    Err(refused(format!("{DEVICE} cannot be used: {why}")))
}

/// Why mounting failed, in words.
pub(crate) fn failed(directory: &Path, error: Error) -> MountError {
    let name = directory.display();
    let words = error.to_string();
    if error.kind() == ErrorKind::NotFound {
        return refused(format!(
            "users other than root mount by the program fusermount3, and it is not there: install \
             it (apt install fuse3), or mount as root ({name})"
        ));
    }
    let is_forbidden = words.contains("Operation not permitted")
        || words.contains("Permission denied")
        || words.contains("no write access");
    if is_forbidden {
        return refused(format!(
            "this user may not mount at {name} ({}): use a directory of your own; a \
             container has to be given the capability SYS_ADMIN when it is started",
            words.trim()
        ));
    }
    MountError::Failed {
        what: format!("cannot mount at {name}"),
        error,
    }
}

fn unusable(directory: &Path, error: &Error) -> MountError {
    let name = directory.display();
    if error.raw_os_error() == Some(Errno::NOTCONN.raw_os_error()) {
        return refused(format!(
            "{name} is left over from a mount whose program was killed ({}): unmount it with \
             `fusermount3 -u {name}`, or as root with `umount {name}`, and mount again",
            Errno::NOTCONN
        ));
    }
    refused(match error.kind() {
        ErrorKind::NotFound => format!("{name} does not exist: make it first (mkdir {name})"),
        _ => format!("cannot use {name} as a mount point: {error}"),
    })
}

fn refused(why: String) -> MountError {
    MountError::Refused(why)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(directory: &Path, members: &[String]) -> String {
        let error = check(directory, members).unwrap_err();
        assert!(error.is_usage());
        error.to_string()
    }

    #[test]
    fn only_an_empty_directory_outside_of_the_store_may_be_a_mount_point() {
        let place = tempfile::tempdir().unwrap();
        let path = |name: &str| place.path().join(name);
        for name in ["empty", "full", "full/within", "store", "store/within"] {
            fs::create_dir(path(name)).unwrap();
        }
        fs::write(path("file"), "").unwrap();
        let store = [path("store").display().to_string()];
        assert_eq!(
            check(&path("empty"), &store).unwrap(),
            path("empty").canonicalize().unwrap()
        );
        for (name, words) in [
            ("full", "is not empty"),
            ("file", "is not a directory"),
            ("none", "does not exist"),
            ("store", "lies in the store"),
            ("store/within", "lies in the store"),
            ("full/within/../../store", "lies in the store"),
        ] {
            let told = refusal(&path(name), &store);
            assert!(told.contains(words), "{name}: {told}");
        }
        let told = refusal(Path::new("/proc"), &store);
        assert!(told.contains("is a mount point already"), "{told}");
    }

    #[test]
    fn a_mount_whose_program_was_killed_is_told_by_the_command_that_removes_it() {
        let error = Error::from_raw_os_error(Errno::NOTCONN.raw_os_error());
        let told = unusable(Path::new("/mnt/x"), &error).to_string();
        assert!(told.contains("`fusermount3 -u /mnt/x`"), "{told}");
    }

    #[test]
    fn a_missing_helper_is_told_apart_from_a_missing_right() {
        let missing = failed(Path::new("d"), Error::from(ErrorKind::NotFound));
        assert!(
            missing.to_string().contains("apt install fuse3"),
            "{missing}"
        );
        let words = "fusermount3: mount failed: Operation not permitted";
        let forbidden = failed(Path::new("d"), Error::other(words));
        assert!(
            forbidden.to_string().contains("may not mount"),
            "{forbidden}"
        );
        let other = failed(Path::new("d"), Error::other("x"));
        assert!(!other.is_usage() && other.to_string().contains("cannot mount at d"));
    }
}
