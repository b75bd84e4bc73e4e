//! Why nobody can be held back, or why a limit could not be put back.

use std::io;
use std::path::PathBuf;

use sustain_host::HostError;
use thiserror::Error;

/// Why nobody can be held back.
#[derive(Debug, Error)]
pub enum HoldBackError {
    /// The host could not be read.
    #[error(transparent)]
    Host(#[from] HostError),
    /// There is nothing that knows who uses a disk.
    #[error(
        "no control groups that limit I/O are mounted here (the controller blkio of version 1, or \
         io of version 2)"
    )]
    NoControlGroups,
    /// No disk is known under the members.
    #[error("no disk is known under the members")]
    NoDisk,
    /// There is nobody beside the recorder who could be limited.
    #[error(
        "there is no control group beside the recorder's own, {own}, that can have a limit of I/O: \
         in version 2 its parent must pass the controller on (`echo +io | sudo tee \
         PARENT/cgroup.subtree_control`)"
    )]
    NobodyBeside {
        /// The recorder's own group.
        own: PathBuf,
    },
    /// What is set could not be written down, so nothing is set.
    #[error(
        "{path}: the limits that are set have to be written down here, so that they can be put \
         back after a crash"
    )]
    Journal {
        /// The file or directory.
        path: PathBuf,
        /// The cause.
        #[source]
        error: io::Error,
    },
    /// The place of the journal is not safe from others.
    #[error("{path} belongs to another user, or others may write to it: remove it first")]
    UnsafeDirectory {
        /// The directory.
        path: PathBuf,
    },
    /// The process that puts limits back after a crash could not be started.
    #[error("the process that puts limits back after a crash could not be started")]
    Supervisor(#[source] io::Error),
}
