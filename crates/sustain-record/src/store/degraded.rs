//! Recording to a store of which members are missing. The others take what comes, and those that
//! are missing are given nothing, so that they lack nothing of it when they are there again.

use std::collections::BTreeSet;

use sustain_document::setting::ONTO;

use super::candidate::MemberCandidate;
use super::{FILE_NAME, Missing, OpenMember, Store};
use crate::error::RecordError;
use crate::opening::Recording;

/// Which members may be missing when a store is opened for recording.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum MayMiss {
    /// None of them.
    #[default]
    Nothing,
    /// This one, by its place in the table, because it is to be retired.
    Retiring(usize),
    /// As many as parity replaces.
    WhatParityReplaces,
}

impl Store {
    /// The places in the table of the members that are missing.
    pub fn absent(&self) -> Vec<u16> {
        self.missing.iter().map(|one| one.index as u16).collect()
    }

    /// Refuses to record to members that may lack something, if only missing ones may know what
    /// that is: what is recorded now would take its place.
    ///
    /// # Errors
    /// [`RecordError::Incomplete`] then; those of [`Store::recordings`].
    pub(super) fn check_missing_are_replaced(&mut self) -> Result<(), RecordError> {
        if self.missing.is_empty() {
            return Ok(());
        }
        let parities = usize::from(self.parities());
        let lacking = self.may_lack_anything();
        if let Some(first) = lacking
            .first()
            .filter(|_| self.missing.len() + lacking.len() > parities)
        {
            let why = format!("{} may lack what was recorded before", first.name);
            return Err(self.known_to_missing(&why));
        }
        // Superblocks say who is behind, but not on those that are.
        if self.members.len() <= parities && self.has_crashed()? {
            let first = &self.members[0].name;
            let why = format!("the last recording on {first} did not end in order there");
            return Err(self.known_to_missing(&why));
        }
        Ok(())
    }

    /// The members that are there and may lack what they were given, as superblocks and groups
    /// tell.
    fn may_lack_anything(&self) -> Vec<&OpenMember> {
        let superblocks = || self.members.iter().map(|member| &member.superblock);
        let newest = superblocks().map(|one| one.generation).max().unwrap_or(0);
        let behind: BTreeSet<u16> = superblocks()
            .flat_map(|one| one.behind.iter().copied())
            .collect();
        let lacks_any = |member: &&OpenMember| {
            member.superblock.generation < newest
                || behind.contains(&member.superblock.member_index)
                || self.is_left_alone(member)
        };
        self.members.iter().filter(lacks_any).collect()
    }

    /// Whether a crash has ended the newest recording, or left nothing of it here.
    fn has_crashed(&mut self) -> Result<bool, RecordError> {
        let recordings = self.recordings()?;
        let newest = recordings.iter().max_by_key(|recording| recording.number);
        let begun = self
            .members
            .iter()
            .map(|member| member.superblock.recordings_begun);
        let is_unknown = begun.max() > Some(newest.map_or(0, |newest| newest.number));
        Ok(is_unknown || newest.is_some_and(Recording::is_crashed))
    }

    fn known_to_missing(&self, why: &str) -> RecordError {
        let (ones, one_of_them) = match self.missing.len() {
            1 => ("one", "that one"),
            _ => ("ones", "one of those"),
        };
        RecordError::Incomplete(format!(
            "{why}, and only the missing {ones}, {}, may know what it lacks: name {one_of_them}, \
             too; or rebuild it first on a new disk, with `sustain repair` and {}",
            numbered(&self.missing),
            ONTO.flag()
        ))
    }
}

/// Sorts out what is named and is not there: its names come first.
pub(super) fn apart_from_absent<'a>(
    candidates: Vec<MemberCandidate<'a>>,
    may_miss: MayMiss,
) -> (Vec<RecordError>, Vec<MemberCandidate<'a>>) {
    if may_miss != MayMiss::WhatParityReplaces {
        return (Vec::new(), candidates);
    }
    let is_absent = |one: &MemberCandidate<'_>| matches!(one.path.try_exists(), Ok(false));
    let (absent, there): (Vec<_>, Vec<_>) = candidates.into_iter().partition(is_absent);
    let absent = absent.into_iter().map(|one| {
        let is_in_directory = one.path.file_name().is_some_and(|name| name == FILE_NAME);
        let why = match is_in_directory {
            true => "this directory holds no member of a store",
            false => "it is not there",
        };
        RecordError::member(one.name, why)
    });
    (absent.collect(), there)
}

/// Whether these may be missing of a store with so much parity.
pub(super) fn is_replaced(missing: &[Missing], parities: u16, may_miss: MayMiss) -> bool {
    may_miss == MayMiss::WhatParityReplaces && missing.len() <= usize::from(parities)
}

/// What is to be said of a store of which these members are missing when it is recorded to, and
/// `there` are not.
pub(super) fn degraded_words(missing: &[Missing], parities: u16, there: usize) -> String {
    let further = usize::from(parities).saturating_sub(missing.len());
    let survives = match further {
        0 => "no further loss".to_owned(),
        1 => "the loss of one more".to_owned(),
        further => format!("the loss of {further} more"),
    };
    let others = match there {
        1 => "the other one".to_owned(),
        there => format!("the other {there}"),
    };
    let (are, them, can, another, their) = match missing.len() {
        1 => (
            "is",
            "it",
            "it can be used again when it is there",
            "another one",
            "its",
        ),
        _ => (
            "are",
            "them",
            "they can be used again when they are there",
            "others",
            "their",
        ),
    };
    format!(
        "{} {are} missing: the recording goes to {others}. Nothing of it is given to {them}, so \
         {can}. What was recorded before survives {survives} until then, or until `sustain repair` \
         puts {another} in {their} place",
        numbered(missing)
    )
}

/// Members as numbered from 1, with their UUIDs.
pub(super) fn numbered(missing: &[Missing]) -> String {
    let list: Vec<String> = missing
        .iter()
        .map(|missing| format!("member {} ({})", missing.index + 1, missing.member))
        .collect();
    list.join(", ")
}
