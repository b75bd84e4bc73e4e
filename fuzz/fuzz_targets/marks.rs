//! Any bytes as frame marks.

#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../../crates/sustain-record/tests/attempts/marks.rs"]
mod attempt;

fuzz_target!(|bytes: &[u8]| attempt::attempt(bytes));
