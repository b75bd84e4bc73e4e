//! Of what a sentence speaks.

use sustain_document::measure::MeasureResult;
use sustain_document::vocabulary::Direction;

/// The targets inside a sentence.
pub(super) fn targets(result: &MeasureResult) -> String {
    match result.targets.len() {
        1 => "this target".to_owned(),
        several => format!("these {several} targets"),
    }
}

/// Whether the run read.
pub(super) fn reads(result: &MeasureResult) -> bool {
    result.plan.direction == Direction::Read
}
