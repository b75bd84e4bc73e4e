//! Reads and writes of members, one at a time or a few at once: the access by which stores are
//! opened, listed, read and changed outside a recording.

use sustain_disk::clock::Clock;
use sustain_disk::engine::{SharedMachine, SimulatedTarget};
use sustain_disk::target::Target;

use super::{Mode, OpenMember};
use crate::error::RecordError;
use crate::member_io::{GIVEN_UP_AFTER_NS, MemberIo};
use crate::rebuilt::{Driven, DrivenMember};

/// Opens single reads and writes of members.
pub(super) fn io(
    members: &[OpenMember],
    mode: Mode,
    machines: &[SharedMachine],
    clock: &Clock,
) -> Result<MemberIo, RecordError> {
    let driven: Vec<DrivenMember<'_>> = members.iter().map(OpenMember::driven).collect();
    let names = members.iter().map(|member| member.name.clone());
    let io = MemberIo::open_driven(Driven::of(&driven), names.collect(), machines, clock)?;
    Ok(within_patience(io, mode))
}

/// Opens reads of members, and beside them, as the last one, reads and writes of a target that is
/// to be another one.
pub(super) fn io_beside(
    members: &[OpenMember],
    beside: DrivenMember<'_>,
    name: &str,
    machines: &[SharedMachine],
    clock: &Clock,
) -> Result<MemberIo, RecordError> {
    let mut driven: Vec<DrivenMember<'_>> = members.iter().map(OpenMember::driven).collect();
    driven.push(beside);
    let names = members.iter().map(|member| member.name.clone());
    let names = names.chain([name.to_owned()]).collect();
    let io = MemberIo::open_driven(Driven::of(&driven), names, machines, clock)?;
    Ok(within_patience(io, Mode::Record))
}

/// Opens single reads and writes of targets that may become members. Either all of them are
/// simulated, or none is.
pub(super) fn io_over(
    targets: &[(&Target, Option<SimulatedTarget>)],
    mode: Mode,
    machines: &[SharedMachine],
    clock: &Clock,
) -> Result<MemberIo, RecordError> {
    let simulated: Option<Vec<SimulatedTarget>> =
        targets.iter().map(|(_, simulated)| *simulated).collect();
    let io = match simulated {
        Some(simulated) => MemberIo::open_simulated(machines, &simulated, clock)?,
        None => {
            let files: Vec<&Target> = targets.iter().map(|(target, _)| *target).collect();
            MemberIo::open(&files)?
        }
    };
    Ok(within_patience(io, mode))
}

fn within_patience(io: MemberIo, mode: Mode) -> MemberIo {
    match mode {
        Mode::Read => io,
        Mode::Record => io.given_up_after(GIVEN_UP_AFTER_NS),
    }
}
