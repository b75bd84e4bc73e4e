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
        "there is no control group beside the recorder's own, {own}, whose I/O can be limited: in \
         version 2 the parent of such a group must pass the controller io on to it (`echo +io | \
         sudo tee PARENT/cgroup.subtree_control`)"
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
    /// There is no place where limits that are set can be written down.
    #[error("limits that are set cannot be written down, so none is set")]
    Directory(#[source] io::Error),
    /// Another recorder holds others back on the same disk.
    #[error("another recorder already holds others back on the disk {major}:{minor}")]
    Claimed {
        /// Major device number.
        major: u32,
        /// Minor device number.
        minor: u32,
    },
    /// No limit may be set.
    #[error("no limit of a control group may be set: {path}: {error} (it needs root)")]
    NotAllowed {
        /// A file of a limit.
        path: PathBuf,
        /// The kernel's answer.
        error: io::Error,
    },
    /// The process that puts limits back after a crash could not be started.
    #[error("the process that puts limits back after a crash could not be started")]
    Supervisor(#[source] io::Error),
}
