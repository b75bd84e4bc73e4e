//! What can go wrong between a saved result and its picture, for whoever named the file.
//! The caller knows the file's name and puts it in front; nothing here touches files.

/// Why a result could not be written, read back or drawn.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReportError {
    /// The text is no JSON at all.
    #[error("this is not JSON ({0}): give a file that `--json FILE` wrote, whole")]
    NotJson(#[source] serde_json::Error),
    /// JSON, but without a schema of this tool.
    #[error(
        "this JSON has no `schema`, so it is no result of sustain: \
         give a file that `--json FILE` of `sustain measure` or `sustain record` wrote"
    )]
    NoSchema,
    /// A document of another kind.
    #[error("this is a `{found}`, not {expected}")]
    OtherSchema {
        /// The schema that stands in the document.
        found: String,
        /// What was expected, and which command writes it.
        expected: &'static str,
    },
    /// A document of the right kind, in a version that did not exist yet.
    #[error("`{found}` was made by a newer sustain: update sustain to read it")]
    NewerSchema {
        /// The schema that stands in the document.
        found: String,
    },
    /// The right schema, but a field is missing or of another type.
    #[error("this `{schema}` is damaged or was edited ({error}): give the file as it was written")]
    Damaged {
        /// The schema that stands in the document.
        schema: String,
        /// What is wrong with it.
        #[source]
        error: serde_json::Error,
    },
    /// A result could not be written as JSON.
    #[error("the result could not be written as JSON ({0}): please report this")]
    NotWritable(#[source] serde_json::Error),
    /// A report of no results was asked for.
    #[error("there is no result to draw: name at least one RUN.json")]
    NoResults,
    /// The plotting library did not give its script in the form this page needs.
    #[error("the plotting library gave no script to carry in the page: please report this")]
    NoChartScript,
}
