//! The errors of a load that could not be put on its targets.

/// The error kind, on which the command's exit code depends.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
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
    /// A machine file is wrong.
    #[error(transparent)]
    Machine(sustain_disk::simulated::MachineFileError),
}

impl LoadError {
    /// Whether the request, rather than the work, was at fault.
    pub fn is_usage(&self) -> bool {
        !matches!(self, LoadError::Engine(_) | LoadError::Prewrite(_))
    }
}

impl From<sustain_targets::OpenError> for LoadError {
    fn from(error: sustain_targets::OpenError) -> LoadError {
        use sustain_targets::OpenError;
        match error {
            OpenError::Usage(text) => LoadError::Usage(text),
            OpenError::Disk(error) => error.into(),
            OpenError::Machine(error) => LoadError::Machine(error),
        }
    }
}

impl From<sustain_disk::error::Error> for LoadError {
    fn from(error: sustain_disk::error::Error) -> LoadError {
        use sustain_disk::error::Error;
        match error {
            Error::EngineFailed { .. } | Error::Memory { .. } => LoadError::Engine(error),
            Error::EngineRefused { .. }
            | Error::Target { .. }
            | Error::Refused { .. }
            | Error::Several { .. } => LoadError::Target(error),
        }
    }
}
