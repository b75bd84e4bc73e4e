//! What a source at full rate gets of simulated disks when its stream has parity, beside the most
//! that their rates allow, and that all of it has parity when they are full (docs/parity.md, "Room
//! and rate").

#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot go on should stop where it is"
)]

mod simulated_recording;

use sustain_disk::driver::Ending;
use sustain_record::recorder::RecordingProgress;

use simulated_recording::Recording;

/// Long beside what a recorder needs to learn how fast its disks are.
const TIME_S: u64 = 15;
const FROM_S: f64 = 5.0;

/// The rate of a source that gives as much as is taken, in MB/s, on disks of so many.
fn full_rate(rates_mb_per_s: &[u32], parities: usize) -> f64 {
    let disk = |(index, rate): (usize, &u32)| {
        format!("[[disk]]\nname = \"hd{index}\"\ncapacity = \"1GB\"\nwrite = \"{rate}MB/s\"\n")
    };
    let recording = Recording {
        machine: rates_mb_per_s.iter().enumerate().map(disk).collect(),
        rate_bytes_per_s: None,
        time_s: Some(TIME_S),
        parities,
        append_bytes: 256 << 10,
    };
    let (standings, ended) = recording.run();
    assert_eq!(ended, Some(Ending::Source));
    let offered = |standing: &RecordingProgress| standing.streams[0].offered_bytes as f64;
    let mut within = standings.iter();
    let first = within.find(|standing| standing.time_s >= FROM_S).unwrap();
    let last = within.rfind(|standing| standing.time_s < TIME_S as f64);
    let last = last.unwrap();
    (offered(last) - offered(first)) / (last.time_s - first.time_s) / 1e6
}

/// All but the highest rates, as many as there are parities.
fn most(rates_mb_per_s: &[u32], parities: usize) -> f64 {
    let mut sorted = rates_mb_per_s.to_vec();
    sorted.sort_unstable();
    f64::from(sorted[..sorted.len() - parities].iter().sum::<u32>())
}

#[test]
fn a_source_gets_nearly_all_that_equal_and_unequal_disks_allow() {
    let machines: [&[u32]; 6] = [
        &[10; 5],
        &[5, 8, 10, 12, 15],
        &[2, 10, 10, 10, 10],
        &[10, 10, 20],
        &[4, 16],
        &[3, 3, 3, 20, 20, 20],
    ];
    for rates in machines {
        for parities in 1..=2.min(rates.len() - 1) {
            let (rate, most) = (full_rate(rates, parities), most(rates, parities));
            assert!(
                rate >= 0.93 * most && rate <= 1.05 * most,
                "{rates:?} MB/s, {parities} parities: {rate:.1} of {most} MB/s"
            );
        }
    }
}

/// How much a source at full rate gets onto disks of so many MB, each with a rate in MB/s, and how
/// much of that is protected then.
fn until_full(disks: &[(u32, u32)], parities: usize) -> (u64, u64) {
    let disk = |(index, (size, rate)): (usize, &(u32, u32))| {
        format!("[[disk]]\nname = \"hd{index}\"\ncapacity = \"{size}MB\"\nwrite = \"{rate}MB/s\"\n")
    };
    let recording = Recording {
        machine: disks.iter().enumerate().map(disk).collect(),
        rate_bytes_per_s: None,
        time_s: None,
        parities,
        append_bytes: 256 << 10,
    };
    let (standings, ended) = recording.run();
    assert_eq!(ended, Some(Ending::Full));
    let stream = &standings.last().unwrap().streams[0];
    let recorded_bytes = stream.offered_bytes - stream.gap_bytes;
    (recorded_bytes, stream.protected_bytes.unwrap())
}

#[test]
fn all_that_unequal_disks_take_until_they_are_full_is_protected() {
    let machines: [&[(u32, u32)]; 6] = [
        &[(16, 20), (25, 20), (37, 20), (50, 20)],
        &[(16, 10), (25, 20), (37, 40), (50, 80)],
        &[(16, 80), (25, 40), (37, 20), (50, 10)],
        &[(20, 10), (21, 11), (22, 12), (23, 13), (24, 14)],
        &[(12, 30), (12, 30), (60, 10)],
        &[(10, 5), (20, 5), (30, 5), (40, 40), (50, 40), (60, 40)],
    ];
    for disks in machines {
        for parities in 1..=2.min(disks.len() - 1) {
            let (recorded_bytes, protected_bytes) = until_full(disks, parities);
            assert_eq!(
                protected_bytes, recorded_bytes,
                "{disks:?}, {parities} parities"
            );
        }
    }
}
