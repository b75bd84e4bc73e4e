//! Any bytes as the descriptor of an append.

#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../../crates/sustain-record/tests/attempts/descriptor.rs"]
mod attempt;

fuzz_target!(|bytes: &[u8]| attempt::attempt(bytes));
