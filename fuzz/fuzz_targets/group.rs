//! Any bytes as the list of a group.

#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../../crates/sustain-record/tests/attempts/group.rs"]
mod attempt;

fuzz_target!(|bytes: &[u8]| attempt::attempt(bytes));
