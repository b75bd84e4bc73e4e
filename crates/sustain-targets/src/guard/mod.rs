//! Decides what may be written, from the host's facts about a candidate, from what the user allows,
//! and by finding targets that are the same thing. Reading is never refused here.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use sustain_disk::target::{Direction, WriteCandidate, being_written, is_being_written};
use sustain_document::setting::DESTROY;
use sustain_host::{CandidateKind, Inspection, Refusal, Roots};

use crate::error::OpenError;
use crate::name::TargetName;
use crate::writers::{written_below, written_beside};

/// What the user allows to be done to something that exists. A device that is in use is never
/// written, whatever is allowed.
#[derive(Debug, Clone, Copy)]
pub enum Permission<'a> {
    /// Its content is lost, if its name is among these.
    Destroy {
        /// The names of what may be destroyed, as typed.
        names: &'a [String],
        /// The advice for a user who wants to keep it: "name another member".
        instead: &'a str,
    },
    /// It is a store and remains one. The caller must make sure that it is one before writing
    /// anything, through the same descriptor that is written through.
    OwnStore,
}

/// The guard's decision on something that exists and would be written. Notes for the user are added
/// to `notes`.
///
/// # Errors
/// Why it must not be written, in words that follow its name, with what to do next.
pub fn inspect(
    candidate: &WriteCandidate<'_>,
    permission: Permission<'_>,
    roots: &Roots,
    notes: &mut Vec<String>,
) -> Result<(), String> {
    let inspection = sustain_host::inspect(roots, candidate.path, candidate.descriptor)
        .map_err(|error| format!("it cannot be told whether that is safe: {error}"))?;
    if !inspection.refusals.is_empty() {
        let reasons: Vec<String> = inspection
            .refusals
            .iter()
            .map(ToString::to_string)
            .collect();
        return Err(reasons.join("; "));
    }
    if candidate.claimed_by_other {
        return Err(if is_being_written(candidate.descriptor) {
            being_written(candidate.path)
        } else {
            Refusal::Claimed.to_string()
        });
    }
    if let CandidateKind::BlockDevice(device) = &inspection.kind
        && let Some(below) = written_below(device, roots)
    {
        let (path, why) = (below.display(), being_written(&below));
        return Err(format!("its bytes are on {path}, and {why}"));
    }
    if let Some(beside) = written_beside(&inspection) {
        let why = being_written(&Path::new("/dev").join(beside));
        return Err(format!("it shares bytes with {beside}, and {why}"));
    }
    let Permission::Destroy { names, instead } = permission else {
        return Ok(());
    };
    let holds = inspection.signature.map_or_else(
        || "no known signature".to_owned(),
        |signature| signature.to_string(),
    );
    if !names.iter().any(|name| name == candidate.name) {
        return Err(format!(
            "it exists ({holds}) and would be overwritten. To destroy what is on it, add \
             {}; to leave it as it is, {instead}",
            DESTROY.to(candidate.name)
        ));
    }
    notes.push(format!(
        "{}: what is on it ({holds}) is destroyed",
        candidate.name
    ));
    Ok(())
}

/// Refuses a permission to destroy what is not a target, because such a slip could cost data the
/// next time.
///
/// # Errors
/// [`OpenError::Usage`], naming the first such name.
pub fn check_destroy(names: &[String], targets: &[String]) -> Result<(), OpenError> {
    for name in names {
        if !targets.contains(name) {
            return Err(OpenError::Usage(format!(
                "{} names none of the targets; write it exactly as the target is written",
                DESTROY.to(name)
            )));
        }
    }
    Ok(())
}

/// Refuses the same thing under two names, because it would be used against itself. A disk and its
/// partition may be read together; if they were written, each would destroy what the other wrote.
///
/// `typed` and `names` are the same targets, as typed and as understood. Simulated disks are told
/// apart when they are opened.
///
/// # Errors
/// [`OpenError::Usage`], naming the first pair.
pub fn check_distinct(
    typed: &[String],
    names: &[TargetName],
    direction: Direction,
    roots: &Roots,
) -> Result<(), OpenError> {
    let mut seen: Vec<(Inspection, &str)> = Vec::new();
    // Directories, and files that do not exist yet, by their paths without links.
    let mut seen_paths: HashMap<PathBuf, &str> = HashMap::new();
    for (typed, name) in typed.iter().zip(names) {
        let TargetName::Path(path) = name else {
            continue;
        };
        let stat = rustix::fs::stat(path).ok();
        let Some(stat) = stat.filter(|_| !path.is_dir()) else {
            let resolved = match (folder_of(path).canonicalize(), path.file_name()) {
                _ if path.is_dir() => path.canonicalize().ok(),
                (Ok(folder), Some(file)) => Some(folder.join(file)),
                _ => None,
            };
            if let Some(resolved) = resolved
                && let Some(earlier) = seen_paths.insert(resolved, typed)
            {
                return Err(not_distinct(earlier, typed, "are the same thing"));
            }
            continue;
        };
        let Ok(inspection) = sustain_host::inspect_stat(roots, path, &stat) else {
            continue;
        };
        for (earlier, earlier_typed) in &seen {
            let what = if earlier.identity == inspection.identity {
                "are the same thing"
            } else if earlier.is_other_path_of(&inspection) {
                "are one disk by two paths"
            } else if direction == Direction::Write && earlier.overlaps(&inspection) {
                "share bytes, as a disk and its partition do"
            } else {
                continue;
            };
            return Err(not_distinct(earlier_typed, typed, what));
        }
        seen.push((inspection, typed));
    }
    Ok(())
}

fn not_distinct(earlier: &str, typed: &str, what: &str) -> OpenError {
    OpenError::Usage(format!("{earlier} and {typed} {what}: leave one out"))
}

/// The directory in which a file of this path lies.
pub fn folder_of(path: &Path) -> &Path {
    path.parent()
        .filter(|folder| !folder.as_os_str().is_empty())
        .unwrap_or(Path::new("."))
}

#[cfg(test)]
mod tests;
