//! Ends an engine's wait from another thread, for example for a new source buffer, Ctrl-C, or a
//! bounded channel that has space again.

use std::fmt;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

use rustix::event::{EventfdFlags, eventfd};

/// Wakes one engine. Cheap to clone, safe to call at any time and from any thread.
#[derive(Clone)]
pub struct Waker(Arc<dyn Fn() + Send + Sync>);

impl Waker {
    pub(crate) fn new(wake: impl Fn() + Send + Sync + 'static) -> Waker {
        Waker(Arc::new(wake))
    }

    /// A waker that adds to `counter`, an eventfd which the engine polls.
    pub(super) fn of_eventfd(counter: &Arc<OwnedFd>) -> Waker {
        let counter = Arc::clone(counter);
        Waker::new(move || {
            // The counter is in the machine's own byte order and never reaches a disk. When it
            // is full (EAGAIN), a wake-up is pending already.
            #[allow(
                clippy::host_endian_bytes,
                reason = "the kernel's format, never stored"
            )]
            let one = 1u64.to_ne_bytes();
            let _ = rustix::io::write(counter.as_fd(), &one);
        })
    }

    /// Ends the engine's current wait, or its next one.
    pub fn wake(&self) {
        (self.0)();
    }
}

impl fmt::Debug for Waker {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Waker")
    }
}

/// A counter for [`Waker::of_eventfd`].
pub(super) fn counter() -> std::io::Result<Arc<OwnedFd>> {
    Ok(Arc::new(eventfd(
        0,
        EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK,
    )?))
}

/// Sets the counter back to 0, and returns whether there was a wake-up.
pub(super) fn reset(counter: &OwnedFd) -> bool {
    let mut count = [0u8; 8];
    // Nothing to read (EAGAIN) is as good as reset.
    rustix::io::read(counter, &mut count).is_ok()
}
