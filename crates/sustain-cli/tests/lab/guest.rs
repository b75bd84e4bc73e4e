//! A guest of the disk lab, started by `lab/run` for each command, one at a time: two would take
//! the CPUs from each other.

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};

use sustain_testing::{Requirement, skip};

use crate::support::{Place, Ran, ran};

const LAB: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../lab");
/// Exit status of `lab/run` where QEMU or a package cannot be had.
const LACKS: i32 = 123;

static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// A topology, and the directory that its guests have as /out.
pub struct Guest {
    topology: PathBuf,
    pub place: Place,
}

impl Guest {
    /// With a topology of the lab; `None`, with the reason printed, where there is no QEMU.
    pub fn new(topology: &str) -> Option<Guest> {
        // A test installs nothing; `lab/run` would.
        let qemu = Command::new("qemu-system-x86_64").arg("--version").output();
        if qemu.is_err() {
            skip(
                Requirement::Guest,
                "there is no QEMU (Debian: apt-get install qemu-system-x86)",
            );
            return None;
        }
        Some(Guest {
            topology: topology.into(),
            place: Place::new(),
        })
    }

    /// With a topology of its own.
    pub fn of(lines: &str) -> Guest {
        let place = Place::new();
        place.write("own.lab", lines);
        Guest {
            topology: place.path("own.lab"),
            place,
        }
    }

    pub fn path(&self, name: &str) -> String {
        self.place
            .path(name)
            .into_os_string()
            .into_string()
            .unwrap()
    }

    /// Runs a command in a guest; `None`, with the reason printed, where no guest can be had.
    pub fn run(&self, flags: &[&str], command: &[&str]) -> Option<Ran> {
        let one = ONE_AT_A_TIME.lock();
        // Another test's failure is none of this one's.
        let _one = one.unwrap_or_else(PoisonError::into_inner);
        let ran = self.try_run(flags, command);
        if ran.code == LACKS {
            skip(Requirement::Guest, &ran.stderr);
            return None;
        }
        Some(ran)
    }

    /// What `lab/run` makes of it, whatever that is; for what starts no guest.
    pub fn try_run(&self, flags: &[&str], command: &[&str]) -> Ran {
        let output = Command::new(format!("{LAB}/run"))
            .args(["--sustain", env!("CARGO_BIN_EXE_sustain"), "--keep"])
            .arg(self.place.path(""))
            // A machine with other work is slow, and no test is to fail for that.
            .args(["--time-limit", "300s"])
            .args(flags)
            .arg(&self.topology)
            .arg("--")
            .args(command)
            .stdin(Stdio::null())
            .output()
            .unwrap();
        ran(output)
    }
}
