//! The errors of this crate: why a store could not be created, opened, recorded to or read.

use sustain_disk::error::{Error, RequestError};
use sustain_disk::simulated::MachineFileError;
use sustain_document::setting::{DESTROY, ONTO};
use sustain_targets::OpenError;

/// An error of a command on a store. The exit code of the command depends on its kind.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecordError {
    /// The request makes no sense; nothing was touched.
    #[error("{0}")]
    Usage(String),
    /// A member was refused or cannot be opened; nothing was written.
    #[error(transparent)]
    Target(Error),
    /// A machine file is not valid.
    #[error(transparent)]
    Machine(MachineFileError),
    /// A file or device is not a member, or does not belong together with the others.
    #[error("{member}: {why}")]
    Member {
        /// The name as typed.
        member: String,
        /// What is wrong, and what to do.
        why: String,
    },
    /// A file could not be given the blocks that it needs.
    #[error("{member}: {why}")]
    NoBlocks {
        /// The name as typed.
        member: String,
        /// What failed, and what to do.
        why: String,
    },
    /// There is another store where one was followed.
    #[error("{0}")]
    Replaced(String),
    /// Not all members of the store were given.
    #[error("{0}")]
    Incomplete(String),
    /// Two members have different recordings with the same number.
    #[error(
        "{first} and {second} disagree on recording {recording}: parts of this store have recorded \
         apart from each other. Read each part by itself. To have one store again, extract what \
         you need of one part; then, if there is parity, let `sustain repair` rebuild its members \
         from the other part, with {} and {}",
        ONTO.flag(),
        DESTROY.flag()
    )]
    RecordedApart {
        /// The recording's number.
        recording: u32,
        /// The name of a member, as typed.
        first: String,
        /// The name of another member, which disagrees.
        second: String,
    },
    /// A member could not be read or written although it had to be.
    #[error(transparent)]
    Request(#[from] RequestError),
    /// A member did not answer for so long that it was given up, or no member answered.
    #[error("{0}")]
    Silent(String),
    /// The engine or the memory to drive the members failed.
    #[error(transparent)]
    Engine(Error),
    /// The kernel gives the work no thread.
    #[error("cannot start a thread: is the limit on tasks reached (ulimit -u)?")]
    Thread(#[source] std::io::Error),
    /// The user ended the command before it was done.
    #[error("{0}")]
    Interrupted(String),
}

impl RecordError {
    /// Whether the request was at fault, and not the work.
    pub fn is_usage(&self) -> bool {
        match self {
            RecordError::Usage(_)
            | RecordError::Target(_)
            | RecordError::Machine(_)
            | RecordError::Member { .. }
            | RecordError::Incomplete(_) => true,
            RecordError::RecordedApart { .. }
            | RecordError::NoBlocks { .. }
            | RecordError::Replaced(_)
            | RecordError::Request(_)
            | RecordError::Silent(_)
            | RecordError::Engine(_)
            | RecordError::Thread(_)
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
            Error::EngineRefused { .. }
            | Error::Target { .. }
            | Error::Refused { .. }
            | Error::Several { .. } => RecordError::Target(error),
        }
    }
}

impl From<OpenError> for RecordError {
    fn from(error: OpenError) -> RecordError {
        match error {
            OpenError::Usage(text) => RecordError::Usage(text),
            OpenError::Disk(error) => error.into(),
            OpenError::Machine(error) => RecordError::Machine(error),
        }
    }
}
