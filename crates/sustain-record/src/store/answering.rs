//! The first touch of a path that a user named. Behind a FUSE server that has stopped, or a file
//! server that is gone, whatever is asked of it first may never return. So it is asked once, within
//! a bound, before anything else does.

use std::fs::{File, Metadata};
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};

use super::FILE_NAME;
use super::bounded::Bounded;
use crate::error::RecordError;
use crate::member_io::GIVEN_UP_AFTER_NS;

/// Checks that the file system of each path answers. What does not exist is no error here: then
/// the nearest directory that does is asked.
///
/// # Errors
/// [`RecordError::Silent`], naming the first path whose file system has not answered in time;
/// [`RecordError::Thread`].
pub fn check_answering(paths: impl IntoIterator<Item = PathBuf>) -> Result<(), RecordError> {
    let mut paths = paths.into_iter();
    paths.try_for_each(|path| answers_within(path, GIVEN_UP_AFTER_NS))
}

fn answers_within(path: PathBuf, patience_ns: u64) -> Result<(), RecordError> {
    let name = path.display().to_string();
    let bounded = Bounded {
        what: &format!("looking at {name}"),
        name: &name,
        patience_ns,
        progress: None,
    };
    bounded.call(move || touch(&path)).map_err(|error| match error {
        RecordError::Silent(_) => RecordError::Silent(format!(
            "{name}: its file system has not answered for {:.0} s. The server behind it may have \
             stopped, as of a FUSE or a network file system: let it go on, unmount it (umount -f, \
             or umount -l), or use another place. Until it answers or is unmounted, the kernel may \
             keep this process from ending",
            patience_ns as f64 / 1e9
        )),
        other => other,
    })
}

/// Checks that what lies at `path`, or would be made there, can be written without a wait that has
/// no end: a frozen file system answers all but that. Nothing is changed. Whether it may be written
/// is not asked here.
///
/// # Errors
/// As [`check_answering`].
pub fn check_takes_writes(path: &Path) -> Result<(), RecordError> {
    takes_writes_within(path.to_owned(), GIVEN_UP_AFTER_NS)
}

fn takes_writes_within(path: PathBuf, patience_ns: u64) -> Result<(), RecordError> {
    let name = path.display().to_string();
    let bounded = Bounded {
        what: &format!("opening {name} to write"),
        name: &name,
        patience_ns,
        progress: None,
    };
    bounded
        .call(move || touch_to_write(&path))
        .map_err(|error| match error {
            RecordError::Silent(_) => RecordError::Silent(takes_no_writes(&name, patience_ns)),
            other => other,
        })
}

/// Makes a call that writes below `path`, in a thread of its own.
///
/// # Errors
/// [`RecordError::Silent`] if it has not returned in time; [`RecordError::Thread`].
pub fn write_within_bound<T: Send + 'static>(
    path: &Path,
    call: impl FnOnce() -> T + Send + 'static,
) -> Result<T, RecordError> {
    let name = path.display().to_string();
    let bounded = Bounded {
        what: &format!("writing {name}"),
        name: &name,
        patience_ns: GIVEN_UP_AFTER_NS,
        progress: None,
    };
    bounded.call(call).map_err(|error| match error {
        RecordError::Silent(_) => RecordError::Silent(takes_no_writes(&name, GIVEN_UP_AFTER_NS)),
        other => other,
    })
}

fn takes_no_writes(name: &str, patience_ns: u64) -> String {
    format!(
        "{name}: its file system has taken no write for {:.0} s. It may be frozen (fsfreeze -u, \
         given its mount point, ends that), or its disk or server may have stopped: \
         let it go on, or use another place. Until it does, the kernel may keep this process from \
         ending",
        patience_ns as f64 / 1e9
    )
}

/// Makes a file without a name in the nearest directory, as whoever replaces a file there does. To
/// open a file that exists is answered even while its file system is frozen. What comes of it does
/// not matter here.
fn touch_to_write(path: &Path) {
    let Some((existing, metadata)) = nearest_existing(path) else {
        return;
    };
    let directory = match existing.parent() {
        _ if metadata.is_dir() => existing,
        // To open a pipe or a device may already change something.
        _ if !metadata.is_file() => return,
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let nameless = OFlags::TMPFILE | OFlags::WRONLY | OFlags::CLOEXEC;
    let _ = rustix::fs::open(directory, nameless, Mode::from(0o600));
}

/// Asks all that commands ask of a path first. What comes of it does not matter here.
fn touch(path: &Path) {
    let Some((existing, metadata)) = nearest_existing(path) else {
        return;
    };
    // Attributes may be remembered from before. How much space there is has to be asked.
    let _ = rustix::fs::statvfs(existing);
    // To open a pipe or a device may already change something.
    if metadata.is_file() {
        let _ = File::open(existing);
    } else if metadata.is_dir() && existing == path {
        let member = path.join(FILE_NAME);
        if member.is_file() {
            let _ = File::open(member);
        }
    }
}

fn nearest_existing(path: &Path) -> Option<(&Path, Metadata)> {
    let mut nearest = path.ancestors().map(|place| {
        // The directory of a name without one is the current one.
        let is_name = place.as_os_str().is_empty();
        if is_name { Path::new(".") } else { place }
    });
    nearest.find_map(|place| Some((place, place.metadata().ok()?)))
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsRawFd;
    use std::process::Command;

    use sustain_testing::{Requirement, skip};

    use super::*;
    use crate::store::MountedFileSystem;

    /// A FUSE file system whose server never reads a request. It ends with this.
    struct Dead {
        place: tempfile::TempDir,
        _server: File,
    }

    impl Dead {
        fn mount() -> Result<Dead, String> {
            let server = File::options().read(true).write(true).open("/dev/fuse");
            let server = server.map_err(|error| format!("/dev/fuse: {error}"))?;
            rustix::io::fcntl_setfd(&server, rustix::io::FdFlags::empty()).unwrap();
            let place = tempfile::tempdir().unwrap();
            let fd = server.as_raw_fd();
            let options = format!("fd={fd},rootmode=40000,user_id=0,group_id=0");
            let mut mount = Command::new("mount");
            mount.args(["-i", "-t", "fuse", "dead", "-o", &options]);
            let ran = mount.arg(place.path()).output();
            let ran = ran.map_err(|error| format!("mount: {error}"))?;
            if !ran.status.success() {
                return Err(String::from_utf8_lossy(&ran.stderr).into_owned());
            }
            Ok(Dead {
                place,
                _server: server,
            })
        }
    }

    impl Drop for Dead {
        fn drop(&mut self) {
            let _ = Command::new("umount")
                .arg("-l")
                .arg(self.place.path())
                .status();
        }
    }

    #[test]
    fn a_file_system_that_never_answers_is_named_and_not_waited_for_without_end() {
        let dead = match Dead::mount() {
            Ok(dead) => dead,
            Err(why) => return skip(Requirement::Mounts, why),
        };
        for name in ["", "new.img", "folder/new.img"] {
            let path = dead.place.path().join(name);
            let error = answers_within(path.clone(), 40_000_000).unwrap_err();
            assert!(matches!(error, RecordError::Silent(_)), "{error}");
            let begin = format!("{}: its file system has not answered", path.display());
            assert!(error.to_string().starts_with(&begin), "{error}");
        }
    }

    #[test]
    fn a_frozen_file_system_is_named_and_not_waited_for_without_end() {
        let mounted = MountedFileSystem::new(16 << 20);
        let frozen = match mounted.and_then(|mounted| mounted.freeze().map(|()| mounted)) {
            Ok(frozen) => frozen,
            Err(why) => return skip(Requirement::Mounts, why),
        };
        for name in ["", "new.json", "file"] {
            let path = frozen.place().join(name);
            // Reading is answered.
            check_answering([path.clone()]).unwrap();
            let error = takes_writes_within(path, 40_000_000).unwrap_err();
            let told = error.to_string();
            assert!(told.contains("has taken no write for"), "{told}");
        }
    }

    #[test]
    fn what_exists_and_what_does_not_answers_all_the_same() {
        let place = tempfile::tempdir().unwrap();
        std::fs::write(place.path().join(FILE_NAME), "").unwrap();
        let names = ["", FILE_NAME, "new", "no/such/folder"];
        let paths = names.map(|name| place.path().join(name));
        check_answering(paths.clone()).unwrap();
        for path in paths {
            check_takes_writes(&path).unwrap();
        }
        assert_eq!(std::fs::read_dir(&place).unwrap().count(), 1);
        check_answering(["no-such-name".into(), "/dev/null".into()]).unwrap();
    }
}
