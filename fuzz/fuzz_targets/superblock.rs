//! Any bytes as a superblock.

#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../../crates/sustain-record/tests/attempts/superblock.rs"]
mod attempt;

fuzz_target!(|bytes: &[u8]| attempt::attempt(bytes));
