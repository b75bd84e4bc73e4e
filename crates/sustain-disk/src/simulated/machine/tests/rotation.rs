//! Missed revolutions: what comes late waits until its place on the platter comes round again.
//! At 6000 rpm a revolution takes 10 ms, and a track of 30 MB/s holds 300 kB.

use super::*;

const TRACK: u64 = 300_000;

fn turning(count: usize, limit_mb_per_s: f64) -> MachineFile {
    let mut text = format!("[limit.channel]\nrate='{limit_mb_per_s}MB/s'\n");
    for index in 0..count {
        text += &format!(
            "[[disk]]\nname='d{index}'\ncapacity='100GB'\nread='30MB/s'\nrpm=6000\n\
             through=['channel']\n"
        );
    }
    parsed(&text)
}

/// MB/s of each of some disks driven together for 100 s.
fn rates(file: &MachineFile, count: usize, record_bytes: u64, depth: usize) -> Vec<f64> {
    let disks: Vec<usize> = (0..count).collect();
    let mut load = Load::start(Machine::new(file, 1), Read, &disks, record_bytes, depth);
    load.run_until(100 * S);
    load.bytes
        .iter()
        .map(|bytes| *bytes as f64 / 100e6)
        .collect()
}

fn sum(rates: &[f64]) -> f64 {
    rates.iter().sum()
}

#[test]
fn a_stream_that_keeps_up_never_waits() {
    for record_bytes in [4096, 100_000, TRACK, MIB] {
        let rate = sum(&rates(&turning(1, 30.0), 1, record_bytes, 4));
        assert_close(rate, 30.0, 1e-3);
        // Also with one request in flight, if the next one follows without delay.
        assert_close(
            sum(&rates(&turning(1, 31.0), 1, record_bytes, 1)),
            30.0,
            1e-3,
        );
    }
}

#[test]
fn a_stream_that_cannot_keep_up_drops_to_a_half_a_third_a_quarter() {
    for (limit, part) in [
        (29.9, 2.0),
        (15.1, 2.0),
        (14.9, 3.0),
        (10.1, 3.0),
        (9.9, 4.0),
    ] {
        for tracks in [1, 4] {
            let rate = sum(&rates(&turning(1, limit), 1, tracks * TRACK, 4));
            assert_close(rate, 30.0 / part, 2e-3);
        }
    }
}

#[test]
fn disks_that_share_a_channel_fall_below_one() {
    // Each record of 75 kB takes 2.5 ms and then misses a revolution: 75 kB in 12.5 ms.
    let together = rates(&turning(2, 50.0), 2, 75_000, 8);
    assert_close(sum(&together), 12.0, 0.01);
    // With a record of many tracks each is at a half: together they are as fast as one.
    assert_close(sum(&rates(&turning(2, 50.0), 2, 8 * TRACK, 8)), 30.0, 0.01);
    // Where there is room for both, there is no loss at all.
    assert_close(sum(&rates(&turning(2, 60.0), 2, 75_000, 8)), 60.0, 1e-3);
}

#[test]
fn a_command_that_comes_late_costs_a_revolution() {
    let mut file = turning(1, 1000.0);
    file.disks[0].request_ns = 2 * MS;
    // 2.5 ms of transfer, then the command of 2 ms ends too late for the next place: 12.5 ms.
    assert_close(sum(&rates(&file, 1, 75_000, 1)), 6.0, 1e-3);
    // Two requests in flight hide the command.
    assert_close(sum(&rates(&file, 1, 75_000, 2)), 30.0, 1e-3);
    // A command longer than the transfer hides behind every other one: two records in 15 ms.
    file.disks[0].request_ns = 3 * MS;
    assert_close(sum(&rates(&file, 1, 75_000, 2)), 10.0, 1e-3);
}

#[test]
fn another_place_is_waited_for_by_its_angle() {
    let mut machine = Machine::new(&turning(1, 1000.0), 1);
    let mut done = Vec::new();
    machine.submit(0, request(0, Read, 0, 30_000));
    // Half a track on; the same place once more; and three tracks and a tenth behind that.
    machine.submit(0, request(0, Read, 30_000 + TRACK / 2, 30_000));
    machine.submit(0, request(0, Read, 30_000 + TRACK / 2, 30_000));
    machine.submit(0, request(0, Read, 90_000 + TRACK / 2 + 3 * TRACK, 30_000));
    machine.advance(S, &mut done);
    let times_us: Vec<u64> = done.iter().map(|one| one.time_ns / 1000).collect();
    assert_eq!(times_us, [1_000, 7_000, 17_000, 19_000]);
}

#[test]
fn a_stall_costs_the_rest_of_a_revolution_too() {
    let mut file = turning(1, 1000.0);
    file.disks[0].stall = Some(StallDescription {
        every_ns: S,
        for_ns: 3 * MS,
    });
    // Held for 3 ms in the middle of a record; its end is 3 ms late, so the next waits 7 ms.
    assert_close(sum(&rates(&file, 1, TRACK, 4)), 30.0 * 0.99, 2e-3);
}

#[test]
fn a_write_cache_hides_it() {
    let mut file = turning(2, 50.0);
    for disk in &mut file.disks {
        disk.cache = Some(CacheDescription {
            capacity_bytes: MB,
            rate_bytes_per_s: None,
            volatile: true,
        });
        disk.request_ns = 2 * MS;
    }
    let mut load = Load::start(Machine::new(&file, 1), Write, &[0, 1], 75_000, 1);
    load.run_until(100 * S);
    let rate = (load.bytes[0] + load.bytes[1]) as f64 / 100e6;
    assert_close(rate, 2.0 * 75e3 / (2e-3 + 75e3 / 25e6) / 1e6, 1e-2);
}

#[test]
fn each_zone_has_its_own_tracks() {
    let mut file = turning(1, 20.0);
    file.disks[0].capacity_bytes = 60 * MB;
    file.disks[0].inner_read_bytes_per_s = 15e6;
    file.disks[0].zones = 2;
    let mut machine = Machine::new(&file, 1);
    let mut done = Vec::new();
    machine.submit(0, request(0, Read, 0, 60 * MB));
    machine.advance(10 * S, &mut done);
    // 30 MB at 30 MB/s, of which 20 cannot be kept up with: 2 s. Then 30 MB at 15 MB/s: 2 s.
    assert_close(done[0].time_ns as f64, 4e9, 5e-3);
}
