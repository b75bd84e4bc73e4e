//! Opens the members of a store: each by itself, then checks that they belong together. The
//! recorder, the readers and `recover` begin with it.

use std::collections::BTreeSet;

use sustain_disk::clock::Clock;
use sustain_disk::engine::{SharedMachine, SimulatedTarget};
use sustain_disk::error::Error;
use sustain_disk::target::{DataPath, Direction, OpenRequest, Target};
use sustain_disk::units::Size;
use sustain_host::Roots;
use sustain_targets::{Permission, SimulatedDisk, open_under_guard};
use uuid::Uuid;

use super::bounded::Bounded;
use super::candidate::{MemberCandidate, candidates, check_locked};
use super::degraded::{MayMiss, apart_from_absent, degraded_words, is_replaced};
use super::member_checks::{
    apart_from_retired, apart_from_unfinished, check_size, check_together, end_words,
    has_lost_its_end, incomplete, unfinished_note,
};
use super::parity::parities_of;
use super::read_members::read_named;
use super::repair_claim::is_repair_under_way;
use super::{Missing, Mode, OpenMember, Store, is_written, takes_blocks};
use crate::error::RecordError;
use crate::format::Superblock;
use crate::member_io::GIVEN_UP_AFTER_NS;
use crate::opening::Opening;

impl Store {
    /// Opens the store that has the members `names`, in any order: block devices, files, or
    /// directories that hold a member's file. Nothing is written.
    ///
    /// Direct I/O is used. Where a member refuses it, reading goes through the page cache.
    ///
    /// # Errors
    /// [`RecordError::Target`] for a member that cannot be opened, or that the guard refuses for
    /// recording; [`RecordError::Member`] for a file or device that is not a member, or belongs
    /// to another store; [`RecordError::Incomplete`] if a member is missing for recording.
    pub fn open(
        names: impl IntoIterator<Item = impl Into<String>>,
        mode: Mode,
        roots: &Roots,
    ) -> Result<Store, RecordError> {
        let names: Vec<String> = names.into_iter().map(Into::into).collect();
        Store::open_with(&names, mode, OpenedBefore::default(), roots)
    }

    fn open_with(
        names: &[String],
        mode: Mode,
        before: OpenedBefore,
        roots: &Roots,
    ) -> Result<Store, RecordError> {
        let direction = match mode {
            Mode::Read => Direction::Read,
            Mode::Record => Direction::Write,
        };
        let mut notes = Vec::new();
        let mut targets = Vec::new();
        let (absent, there) =
            apart_from_absent(candidates(names, direction, roots)?, before.may_miss);
        for candidate in there {
            let opened = open_in_time(candidate, mode, roots);
            let is_alone = mode == Mode::Record || names.len() == 1;
            let (target, told) = match is_alone {
                true => opened?,
                false => opened.map_err(leave_it_out)?,
            };
            notes.extend(told);
            if mode == Mode::Record {
                check_locked(&target)?;
            }
            targets.push((target, None));
        }
        let before = OpenedBefore {
            notes,
            absent,
            ..before
        };
        Store::of(targets, mode, (Vec::new(), Clock::Real), before)
    }

    /// Opens a store for recording of which one member, by its place in the table, may be missing:
    /// it is to be retired.
    ///
    /// # Errors
    /// The same as of [`Store::open`].
    pub fn open_to_retire(
        names: &[String],
        member: usize,
        roots: &Roots,
    ) -> Result<Store, RecordError> {
        Store::open_with(
            names,
            Mode::Record,
            OpenedBefore::missing(MayMiss::Retiring(member)),
            roots,
        )
    }

    /// The same on disks of simulated machines.
    ///
    /// # Errors
    /// The same as of [`Store::open`].
    pub fn open_simulated_to_retire(
        disks: &[SimulatedDisk],
        machines: &[SharedMachine],
        clock: &Clock,
        member: usize,
    ) -> Result<Store, RecordError> {
        let machines = (machines.to_vec(), clock.clone());
        let before = OpenedBefore::missing(MayMiss::Retiring(member));
        Store::of(targets_of(disks), Mode::Record, machines, before)
    }

    /// Opens a store for recording although members are missing, as many as the parity of the store
    /// replaces. Nothing is recorded on those, and they can be used again when they are there.
    ///
    /// A member that is named and is not there, or has no superblock that can be read, counts as
    /// missing. One that is in use by another program does not: it may be the other part of this
    /// store that is being recorded to.
    ///
    /// # Errors
    /// The same as of [`Store::open`]; [`RecordError::Incomplete`] if more members are missing, or
    /// lack something, than parity replaces.
    pub fn open_degraded(
        names: impl IntoIterator<Item = impl Into<String>>,
        roots: &Roots,
    ) -> Result<Store, RecordError> {
        let names: Vec<String> = names.into_iter().map(Into::into).collect();
        let before = OpenedBefore::missing(MayMiss::WhatParityReplaces);
        Store::open_with(&names, Mode::Record, before, roots)
    }

    /// The same on disks of simulated machines.
    ///
    /// # Errors
    /// The same as of [`Store::open_degraded`].
    pub fn open_simulated_degraded(
        disks: &[SimulatedDisk],
        machines: &[SharedMachine],
        clock: &Clock,
    ) -> Result<Store, RecordError> {
        let machines = (machines.to_vec(), clock.clone());
        let before = OpenedBefore::missing(MayMiss::WhatParityReplaces);
        Store::of(targets_of(disks), Mode::Record, machines, before)
    }

    /// Opens a store like [`Store::open`], on disks of simulated machines that keep what is
    /// written.
    ///
    /// # Errors
    /// The same as of [`Store::open`].
    pub fn open_simulated(
        disks: &[SimulatedDisk],
        machines: &[SharedMachine],
        clock: &Clock,
        mode: Mode,
    ) -> Result<Store, RecordError> {
        let machines = (machines.to_vec(), clock.clone());
        Store::of(targets_of(disks), mode, machines, OpenedBefore::default())
    }

    /// Opens the store with these members.
    pub(super) fn of(
        targets: Vec<(Target, Option<SimulatedTarget>)>,
        mode: Mode,
        (machines, clock): (Vec<SharedMachine>, Clock),
        before: OpenedBefore,
    ) -> Result<Store, RecordError> {
        let OpenedBefore {
            mut notes,
            rebuilt,
            may_miss,
            absent,
        } = before;
        let was_written = targets.iter().any(|(target, _)| is_written(target));
        let all = (machines.as_slice(), &clock);
        let (members, left_out) = read_named(targets, (mode, may_miss), absent, all)?;
        notes.extend_from_slice(&left_out);
        let (unfinished, whole) = apart_from_unfinished(members, mode)?;
        let mut members = whole;
        let is_under_way = !unfinished.is_empty() && is_repair_under_way(&members);
        let of_unfinished = unfinished.iter();
        notes.extend(of_unfinished.map(|one| unfinished_note(one, is_under_way)));
        check_together(&mut members)?;
        let mut members = apart_from_retired(members, mode, &mut notes)?;
        members.sort_by_key(OpenMember::index);
        for member in &members {
            if mode == Mode::Record {
                check_size(member)?;
            }
        }
        let first = table_of(&members);
        let (retired, missing) = apart_from_those_there(&members, first, may_miss);
        if mode == Mode::Record && !missing.is_empty() {
            let parities = parities_of(&members);
            match is_replaced(&missing, parities, may_miss) {
                true => notes.push(degraded_words(&missing, parities, members.len())),
                false => return Err(incomplete(&missing, &members, &left_out)),
            }
        }
        let mut store = Store {
            id: first.store,
            slot_bytes: first.geometry.slot_bytes,
            mode,
            was_written,
            has_looked_for_lacking: false,
            has_looked_for_pins: false,
            left_alone: BTreeSet::new(),
            lacks_durable: false,
            openings: members
                .iter()
                .map(|member| Opening::new(&member.superblock))
                .collect(),
            members,
            missing,
            retired,
            unfinished,
            tails: Vec::new(),
            notes,
            machines,
            clock,
            bytes_read: 0,
        };
        store.tails = store.ask(Opening::tail)?;
        store.use_parity(rebuilt)?;
        store.note_tails();
        store.look_at_pins()?;
        if mode == Mode::Record {
            store.leave_alone_what_lacks()?;
            store.check_missing_are_replaced()?;
            store.settle_pins()?;
        }
        Ok(store)
    }

    fn note_tails(&mut self) {
        for (member, tail) in self.members.iter().zip(&self.tails) {
            if has_lost_its_end(member) {
                self.notes.push(end_words(member, tail.next_slot_serial));
            }
            // For a member that became smaller, a note says already that its end is lost.
            if tail.unreadable_blocks > 0 && !has_lost_its_end(member) {
                self.notes.push(format!(
                    "{}: {} of the blocks that describe its content cannot be read and count as \
                     empty. Check the kernel log (dmesg) and smartctl -x",
                    member.name, tail.unreadable_blocks
                ));
            }
        }
    }
}

/// The superblock that tells of most retired members.
fn table_of(members: &[OpenMember]) -> &Superblock {
    let superblocks = members.iter().map(|member| &member.superblock);
    let most = superblocks.max_by_key(|one| one.retired.len());
    most.expect("a member is there")
}

/// The members in a table that are not there: those that are retired, or may be missing, and the
/// others.
fn apart_from_those_there(
    members: &[OpenMember],
    table: &Superblock,
    may_miss: MayMiss,
) -> (Vec<Missing>, Vec<Missing>) {
    let is_there = |uuid: &Uuid| members.iter().any(|one| one.superblock.member == *uuid);
    let all = table.members.iter().enumerate();
    let not_there = all.filter(|(_, uuid)| !is_there(uuid));
    let not_there = not_there.map(|(index, uuid)| Missing {
        index,
        member: *uuid,
    });
    not_there
        .partition(|one| table.is_retired(one.index) || may_miss == MayMiss::Retiring(one.index))
}

/// What is known when a store is opened, or allowed.
#[derive(Debug, Default)]
pub(super) struct OpenedBefore {
    /// Notes for the user.
    pub(super) notes: Vec<String>,
    /// Missing members of which it is known already what can be computed.
    pub(super) rebuilt: Vec<OpenMember>,
    /// Which members may be missing.
    pub(super) may_miss: MayMiss,
    /// Why some that were named are missing.
    pub(super) absent: Vec<RecordError>,
}

impl OpenedBefore {
    pub(super) fn missing(may_miss: MayMiss) -> OpenedBefore {
        OpenedBefore {
            may_miss,
            ..OpenedBefore::default()
        }
    }
}

fn targets_of(disks: &[SimulatedDisk]) -> Vec<(Target, Option<SimulatedTarget>)> {
    let targets = disks.iter();
    let targets = targets.map(|disk| (disk.target.clone(), Some(disk.simulated)));
    targets.collect()
}

/// What one member refuses does not keep anybody from reading the others.
fn leave_it_out(error: RecordError) -> RecordError {
    match error {
        RecordError::Target(Error::Target { target, why }) => Error::Target {
            target,
            why: format!("{why}. To read the other members, leave it out"),
        }
        .into(),
        other => other,
    }
}

/// Opens a member. What does not open in time is given up: nothing is lost by beginning again.
pub(super) fn open_in_time(
    candidate: MemberCandidate<'_>,
    mode: Mode,
    roots: &Roots,
) -> Result<(Target, Vec<String>), RecordError> {
    let MemberCandidate { name, path } = candidate;
    let bounded = Bounded {
        what: &format!("opening {name}"),
        name,
        patience_ns: GIVEN_UP_AFTER_NS,
        progress: None,
    };
    let (name, roots) = (name.to_owned(), roots.clone());
    bounded.call(move || {
        let candidate = MemberCandidate { name: &name, path };
        open_candidate(&candidate, mode, &roots)
    })?
}

/// Returns the target of a member, with notes for the user.
fn open_candidate(
    candidate: &MemberCandidate<'_>,
    mode: Mode,
    roots: &Roots,
) -> Result<(Target, Vec<String>), RecordError> {
    let MemberCandidate { name, path } = candidate;
    let mut notes = Vec::new();
    if path
        .file_name()
        .is_some_and(|file| file == super::FILE_NAME)
        && !path.exists()
    {
        let why = "this directory holds no member of a store: create one with `sustain create`";
        return Err(RecordError::member(name, why));
    }
    let mut open = |path_kind| {
        let request = OpenRequest {
            direction: match mode {
                Mode::Read => Direction::Read,
                Mode::Record => Direction::Write,
            },
            path: path_kind,
            create: false,
        };
        open_under_guard(name, path, request, Permission::OwnStore, roots, &mut notes)
    };
    let direct = open(DataPath::Direct);
    let is_fit = |target: &Target| takes_blocks(target.alignment_bytes);
    let target = match (direct, mode) {
        (Ok(target), _) if is_fit(&target) => target,
        (Ok(target), Mode::Record) => {
            let unit = Size(u64::from(target.alignment_bytes));
            let why = format!(
                "it accepts direct I/O only in units of {unit}, and a store needs blocks of 4 KiB: \
                 use another place"
            );
            return Err(RecordError::member(name, why));
        }
        (Ok(_), Mode::Read) => open(DataPath::Buffered)?,
        (Err(Error::Target { target, why }), _) => {
            // Where only direct I/O is refused, buffered I/O is good enough.
            let opened = open(DataPath::Buffered).map_err(|_| Error::Target { target, why })?;
            if mode == Mode::Record {
                notes.push(format!(
                    "{name}: its file system refuses direct I/O, so it goes through the page cache"
                ));
            }
            opened
        }
        (Err(error), _) => return Err(error.into()),
    };
    Ok((target, notes))
}
