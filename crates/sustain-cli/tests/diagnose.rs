//! `sustain diagnose` as a person runs it: simulated machines whose walls are known, endings, and
//! what is refused. What needs loop devices is skipped, with the reason, where the tests may not
//! make them.

#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test that cannot go on should stop where it is, and may say why"
)]

#[allow(dead_code, reason = "it is made for the tests of the guard")]
#[path = "guard/devices.rs"]
mod devices;
#[path = "diagnose/endings.rs"]
mod endings;
#[path = "diagnose/matrix.rs"]
mod matrix;
#[path = "diagnose/refused.rs"]
mod refused;
#[allow(dead_code, reason = "it is made for the tests of recording")]
#[path = "record/running.rs"]
mod running;
#[path = "diagnose/simulated.rs"]
mod simulated;
mod support;

const MIB: u64 = 1 << 20;
