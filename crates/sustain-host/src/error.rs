//! The errors of this crate. Each says which fact could not be read and what to do next. They are
//! returned to the caller, who prints them; a refusal to write is not an error but a `Refusal`.

use std::io;
use std::path::PathBuf;

/// The reason why a fact about the host could not be read.
#[derive(Debug, thiserror::Error)]
pub enum HostError {
    /// A file of sysfs or procfs, or a path given by the user, could not be read.
    #[error(
        "cannot read {}: {error}; are /sys and /proc mounted and readable here?",
        path.display()
    )]
    Read {
        /// The file or directory.
        path: PathBuf,
        /// The kernel's error.
        error: io::Error,
    },
    /// A file was read but does not have the expected content.
    #[error(
        "{} has content that was not expected ({why}); please report this with that content",
        path.display()
    )]
    Malformed {
        /// The file.
        path: PathBuf,
        /// What was wrong with it.
        why: String,
    },
    /// A block device is open, but sysfs does not have it.
    #[error(
        "no block device {major}:{minor} in {}; a container may hide it: run on the host, or \
         mount sysfs",
        path.display()
    )]
    NoSuchDevice {
        /// Major device number.
        major: u32,
        /// Minor device number.
        minor: u32,
        /// Where it was looked for.
        path: PathBuf,
    },
    /// An operation on an already open descriptor failed.
    #[error(
        "{operation} on {} failed: {error}; is the device healthy and opened for reading?",
        path.display()
    )]
    Descriptor {
        /// The target as typed.
        path: PathBuf,
        /// What was tried.
        operation: &'static str,
        /// The kernel's error.
        error: io::Error,
    },
    /// The kernel log could not be opened.
    #[error(
        "the kernel log cannot be read (/dev/kmsg: {error}), so messages about the disks are not \
         shown: run as root, or see sysctl kernel.dmesg_restrict and the mode of /dev/kmsg"
    )]
    KernelLog {
        /// The kernel's error.
        error: io::Error,
    },
}
