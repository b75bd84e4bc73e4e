//! Chooses where the probe workload writes: the directory that the user named, else a file system
//! that the load is not on. Its file has no name, so nothing is left behind however the run ends.
//! Nothing that exists is written.

use std::path::{Path, PathBuf};

use rustix::fs::{Access, access};
use rustix::io::Errno;
use sustain_disk::target::{DataPath, Direction, OpenRequest, Target, TargetKind, open_path};
use sustain_document::effect::ProbePlace;
use sustain_document::setting::VICTIM;
use sustain_host::{Roots, disks_under_file_system, file_system_of};
use sustain_load::session::Session;
use sustain_targets::devices_under;

use crate::error::MeasureError;

/// File systems without a disk.
const IN_MEMORY: [&str; 4] = ["tmpfs", "ramfs", "devtmpfs", "hugetlbfs"];

/// A place, and the open file there.
#[derive(Debug)]
pub(super) struct ProbeFile {
    pub(super) facts: ProbePlace,
    pub(super) file: Target,
}

impl ProbeFile {
    /// Describes the place, for a note.
    pub(super) fn describe(&self) -> String {
        let facts = &self.facts;
        let kind = facts.file_system.as_deref().unwrap_or("file system");
        let relation = match (facts.is_file_system_of_target, facts.is_on_disk_of_target) {
            _ if facts.is_in_memory => ", in memory, so these writes wait for no disk",
            (true, _) => ", the file system under test itself",
            (false, Some(true)) => ", another file system on the same disk",
            (false, Some(false)) => ", on another disk",
            (false, None) => ", another file system",
        };
        format!("{} ({kind}{relation})", facts.directory.display())
    }
}

/// The directories where ordinary programs write, most usual first.
fn usual_places() -> Vec<PathBuf> {
    let home = std::env::var_os("HOME").filter(|home| !home.is_empty());
    let usual = ["/var/tmp", "/tmp", "."].map(PathBuf::from);
    home.map(PathBuf::from).into_iter().chain(usual).collect()
}

/// The place that was asked for, or the best of the usual ones; `None` if none of these can be
/// written.
///
/// # Errors
/// [`MeasureError::Usage`] if the one asked for cannot be used.
pub(super) fn choose(
    asked: Option<&Path>,
    session: &Session,
    roots: &Roots,
) -> Result<Option<ProbeFile>, MeasureError> {
    let Some(directory) = asked else {
        return Ok(best(&usual_places(), session, roots));
    };
    let place = open(directory, session, roots).map_err(|why| {
        let directory = directory.display();
        MeasureError::Usage(format!(
            "{}: {why}; name a directory that you may write in",
            VICTIM.to(directory)
        ))
    })?;
    Ok(Some(place))
}

/// The first place that the load is not on, else the first on a disk, else none.
fn best(directories: &[PathBuf], session: &Session, roots: &Roots) -> Option<ProbeFile> {
    let usable = directories
        .iter()
        .filter_map(|directory| open(directory, session, roots).ok())
        .filter(|place| !place.facts.is_in_memory);
    let mut first = None;
    for place in usable {
        if !place.facts.is_file_system_of_target {
            return Some(place);
        }
        first = first.or(Some(place));
    }
    first
}

fn open(directory: &Path, session: &Session, roots: &Roots) -> Result<ProbeFile, String> {
    let is_directory =
        directory
            .metadata()
            .map(|found| found.is_dir())
            .map_err(|error| match error.kind() {
                std::io::ErrorKind::NotFound => "there is no such directory".to_owned(),
                _ => error.to_string(),
            })?;
    if !is_directory {
        return Err("it is not a directory".to_owned());
    }
    access(directory, Access::WRITE_OK).map_err(|errno| match errno {
        Errno::ROFS => "it is read-only".to_owned(),
        Errno::ACCESS | Errno::PERM => "permission denied".to_owned(),
        other => other.to_string(),
    })?;
    let request = OpenRequest {
        direction: Direction::Write,
        path: DataPath::Buffered,
        create: false,
    };
    let name = directory.display().to_string();
    // A directory yields a new file. If something else has taken the directory's place, it is
    // refused.
    let file = open_path(&name, directory, request, &mut |_| {
        Err("it is no longer a directory".to_owned())
    })
    .map_err(|error| error.to_string())?;
    Ok(ProbeFile {
        facts: facts(directory, &file, session, roots),
        file,
    })
}

fn facts(directory: &Path, file: &Target, session: &Session, roots: &Roots) -> ProbePlace {
    let file_system = file_system_of(roots, directory).ok();
    let targets = session.targets.iter();
    let is_file_system_of_target = targets
        .clone()
        .filter(|target| target.target.kind != TargetKind::Null)
        .any(|target| target.target.device == file.device);
    let own: Vec<String> = file_system
        .as_ref()
        .and_then(|found| disks_under_file_system(roots, found).ok())
        .unwrap_or_default()
        .iter()
        .map(|disk| disk.name().to_owned())
        .collect();
    let loaded = devices_under(
        targets.map(|target| (&target.target, target.path.as_deref())),
        roots,
    );
    let known = !own.is_empty() && !loaded.is_empty();
    let is_shared = loaded
        .iter()
        .any(|disk| own.iter().any(|own| own == disk.name()));
    let kind = file_system.map(|found| found.kind);
    ProbePlace {
        directory: directory.to_owned(),
        is_in_memory: kind
            .as_deref()
            .is_some_and(|kind| IN_MEMORY.contains(&kind)),
        file_system: kind,
        is_file_system_of_target,
        is_on_disk_of_target: known.then_some(is_shared),
    }
}

#[cfg(test)]
mod tests {
    use sustain_load::plan::LoadPlan;

    use super::*;

    fn session_on(directory: &Path) -> Session {
        let plan = LoadPlan {
            size_bytes: Some(1 << 20),
            path: DataPath::Buffered,
            ..LoadPlan::new([directory.display().to_string()])
        };
        Session::open(&plan, &Roots::default()).unwrap()
    }

    fn refusal(asked: &Path, session: &Session) -> String {
        choose(Some(asked), session, &Roots::default())
            .unwrap_err()
            .to_string()
    }

    #[test]
    fn the_file_system_under_test_is_taken_last_and_said_so() {
        let directory = tempfile::tempdir_in(".").unwrap();
        let session = session_on(directory.path());
        let found = best(&[directory.path().to_owned()], &session, &Roots::default()).unwrap();
        assert!(found.facts.is_file_system_of_target);
        if !found.facts.is_in_memory {
            assert!(found.describe().contains("under test itself"));
        }
        assert!(std::fs::read_dir(&directory).unwrap().next().is_none());
        let nowhere = [PathBuf::from("/nonexistent/victim")];
        assert!(best(&nowhere, &session, &Roots::default()).is_none());
    }

    #[test]
    fn a_place_in_memory_is_taken_only_if_asked_for() {
        let memory = Path::new("/dev/shm");
        let directory = tempfile::tempdir_in(".").unwrap();
        let session = session_on(directory.path());
        let Ok(place) = open(memory, &session, &Roots::default()) else {
            return;
        };
        if place.facts.is_in_memory {
            assert!(best(&[memory.to_owned()], &session, &Roots::default()).is_none());
            let asked = choose(Some(memory), &session, &Roots::default()).unwrap();
            assert!(asked.unwrap().describe().contains("wait for no disk"));
        }
    }

    #[test]
    fn what_is_no_directory_is_refused_in_words() {
        let directory = tempfile::tempdir_in(".").unwrap();
        let session = session_on(directory.path());
        let file = directory.path().join("precious");
        std::fs::write(&file, "x").unwrap();
        assert!(refusal(&file, &session).contains("not a directory"));
        assert_eq!(std::fs::read(&file).unwrap(), b"x");
        let missing = refusal(&directory.path().join("missing"), &session);
        assert!(missing.contains("no such directory"), "{missing}");
        assert!(missing.contains("victim directory"), "{missing}");
    }
}
