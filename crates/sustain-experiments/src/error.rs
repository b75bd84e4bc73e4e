//! The errors of an experiment that could not be made.

use sustain_load::error::LoadError;

/// The error kind, on which the command's exit code depends.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MeasureError {
    /// The request makes no sense; nothing was touched.
    #[error("{0}")]
    Usage(String),
    /// The targets could not be opened or driven.
    #[error(transparent)]
    Load(LoadError),
    /// An array could not be stopped, or its members could not be claimed again.
    #[error("{0}")]
    Array(String),
}

impl MeasureError {
    /// Whether the request, rather than the work, was at fault.
    pub fn is_usage(&self) -> bool {
        match self {
            MeasureError::Usage(_) => true,
            MeasureError::Load(error) => error.is_usage(),
            MeasureError::Array(_) => false,
        }
    }
}

impl From<LoadError> for MeasureError {
    fn from(error: LoadError) -> MeasureError {
        match error {
            LoadError::Usage(text) => MeasureError::Usage(text),
            error => MeasureError::Load(error),
        }
    }
}

impl From<sustain_targets::OpenError> for MeasureError {
    fn from(error: sustain_targets::OpenError) -> MeasureError {
        LoadError::from(error).into()
    }
}

impl From<sustain_disk::error::Error> for MeasureError {
    fn from(error: sustain_disk::error::Error) -> MeasureError {
        LoadError::from(error).into()
    }
}
