//! Which of the members that were given can be used, and whether they belong together. Pure.

use std::collections::{BTreeSet, HashMap};

use sustain_disk::units::Size;
use sustain_document::setting::{DEGRADED, ONTO};

use super::degraded::numbered;
use super::parity::parities_of;
use super::{Missing, Mode, OpenMember, tables};
use crate::error::RecordError;
use crate::format::SuperblockError;
use crate::opening::PATIENCE_SLOTS;

/// Sorts out members that do not have all yet of the one whose place they take: these come first.
pub(super) fn apart_from_unfinished(
    members: Vec<OpenMember>,
    mode: Mode,
) -> Result<(Vec<OpenMember>, Vec<OpenMember>), RecordError> {
    let is_unfinished = |member: &OpenMember| member.superblock.is_being_repaired;
    let (unfinished, whole): (Vec<_>, Vec<_>) = members.into_iter().partition(is_unfinished);
    let first = unfinished.first();
    let Some(first) = first.filter(|_| mode == Mode::Record || whole.is_empty()) else {
        return Ok((unfinished, whole));
    };
    let why = "it takes the place of a lost member, and its repair was interrupted: repair the \
               store onto it again, which goes on where that ended";
    Err(RecordError::member(&first.name, why))
}

/// Leaves out members that were retired: what they had is on others as well.
pub(super) fn apart_from_retired(
    members: Vec<OpenMember>,
    mode: Mode,
    notes: &mut Vec<String>,
) -> Result<Vec<OpenMember>, RecordError> {
    // One that was away when it was retired does not know of it.
    let told = members.iter().flat_map(|member| &member.superblock.retired);
    let told: BTreeSet<u16> = told.copied().collect();
    let is_retired = |member: &OpenMember| told.contains(&member.superblock.member_index);
    let (retired, others): (Vec<_>, Vec<_>) = members.into_iter().partition(is_retired);
    match retired.first() {
        Some(first) if mode == Mode::Record || others.is_empty() => {
            let why = "it was retired from its store, and what could be read of it was copied to \
                       the other members: leave it out. `sustain create` makes a new store of it";
            Err(RecordError::member(&first.name, why))
        }
        _ => {
            notes.extend(retired.iter().map(|member| {
                format!(
                    "{} is left out: it was retired from this store, and what could be read of \
                     it was copied to the other members",
                    member.name
                )
            }));
            Ok(others)
        }
    }
}

pub(super) fn unfinished_note(member: &OpenMember, is_under_way: bool) -> String {
    let name = &member.name;
    if is_under_way {
        return format!(
            "{name} is left out: another command is rebuilding a lost member onto it at this moment"
        );
    }
    format!(
        "{name} is left out: it takes the place of a lost member, and its repair was interrupted. \
         Repair the store onto {name} again, which goes on where that ended"
    )
}

pub(super) fn not_a_member(error: SuperblockError) -> String {
    match error {
        SuperblockError::Foreign => "it is not a member of a store, or its beginning and its end \
                                     were overwritten: name the members of one, and leave it out \
                                     to read the others. `sustain create` makes a store, and \
                                     deletes what is there"
            .to_owned(),
        SuperblockError::Damaged => "it was a member of a store, but all four copies of its \
                                     superblock are damaged: leave it out to read the other \
                                     members"
            .to_owned(),
        SuperblockError::Newer { .. } => error.to_string(),
    }
}

/// Checks that all members are of one store, that each is given once, and that they agree on the
/// members of the store.
pub(super) fn check_together(members: &mut [OpenMember]) -> Result<(), RecordError> {
    let first = &members[0];
    let mut others = members.iter();
    if let Some(other) = others.find(|one| one.superblock.store != first.superblock.store) {
        let why = format!(
            "it belongs to store {}, but {} belongs to store {}: name members of one store only",
            other.superblock.store, first.name, first.superblock.store
        );
        return Err(RecordError::member(&other.name, why));
    }
    tables::settle(members)?;
    let mut seen: HashMap<u16, &str> = HashMap::new();
    for member in &*members {
        if let Some(other) = seen.insert(member.superblock.member_index, &member.name) {
            let why = format!("it is the same member as {other}, or a copy of it: leave one out");
            return Err(RecordError::member(&member.name, why));
        }
    }
    Ok(())
}

pub(super) fn has_lost_its_end(member: &OpenMember) -> bool {
    member.target.capacity_bytes.unwrap_or(0) < member.superblock.geometry.member_bytes
}

/// Checks that a member has not become smaller, which loses its end.
pub(super) fn check_size(member: &OpenMember) -> Result<(), RecordError> {
    if !has_lost_its_end(member) {
        return Ok(());
    }
    let why = shrunk_words(member);
    let way = match member.superblock.has_parity() {
        true => format!(
            "leave it out, and rebuild it with `sustain repair`, the other members and {}",
            ONTO.to(&member.name)
        ),
        false => "create a new store".to_owned(),
    };
    Err(RecordError::member(
        &member.name,
        format!("{why}. Make it as large as before, or {way}"),
    ))
}

fn shrunk_words(member: &OpenMember) -> String {
    format!(
        "it has become smaller since the store was created: {} instead of {}",
        Size(member.target.capacity_bytes.unwrap_or(0)),
        Size(member.superblock.geometry.member_bytes)
    )
}

/// What a member that has become smaller has lost. Nothing of a recording lies further out than the
/// slots in which opening looks for more.
pub(super) fn end_words(member: &OpenMember, next_slot_serial: u64) -> String {
    let geometry = &member.superblock.geometry;
    let capacity_bytes = member.target.capacity_bytes.unwrap_or(0);
    let kept_bytes = capacity_bytes.saturating_sub(geometry.first_slot_offset_bytes);
    let kept_slots = kept_bytes / u64::from(geometry.slot_bytes);
    let looked_at = next_slot_serial.saturating_add(PATIENCE_SLOTS);
    let lost = if looked_at.max(member.superblock.slots_begun) <= kept_slots {
        "nothing had been recorded beyond that"
    } else if member.superblock.has_parity() {
        "what was recorded beyond that is computed from the others, where parity protects it"
    } else {
        "whatever was recorded beyond that is lost"
    };
    format!("{}: {}; {lost}", member.name, shrunk_words(member))
}

/// Why a store cannot be written to without these members. `left_out` says in words why some that
/// were named count as missing.
pub(super) fn incomplete(
    missing: &[Missing],
    members: &[OpenMember],
    left_out: &[String],
) -> RecordError {
    let table = &members[0].superblock;
    let (are, them) = match missing.len() {
        1 => ("is", "it"),
        _ => ("are", "them"),
    };
    let parities = parities_of(members);
    let meanwhile = match missing.len() <= usize::from(parities) {
        // So few do not know by themselves what a crash has taken from them.
        true if members.len() <= usize::from(parities) => format!(
            "If the last recording ended in order, `sustain record` with {} records over the \
             others meanwhile",
            DEGRADED.flag()
        ),
        true => format!(
            "`sustain record` with {} records over the others meanwhile",
            DEGRADED.flag()
        ),
        false if parities > 0 => format!(
            "{} goes on without {parities} at most. To record meanwhile, use another store",
            DEGRADED.flag()
        ),
        false => "To record meanwhile, use another store".to_owned(),
    };
    let repair = match table.has_parity() {
        true => format!(
            ". `sustain repair` with the others rebuilds a lost one on a new disk with {}. Without \
             {}, it spreads what the lost one had over the others for good, and the store is \
             complete without it",
            ONTO.flag(),
            ONTO.flag()
        ),
        false => String::new(),
    };
    let retired = members.iter().map(|member| member.superblock.retired.len());
    let count = table.members.len() - retired.max().unwrap_or(0);
    let left_out: String = left_out.iter().map(|words| format!("{words}. ")).collect();
    RecordError::Incomplete(format!(
        "{left_out}writing to a store needs all of its {count} members, and {} {are} missing: \
         name {them}, or plug {them} in. What is on the others can be read without {them}. \
         {meanwhile}{repair}",
        numbered(missing)
    ))
}
