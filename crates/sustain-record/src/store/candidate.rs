//! Turns the names that a user typed into candidates for members: it finds the file or device that
//! each name means, checks that no two names mean the same one, and that it can be locked. `create`
//! and `open` of [`Store`](super::Store) call it.

use std::path::PathBuf;

use sustain_disk::target::{Direction, Target, TargetKind};
use sustain_host::Roots;
use sustain_targets::{TargetName, check_distinct};

use super::FILE_NAME;
use super::bounded::Bounded;
use crate::error::RecordError;
use crate::member_io::GIVEN_UP_AFTER_NS;

/// A file or device that the user named as a member.
pub(super) struct MemberCandidate<'a> {
    /// The name as typed.
    pub(super) name: &'a str,
    /// The path. For a directory it is the path of the member's file in it.
    pub(super) path: PathBuf,
}

/// Finds the path that each name means, and checks that no two names mean the same thing.
///
/// # Errors
/// [`RecordError::Usage`], naming the first that cannot be a member; [`RecordError::Silent`] for
/// one whose file system does not answer.
pub(super) fn candidates<'a>(
    typed: &'a [String],
    direction: Direction,
    roots: &Roots,
) -> Result<Vec<MemberCandidate<'a>>, RecordError> {
    if typed.is_empty() {
        return Err(RecordError::Usage(
            "no members were given: name block devices, files or directories".to_owned(),
        ));
    }
    let mut found = Vec::new();
    for name in typed {
        let path = match TargetName::parse(name)? {
            TargetName::Path(path) => path_of(name, path)?,
            TargetName::Null | TargetName::Simulated { .. } => {
                return Err(RecordError::Usage(format!(
                    "{name} does not keep what is written to it: name block devices, files or \
                     directories"
                )));
            }
        };
        found.push(MemberCandidate { name, path });
    }
    require_distinct(typed, &found, direction, roots, GIVEN_UP_AFTER_NS)?;
    Ok(found)
}

/// Checks that no two names mean the same thing.
fn require_distinct(
    typed: &[String],
    found: &[MemberCandidate<'_>],
    direction: Direction,
    roots: &Roots,
    patience_ns: u64,
) -> Result<(), RecordError> {
    if found.len() < 2 {
        return Ok(());
    }
    let paths = found.iter().map(|candidate| candidate.path.clone());
    let names: Vec<TargetName> = paths.map(TargetName::Path).collect();
    let (owned, roots) = (typed.to_vec(), roots.clone());
    let bounded = Bounded {
        what: &format!("telling {} apart", typed.join(" and ")),
        name: "one of them",
        patience_ns,
        progress: None,
    };
    bounded.call(move || check_distinct(&owned, &names, direction, &roots))??;
    Ok(())
}

/// The path that a name means, which may be the file in a directory.
fn path_of(name: &str, path: PathBuf) -> Result<PathBuf, RecordError> {
    let looked_at = path.clone();
    // A path with a slash at its end does not find a file.
    let look = move || {
        let is_file = looked_at.components().collect::<PathBuf>().is_file();
        (looked_at.is_dir(), is_file)
    };
    let bounded = Bounded {
        what: &format!("looking at {name}"),
        name,
        patience_ns: GIVEN_UP_AFTER_NS,
        progress: None,
    };
    let (is_directory, is_file) = bounded.call(look)?;
    if is_directory {
        return Ok(path.join(FILE_NAME));
    }
    if is_file && name.ends_with('/') {
        let file = name.trim_end_matches('/');
        return Err(RecordError::Usage(format!(
            "{name} would be a directory, because of the slash at its end, but {file} is a file: \
             name {file} to use the file itself, or name another directory"
        )));
    }
    Ok(path)
}

/// Checks that other programs cannot write to a member that is a file while it is in use. A device
/// needs no check, because it is claimed.
///
/// # Errors
/// [`RecordError::Member`] if the file system does not support locks.
pub(super) fn check_locked(target: &Target) -> Result<(), RecordError> {
    if target.kind != TargetKind::File || target.lock.is_some() {
        return Ok(());
    }
    let why = "its file system does not support locks, so other programs could write to it too: \
               use another file system";
    Err(RecordError::member(&target.name, why))
}

#[cfg(test)]
mod tests {
    use rustix::fs::{CWD, FileType, Mode, mknodat};

    use super::*;

    #[test]
    fn members_that_cannot_be_told_apart_in_time_are_not_waited_for_without_end() {
        let place = tempfile::tempdir().unwrap();
        let paths = ["a", "b"].map(|name| place.path().join(name));
        // A pipe that nobody writes to keeps whoever reads what is in use.
        for directory in ["proc/self", "sys"] {
            std::fs::create_dir_all(place.path().join(directory)).unwrap();
        }
        for name in ["proc/swaps", "proc/self/mountinfo"] {
            mknodat(CWD, place.path().join(name), FileType::Fifo, Mode::RWXU, 0).unwrap();
        }
        let roots = Roots {
            sys: place.path().join("sys"),
            proc: place.path().join("proc"),
        };
        let typed = ["m0", "m1"].map(str::to_owned);
        let found: Vec<MemberCandidate<'_>> = typed
            .iter()
            .zip(paths)
            .map(|(name, path)| {
                std::fs::write(&path, "").unwrap();
                MemberCandidate { name, path }
            })
            .collect();
        let error =
            require_distinct(&typed, &found, Direction::Write, &roots, 1_000_000).unwrap_err();
        assert!(matches!(error, RecordError::Silent(_)), "{error}");
        let told = error.to_string();
        let begin = "telling m0 and m1 apart has not returned for ";
        assert!(told.starts_with(begin), "{told}");
        // Alone, it is not compared with anything.
        require_distinct(&typed[..1], &found[..1], Direction::Write, &roots, 1).unwrap();
    }
}
