//! What failed, as the first sentences of an answer: in the run itself, and in those after it that
//! were to confirm a rate or to try other data.

use sustain_document::measure::{LaterFailure, TargetError, TargetResult};
use sustain_document::vocabulary::Operation;

use super::without_controls;
use crate::format::{position, rate};

pub(super) fn failures(targets: &[TargetResult]) -> Option<String> {
    let failed: Vec<&TargetResult> = targets.iter().filter(|t| !t.errors.is_empty()).collect();
    let first = failed.first()?;
    let error = first.errors.first()?;
    let count: usize = failed.iter().map(|target| target.errors.len()).sum();
    let others = more_listed(count);
    Some(format!(
        "{} failed: {}: {}{others}",
        without_controls(&first.name),
        without_controls(&request(error)),
        without_controls(&error.message),
    ))
}

/// Names the request that failed. A flush has no offset.
pub(crate) fn request(error: &TargetError) -> String {
    if error.operation == Operation::Flush {
        return error.operation.to_string();
    }
    format!("{} at {}", error.operation, position(error.offset_bytes))
}

/// The failure after the run, and in which rate it ended the attempt to record.
pub(super) fn later_failures(failures: &[LaterFailure]) -> Option<String> {
    let first = failures.first()?;
    Some(format!(
        "{} failed {}: {}: {}{}",
        without_controls(&first.target),
        while_doing(first),
        without_controls(&request(&first.error)),
        without_controls(&first.error.message),
        more_listed(failures.len()),
    ))
}

/// In which run after the first one a request failed.
pub(crate) fn while_doing(failure: &LaterFailure) -> String {
    match failure.paced_bytes_per_s {
        Some(paced) if failure.while_reading_back => {
            format!("in the run paced at {} that read back", rate(paced))
        }
        None if failure.while_reading_back => "while what was written was read back".to_owned(),
        Some(paced) => format!("in the run paced at {} that was to confirm it", rate(paced)),
        None => "in the trial of other data after the run".to_owned(),
    }
}

/// That there are more errors than the one which is told.
fn more_listed(count: usize) -> String {
    match count {
        1 => String::new(),
        2 => " (1 more error is listed)".to_owned(),
        _ => format!(" ({} more errors are listed)", count - 1),
    }
}
