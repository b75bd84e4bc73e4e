//! The errors of driving disks: kind, target, offset, operation and source, in words that say what
//! to do next. An error either has its cause in its words or returns it as its source, never both.

use std::fmt;

use sustain_document::setting::{DEPTH, PATH, RECORD_SIZE, SIZE};
use sustain_document::vocabulary::Operation;

pub use crate::nvme::status::NvmeStatus;
pub use crate::scsi::fault::{HostStatus, ScsiFault, Sense};

/// Why a request failed, as the kernel or the drive itself says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum IoFault {
    /// The error number of a system call.
    Kernel(i32),
    /// The status of an NVMe command, of which no driver has made an error number.
    Nvme(NvmeStatus),
    /// What a SATA or SCSI disk answered, in the same way.
    Scsi(ScsiFault),
}

impl IoFault {
    /// The number, if it is one of the kernel.
    pub fn of_kernel(self) -> Option<i32> {
        match self {
            IoFault::Kernel(errno) => Some(errno),
            IoFault::Nvme(_) | IoFault::Scsi(_) => None,
        }
    }
}

impl fmt::Display for IoFault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            IoFault::Kernel(errno) => std::io::Error::from_raw_os_error(*errno).fmt(formatter),
            IoFault::Nvme(status) => status.fmt(formatter),
            IoFault::Scsi(fault) => fault.fmt(formatter),
        }
    }
}

/// A request that failed on a target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestError {
    /// The target's name.
    pub target: String,
    /// The operation that was tried.
    pub operation: Operation,
    /// The offset, in bytes from the start of the target.
    pub offset_bytes: u64,
    /// Why it failed.
    pub fault: IoFault,
}

impl RequestError {
    /// Why it failed and what to do next, without what was tried and where.
    pub fn reason(&self) -> String {
        match advice(self.fault) {
            Some(advice) => format!("{}. {advice}", self.fault),
            None => self.fault.to_string(),
        }
    }
}

impl fmt::Display for RequestError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let RequestError {
            target,
            operation,
            offset_bytes,
            ..
        } = self;
        let reason = self.reason();
        match operation {
            // It is of the whole target.
            Operation::Flush => write!(formatter, "{operation} on {target} failed: {reason}"),
            _ => write!(
                formatter,
                "{operation} on {target} at byte {offset_bytes} failed: {reason}"
            ),
        }
    }
}

impl std::error::Error for RequestError {}

fn advice(fault: IoFault) -> Option<String> {
    let errno = match fault {
        IoFault::Kernel(errno) => errno,
        IoFault::Nvme(status) => return Some(status.advice()),
        IoFault::Scsi(fault) => return Some(fault.advice()),
    };
    let fixed = match errno {
        // Drivers report a medium error by different numbers.
        libc::EIO | libc::ENODATA | libc::EILSEQ | libc::EREMOTEIO => Some(
            "The device could not do it: look at the kernel log (dmesg) and the disk's own \
             error counters (smartctl -x)",
        ),
        libc::ENOSPC => {
            return Some(format!(
                "No space is left there: free some, or use a smaller {SIZE}"
            ));
        }
        libc::EINVAL => {
            return Some(format!(
                "The device refused the request: its record size or alignment may not fit; try {} \
                 or {}",
                RECORD_SIZE.to("1MiB"),
                PATH.to("buffered")
            ));
        }
        libc::ETIMEDOUT => {
            Some("The device did not answer in time: look at the kernel log (dmesg) and its cable")
        }
        libc::ENODEV | libc::ENXIO => Some("The device is gone: check its cable and power"),
        libc::EROFS | libc::EPERM => Some("It may not be written: check that it is not read-only"),
        libc::EFBIG => {
            return Some(format!(
                "The file cannot grow that far: use a smaller {SIZE}"
            ));
        }
        libc::EDQUOT => Some("The disk quota is used up: free some space, or choose another place"),
        _ => None,
    };
    fixed.map(str::to_owned)
}

/// The reason why an engine or a target could not be opened or used.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// This kernel, container or limit refuses the engine.
    #[error("the engine {engine} cannot be used here: {why}")]
    EngineRefused {
        /// The engine's name.
        engine: &'static str,
        /// The version, sysctl, limit or rule that refuses it, and what to do.
        why: String,
    },
    /// The engine broke while in use.
    #[error("the engine {engine} failed: {error}")]
    EngineFailed {
        /// The engine's name.
        engine: &'static str,
        /// The kernel's error.
        error: std::io::Error,
    },
    /// A target could not be opened or is not fit for the work.
    #[error("{target}: {why}")]
    Target {
        /// The target's name.
        target: String,
        /// The error, and what to do next.
        why: String,
    },
    /// The guard refuses that a target is written.
    #[error("refusing to write {target}: {why}")]
    Refused {
        /// The target's name.
        target: String,
        /// The reason, and what to do.
        why: String,
    },
    /// Several targets were refused, or are not fit for the work.
    #[error("{}", one_a_line(.refusals))]
    Several {
        /// The reasons, in the order of the targets.
        refusals: Vec<Error>,
    },
    /// No memory for the buffers.
    #[error(
        "cannot get {bytes} bytes of memory for buffers: {error}. Use a smaller {} or {}",
        RECORD_SIZE,
        DEPTH
    )]
    Memory {
        /// The bytes that were asked for.
        bytes: usize,
        /// The kernel's error.
        error: std::io::Error,
    },
}

impl Error {
    /// Makes an error for a target that is not fit for the work.
    pub fn target(target: &str, why: impl Into<String>) -> Error {
        Error::Target {
            target: target.to_owned(),
            why: why.into(),
        }
    }

    /// All refusals as one error, so that a user learns at once what to type; `None` if there are
    /// none.
    pub fn of_all(mut refusals: Vec<Error>) -> Option<Error> {
        match refusals.len() {
            0 | 1 => refusals.pop(),
            _ => Some(Error::Several { refusals }),
        }
    }
}

fn one_a_line(refusals: &[Error]) -> String {
    let lines: Vec<String> = refusals.iter().map(Error::to_string).collect();
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_drive_answered_is_no_number_of_the_kernel() {
        let error = RequestError {
            target: "/dev/nvme0n1".to_owned(),
            operation: Operation::Read,
            offset_bytes: 4096,
            fault: IoFault::Nvme(NvmeStatus(0x4281)),
        };
        assert_eq!(error.fault.of_kernel(), None);
        let text = error.to_string();
        assert!(text.contains("the medium could not be read"), "{text}");
        assert!(text.contains("smartctl"), "{text}");
        assert_eq!(IoFault::Kernel(libc::EIO).of_kernel(), Some(libc::EIO));
    }

    #[test]
    fn a_medium_error_has_one_advice_whatever_the_driver_makes_of_it() {
        let reason = |errno| {
            let error = RequestError {
                target: "/dev/sdz".to_owned(),
                operation: Operation::Read,
                offset_bytes: 4096,
                fault: IoFault::Kernel(errno),
            };
            error.to_string()
        };
        // ATA and NVMe.
        for errno in [libc::EIO, libc::ENODATA] {
            let reason = reason(errno);
            assert!(reason.starts_with("read on /dev/sdz at byte 4096 failed: "));
            assert!(reason.contains("kernel log"), "{reason}");
        }
        assert!(!reason(libc::ELOOP).contains("kernel log"));
    }
}
