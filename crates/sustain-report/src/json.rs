//! Writes result documents as text and reads them back: `--json` writes them, and `sustain report`
//! reads them. A document that this version does not know is refused, never guessed at.

pub use crate::status::{STATUS_SCHEMA, StatusLine, StatusMember, StatusStream};

use crate::ReportError;
use sustain_bench::compare::result::{COMPARE_SCHEMA, CompareResult};
use sustain_bench::diagnose::result::{DIAGNOSE_SCHEMA, DiagnoseResult};
use sustain_bench::profile::result::{PROFILE_SCHEMA, ProfileResult};
use sustain_bench::result::{MEASURE_SCHEMA, MeasureResult};
use sustain_bench::sweep::result::{SWEEP_SCHEMA, SweepResult};
use sustain_record::recorder::Standing;
use sustain_record::result::{RecordResult, SCHEMA as RECORD_SCHEMA};

/// The kinds of documents, without their versions.
const MEASURE_KIND: &str = "sustain.measure";
const RECORD_KIND: &str = "sustain.record";
const DIAGNOSE_KIND: &str = "sustain.diagnose";
const PROFILE_KIND: &str = "sustain.profile";
const SWEEP_KIND: &str = "sustain.sweep";
const COMPARE_KIND: &str = "sustain.compare";

/// The document as indented JSON with one final newline.
///
/// # Errors
/// [`ReportError::NotWritable`] if a field has no form in JSON.
pub fn write_measure(result: &MeasureResult) -> Result<String, ReportError> {
    let mut text = serde_json::to_string_pretty(result).map_err(ReportError::NotWritable)?;
    text.push('\n');
    Ok(text)
}

/// Any other document as indented JSON with one final newline.
///
/// # Errors
/// [`ReportError::NotWritable`] if a field has no form in JSON.
pub fn write_document(document: &impl serde::Serialize) -> Result<String, ReportError> {
    let mut text = serde_json::to_string_pretty(document).map_err(ReportError::NotWritable)?;
    text.push('\n');
    Ok(text)
}

/// A recording's result as indented JSON with one final newline.
///
/// # Errors
/// [`ReportError::NotWritable`] if a field has no form in JSON.
pub fn write_record(result: &RecordResult) -> Result<String, ReportError> {
    let mut text = serde_json::to_string_pretty(result).map_err(ReportError::NotWritable)?;
    text.push('\n');
    Ok(text)
}

/// The state of a recording as one line of JSON with its newline.
///
/// # Errors
/// [`ReportError::NotWritable`] if a field has no form in JSON.
pub fn status_line(standing: &Standing) -> Result<String, ReportError> {
    let mut line =
        serde_json::to_string(&StatusLine::of(standing)).map_err(ReportError::NotWritable)?;
    line.push('\n');
    Ok(line)
}

/// A saved document of any command that draws a page.
#[derive(Debug, Clone, PartialEq)]
pub enum Saved {
    /// The result of `sustain measure`.
    Measure(Box<MeasureResult>),
    /// The result of `sustain record`.
    Record(Box<RecordResult>),
    /// The result of `sustain diagnose`.
    Diagnose(Box<DiagnoseResult>),
    /// The result of `sustain profile`.
    Profile(Box<ProfileResult>),
    /// The result of `sustain sweep`.
    Sweep(Box<SweepResult>),
    /// The result of `sustain compare`.
    Compare(Box<CompareResult>),
}

/// Reads a document of any command that draws a page.
///
/// # Errors
/// The error says whether the text is not JSON, not a result, a result of another command, one of a
/// newer version, or damaged.
pub fn read_saved(text: &str) -> Result<Saved, ReportError> {
    let document = Document::read(text)?;
    match document.kind() {
        MEASURE_KIND => document.into_result(&MEASURE).map(Saved::Measure),
        RECORD_KIND => document.into_result(&RECORD).map(Saved::Record),
        DIAGNOSE_KIND => document.into_result(&DIAGNOSE).map(Saved::Diagnose),
        PROFILE_KIND => document.into_result(&PROFILE).map(Saved::Profile),
        SWEEP_KIND => document.into_result(&SWEEP).map(Saved::Sweep),
        COMPARE_KIND => document.into_result(&COMPARE).map(Saved::Compare),
        _ => Err(document.refusal(
            "a `sustain.measure/1`, `sustain.record/1`, `sustain.diagnose/1`, `sustain.profile/1`, \
             `sustain.sweep/1` or `sustain.compare/1`: give a result of `sustain measure`, \
             `record`, `diagnose`, `profile`, `sweep` or `compare`",
        )),
    }
}

/// Reads a document that [`write_measure`] wrote.
///
/// # Errors
/// The errors are those of [`read_saved`].
pub fn read_measure(text: &str) -> Result<MeasureResult, ReportError> {
    Document::read(text)?
        .into_result(&MEASURE)
        .map(|result| *result)
}

/// Reads the document of `sustain profile`.
///
/// # Errors
/// The errors are those of [`read_saved`].
pub fn read_profile(text: &str) -> Result<ProfileResult, ReportError> {
    Document::read(text)?
        .into_result(&PROFILE)
        .map(|result| *result)
}

/// Reads a document that [`write_record`] wrote.
///
/// # Errors
/// The errors are those of [`read_saved`].
pub fn read_record(text: &str) -> Result<RecordResult, ReportError> {
    Document::read(text)?
        .into_result(&RECORD)
        .map(|result| *result)
}

/// A kind of document, as this version writes it.
struct Kind {
    name: &'static str,
    schema: &'static str,
    expected: &'static str,
}

const MEASURE: Kind = Kind {
    name: MEASURE_KIND,
    schema: MEASURE_SCHEMA,
    expected: "a `sustain.measure/1`: give a result of `sustain measure`",
};
const RECORD: Kind = Kind {
    name: RECORD_KIND,
    schema: RECORD_SCHEMA,
    expected: "a `sustain.record/1`: give a result of `sustain record`",
};

const DIAGNOSE: Kind = Kind {
    name: DIAGNOSE_KIND,
    schema: DIAGNOSE_SCHEMA,
    expected: "a `sustain.diagnose/1`: give a result of `sustain diagnose`",
};
const PROFILE: Kind = Kind {
    name: PROFILE_KIND,
    schema: PROFILE_SCHEMA,
    expected: "a `sustain.profile/1`: give a result of `sustain profile`",
};

const SWEEP: Kind = Kind {
    name: SWEEP_KIND,
    schema: SWEEP_SCHEMA,
    expected: "a `sustain.sweep/1`: give a result of `sustain sweep`",
};

const COMPARE: Kind = Kind {
    name: COMPARE_KIND,
    schema: COMPARE_SCHEMA,
    expected: "a `sustain.compare/1`: give a result of `sustain compare`",
};

/// JSON whose schema is known. It is read in two steps, so that the error about a document of
/// another kind names that kind rather than the first missing field.
struct Document {
    value: serde_json::Value,
    schema: String,
}

impl Document {
    fn read(text: &str) -> Result<Document, ReportError> {
        let value: serde_json::Value = serde_json::from_str(text).map_err(ReportError::NotJson)?;
        let schema = value.get("schema").and_then(serde_json::Value::as_str);
        let schema = schema.ok_or(ReportError::NoSchema)?.to_owned();
        Ok(Document { value, schema })
    }

    /// The schema without its version.
    fn kind(&self) -> &str {
        self.schema
            .split_once('/')
            .map_or(self.schema.as_str(), |(kind, _)| kind)
    }

    fn into_result<T: serde::de::DeserializeOwned>(
        self,
        kind: &Kind,
    ) -> Result<Box<T>, ReportError> {
        if self.schema != kind.schema {
            let version = self.schema.split_once('/').map(|(_, version)| version);
            let is_newer = self.kind() == kind.name
                && version.is_some_and(|v| v.parse::<u32>().is_ok_and(|v| v > 1));
            return Err(if is_newer {
                let found = self.schema;
                ReportError::NewerSchema { found }
            } else {
                self.refusal(kind.expected)
            });
        }
        let schema = self.schema;
        serde_json::from_value(self.value).map_err(|error| ReportError::Damaged { schema, error })
    }

    fn refusal(self, expected: &'static str) -> ReportError {
        ReportError::OtherSchema {
            found: self.schema,
            expected,
        }
    }
}
