//! How a command ended, as scripts see it.

use std::process::ExitCode;

use sustain::record::RecordError;

use crate::usage_error::UsageError;

/// How a command ended, for scripts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Everything went well.
    Done,
    /// The work failed: I/O errors, or `--rate` was not held, or not shown to hold.
    Failed,
    /// Wrong usage, or a refused target.
    Usage,
    /// Ctrl-C ended it, with the result of what was done.
    Interrupted,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(exit.code())
    }
}

impl Exit {
    /// What a shell sees.
    pub(crate) fn code(self) -> u8 {
        match self {
            Exit::Done => 0,
            Exit::Failed => 1,
            Exit::Usage => 2,
            Exit::Interrupted => 130,
        }
    }

    /// The ending that an error is.
    pub(crate) fn from_error(error: &anyhow::Error) -> Exit {
        if let Some(error) = error.downcast_ref::<RecordError>() {
            return match error {
                RecordError::Interrupted(_) => Exit::Interrupted,
                error if error.is_usage() => Exit::Usage,
                _ => Exit::Failed,
            };
        }
        if let Some(error) = error.downcast_ref::<sustain::mount::MountError>() {
            return if error.is_usage() {
                Exit::Usage
            } else {
                Exit::Failed
            };
        }
        match error.downcast_ref::<sustain::measure::MeasureError>() {
            Some(error) if !error.is_usage() => Exit::Failed,
            Some(_) => Exit::Usage,
            None if error.is::<UsageError>() => Exit::Usage,
            None => Exit::Failed,
        }
    }
}
