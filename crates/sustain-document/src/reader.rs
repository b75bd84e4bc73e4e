//! Writes documents as text and reads them back: `--json` writes them, and `sustain report` and
//! `sustain compare` read them. A document that this version does not know is refused, never
//! guessed at.
//!
//! ```
//! use sustain_document::measure::MeasureResult;
//! use sustain_document::reader::{DocumentError, read};
//!
//! let newer = r#"{ "schema": "sustain.measure/2" }"#;
//! let refused = read::<MeasureResult>(newer).unwrap_err();
//! assert!(matches!(refused, DocumentError::NewerSchema { .. }));
//! ```

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::compare::{COMPARE_SCHEMA, CompareResult};
use crate::control::{CONTROL_SCHEMA, ControlAnswer, ControlRequest};
use crate::create::{CREATE_SCHEMA, CreateDocument};
use crate::devices::{DEVICES_SCHEMA, DevicesDocument};
use crate::diagnose::{DIAGNOSE_SCHEMA, DiagnoseResult};
use crate::extract::{EXTRACT_SCHEMA, ExtractDocument};
use crate::list::{LIST_SCHEMA, ListDocument};
use crate::matrix::{MATRIX_SCHEMA, MatrixResult};
use crate::measure::{MEASURE_SCHEMA, MeasureResult};
use crate::profile::{PROFILE_SCHEMA, ProfileResult};
use crate::record::{RECORD_SCHEMA, RecordResult};
use crate::recover::{RECOVER_SCHEMA, RecoverDocument};
use crate::repair::{REPAIR_SCHEMA, RepairDocument};
use crate::retire::{RETIRE_SCHEMA, RetireDocument};
use crate::scrub::{SCRUB_SCHEMA, ScrubDocument};
use crate::status::{STATUS_SCHEMA, StatusLine};
use crate::sweep::{SWEEP_SCHEMA, SweepResult};
use crate::unpin::{UNPIN_SCHEMA, UnpinDocument};
use crate::verify::{VERIFY_SCHEMA, VerifyDocument};

/// The reason why a document could not be written or read back. The caller knows the name of the
/// file and puts it in front of the message; nothing here touches files.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DocumentError {
    /// The text is not JSON.
    #[error("this is not JSON ({0}): give a complete document that sustain wrote as JSON")]
    NotJson(serde_json::Error),
    /// The text is JSON, but has no schema of this tool.
    #[error(
        "this JSON has no `schema`, so it is not a result of sustain: \
         give a document that `sustain measure` or `sustain record` wrote as JSON"
    )]
    NoSchema,
    /// The document is of another kind.
    #[error("this is a `{found}`, not {expected}")]
    OtherSchema {
        /// The schema that the document names.
        found: String,
        /// The schema that was expected, and the command that writes it.
        expected: String,
    },
    /// The document is of the right kind, in a version that is newer than this program.
    #[error("`{found}` was written by a newer version of sustain: update sustain to read it")]
    NewerSchema {
        /// The schema that the document names.
        found: String,
    },
    /// The schema is the right one, but a field is missing or has another type.
    #[error("this `{schema}` is damaged or was edited ({error}): give the file as it was written")]
    Damaged {
        /// The schema that the document names.
        schema: String,
        /// The field that is wrong, and where.
        error: serde_json::Error,
    },
    /// A result could not be written as JSON.
    #[error("the result could not be written as JSON ({0}): please report this")]
    NotWritable(serde_json::Error),
}

/// A document that one command writes.
pub trait Document: Serialize + DeserializeOwned {
    /// Its kind and version, as its field `schema` has them.
    const SCHEMA: &'static str;
}

macro_rules! documents {
    ($($document:ty: $schema:expr),+ $(,)?) => {
        $(impl Document for $document {
            const SCHEMA: &'static str = $schema;
        })+
    };
}

documents! {
    CompareResult: COMPARE_SCHEMA,
    ControlAnswer: CONTROL_SCHEMA,
    CreateDocument: CREATE_SCHEMA,
    DevicesDocument: DEVICES_SCHEMA,
    DiagnoseResult: DIAGNOSE_SCHEMA,
    ExtractDocument: EXTRACT_SCHEMA,
    ListDocument: LIST_SCHEMA,
    MatrixResult: MATRIX_SCHEMA,
    MeasureResult: MEASURE_SCHEMA,
    ProfileResult: PROFILE_SCHEMA,
    RecordResult: RECORD_SCHEMA,
    RecoverDocument: RECOVER_SCHEMA,
    RepairDocument: REPAIR_SCHEMA,
    RetireDocument: RETIRE_SCHEMA,
    ScrubDocument: SCRUB_SCHEMA,
    StatusLine: STATUS_SCHEMA,
    SweepResult: SWEEP_SCHEMA,
    UnpinDocument: UNPIN_SCHEMA,
    VerifyDocument: VERIFY_SCHEMA,
}

/// The document as indented JSON with one final newline.
///
/// # Errors
/// [`DocumentError::NotWritable`] if a field has no form in JSON.
pub fn write(document: &impl Document) -> Result<String, DocumentError> {
    let mut text = serde_json::to_string_pretty(document).map_err(DocumentError::NotWritable)?;
    text.push('\n');
    Ok(text)
}

/// The document as one line of JSON with its newline.
///
/// # Errors
/// [`DocumentError::NotWritable`] if a field has no form in JSON.
pub fn write_line(document: &impl Document) -> Result<String, DocumentError> {
    let mut line = serde_json::to_string(document).map_err(DocumentError::NotWritable)?;
    line.push('\n');
    Ok(line)
}

/// A request as one line of JSON with its newline.
///
/// # Errors
/// [`DocumentError::NotWritable`] if a field has no form in JSON.
pub fn write_request(request: &ControlRequest) -> Result<String, DocumentError> {
    let mut line = serde_json::to_string(request).map_err(DocumentError::NotWritable)?;
    line.push('\n');
    Ok(line)
}

/// Reads a document of one kind.
///
/// # Errors
/// The error says whether the text is not JSON, not a document, one of another kind or of a newer
/// version, or damaged.
pub fn read<D: Document>(text: &str) -> Result<D, DocumentError> {
    Unread::of(text)?.into_document()
}

/// A saved document of any command that draws a page.
#[derive(Debug, Clone, PartialEq)]
pub enum Saved {
    /// The result of `sustain measure`.
    Measure(Box<MeasureResult>),
    /// The result of `sustain record`.
    Record(Box<RecordResult>),
    /// The result of `sustain repair`.
    Repair(Box<RepairDocument>),
    /// The result of `sustain diagnose`.
    Diagnose(Box<DiagnoseResult>),
    /// The result of `sustain diagnose --matrix`.
    Matrix(Box<MatrixResult>),
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
/// The errors are those of [`read`].
pub fn read_saved(text: &str) -> Result<Saved, DocumentError> {
    let unread = Unread::of(text)?;
    match kind_of(&unread.schema) {
        kind if kind == kind_of(MEASURE_SCHEMA) => unread.into_boxed().map(Saved::Measure),
        kind if kind == kind_of(RECORD_SCHEMA) => unread.into_boxed().map(Saved::Record),
        kind if kind == kind_of(REPAIR_SCHEMA) => unread.into_boxed().map(Saved::Repair),
        kind if kind == kind_of(DIAGNOSE_SCHEMA) => unread.into_boxed().map(Saved::Diagnose),
        kind if kind == kind_of(MATRIX_SCHEMA) => unread.into_boxed().map(Saved::Matrix),
        kind if kind == kind_of(PROFILE_SCHEMA) => unread.into_boxed().map(Saved::Profile),
        kind if kind == kind_of(SWEEP_SCHEMA) => unread.into_boxed().map(Saved::Sweep),
        kind if kind == kind_of(COMPARE_SCHEMA) => unread.into_boxed().map(Saved::Compare),
        _ => Err(DocumentError::OtherSchema {
            found: unread.schema,
            expected: "a `sustain.measure/1`, `sustain.record/1`, `sustain.repair/1`, \
                       `sustain.diagnose/1`, `sustain.matrix/1`, `sustain.profile/1`, \
                       `sustain.sweep/1` or `sustain.compare/1`: give a result of `sustain \
                       measure`, `record`, `repair`, `diagnose`, `profile`, `sweep` or `compare`"
                .to_owned(),
        }),
    }
}

/// `sustain.measure` of `sustain.measure/1`.
fn kind_of(schema: &str) -> &str {
    schema.split_once('/').map_or(schema, |(kind, _)| kind)
}

/// JSON whose schema is known. It is read in two steps, so that the error about a document of
/// another kind names that kind rather than the first missing field.
struct Unread {
    value: serde_json::Value,
    schema: String,
}

impl Unread {
    fn of(text: &str) -> Result<Unread, DocumentError> {
        let value: serde_json::Value =
            serde_json::from_str(text).map_err(DocumentError::NotJson)?;
        let schema = value.get("schema").and_then(serde_json::Value::as_str);
        let schema = schema.ok_or(DocumentError::NoSchema)?.to_owned();
        Ok(Unread { value, schema })
    }

    fn into_boxed<D: Document>(self) -> Result<Box<D>, DocumentError> {
        self.into_document().map(Box::new)
    }

    fn into_document<D: Document>(self) -> Result<D, DocumentError> {
        let Unread { value, schema } = self;
        if schema == D::SCHEMA {
            return serde_json::from_value(value)
                .map_err(|error| DocumentError::Damaged { schema, error });
        }
        let version = |schema: &str| schema.split_once('/')?.1.parse::<u32>().ok();
        let is_newer =
            kind_of(&schema) == kind_of(D::SCHEMA) && version(&schema) > version(D::SCHEMA);
        if is_newer {
            return Err(DocumentError::NewerSchema { found: schema });
        }
        let command = kind_of(D::SCHEMA).replace('.', " ");
        Err(DocumentError::OtherSchema {
            found: schema,
            expected: format!("a `{}`: give a result of `{command}`", D::SCHEMA),
        })
    }
}
