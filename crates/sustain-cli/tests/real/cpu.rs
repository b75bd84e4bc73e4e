//! The CPU figures of `measure` and `record`, held to what the system counted for the whole
//! process. Work is bounded in bytes and nothing is asserted of how long anything took.

use std::process::Command;

use crate::support::{Place, json_of, number, ran};
use serde_json::Value;

/// Runs the command in a shell and returns the CPU seconds that the shell's `times` has for its
/// children.
fn cpu_seconds_of(place: &Place, arguments: &[&str]) -> f64 {
    let command = place.command(arguments);
    let mut shell = Command::new("sh");
    shell.args(["-c", "\"$0\" \"$@\" > said 2>&1 && times"]);
    shell.arg(command.get_program()).args(command.get_args());
    shell.current_dir(command.get_current_dir().unwrap());
    let times = ran(shell.output().unwrap()).expect(0).stdout;
    let children = times.lines().nth(1).unwrap();
    let seconds = |time: &str| {
        let (minutes, seconds) = time.trim_end_matches('s').split_once('m').unwrap();
        minutes.parse::<f64>().unwrap() * 60.0 + seconds.parse::<f64>().unwrap()
    };
    children.split_whitespace().map(seconds).sum()
}

/// The figure is the process's own, but for its beginning and its end, which are short beside the
/// work.
#[track_caller]
fn assert_is_the_processes(told_s: f64, counted_s: f64) {
    // `times` counts in steps of a hundredth of a second, of user and of system time.
    let (most_s, least_s) = (counted_s + 0.02, 0.5 * counted_s - 0.02);
    assert!(
        (least_s..=most_s).contains(&told_s),
        "{told_s} told, {counted_s} counted"
    );
}

#[test]
fn a_measurement_tells_what_the_system_counted() {
    let place = Place::new();
    // New bytes are made by the CPU: the work of which the figure is.
    let work = ["--bytes", "2GB", "--data", "rewritten", "--no-confirm"];
    let flags = [&["measure", "null:"], &work[..], &["--json", "run.json"]].concat();
    let counted_s = cpu_seconds_of(&place, &flags);
    let result: Value = json_of(&place.read("run.json"));
    let total = &result["total"];
    let told_s = number(&total["cpu_seconds_per_gb"]) * number(&total["bytes"]) / 1e9;
    assert_is_the_processes(told_s, counted_s);
    // Simulated time costs no CPU that says anything.
    place.write(
        "machine.toml",
        &crate::support::disk("a", "1TB", "100MB/s", ""),
    );
    let simulated = place.simulate(0, &["--no-confirm"]);
    assert_eq!(simulated["total"]["cpu_seconds_per_gb"], Value::Null);
}

#[test]
fn a_recording_tells_what_the_system_counted() {
    let place = Place::new();
    place
        .run(&["create", "member", "--size", "400MB", "--no-prewrite"])
        .expect(0);
    let source = ["--from", "test:1GB/s", "--bytes", "100MB"];
    let flags = [&["record", "member"], &source[..], &["--json", "run.json"]].concat();
    let counted_s = cpu_seconds_of(&place, &flags);
    let result: Value = json_of(&place.read("run.json"));
    let total = &result["total"];
    let told_s = number(&total["cpu_seconds"]);
    assert_is_the_processes(told_s, counted_s);
    let recorded = number(&result["streams"][0]["recorded_bytes"]);
    let by_bytes_s = number(&total["cpu_seconds_per_gb"]) * recorded / 1e9;
    assert!(
        (by_bytes_s / told_s - 1.0).abs() < 0.01,
        "{by_bytes_s} {told_s}"
    );
}
