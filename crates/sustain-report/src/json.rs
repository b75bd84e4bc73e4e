//! The result document as text, and back. `--json` writes it, `sustain report` reads it; a document
//! that this version does not know is refused, never guessed at.

use crate::ReportError;
use sustain_bench::result::{MEASURE_SCHEMA, MeasureResult};

/// The kind of document, without its version.
const MEASURE_KIND: &str = "sustain.measure";

/// The document as indented JSON with one final newline.
///
/// # Errors
/// [`ReportError::NotWritable`] if a field has no form in JSON.
pub fn write_measure(result: &MeasureResult) -> Result<String, ReportError> {
    let mut text = serde_json::to_string_pretty(result).map_err(ReportError::NotWritable)?;
    text.push('\n');
    Ok(text)
}

/// Reads what [`write_measure`] wrote.
///
/// # Errors
/// Says in plain words whether the text is no JSON, no result, a result of another command, one of
/// a newer version, or damaged.
pub fn read_measure(text: &str) -> Result<MeasureResult, ReportError> {
    // Two steps, so that a document of another kind is named rather than its first missing field.
    let value: serde_json::Value = serde_json::from_str(text).map_err(ReportError::NotJson)?;
    let found = value.get("schema").and_then(serde_json::Value::as_str);
    let found = found.ok_or(ReportError::NoSchema)?.to_owned();
    if found != MEASURE_SCHEMA {
        return Err(refusal(found));
    }
    serde_json::from_value(value).map_err(ReportError::Damaged)
}

fn refusal(found: String) -> ReportError {
    match found.split_once('/') {
        Some((MEASURE_KIND, version)) if version.parse::<u32>().is_ok_and(|v| v > 1) => {
            ReportError::NewerSchema { found }
        }
        _ => ReportError::OtherSchema { found },
    }
}
