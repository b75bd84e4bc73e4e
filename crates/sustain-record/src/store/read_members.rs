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
        .collect()
}

/// Reads the superblocks of members. Each may be refused.
fn read_each(
    targets: Vec<(Target, Option<SimulatedTarget>)>,
    mode: Mode,
    machines: &[SharedMachine],
    clock: &Clock,
) -> Result<Vec<Result<OpenMember, RecordError>>, RecordError> {
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
            let superblock = finding.superblock.map_err(|error| {
                let why = match finding.unreadable {
                    Some(errno) => format!("its superblock cannot be read: {errno}"),
                    None => not_a_member(error),
                };
                RecordError::member(&target.name, why)
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
    for read in read_each(targets, mode, machines, clock)? {
        match read {
            Ok(member) => members.push(member),
            Err(error) if may_miss == MayMiss::WhatParityReplaces => absent.push(error),
            Err(error) => return Err(error),
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
