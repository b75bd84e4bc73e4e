//! The errors of drawing results. The caller knows the name of the file
//! and puts it in front of the message; nothing here touches files.

/// The reason why a result could not be drawn.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReportError {
    /// A part of a result could not be written as JSON.
    #[error("the result could not be written as JSON ({0}): please report this")]
    NotWritable(serde_json::Error),
    /// A report was asked for without any result.
    #[error("there is no result to draw: name at least one RUN.json")]
    NoResults,
}
