//! Known answers: each test states what the physics must give, computed by hand beside it.

mod read_ahead;
mod rotation;
mod runs;
mod shares;

use std::path::Path;

use super::super::fault::FaultKind;
use super::super::request::SimulatedOperation;
use super::super::{CacheDescription, DiskDescription, FaultDescription, StallDescription};
use super::*;

const MB: u64 = 1_000_000;
const MIB: u64 = 1 << 20;
const MS: u64 = 1_000_000;
const S: u64 = 1_000_000_000;

use SimulatedOperation::{Flush, Read, Write};

fn parsed(text: &str) -> MachineFile {
    MachineFile::parse(text, Path::new("test.toml")).unwrap()
}

fn machine_of(disks: Vec<DiskDescription>) -> Machine {
    let file = MachineFile {
        path: "test.toml".into(),
        disks,
        limits: Vec::new(),
        warnings: Vec::new(),
    };
    Machine::new(&file, 1)
}

fn request(
    disk: usize,
    operation: SimulatedOperation,
    offset: u64,
    length: u64,
) -> SimulatedRequest {
    SimulatedRequest {
        id: offset,
        disk,
        operation,
        offset_bytes: offset,
        length_bytes: length,
        durable: false,
    }
}

/// Keeps `depth` sequential requests in flight on each of some disks, wrapping at their ends.
struct Load {
    machine: Machine,
    operation: SimulatedOperation,
    record_bytes: u64,
    offsets: Vec<u64>,
    bytes: Vec<u64>,
    log: Vec<SimulatedCompletion>,
    keep_log: bool,
}

impl Load {
    fn start(
        machine: Machine,
        operation: SimulatedOperation,
        disks: &[usize],
        record_bytes: u64,
        depth: usize,
    ) -> Self {
        let count = machine.disks().len();
        let mut load = Self {
            machine,
            operation,
            record_bytes,
            offsets: vec![0; count],
            bytes: vec![0; count],
            log: Vec::new(),
            keep_log: true,
        };
        for _ in 0..depth {
            for disk in disks {
                load.submit(load.machine.now_ns(), *disk);
            }
        }
        load
    }

    fn submit(&mut self, now_ns: u64, disk: usize) {
        let offset = self.offsets[disk];
        self.machine.submit(
            now_ns,
            request(disk, self.operation, offset, self.record_bytes),
        );
        let next = offset + self.record_bytes;
        let fits = next + self.record_bytes <= self.machine.disks()[disk].capacity_bytes;
        self.offsets[disk] = if fits { next } else { 0 };
    }

    fn run_until(&mut self, until_ns: u64) {
        let mut completions = Vec::new();
        loop {
            let reached_ns = self
                .machine
                .advance_to_completion(until_ns, &mut completions);
            if completions.is_empty() {
                return;
            }
            for completion in completions.drain(..) {
                assert_eq!(completion.time_ns, reached_ns);
                self.bytes[completion.disk] += completion.outcome.unwrap_or(0);
                if self.keep_log {
                    self.log.push(completion);
                }
                self.submit(reached_ns, completion.disk);
            }
        }
    }
}

/// Rates in MB/s of disks driven together for 100 s at depth 8.
fn rates_mb_per_s(file: &MachineFile, operation: SimulatedOperation, disks: &[usize]) -> Vec<f64> {
    let mut load = Load::start(Machine::new(file, 1), operation, disks, MIB, 8);
    load.run_until(100 * S);
    disks
        .iter()
        .map(|disk| load.bytes[*disk] as f64 / 100.0 / 1e6)
        .collect()
}

fn assert_close(value: f64, expected: f64, relative: f64) {
    assert!(
        (value - expected).abs() <= relative * expected.abs(),
        "{value} is not {expected}"
    );
}

#[test]
fn one_request_takes_its_cost_and_its_bytes() {
    let mut disk = DiskDescription::new("d", 1_000 * MB, 100e6, 50e6);
    disk.request_ns = 80_000;
    let mut machine = machine_of(vec![disk]);
    let mut done = Vec::new();
    machine.submit(5, request(0, Read, 0, MB));
    assert_eq!(machine.next_event_ns(), Some(80_005));
    machine.advance(10 * MS + 80_004, &mut done);
    assert!(done.is_empty());
    machine.advance(S, &mut done);
    machine.submit(S, request(0, Write, 0, MB));
    machine.advance(2 * S, &mut done);
    let times: Vec<u64> = done.iter().map(|completion| completion.time_ns).collect();
    assert_eq!(times, [10 * MS + 80_005, S + 20 * MS + 80_000]);
    assert!(done.iter().all(|completion| completion.outcome == Ok(MB)));
    assert_eq!(machine.in_flight(), 0);
    assert_eq!(machine.next_event_ns(), None);
}

#[test]
fn an_hour_is_exact() {
    // 1 MiB at 105 MB/s takes 9986438.095... ns: rounding each to whole ns would show.
    for record_bytes in [MIB, 64 << 10] {
        let disk = DiskDescription::new("d", 1_000_000 * MB, 105e6, 105e6);
        let mut load = Load::start(machine_of(vec![disk]), Write, &[0], record_bytes, 2);
        load.keep_log = false;
        load.run_until(3600 * S);
        let expected = (105e6 * 3600.0 / record_bytes as f64).floor() * record_bytes as f64;
        assert_close(load.bytes[0] as f64, expected, 0.5e-6);
    }
}

#[test]
fn short_requests_do_not_drift() {
    // 4 KiB at 3.3 GB/s take 1241.2 ns: the fifth of a nanosecond must not get lost.
    let disk = DiskDescription::new("d", 1_000_000 * MB, 3.3e9, 3.3e9);
    let mut load = Load::start(machine_of(vec![disk]), Read, &[0], 4096, 4);
    load.keep_log = false;
    load.run_until(S);
    assert_close(load.bytes[0] as f64, 3.3e9, 2e-6);
}

/// Four disks of 100 MB/s whose requests one processor serves, 0.5 ms each.
fn one_processor() -> Machine {
    let mut text = "[limit.bus]\nrate = \"300MB/s\"\nrequest = \"500us\"\n".to_owned();
    for name in ["a", "b", "c", "d"] {
        text += &format!(
            "[[disk]]\nname = \"{name}\"\ncapacity = \"1GB\"\nread = \"100MB/s\"\n\
             through = [\"bus\"]\n"
        );
    }
    Machine::new(&parsed(&text), 1)
}

#[test]
fn who_serves_the_requests_of_all_disks_bounds_their_number() {
    let mut machine = one_processor();
    let mut completions = Vec::new();
    // One disk alone hides 0.5 ms behind 50 kB, which take as long.
    for number in 0..100 {
        machine.submit(0, request(0, Write, number * 50_000, 50_000));
    }
    machine.advance(S, &mut completions);
    assert_eq!(completions.last().unwrap().time_ns, 500_000 + 100 * 500_000);
    completions.clear();
    // Four disks are served 2000 requests a second together, as few as one alone.
    for number in 0..100 {
        for disk in 0..4 {
            machine.submit(S, request(disk, Write, number * 50_000, 50_000));
        }
    }
    machine.advance(3 * S, &mut completions);
    assert_eq!(completions.len(), 400);
    let last_ns = completions.last().unwrap().time_ns - S;
    assert_eq!(last_ns, 400 * 500_000 + 500_000);
    completions.clear();
    // Large ones hide it: the bus is the limit.
    for number in 0..30 {
        for disk in 0..4 {
            machine.submit(4 * S, request(disk, Write, number * MB, MB));
        }
    }
    machine.advance(9 * S, &mut completions);
    let last_ns = completions.last().unwrap().time_ns - 4 * S;
    assert!((400 * MS..403 * MS).contains(&last_ns), "{last_ns}");
}

#[test]
fn what_was_waiting_to_be_served_is_forgotten_with_the_power() {
    let mut machine = one_processor();
    let mut completions = Vec::new();
    for number in 0..100 {
        machine.submit(0, request(0, Write, number * 50_000, 50_000));
    }
    machine.advance(MS, &mut completions);
    machine.cut_power();
    completions.clear();
    machine.submit(MS, request(1, Write, 0, 50_000));
    machine.advance(S, &mut completions);
    assert_eq!(completions[0].time_ns, MS + MS);
}

#[test]
fn request_cost_shows_at_depth_1_and_hides_in_a_queue() {
    let mut disk = DiskDescription::new("d", 1_000 * MB, 100e6, 100e6);
    disk.request_ns = 2 * MS;
    let run = |record_bytes, depth| {
        let machine = machine_of(vec![disk.clone()]);
        let mut load = Load::start(machine, Read, &[0], record_bytes, depth);
        load.run_until(100 * S);
        load.bytes[0] as f64 / 100.0
    };
    // 1 MB takes 10 ms and 2 ms of cost.
    assert_close(run(MB, 1), 1e6 / 0.012, 1e-3);
    assert_close(run(MB, 2), 1e6 / 0.010, 1e-3);
    assert_close(run(MB, 8), 1e6 / 0.010, 1e-3);
    // 100 kB take 1 ms: the cost, one request at a time, is the longer stage.
    assert_close(run(MB / 10, 1), 1e5 / 0.003, 1e-3);
    assert_close(run(MB / 10, 8), 1e5 / 0.002, 1e-3);
}

#[test]
fn zones_from_end_to_end() {
    let mut disk = DiskDescription::new("d", 1_000 * MB, 100e6, 100e6);
    disk.inner_read_bytes_per_s = 40e6;
    disk.zones = 4;
    let mut machine = machine_of(vec![disk]);
    // One request over the whole disk is split: 250 MB each at 100, 80, 60 and 40 MB/s.
    machine.submit(0, request(0, Read, 0, 1_000 * MB));
    let mut done = Vec::new();
    machine.advance(100 * S, &mut done);
    let expected_ns = 1e9 * 250.0 * (1.0 / 100.0 + 1.0 / 80.0 + 1.0 / 60.0 + 1.0 / 40.0);
    assert_close(done[0].time_ns as f64, expected_ns, 1e-8);
    // In the innermost zone only.
    machine.submit(100 * S, request(0, Read, 900 * MB, 40 * MB));
    machine.advance(200 * S, &mut done);
    assert_eq!(done[1].time_ns, 101 * S);
}

fn cached_disk() -> DiskDescription {
    let mut disk = DiskDescription::new("d", 1_000_000 * MB, 10e6, 10e6);
    disk.cache = Some(CacheDescription {
        capacity_bytes: 32 * MB,
        rate_bytes_per_s: Some(80e6),
        volatile: true,
    });
    disk
}

#[test]
fn cache_peak_then_flat() {
    let mut load = Load::start(machine_of(vec![cached_disk()]), Write, &[0], MB / 10, 8);
    load.run_until(20 * S);
    // C a / (a - d) = 32 * 80 / 70 = 36.571 MB go at 80 MB/s, the rest at 10 MB/s.
    let burst_bytes = 32e6 * 80.0 / 70.0;
    let burst_ns = burst_bytes / 80e6 * 1e9;
    let mut bytes = 0.0;
    for completion in &load.log {
        bytes += 1e5;
        let expected_ns = if bytes <= burst_bytes {
            bytes / 80e6 * 1e9
        } else {
            burst_ns + (bytes - burst_bytes) / 10e6 * 1e9
        };
        let difference_ns = completion.time_ns as f64 - expected_ns;
        assert!(
            difference_ns.abs() < 200.0,
            "{bytes}: off by {difference_ns} ns"
        );
    }
}

#[test]
fn cache_regains_room_in_a_pause() {
    let mut machine = machine_of(vec![cached_disk()]);
    let mut done = Vec::new();
    machine.submit(0, request(0, Write, 0, 100 * MB));
    // After the request the cache is full, 3.2 s of draining.
    let end_ns = machine.advance_to_completion(60 * S, &mut done);
    machine.submit(end_ns + S, request(0, Write, 100 * MB, 11_428_571));
    machine.advance(60 * S, &mut done);
    // 1 s of pause made room for 10 MB: 10 * 80 / 70 = 11.428571 MB go at 80 MB/s.
    assert_close(
        (done[1].time_ns - end_ns - S) as f64,
        11_428_571.0 / 80e6 * 1e9,
        1e-6,
    );
}

#[test]
fn a_disk_that_cannot_flush_takes_writes_and_fails_every_flush() {
    let mut machine = machine_of(vec![DiskDescription {
        flush_fault: Some(FaultKind::InputOutput),
        ..cached_disk()
    }]);
    let mut done = Vec::new();
    machine.submit(0, request(0, Write, 0, 20 * MB));
    machine.submit(0, request(0, Flush, 1, 0));
    machine.submit(0, request(0, Flush, 1, 0));
    machine.advance(10 * S, &mut done);
    let outcomes: Vec<_> = done.iter().map(|completion| completion.outcome).collect();
    let failed = Err(FaultKind::InputOutput);
    assert_eq!(outcomes, [Ok(20 * MB), failed, failed]);
}

#[test]
fn flush_and_durable_writes_wait_for_the_drain() {
    let mut machine = machine_of(vec![cached_disk()]);
    let mut done = Vec::new();
    machine.submit(0, request(0, Write, 0, 20 * MB));
    machine.submit(0, request(0, Flush, 1, 0));
    machine.submit(
        0,
        SimulatedRequest {
            durable: true,
            ..request(0, Write, 50 * MB, 10 * MB)
        },
    );
    machine.submit(0, request(0, Write, 60 * MB, 8 * MB));
    machine.advance(10 * S, &mut done);
    let times: Vec<f64> = done
        .iter()
        .map(|completion| completion.time_ns as f64 / 1e9)
        .collect();
    assert_eq!(times.len(), 4);
    for (time, expected) in times.iter().zip([0.25, 2.0, 3.0, 3.1]) {
        assert_close(*time, expected, 1e-7);
    }
    assert_eq!(done[1].outcome, Ok(0));
    assert_eq!(done[2].outcome, Ok(10 * MB));
}

#[test]
fn a_cache_that_is_not_volatile_need_not_drain() {
    let mut disk = cached_disk();
    disk.cache.as_mut().unwrap().volatile = false;
    let mut machine = machine_of(vec![disk]);
    let mut done = Vec::new();
    machine.submit(0, request(0, Write, 0, 20 * MB));
    machine.submit(0, request(0, Flush, 1, 0));
    machine.advance(10 * S, &mut done);
    assert_eq!(done[1].time_ns, S / 4);
}

#[test]
fn a_read_goes_before_the_drain() {
    let mut machine = machine_of(vec![cached_disk()]);
    let mut done = Vec::new();
    machine.submit(0, request(0, Write, 0, 8 * MB));
    machine.submit(0, request(0, Read, 0, 10 * MB));
    machine.submit(0, request(0, Flush, 1, 0));
    machine.advance(10 * S, &mut done);
    // 0.1 s in which 1 MB drains, 1 s of reading, 0.7 s for the remaining 7 MB.
    let times: Vec<f64> = done
        .iter()
        .map(|completion| completion.time_ns as f64 / 1e9)
        .collect();
    for (time, expected) in times.iter().zip([0.1, 1.1, 1.8]) {
        assert_close(*time, expected, 1e-7);
    }
}

#[test]
fn cache_drains_at_the_rate_of_its_zone() {
    let mut disk = cached_disk();
    disk.capacity_bytes = 40 * MB;
    disk.inner_write_bytes_per_s = 5e6;
    disk.zones = 2;
    let mut machine = machine_of(vec![disk]);
    let mut done = Vec::new();
    machine.submit(0, request(0, Write, 10 * MB, 20 * MB));
    machine.submit(0, request(0, Flush, 1, 0));
    machine.advance(10 * S, &mut done);
    // 10 MB at 10 MB/s, 10 MB at 5 MB/s.
    assert_close(done[1].time_ns as f64, 3e9, 1e-7);
}

#[test]
fn a_limit_between_drain_and_cache_rate_counts() {
    let mut file = parsed(
        "[[disk]]\nname='a'\ncapacity='1TB'\nwrite='10MB/s'\ncache='32MB'\ncache_rate='80MB/s'\n\
         through=['bus']\n[limit.bus]\nrate='20MB/s'\n",
    );
    let mut load = Load::start(Machine::new(&file, 1), Write, &[0], MB / 10, 8);
    load.run_until(10 * S);
    // In at 20 MB/s, out at 10: full after 3.2 s and 64 MB; then 10 MB/s.
    assert_close(load.bytes[0] as f64, 64e6 + 6.8 * 10e6, 2e-3);

    // Below the media rate the cache stays empty.
    file.limits[0].rates = super::super::LimitRates::Together(5e6);
    let mut load = Load::start(Machine::new(&file, 1), Write, &[0], MB / 10, 8);
    load.run_until(10 * S);
    assert_close(load.bytes[0] as f64, 50e6, 3e-3);
}

#[test]
fn a_full_cache_squeezed_by_its_neighbour_has_room_again() {
    // Alone, the cached disk fills its cache and gets 30 MB/s. Then a reader takes half of the
    // 40 MB/s bus for 2 s: 20 in, 30 out, so 20 MB of room; after it, 40 MB/s until full.
    let file = parsed(
        "[[disk]]\nname='a'\ncapacity='1TB'\nwrite='30MB/s'\ncache='32MB'\ncache_rate='80MB/s'\n\
         through=['bus']\n[[disk]]\nname='b'\ncapacity='1TB'\nread='100MB/s'\nthrough=['bus']\n\
         [limit.bus]\nrate='40MB/s'\n",
    );
    let mut load = Load::start(Machine::new(&file, 1), Write, &[0], MB / 10, 8);
    load.run_until(10 * S);
    let full = load.bytes[0];
    load.machine.submit(10 * S, request(1, Read, 0, 40 * MB));
    let mut done_b_ns = 0;
    let mut completions = Vec::new();
    while load.machine.now_ns() < 15 * S {
        let now_ns = load.machine.advance_to_completion(15 * S, &mut completions);
        for completion in completions.drain(..) {
            if completion.disk == 1 {
                done_b_ns = now_ns;
            } else {
                load.bytes[0] += completion.outcome.unwrap();
                load.submit(now_ns, 0);
            }
        }
    }
    assert_close(done_b_ns as f64, 12e9, 1e-6);
    // 2 s at 20, then 20 MB of room filled at 40 - 30: 2 s at 40, then 1 s at 30.
    assert_close((load.bytes[0] - full) as f64, 40e6 + 80e6 + 30e6, 3e-3);
}

#[test]
fn stalls_hold_every_request() {
    let mut disk = DiskDescription::new("d", 1_000 * MB, 100e6, 100e6);
    disk.stall = Some(StallDescription {
        every_ns: 5 * S,
        for_ns: 120 * MS,
    });
    let mut load = Load::start(machine_of(vec![disk]), Read, &[0], MB, 8);
    load.run_until(20 * S - 1);
    // Held at 5, 10 and 15 s.
    assert_close(load.bytes[0] as f64, (20.0 - 0.36) * 100e6, 1e-3);
    let longest = |load: &Load| {
        let pairs = load.log.windows(2);
        pairs
            .map(|pair| (pair[1].time_ns - pair[0].time_ns, pair[0].time_ns))
            .max()
            .unwrap()
    };
    let (pause_ns, at_ns) = longest(&load);
    assert_eq!(pause_ns, 130 * MS);
    assert!(at_ns.is_multiple_of(5 * S));
}

#[test]
fn stalls_hold_the_drain_and_the_commands_too() {
    let mut disk = cached_disk();
    disk.stall = Some(StallDescription {
        every_ns: S,
        for_ns: 500 * MS,
    });
    disk.request_ns = 600 * MS;
    let mut machine = machine_of(vec![disk]);
    let mut done = Vec::new();
    machine.submit(0, request(0, Write, 0, 8 * MB));
    machine.submit(0, request(0, Flush, 1, 0));
    machine.advance(10 * S, &mut done);
    // Command to 0.6, data to 0.7. The flush's command to 1.0 and, after the stall, to 1.7.
    // Drained 0.6-1.0 and 1.5-1.9: 8 MB.
    assert_close(done[0].time_ns as f64, 0.7e9, 1e-7);
    assert_close(done[1].time_ns as f64, 1.9e9, 1e-7);
}

#[test]
fn an_idle_disk_wakes_in_its_stall() {
    let mut disk = DiskDescription::new("d", 1_000 * MB, 100e6, 100e6);
    disk.stall = Some(StallDescription {
        every_ns: S,
        for_ns: 100 * MS,
    });
    let mut machine = machine_of(vec![disk]);
    let mut done = Vec::new();
    machine.submit(7 * S + 50 * MS, request(0, Read, 0, MB));
    machine.advance(8 * S, &mut done);
    assert_eq!(done[0].time_ns, 7 * S + 110 * MS);
}

#[test]
fn errors_strike_always_or_once_and_only_there() {
    for once in [true, false] {
        let mut disk = DiskDescription::new("d", 10 * MB, 100e6, 100e6);
        disk.fault = Some(FaultDescription {
            at_bytes: 2 * MB + 7,
            kind: FaultKind::InputOutput,
            once,
        });
        let mut load = Load::start(machine_of(vec![disk]), Write, &[0], MB, 4);
        load.run_until(S);
        let failed: Vec<_> = load
            .log
            .iter()
            .filter(|completion| completion.outcome.is_err())
            .collect();
        assert!(failed.iter().all(|completion| {
            completion.id == 2 * MB && completion.outcome == Err(FaultKind::InputOutput)
        }));
        // Ten laps of ten; a failed request takes no time but its cost, so some 11 laps.
        if once {
            assert_eq!(failed.len(), 1);
        } else {
            assert!((10..=12).contains(&failed.len()), "{}", failed.len());
        }
    }
}

#[test]
fn the_disk_ends_where_it_ends() {
    let mut machine = machine_of(vec![DiskDescription::new("d", 10 * MB, 100e6, 100e6)]);
    let mut done = Vec::new();
    machine.submit(0, request(0, Write, 9 * MB + 500_000, MB));
    machine.submit(0, request(0, Read, 9 * MB + 500_000, MB));
    machine.submit(0, request(0, Write, 10 * MB, MB));
    machine.submit(0, request(0, Read, 10 * MB, MB));
    machine.submit(0, request(0, Read, u64::MAX, u64::MAX));
    machine.submit(0, request(0, Write, 0, 0));
    machine.advance(S, &mut done);
    let outcomes: Vec<_> = done.iter().map(|completion| completion.outcome).collect();
    let half = Ok(500_000);
    assert_eq!(
        outcomes,
        [half, half, Err(FaultKind::NoSpace), Ok(0), Ok(0), Ok(0)]
    );
    assert_eq!(done.last().unwrap().time_ns, 10 * MS);
}

fn limited(disks: &[(&str, &str)], limits: &str) -> MachineFile {
    let mut text = String::from(limits);
    for (index, (rate, through)) in disks.iter().enumerate() {
        text += &format!(
            "\n[[disk]]\nname='d{index}'\ncapacity='1TB'\nread='{rate}'\nthrough={through}\n"
        );
    }
    parsed(&text)
}

#[test]
fn two_disks_share_a_channel() {
    let disk = ("11.2MB/s", "['channel']");
    let file = limited(&[disk, disk], "[limit.channel]\nrate='12.1MB/s'");
    for rate in rates_mb_per_s(&file, Read, &[0, 1]) {
        assert_close(rate, 6.05, 5e-3);
    }
    assert_close(rates_mb_per_s(&file, Read, &[1])[0], 11.2, 5e-3);
}

#[test]
fn nested_limits() {
    let left = ("35MB/s", "['channel0', 'bus']");
    let right = ("35MB/s", "['channel1', 'bus']");
    let limits = "[limit.channel0]\nrate='52MB/s'\n[limit.channel1]\nrate='52MB/s'\n\
                  [limit.bus]\nrate='90MB/s'";
    let file = limited(&[left, left, right, right], limits);
    for (disks, expected) in [
        (&[0][..], 35.0),
        (&[0, 1], 52.0),
        (&[0, 2], 70.0),
        (&[0, 1, 2], 87.0),
        (&[0, 1, 2, 3], 90.0),
    ] {
        let rates = rates_mb_per_s(&file, Write, disks);
        assert_close(rates.iter().sum(), expected, 3e-3);
    }
}

#[test]
fn a_slow_disk_leaves_its_share_to_the_others() {
    let fast = ("100MB/s", "['bus']");
    let file = limited(
        &[fast, ("30MB/s", "['bus']"), fast, fast],
        "[limit.bus]\nrate='252MB/s'",
    );
    let rates = rates_mb_per_s(&file, Read, &[0, 1, 2, 3]);
    for (rate, expected) in rates.iter().zip([74.0, 30.0, 74.0, 74.0]) {
        assert_close(*rate, expected, 2e-3);
    }
}

#[test]
fn a_limit_with_two_rates_keeps_the_directions_apart() {
    let disk = ("100MB/s", "['link']");
    let file = limited(&[disk, disk], "[limit.link]\nread='80MB/s'\nwrite='50MB/s'");
    assert_close(
        rates_mb_per_s(&file, Read, &[0, 1]).iter().sum(),
        80.0,
        2e-3,
    );
    assert_close(
        rates_mb_per_s(&file, Write, &[0, 1]).iter().sum(),
        50.0,
        3e-3,
    );
    let mut machine = Machine::new(&file, 1);
    let mut done = Vec::new();
    machine.submit(0, request(0, Read, 0, 80 * MB));
    machine.submit(0, request(1, Write, 0, 50 * MB));
    machine.advance(2 * S, &mut done);
    assert!(
        done.iter()
            .all(|completion| completion.time_ns.abs_diff(S) < 100),
        "{done:?}"
    );
}

#[test]
fn the_same_calls_give_the_same_run() {
    let text = "[[disk]]\nname='a'\ncapacity='8.4GB'\nread='11.226MB/s'\nwrite='9.723MB/s'\n\
        inner_read='6MB/s'\nzones=12\nrequest='80us'\ncache='2MB'\ncache_rate='80MB/s'\n\
        noise='2%'\nstall={every='5s',for='120ms'}\nthrough=['c']\n\
        [[disk]]\nname='b'\ncapacity='8.4GB'\nread='11.226MB/s'\nnoise='2%'\nthrough=['c']\n\
        [limit.c]\nrate='12.1MB/s'\n";
    let run = |seed| {
        let machine = Machine::new(&parsed(text), seed);
        let mut load = Load::start(machine, Write, &[0, 1], 64 << 10, 4);
        load.run_until(60 * S);
        load.log
    };
    assert_eq!(run(3), run(3));
    assert_ne!(run(3), run(4));
}

#[test]
fn how_the_time_is_moved_does_not_matter() {
    let file = limited(
        &[
            ("105MB/s", "['bus']"),
            ("97MB/s", "['bus']"),
            ("31MB/s", "['bus']"),
        ],
        "[limit.bus]\nrate='180MB/s'",
    );
    let run = |step_ns: u64| {
        let mut machine = Machine::new(&file, 1);
        for index in 0..60 {
            machine.submit(0, request(index % 3, Read, index as u64 * MIB, MIB));
        }
        let mut done = Vec::new();
        while machine.in_flight() > 0 {
            machine.advance(machine.now_ns() + step_ns, &mut done);
        }
        done
    };
    assert_eq!(run(u64::MAX / 2), run(1_234_567));
}

#[test]
fn noise_is_the_seeds() {
    let rate = |seed| {
        let mut disk = DiskDescription::new("d", 1_000_000 * MB, 100e6, 100e6);
        disk.noise_fraction = 0.02;
        let file = MachineFile {
            path: "test.toml".into(),
            disks: vec![disk],
            limits: Vec::new(),
            warnings: Vec::new(),
        };
        let mut load = Load::start(Machine::new(&file, seed), Read, &[0], MIB, 8);
        load.run_until(10 * S);
        load.bytes[0]
    };
    assert_eq!(rate(5), rate(5));
    let rates: Vec<u64> = (0..20).map(rate).collect();
    let different: std::collections::BTreeSet<_> = rates.iter().collect();
    assert!(different.len() > 15);
    assert!(
        rates
            .iter()
            .all(|rate| (900 * MB..1100 * MB).contains(rate))
    );
}

#[test]
fn what_completes_during_a_submit_is_not_lost() {
    let mut machine = machine_of(vec![DiskDescription::new("d", 10 * MB, 100e6, 100e6)]);
    machine.submit(0, request(0, Read, 0, MB));
    machine.submit(20 * MS, request(0, Read, MB, MB));
    assert_eq!(machine.in_flight(), 2);
    assert_eq!(machine.next_event_ns(), Some(20 * MS));
    let mut done = Vec::new();
    assert_eq!(machine.advance_to_completion(S, &mut done), 20 * MS);
    assert_eq!(done.len(), 1);
    assert_eq!(done[0].time_ns, 10 * MS);
    // A request in the past enters now.
    machine.submit(0, request(0, Read, 2 * MB, MB));
    assert_eq!(machine.advance_to_completion(S, &mut done), 30 * MS);
    assert_eq!(machine.advance_to_completion(S, &mut done), 40 * MS);
    assert_eq!(machine.advance_to_completion(S, &mut done), S);
    assert_eq!(done.len(), 3);
}

#[test]
fn many_disks_behind_nested_limits_get_all_that_there_is() {
    let mut limits = String::from("[limit.root]\nrate='1000MB/s'\n");
    let mut disks = Vec::new();
    let names: Vec<String> = (0..8)
        .map(|port| format!("['port{port}', 'root']"))
        .collect();
    for (port, name) in names.iter().enumerate() {
        limits += &format!("[limit.port{port}]\nrate='{}MB/s'\n", 100 + 10 * port);
        disks.extend([("40MB/s", name.as_str()); 8]);
    }
    let file = limited(&disks, &limits);
    let all: Vec<usize> = (0..64).collect();
    let rates = rates_mb_per_s(&file, Read, &all);
    // The ports carry 1080 MB/s; of the 1000 each disk gets the same until its port is full:
    // 100 + 110 + 120 for the first three, and 670 / 40 = 16.75 for each of the others.
    assert_close(rates.iter().sum(), 1000.0, 3e-3);
    assert_close(rates[0], 12.5, 0.02);
    assert_close(rates[23], 15.0, 0.02);
    assert_close(rates[63], 134.0 / 8.0, 0.02);
}

fn repository_machine(name: &str) -> MachineFile {
    MachineFile::read(
        &Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../../machines")
            .join(name),
    )
    .unwrap()
}

#[test]
fn the_demo_meets_its_wall() {
    let file = repository_machine("demo.toml");
    assert_close(
        rates_mb_per_s(&file, Write, &[0, 1, 2, 3]).iter().sum(),
        252.0,
        3e-3,
    );
    assert_close(rates_mb_per_s(&file, Write, &[0])[0], 105.0, 0.05);
}

#[test]
fn the_smartcache_misleads_as_it_says() {
    let machine = Machine::new(&repository_machine("smartcache.toml"), 1);
    let mut load = Load::start(machine, Write, &[0], MIB, 8);
    load.run_until(60 * S);
    // Eight lines of 20 MiB: the average so far, and the last line's own rate.
    let seconds = |records: usize| load.log[records - 1].time_ns as f64 / 1e9;
    let line_bytes = (20 * MIB) as f64;
    assert_close(8.0 * line_bytes / seconds(160) / 1e6, 5.2, 0.01);
    assert_close(line_bytes / (seconds(160) - seconds(140)) / 1e6, 4.2, 0.001);
}

mod any_machine {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    fn any_disk() -> impl Strategy<Value = String> {
        let parts = (
            1u64..200,
            1u64..200,
            1u32..5,
            prop::option::of((1u64..64, 1u64..400, any::<bool>())),
            prop::option::of((20u64..500, 1u64..20)),
            prop::option::of(0u64..200),
            0u64..3000,
            0usize..4,
            prop::option::of((3000u32..20_000, prop::option::of(1u64..2000))),
        );
        parts.prop_map(
            |(outer, inner, zones, cache, stall, fault, request_us, path, rpm)| {
                let path = ["[]", "['a']", "['a', 'b']", "['b']"][path];
                let mut text = format!(
                    "capacity='200MB'\nread='{outer}MB/s'\nwrite='{inner}MB/s'\nnoise='2%'\n\
                 request='{request_us}us'\nthrough={path}\n"
                );
                if zones > 1 {
                    text += &format!("inner_read='{inner}MB/s'\nzones={zones}\n");
                }
                if let Some((size, rate, volatile)) = cache {
                    text += &format!(
                        "cache='{size}MB'\ncache_rate='{rate}MB/s'\nvolatile_cache={volatile}\n"
                    );
                }
                if let Some((every, length)) = stall {
                    text += &format!("stall={{every='{every}ms', for='{length}ms'}}\n");
                }
                if let Some((rpm, segment)) = rpm {
                    text += &format!("rpm={rpm}\n");
                    let at_most = cache.map_or(u64::MAX, |(size, ..)| size * 1000);
                    if let Some(size) = segment.map(|size| size.min(at_most)) {
                        text += &format!("segment='{size}kB'\n");
                    }
                }
                if let Some(at) = fault {
                    text += &format!("error={{at='{at}MB', kind='enodata'}}\n");
                }
                text
            },
        )
    }

    const SHARES: [&str; 3] = ["max-min", "depth", "priority"];

    fn machine_file(disks: &[String], limits: (u64, u64), shares: (usize, usize)) -> MachineFile {
        let (share_a, share_b) = (SHARES[shares.0], SHARES[shares.1]);
        let mut text = format!(
            "[limit.a]\nrate='{}MB/s'\nshare='{share_a}'\n[limit.b]\nread='{}MB/s'\n\
             write='{}MB/s'\nshare='{share_b}'\n",
            limits.0, limits.1, limits.0
        );
        for (index, disk) in disks.iter().enumerate() {
            text += &format!("[[disk]]\nname='d{index}'\n{disk}");
        }
        parsed(&text)
    }

    proptest! {
        /// Whatever the machine and the requests: each request completes once, in its disk's
        /// order, at a time that never goes back, and no faster than the limits allow.
        #[test]
        fn serves_everything_in_order_and_within_its_limits(
            disks in vec(any_disk(), 1..6),
            limits in (1u64..300, 1u64..300),
            shares in (0usize..3, 0usize..3),
            requests in vec(
                (0u64..20, 0usize..6, 0u8..5, 0u64..210, 0u64..4000, any::<bool>()), 1..120),
        ) {
            let file = machine_file(&disks, limits, shares);
            let mut machine = Machine::new(&file, 9);
            let mut done = Vec::new();
            let mut now_ns = 0;
            for (id, &(gap_ms, disk, kind, at_mb, length_kb, durable)) in
                requests.iter().enumerate()
            {
                now_ns += gap_ms * MS;
                if id % 16 == 7 {
                    machine.begin_run();
                }
                let operation = [Read, Write, Write, Read, Flush][usize::from(kind)];
                let disk = disk % disks.len();
                let request = request(disk, operation, at_mb * MB, length_kb * 1000);
                machine.submit(now_ns, SimulatedRequest { id: id as u64, durable, ..request });
            }
            let mut turns = 0;
            while machine.in_flight() > 0 {
                turns += 1;
                prop_assert!(turns <= requests.len(), "stuck");
                let event_ns = machine.next_event_ns().unwrap();
                prop_assert!(event_ns >= machine.now_ns());
                machine.advance_to_completion(u64::MAX, &mut done);
            }
            prop_assert_eq!(done.len(), requests.len());
            prop_assert!(done.windows(2).all(|pair| pair[0].time_ns <= pair[1].time_ns));
            for disk in 0..disks.len() {
                let ids: Vec<u64> =
                    done.iter().filter(|one| one.disk == disk).map(|one| one.id).collect();
                prop_assert!(ids.windows(2).all(|pair| pair[0] < pair[1]));
            }
            let through_a = |disk: usize| file.disks[disk].through.contains(&0);
            let bytes: u64 = done
                .iter()
                .filter(|one| through_a(one.disk))
                .map(|one| one.outcome.unwrap_or(0))
                .sum();
            let end_ns = done.last().map_or(0, |one| one.time_ns);
            let most = limits.0 as f64 * 1e6 * end_ns as f64 / 1e9;
            prop_assert!(bytes as f64 <= most * (1.0 + 1e-9) + 8.0, "{bytes} over {most}");
        }
    }
}
