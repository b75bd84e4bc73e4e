//! Devices that the kernel holds back, by a control group of version 1, for the tests that need them.
//! It goes with the test; where it cannot be had the reason is printed.

#![allow(dead_code, reason = "each test file uses its own part of this")]

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::devices::{becomes, is_root, skip};

const CONTROLLER: &str = "/sys/fs/cgroup/blkio";

/// Which way of the data is held back.
#[derive(Clone, Copy)]
pub enum Way {
    Reads,
    Writes,
}

/// A control group in which devices go at given rates.
pub struct Throttles {
    group: PathBuf,
}

impl Throttles {
    /// One in which writes of a device go at this rate; `None`, with the reason printed, where that
    /// cannot be had.
    pub fn writes(device: &str, bytes_per_s: u64) -> Option<Throttles> {
        Throttles::new(Way::Writes, &[(device, bytes_per_s)])
    }

    /// One in which each of these devices goes at its rate, in bytes per second.
    pub fn new(way: Way, rules: &[(&str, u64)]) -> Option<Throttles> {
        if !is_root() {
            skip("control groups need root");
            return None;
        }
        // Devices are in one test at a time.
        let name = rules[0].0.trim_start_matches("/dev/");
        let group = Path::new(CONTROLLER).join(format!("sustain-test-{name}"));
        let made = std::fs::create_dir(&group).and_then(|()| {
            let throttles = Throttles { group };
            for (device, bytes_per_s) in rules {
                throttles.hold(way, device, *bytes_per_s)?;
            }
            Ok(throttles)
        });
        made.map_err(|error| skip(&format!("no throttle of {CONTROLLER}: {error}")))
            .ok()
    }

    fn hold(&self, way: Way, device: &str, bytes_per_s: u64) -> std::io::Result<()> {
        let file = match way {
            Way::Reads => "blkio.throttle.read_bps_device",
            Way::Writes => "blkio.throttle.write_bps_device",
        };
        let name = device.trim_start_matches("/dev/");
        let number = std::fs::read_to_string(format!("/sys/block/{name}/dev"))?;
        let rule = format!("{} {bytes_per_s}", number.trim());
        std::fs::write(self.group.join(file), rule)
    }

    /// The command within the group.
    pub fn around(&self, command: &Command) -> Command {
        let enter = "echo $$ > \"$0\"/cgroup.procs && exec \"$@\"";
        let mut within = Command::new("sh");
        within.args(["-c", enter]).arg(&self.group);
        within.arg(command.get_program()).args(command.get_args());
        within.current_dir(command.get_current_dir().unwrap());
        within
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        within
    }
}

impl Drop for Throttles {
    fn drop(&mut self) {
        // What was killed in it is let go in the kernel's own time.
        if !becomes(|| std::fs::remove_dir(&self.group).is_ok()) {
            eprintln!("{} could not be taken away", self.group.display());
        }
    }
}
