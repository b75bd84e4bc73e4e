//! Simulated machines as targets: `sim:FILE` names all disks of a machine, and `sim:FILE:DISK` one
//! of them. There is one machine for each file, however many of its disks are named.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use sustain_disk::clock::Clock;
use sustain_disk::engine::{SharedMachine, SimulatedTarget};
use sustain_disk::simulated::{Machine, MachineFile};
use sustain_disk::target::{Target, TargetKind};

use crate::error::OpenError;

/// A simulated disk, opened.
#[derive(Debug, Clone)]
pub struct SimulatedDisk {
    /// The target; it has no file.
    pub target: Target,
    /// Which disk of which machine of [`Machines::shared`] it is.
    pub simulated: SimulatedTarget,
}

/// The simulated machines of one run.
pub struct Machines {
    clock: Clock,
    seed: u64,
    shared: Vec<SharedMachine>,
    files: HashMap<PathBuf, (usize, MachineFile)>,
    opened: Vec<SimulatedTarget>,
}

impl Machines {
    /// No machines yet. They will use `clock`, and each draws random numbers from `seed` in its own
    /// way.
    pub fn new(clock: &Clock, seed: u64) -> Machines {
        Machines {
            clock: clock.clone(),
            seed,
            shared: Vec::new(),
            files: HashMap::new(),
            opened: Vec::new(),
        }
    }

    /// Opens one disk of the machine described in `file`, or all of them. Warnings of the
    /// description are added to `notes`.
    ///
    /// # Errors
    /// [`OpenError::Machine`] for a file that cannot be read or is wrong, or has no such disk;
    /// [`OpenError::Usage`] for a disk that is open already.
    pub fn open(
        &mut self,
        file: &Path,
        disk: Option<&str>,
        notes: &mut Vec<String>,
    ) -> Result<Vec<SimulatedDisk>, OpenError> {
        // A machine is the same one under any name; a file that cannot be found is reported when it
        // is read.
        let file = &file.canonicalize().unwrap_or_else(|_| file.to_owned());
        if !self.files.contains_key(file) {
            let description = MachineFile::read(file)?;
            notes.extend(description.warnings.iter().cloned());
            let index = self.shared.len();
            let seed = self.seed.wrapping_add(index as u64);
            let machine = Machine::new(&description, seed);
            self.shared.push(SharedMachine::new(machine, &self.clock));
            self.files.insert(file.to_owned(), (index, description));
        }
        let (machine, description) = &self.files[file];
        let mut disks = Vec::new();
        for disk in description.select(disk)? {
            let simulated = SimulatedTarget {
                machine: *machine,
                disk,
            };
            let description = &description.disks[disk];
            if self.opened.contains(&simulated) {
                return Err(OpenError::Usage(format!(
                    "the simulated disk {} is given twice: leave one out",
                    description.name
                )));
            }
            self.opened.push(simulated);
            let target = Target {
                name: description.name.clone(),
                kind: TargetKind::Simulated,
                file: None,
                capacity_bytes: Some(description.capacity_bytes),
                alignment_bytes: 1,
                device: None,
                lock: None,
            };
            disks.push(SimulatedDisk { target, simulated });
        }
        Ok(disks)
    }

    /// Begins a new run on each machine: the rates of its disks are drawn anew, as one measurement
    /// of the same disks differs from the next. Without this call, everything that is done with
    /// them is one run.
    pub fn begin_run(&self) {
        for machine in &self.shared {
            machine.begin_run();
        }
    }

    /// The description of the machine that a disk belongs to.
    ///
    /// # Panics
    /// Panics if the disk was not opened here.
    pub fn file_of(&self, disk: SimulatedTarget) -> &MachineFile {
        let mut files = self.files.values();
        let found = files.find(|(index, _)| *index == disk.machine);
        &found.expect("a disk that is open is of a machine here").1
    }

    /// The machines, for engines over them.
    pub fn shared(&self) -> &[SharedMachine] {
        &self.shared
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TWO_DISKS: &str = r#"
[[disk]]
name = "hda"
capacity = "1GiB"
read = "100MB/s"

[[disk]]
name = "hdb"
capacity = "2GiB"
read = "100MB/s"
"#;

    fn machines() -> Machines {
        Machines::new(&Clock::simulated(), 7)
    }

    #[test]
    fn disks_of_one_file_share_a_machine() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("two.toml");
        std::fs::write(&file, TWO_DISKS).unwrap();
        let mut machines = machines();
        let mut notes = Vec::new();
        let second = machines.open(&file, Some("hdb"), &mut notes).unwrap();
        let first = machines.open(&file, Some("hda"), &mut notes).unwrap();
        assert_eq!(machines.shared().len(), 1);
        assert_eq!(second[0].target.name, "hdb");
        assert_eq!(second[0].target.capacity_bytes, Some(2 << 30));
        let expected = SimulatedTarget {
            machine: 0,
            disk: 0,
        };
        assert_eq!(first[0].simulated, expected);
        let copy = directory.path().join("copy.toml");
        std::fs::write(&copy, TWO_DISKS).unwrap();
        let all = machines.open(&copy, None, &mut notes).unwrap();
        assert_eq!((all.len(), machines.shared().len()), (2, 2));
    }

    #[test]
    fn a_disk_that_is_given_twice_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("two.toml");
        std::fs::write(&file, TWO_DISKS).unwrap();
        let mut machines = machines();
        machines.open(&file, Some("hdb"), &mut Vec::new()).unwrap();
        let twice = machines.open(&file, None, &mut Vec::new()).unwrap_err();
        assert_eq!(
            twice.to_string(),
            "the simulated disk hdb is given twice: leave one out"
        );
        let missing = machines.open(Path::new("none.toml"), None, &mut Vec::new());
        assert!(matches!(missing, Err(OpenError::Machine(_))));
    }
}
