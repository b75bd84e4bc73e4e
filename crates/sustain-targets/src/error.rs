//! The errors of opening targets.

/// The error kind: the request, a target, or a machine file is at fault. The exit code of the
/// command depends on it.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The request makes no sense; nothing was touched.
    #[error("{0}")]
    Usage(String),
    /// A target was refused or cannot be used, or the engine to drive it cannot be opened.
    #[error(transparent)]
    Disk(#[from] sustain_disk::error::Error),
    /// A machine file is wrong.
    #[error(transparent)]
    Machine(#[from] sustain_disk::simulated::MachineFileError),
}
