//! The tables of members on the members of one store, compared. They are alike, unless the power
//! was cut while `create` made them longer, or an earlier state of a member was put back. Pure.

use std::collections::BTreeSet;

use sustain_document::setting::{ADD, DESTROY};

use super::OpenMember;
use crate::error::RecordError;
use crate::format::Superblock;

/// Gives all members the table of the store. Members that are added are put behind those that are
/// there: a shorter table is the beginning of a longer one.
///
/// # Errors
/// [`RecordError::Member`] for a member that does not belong to the others.
pub(super) fn settle(members: &mut [OpenMember]) -> Result<(), RecordError> {
    let superblocks = members.iter().map(|member| &member.superblock);
    let superblocks: Vec<&Superblock> = superblocks.collect();
    let table = table_of(&superblocks);
    let slot_counts = slot_counts_of(&superblocks, &table);
    // A member was retired as soon as any other one says so: all that it had is on others by then.
    let retired = superblocks.iter().flat_map(|one| &one.retired);
    let retired: BTreeSet<u16> = retired.copied().collect();
    let newest = superblocks.iter().map(|one| one.generation).max();
    let newest = superblocks
        .iter()
        .filter(|one| Some(one.generation) == newest);
    let newest: Vec<&&Superblock> = newest.collect();
    let behind = newest.iter().flat_map(|one| one.behind.iter().copied());
    let mut behind: BTreeSet<u16> = behind.collect();
    // One that was repaired is as new as the others, and does not call itself so.
    for own in &newest {
        if !own.behind.contains(&own.member_index) {
            behind.remove(&own.member_index);
        }
    }
    let holders = members
        .iter()
        .filter(|one| one.superblock.members == table.members);
    let holder = holders.map(|one| one.name.clone()).next();
    let holder = holder.unwrap_or_default();
    for member in members {
        let own = &member.superblock;
        if let Some(why) = why_not_of(own, &table, (&member.name, &holder)) {
            return Err(RecordError::member(&member.name, why));
        }
        let superblock = &mut member.superblock;
        if superblock.has_parity() {
            superblock.retired.clone_from(&retired);
            superblock.behind.clone_from(&behind);
        }
        if superblock.members.len() < table.members.len() {
            superblock.members.clone_from(&table.members);
            if superblock.has_parity() {
                superblock.slot_counts.clone_from(&slot_counts);
            }
        }
    }
    Ok(())
}

/// The superblock that tells the table of the store. What is on new members is written first: where
/// no other member knows of one, and nothing was ever recorded on it, it was not added.
fn table_of(superblocks: &[&Superblock]) -> Superblock {
    let lengths = superblocks.iter().map(|one| one.members.len());
    let shortest = lengths.min().unwrap_or(0);
    let is_added =
        |one: &&&Superblock| usize::from(one.member_index) < shortest || one.slots_begun > 0;
    let added = superblocks.iter().filter(is_added);
    let longest = added.max_by_key(|one| one.members.len());
    (*longest.unwrap_or(&superblocks[0])).clone()
}

/// How many slots each member in the table has; 0 where it is not told.
fn slot_counts_of(superblocks: &[&Superblock], table: &Superblock) -> Vec<u64> {
    let mut slot_counts = vec![0; table.members.len()];
    for superblock in superblocks {
        for (known, told) in slot_counts.iter_mut().zip(&superblock.slot_counts) {
            *known = (*known).max(*told);
        }
        let own = slot_counts.get_mut(usize::from(superblock.member_index));
        own.into_iter()
            .for_each(|own| *own = superblock.geometry.slot_count);
    }
    slot_counts
}

/// Why the member of this name does not belong to the store that has this table, as `holder` does.
fn why_not_of(
    own: &Superblock,
    table: &Superblock,
    (name, holder): (&str, &str),
) -> Option<String> {
    let is_listed = table.members.get(usize::from(own.member_index)) == Some(&own.member);
    let begins_alike = table.members.starts_with(&own.members);
    let is_alike = own.geometry.slot_bytes == table.geometry.slot_bytes;
    if is_listed && begins_alike && is_alike {
        return None;
    }
    let was_to_be_added = own.members.starts_with(&table.members) && own.slots_begun == 0;
    Some(match was_to_be_added && is_alike {
        true => format!(
            "it was being added to the store when that was interrupted, and no other member knows \
             of it: leave it out, or add it again with `sustain create MEMBER... {} {name} {} \
             {name}`",
            ADD.flag(),
            DESTROY.flag()
        ),
        false => format!(
            "it and {holder} name different members of the same store: leave out the one that \
             does not belong"
        ),
    })
}
