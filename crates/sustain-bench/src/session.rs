//! Opens the targets of a run under the guard, and settles which part of each is used.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use sustain_disk::clock::Clock;
use sustain_disk::engine::{SharedMachine, SimulatedTarget};
use sustain_disk::error::Error;
use sustain_disk::layout::Layout;
use sustain_disk::simulated::{Machine, MachineFile};
use sustain_disk::target::{
    Candidate, Direction, OpenRequest, Target, TargetKind, open_null, open_path,
};
use sustain_host::Roots;

use crate::error::MeasureError;
use crate::guard::{check_destroy, check_distinct, folder_of, inspect};
use crate::plan::{Plan, SIZE_BYTES_DEFAULT, TargetName};
use crate::room::{check_memory, fit, fit_free_space, has_all_blocks};

/// A scratch file leaves this part of the free space alone.
const FREE_SHARE_KEPT: u64 = 20;

/// An open target and the part of it that the run uses.
#[derive(Debug, Clone)]
pub struct OpenTarget {
    /// The target.
    pub target: Target,
    /// Where it lies in the file system, if it does.
    pub path: Option<PathBuf>,
    /// Which simulated disk it is, if it is one.
    pub simulated: Option<SimulatedTarget>,
    /// Bytes from its start that are used.
    pub size_bytes: u64,
    /// Whether the run starts again at 0 at the end of these.
    pub wraps: bool,
    /// Whether its bytes must be written once before anything else.
    pub needs_prewrite: bool,
    /// Whether an existing file has blocks for all its bytes; a hole is read from nowhere.
    pub has_all_blocks: bool,
}

/// All targets of a run.
pub struct Session {
    /// In the order given.
    pub targets: Vec<OpenTarget>,
    /// Simulated machines of theirs.
    pub machines: Vec<SharedMachine>,
    /// Real, unless all targets are simulated.
    pub clock: Clock,
    /// Which way.
    pub direction: Direction,
    /// What the user must know before anything is written.
    pub notes: Vec<String>,
    /// Files that did not exist before.
    created: Vec<PathBuf>,
    names: Vec<TargetName>,
}

impl Session {
    /// Opens what the plan names. Nothing is written yet.
    ///
    /// # Errors
    /// What the guard refuses, what cannot be opened, what is too small.
    pub fn open(plan: &Plan, roots: &Roots) -> Result<Session, MeasureError> {
        let mut session = Session::prepare(plan)?;
        let result = session.open_all(plan, roots);
        if result.is_err() {
            session.remove_created();
        }
        result.map(|()| session)
    }

    fn prepare(plan: &Plan) -> Result<Session, MeasureError> {
        plan.check()?;
        let names: Vec<TargetName> = plan
            .targets
            .iter()
            .map(|name| TargetName::parse(name))
            .collect::<Result<_, _>>()?;
        check_destroy(plan)?;
        let direction = plan.direction_for(&names)?;
        check_distinct(plan, &names, direction)?;
        let all_simulated = names
            .iter()
            .all(|name| matches!(name, TargetName::Simulated { .. }));
        Ok(Session {
            targets: Vec::new(),
            machines: Vec::new(),
            clock: if all_simulated {
                Clock::simulated()
            } else {
                Clock::Real
            },
            direction,
            notes: Vec::new(),
            created: Vec::new(),
            names,
        })
    }

    fn open_all(&mut self, plan: &Plan, roots: &Roots) -> Result<(), MeasureError> {
        let mut machines = HashMap::new();
        for (typed, name) in plan.targets.iter().zip(std::mem::take(&mut self.names)) {
            match name {
                TargetName::Null => self.open_null(typed)?,
                TargetName::Path(path) => self.open_path(plan, typed, &path, roots)?,
                TargetName::Simulated { machine, disk } => {
                    self.open_simulated(plan, &machine, disk.as_deref(), &mut machines)?;
                }
            }
        }
        self.check_simulated_distinct()?;
        self.share_free_space(plan)?;
        for target in &mut self.targets {
            fit(target, plan)?;
        }
        self.level_stripe(plan.layout);
        self.check_stream(plan)?;
        check_memory(self.targets.len(), plan, roots)
    }

    /// A stream over several targets must have room for a record.
    fn check_stream(&self, plan: &Plan) -> Result<(), MeasureError> {
        if plan.layout == Layout::Independent {
            return Ok(());
        }
        let sizes = self.targets.iter().map(|target| target.size_bytes);
        if sizes.fold(0, u64::saturating_add) >= plan.record_bytes {
            return Ok(());
        }
        Err(MeasureError::Usage(
            "these targets have no room for one record in that layout: use a smaller --chunk or \
             --record-size, or a larger --size"
                .to_owned(),
        ))
    }

    /// A run that does not come about leaves nothing behind.
    pub fn remove_created(&self) {
        for path in &self.created {
            // It is our own and holds nothing of value; if it is gone already, all the better.
            let _ = std::fs::remove_file(path);
        }
    }

    fn open_null(&mut self, name: &str) -> Result<(), MeasureError> {
        if self.direction == Direction::Read {
            return Err(Error::target(name, "there is nothing to read in null:").into());
        }
        self.targets.push(OpenTarget {
            target: open_null(name)?,
            path: None,
            simulated: None,
            size_bytes: u64::MAX,
            wraps: false,
            needs_prewrite: false,
            has_all_blocks: true,
        });
        Ok(())
    }

    fn open_path(
        &mut self,
        plan: &Plan,
        name: &str,
        path: &Path,
        roots: &Roots,
    ) -> Result<(), MeasureError> {
        let writing = self.direction == Direction::Write;
        let request = OpenRequest {
            direction: self.direction,
            path: plan.path,
            create: writing,
        };
        let folder = folder_of(path);
        // A rehearsal makes no file: a nameless one in its place tells the same.
        let only_rehearsed =
            plan.dry_run && writing && path.symlink_metadata().is_err() && folder.is_dir();
        let place = if only_rehearsed { folder } else { path };
        let notes = &mut self.notes;
        let mut guard = |candidate: &Candidate<'_>| inspect(candidate, plan, roots, notes);
        let mut target = open_path(name, place, request, &mut guard)?;
        // Only a file that was not there has no size yet.
        let created = target.kind == TargetKind::File && target.capacity_bytes.is_none();
        if created {
            self.created.push(path.to_owned());
        }
        if only_rehearsed {
            target.kind = TargetKind::File;
        }
        if created || only_rehearsed {
            self.notes
                .push(format!("{name} is created and stays there after the run"));
        }
        let is_file = matches!(target.kind, TargetKind::File | TargetKind::ScratchFile);
        let is_scratch = target.kind == TargetKind::ScratchFile;
        let has_all_blocks = has_all_blocks(&target);
        if !writing && !has_all_blocks {
            self.notes.push(format!(
                "{name} has holes: what is read there comes from no disk"
            ));
        }
        self.targets.push(OpenTarget {
            path: Some(path.to_owned()),
            has_all_blocks,
            simulated: None,
            size_bytes: 0,
            wraps: is_file || plan.size_bytes.is_some(),
            // What is to be read from a scratch file must have been written.
            needs_prewrite: (writing && is_file && plan.prewrite) || (!writing && is_scratch),
            target,
        });
        Ok(())
    }

    fn open_simulated(
        &mut self,
        plan: &Plan,
        path: &Path,
        disk: Option<&str>,
        machines: &mut HashMap<PathBuf, (usize, MachineFile)>,
    ) -> Result<(), MeasureError> {
        if !machines.contains_key(path) {
            let file = MachineFile::read(path)?;
            self.notes.extend(file.warnings.iter().cloned());
            let seed = plan.seed.wrapping_add(self.machines.len() as u64);
            self.machines
                .push(SharedMachine::new(Machine::new(&file, seed), &self.clock));
            machines.insert(path.to_owned(), (self.machines.len() - 1, file));
        }
        let (machine, file) = &machines[path];
        for disk in file.select(disk)? {
            let description = &file.disks[disk];
            self.targets.push(OpenTarget {
                target: Target {
                    name: description.name.clone(),
                    kind: TargetKind::Simulated,
                    file: None,
                    capacity_bytes: Some(description.capacity_bytes),
                    alignment_bytes: 1,
                    device: None,
                },
                path: None,
                simulated: Some(SimulatedTarget {
                    machine: *machine,
                    disk,
                }),
                size_bytes: 0,
                wraps: plan.size_bytes.is_some(),
                needs_prewrite: false,
                has_all_blocks: true,
            });
        }
        Ok(())
    }

    fn check_simulated_distinct(&self) -> Result<(), MeasureError> {
        for (index, one) in self.targets.iter().enumerate() {
            let twice = self.targets[..index]
                .iter()
                .any(|other| one.simulated.is_some() && other.simulated == one.simulated);
            if twice {
                return Err(MeasureError::Usage(format!(
                    "the simulated disk {} is given twice: leave one out",
                    one.target.name
                )));
            }
        }
        Ok(())
    }

    /// Settles the size of files that are to be made, within the free space.
    fn share_free_space(&mut self, plan: &Plan) -> Result<(), MeasureError> {
        let mut growing: HashMap<(u32, u32), Vec<usize>> = HashMap::new();
        for (index, target) in self.targets.iter_mut().enumerate() {
            let is_file = matches!(
                target.target.kind,
                TargetKind::File | TargetKind::ScratchFile
            );
            let reads_file =
                self.direction == Direction::Read && target.target.kind == TargetKind::File;
            if !is_file || reads_file {
                continue;
            }
            // Of a file that is only written so far, no more is made.
            let wanted = plan.bytes.map_or(SIZE_BYTES_DEFAULT, |bytes| {
                bytes
                    .next_multiple_of(plan.record_bytes)
                    .min(SIZE_BYTES_DEFAULT)
            });
            target.size_bytes = plan.size_bytes.unwrap_or(wanted);
            growing
                .entry(target.target.device.unwrap_or_default())
                .or_default()
                .push(index);
        }
        for targets in growing.values() {
            self.share_one_file_system(targets, plan)?;
        }
        Ok(())
    }

    fn share_one_file_system(
        &mut self,
        members: &[usize],
        plan: &Plan,
    ) -> Result<(), MeasureError> {
        let first = &self.targets[members[0]];
        let Some(path) = &first.path else {
            return Ok(());
        };
        let place = if path.is_dir() {
            path.as_path()
        } else {
            folder_of(path)
        };
        let free = sustain_host::free_bytes(place)
            .map_err(|error| Error::target(&first.target.name, error.to_string()))?;
        let Some(free) = free else {
            return match plan.size_bytes {
                Some(_) => Ok(()),
                None => Err(Error::target(
                    &first.target.name,
                    "its file system does not say how much space is free: give --size",
                )
                .into()),
            };
        };
        let usable = (free - free / FREE_SHARE_KEPT) / members.len() as u64;
        for index in members {
            let note = fit_free_space(&mut self.targets[*index], free, usable, plan)?;
            self.notes.push(note);
        }
        Ok(())
    }

    /// A stripe's members are used as far as the smallest reaches.
    fn level_stripe(&mut self, layout: Layout) {
        let Layout::Stripe { chunk_bytes } = layout else {
            return;
        };
        let least = self
            .targets
            .iter()
            .map(|target| target.size_bytes)
            .min()
            .unwrap_or(0);
        for target in &mut self.targets {
            target.size_bytes = least / chunk_bytes * chunk_bytes;
        }
    }
}
