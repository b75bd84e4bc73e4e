//! `sustain record` on real files and loop devices: what it said to be durable is there after a
//! kill, a member's death or damage, every ending is in order, and nothing hangs. What needs loop
//! devices is skipped, with the reason, where the tests may not make them.

#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test that cannot go on should stop where it is, and may say why"
)]

#[path = "record/aligned.rs"]
mod aligned;
#[path = "record/appends.rs"]
mod appends;
#[path = "record/check.rs"]
mod check;
#[path = "record/control.rs"]
mod control;
#[path = "record/damage.rs"]
mod damage;
#[allow(dead_code, reason = "it is made for the tests of the guard")]
#[path = "guard/devices.rs"]
mod devices;
#[path = "record/draw.rs"]
mod draw;
#[path = "record/endings.rs"]
mod endings;
#[path = "record/failing.rs"]
mod failing;
#[path = "record/frames.rs"]
mod frames;
#[path = "record/full.rs"]
mod full;
#[path = "record/hold_back.rs"]
mod hold_back;
#[path = "record/kill.rs"]
mod kill;
#[path = "record/members.rs"]
mod members;
#[path = "record/misuse.rs"]
mod misuse;
#[path = "record/no_recorder.rs"]
mod no_recorder;
#[path = "record/outputs.rs"]
mod outputs;
#[path = "record/pins.rs"]
mod pins;
#[path = "record/refused.rs"]
mod refused;
#[path = "record/rolled_back.rs"]
mod rolled_back;
#[path = "record/running.rs"]
mod running;
#[path = "record/share.rs"]
mod share;
#[path = "record/short.rs"]
mod short;
#[path = "record/split.rs"]
mod split;
mod support;
#[path = "record/throttled.rs"]
mod throttled;
#[path = "support/throttles.rs"]
mod throttles;
#[path = "record/writers.rs"]
mod writers;
#[path = "record/yielding.rs"]
mod yielding;

const MIB: u64 = 1 << 20;
