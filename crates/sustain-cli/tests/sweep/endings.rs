//! Real files and devices: what is kept after each point, Ctrl-C, both paths on one descriptor.

use std::fs::File;

use rustix::process::Signal;
use serde_json::Value;

use crate::devices::Disk;
use crate::running::Running;
use crate::support::{Place, Ran, json_of, number};
use crate::{MIB, assert_valid};

const SHORT: [&str; 6] = [
    "--size",
    "8MiB",
    "--time-per-point",
    "100ms",
    "--rounds",
    "2",
];

/// A whole sweep, with as much time for each point as this machine needs now: on a busy one no
/// request may complete in a short one, which the sweep calls a failure.
fn swept(place: &Place, flags: &[&str]) -> Ran {
    let swept = |time| place.run(&[flags, &["--time-per-point", time, "--rounds", "2"]].concat());
    let is_starved = |ran: &Ran| ran.code == 1 && ran.stdout.contains("no request completed");
    let ran = swept("100ms");
    if is_starved(&ran) { swept("3s") } else { ran }
}

fn measured(result: &Value) -> usize {
    result["measurements"].as_array().unwrap().len()
}

/// Whether a sweep's document is there and has some measurements.
fn has_measurements(place: &Place, some: usize) -> bool {
    let text = std::fs::read_to_string(place.path("json")).unwrap_or_default();
    // It is replaced at once: it is whole whenever it is there.
    !text.is_empty() && measured(&json_of(&text)) >= some
}

#[test]
fn engines_and_paths_are_compared_on_one_file() {
    let place = Place::new();
    let flags = [
        "sweep",
        ".",
        "--json",
        "-",
        "--engine",
        "auto,threads,sync",
        "--path",
        "direct,buffered",
        "--record-size",
        "64KiB",
        "--depth",
        "1,4",
        "--write",
        "--read",
        "--size",
        "8MiB",
    ];
    let ran = swept(&place, &flags).expect(0);
    let result = json_of(&ran.stdout);
    assert_valid(&result);
    // sync has one depth.
    assert_eq!(result["points"].as_array().unwrap().len(), 2 * 2 * 5);
    assert_eq!(measured(&result), 2 * 2 * 2 * 5);
    for point in result["points"].as_array().unwrap() {
        assert!(number(&point["rate_bytes_per_s"]) > 0.0, "{point:#}");
        assert!(number(&point["cpu_seconds_per_gb"]) > 0.0, "{point:#}");
        assert!(number(&point["latency_p99_9_ns"]) > 0.0, "{point:#}");
        assert!(point["engine_used"].is_string(), "{point:#}");
    }
    assert_eq!(place.names(), [""; 0], "the scratch file goes with the run");
}

#[test]
fn an_interrupted_sweep_concludes_from_what_there_is() {
    let place = Place::new();
    std::fs::create_dir(place.path("a")).unwrap();
    let arguments = ["sweep", "a", "--json", "json", "--depth", "1..8"];
    let mut command = place.command(&[&arguments[..], &SHORT].concat());
    command.stderr(File::create(place.path("said")).unwrap());
    let mut running = Running::start(&mut command);
    assert!(running.becomes(|| has_measurements(&place, 3)));
    running.signal(Signal::INT);
    let ran = running.finish().expect(130);
    assert!(
        ran.stdout.starts_with("The sweep was interrupted, "),
        "{ran:#?}"
    );
    let result = json_of(&place.read("json"));
    assert_valid(&result);
    assert_eq!(result["ended"], "interrupted");
    assert!(measured(&result) >= 3);
    assert!(result["answers"][0]["best"].is_u64());
    assert_eq!(place.names(), ["a", "json", "said"]);
    assert_eq!(std::fs::read_dir(place.path("a")).unwrap().count(), 0);
}

#[test]
fn what_was_measured_outlives_a_kill() {
    let place = Place::new();
    std::fs::create_dir(place.path("a")).unwrap();
    let arguments = ["sweep", "a", "--json", "json", "--depth", "1..8"];
    let mut command = place.command(&[&arguments[..], &SHORT].concat());
    command.stderr(File::create(place.path("said")).unwrap());
    let mut running = Running::start(&mut command);
    assert!(running.becomes(|| has_measurements(&place, 2)));
    running.kill();
    let result = json_of(&place.read("json"));
    assert_valid(&result);
    assert_eq!(result["ended"], "interrupted");
    assert!(measured(&result) >= 2);
}

#[test]
fn a_device_is_read_on_both_paths_and_keeps_its_bytes() {
    let Some(disk) = Disk::new(16 * MIB) else {
        return;
    };
    let before = disk.bytes();
    let flags = [
        "sweep",
        disk.name(),
        "--json",
        "-",
        "--path",
        "direct,buffered",
        "--record-size",
        "64KiB,256KiB",
        "--depth",
        "1,2",
    ];
    let result = json_of(&swept(&disk.place, &flags).expect(0).stdout);
    assert_valid(&result);
    assert_eq!(result["answers"][0]["direction"], "read");
    assert_eq!(measured(&result), 16);
    assert!(disk.bytes() == before);
}

#[test]
fn a_device_is_written_on_both_paths_under_one_claim() {
    let Some(disk) = Disk::new(16 * MIB) else {
        return;
    };
    let before = disk.bytes();
    let flags = [
        "sweep",
        disk.name(),
        "--destroy",
        disk.name(),
        "--write",
        "--read",
        "--json",
        "-",
        "--path",
        "direct,buffered",
        "--record-size",
        "64KiB",
        "--depth",
        "2",
    ];
    let result = json_of(&swept(&disk.place, &flags).expect(0).stdout);
    assert_valid(&result);
    assert_eq!(result["answers"].as_array().unwrap().len(), 2);
    assert!(disk.bytes() != before);
}
