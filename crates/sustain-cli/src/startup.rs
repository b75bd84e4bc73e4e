//! What was so when the process began, before Rust's runtime had seen to it. The runtime opens
//! /dev/null in the place of a standard stream that is closed, and from then on nothing tells that
//! what is printed is lost. It also says nothing of what cannot be written to one that is open for
//! reading only.

use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::{OFlags, fcntl_getfl};
use rustix::io::Errno;

static IS_OUTPUT_CLOSED: AtomicBool = AtomicBool::new(false);

/// Whether the command was started with a standard output that was closed, or that was open for
/// reading only.
pub(crate) fn is_output_closed() -> bool {
    IS_OUTPUT_CLOSED.load(Ordering::Relaxed)
}

extern "C" fn look() {
    let is_closed = match fcntl_getfl(std::io::stdout()) {
        Ok(flags) => flags & OFlags::RWMODE == OFlags::RDONLY,
        Err(errno) => errno == Errno::BADF,
    };
    IS_OUTPUT_CLOSED.store(is_closed, Ordering::Relaxed);
}

// Sound, because the C library calls what stands in this section once, with its own set-up behind
// it and before any thread but this one, and `look` neither unwinds nor needs Rust's runtime.
#[used]
#[unsafe(link_section = ".init_array")]
static LOOK: extern "C" fn() = look;
