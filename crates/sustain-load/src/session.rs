//! Opens the targets of a run under the guard, and decides which part of each is used.

use std::io::ErrorKind;
use std::path::Path;

use sustain_disk::clock::Clock;
use sustain_disk::engine::{EngineChoice, passthrough_engine};
use sustain_disk::error::Error;
use sustain_disk::layout::Layout;
use sustain_disk::target::{
    DataPath, Direction, OpenRequest, Target, TargetKind, no_directory, open_null,
};
use sustain_disk::units::Size;
use sustain_document::setting::{CHUNK, NEW_FILE, READ, RECORD_SIZE, SIZE};
use sustain_host::Roots;
use sustain_targets::{
    CreatedFiles, Fitted, Growing, Machines, OpenError, Permission, RecordersBeside, TargetName,
    block_device_of_generic, check_destroy, check_distinct, fit_free_space, folder_of,
    has_all_blocks, is_new, open_passthrough, open_under_guard, refuse_missing_device,
    rehearse_under_guard,
};

use crate::capacity::{check_memory, fit};
use crate::error::LoadError;
use crate::open_target::OpenTarget;
use crate::order::order_of;
use crate::plan::{LoadPlan, NO_DRIVER, SIZE_BYTES_DEFAULT};

/// All targets of a run.
pub struct Session {
    /// The targets in the order of the plan, or else in that in which they were named.
    pub targets: Vec<OpenTarget>,
    /// For each target, the place in the plan of the name that it has there: a simulated machine is
    /// one name for all of its disks.
    pub named: Vec<usize>,
    /// The simulated machines among them.
    pub machines: Machines,
    /// The clock: real, unless all targets are simulated.
    pub clock: Clock,
    /// The direction.
    pub direction: Direction,
    /// Notes for the user, before anything is written.
    pub notes: Vec<String>,
    /// Files that did not exist before; they are removed if the run does not take place.
    pub created: CreatedFiles,
}

/// The character device of an NVMe namespace stands for its block device, which the guard knows.
fn guarded_as(name: TargetName, roots: &Roots) -> TargetName {
    match name {
        TargetName::Path(path) => {
            TargetName::Path(block_device_of_generic(&path, roots).unwrap_or(path))
        }
        other => other,
    }
}

/// Refuses a name that does not exist, because a mistyped name must not become a file of many
/// gigabytes.
fn refuse_missing(name: &str, path: &Path) -> Result<(), Error> {
    refuse_missing_device(name, path)?;
    let found = path.metadata();
    if !found.is_err_and(|error| error.kind() == ErrorKind::NotFound) {
        return Ok(());
    }
    let names_directory = path.as_os_str().as_encoded_bytes().ends_with(b"/");
    let why = if path.is_symlink() {
        "it is a symbolic link to a file that does not exist; use another name".to_owned()
    } else if names_directory || !folder_of(path).is_dir() {
        no_directory(path)
    } else {
        format!("it does not exist; {} creates it", NEW_FILE.the())
    };
    Err(Error::target(name, why))
}

/// A note that an existing file is extended, if it is.
fn lengthened(target: &Target, wanted_bytes: u64) -> Option<String> {
    let has_bytes = target.capacity_bytes?;
    (wanted_bytes > has_bytes).then(|| {
        format!(
            "{} is extended from {} to {} and keeps that length",
            target.name,
            Size(has_bytes),
            Size(wanted_bytes)
        )
    })
}

/// Refuses a size that cannot be used in full: the size that was asked for is never reduced.
fn check_asked(
    target: &Target,
    asked_bytes: Option<u64>,
    fitted: &Fitted,
    record_bytes: u64,
) -> Result<(), Error> {
    let Some(asked_bytes) = asked_bytes else {
        return Ok(());
    };
    if fitted.size_bytes >= asked_bytes - asked_bytes % record_bytes {
        return Ok(());
    }
    let why = format!(
        "{} asks for {}, but only {} can be used ({} free): use a smaller {SIZE}, or free some \
         space",
        SIZE.the(),
        Size(asked_bytes),
        Size(fitted.size_bytes),
        Size(fitted.free_bytes)
    );
    Err(Error::target(&target.name, why))
}

impl Session {
    /// Opens the targets of the plan. Nothing is written yet.
    ///
    /// # Errors
    /// A target that the guard refuses, that cannot be opened, or that is too small.
    pub fn open(plan: &LoadPlan, roots: &Roots) -> Result<Session, LoadError> {
        plan.check()?;
        let names: Vec<TargetName> = plan
            .targets
            .iter()
            .map(|name| Ok(guarded_as(TargetName::parse(name)?, roots)))
            .collect::<Result<_, OpenError>>()?;
        check_destroy(&plan.destroy, &plan.targets)?;
        let direction = plan.direction_for(&names)?;
        check_distinct(&plan.targets, &names, direction, roots)?;
        let clock = TargetName::clock_for(&names);
        let mut session = Session {
            targets: Vec::new(),
            named: Vec::new(),
            machines: Machines::new(&clock, plan.seed),
            clock,
            direction,
            notes: Vec::new(),
            created: CreatedFiles::default(),
        };
        session.open_all(plan, &names, roots)?;
        if direction == Direction::Read {
            let note = session.recorders_beside().note();
            session.notes.extend(note);
        }
        Ok(session)
    }

    /// Who records on the targets' disks.
    pub(crate) fn recorders_beside(&self) -> RecordersBeside {
        let targets = self.targets.iter();
        let targets = targets.map(|target| (&target.target, target.path.as_deref()));
        RecordersBeside::under(targets, &Roots::default())
    }

    fn open_all(
        &mut self,
        plan: &LoadPlan,
        names: &[TargetName],
        roots: &Roots,
    ) -> Result<(), LoadError> {
        let mut refusals = Vec::new();
        for (place, (typed, name)) in plan.targets.iter().zip(names).enumerate() {
            match name {
                TargetName::Null => self.open_null(typed)?,
                TargetName::Path(path) => match self.open_path(plan, typed, path, roots) {
                    // It does not hide what refuses the next one.
                    Err(LoadError::Target(refusal)) => refusals.push(refusal),
                    opened => opened?,
                },
                TargetName::Simulated { machine, disk } => {
                    self.open_simulated(plan, machine, disk.as_deref())?;
                }
            }
            self.named.resize(self.targets.len(), place);
        }
        if let Some(refused) = Error::of_all(refusals) {
            return Err(refused.into());
        }
        self.put_in_order(plan)?;
        if plan.path == DataPath::Passthrough {
            self.passthrough_engine(plan.engine)
                .map_err(LoadError::Usage)?;
        }
        self.share_free_space(plan)?;
        for target in &mut self.targets {
            fit(target, plan)?;
        }
        self.level_stripe(plan.layout);
        self.check_stream(plan)?;
        check_memory(self.targets.len(), plan, roots)
    }

    /// Puts the targets in the order that was asked for: all that follows keeps to it.
    fn put_in_order(&mut self, plan: &LoadPlan) -> Result<(), LoadError> {
        let Some(typed) = &plan.order else {
            return Ok(());
        };
        let names = self.targets.iter().map(|one| one.target.name.clone());
        let order = order_of(typed, &names.collect::<Vec<_>>()).map_err(LoadError::Usage)?;
        let mut targets: Vec<Option<OpenTarget>> = self.targets.drain(..).map(Some).collect();
        let taken = order.iter().filter_map(|target| targets[*target].take());
        self.targets = taken.collect();
        Ok(())
    }

    /// Switches all targets to another I/O path from now on; they stay open.
    ///
    /// # Errors
    /// The error of the first target that does not take this path.
    pub fn switch_path(&self, path: DataPath) -> Result<(), Error> {
        let mut targets = self.targets.iter();
        targets.try_for_each(|target| target.target.switch_path(path))
    }

    /// Marks for prewriting what is to be read and may never have been written.
    pub fn prewrite_what_is_read(&mut self) {
        for target in &mut self.targets {
            let kind = target.target.kind;
            let is_empty = kind == TargetKind::ScratchFile
                || (kind == TargetKind::File && target.target.capacity_bytes.is_none());
            target.needs_prewrite |= is_empty;
        }
    }

    /// The engine that passes commands to all targets, if `choice` leaves it to be taken.
    fn passthrough_engine(&self, choice: EngineChoice) -> Result<EngineChoice, String> {
        let targets = self.targets.iter();
        passthrough_engine(choice, targets.filter_map(|one| one.passthrough.as_ref()))
    }

    /// Opens passthrough to these targets, by number, and returns the engine that drives it.
    ///
    /// # Errors
    /// The reason why the first of them has none, or why not all together; the targets are as
    /// usable as before.
    pub fn pass_through(
        &mut self,
        targets: &[usize],
        roots: &Roots,
    ) -> Result<EngineChoice, String> {
        for index in targets {
            let target = &mut self.targets[*index];
            if target.simulated.is_some() {
                return Err(NO_DRIVER.to_owned());
            }
            let opened = open_passthrough(&target.target, self.direction, roots);
            let opened = opened.map_err(|error| match error {
                Error::Target { why, .. } => why,
                other => other.to_string(),
            })?;
            target.passthrough = Some(opened);
        }
        self.passthrough_engine(EngineChoice::Auto)
    }

    /// Checks that a stream over several targets has space for a record.
    fn check_stream(&self, plan: &LoadPlan) -> Result<(), LoadError> {
        if plan.layout.has_own_streams() {
            return Ok(());
        }
        let sizes = self.targets.iter().map(|target| target.size_bytes);
        if sizes.fold(0, u64::saturating_add) >= plan.record_bytes {
            return Ok(());
        }
        Err(LoadError::Usage(format!(
            "these targets are too small for one record in this layout: use a smaller {CHUNK} or \
             {RECORD_SIZE}, or a larger {SIZE}"
        )))
    }

    fn open_null(&mut self, name: &str) -> Result<(), LoadError> {
        if self.direction == Direction::Read {
            return Err(
                Error::target(name, "it keeps nothing, so there is nothing to read").into(),
            );
        }
        self.targets
            .push(OpenTarget::keeping_nothing(open_null(name)?));
        Ok(())
    }

    fn open_path(
        &mut self,
        plan: &LoadPlan,
        name: &str,
        path: &Path,
        roots: &Roots,
    ) -> Result<(), LoadError> {
        let writing = self.direction == Direction::Write;
        if writing && !plan.new_file {
            refuse_missing(name, path)?;
        }
        let request = OpenRequest {
            direction: self.direction,
            path: plan.path,
            create: writing && plan.new_file,
        };
        let instead = format!("use {}", READ.the());
        let permission = Permission::Destroy {
            names: &plan.destroy,
            instead: &instead,
        };
        let open = if plan.dry_run {
            rehearse_under_guard
        } else {
            open_under_guard
        };
        let target = open(name, path, request, permission, roots, &mut self.notes)?;
        let passthrough = match plan.path {
            DataPath::Passthrough => Some(open_passthrough(&target, self.direction, roots)?),
            DataPath::Direct | DataPath::Buffered => None,
        };
        if is_new(&target) {
            if !plan.dry_run {
                self.created.add(path);
            }
            self.notes
                .push(format!("{name} is created and is kept after the run"));
        }
        let is_file = matches!(target.kind, TargetKind::File | TargetKind::ScratchFile);
        let is_scratch = target.kind == TargetKind::ScratchFile;
        let has_all_blocks = has_all_blocks(&target);
        if !writing && !has_all_blocks {
            self.notes.push(format!(
                "{name} is a sparse file: no disk is read where it has holes"
            ));
        }
        self.targets.push(OpenTarget {
            path: Some(path.to_owned()),
            has_all_blocks,
            simulated: None,
            passthrough,
            size_bytes: 0,
            wraps: is_file || plan.size_bytes.is_some(),
            // Data that is to be read from a scratch file must have been written.
            needs_prewrite: (writing && is_file && plan.prewrite) || (!writing && is_scratch),
            target,
        });
        Ok(())
    }

    fn open_simulated(
        &mut self,
        plan: &LoadPlan,
        file: &Path,
        disk: Option<&str>,
    ) -> Result<(), LoadError> {
        let disks = self.machines.open(file, disk, &mut self.notes)?;
        self.targets
            .extend(disks.into_iter().map(|disk| OpenTarget {
                target: disk.target,
                path: None,
                simulated: Some(disk.simulated),
                passthrough: None,
                size_bytes: 0,
                wraps: plan.size_bytes.is_some(),
                needs_prewrite: false,
                has_all_blocks: true,
            }));
        Ok(())
    }

    /// Decides the size of files that are written, within the free space. An existing file is not
    /// extended unless more is asked for.
    fn share_free_space(&mut self, plan: &LoadPlan) -> Result<(), LoadError> {
        // A file that is written only up to `--bytes` is not made larger than that.
        let wanted = plan.bytes.map_or(SIZE_BYTES_DEFAULT, |bytes| {
            bytes
                .min(SIZE_BYTES_DEFAULT)
                .next_multiple_of(plan.record_bytes)
                .min(SIZE_BYTES_DEFAULT)
        });
        let reading = self.direction == Direction::Read;
        let (mut growing, mut files) = (Vec::new(), Vec::new());
        for (index, target) in self.targets.iter().enumerate() {
            let grows = match target.target.kind {
                TargetKind::ScratchFile => true,
                TargetKind::File => !reading,
                _ => false,
            };
            if let Some(path) = target.path.as_deref().filter(|_| grows) {
                let has_bytes = target.target.capacity_bytes;
                let default_bytes = wanted.min(has_bytes.unwrap_or(u64::MAX));
                let wanted_bytes = plan.size_bytes.unwrap_or(default_bytes);
                self.notes.extend(lengthened(&target.target, wanted_bytes));
                growing.push(index);
                files.push(Growing {
                    target: &target.target,
                    path,
                    wanted_bytes,
                    unit_bytes: plan.record_bytes,
                });
            }
        }
        let fitted = fit_free_space(&files)?;
        for (index, fitted) in growing.into_iter().zip(fitted) {
            let target = &mut self.targets[index];
            match (fitted, plan.size_bytes) {
                (Some(fitted), asked) => {
                    check_asked(&target.target, asked, &fitted, plan.record_bytes)?;
                    target.size_bytes = fitted.size_bytes;
                    self.notes.push(fitted.note);
                }
                (None, Some(size_bytes)) => target.size_bytes = size_bytes,
                (None, None) => {
                    let why = format!(
                        "its file system does not report how much space is free: use {}",
                        SIZE.the()
                    );
                    return Err(Error::target(&target.target.name, why).into());
                }
            }
        }
        Ok(())
    }

    /// Limits the members of a stripe to the size of the smallest.
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
