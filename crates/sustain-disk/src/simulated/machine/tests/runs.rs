//! Several runs on one machine: what each draws for itself, and what stays.

use super::*;

fn noisy_file() -> MachineFile {
    let disk = "capacity='1TB'\nread='100MB/s'\nnoise='2%'\n";
    parsed(&format!(
        "[[disk]]\nname='a'\n{disk}[[disk]]\nname='b'\n{disk}"
    ))
}

/// Bytes of each disk in each of some runs of ten seconds.
fn bytes_by_run(seed: u64, runs: usize) -> Vec<Vec<u64>> {
    let mut load = Load::start(Machine::new(&noisy_file(), seed), Read, &[0, 1], MIB, 8);
    let mut bytes = Vec::new();
    for run in 0..runs {
        if run > 0 {
            load.machine.begin_run();
        }
        load.bytes.fill(0);
        load.run_until((run as u64 + 1) * 10 * S);
        bytes.push(load.bytes.clone());
    }
    bytes
}

#[test]
fn each_run_draws_its_own_noise_for_each_disk() {
    let runs = bytes_by_run(5, 12);
    let mut rates: Vec<u64> = runs.into_iter().flatten().collect();
    assert!(
        rates
            .iter()
            .all(|bytes| (900 * MB..1100 * MB).contains(bytes))
    );
    rates.sort_unstable();
    rates.dedup();
    assert!(rates.len() > 18, "{rates:?}");
}

#[test]
fn a_run_is_fixed_by_the_seed_and_its_number() {
    assert_eq!(bytes_by_run(5, 4), bytes_by_run(5, 4));
    assert_ne!(bytes_by_run(5, 4), bytes_by_run(6, 4));
    // The number counts, not what the runs before did.
    let mut machine = Machine::new(&noisy_file(), 5);
    for _ in 0..3 {
        machine.begin_run();
    }
    let mut load = Load::start(machine, Read, &[0, 1], MIB, 8);
    load.run_until(10 * S);
    for (bytes, expected) in load.bytes.iter().zip(&bytes_by_run(5, 4)[3]) {
        assert!(bytes.abs_diff(*expected) <= 8 * MIB);
    }
}

#[test]
fn the_first_run_is_what_a_machine_without_runs_does() {
    let mut load = Load::start(Machine::new(&noisy_file(), 5), Read, &[0, 1], MIB, 8);
    load.run_until(10 * S);
    assert_eq!(load.bytes, bytes_by_run(5, 3)[0]);
}

#[test]
fn requests_and_caches_of_the_run_before_go_on() {
    let mut disk = cached_disk();
    disk.noise_fraction = 0.05;
    let mut machine = machine_of(vec![disk]);
    let mut done = Vec::new();
    machine.submit(0, request(0, Write, 0, 20 * MB));
    machine.submit(0, request(0, Flush, 1, 0));
    machine.advance(S / 10, &mut done);
    machine.begin_run();
    machine.advance(10 * S, &mut done);
    assert_eq!(done.len(), 2);
    assert!(done.iter().all(|completion| completion.outcome.is_ok()));
    assert_close(done[1].time_ns as f64, 2e9, 0.2);
    assert_ne!(done[1].time_ns, 2 * S);
}
