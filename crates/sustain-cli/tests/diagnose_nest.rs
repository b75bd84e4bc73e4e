//! `sustain diagnose` on real block devices behind real shared limits: loop devices stacked on
//! throttled loop devices, as disks on two channels of one bus, by `lab/host`. Skipped, with the
//! reason, where the machine cannot do it. By itself, so that no other test takes the CPUs
//! meanwhile.

#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test that cannot go on should stop where it is, and may say why"
)]

mod support;

use std::collections::HashMap;
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};

use serde_json::Value;
use sustain_testing::{Requirement, skip};

use crate::support::{Place, Ran, json_of, number, ran};

const LAB: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../lab/host");
/// Its exit status where the machine cannot do it.
const LACKS: i32 = 123;

/// Two would take the CPUs from each other.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

const TIMES_PER_RUN: [&str; 3] = ["2400ms", "3200ms", "4000ms"];
/// Readings that differ so much are other programs' doing: the throttle's own differ by 1 %.
const NOISE_MAX: f64 = 0.05;
/// The limits of lab/topologies/nest.lab: whose, how many MB/s, the name of the one that has it.
const WALLS: [(&[&str], f64, &str); 3] = [
    (&["a", "b", "c", "d"], 180.0, "bus"),
    (&["a", "b"], 104.0, "channel0"),
    (&["c", "d"], 104.0, "channel1"),
];

/// Runs this on the disks of a topology; `None`, with the reason printed, where there are none.
fn on_host(place: &Place, topology: &str, command: &[&str]) -> Option<Ran> {
    let one = ONE_AT_A_TIME.lock();
    // Another test's failure is none of this one's.
    let _one = one.unwrap_or_else(PoisonError::into_inner);
    let output = Command::new(LAB)
        .args(["--sustain", env!("CARGO_BIN_EXE_sustain"), "--disks"])
        // Not in /tmp, which is often memory and refuses direct I/O.
        .arg(place.path("disks"))
        .args([topology, "--"])
        .args(command)
        .current_dir(place.path(""))
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let ran = ran(output);
    if ran.code == LACKS {
        skip(Requirement::Throttle, &ran.stderr);
        return None;
    }
    Some(ran)
}

/// The kernel's names of the devices, by those of the topology: `lab: bus is /dev/loop7`.
fn devices(said: &str) -> HashMap<&str, &str> {
    let named = said.lines().filter_map(|line| line.strip_prefix("lab: "));
    named
        .filter_map(|line| line.split_once(" is /dev/"))
        .collect()
}

/// Whether the walls found are these. The kernel's throttle is exact in the long run only.
fn are_found(result: &Value, devices: &HashMap<&str, &str>) -> bool {
    let walls = result["walls"].as_array().unwrap();
    let is_found = |(members, limit, name): &(&[&str], f64, &str)| {
        walls.iter().any(|wall| {
            let of = wall["members"].as_array().unwrap().iter();
            let of: Vec<&str> = of
                .map(|member| member.as_str().unwrap().rsplit('/').next().unwrap())
                .collect();
            of == *members
                && (number(&wall["limit_bytes_per_s"]) / 1e6 / limit - 1.0).abs() < 0.15
                && wall["hop"]["name"] == devices[name]
        })
    };
    walls.len() == WALLS.len() && WALLS.iter().all(is_found)
}

#[test]
#[ignore = "most of a minute"]
fn channels_and_a_bus_of_throttled_devices_are_found_and_named() {
    let place = Place::new();
    let mut noise_min = f64::INFINITY;
    // A busy machine is given longer runs. A segment, an eighth of a run, is a whole number of the
    // tenths of a second by which the kernel's throttle counts.
    for time_per_run in TIMES_PER_RUN {
        let flags = ["sustain", "diagnose", "--read", "--json", "json"];
        let disks = ["/dev/lab/a", "/dev/lab/b", "/dev/lab/c", "/dev/lab/d"];
        let command = [&flags[..], &["--time-per-run", time_per_run], &disks].concat();
        let Some(ran) = on_host(&place, "nest", &command) else {
            return;
        };
        let ran = ran.expect(0);
        let result = json_of(&place.read("json"));
        if are_found(&result, &devices(&ran.stderr)) {
            return;
        }
        let (walls, said) = (&result["walls"], &ran.stderr);
        eprintln!("not with runs of {time_per_run}:\n{said}\n{walls:#}");
        noise_min = noise_min.min(number(&result["noise"]));
    }
    if noise_min > NOISE_MAX {
        skip(
            Requirement::QuietMachine,
            "it is too busy to tell its limits",
        );
        return;
    }
    panic!("{WALLS:?} were not found");
}

#[test]
fn what_was_stacked_is_taken_down_when_the_command_fails_or_is_ended() {
    let place = Place::new();
    for (command, code) in [
        ("exit 7", 7),
        ("kill -KILL $$", 137),
        ("kill -TERM $PPID; sleep 60", 143),
    ] {
        let Some(ran) = on_host(&place, "nest", &["sh", "-c", command]) else {
            return;
        };
        let ran = ran.expect(code);
        let images = place.path("disks");
        for device in devices(&ran.stderr).values() {
            let file = format!("/sys/block/{device}/loop/backing_file");
            let below = std::fs::read_to_string(file).unwrap_or_default();
            assert!(
                !below.starts_with(images.to_str().unwrap()),
                "{device} is left: {below}"
            );
        }
    }
}

#[test]
fn what_only_a_guest_can_have_is_refused_here() {
    let place = Place::new();
    for (lines, words) in [
        (
            "disk a nvme 1MiB on cache",
            "a volatile cache is for guests",
        ),
        (
            "disk a nvme 1MiB\nfault a read EIO",
            "faults are for guests",
        ),
        (
            "limit a 1MB/s\ndisk a nvme 1MiB",
            "there is a limit of that name",
        ),
        ("disk a nvme", "'' is no size"),
    ] {
        place.write("own.lab", lines);
        let Some(ran) = on_host(&place, "./own.lab", &["true"]) else {
            return;
        };
        ran.expect(125).says(words);
    }
}
