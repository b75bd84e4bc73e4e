//! Any bytes as the account of a start or an end.

#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../../crates/sustain-record/tests/attempts/notes.rs"]
mod attempt;

fuzz_target!(|bytes: &[u8]| attempt::attempt(bytes));
