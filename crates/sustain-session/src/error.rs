//! Why targets could not be had.

/// What is at fault: the demand, a target, or a machine file. The face's exit code depends on it.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// What was asked makes no sense; nothing was touched.
    #[error("{0}")]
    Usage(String),
    /// A target was refused or cannot be used, or the means to drive it cannot be had.
    #[error(transparent)]
    Disk(#[from] sustain_disk::error::Error),
    /// A machine file is wrong.
    #[error(transparent)]
    Machine(#[from] sustain_disk::simulated::MachineFileError),
}
