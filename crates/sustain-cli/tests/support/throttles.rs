//! A device that the kernel holds back, by a control group of version 1, for the tests that need
//! it. It goes with the test; where it cannot be had the reason is printed. `lab/host` stacks such
//! devices.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use sustain_testing::{Requirement, skip};

use crate::devices::{becomes, is_root};

const CONTROLLER: &str = "/sys/fs/cgroup/blkio";

/// A control group in which a device goes at a given rate.
pub struct Throttles {
    group: PathBuf,
}

impl Throttles {
    /// One in which writes of a device go at this rate; `None`, with the reason printed, where that
    /// cannot be had.
    pub fn writes(device: &str, bytes_per_s: u64) -> Option<Throttles> {
        Throttles::on(device, "write_bps_device", bytes_per_s)
    }

    /// The same of reads.
    #[allow(dead_code, reason = "not every test that throttles reads")]
    pub fn reads(device: &str, bytes_per_s: u64) -> Option<Throttles> {
        Throttles::on(device, "read_bps_device", bytes_per_s)
    }

    fn on(device: &str, what: &str, bytes_per_s: u64) -> Option<Throttles> {
        if !is_root() {
            skip(Requirement::Throttle, "control groups need root");
            return None;
        }
        // Devices are in one test at a time.
        let name = device.trim_start_matches("/dev/");
        let group = Path::new(CONTROLLER).join(format!("sustain-test-{name}"));
        let made = std::fs::create_dir(&group).and_then(|()| {
            let throttles = Throttles { group };
            let number = std::fs::read_to_string(format!("/sys/block/{name}/dev"))?;
            let file = throttles.group.join(format!("blkio.throttle.{what}"));
            std::fs::write(file, format!("{} {bytes_per_s}", number.trim()))?;
            Ok(throttles)
        });
        made.map_err(|error| {
            skip(
                Requirement::Throttle,
                format!("no throttle of {CONTROLLER}: {error}"),
            );
        })
        .ok()
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
