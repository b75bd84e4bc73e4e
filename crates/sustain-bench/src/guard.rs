//! What may be written: the host's facts on a candidate, what `--destroy` names, and targets that are
//! one and the same. Reading is never refused here.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use sustain_disk::target::{Candidate, Direction};
use sustain_host::{Inspection, Refusal, Roots};

use crate::error::MeasureError;
use crate::plan::{Plan, TargetName};

/// The guard's word on something that exists and would be written.
pub(crate) fn inspect(
    candidate: &Candidate<'_>,
    plan: &Plan,
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
        return Err(Refusal::Claimed.to_string());
    }
    let holds = inspection.signature.map_or_else(
        || "no known signature".to_owned(),
        |signature| signature.to_string(),
    );
    if !plan.destroy.iter().any(|name| name == candidate.name) {
        return Err(format!(
            "it exists ({holds}) and would be overwritten. To destroy what is on it, add \
             --destroy {}; to leave it as it is, use --read",
            candidate.name
        ));
    }
    notes.push(format!(
        "{}: what is on it ({holds}) is destroyed",
        candidate.name
    ));
    Ok(())
}

/// `--destroy` of something that is no target is a slip that could cost data next time.
pub(crate) fn check_destroy(plan: &Plan) -> Result<(), MeasureError> {
    for name in &plan.destroy {
        if !plan.targets.contains(name) {
            return Err(MeasureError::Usage(format!(
                "--destroy {name} names none of the targets; give it exactly as the target is \
                 typed"
            )));
        }
    }
    Ok(())
}

/// The same thing under two names would be measured against itself. A disk and its partition may be
/// read together; written, each would destroy what the other wrote.
pub(crate) fn check_distinct(
    plan: &Plan,
    names: &[TargetName],
    direction: Direction,
) -> Result<(), MeasureError> {
    let mut seen: Vec<(Inspection, &str)> = Vec::new();
    let mut new_files: HashMap<PathBuf, &str> = HashMap::new();
    let roots = Roots::default();
    for (typed, name) in plan.targets.iter().zip(names) {
        let TargetName::Path(path) = name else {
            continue;
        };
        if path.is_dir() {
            continue;
        }
        let Ok(stat) = rustix::fs::stat(path) else {
            if let (Ok(folder), Some(file)) = (folder_of(path).canonicalize(), path.file_name())
                && let Some(earlier) = new_files.insert(folder.join(file), typed)
            {
                return Err(not_distinct(earlier, typed, "are the same thing"));
            }
            continue;
        };
        let Ok(inspection) = sustain_host::inspect_stat(&roots, path, &stat) else {
            continue;
        };
        for (earlier, earlier_typed) in &seen {
            let what = if earlier.identity == inspection.identity {
                "are the same thing"
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

fn not_distinct(earlier: &str, typed: &str, what: &str) -> MeasureError {
    MeasureError::Usage(format!("{earlier} and {typed} {what}: leave one out"))
}

/// Where a file of this path lies.
pub(crate) fn folder_of(path: &Path) -> &Path {
    path.parent()
        .filter(|folder| !folder.as_os_str().is_empty())
        .unwrap_or(Path::new("."))
}
