//! Reads the superblocks of targets, which tell whether they are members.

use sustain_disk::clock::Clock;
use sustain_disk::engine::{SharedMachine, SimulatedTarget};
use sustain_disk::target::Target;

use super::access::io_over;
use super::degraded::MayMiss;
use super::member_checks::not_a_member;
use super::{Mode, OpenMember, superblocks};
use crate::error::RecordError;

/// Reads the superblocks of targets that have to be members.
///
/// # Errors
/// Why the first one is none.
pub(super) fn read_members(
    targets: Vec<(Target, Option<SimulatedTarget>)>,
    mode: Mode,
    machines: &[SharedMachine],
    clock: &Clock,
) -> Result<Vec<OpenMember>, RecordError> {
    read_each(targets, mode, machines, clock)?
        .into_iter()
        .map(|read| read.map_err(|refused| refused.why(mode)))
        .collect()
}

/// A target that is no member.
struct RefusedMember {
    name: String,
    why: String,
    /// Whether it cannot be read, so that it may be one all the same.
    is_unreadable: bool,
}

impl RefusedMember {
    fn why(self, mode: Mode) -> RecordError {
        let why = match self.is_unreadable && mode == Mode::Read {
            true => format!("{}. To read the other members, leave it out", self.why),
            false => self.why,
        };
        RecordError::member(&self.name, why)
    }
}

/// Reads the superblocks of members. Each may be refused.
fn read_each(
    targets: Vec<(Target, Option<SimulatedTarget>)>,
    mode: Mode,
    machines: &[SharedMachine],
    clock: &Clock,
) -> Result<Vec<Result<OpenMember, RefusedMember>>, RecordError> {
    let borrowed: Vec<_> = targets
        .iter()
        .map(|(target, simulated)| (target, *simulated))
        .collect();
    let mut io = io_over(&borrowed, mode, machines, clock)?;
    let capacities: Vec<u64> = targets
        .iter()
        .map(|(target, _)| target.capacity_bytes.unwrap_or(0))
        .collect();
    let findings = superblocks::read(&mut io, &capacities);
    io.check_engine()?;
    let read = targets
        .into_iter()
        .zip(findings)
        .map(|((target, simulated), finding)| {
            let superblock = finding.superblock.map_err(|error| RefusedMember {
                name: target.name.clone(),
                why: match finding.unreadable {
                    Some(errno) => format!("its superblock cannot be read: {errno}"),
                    None => not_a_member(error),
                },
                is_unreadable: finding.unreadable.is_some(),
            })?;
            Ok(OpenMember {
                name: target.name.clone(),
                target,
                simulated,
                passthrough: None,
                superblock,
                rebuilt: None,
                groups: None,
            })
        });
    Ok(read.collect())
}

/// Reads the superblocks of the members that were named. Returns in words why some count as
/// missing, those that are `absent` first, if that is allowed.
///
/// # Errors
/// Why one is refused that may not be missing, or the first of all.
pub(super) fn read_named(
    targets: Vec<(Target, Option<SimulatedTarget>)>,
    (mode, may_miss): (Mode, MayMiss),
    mut absent: Vec<RecordError>,
    (machines, clock): (&[SharedMachine], &Clock),
) -> Result<(Vec<OpenMember>, Vec<String>), RecordError> {
    let mut members = Vec::new();
    let all = read_each(targets, mode, machines, clock)?;
    // Who reads gets from the others what parity gives of one that cannot be read.
    let has_parity = |read: &Result<OpenMember, RefusedMember>| {
        read.as_ref().is_ok_and(|one| one.superblock.has_parity())
    };
    let may_lack_unreadable = mode == Mode::Read && all.iter().any(has_parity);
    for read in all {
        match read {
            Ok(member) => members.push(member),
            Err(refused) => {
                let is_absent = may_miss == MayMiss::WhatParityReplaces
                    || refused.is_unreadable && may_lack_unreadable;
                match is_absent {
                    true => absent.push(RecordError::member(&refused.name, refused.why)),
                    false => return Err(refused.why(mode)),
                }
            }
        }
    }
    let left_out = absent.iter().map(left_out_words).collect();
    if members.is_empty() {
        let none = || RecordError::Usage("no members were given".to_owned());
        return Err(absent.into_iter().next().unwrap_or_else(none));
    }
    Ok((members, left_out))
}

/// Why a member that was named counts as missing.
fn left_out_words(error: &RecordError) -> String {
    match error {
        RecordError::Member { member, why } => format!("{member} is left out: {why}"),
        other => other.to_string(),
    }
}
