//! A bounded fuzz test for every machine that runs the tests: the seeds of `fuzz/corpus/`, changed
//! at random but repeatably. The same attempts run without bound under `cargo fuzz`.

#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test that cannot go on should stop where it is, and may say why"
)]

mod attempts;

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::Path;

use rand::{RngExt, SeedableRng, seq::IndexedRandom};
use rand_xoshiro::Xoshiro256PlusPlus;

const ROUNDS: u64 = 20_000;
/// The most likely values of a damaged or hostile number.
const EDGES: [u64; 14] = [
    0,
    1,
    64,
    65,
    127,
    128,
    4095,
    4096,
    65_535,
    65_536,
    1 << 24,
    u32::MAX as u64,
    i64::MAX as u64,
    u64::MAX,
];

fn seeds_of(target: &str) -> Vec<Vec<u8>> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../fuzz/corpus")
        .join(target);
    let mut paths: Vec<_> = std::fs::read_dir(&directory)
        .unwrap_or_else(|error| panic!("{}: {error}", directory.display()))
        .map(|entry| entry.unwrap().path())
        .collect();
    // The order in which a directory lists its files differs between machines.
    paths.sort();
    assert!(!paths.is_empty(), "{} has no seeds", directory.display());
    paths
        .iter()
        .map(|path| std::fs::read(path).unwrap())
        .collect()
}

fn mutate(random: &mut Xoshiro256PlusPlus, bytes: &mut Vec<u8>, seeds: &[Vec<u8>]) {
    if bytes.is_empty() {
        bytes.push(random.random());
    }
    // Most of a block is zeros at its end; its fields are at its start.
    let bound = if random.random() {
        bytes.len()
    } else {
        bytes.len().min(300)
    };
    let at = random.random_range(0..bound);
    match random.random_range(0..7) {
        0 => bytes[at] ^= 1 << random.random_range(0..8),
        1 => bytes[at] = random.random(),
        2 | 3 => {
            let width = [1, 2, 4, 8][random.random_range(0..4)];
            let at = at - at % width;
            let edge = EDGES.choose(random).unwrap().to_le_bytes();
            for (to, byte) in bytes[at..].iter_mut().zip(&edge[..width]) {
                *to = *byte;
            }
        }
        4 => bytes.truncate(at),
        5 => bytes.insert(at, random.random()),
        _ => {
            let other = seeds.choose(random).unwrap();
            let from = other.get(at..).unwrap_or_default();
            let length = random.random_range(0..64).min(from.len());
            let end = (at + length).min(bytes.len());
            bytes.splice(at..end, from[..length].iter().copied());
        }
    }
}

fn attempt_all(target: &str, attempt: fn(&[u8])) {
    let seeds = seeds_of(target);
    for seed in &seeds {
        attempt(seed);
    }
    for round in 0..ROUNDS {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(round);
        let mut bytes = seeds.choose(&mut random).unwrap().clone();
        for _ in 0..random.random_range(1..=4) {
            mutate(&mut random, &mut bytes, &seeds);
        }
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| attempt(&bytes))) {
            eprintln!("{target}, round {round}: {bytes:?}");
            resume_unwind(panic);
        }
    }
}

#[test]
fn no_change_of_a_superblock_does_harm() {
    attempt_all("superblock", attempts::superblock::attempt);
}

#[test]
fn no_change_of_a_descriptor_does_harm() {
    attempt_all("descriptor", attempts::descriptor::attempt);
}

#[test]
fn no_change_of_frame_marks_does_harm() {
    attempt_all("marks", attempts::marks::attempt);
}

#[test]
fn no_change_of_a_note_does_harm() {
    attempt_all("notes", attempts::notes::attempt);
}

#[test]
fn no_change_of_the_list_of_a_group_does_harm() {
    attempt_all("group", attempts::group::attempt);
}
