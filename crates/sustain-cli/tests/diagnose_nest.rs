//! `sustain diagnose` on real block devices behind real shared limits: loop devices stacked on
//! throttled loop devices, as disks on two channels of one bus. Skipped, with the reason, where the
//! kernel cannot do it. By itself, so that no other test takes the CPUs meanwhile.

#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test that cannot go on should stop where it is, and may say why"
)]

#[allow(dead_code, reason = "it is made for the tests of the guard")]
#[path = "guard/devices.rs"]
mod devices;
mod support;
#[path = "support/throttles.rs"]
mod throttles;

use std::path::Path;

use serde_json::Value;

use crate::devices::{Loop, skip, try_tool};
use crate::support::{Place, json_of};
use crate::throttles::{Throttles, Way};

const DISK_BYTES: u64 = 32 << 20;
/// Rates in MB/s: two disks would need 320 of their channel, the channels 480 of the bus.
const DISK: u64 = 70;
const CHANNEL: u64 = 104;
const BUS: u64 = 180;
const MB: u64 = 1_000_000;

const TIMES_PER_RUN: [&str; 3] = ["2400ms", "3200ms", "4000ms"];
/// Readings that differ so much are other programs' doing: the throttle's own differ by 1 %.
const NOISE_MAX: f64 = 0.05;

/// A part of what lies below as a device of its own, past the page cache: else a limit below would
/// be met only once.
fn part(below: &Path, number: u64, size_bytes: u64) -> Option<Loop> {
    let (offset, size) = ((number * size_bytes).to_string(), size_bytes.to_string());
    let flags = ["--direct-io=on", "-o", &offset, "--sizelimit", &size];
    Loop::over(below, &flags)
}

/// The bus, its two channels and their four disks.
struct Nest {
    // In this order they are taken away again.
    disks: [Loop; 4],
    channels: [Loop; 2],
    bus: Loop,
    place: Place,
}

impl Nest {
    fn new() -> Option<Nest> {
        let place = Place::new();
        let image = place.path("image");
        std::fs::write(&image, vec![7; 4 * DISK_BYTES as usize]).unwrap();
        try_tool(&["sync", image.to_str().unwrap()]).unwrap();
        let bus = part(&image, 0, 4 * DISK_BYTES)?;
        let channels = [0, 1].map(|half| part(Path::new(&bus.name), half, 2 * DISK_BYTES).unwrap());
        let disks = [(0, 0), (0, 1), (1, 0), (1, 1)]
            .map(|(half, disk)| part(Path::new(&channels[half].name), disk, DISK_BYTES).unwrap());
        Some(Nest {
            disks,
            channels,
            bus,
            place,
        })
    }

    fn rules(&self) -> Vec<(&str, u64)> {
        let mut rules = vec![(self.bus.name.as_str(), BUS * MB)];
        rules.extend(
            self.channels
                .iter()
                .map(|one| (one.name.as_str(), CHANNEL * MB)),
        );
        rules.extend(self.disks.iter().map(|one| (one.name.as_str(), DISK * MB)));
        rules
    }

    fn names(&self) -> Vec<&str> {
        self.disks.iter().map(|disk| disk.name.as_str()).collect()
    }

    /// The result of runs of this length, and what was said.
    fn diagnose(&self, throttles: &Throttles, time_per_run: &str) -> (Value, String) {
        let flags = ["diagnose", "--read", "--json", "json", "--time-per-run"];
        let words = [&flags[..], &[time_per_run], &self.names()].concat();
        let command = self.place.command(&words);
        let output = throttles.around(&command).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        (json_of(&self.place.read("json")), said)
    }

    /// The walls that it must have, largest first: members, limit in MB/s, the device it sits at.
    fn walls(&self) -> [(Vec<&str>, u64, &str); 3] {
        let all = self.names();
        [
            (all.clone(), BUS, self.bus.kernel_name()),
            (all[..2].to_vec(), CHANNEL, self.channels[0].kernel_name()),
            (all[2..].to_vec(), CHANNEL, self.channels[1].kernel_name()),
        ]
    }
}

/// Whether the walls found are these. The kernel's throttle is exact in the long run only.
fn are_found(result: &Value, expected: &[(Vec<&str>, u64, &str)]) -> bool {
    let walls = result["walls"].as_array().unwrap();
    let is_found = |(members, limit, device): &(Vec<&str>, u64, &str)| {
        walls.iter().any(|wall| {
            let found = wall["limit_bytes_per_s"].as_f64().unwrap() / 1e6;
            wall["members"] == serde_json::json!(members)
                && (found / *limit as f64 - 1.0).abs() < 0.15
                && wall["hop"]["name"] == *device
        })
    };
    walls.len() == expected.len() && expected.iter().all(is_found)
}

#[test]
fn channels_and_a_bus_of_throttled_devices_are_found_and_named() {
    let Some(nest) = Nest::new() else { return };
    let Some(throttles) = Throttles::new(Way::Reads, &nest.rules()) else {
        return;
    };
    let expected = nest.walls();
    let mut noise_min = f64::INFINITY;
    // A busy machine is given longer runs. A segment, an eighth of a run, is a whole number of the
    // tenths of a second by which the kernel's throttle counts.
    for time_per_run in TIMES_PER_RUN {
        let (result, said) = nest.diagnose(&throttles, time_per_run);
        if are_found(&result, &expected) {
            return;
        }
        let walls = &result["walls"];
        eprintln!("not with runs of {time_per_run}:\n{said}\n{walls:#}");
        noise_min = noise_min.min(result["noise"].as_f64().unwrap());
    }
    if noise_min > NOISE_MAX {
        return skip("this machine is too busy to tell its limits");
    }
    panic!("{expected:?} were not found");
}
