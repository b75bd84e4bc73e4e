//! What `measure` and others do on the disks and the CPUs of this machine. Most of their time is
//! waiting, so they are one program, in which they wait beside each other. None asserts how fast
//! anything is but where the kernel holds a disk back.

#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test that cannot go on should stop where it is, and may say why"
)]

#[path = "real/buffered.rs"]
mod buffered;
#[path = "real/cpu.rs"]
mod cpu;
#[allow(dead_code, reason = "it is made for the tests of the guard")]
#[path = "guard/devices.rs"]
mod devices;
#[path = "real/disk.rs"]
mod disk;
#[path = "real/effect.rs"]
mod effect;
#[path = "real/others.rs"]
mod others;
mod support;
#[path = "support/throttles.rs"]
mod throttles;

const MIB: u64 = 1 << 20;
