//! The reasons why NVMe commands cannot be passed through here, in words that name the missing
//! version or right.

use io_uring::{IoUring, Probe, opcode};
use sustain_document::setting::PATH;

use super::super::ring;
use crate::error::{Error, IoFault};

/// Ring entries that are large enough for a command came with the commands themselves.
pub(super) fn check_kernel() -> Result<(), Error> {
    let plain = IoUring::new(1).map_err(|error| ring::refused(&error))?;
    let mut probe = Probe::new();
    let known = plain.submitter().register_probe(&mut probe);
    if known.is_ok() && probe.is_supported(opcode::UringCmd80::CODE) {
        return Ok(());
    }
    Err(refused(&format!(
        "this kernel does not pass NVMe commands through, which came with 5.19; use {}",
        PATH.to("direct")
    )))
}

pub(super) fn refused(why: &str) -> Error {
    Error::EngineRefused {
        engine: "io_uring",
        why: format!("passthrough: {why}"),
    }
}

/// The reason why the kernel did not pass on the first command.
pub(super) fn explain(errno: i32) -> String {
    let direct = PATH.to("direct");
    match errno {
        libc::EACCES | libc::EPERM => format!(
            "the kernel takes NVMe commands only from a process that has CAP_SYS_ADMIN: run as \
             root, or use {direct}"
        ),
        libc::EOPNOTSUPP | libc::ENOTTY | libc::EINVAL => format!(
            "this kernel's NVMe driver does not take commands by io_uring, which came with 5.19; \
             use {direct}"
        ),
        _ => format!("{}; use {direct}", IoFault::Kernel(errno)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_names_the_right_or_version_that_is_missing() {
        assert!(explain(libc::EACCES).contains("CAP_SYS_ADMIN"));
        assert!(explain(libc::EOPNOTSUPP).contains("5.19"));
        assert!(explain(libc::EIO).contains("the I/O path direct"));
    }
}
