//! Why a store could not be made, opened, recorded to or read.

use sustain_disk::error::{Error, RequestError};
use sustain_disk::simulated::MachineFileError;
use sustain_session::SessionError;

/// What went wrong. The command's exit code depends on it.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// What was asked makes no sense; nothing was touched.
    #[error("{0}")]
    Usage(String),
    /// A member was refused or cannot be opened; nothing was written.
    #[error(transparent)]
    Target(Error),
    /// A machine file is wrong.
    #[error(transparent)]
    Machine(MachineFileError),
    /// What was named is no member, or cannot be one together with the others.
    #[error("{member}: {why}")]
    Member {
        /// As typed.
        member: String,
        /// What is wrong, and what to do.
        why: String,
    },
    /// Not all members of the store are there.
    #[error("{0}")]
    Incomplete(String),
    /// Two members tell of different recordings of the same number.
    #[error(
        "{first} and {second} disagree on recording {recording}: parts of this store have recorded \
         apart from each other. Read each part by itself"
    )]
    RecordedApart {
        /// The recording's number.
        recording: u32,
        /// A member, as typed.
        first: String,
        /// Another one that tells otherwise.
        second: String,
    },
    /// A member could not be read or written when it had to be.
    #[error(transparent)]
    Request(#[from] RequestError),
    /// A member did not answer for so long that it was given up, or none did.
    #[error("{0}")]
    Silent(String),
    /// The means to drive the members failed.
    #[error(transparent)]
    Engine(Error),
    /// The user ended it before it was done.
    #[error("{0}")]
    Interrupted(String),
}

impl RecordError {
    /// Whether the demand, rather than the work, was at fault.
    pub fn is_usage(&self) -> bool {
        match self {
            RecordError::Usage(_)
            | RecordError::Target(_)
            | RecordError::Machine(_)
            | RecordError::Member { .. }
            | RecordError::Incomplete(_) => true,
            RecordError::RecordedApart { .. }
            | RecordError::Request(_)
            | RecordError::Silent(_)
            | RecordError::Engine(_)
            | RecordError::Interrupted(_) => false,
        }
    }

    pub(crate) fn member(member: &str, why: impl Into<String>) -> RecordError {
        RecordError::Member {
            member: member.to_owned(),
            why: why.into(),
        }
    }
}

impl From<Error> for RecordError {
    fn from(error: Error) -> RecordError {
        match error {
            Error::EngineFailed { .. } | Error::Memory { .. } => RecordError::Engine(error),
            Error::EngineRefused { .. } | Error::Target { .. } | Error::Refused { .. } => {
                RecordError::Target(error)
            }
        }
    }
}

impl From<SessionError> for RecordError {
    fn from(error: SessionError) -> RecordError {
        match error {
            SessionError::Usage(text) => RecordError::Usage(text),
            SessionError::Disk(error) => error.into(),
            SessionError::Machine(error) => RecordError::Machine(error),
        }
    }
}
