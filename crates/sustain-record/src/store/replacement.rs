//! A new member that takes the place of a lost one: it is prepared as `create` prepares members,
//! and has the identity of the lost one. Until all is on it, it says so, and nobody reads it.

use std::collections::BTreeSet;
use std::path::Path;

use sustain_disk::engine::SimulatedTarget;
use sustain_disk::target::{Target, TargetKind};
use sustain_disk::units::Size;
use sustain_host::Roots;
use sustain_targets::{CreatedFiles, RecordersBeside, SimulatedDisk, Stop};

use super::apart::check_apart;
use super::begun_member::BegunMember;
use super::candidate::{candidates, check_locked};
use super::create::{CreateEvent, CreatePlan, Site, open_sites, prepare_files, sync_folder};
use super::holes::is_blank_file;
use super::open::open_in_time;
use super::pin_tables::is_same;
use super::read_members::read_members;
use super::repair_claim::RepairClaim;
use super::{Missing, Mode, OpenMember, Store, access, superblocks, wipe};
use crate::error::RecordError;
use crate::format::{BLOCK_BYTES, Geometry, Pin, Superblock};
use crate::member_io::MemberIo;
use crate::rebuilt::DrivenMember;
use sustain_disk::target::Direction;
use uuid::Uuid;

const WHY: &str = "a member is rebuilt from the others";

/// The request to put a new member in the place of a lost one.
#[derive(Debug, Clone)]
pub struct Onto {
    /// The block device, file or directory, as typed.
    pub name: String,
    /// What may be destroyed, as typed.
    pub destroy: Vec<String>,
    /// Whether it may share a disk with other members, which protects nothing then.
    pub same_disk: bool,
    /// Whether to go on although more members are missing than parity replaces.
    pub accept_loss: bool,
    /// The claim on the repair, by [`Store::claim_repair`], where the caller holds it from one call
    /// to the next; otherwise each call claims the store for itself.
    pub claim: Option<RepairClaim>,
}

/// A member that takes the place of a lost one.
pub(crate) struct Replacement {
    pub(crate) superblock: Superblock,
    pub(crate) name: String,
    /// Whether something of the lost member is on it: an earlier repair was interrupted there, or
    /// it is the lost member itself.
    pub(crate) is_continued: bool,
    target: Target,
    simulated: Option<SimulatedTarget>,
    /// A new file stays only if it could be prepared.
    created: CreatedFiles,
    _claim: Option<RepairClaim>,
}

impl Store {
    /// Opens and prepares a member for the place of a lost one.
    ///
    /// # Errors
    /// The same as of `create`; [`RecordError::Usage`] if nothing is missing.
    pub(crate) fn replacement(
        &self,
        onto: &Onto,
        roots: &Roots,
        stop: &Stop,
        observer: &mut dyn FnMut(CreateEvent),
    ) -> Result<Replacement, RecordError> {
        sustain_targets::check_destroy(&onto.destroy, std::slice::from_ref(&onto.name))?;
        let claim = match &onto.claim {
            Some(claim) => claim.clone(),
            None => self.claim_repair()?,
        };
        let missing = self.not_given();
        let BegunMember {
            goes_on: begun,
            apart,
        } = self.begun_before(&onto.name, roots)?;
        self.check_unfinished(onto, begun.as_ref())?;
        if let Some(begun) = begun {
            observer(takes_place(onto, &missing, begun.superblock.member));
            let continued = self.locked(onto, begun, roots)?;
            return Ok(Replacement {
                _claim: Some(claim),
                ..continued
            });
        }
        let first = *missing.first().ok_or_else(|| nothing_missing(onto))?;
        self.check_no_member(onto, roots)?;
        let told = self.superblock_of(first)?;
        let mut destroy = onto.destroy.clone();
        // Whoever was killed before the first superblock was there has left a file of zeros.
        if !destroy.contains(&onto.name) && is_blank_file(Path::new(&onto.name)) {
            destroy.push(onto.name.clone());
        }
        observer(takes_place(onto, &missing, first.member));
        let plan = CreatePlan {
            members: vec![onto.name.clone()],
            destroy,
            // Whoever is cut off while it is prewritten could not go on.
            prewrite: false,
            slot_bytes: self.slot_bytes,
            same_disk: onto.same_disk,
            ..CreatePlan::new([onto.name.clone()])
        };
        let (mut created, mut notes) = (CreatedFiles::default(), Vec::new());
        let sites = open_sites(&plan, roots, &mut created, &mut notes)?;
        if !onto.same_disk {
            check_apart(self, &sites, roots)?;
        }
        let geometry = geometry_on(&sites[0], told.geometry)?;
        notes
            .into_iter()
            .for_each(|note| observer(CreateEvent::Note(note)));
        let superblock = Superblock {
            geometry,
            is_prewritten: false,
            ..told
        };
        prepare_files(&plan, &sites, &[geometry], stop, observer)?;
        let targets = [(&sites[0].target, None)];
        if let Some(superblock) = apart {
            observer(made_anew(onto));
            wipe::clear_slots(targets[0], &superblock, stop)?;
        }
        wipe::wipe(&targets, &[geometry], &|_| false)?;
        sync_folder(&sites[0])?;
        let site = sites.into_iter().next().expect("there is one");
        let mut replacement = Replacement {
            name: onto.name.clone(),
            is_continued: false,
            target: site.target,
            simulated: None,
            superblock,
            created,
            _claim: Some(claim),
        };
        replacement.write_superblock(self)?;
        replacement.created.keep();
        Ok(replacement)
    }

    /// Goes on with a member, which is locked for that.
    fn locked(
        &self,
        onto: &Onto,
        begun: OpenMember,
        roots: &Roots,
    ) -> Result<Replacement, RecordError> {
        let names = [onto.name.clone()];
        let mut found = candidates(&names, Direction::Write, roots)?;
        let candidate = found.pop().expect("there is one for each name");
        let (target, _) = open_in_time(candidate, Mode::Record, roots)?;
        check_locked(&target)?;
        self.continued(OpenMember { target, ..begun })
    }

    /// The same on a disk of a simulated machine.
    pub(crate) fn replacement_on(&self, disk: &SimulatedDisk) -> Result<Replacement, RecordError> {
        let name = disk.target.name.clone();
        let targets = vec![(disk.target.clone(), Some(disk.simulated))];
        let found = read_members(targets, Mode::Read, self.machines(), self.clock());
        let own = found.ok().and_then(|mut found| found.pop());
        if let Some(own) = own.filter(|own| self.lacks(own)) {
            return self.continued(own);
        }
        let missing = self.not_given();
        let missing = missing
            .first()
            .ok_or_else(|| RecordError::Usage("no member is missing".to_owned()))?;
        let told = self.superblock_of(*missing)?;
        let mut replacement = Replacement {
            name,
            is_continued: false,
            target: disk.target.clone(),
            simulated: Some(disk.simulated),
            superblock: Superblock {
                is_prewritten: false,
                ..told
            },
            created: CreatedFiles::default(),
            _claim: None,
        };
        replacement.write_superblock(self)?;
        Ok(replacement)
    }

    /// The superblock of a lost member, as the others tell it.
    fn superblock_of(&self, missing: Missing) -> Result<Superblock, RecordError> {
        let there = self.members.iter().filter(|member| member.is_there());
        let newest = there.max_by_key(|member| member.superblock.generation);
        let groups = self
            .members
            .iter()
            .find_map(|member| member.groups.as_ref());
        let geometry = groups.and_then(|groups| groups.geometry(missing.index));
        let (Some(newest), Some(geometry), Some(groups)) = (newest, geometry, groups) else {
            return Err(RecordError::Usage(
                "this store has never had parity, so nothing tells what a lost member had: extract \
                 what is on the others, and create the store anew"
                    .to_owned(),
            ));
        };
        let pins = self.pins_of_missing(missing, (geometry, &[]), &*groups.find(WHY)?)?;
        Ok(Superblock {
            member: missing.member,
            member_index: missing.index as u16,
            geometry,
            has_ended: false,
            end_slot: None,
            slots_begun: 0,
            pins: pins.table(&[], geometry.slot_count),
            repaired_slots: 0,
            is_being_repaired: true,
            // Nothing tells when it was added, if it was.
            first_recording: 0,
            behind: behind_but(&newest.superblock, missing.index as u16),
            ..newest.superblock.clone()
        })
    }

    /// Whether someone has recorded to the store since it was opened.
    ///
    /// # Errors
    /// [`RecordError::Engine`].
    pub(crate) fn was_recorded_to_since(&self) -> Result<bool, RecordError> {
        let mut io = self.io()?;
        let members = self.members.iter().enumerate();
        for (position, member) in members.filter(|(_, member)| member.is_there()) {
            for offset_bytes in member.superblock.geometry.superblock_offsets() {
                let block = io.read(position, offset_bytes, BLOCK_BYTES);
                let found = block.ok().and_then(|block| Superblock::decode(&block).ok());
                if found.is_some_and(|found| found.generation > member.superblock.generation) {
                    return Ok(true);
                }
            }
        }
        io.check_engine()?;
        Ok(self.is_recorded_to() != Some(false))
    }

    /// Refuses to begin with another member while one that was given is not complete: what that
    /// has may be needed, and nobody reads it yet.
    fn check_unfinished(&self, onto: &Onto, begun: Option<&OpenMember>) -> Result<(), RecordError> {
        let is_it = |one: &&OpenMember| {
            begun.is_some_and(|begun| begun.superblock.member == one.superblock.member)
        };
        let Some(first) = self.unfinished.first() else {
            return Ok(());
        };
        if self.unfinished.iter().any(|one| is_it(&one)) {
            return Ok(());
        }
        let (first, onto) = (&first.name, &onto.name);
        Err(RecordError::Usage(format!(
            "the repair of {first} was interrupted, and what {first} has may be needed for {onto}: \
             complete it first by a repair onto {first}, and then repair onto {onto}"
        )))
    }

    /// Goes on with what is on a member already. What it has stays, and it is a member as before
    /// until all that it lacks is there.
    fn continued(&self, begun: OpenMember) -> Result<Replacement, RecordError> {
        let there = self.members.iter().filter(|member| member.is_there());
        let newest = there.max_by_key(|member| member.superblock.generation);
        let own = begun.superblock;
        let pins = self.pins_of_begun(&own)?;
        // Its repair has made it newer already.
        let own_generation = own.generation.saturating_sub(own.is_being_repaired.into());
        let superblock = match newest.map(|newest| &newest.superblock) {
            Some(newest) => Superblock {
                generation: newest.generation.max(own_generation) + 1,
                recordings_begun: newest.recordings_begun.max(own.recordings_begun),
                parities: newest.parities,
                // Members may have been added meanwhile.
                members: newest.members.clone(),
                slot_counts: newest.slot_counts.clone(),
                pins,
                pins_numbered: newest.largest_pin().max(own.largest_pin()),
                // It may be the only one that knows of others that are behind.
                behind: behind_but(newest_of(newest, &own), own.member_index),
                ..own
            },
            None => own,
        };
        Ok(Replacement {
            superblock,
            name: begun.name,
            is_continued: true,
            target: begun.target,
            simulated: begun.simulated,
            created: CreatedFiles::default(),
            _claim: None,
        })
    }

    /// The pins that are set, as they lie on a member that has its table of them, or a part of it.
    fn pins_of_begun(&self, own: &Superblock) -> Result<Vec<Pin>, RecordError> {
        let missing = Missing {
            index: usize::from(own.member_index),
            member: own.member,
        };
        let groups = self.members.iter().find_map(|one| one.groups.as_ref());
        let Some(groups) = groups else {
            return Ok(own.pins.clone());
        };
        let slot_count = own.geometry.slot_count;
        let table = (own.geometry, &own.pins[..]);
        let mut told = self.pins_of_missing(missing, table, &*groups.find(WHY)?)?;
        let pins = &mut told.set;
        for pin in pins.iter_mut() {
            let known = own.pins.iter().find(|known| is_same(known, pin));
            if let Some(known) = known.filter(|known| known.is_set()) {
                *pin = known_here(*pin, *known, slot_count);
            }
        }
        let there = self.members.iter().filter(|member| member.is_there());
        let newest = there.map(|member| member.superblock.generation).max();
        if Some(own.generation) <= newest {
            return Ok(told.table(&own.pins, slot_count));
        }
        // It may be the only one that has a pin, or that knows that one was freed.
        let set_here: Vec<Pin> = own.pins.iter().copied().filter(Pin::is_set).collect();
        pins.retain(|pin| set_here.iter().any(|known| is_same(known, pin)));
        let is_elsewhere = |known: &Pin| pins.iter().any(|pin| is_same(known, pin));
        let only_here = set_here.iter().filter(|known| !is_elsewhere(known));
        let only_here: Vec<Pin> = only_here.copied().collect();
        pins.extend(only_here);
        Ok(told.table(&own.pins, slot_count))
    }

    /// Refuses a member of the store, whatever may be destroyed: what is on it is needed.
    fn check_no_member(&self, onto: &Onto, roots: &Roots) -> Result<(), RecordError> {
        let there = self.members.iter().filter(|member| member.is_there());
        for member in there {
            let names = [member.name.clone(), onto.name.clone()];
            match candidates(&names, Direction::Write, roots) {
                Err(RecordError::Usage(_) | RecordError::Target(_)) => {
                    return Err(RecordError::Usage(format!(
                        "{} is a member of the store, which is needed to compute what is lost: \
                         name another place",
                        onto.name
                    )));
                }
                other => drop(other?),
            }
        }
        Ok(())
    }
}

impl Replacement {
    /// Reads of the members of a store that is open for reading, and reads and writes of this one,
    /// which is behind them. They yield to whoever records on these disks.
    ///
    /// # Errors
    /// [`RecordError::Engine`].
    pub(crate) fn io_beside(&self, store: &Store) -> Result<MemberIo, RecordError> {
        let beside = DrivenMember {
            member: usize::from(self.superblock.member_index),
            target: &self.target,
            simulated: self.simulated,
            rebuilt: None,
        };
        let (machines, clock) = (store.machines(), store.clock());
        let io = access::io_beside(&store.members, beside, &self.name, machines, clock)?;
        if self.simulated.is_some() {
            return Ok(io);
        }
        let there = store.members.iter().filter(|member| member.is_there());
        let targets = there.map(|member| (&member.target, Some(Path::new(&member.name))));
        let targets = targets.chain([(&self.target, Some(Path::new(&self.name)))]);
        Ok(io.yielding_to(RecordersBeside::under(targets, &Roots::default())))
    }

    /// Single reads and writes of it, as target 0.
    fn io(&self, store: &Store) -> Result<MemberIo, RecordError> {
        let targets = [(&self.target, self.simulated)];
        access::io_over(&targets, Mode::Record, store.machines(), store.clock())
    }

    /// Writes its superblock.
    ///
    /// # Errors
    /// [`RecordError::Request`], [`RecordError::Silent`], [`RecordError::Engine`].
    pub(crate) fn write_superblock(&mut self, store: &Store) -> Result<(), RecordError> {
        superblocks::write(&mut self.io(store)?, &[(&self.name, &self.superblock)])
    }
}

/// A pin as it lies on a member that has it itself, with its end if others alone tell that.
fn known_here(pin: Pin, known: Pin, slot_count: u64) -> Pin {
    let told = match known.end_slot {
        Some(_) if pin.end_slot.is_none() => known,
        _ => pin,
    };
    let from_slot = known.from_slot;
    let end_slot = known.end_slot.or(pin.end_slot);
    let at_most = from_slot.saturating_add(slot_count);
    Pin {
        from_slot,
        end_slot: end_slot.map(|end_slot| end_slot.clamp(from_slot + 1, at_most)),
        ..told
    }
}

/// The superblock of the two that was written last.
fn newest_of<'a>(one: &'a Superblock, other: &'a Superblock) -> &'a Superblock {
    match other.generation > one.generation {
        true => other,
        false => one,
    }
}

/// The members that are behind, without this one, which is to have all that it lacks.
fn behind_but(newest: &Superblock, member: u16) -> BTreeSet<u16> {
    let mut behind = newest.behind.clone();
    behind.remove(&member);
    behind
}

/// Says which of several missing members a new one replaces.
fn takes_place(onto: &Onto, missing: &[Missing], member: Uuid) -> CreateEvent {
    let found = missing.iter().find(|missing| missing.member == member);
    let number = found.map_or(0, |missing| missing.index + 1);
    let others = missing.iter().filter(|other| other.member != member);
    let others: Vec<String> = others.map(|other| (other.index + 1).to_string()).collect();
    let others = match others.as_slice() {
        [] => String::new(),
        [one] => format!("; member {one} is missing, too, and needs another one"),
        several => format!(
            "; members {} are missing, too, and need others",
            several.join(", ")
        ),
    };
    CreateEvent::Note(format!(
        "{} takes the place of member {number}{others}",
        onto.name
    ))
}

/// Says that nothing of a member stays that does not go together with the others.
fn made_anew(onto: &Onto) -> CreateEvent {
    CreateEvent::Note(format!(
        "what is on {} does not go together with the others: all of it is overwritten first",
        onto.name
    ))
}

fn nothing_missing(onto: &Onto) -> RecordError {
    RecordError::Usage(format!(
        "no member of the store is missing, so {} would take the place of none: leave out the \
         member that it is to replace",
        onto.name
    ))
}

/// How the new member is divided: into as many slots as the lost one had.
fn geometry_on(site: &Site<'_>, lost: Geometry) -> Result<Geometry, RecordError> {
    if site.target.kind == TargetKind::File {
        return Ok(lost);
    }
    let capacity_bytes = site.target.capacity_bytes.unwrap_or(0);
    let member_bytes = capacity_bytes - capacity_bytes % BLOCK_BYTES as u64;
    if member_bytes < lost.member_bytes {
        let why = format!(
            "it has {}, and the member that it is to replace took at least {}: use a larger one",
            Size(capacity_bytes),
            Size(lost.member_bytes)
        );
        return Err(RecordError::member(site.name, why));
    }
    Ok(Geometry {
        member_bytes,
        ..lost
    })
}
