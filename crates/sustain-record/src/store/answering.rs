//! The first touch of a path that a user named. Behind a FUSE server that has stopped, or a file
//! server that is gone, whatever is asked of it first may never return. So it is asked once, within
//! a bound, before anything else does.

use std::fs::{File, Metadata};
use std::path::{Path, PathBuf};

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
    fn what_exists_and_what_does_not_answers_all_the_same() {
        let place = tempfile::tempdir().unwrap();
        std::fs::write(place.path().join(FILE_NAME), "").unwrap();
        let names = ["", FILE_NAME, "new", "no/such/folder"];
        let paths = names.map(|name| place.path().join(name));
        check_answering(paths).unwrap();
        check_answering(["no-such-name".into(), "/dev/null".into()]).unwrap();
    }
}
