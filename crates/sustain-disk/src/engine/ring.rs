//! What the engines over an io_uring share: building it, waiting on it, ending the wait from another
//! thread, and telling why the kernel refuses it. It knows nothing of what else is in its entries.

use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::Arc;

use io_uring::types::{Fd, SubmitArgs, Timespec};
use io_uring::{IoUring, cqueue, opcode, squeue};

use super::{Until, Waker, waker};
use crate::clock::Clock;
use crate::error::Error;

/// Marks the completions of the waker's poll.
const WAKER_TOKEN: u64 = u64::MAX;
/// The kernel's own bound on ring entries.
pub(super) const ENTRIES_MAX: u32 = 32_768;

/// The newest way of running a ring that this kernel knows, and which it is.
pub(super) fn build<S: squeue::EntryMarker, C: cqueue::EntryMarker>(
    entries: u32,
) -> Result<(IoUring<S, C>, &'static str), Error> {
    let deferred = IoUring::<S, C>::builder()
        .setup_single_issuer()
        .setup_defer_taskrun()
        .dontfork()
        .build(entries);
    let (ring, mode) = match deferred {
        Ok(ring) => (ring, "deferred task work"),
        // Before 6.1 the flags are unknown.
        Err(error) if error.raw_os_error() == Some(libc::EINVAL) => {
            let plain = IoUring::<S, C>::builder().dontfork().build(entries);
            (plain.map_err(|error| refused(&error))?, "plain ring")
        }
        Err(error) => return Err(refused(&error)),
    };
    if !ring.params().is_feature_ext_arg() {
        return Err(Error::EngineRefused {
            engine: "io_uring",
            why: "this kernel is older than 5.11 (no timed wait); use --engine libaio or threads"
                .to_owned(),
        });
    }
    Ok((ring, mode))
}

/// Hands over what is in the ring and waits as `until` says.
pub(super) fn enter<S: squeue::EntryMarker, C: cqueue::EntryMarker>(
    ring: &IoUring<S, C>,
    until: Until,
    clock: &Clock,
) -> Result<(), Error> {
    // Waiting for one with a time of 0 still runs the ring's deferred work.
    let wait_ns = match until {
        Until::Now => 0,
        Until::CompletionOr(deadline) => deadline.since_ns(clock.now()),
    };
    let time = Timespec::new()
        .sec(wait_ns / 1_000_000_000)
        .nsec((wait_ns % 1_000_000_000) as u32);
    let arguments = SubmitArgs::new().timespec(&time);
    match ring.submitter().submit_with_args(1, &arguments) {
        Ok(_) => Ok(()),
        Err(error) => match error.raw_os_error() {
            // Time is up; a signal came; completions must be reaped first.
            Some(libc::ETIME | libc::EINTR | libc::EBUSY | libc::EAGAIN) => Ok(()),
            _ => Err(failed(error)),
        },
    }
}

/// The ring's poll of the counter by which others end its wait.
pub(super) struct WakerPoll {
    counter: Arc<OwnedFd>,
    is_armed: bool,
}

impl WakerPoll {
    pub(super) fn new() -> Result<WakerPoll, Error> {
        Ok(WakerPoll {
            counter: waker::counter().map_err(|error| refused(&error))?,
            is_armed: false,
        })
    }

    /// The poll, which is to be put into the ring, unless it is there already.
    pub(super) fn arm(&mut self) -> Option<squeue::Entry> {
        if std::mem::replace(&mut self.is_armed, true) {
            return None;
        }
        let poll = opcode::PollAdd::new(Fd(self.counter.as_raw_fd()), libc::POLLIN as u32);
        Some(poll.build().user_data(WAKER_TOKEN))
    }

    /// Whether this completion is the poll's, which must then be armed again.
    pub(super) fn takes(&mut self, user_data: u64) -> bool {
        if user_data != WAKER_TOKEN {
            return false;
        }
        waker::reset(&self.counter);
        self.is_armed = false;
        true
    }

    pub(super) fn waker(&self) -> Waker {
        Waker::of_eventfd(&self.counter)
    }
}

pub(super) fn failed(source: std::io::Error) -> Error {
    Error::EngineFailed {
        engine: "io_uring",
        source,
    }
}

pub(super) fn refused(error: &std::io::Error) -> Error {
    let sysctl = std::fs::read_to_string("/proc/sys/kernel/io_uring_disabled").ok();
    Error::EngineRefused {
        engine: "io_uring",
        why: explain(error, sysctl.as_deref()),
    }
}

/// Which rule stands behind the kernel's refusal.
fn explain(error: &std::io::Error, sysctl: Option<&str>) -> String {
    let disabled = sysctl.map(str::trim).filter(|value| *value != "0");
    match (error.raw_os_error(), disabled) {
        (Some(libc::EPERM), Some(value)) => format!(
            "the sysctl kernel.io_uring_disabled is {value}; an administrator may set it to 0, \
             or use --engine libaio"
        ),
        (Some(libc::EPERM | libc::EACCES), _) => {
            "a security rule of this container or host (seccomp) refuses io_uring_setup; allow \
             it, or use --engine libaio"
                .to_owned()
        }
        (Some(libc::ENOSYS), _) => "this kernel has no io_uring (it came with 5.1), or a security \
                                    rule hides it; use --engine libaio"
            .to_owned(),
        (Some(libc::ENOMEM), _) => "the locked-memory limit is too small for the ring (ulimit \
                                    -l); raise it, or use --engine libaio"
            .to_owned(),
        (Some(libc::EMFILE | libc::ENFILE), _) => {
            "the limit on open files is reached (ulimit -n); raise it".to_owned()
        }
        _ => format!("{error}; use --engine libaio"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(errno: i32, sysctl: Option<&str>) -> String {
        explain(&std::io::Error::from_raw_os_error(errno), sysctl)
    }

    #[test]
    fn a_refusal_names_the_rule_behind_it() {
        assert!(refusal(libc::EPERM, Some("2\n")).contains("kernel.io_uring_disabled is 2"));
        assert!(refusal(libc::EPERM, Some("0\n")).contains("seccomp"));
        assert!(refusal(libc::ENOSYS, None).contains("5.1"));
        assert!(refusal(libc::ENOMEM, Some("0")).contains("ulimit -l"));
    }
}
