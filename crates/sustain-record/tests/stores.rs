//! Stores on files and on simulated disks: how they are created and opened, recorded to, read back
//! and recovered. Most of the time is waiting for the disk, so they are one program, in which they
//! wait beside each other.

#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test that cannot go on should stop where it is, and may say why"
)]

// The image that is borrowed from the tests of the opening has it there.
use sustain_record::format;

#[path = "stores/golden.rs"]
mod golden;
#[path = "stores/parity.rs"]
mod parity;
#[path = "stores/reading.rs"]
mod reading;
#[path = "stores/recorder.rs"]
mod recorder;
#[path = "stores/recover.rs"]
mod recover;
#[path = "stores/store.rs"]
mod store;
