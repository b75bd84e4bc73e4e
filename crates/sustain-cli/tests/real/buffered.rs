//! `sustain measure --path buffered` on a loop device that the kernel holds back: no figure of
//! memory is shown as the device's. Skipped, with the reason, where that cannot be had.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, ChildStderr};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::MIB;
use crate::devices::Disk;
use crate::support::{assert_valid, json_of, number, ran, unwrapped};
use crate::throttles::Throttles;

const HELD_TO_BYTES_PER_S: u64 = 32_000_000;
/// What a throttle lets through at once when it has been idle, in a run of two seconds on a busy
/// machine. What comes from memory is a hundred times as fast.
const LET_THROUGH_AT_ONCE: f64 = 2.0;

/// 2 s through the page cache over 16 MiB, which the device needs half a second for.
fn run(disk: &Disk, throttle: &Throttles, direction: &[&str]) -> Value {
    let flags = [
        "--path", "buffered", "--size", "16MiB", "--time", "2s", "--json", "json",
    ];
    let all = [&["measure", disk.name(), "--no-confirm"], direction, &flags].concat();
    let command = disk.place.command(&all);
    let output = throttle.around(&command).output().unwrap();
    ran(output).expect(0);
    let result = json_of(&disk.place.read("json"));
    assert_valid(&result);
    result
}

fn assert_of_the_device(result: &Value) {
    let most = HELD_TO_BYTES_PER_S as f64 * LET_THROUGH_AT_ONCE;
    let (total, target) = (&result["total"], &result["targets"][0]);
    for rate in [
        &total["wall_clock_bytes_per_s"],
        &total["sum_bytes_per_s"],
        &total["all_active_bytes_per_s"],
        &total["sustained"]["rate_bytes_per_s"],
        &target["rate_bytes_per_s"],
        &target["sustained"]["rate_bytes_per_s"],
    ] {
        assert!(
            number(rate) < most,
            "{rate} of a device held back: {total:#}"
        );
    }
}

#[test]
fn what_is_written_over_in_memory_does_not_count_as_written() {
    let Some(disk) = Disk::new(64 * MIB) else {
        return;
    };
    let Some(throttle) = Throttles::writes(disk.name(), HELD_TO_BYTES_PER_S) else {
        return;
    };
    let result = run(&disk, &throttle, &["--write", "--destroy", disk.name()]);
    assert!(number(&result["targets"][0]["laps"]) > 1.0, "{result:#}");
    assert_of_the_device(&result);
    assert_eq!(result["recommendation"], Value::Null);
    assert_eq!(result["total"]["burst"], Value::Null);
    let notes = result["notes"].to_string();
    assert!(
        notes.contains("flushed before it was overwritten"),
        "{notes}"
    );
    assert!(
        notes.contains("the 16 MiB written fit into the memory of"),
        "{notes}"
    );
    assert!(
        notes.contains("there is not enough space here for one; --path direct shows"),
        "{notes}"
    );
}

#[test]
fn what_is_read_again_comes_from_the_device() {
    let Some(disk) = Disk::new(64 * MIB) else {
        return;
    };
    let Some(throttle) = Throttles::reads(disk.name(), HELD_TO_BYTES_PER_S) else {
        return;
    };
    // Memory has it all before the run begins.
    let held = std::fs::read(disk.name()).unwrap();
    assert_eq!(held.len() as u64, 64 * MIB);
    let result = run(&disk, &throttle, &["--read"]);
    assert!(number(&result["targets"][0]["laps"]) > 1.0, "{result:#}");
    assert_of_the_device(&result);
}

/// A run whose memory has taken four seconds' worth of what the device takes, and what it has said
/// so far.
fn with_a_full_cache(disk: &Disk, throttle: &Throttles) -> (Child, BufReader<ChildStderr>, String) {
    let name = disk.name();
    let target = ["measure", name, "--write", "--destroy", name];
    let how = ["--path", "buffered", "--size", "128MiB", "--time", "60s"];
    let command = disk.place.command(&[&target[..], &how].concat());
    let mut child = throttle.around(&command).spawn().unwrap();
    let mut said = BufReader::new(child.stderr.take().unwrap());
    let mut words = String::new();
    while !words.contains("engine ") {
        assert!(said.read_line(&mut words).unwrap() > 0, "{words}");
    }
    std::thread::park_timeout(Duration::from_secs(1));
    (child, said, words)
}

#[test]
fn an_interrupted_run_says_that_it_waits_for_the_page_cache() {
    let Some(disk) = Disk::new(160 * MIB) else {
        return;
    };
    let Some(throttle) = Throttles::writes(disk.name(), HELD_TO_BYTES_PER_S) else {
        return;
    };
    let (child, mut said, mut words) = with_a_full_cache(&disk, &throttle);
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    said.read_to_string(&mut words).unwrap();
    let ran = ran(child.wait_with_output().unwrap()).expect(130);
    let words = unwrapped(&words);
    let waits = "interrupted: part of what was written is still in the page cache";
    assert!(words.contains(waits), "{words}");
    assert!(words.contains("for all programs together"), "{words}");
    let told = unwrapped(&ran.stdout);
    assert!(told.contains("interrupted after"), "{told}");
}

#[test]
fn a_second_interruption_ends_a_run_without_a_result_and_without_a_third() {
    let Some(disk) = Disk::new(160 * MIB) else {
        return;
    };
    let Some(throttle) = Throttles::writes(disk.name(), HELD_TO_BYTES_PER_S) else {
        return;
    };
    let (child, mut said, mut words) = with_a_full_cache(&disk, &throttle);
    // The second one comes before the first is answered. Two alike that wait together are one, so
    // it is one of another kind.
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
    said.read_to_string(&mut words).unwrap();
    let ran = ran(child.wait_with_output().unwrap()).expect(130);
    let words = unwrapped(&words);
    let ends = "ended without a result: the kernel still writes what is in memory";
    assert!(words.contains(ends), "{words}");
    assert!(
        words.contains("nothing more needs to be pressed"),
        "{words}"
    );
    assert_eq!(ran.stdout, "");
}
