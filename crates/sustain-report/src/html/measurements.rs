//! The page of one or several measurements: side by side if they are several, and each by itself.

use sustain_document::compare::CompareResult;
use sustain_document::measure::MeasureResult;

use super::page::frame;
use super::section::{name, section};
use super::side_by_side::{names, side_by_side};
use crate::ReportError;

/// The whole page of measurements.
pub(super) fn page(
    results: &[MeasureResult],
    labels: &[String],
    comparison: Option<&CompareResult>,
) -> Result<String, ReportError> {
    let mut body = String::new();
    let mut marks = vec![None; results.len()];
    if results.len() > 1 {
        body.push_str(&side_by_side(results, labels, comparison));
        marks = names(results, labels).into_iter().map(Some).collect();
    }
    for (index, (result, mark)) in results.iter().zip(&marks).enumerate() {
        body.push_str(&section(result, index, mark.as_deref())?);
    }
    let version = results
        .first()
        .map_or("", |result| result.plan.sustain_version.as_str());
    Ok(frame(&title(results), version, &body))
}

fn title(results: &[MeasureResult]) -> String {
    match results {
        [only] => format!("sustain: {}", name(only)),
        several => format!("sustain: {} measurements", several.len()),
    }
}
