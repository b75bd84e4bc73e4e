//! Adds members to a store for `sustain create --add`. What was recorded stays where it is, and
//! later recordings use all members.

use std::path::PathBuf;

use sustain_disk::clock::Clock;
use sustain_disk::engine::{SharedMachine, SimulatedTarget};
use sustain_disk::target::{Direction, Target, TargetKind};
use sustain_host::Roots;
use sustain_targets::{CreatedFiles, SimulatedDisk, Stop, check_destroy, neighbour_cautions};
use uuid::Uuid;

use super::apart::check_apart;
use super::candidate::candidates;
use super::create::{
    Site, check_count, check_slots, divide, geometry_of_disk, note_holes, note_shared_file_systems,
    open_sites, prepare_files, sync_folder, undo, unusable,
};
use super::{
    CreateEvent, CreatePlan, Created, CreatedMember, Mode, OpenMember, Renewal, Store, access,
    superblocks, wipe,
};
use crate::error::RecordError;
use crate::format::{Geometry, Pin, Superblock};

/// The request to add members to a store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AddPlan {
    /// All members that the store has, as typed.
    pub members: Vec<String>,
    /// The block devices, files and directories that are to be members too, as typed.
    pub added: Vec<String>,
    /// Size of each new file, as of [`CreatePlan::size_bytes`].
    pub size_bytes: Option<u64>,
    /// Whether files are prewritten.
    pub prewrite: bool,
    /// Those of `added` whose content may be destroyed, as typed.
    pub destroy: Vec<String>,
    /// Whether members may share a disk although there is parity, which protects nothing then.
    pub same_disk: bool,
    /// Whether to say only what would be done.
    pub dry_run: bool,
}

/// Members to be, opened and divided.
struct Newcomers<'a> {
    targets: Vec<(&'a Target, Option<SimulatedTarget>)>,
    geometries: &'a [Geometry],
    is_prewritten: &'a dyn Fn(&Target) -> bool,
}

/// Adds members to a store. If it fails before they are members, the store is as it was, and files
/// that it has made are removed, unless a member does not answer.
///
/// # Errors
/// The same as of [`create`](super::create), and those of [`Store::open`] for recording: all
/// members must be there, and nobody may be recording to them.
pub fn add(
    plan: &AddPlan,
    roots: &Roots,
    stop: &Stop,
    observer: &mut dyn FnMut(CreateEvent),
) -> Result<Created, RecordError> {
    check_destroy(&plan.destroy, &plan.added)?;
    let all: Vec<String> = plan.members.iter().chain(&plan.added).cloned().collect();
    let paths = candidates(&all, Direction::Write, roots)?.into_iter();
    let paths: Vec<(String, PathBuf)> = paths.map(|one| (one.name.to_owned(), one.path)).collect();
    let opened = Store::open(plan.members.clone(), Mode::Record, roots);
    let mut store = opened.map_err(|error| already_added(plan, roots).unwrap_or(error))?;
    check_count(store.member_count() + plan.added.len())?;
    let create = plan.as_create(&store);
    let (mut created, mut notes) = (CreatedFiles::default(), std::mem::take(&mut store.notes));
    let sites = open_sites(&create, roots, &mut created, &mut notes)?;
    let geometries = divide(&create, &sites, &mut notes)?;
    notes.extend(checked(&create, &store, (&sites, &geometries), roots)?);
    notes
        .into_iter()
        .for_each(|note| observer(CreateEvent::Note(note)));
    let members = all_members(&store, &paths, (&sites, &geometries));
    let parities = store.parities();
    if plan.dry_run {
        return Ok(Created {
            store: None,
            members,
            parities,
        });
    }
    let holes = note_holes(&sites)?;
    let is_prewritten = |target: &Target| plan.prewrite && target.kind == TargetKind::File;
    let newcomers = Newcomers {
        targets: sites.iter().map(|site| (&site.target, None)).collect(),
        geometries: &geometries,
        is_prewritten: &is_prewritten,
    };
    let made = prepare_files(&create, &sites, &geometries, stop, observer)
        .and_then(|()| wipe::wipe(&newcomers.targets, &geometries, &is_prewritten))
        .and_then(|()| store.write_newcomers(&newcomers))
        .and_then(|table| sites.iter().try_for_each(sync_folder).map(|()| table));
    let table = made.map_err(|error| undo(error, &holes, &sites, &mut created))?;
    // From the first member that names them on, they are members.
    created.keep();
    store.take_in(&table, &geometries)?;
    Ok(Created {
        store: Some(store.id),
        members,
        parities,
    })
}

/// Adds disks of simulated machines, that keep what is written, to a store on others.
///
/// # Errors
/// The same as of [`create_simulated`](super::create_simulated) and [`Store::open_simulated`].
pub fn add_simulated(
    disks: &[SimulatedDisk],
    added: &[SimulatedDisk],
    machines: &[SharedMachine],
    clock: &Clock,
) -> Result<(), RecordError> {
    let mut store = Store::open_simulated(disks, machines, clock, Mode::Record)?;
    check_count(store.member_count() + added.len())?;
    let slot_bytes = store.slot_bytes;
    let geometries = added.iter().map(|disk| geometry_of_disk(disk, slot_bytes));
    let geometries = geometries.collect::<Result<Vec<Geometry>, RecordError>>()?;
    let targets = added
        .iter()
        .map(|disk| (&disk.target, Some(disk.simulated)));
    let newcomers = Newcomers {
        targets: targets.collect(),
        geometries: &geometries,
        is_prewritten: &|_| false,
    };
    let table = store.write_newcomers(&newcomers)?;
    store.take_in(&table, &geometries)
}

impl AddPlan {
    /// The plan by which members of the store are made of what is added.
    fn as_create(&self, store: &Store) -> CreatePlan {
        CreatePlan {
            members: self.added.clone(),
            size_bytes: self.size_bytes,
            slot_bytes: store.slot_bytes,
            prewrite: self.prewrite,
            destroy: self.destroy.clone(),
            parities: store.parities(),
            same_disk: self.same_disk,
            dry_run: self.dry_run,
        }
    }
}

/// Checks that what is to be added protects as parity needs it. Returns notes for the user.
fn checked(
    plan: &CreatePlan,
    store: &Store,
    (sites, geometries): (&[Site<'_>], &[Geometry]),
    roots: &Roots,
) -> Result<Vec<String>, RecordError> {
    let mut notes = Vec::new();
    note_shared_file_systems(sites, &mut notes);
    check_slots(plan.parities, sites, geometries)?;
    if plan.parities > 0 && !plan.same_disk {
        check_apart(store, sites, roots)?;
    }
    let members = store.members.iter();
    let divided = members.map(|one| (one.name.as_str(), &one.superblock.geometry));
    let new = sites.iter().map(|site| site.name).zip(geometries);
    let divided: Vec<(&str, &Geometry)> = divided.chain(new).collect();
    notes.extend(unusable(plan.parities, &divided));
    let places = sites
        .iter()
        .map(|site| (&site.target, Some(site.path.as_path())));
    notes.extend(neighbour_cautions(places, roots));
    Ok(notes)
}

/// The members that the store has when these were added.
fn all_members(
    store: &Store,
    paths: &[(String, PathBuf)],
    (sites, geometries): (&[Site<'_>], &[Geometry]),
) -> Vec<CreatedMember> {
    let path_of = |name: &str| paths.iter().find(|(typed, _)| typed == name);
    let there = store.members.iter().zip(&store.tails);
    let there = there.map(|(member, tail)| CreatedMember {
        name: member.name.clone(),
        path: path_of(&member.name).map(|(_, path)| path.clone()),
        geometry: member.superblock.geometry,
        is_new: false,
        is_added: false,
        free_slots: match store.is_left_alone(member) {
            true => 0,
            false => {
                let slot_count = member.superblock.geometry.slot_count;
                slot_count.saturating_sub(tail.next_slot_serial)
            }
        },
    });
    let new = sites
        .iter()
        .zip(geometries)
        .map(|(site, geometry)| CreatedMember {
            is_added: true,
            ..site.created(*geometry)
        });
    there.chain(new).collect()
}

impl Store {
    /// Writes the superblocks of new members. The others do not know of them yet. Returns the table
    /// of all members.
    fn write_newcomers(&self, newcomers: &Newcomers<'_>) -> Result<Vec<Uuid>, RecordError> {
        let superblocks = self.members.iter().map(|member| &member.superblock);
        let newest = superblocks.max_by_key(|one| one.generation);
        let newest = newest.expect("an open store has a member");
        let added = newcomers.targets.iter().map(|_| Uuid::new_v4());
        let members: Vec<Uuid> = newest.members.iter().copied().chain(added).collect();
        let slot_counts = self.slot_counts_with(newcomers.geometries);
        let count_before = newest.members.len();
        let pins = self.pins_of_newcomer();
        let superblock = |(position, geometry): (usize, &Geometry)| Superblock {
            member: members[count_before + position],
            generation: newest.generation.saturating_add(1),
            geometry: *geometry,
            member_index: (count_before + position) as u16,
            members: members.clone(),
            is_prewritten: (newcomers.is_prewritten)(newcomers.targets[position].0),
            has_ended: false,
            end_slot: None,
            slots_begun: 0,
            pins: pins.clone(),
            slot_counts: slot_counts.clone(),
            repaired_slots: 0,
            is_being_repaired: false,
            first_recording: self.next_recording(),
            ..newest.clone()
        };
        let geometries = newcomers.geometries.iter().enumerate();
        let superblocks: Vec<Superblock> = geometries.map(superblock).collect();
        let targets = newcomers.targets.iter();
        let names = targets.map(|(target, _)| target.name.as_str());
        let named: Vec<(&str, &Superblock)> = names.zip(&superblocks).collect();
        let (machines, clock) = (self.machines(), self.clock());
        let mut io = access::io_over(&newcomers.targets, Mode::Record, machines, clock)?;
        superblocks::write(&mut io, &named)?;
        Ok(members)
    }

    /// Makes new members known to the others, which makes them members.
    fn take_in(&mut self, table: &[Uuid], added: &[Geometry]) -> Result<(), RecordError> {
        let slot_counts = self.slot_counts_with(added);
        for member in &mut self.members {
            member.superblock.members = table.to_vec();
            member.superblock.slot_counts.clone_from(&slot_counts);
        }
        let members = self.members.iter();
        let slots_begun = members.map(|member| member.superblock.slots_begun);
        let slots_begun: Vec<u64> = slots_begun.collect();
        self.renew_superblocks(&slots_begun, Renewal::AtRest)
    }

    /// How many slots each member has when these are members, in a store that has or had parity.
    fn slot_counts_with(&self, added: &[Geometry]) -> Vec<u64> {
        let has_parity = |member: &OpenMember| member.superblock.has_parity();
        if !self.members.iter().any(has_parity) {
            return Vec::new();
        }
        let added = added.iter().map(|geometry| geometry.slot_count);
        self.slot_counts().into_iter().chain(added).collect()
    }

    /// The pins of a new member. It has nothing that they keep, but one that a member does not know
    /// of would count as freed. None keeps less than a slot.
    fn pins_of_newcomer(&self) -> Vec<Pin> {
        let pins = self.members.iter().map(|member| &member.superblock.pins);
        let most = pins.max_by_key(|pins| pins.len()).cloned();
        let pins = most.unwrap_or_default().into_iter();
        let set = pins.filter(Pin::is_set);
        set.map(|pin| Pin {
            from_slot: 0,
            end_slot: Some(1),
            ..pin
        })
        .collect()
    }
}

/// Why nothing is to be added, if the store has these members already: the same command was given
/// before.
fn already_added(plan: &AddPlan, roots: &Roots) -> Option<RecordError> {
    let all: Vec<String> = plan.members.iter().chain(&plan.added).cloned().collect();
    let store = Store::open(&all, Mode::Read, roots).ok()?;
    let is_member = |name: &String| store.members.iter().any(|member| member.name == *name);
    let is_done = store.not_given().is_empty() && plan.added.iter().all(is_member);
    is_done.then(|| {
        let are = match plan.added.len() {
            1 => "is a member",
            _ => "are members",
        };
        RecordError::Usage(format!(
            "{} {are} of the store already: there is nothing to add, and nothing was written",
            plan.added.join(", ")
        ))
    })
}
