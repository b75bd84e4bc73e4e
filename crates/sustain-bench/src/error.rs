//! The errors of a measuring run that could not be made.

/// The error kind, on which the command's exit code depends.
#[derive(Debug, thiserror::Error)]
pub enum MeasureError {
    /// The request makes no sense; nothing was touched.
    #[error("{0}")]
    Usage(String),
    /// A target was refused or cannot be used; nothing was written.
    #[error(transparent)]
    Target(sustain_disk::error::Error),
    /// The work itself failed.
    #[error(transparent)]
    Engine(sustain_disk::error::Error),
    /// A file could not be written before the run.
    #[error("preparing it before the run: {0}")]
    Prewrite(sustain_disk::error::RequestError),
    /// An array could not be stopped, or its members could not be claimed again.
    #[error("{0}")]
    Array(String),
    /// A machine file is wrong.
    #[error(transparent)]
    Machine(sustain_disk::simulated::MachineFileError),
}

impl MeasureError {
    /// Whether the request, rather than the work, was at fault.
    pub fn is_usage(&self) -> bool {
        !matches!(
            self,
            MeasureError::Engine(_) | MeasureError::Prewrite(_) | MeasureError::Array(_)
        )
    }
}

impl From<sustain_session::SessionError> for MeasureError {
    fn from(error: sustain_session::SessionError) -> MeasureError {
        use sustain_session::SessionError;
        match error {
            SessionError::Usage(text) => MeasureError::Usage(text),
            SessionError::Disk(error) => error.into(),
            SessionError::Machine(error) => MeasureError::Machine(error),
        }
    }
}

impl From<sustain_disk::error::Error> for MeasureError {
    fn from(error: sustain_disk::error::Error) -> MeasureError {
        use sustain_disk::error::Error;
        match error {
            Error::EngineFailed { .. } | Error::Memory { .. } => MeasureError::Engine(error),
            Error::EngineRefused { .. } | Error::Target { .. } | Error::Refused { .. } => {
                MeasureError::Target(error)
            }
        }
    }
}
