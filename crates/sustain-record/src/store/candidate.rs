//! Turns the names that a user typed into candidates for members: it finds the file or device that
//! each name means, checks that no two names mean the same one, and that it can be locked. `create`
//! and `open` of [`Store`](super::Store) call it.

use std::path::PathBuf;

use sustain_disk::target::{Direction, Target, TargetKind};
use sustain_host::Roots;
use sustain_session::{TargetName, check_distinct};

use super::FILE_NAME;
use crate::error::RecordError;

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
/// [`RecordError::Usage`], naming the first that cannot be a member.
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
            TargetName::Path(path) if path.is_dir() => path.join(FILE_NAME),
            TargetName::Path(path) => path,
            TargetName::Null | TargetName::Simulated { .. } => {
                return Err(RecordError::Usage(format!(
                    "{name} does not keep what is written to it: name block devices, files or \
                     directories"
                )));
            }
        };
        found.push(MemberCandidate { name, path });
    }
    let names: Vec<TargetName> = found
        .iter()
        .map(|candidate| TargetName::Path(candidate.path.clone()))
        .collect();
    check_distinct(typed, &names, direction, roots)?;
    Ok(found)
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
