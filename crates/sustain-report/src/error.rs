//! The errors of writing, reading back and drawing results. The caller knows the name of the file
//! and puts it in front of the message; nothing here touches files.

/// The reason why a result could not be written, read back or drawn.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReportError {
    /// The text is not JSON.
    #[error("this is not JSON ({0}): give a complete file that `--json FILE` wrote")]
    NotJson(#[source] serde_json::Error),
    /// The text is JSON, but has no schema of this tool.
    #[error(
        "this JSON has no `schema`, so it is not a result of sustain: \
         give a file that `--json FILE` of `sustain measure` or `sustain record` wrote"
    )]
    NoSchema,
    /// The document is of another kind.
    #[error("this is a `{found}`, not {expected}")]
    OtherSchema {
        /// The schema that the document names.
        found: String,
        /// The schema that was expected, and the command that writes it.
        expected: &'static str,
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
        #[source]
        error: serde_json::Error,
    },
    /// A result could not be written as JSON.
    #[error("the result could not be written as JSON ({0}): please report this")]
    NotWritable(#[source] serde_json::Error),
    /// A report was asked for without any result.
    #[error("there is no result to draw: name at least one RUN.json")]
    NoResults,
    /// The plotting library did not return its script in the form that the page needs.
    #[error("the plotting library returned no script to put into the page: please report this")]
    NoChartScript,
}
