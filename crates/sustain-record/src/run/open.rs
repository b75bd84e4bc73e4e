//! What comes before the first byte: the store is opened, or created where there is none, then the
//! sources. A dry run ends here.

use std::path::PathBuf;

use sustain_disk::engine::EngineChoice;
use sustain_disk::target::{DataPath, PASSED_THROUGH};
use sustain_document::setting::{BUFFER, DEGRADED, ENGINE, PATH};
use sustain_host::Roots;
use sustain_targets::{Stop, check_memory, neighbour_cautions, shared_disks};

use super::{RecordEvent, RecordObserver, RecordPlan, note_words, places, share, sources};
use crate::error::RecordError;
use crate::format::SLOT_BYTES_MAX;
use crate::recorder::{append_bytes, check_append_size, check_parity, check_room};
use crate::share_words::share_line;
use crate::store::{CreateEvent, CreatePlan, FILE_NAME, Mode, Store, create};

/// What a recording is made of.
pub(super) struct OpenedRun {
    pub(super) store: Store,
    pub(super) sources: Vec<sources::ReadySource>,
    /// Notes for the user so far.
    pub(super) notes: Vec<String>,
}

/// Opens the store, which is created where there is none, and the sources. A dry run only says what
/// would be done.
pub(super) fn open(
    plan: &RecordPlan,
    roots: &Roots,
    stop: &Stop,
    observer: &mut RecordObserver<'_>,
) -> Result<Option<OpenedRun>, RecordError> {
    let new = members_without_store(plan)?;
    let is_new = !new.is_empty();
    check_path(plan, &new)?;
    // A source that cannot be recorded is refused before a store is created for it.
    let early = is_new.then(|| sources::open(plan)).transpose()?;
    make_stores(plan, new, roots, stop, observer)?;
    if plan.dry_run && is_new {
        rehearse(plan, None, roots, observer);
        return Ok(None);
    }
    let mut store = match plan.degraded {
        true => Store::open_degraded(&plan.members, roots)?,
        false => Store::open(&plan.members, Mode::Record, roots)?,
    };
    store.take_path(plan.path, plan.options.engine, roots)?;
    check_parity(&store, &plan.options)?;
    check_append_size(&store, &plan.options)?;
    check_room(&store, &plan.options)?;
    let notes = notes_before(plan, &store, is_new, roots, observer);
    check_buffer(plan, roots)?;
    let sources = early.map_or_else(|| sources::open(plan), Ok)?;
    sources::check_members(plan, &sources, &store)?;
    if plan.dry_run {
        rehearse(plan, Some(&store), roots, observer);
        return Ok(None);
    }
    Ok(Some(OpenedRun {
        store,
        sources,
        notes,
    }))
}

/// Refuses a path that the members cannot be driven by before a store is created.
fn check_path(plan: &RecordPlan, new: &[String]) -> Result<(), RecordError> {
    if plan.path != DataPath::Passthrough {
        return Ok(());
    }
    if let Some(directory) = new.first() {
        return Err(RecordError::Usage(format!(
            "passthrough needs {PASSED_THROUGH}, and {directory} is a directory: create a store on \
             the disk (`sustain create /dev/sda`), or use {}",
            PATH.to("direct")
        )));
    }
    match plan.options.engine {
        // Which of the two it is, the disks tell.
        EngineChoice::Auto | EngineChoice::IoUring | EngineChoice::Threads => Ok(()),
        other => Err(RecordError::Usage(format!(
            "passthrough works only with io_uring (NVMe) or threads (SATA and SCSI), not with {}: \
             leave {} out",
            other.name(),
            ENGINE.the()
        ))),
    }
}

fn check_buffer(plan: &RecordPlan, roots: &Roots) -> Result<(), RecordError> {
    let advice = format!("use a smaller {BUFFER}");
    check_memory(
        plan.options.buffer_bytes,
        "the buffer needs",
        &advice,
        roots,
    )?;
    Ok(())
}

/// Notes for the user before the first byte, reported to the observer.
fn notes_before(
    plan: &RecordPlan,
    store: &Store,
    is_new: bool,
    roots: &Roots,
    observer: &mut RecordObserver<'_>,
) -> Vec<String> {
    let mut notes = store.notes.clone();
    if plan.size_bytes.is_some() && !is_new {
        notes.push(note_words::size_not_used(&plan.members));
    }
    let asked = plan
        .options
        .parities
        .filter(|asked| *asked < store.parities());
    notes.extend(asked.map(|asked| note_words::less_parity(asked, store.parities())));
    // For what the store has by default, its creation has refused this.
    if plan.options.parities > Some(store.parities()) {
        let shared = shared_disks(places(store), roots).into_iter();
        notes.extend(shared.map(|shared| {
            let members = shared.targets.iter().map(|one| &*store.members[*one].name);
            note_words::parity_on_one_disk(&members.collect::<Vec<_>>(), &shared.words())
        }));
    }
    let appends_bytes = append_bytes(store, &plan.options);
    let append_size = &plan.options.append_size;
    notes.extend(note_words::append_size(append_size, appends_bytes));
    notes.extend(note_words::empty_rests(appends_bytes, store.slot_bytes));
    for note in &notes {
        observer(RecordEvent::Note(note.clone()));
    }
    caution(store, is_new, roots, &mut notes, observer);
    notes
}

/// Adds a caution about bytes that a power cut may take beside a write, and reports it to the
/// observer unless the creation of the store has done so.
fn caution(
    store: &Store,
    is_reported: bool,
    roots: &Roots,
    notes: &mut Vec<String>,
    observer: &mut RecordObserver<'_>,
) {
    for caution in neighbour_cautions(places(store), roots) {
        if !is_reported {
            observer(RecordEvent::Note(caution.clone()));
        }
        notes.push(caution);
    }
}

/// Says what would be done, and what would be taken for it.
fn rehearse(
    plan: &RecordPlan,
    store: Option<&Store>,
    roots: &Roots,
    observer: &mut RecordObserver<'_>,
) {
    for source in &plan.sources {
        let would = note_words::would_record(&source.typed, &source.stream, &plan.members);
        observer(RecordEvent::Note(would));
    }
    let (appends_bytes, slot_bytes) = match store {
        Some(store) => (append_bytes(store, &plan.options), store.slot_bytes),
        None => (
            plan.options.append_size.wanted_bytes(),
            new_slot_bytes(plan),
        ),
    };
    let would = note_words::would_append(appends_bytes, slot_bytes, plan.align_frames);
    observer(RecordEvent::Note(would));
    let share = share::rehearsed(plan, store, roots);
    let would = note_words::would_take(&share_line(&share));
    observer(RecordEvent::Note(would));
}

/// The directories that have no store yet.
fn members_without_store(plan: &RecordPlan) -> Result<Vec<String>, RecordError> {
    let lacks_store = |name: &&String| {
        let path = PathBuf::from(name);
        path.is_dir() && path.join(FILE_NAME).symlink_metadata().is_err()
    };
    if plan.degraded {
        // A directory on which no file system is mounted may be one.
        return Ok(Vec::new());
    }
    let new: Vec<String> = plan.members.iter().filter(lacks_store).cloned().collect();
    if !new.is_empty() && new.len() < plan.members.len() {
        return Err(RecordError::Usage(format!(
            "{} has no store yet, but other members have one. If it is there in the place of a \
             member that was lost, leave it out: with parity, a recording with {DEGRADED} goes to \
             the others, and `sustain repair` puts a new member in its place. For a new store, \
             create one of all members with `sustain create`",
            new[0]
        )));
    }
    Ok(new)
}

/// The slots of a store that is created for the recording have space for two appends, or for one
/// of the largest.
fn new_slot_bytes(plan: &RecordPlan) -> u32 {
    let wanted_bytes = plan.options.append_size.wanted_bytes().min(SLOT_BYTES_MAX);
    let two_bytes = (2 * wanted_bytes).next_power_of_two();
    two_bytes.clamp(CreatePlan::SLOT_BYTES_DEFAULT, SLOT_BYTES_MAX)
}

/// Creates a store in directories that have none yet.
fn make_stores(
    plan: &RecordPlan,
    new: Vec<String>,
    roots: &Roots,
    stop: &Stop,
    observer: &mut RecordObserver<'_>,
) -> Result<(), RecordError> {
    if new.is_empty() {
        return Ok(());
    }
    let create_plan = CreatePlan {
        members: new,
        size_bytes: plan.size_bytes,
        slot_bytes: new_slot_bytes(plan),
        prewrite: true,
        destroy: Vec::new(),
        parities: plan.options.parities.unwrap_or(0),
        same_disk: false,
        dry_run: plan.dry_run,
    };
    create(&create_plan, roots, stop, &mut |event| {
        observer(match event {
            CreateEvent::Note(note) => RecordEvent::Note(note),
            CreateEvent::Prewrite {
                bytes_done,
                bytes_all,
            } => RecordEvent::Preparing(bytes_done, bytes_all),
        });
    })?;
    Ok(())
}
