//! What the product answers about rates below and above those that generated disks hold for ever,
//! after runs that volatile caches and pauses may disguise.

use super::machine::{GeneratedMachine, Kinds};
use super::measured;

const RUN_NS: u64 = 30_000_000_000;
/// Parts of what a disk holds for ever.
const BELOW: [f64; 5] = [0.1, 0.3, 0.5, 0.7, 0.9];
const ABOVE: [f64; 4] = [1.15, 1.3, 1.6, 2.0];

/// How often each answer was given.
#[derive(Debug, Default, PartialEq)]
struct Answers {
    held: usize,
    not_held: usize,
    undecided: usize,
}

fn answers(kinds: Kinds, parts: &[f64], machines: u64) -> Answers {
    let mut given = Answers::default();
    for seed in 0..machines {
        let machine = GeneratedMachine::of_one_disk(kinds, seed);
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("machine.toml");
        std::fs::write(&path, machine.description()).unwrap();
        let part = parts[seed as usize % parts.len()];
        let rate = part * machine.capacity_bytes_per_s();
        let file = format!("sim:{}", path.display());
        let result = measured(&file, RUN_NS, Some(rate), machine.buffer_bytes);
        let answer = match result.total.rate_held {
            Some(true) => &mut given.held,
            Some(false) => &mut given.not_held,
            None => &mut given.undecided,
        };
        *answer += 1;
        if result.total.rate_held != Some(part < 1.0) {
            eprintln!(
                "{part} of what it holds: {:?}, flush {:?} s, stall {} ns\n{}",
                result.total.rate_held,
                result.targets[0].flush_seconds,
                result.total.worst_stall_ns,
                machine.description()
            );
        }
    }
    eprintln!("{kinds:?} at {parts:?}: {given:?}");
    given
}

#[test]
fn pauses_in_a_flush_do_not_make_a_rate_one_that_was_not_held() {
    let below = answers(Kinds::SmallCaches, &BELOW, 60);
    assert_eq!(below.not_held, 0, "{below:?}");
    assert!(below.undecided <= 3, "{below:?}");
}

#[test]
fn caches_do_not_make_a_rate_one_that_was_held() {
    let above = answers(Kinds::LargeCaches, &ABOVE, 60);
    assert_eq!(above.held, 0, "{above:?}");
    assert!(above.undecided <= 6, "{above:?}");
    let below = answers(Kinds::LargeCaches, &BELOW, 60);
    assert_eq!(below.not_held, 0, "{below:?}");
    assert!(below.undecided <= 3, "{below:?}");
}
