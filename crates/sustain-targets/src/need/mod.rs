//! What a recorder needs, told to our own readers on the same disks, so that they yield. A small
//! file of each recorder says which disks it records on, and how much data waits for them; it is
//! locked as long as the recorder lives.

mod published;
mod recorders;

use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{Access, access};
use rustix::process::geteuid;

pub use published::PublishedNeed;
pub use recorders::RecordersBeside;

/// How a file is called.
const NAME_START: &str = "recording-";
const NAME_END: &str = ".need";
/// The first line, of one length: what waits, and the size of the buffer.
const FIRST_LINE_BYTES: usize = 42;

/// The directory in which programs of this user tell each other what they do, until the next boot.
/// It is made if it is not there.
///
/// # Errors
/// The cause, if it cannot be made, and [`io::ErrorKind::PermissionDenied`] if somebody else may
/// write to it: what is written there is believed.
pub fn runtime_directory() -> io::Result<PathBuf> {
    let path = runtime_directory_name()?;
    match fs::DirBuilder::new().mode(0o755).create(&path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => check_safe(&path)?,
    }
    // Readers of other users look here, too, whatever the umask says.
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755))?;
    Ok(path)
}

/// Whether [`runtime_directory`] would be there, without making it.
///
/// # Errors
/// As of that function.
pub fn check_runtime_directory() -> io::Result<()> {
    let path = runtime_directory_name()?;
    match path.symlink_metadata() {
        Ok(_) => check_safe(&path),
        Err(_) => {
            let parent = path.parent().unwrap_or(Path::new("/"));
            Ok(access(parent, Access::WRITE_OK | Access::EXEC_OK)?)
        }
    }
}

fn runtime_directory_name() -> io::Result<PathBuf> {
    let path = if geteuid().is_root() {
        PathBuf::from("/run")
    } else {
        own_runtime_directory().ok_or_else(|| {
            let why = "XDG_RUNTIME_DIR does not name a directory of this user's";
            io::Error::new(io::ErrorKind::NotFound, why)
        })?
    };
    Ok(path.join("sustain"))
}

fn check_safe(path: &Path) -> io::Result<()> {
    let metadata = fs::symlink_metadata(path)?;
    let path = path.display();
    let why = if !metadata.is_dir() {
        format!("{path} is no directory: give it another name")
    } else if metadata.uid() != geteuid().as_raw() {
        format!("{path} belongs to another user: ask them what it is for")
    } else if metadata.mode() & 0o022 != 0 {
        format!("others may write to {path}: `chmod go-w {path}` changes that")
    } else {
        return Ok(());
    };
    Err(io::Error::new(io::ErrorKind::PermissionDenied, why))
}

/// The directories in which recorders may tell what they need: that of root, and that of this user.
fn directories() -> Vec<PathBuf> {
    let all = [Some(PathBuf::from("/run")), own_runtime_directory()];
    let all = all.into_iter().flatten();
    all.map(|directory| directory.join("sustain")).collect()
}

/// The directory that a session gives to its user alone. After `su` or `sudo` that of another user
/// may be named here, who could leave anything in it.
fn own_runtime_directory() -> Option<PathBuf> {
    let path = PathBuf::from(std::env::var_os("XDG_RUNTIME_DIR")?);
    let metadata = fs::symlink_metadata(&path).ok()?;
    let is_own = metadata.is_dir() && metadata.uid() == geteuid().as_raw();
    (path.is_absolute() && is_own).then_some(path)
}

#[cfg(test)]
mod tests {
    use sustain_disk::clock::Clock;
    use sustain_disk::engine::RecorderBacklog;

    use super::*;

    const DISK: (u32, u32) = (8, 16);
    const LOOK_AGAIN_NS: u64 = 1_000_000_000;

    #[test]
    fn a_reader_finds_the_recorder_of_its_disk_and_knows_what_waits() {
        let directory = tempfile::tempdir().unwrap();
        let mut need = PublishedNeed::create(directory.path(), &[(8, 0), DISK]).unwrap();
        let mut beside = RecordersBeside::within(vec![directory.path().to_owned()], vec![DISK]);
        let mut elsewhere =
            RecordersBeside::within(vec![directory.path().to_owned()], vec![(9, 9)]);
        let start = Clock::simulated().now();
        assert_eq!(beside.part(start), Some(0.0));
        assert_eq!(elsewhere.part(start), None);
        need.publish(16 << 20, 64 << 20).unwrap();
        assert_eq!(beside.part(start), Some(0.25));
        need.publish(0, 64 << 20).unwrap();
        assert_eq!(beside.part(start), Some(0.0));
        assert_eq!(beside.processes(), [std::process::id()]);
        drop(need);
        assert_eq!(beside.part(start + LOOK_AGAIN_NS), None);
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
    }

    #[test]
    fn of_several_recorders_the_one_that_is_shortest_counts() {
        let directory = tempfile::tempdir().unwrap();
        let mut first = PublishedNeed::create(directory.path(), &[DISK]).unwrap();
        let mut second = PublishedNeed::create(directory.path(), &[DISK]).unwrap();
        first.publish(1, 10).unwrap();
        second.publish(8, 10).unwrap();
        let mut beside = RecordersBeside::within(vec![directory.path().to_owned()], vec![DISK]);
        assert_eq!(beside.part(Clock::simulated().now()), Some(0.8));
    }

    #[test]
    fn what_a_killed_recorder_left_counts_for_nothing_and_is_removed() {
        let directory = tempfile::tempdir().unwrap();
        let left = directory.path().join("recording-1-0.need");
        fs::write(&left, format!("{:020} {:020}\ndisk 8:16\n", 9, 10)).unwrap();
        for name in ["recording-2-0.need", "recording-x.need", "other"] {
            fs::write(directory.path().join(name), "not of a recorder").unwrap();
        }
        let mut beside = RecordersBeside::within(vec![directory.path().to_owned()], vec![DISK]);
        assert_eq!(beside.part(Clock::simulated().now()), None);
        assert!(!left.exists());
        assert!(directory.path().join("other").exists());
    }

    #[test]
    fn a_recorder_whose_process_cannot_be_seen_is_known_by_its_lock() {
        let directory = tempfile::tempdir().unwrap();
        let mut need = PublishedNeed::create(directory.path(), &[DISK]).unwrap();
        need.publish(16 << 20, 64 << 20).unwrap();
        let named = fs::read_dir(directory.path()).unwrap().next().unwrap();
        // The kernel gives no process so high a number, so nobody sees this one.
        let hidden = directory.path().join("recording-4194305-0.need");
        fs::rename(named.unwrap().path(), &hidden).unwrap();
        let mut beside = RecordersBeside::within(vec![directory.path().to_owned()], vec![DISK]);
        let start = Clock::simulated().now();
        assert_eq!(beside.part(start), Some(0.25));
        assert!(hidden.exists());
        drop(need);
        assert_eq!(beside.part(start + LOOK_AGAIN_NS), None);
        assert!(!hidden.exists());
    }

    #[test]
    fn a_directory_that_others_may_write_to_is_not_used() {
        let place = tempfile::tempdir().unwrap();
        let directory = place.path().join("sustain");
        fs::create_dir(&directory).unwrap();
        check_safe(&directory).unwrap();
        fs::set_permissions(&directory, fs::Permissions::from_mode(0o777)).unwrap();
        let refused = check_safe(&directory).unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::PermissionDenied);
        fs::remove_dir(&directory).unwrap();
        std::os::unix::fs::symlink(place.path(), &directory).unwrap();
        assert!(check_safe(&directory).is_err());
    }
}
