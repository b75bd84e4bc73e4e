//! Limits shared by depth and by priority, in runs: what the queues of the disks make of them.

use super::*;

fn file(share: &str) -> MachineFile {
    let disk = ("100MB/s", "['link']");
    let limit = format!("[limit.link]\nrate='120MB/s'\nshare='{share}'");
    limited(&[disk, disk, disk], &limit)
}

/// MB/s of each disk over 100 s, with its own number of requests in flight.
fn rates_at(file: &MachineFile, depths: &[usize]) -> Vec<f64> {
    let disks: Vec<usize> = (0..depths.len()).collect();
    let mut load = Load::start(Machine::new(file, 1), Read, &[], MIB, 0);
    for disk in disks {
        for _ in 0..depths[disk] {
            load.submit(0, disk);
        }
    }
    load.run_until(100 * S);
    let rate = |bytes: &u64| *bytes as f64 / 100e6;
    load.bytes.iter().map(rate).collect()
}

#[test]
fn by_depth_the_deeper_queue_gets_more() {
    let rates = rates_at(&file("depth"), &[1, 2, 3]);
    for (rate, expected) in rates.iter().zip([20.0, 40.0, 60.0]) {
        assert_close(*rate, expected, 5e-3);
    }
    let equal = rates_at(&file("depth"), &[8, 8, 8]);
    assert_eq!(equal, rates_at(&file("max-min"), &[8, 8, 8]));
}

#[test]
fn by_depth_a_change_of_depth_counts_at_once() {
    let mut machine = Machine::new(&file("depth"), 1);
    let mut done = Vec::new();
    machine.submit(0, request(0, Read, 0, 120 * MB));
    machine.submit(0, request(1, Read, 0, 120 * MB));
    // For 1 s each gets 60 MB/s; then the first has 2 requests of 3 in flight: 80 and 40.
    machine.submit(S, request(0, Read, 120 * MB, 8 * MB));
    machine.advance(10 * S, &mut done);
    assert_eq!((done[0].disk, done[1].disk), (0, 0));
    assert_close(done[0].time_ns as f64, 1.75e9, 1e-6);
    // Then 1 of 2 for its 8 MB: 0.1333 s at 60. The other has 84.67 MB by then, alone at 100.
    assert_close(done[1].time_ns as f64, 1.75e9 + 8.0 / 60.0 * 1e9, 1e-6);
    let rest = 120.0 - 60.0 - 30.0 - 8.0;
    assert_close(
        done[2].time_ns as f64,
        done[1].time_ns as f64 + rest / 100.0 * 1e9,
        1e-6,
    );
}

#[test]
fn by_priority_the_first_gets_all_that_it_can_take_and_the_last_may_get_nothing() {
    let rates = rates_at(&file("priority"), &[2, 8, 8]);
    assert_close(rates[0], 100.0, 1e-2);
    assert_close(rates[1], 20.0, 1e-2);
    assert!(rates[2] < 0.1, "{rates:?}");
}

#[test]
fn what_the_first_does_not_use_goes_to_the_next() {
    let mut file = file("priority");
    file.disks[0].request_ns = 100 * MS;
    // One request in flight: 1 MiB in 100 ms and its transfer.
    let rates = rates_at(&file, &[1, 8, 8]);
    assert_close(rates.iter().sum(), 120.0, 1e-2);
    assert_close(rates[0], 1.048_576 / (0.1 + 0.010_486), 1e-2);
}
