//! What is named as a member, before it is known to be one: where it lies, and that it is locked.

use std::path::PathBuf;

use sustain_disk::target::{Direction, Target, TargetKind};
use sustain_host::Roots;
use sustain_session::{TargetName, check_distinct};

use super::FILE_NAME;
use crate::error::RecordError;

/// Something in the file system that is named as a member.
pub(super) struct Candidate<'a> {
    /// As typed.
    pub(super) name: &'a str,
    /// Where it lies; of a directory the member's file in it.
    pub(super) path: PathBuf,
}

/// Finds out what each name means, and that no two mean the same.
///
/// # Errors
/// [`RecordError::Usage`], naming the first that cannot be a member.
pub(super) fn candidates<'a>(
    typed: &'a [String],
    direction: Direction,
    roots: &Roots,
) -> Result<Vec<Candidate<'a>>, RecordError> {
    if typed.is_empty() {
        return Err(RecordError::Usage(
            "no member is named: name block devices, files or directories".to_owned(),
        ));
    }
    let mut found = Vec::new();
    for name in typed {
        let path = match TargetName::parse(name)? {
            TargetName::Path(path) if path.is_dir() => path.join(FILE_NAME),
            TargetName::Path(path) => path,
            TargetName::Null | TargetName::Simulated { .. } => {
                return Err(RecordError::Usage(format!(
                    "{name} keeps nothing of what is written: name block devices, files or \
                     directories"
                )));
            }
        };
        found.push(Candidate { name, path });
    }
    let names: Vec<TargetName> = found
        .iter()
        .map(|candidate| TargetName::Path(candidate.path.clone()))
        .collect();
    check_distinct(typed, &names, direction, roots)?;
    Ok(found)
}

/// Fails unless others that write are kept off a member that is a file; a device is claimed.
///
/// # Errors
/// [`RecordError::Member`] if the file system knows no locks.
pub(super) fn check_locked(target: &Target) -> Result<(), RecordError> {
    if target.kind != TargetKind::File || target.lock.is_some() {
        return Ok(());
    }
    let why = "its file system knows no locks, so others that write could not be kept off: use \
               another file system";
    Err(RecordError::member(&target.name, why))
}
