//! Opens files and devices under the guard, rehearses that without creating a file, and removes
//! files that were created for work that then did not take place.

use std::path::{Path, PathBuf};

use sustain_disk::error::Error;
use sustain_disk::target::{Direction, OpenRequest, Target, TargetKind, WriteCandidate, open_path};
use sustain_host::Roots;

use crate::guard::{Permission, folder_of, inspect};
use crate::writers::is_written_meanwhile;

/// If another run holds the target for longer than this, the user is told.
const WAIT_REPORTED_NS: u64 = 500_000_000;

/// Opens the device, file or directory at `path` as [`open_path`] does; something that exists and
/// would be written must pass the guard first. `name` is the target as typed. Nothing is written
/// yet. If another program writes to a target that is only read, `notes` says so, except for a
/// store, whose reader knows it.
///
/// # Errors
/// [`Error::Refused`] with the guard's reason, [`Error::Target`] for all else.
pub fn open_under_guard(
    name: &str,
    path: &Path,
    request: OpenRequest,
    permission: Permission<'_>,
    roots: &Roots,
    notes: &mut Vec<String>,
) -> Result<Target, Error> {
    refuse_missing_device(name, path)?;
    let mut guard = |candidate: &WriteCandidate<'_>| inspect(candidate, permission, roots, notes);
    let target = open_path(name, path, request, &mut guard)?;
    let waited_ns = target.lock.as_ref().map_or(0, |lock| lock.waited_ns());
    if waited_ns >= WAIT_REPORTED_NS {
        notes.push(format!(
            "{name}: another run of sustain held it for {:.1} s more; a run that was killed \
             holds it until the disk has completed its last requests",
            waited_ns as f64 / 1e9
        ));
    }
    let is_store = matches!(permission, Permission::OwnStore);
    if request.direction == Direction::Read && !is_store && is_written_meanwhile(&target, roots) {
        notes.push(format!(
            "{name} is being recorded to, or measured, by another run of sustain at the same time: \
             each of the two takes a part of the rate from the other"
        ));
    }
    Ok(target)
}

/// Works as [`open_under_guard`], but creates no file: an unnamed one in its place shows the same.
///
/// # Errors
/// As [`open_under_guard`].
pub fn rehearse_under_guard(
    name: &str,
    path: &Path,
    request: OpenRequest,
    permission: Permission<'_>,
    roots: &Roots,
    notes: &mut Vec<String>,
) -> Result<Target, Error> {
    refuse_missing_device(name, path)?;
    let folder = folder_of(path);
    let would_create = request.create && path.symlink_metadata().is_err() && folder.is_dir();
    let place = if would_create { folder } else { path };
    let mut target = open_under_guard(name, place, request, permission, roots, notes)?;
    if would_create {
        target.kind = TargetKind::File;
    }
    Ok(target)
}

/// Refuses a device that does not exist, because it must not become a file of that name: the file
/// would lie in memory, and would be in the way when the device appears.
///
/// # Errors
/// [`Error::Target`], saying where the devices are listed.
pub fn refuse_missing_device(name: &str, path: &Path) -> Result<(), Error> {
    let is_missing = path.symlink_metadata().is_err();
    let folder = folder_of(path).canonicalize().unwrap_or_default();
    let is_for_devices = folder.starts_with("/dev") && !folder.starts_with("/dev/shm");
    if is_missing && is_for_devices {
        let why = "there is no such device: `sustain devices` lists the existing ones";
        return Err(Error::target(name, why));
    }
    Ok(())
}

/// Whether opening the target created it, or would have outside a rehearsal: only a file that did
/// not exist has no size yet.
pub fn is_new(target: &Target) -> bool {
    target.kind == TargetKind::File && target.capacity_bytes.is_none()
}

/// Files of this run that did not exist before. They are removed when this value is dropped, unless
/// they are kept: work that does not take place leaves nothing behind.
#[derive(Debug, Default)]
pub struct CreatedFiles(Vec<PathBuf>);

impl CreatedFiles {
    /// Takes responsibility for a file that was just created.
    pub fn add(&mut self, path: &Path) {
        self.0.push(path.to_owned());
    }

    /// Keeps the files, because the work has taken place.
    pub fn keep(&mut self) {
        self.0.clear();
    }
}

impl Drop for CreatedFiles {
    fn drop(&mut self) {
        for path in &self.0 {
            // The file is the run's own and holds nothing of value; if it is gone already, there is
            // nothing to do.
            let _ = std::fs::remove_file(path);
        }
    }
}

#[cfg(test)]
mod tests {
    use sustain_disk::target::DataPath;

    use super::*;

    #[test]
    fn a_device_that_is_not_there_does_not_become_a_file() {
        for path in ["/dev/sustain-no-such-device", "/dev/../dev/sustain-no-such"] {
            let refused = refuse_missing_device(path, Path::new(path)).unwrap_err();
            assert!(refused.to_string().contains("no such device"), "{refused}");
        }
        let directory = tempfile::tempdir().unwrap();
        refuse_missing_device("new", &directory.path().join("new")).unwrap();
        refuse_missing_device("null", Path::new("/dev/null")).unwrap();
    }

    const CREATE: OpenRequest = OpenRequest {
        direction: Direction::Write,
        path: DataPath::Buffered,
        create: true,
    };
    const OWN: Permission<'_> = Permission::OwnStore;

    #[test]
    fn a_rehearsal_tells_of_a_new_file_and_makes_none() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("new");
        let roots = Roots::default();
        let target =
            rehearse_under_guard("new", &path, CREATE, OWN, &roots, &mut Vec::new()).unwrap();
        assert!(is_new(&target));
        // A target that needs the lock is not told that the file system has none.
        assert!(target.lock.is_some());
        assert!(std::fs::read_dir(&directory).unwrap().next().is_none());
        let target = open_under_guard("new", &path, CREATE, OWN, &roots, &mut Vec::new()).unwrap();
        assert!(is_new(&target));
        assert!(path.exists());
    }

    #[test]
    fn what_exists_is_not_new() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("old");
        std::fs::write(&path, "x").unwrap();
        let roots = Roots::default();
        for open in [open_under_guard, rehearse_under_guard] {
            let target = open("old", &path, CREATE, OWN, &roots, &mut Vec::new()).unwrap();
            assert!(!is_new(&target));
        }
        let scratch = open_under_guard(
            "scratch",
            directory.path(),
            CREATE,
            OWN,
            &roots,
            &mut Vec::new(),
        );
        assert!(!is_new(&scratch.unwrap()));
    }

    #[test]
    fn created_files_go_unless_they_are_kept() {
        let directory = tempfile::tempdir().unwrap();
        for kept in [false, true] {
            let path = directory.path().join("made");
            std::fs::write(&path, "").unwrap();
            let mut created = CreatedFiles::default();
            created.add(&path);
            if kept {
                created.keep();
            }
            drop(created);
            assert_eq!(path.exists(), kept);
        }
    }
}
