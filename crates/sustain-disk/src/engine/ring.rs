//! The common part of the engines over an io_uring: building it, waiting on it, ending the wait
//! from another thread, and explaining why the kernel refuses it. It knows nothing of what else is
//! in its entries.

use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::Arc;

use io_uring::types::{Fd, SubmitArgs, Timespec};
use io_uring::{IoUring, Submitter, cqueue, opcode, squeue};
use sustain_document::setting::ENGINE;

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
            why: format!(
                "this kernel is older than 5.11 (no timed wait); use {}",
                ENGINE.to("libaio or threads")
            ),
        });
    }
    allow_workers(&ring.submitter(), entries);
    Ok((ring, mode))
}

/// Requests that cannot be handed over without waiting, and every flush, go to worker threads of
/// the kernel: by default four for each CPU, for all targets. A target that blocks them (a frozen
/// file system) would occupy them all, and the others would wait as well. So there may be one
/// worker for each request; workers are made only when others block. Kernels before 5.15 do not
/// support this.
fn allow_workers(submitter: &Submitter<'_>, requests: u32) {
    // For files and disks; 0 leaves those for sockets and the like as they are.
    let mut workers = [requests, 0];
    let _ = submitter.register_iowq_max_workers(&mut workers);
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
        // Time is up, or the kernel takes more later.
        Err(error) if error.raw_os_error() == Some(libc::ETIME) || is_passing(&error) => Ok(()),
        Err(error) => Err(failed(error)),
    }
}

/// Whether the kernel takes entries again in a moment: a signal came, completions must be reaped
/// first, or it had no memory.
fn is_passing(error: &io::Error) -> bool {
    let errno = error.raw_os_error();
    matches!(errno, Some(libc::EINTR | libc::EBUSY | libc::EAGAIN))
}

/// A ring as a place to put entries into.
pub(super) trait Entrance<S> {
    /// Puts an entry into the ring, if there is space.
    ///
    /// # Safety
    /// What the entry names must stay until its completion has been reaped.
    unsafe fn push(&mut self, entry: &S) -> bool;

    /// Hands what is in the ring to the kernel.
    fn submit(&mut self) -> io::Result<usize>;
}

impl<S: squeue::EntryMarker, C: cqueue::EntryMarker> Entrance<S> for IoUring<S, C> {
    unsafe fn push(&mut self, entry: &S) -> bool {
        // SAFETY: the caller keeps what the entry names.
        unsafe { self.submission().push(entry) }.is_ok()
    }

    fn submit(&mut self) -> io::Result<usize> {
        IoUring::submit(self)
    }
}

/// Entries on their way into a ring. An entry that finds no space, because the kernel takes nothing
/// at the moment or has failed, waits here: no request is lost between its engine and the kernel,
/// so that waiting for everything in flight has an end.
pub(super) struct Outbox<S> {
    waiting: VecDeque<S>,
}

impl<S> Outbox<S> {
    pub(super) fn new() -> Outbox<S> {
        Outbox {
            waiting: VecDeque::new(),
        }
    }

    /// Adds an entry, and moves into the ring as many as there is space for.
    ///
    /// # Errors
    /// [`Error::EngineFailed`] if the kernel takes no more entries. They stay here.
    ///
    /// # Safety
    /// What the entry names must stay until its completion has been reaped.
    pub(super) unsafe fn send(
        &mut self,
        entry: S,
        ring: &mut impl Entrance<S>,
    ) -> Result<(), Error> {
        self.waiting.push_back(entry);
        self.hand_over(ring)
    }

    /// Moves into the ring as many entries as there is space for.
    ///
    /// # Errors
    /// As for [`Outbox::send`].
    pub(super) fn hand_over(&mut self, ring: &mut impl Entrance<S>) -> Result<(), Error> {
        while let Some(entry) = self.waiting.front() {
            // SAFETY: `send` was promised that what it names stays.
            if unsafe { ring.push(entry) } {
                self.waiting.pop_front();
                continue;
            }
            match ring.submit() {
                Ok(taken) if taken > 0 => {}
                Ok(_) => return Ok(()),
                Err(error) if is_passing(&error) => return Ok(()),
                Err(error) => return Err(failed(error)),
            }
        }
        Ok(())
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

pub(super) fn failed(error: std::io::Error) -> Error {
    Error::EngineFailed {
        engine: "io_uring",
        error,
    }
}

pub(super) fn refused(error: &std::io::Error) -> Error {
    let sysctl = std::fs::read_to_string("/proc/sys/kernel/io_uring_disabled").ok();
    Error::EngineRefused {
        engine: "io_uring",
        why: explain(error, sysctl.as_deref()),
    }
}

/// Names the rule behind the kernel's refusal.
fn explain(error: &std::io::Error, sysctl: Option<&str>) -> String {
    let libaio = ENGINE.to("libaio");
    let disabled = sysctl.map(str::trim).filter(|value| *value != "0");
    match (error.raw_os_error(), disabled) {
        (Some(libc::EPERM), Some(value)) => format!(
            "the sysctl kernel.io_uring_disabled is {value}; an administrator may set it to 0, \
             or use {libaio}"
        ),
        (Some(libc::EPERM | libc::EACCES), _) => {
            format!(
                "a security rule of this container or host (seccomp) refuses io_uring_setup; \
                 allow it, or use {libaio}"
            )
        }
        (Some(libc::ENOSYS), _) => format!(
            "this kernel has no io_uring (it came with 5.1), or a security rule hides it; use \
             {libaio}"
        ),
        (Some(libc::ENOMEM), _) => format!(
            "the locked-memory limit is too small for the ring (ulimit -l); raise it, or use \
             {libaio}"
        ),
        (Some(libc::EMFILE | libc::ENFILE), _) => {
            "the limit on open files is reached (ulimit -n); raise it".to_owned()
        }
        _ => format!("{error}; use {libaio}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(errno: i32, sysctl: Option<&str>) -> String {
        explain(&std::io::Error::from_raw_os_error(errno), sysctl)
    }

    /// A ring of two entries whose kernel answers as the script says.
    struct Scripted {
        room: usize,
        pushed: Vec<u32>,
        answers: VecDeque<Result<usize, i32>>,
    }

    impl Entrance<u32> for Scripted {
        unsafe fn push(&mut self, entry: &u32) -> bool {
            let has_room = self.room > 0;
            if has_room {
                self.room -= 1;
                self.pushed.push(*entry);
            }
            has_room
        }

        fn submit(&mut self) -> io::Result<usize> {
            let answer = self.answers.pop_front().expect("no more than scripted");
            let taken = answer.map_err(io::Error::from_raw_os_error)?;
            self.room += taken;
            Ok(taken)
        }
    }

    #[test]
    fn an_entry_that_finds_no_room_waits_and_goes_in_order() {
        let mut ring = Scripted {
            room: 2,
            pushed: Vec::new(),
            answers: VecDeque::from([
                Err(libc::EBUSY),
                Err(libc::EAGAIN),
                Err(libc::EINTR),
                Err(libc::EFAULT),
                Ok(1),
                Ok(0),
                Ok(2),
                Err(libc::EBUSY),
            ]),
        };
        let mut outbox = Outbox::new();
        // SAFETY: these entries name nothing.
        let mut send = |entry, ring: &mut Scripted| unsafe { outbox.send(entry, ring) };
        for entry in 0..5 {
            send(entry, &mut ring).unwrap();
        }
        assert!(send(5, &mut ring).is_err(), "EFAULT does not pass");
        assert_eq!(ring.pushed, [0, 1]);
        outbox.hand_over(&mut ring).unwrap();
        assert_eq!(ring.pushed, [0, 1, 2]);
        outbox.hand_over(&mut ring).unwrap();
        assert_eq!(ring.pushed, [0, 1, 2, 3, 4]);
        ring.room = 9;
        outbox.hand_over(&mut ring).unwrap();
        assert_eq!(ring.pushed, [0, 1, 2, 3, 4, 5]);
    }

    #[test]
    fn a_refusal_names_the_rule_behind_it() {
        assert!(refusal(libc::EPERM, Some("2\n")).contains("kernel.io_uring_disabled is 2"));
        assert!(refusal(libc::EPERM, Some("0\n")).contains("seccomp"));
        assert!(refusal(libc::ENOSYS, None).contains("5.1"));
        assert!(refusal(libc::ENOMEM, Some("0")).contains("ulimit -l"));
    }
}
