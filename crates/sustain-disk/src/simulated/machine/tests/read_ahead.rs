//! Drives that read ahead into a segment: they miss fewer revolutions, and later. At 6000 rpm a
//! revolution T takes 10 ms. A host that takes s from a medium of r fills a segment of S bytes in
//! S / (r - s). Then the medium rests for T, while the host takes at most S: in all
//! r S / (S + T (r - s)), where that is less than s.

use super::*;

fn reading_ahead(count: usize, limit_mb_per_s: f64, segment_kb: u64) -> MachineFile {
    let mut text = format!("[limit.channel]\nrate='{limit_mb_per_s}MB/s'\n");
    for index in 0..count {
        text += &format!(
            "[[disk]]\nname='d{index}'\ncapacity='100GB'\nread='30MB/s'\nrpm=6000\n\
             segment='{segment_kb}kB'\nthrough=['channel']\n"
        );
    }
    parsed(&text)
}

/// MB/s of some disks driven together for 100 s.
fn rate(file: &MachineFile, record_bytes: u64, depth: usize) -> f64 {
    let disks: Vec<usize> = (0..file.disks.len()).collect();
    let mut load = Load::start(Machine::new(file, 1), Read, &disks, record_bytes, depth);
    load.run_until(100 * S);
    load.bytes.iter().sum::<u64>() as f64 / 100e6
}

#[test]
fn the_loss_of_a_stream_that_cannot_keep_up_follows_the_segment() {
    for (limit, segment_kb, expected) in [
        (25.0, 75, 18.0),
        (25.0, 25, 10.0),
        (29.0, 75, 26.471),
        (10.0, 50, 6.0),
    ] {
        for (record_bytes, depth) in [(75_000, 4), (MIB, 4), (16_384, 1)] {
            let rate = rate(&reading_ahead(1, limit, segment_kb), record_bytes, depth);
            assert_close(rate, expected, 2e-3);
        }
    }
}

#[test]
fn a_segment_that_lasts_for_a_revolution_loses_nothing() {
    assert_close(rate(&reading_ahead(1, 25.0, 251), 75_000, 4), 25.0, 1e-3);
    assert_close(rate(&reading_ahead(1, 40.0, 16), 75_000, 4), 30.0, 1e-3);
}

#[test]
fn disks_that_share_a_channel_lose_as_one_that_gets_its_part() {
    assert_close(rate(&reading_ahead(2, 50.0, 75), 75_000, 8), 36.0, 5e-3);
}

#[test]
fn a_late_command_is_hidden() {
    let mut file = reading_ahead(1, 1000.0, 300);
    file.disks[0].request_ns = 2 * MS;
    // Without a segment, 6 MB/s.
    assert_close(rate(&file, 75_000, 1), 30.0, 1e-3);
}

#[test]
fn what_was_read_ahead_is_there_at_once_and_another_place_is_not() {
    let mut machine = Machine::new(&reading_ahead(1, 1000.0, 75), 1);
    let mut done = Vec::new();
    machine.submit(0, request(0, Read, 0, 30_000));
    // The segment is full after 3.5 ms. 75 kB at 1000 MB/s take 75 us. The byte behind them comes
    // round every 10 ms.
    machine.submit(100 * MS, request(0, Read, 30_000, 75_000));
    machine.submit(200 * MS, request(0, Read, 315_000, 30_000));
    machine.submit(300 * MS, request(0, Write, 330_000, 30_000));
    machine.submit(400 * MS, request(0, Read, 360_000, 30_000));
    machine.advance(S, &mut done);
    let nearest_us = |one: &SimulatedCompletion| (one.time_ns + 500) / 1000;
    let times_us: Vec<u64> = done.iter().map(nearest_us).collect();
    // Byte 0 comes under the head at each whole revolution, and byte 300,000 with it.
    assert_eq!(times_us, [1_000, 100_075, 201_500, 302_000, 403_000]);
}

#[test]
fn a_disk_is_read_to_its_last_byte_however_its_requests_come() {
    for (request_us, pause_us) in [(0, 0), (300, 0), (0, 50_000), (300, 77)] {
        let mut file = reading_ahead(1, 100.0, 500);
        file.disks[0].capacity_bytes = 64 * MIB;
        file.disks[0].request_ns = request_us * 1000;
        let mut machine = Machine::new(&file, 1);
        let mut done = Vec::new();
        for record in 0..64 {
            let begin_ns = machine.now_ns() + pause_us * 1000;
            machine.submit(begin_ns, request(0, Read, record * MIB, MIB));
            assert!(machine.advance_to_completion(1000 * S, &mut done) < 1000 * S);
        }
        assert_eq!(done.len(), 64);
        // The last bytes are there no sooner than the head has read all of them.
        assert!(done[63].time_ns as f64 >= (64 * MIB) as f64 / 30e6 * 1e9 - 10.0);
    }
}

#[test]
fn a_stall_and_the_end_of_the_disk_end_reading_ahead() {
    let mut file = reading_ahead(1, 1000.0, 75);
    file.disks[0].capacity_bytes = 100_000;
    file.disks[0].stall = Some(StallDescription {
        every_ns: 5 * MS,
        for_ns: MS,
    });
    let mut machine = Machine::new(&file, 1);
    let mut done = Vec::new();
    machine.submit(0, request(0, Read, 0, 90_000));
    machine.submit(0, request(0, Read, 90_000, 90_000));
    machine.advance(S, &mut done);
    let ends: Vec<(u64, Result<u64, FaultKind>)> = done
        .iter()
        .map(|one| (one.time_ns / 1000, one.outcome))
        .collect();
    assert_eq!(ends, [(3_000, Ok(90_000)), (3_333, Ok(10_000))]);
    assert_eq!(machine.next_event_ns(), None);
}
