//! The errors of mounting, each with what to do next.

use sustain_record::error::RecordError;

/// Why a store was not mounted, or a mount did not end in order.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MountError {
    /// The request makes no sense, or the machine does not allow it; nothing was mounted.
    #[error("{0}")]
    Refused(String),
    /// The store cannot be opened or read.
    #[error(transparent)]
    Store(#[from] RecordError),
    /// The kernel or `fusermount3` failed.
    #[error("{what}")]
    Failed {
        /// What was tried.
        what: String,
        /// What came of it.
        #[source]
        error: std::io::Error,
    },
}

impl MountError {
    /// Whether the request was at fault, and not the work.
    pub fn is_usage(&self) -> bool {
        match self {
            MountError::Refused(_) => true,
            MountError::Store(error) => error.is_usage(),
            MountError::Failed { .. } => false,
        }
    }
}
