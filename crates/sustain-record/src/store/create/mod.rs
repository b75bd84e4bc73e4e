//! Creates a store on devices and files for `sustain create`, and for `sustain record` on a
//! directory. It opens and checks all members before it changes any of them, then prepares the
//! files, and writes the superblocks last.

mod protection;
mod site;
mod sizes;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use rustix::fs::{
    FallocateFlags, Mode as FileMode, OFlags, fallocate, fstat, fsync, ftruncate, open,
};
use rustix::io::Errno;
use sustain_disk::clock::{Clock, UnixClock};
use sustain_disk::engine::{SharedMachine, SimulatedTarget};
use sustain_disk::error::Error;
use sustain_disk::target::{Direction, Target, TargetKind};
use sustain_disk::units::Size;
use sustain_document::setting::SIZE;
use sustain_host::Roots;
use sustain_targets::{
    CreatedFiles, SimulatedDisk, Stop, check_destroy, folder_of, has_all_blocks,
    neighbour_cautions, shared_disks,
};
use uuid::Uuid;

use self::protection::{check_disks, check_parities};
pub(in crate::store) use self::protection::{check_slots, unusable};
pub(in crate::store) use self::site::Site;
use self::site::open_site;
pub(in crate::store) use self::sizes::{divide, note_shared_file_systems};
use super::bounded::{Bounded, WHOLE_GIVEN_UP_AFTER_NS};
use super::candidate::candidates;
use super::holes::Holes;
use super::prewrite::{Prewritten, prewrite};
use super::{Mode, access, superblocks, wipe};
use crate::error::RecordError;
use crate::format::{Geometry, MEMBERS_MAX, Superblock};
use crate::member_io::GIVEN_UP_AFTER_NS;

/// The request to create a store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CreatePlan {
    /// Block devices, files and directories, as typed. A directory stands for a file in it.
    pub members: Vec<String>,
    /// Size of each file. Without it, existing files keep their size and new files get 10 GiB, but
    /// together at most half of the free space, or what the smallest members need.
    pub size_bytes: Option<u64>,
    /// Size of the slots.
    pub slot_bytes: u32,
    /// Whether files are prewritten.
    pub prewrite: bool,
    /// Those of `members` whose content may be destroyed, as typed.
    pub destroy: Vec<String>,
    /// Appends of parity of each group by default, 0 for none.
    pub parities: u16,
    /// Whether members may share a disk although there is parity, which protects nothing then.
    pub same_disk: bool,
    /// Whether to say only what would be done.
    pub dry_run: bool,
}

impl CreatePlan {
    /// The size of a slot if none is given.
    pub const SLOT_BYTES_DEFAULT: u32 = 8 << 20;

    /// A plan for a store on these members, with the defaults of the command line.
    pub fn new(members: impl IntoIterator<Item = impl Into<String>>) -> CreatePlan {
        CreatePlan {
            members: members.into_iter().map(Into::into).collect(),
            size_bytes: None,
            slot_bytes: CreatePlan::SLOT_BYTES_DEFAULT,
            prewrite: true,
            destroy: Vec::new(),
            parities: 0,
            same_disk: false,
            dry_run: false,
        }
    }

    /// The same plan, with files of this size.
    #[must_use]
    pub fn with_size_bytes(mut self, size_bytes: u64) -> CreatePlan {
        self.size_bytes = Some(size_bytes);
        self
    }
}

/// Events during the creation of a store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CreateEvent {
    /// A note for the user. Notes come before anything is written.
    Note(String),
    /// Files are being prewritten.
    Prewrite {
        /// Bytes written so far.
        bytes_done: u64,
        /// Bytes to be written in all.
        bytes_all: u64,
    },
}

/// A store that was created, or that would be created by a dry run.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Created {
    /// UUID of the store; `None` in a dry run.
    pub store: Option<Uuid>,
    /// Its members, in the order given.
    pub members: Vec<CreatedMember>,
    /// Appends of parity of each group by default.
    pub parities: u16,
}

/// A member of a store that was created, or that would be created by a dry run.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct CreatedMember {
    /// The name as typed.
    pub name: String,
    /// The path; `None` for a simulated disk.
    pub path: Option<PathBuf>,
    /// How the member is divided into slots.
    pub geometry: Geometry,
    /// Whether the file is new.
    pub is_new: bool,
    /// Whether it was added to a store that was there.
    pub is_added: bool,
    /// Slots that nothing was ever recorded in.
    pub free_slots: u64,
}

/// Makes a store. If it fails, files that it has made are removed, unless a member does not answer.
///
/// # Errors
/// [`RecordError::Usage`], [`RecordError::Target`] and [`RecordError::Member`] before anything is
/// written; [`RecordError::Request`], [`RecordError::Silent`] and [`RecordError::Engine`] if
/// writing fails; [`RecordError::Interrupted`] if `stop` says so.
pub fn create(
    plan: &CreatePlan,
    roots: &Roots,
    stop: &Stop,
    observer: &mut dyn FnMut(CreateEvent),
) -> Result<Created, RecordError> {
    check_count(plan.members.len())?;
    check_parities(plan.parities, plan.members.len())?;
    check_destroy(&plan.destroy, &plan.members)?;
    let (mut created, mut notes) = (CreatedFiles::default(), Vec::new());
    let sites = open_sites(plan, roots, &mut created, &mut notes)?;
    let geometries = divide(plan, &sites, &mut notes)?;
    note_shared_file_systems(&sites, &mut notes);
    check_slots(plan.parities, &sites, &geometries)?;
    let divided = sites.iter().map(|site| site.name).zip(&geometries);
    notes.extend(unusable(plan.parities, &divided.collect::<Vec<_>>()));
    let places = || {
        sites
            .iter()
            .map(|site| (&site.target, Some(site.path.as_path())))
    };
    if plan.parities > 0 && !plan.same_disk {
        check_disks(&sites, shared_disks(places(), roots))?;
    }
    notes.extend(neighbour_cautions(places(), roots));
    notes
        .into_iter()
        .for_each(|note| observer(CreateEvent::Note(note)));
    let divided = sites.iter().zip(&geometries);
    let members = divided.map(|(site, geometry)| site.created(*geometry));
    let members = members.collect();
    if plan.dry_run {
        return Ok(Created {
            store: None,
            members,
            parities: plan.parities,
        });
    }
    let holes = note_holes(&sites)?;
    let made = make(plan, &sites, &geometries, stop, observer);
    let store = made.map_err(|error| undo(error, &holes, &sites, &mut created))?;
    created.keep();
    Ok(Created {
        store: Some(store),
        members,
        parities: plan.parities,
    })
}

/// Opens all members. What refuses one does not hide what refuses the next.
pub(in crate::store) fn open_sites<'a>(
    plan: &'a CreatePlan,
    roots: &Roots,
    created: &mut CreatedFiles,
    notes: &mut Vec<String>,
) -> Result<Vec<Site<'a>>, RecordError> {
    let (mut sites, mut refusals) = (Vec::new(), Vec::new());
    for candidate in candidates(&plan.members, Direction::Write, roots)? {
        match open_site(plan, candidate, roots, created, notes) {
            Ok(site) => sites.push(site),
            Err(RecordError::Target(refusal)) => refusals.push(refusal),
            Err(error) => return Err(keep_if_silent(error, &sites, created)),
        }
    }
    match Error::of_all(refusals) {
        Some(refused) => Err(refused.into()),
        None => Ok(sites),
    }
}

/// Existing files may be sparse, and what they are given is given back if the store is not made.
pub(in crate::store) fn note_holes(sites: &[Site<'_>]) -> Result<Vec<Holes>, RecordError> {
    let files = sites
        .iter()
        .filter(|site| site.target.kind == TargetKind::File && !site.is_new);
    let noted = files.filter_map(|site| {
        let file = Arc::clone(site.target.file.as_ref()?);
        let is_sparse = !has_all_blocks(&site.target);
        let bounded = Bounded {
            what: &format!("looking for holes in {}", site.name),
            name: site.name,
            patience_ns: GIVEN_UP_AFTER_NS,
            progress: None,
        };
        Some(bounded.call(move || Holes::of(file, is_sparse)))
    });
    noted.collect()
}

/// Gives back what files were given, if the store could not be made.
pub(in crate::store) fn undo(
    error: RecordError,
    holes: &[Holes],
    sites: &[Site<'_>],
    created: &mut CreatedFiles,
) -> RecordError {
    if !matches!(error, RecordError::Silent(_)) {
        holes.iter().for_each(Holes::give_back);
    }
    keep_if_silent(error, sites, created)
}

/// Writes the store.
fn make(
    plan: &CreatePlan,
    sites: &[Site<'_>],
    geometries: &[Geometry],
    stop: &Stop,
    observer: &mut dyn FnMut(CreateEvent),
) -> Result<Uuid, RecordError> {
    prepare_files(plan, sites, geometries, stop, observer)?;
    let targets: Vec<_> = sites.iter().map(|site| (&site.target, None)).collect();
    let is_prewritten = |target: &Target| plan.prewrite && target.kind == TargetKind::File;
    wipe::wipe(&targets, geometries, &is_prewritten)?;
    let founded = Founded {
        geometries,
        parities: plan.parities,
    };
    let store = found(&targets, founded, &is_prewritten, &[], &Clock::Real)?;
    sites.iter().try_for_each(sync_folder)?;
    Ok(store)
}

/// Removing a file waits for what is under way on it: one that does not answer would be waited for
/// without end after all. So new files stay then, and that is said.
fn keep_if_silent(
    error: RecordError,
    sites: &[Site<'_>],
    created: &mut CreatedFiles,
) -> RecordError {
    let new = sites.iter().filter(|site| site.is_new);
    let paths: Vec<String> = new.map(|site| site.path.display().to_string()).collect();
    match error {
        RecordError::Silent(words) if !paths.is_empty() => {
            created.keep();
            RecordError::Silent(format!(
                "{words}. What was made stays, for removing it would wait, too: remove {} before \
                 you begin again",
                paths.join(" and ")
            ))
        }
        other => other,
    }
}

/// Makes a store of disks of simulated machines that keep what is written.
///
/// # Errors
/// [`RecordError::Member`] for a disk that is too small; [`RecordError::Request`] and
/// [`RecordError::Engine`] if writing fails.
pub fn create_simulated(
    disks: &[SimulatedDisk],
    machines: &[SharedMachine],
    clock: &Clock,
    slot_bytes: u32,
) -> Result<Created, RecordError> {
    check_count(disks.len())?;
    let geometries = disks.iter().map(|disk| geometry_of_disk(disk, slot_bytes));
    let geometries = geometries.collect::<Result<Vec<Geometry>, RecordError>>()?;
    let targets: Vec<_> = disks
        .iter()
        .map(|disk| (&disk.target, Some(disk.simulated)))
        .collect();
    let founded = Founded {
        geometries: &geometries,
        parities: 0,
    };
    let store = found(&targets, founded, &|_| false, machines, clock)?;
    let members = disks
        .iter()
        .zip(geometries)
        .map(|(disk, geometry)| CreatedMember {
            name: disk.target.name.clone(),
            path: None,
            geometry,
            is_new: false,
            is_added: false,
            free_slots: geometry.slot_count,
        })
        .collect();
    Ok(Created {
        store: Some(store),
        members,
        parities: 0,
    })
}

pub(in crate::store) fn check_count(members: usize) -> Result<(), RecordError> {
    if (1..=MEMBERS_MAX).contains(&members) {
        return Ok(());
    }
    Err(RecordError::Usage(format!(
        "a store has 1 to {MEMBERS_MAX} members, and {members} were given"
    )))
}

/// How a disk of a simulated machine is divided.
pub(in crate::store) fn geometry_of_disk(
    disk: &SimulatedDisk,
    slot_bytes: u32,
) -> Result<Geometry, RecordError> {
    let capacity_bytes = disk.target.capacity_bytes.unwrap_or(0);
    let geometry = Geometry::of_member(capacity_bytes, slot_bytes);
    geometry.map_err(|error| RecordError::member(&disk.target.name, error.to_string()))
}

/// Gives files their size, and prewrites them if the plan says so.
pub(in crate::store) fn prepare_files(
    plan: &CreatePlan,
    sites: &[Site<'_>],
    geometries: &[Geometry],
    stop: &Stop,
    observer: &mut dyn FnMut(CreateEvent),
) -> Result<(), RecordError> {
    let mut files = Vec::new();
    for (site, geometry) in sites.iter().zip(geometries) {
        if site.target.kind == TargetKind::File {
            resize(site, geometry.member_bytes)?;
            files.push((&site.target, geometry.member_bytes));
        }
    }
    let mut is_interrupted = stop.reason().is_some();
    let begins = plan.prewrite && !files.is_empty() && !is_interrupted;
    if begins {
        let bytes_all = files.iter().map(|(_, bytes)| bytes).sum();
        let written = prewrite(&files, stop, &mut |bytes_done| {
            observer(CreateEvent::Prewrite {
                bytes_done,
                bytes_all,
            });
        })?;
        is_interrupted = written == Prewritten::Interrupted || stop.reason().is_some();
    }
    if !is_interrupted {
        return Ok(());
    }
    let mut text = "interrupted before this was complete: new files were removed".to_owned();
    let touched = |site: &&Site<'_>| site.target.kind == TargetKind::File && !site.is_new;
    for site in sites.iter().filter(touched) {
        text.push_str(&format!("; what was in {} is lost", site.name));
    }
    Err(RecordError::Interrupted(text))
}

fn resize(site: &Site<'_>, size_bytes: u64) -> Result<(), RecordError> {
    let Some(file) = site.target.file.clone() else {
        return Ok(());
    };
    let watched = Arc::clone(&file);
    let bounded = Bounded {
        what: &format!("giving {} its size of {}", site.name, Size(size_bytes)),
        name: site.name,
        patience_ns: WHOLE_GIVEN_UP_AFTER_NS,
        // Where the file system cannot leave blocks unwritten, it writes zeros to all of them.
        progress: Some(Box::new(move || {
            fstat(&watched).map_or(0, |found| found.st_blocks.unsigned_abs())
        })),
    };
    let allocated = bounded.call(move || {
        ftruncate(&file, size_bytes)
            .and_then(|()| fallocate(&file, FallocateFlags::empty(), 0, size_bytes))
    })?;
    match allocated {
        // Where the file system cannot reserve blocks, writing will allocate them.
        Ok(()) | Err(Errno::OPNOTSUPP | Errno::NOSYS) => Ok(()),
        Err(errno) => Err(RecordError::NoBlocks {
            member: site.name.to_owned(),
            why: format!(
                "cannot make a file of {} there: {errno}; free some space, or use a smaller {SIZE}",
                Size(size_bytes)
            ),
        }),
    }
}

/// What the superblocks of a new store say.
#[derive(Clone, Copy)]
struct Founded<'a> {
    /// Of its members, in their order.
    geometries: &'a [Geometry],
    /// Appends of parity of each group by default.
    parities: u16,
}

/// Writes the superblocks of a new store.
fn found(
    targets: &[(&Target, Option<SimulatedTarget>)],
    founded: Founded<'_>,
    is_prewritten: &dyn Fn(&Target) -> bool,
    machines: &[SharedMachine],
    clock: &Clock,
) -> Result<Uuid, RecordError> {
    let mut io = access::io_over(targets, Mode::Record, machines, clock)?;
    let names: Vec<&str> = targets
        .iter()
        .map(|(target, _)| target.name.as_str())
        .collect();
    let store = Uuid::new_v4();
    let members: Vec<Uuid> = targets.iter().map(|_| Uuid::new_v4()).collect();
    let created_ns = UnixClock::read(clock).unix_ns(clock.now());
    let geometries = founded.geometries;
    let slot_counts = geometries.iter().map(|geometry| geometry.slot_count);
    let slot_counts: Vec<u64> = slot_counts.collect();
    let superblocks: Vec<Superblock> = geometries
        .iter()
        .enumerate()
        .map(|(index, geometry)| Superblock {
            store,
            member: members[index],
            generation: 1,
            created_ns,
            geometry: *geometry,
            member_index: index as u16,
            members: members.clone(),
            is_prewritten: is_prewritten(targets[index].0),
            has_ended: false,
            recordings_begun: 0,
            end_slot: None,
            pins: Vec::new(),
            pins_numbered: 0,
            parities: founded.parities,
            slot_counts: match founded.parities {
                0 => Vec::new(),
                _ => slot_counts.clone(),
            },
            repaired_slots: 0,
            is_being_repaired: false,
            first_recording: 0,
            retired: BTreeSet::new(),
            behind: BTreeSet::new(),
            slots_begun: 0,
        })
        .collect();
    let named: Vec<(&str, &Superblock)> = names.into_iter().zip(&superblocks).collect();
    superblocks::write(&mut io, &named)?;
    Ok(store)
}

/// Makes the directory entry of a new file as durable as the file.
pub(in crate::store) fn sync_folder(site: &Site<'_>) -> Result<(), RecordError> {
    if !site.is_new {
        return Ok(());
    }
    let folder = folder_of(&site.path).to_owned();
    let bounded = Bounded {
        what: &format!("making the name of {} durable in its directory", site.name),
        name: site.name,
        patience_ns: WHOLE_GIVEN_UP_AFTER_NS,
        progress: None,
    };
    let synced = bounded.call(move || {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        open(&folder, flags, FileMode::empty()).and_then(fsync)
    })?;
    synced.map_err(|errno| {
        RecordError::member(site.name, format!("cannot sync its directory: {errno}"))
    })
}

#[cfg(test)]
mod tests {
    use sustain_disk::target::{DataPath, OpenRequest};
    use sustain_targets::{Permission, open_under_guard};

    use super::*;

    #[test]
    fn new_files_stay_where_a_member_does_not_answer_and_go_where_it_fails() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("new");
        let request = OpenRequest {
            direction: Direction::Write,
            path: DataPath::Buffered,
            create: true,
        };
        for is_silent in [true, false] {
            let roots = Roots::default();
            let own = Permission::OwnStore;
            let target = open_under_guard("new", &path, request, own, &roots, &mut Vec::new());
            let site = Site {
                name: "new",
                path: path.clone(),
                target: target.unwrap(),
                is_new: true,
            };
            let mut created = CreatedFiles::default();
            created.add(&path);
            let error = match is_silent {
                true => RecordError::Silent("write on new has not returned".to_owned()),
                false => RecordError::Interrupted("by the user".to_owned()),
            };
            let told = keep_if_silent(error, &[site], &mut created).to_string();
            drop(created);
            assert_eq!(path.exists(), is_silent);
            let names_it = told.contains(&format!("remove {}", path.display()));
            assert_eq!(names_it, is_silent, "{told}");
            let _ = std::fs::remove_file(&path);
        }
    }
}
