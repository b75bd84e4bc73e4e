//! What a target has of a lost member before a repair onto it begins.

use sustain_disk::clock::Clock;
use sustain_disk::target::Direction;
use sustain_host::Roots;

use super::candidate::candidates;
use super::open::open_in_time;
use super::read_members::read_members;
use super::{Mode, OpenMember, Store};
use crate::error::RecordError;
use crate::format::Superblock;

/// What a target has of a lost member, if anything.
#[derive(Default)]
pub(super) struct BegunMember {
    /// The lost member itself, or what an interrupted repair has left: a repair goes on with it.
    pub(super) goes_on: Option<OpenMember>,
    /// The superblock of the lost member, with something behind it that does not go together with
    /// what the others have.
    pub(super) apart: Option<Superblock>,
}

impl Store {
    /// The lost member that is on a target, or a new one in its place that an interrupted repair
    /// has left there, with which a repair goes on.
    pub(super) fn begun_before(
        &self,
        name: &str,
        roots: &Roots,
    ) -> Result<BegunMember, RecordError> {
        let begun = member_on(name, roots).filter(|begun| self.lacks(begun));
        match begun {
            None => Ok(BegunMember::default()),
            Some(begun) if self.has_recorded_apart(&begun, roots)? => Ok(BegunMember {
                apart: Some(begun.superblock),
                ..BegunMember::default()
            }),
            begun => Ok(BegunMember {
                goes_on: begun,
                ..BegunMember::default()
            }),
        }
    }

    /// Whether a missing member has recorded without those that are there, or these tell of others
    /// in its place, so that not all of both could be read together: it can only be made anew,
    /// which has to be allowed.
    fn has_recorded_apart(&self, begun: &OpenMember, roots: &Roots) -> Result<bool, RecordError> {
        if begun.superblock.is_being_repaired {
            return Ok(false);
        }
        let there = self.members.iter().filter(|member| member.is_there());
        let names = there.chain([begun]).map(|member| member.name.clone());
        let mut all = Store::open(names, Mode::Read, roots)?;
        let is_left_out = |all: &Store| {
            let mut missing = all.not_given().into_iter();
            missing.any(|one| one.member == begun.superblock.member)
        };
        match all.recordings() {
            Ok(_) => Ok(is_left_out(&all)),
            Err(RecordError::RecordedApart { .. }) => Ok(true),
            Err(error) => Err(error),
        }
    }

    /// Whether a member is one that is missing.
    pub(super) fn lacks(&self, member: &OpenMember) -> bool {
        let mut missing = self.not_given().into_iter();
        member.superblock.store == self.id
            && missing.any(|missing| missing.member == member.superblock.member)
    }
}

/// The member of a store that is there already: a repair was begun on it before, or it is one that
/// was lost.
fn member_on(name: &str, roots: &Roots) -> Option<OpenMember> {
    let names = [name.to_owned()];
    let candidate = candidates(&names, Direction::Read, roots).ok()?.pop()?;
    let (target, _) = open_in_time(candidate, Mode::Read, roots).ok()?;
    let found = read_members(vec![(target, None)], Mode::Read, &[], &Clock::Real);
    let begun = found.ok()?.pop()?;
    Some(begun)
}
