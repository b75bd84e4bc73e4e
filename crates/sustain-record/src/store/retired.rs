//! Members that were retired: nobody misses them, and what they had is read from copies.

use std::path::Path;

use sustain_disk::units::Size;
use sustain_host::Roots;
use sustain_targets::RecordersBeside;
use uuid::Uuid;

use super::groups::{StoreGroups, StoreTail};
use super::{Missing, Mode, OpenMember, Renewal, Store, access, superblocks};
use crate::error::RecordError;
use crate::member_io::MemberIo;
use crate::rebuilt::Computed;

impl Store {
    /// Whether a member, by its place in the table, was retired.
    pub(crate) fn is_retired(&self, member: usize) -> bool {
        self.retired.iter().any(|retired| retired.index == member)
    }

    /// Whether any member was retired.
    pub(crate) fn has_retired_members(&self) -> bool {
        !self.retired.is_empty()
    }

    /// Whether no member is missing. Nobody misses those that were retired.
    pub fn has_all_members(&self) -> bool {
        let mut members = self.members.iter();
        self.missing.is_empty()
            && members.all(|member| member.is_there() || self.is_retired(member.index()))
    }

    /// The place in the table of the member that is meant by a name as typed, by its number from 1,
    /// or by its UUID.
    ///
    /// # Errors
    /// [`RecordError::Usage`] if none is meant, or one that was retired.
    pub fn member_named(&self, typed: &str) -> Result<usize, RecordError> {
        let mut there = self.members.iter();
        if let Some(member) = there.find(|member| member.is_there() && member.name == typed) {
            return Ok(member.index());
        }
        let table = &self.members[0].superblock.members;
        let number = typed
            .parse::<usize>()
            .ok()
            .and_then(|number| number.checked_sub(1));
        let numbered = number.filter(|index| *index < table.len());
        let uuid = Uuid::parse_str(typed).ok();
        let found = uuid.and_then(|uuid| table.iter().position(|member| *member == uuid));
        let meant = numbered.or(found).filter(|index| !self.is_retired(*index));
        meant.ok_or_else(|| {
            RecordError::Usage(format!(
                "{typed} is no member of the store, or was retired from it already: name one of \
                 the members given, or its UUID, or its number from 1 to {} in the order in which \
                 members were created",
                table.len()
            ))
        })
    }

    /// What was found while nobody held the members must still be so.
    ///
    /// # Errors
    /// [`RecordError::Usage`] if somebody recorded to the store since `read` was opened.
    pub(crate) fn check_is_as_read(&self, read: &Store) -> Result<(), RecordError> {
        let generation = |members: &[OpenMember], index| {
            let mut members = members.iter();
            let member = members.find(|member| member.index() == index);
            member.map(|member| member.superblock.generation)
        };
        let mut indices = self.members.iter().map(OpenMember::index);
        let is_same = |index| generation(&self.members, index) == generation(&read.members, index);
        // Whoever was recording then may have written until the store was opened again.
        if indices.all(is_same) && !read.was_written {
            return Ok(());
        }
        Err(RecordError::Usage(
            "the store was recorded to while it was looked at, and nothing was written: do it \
             again when the recording has ended"
                .to_owned(),
        ))
    }

    /// Whether a ring has gone round on any member that is there.
    pub(crate) fn has_gone_round(&self) -> bool {
        let mut tails = self.members.iter().zip(&self.tails);
        tails.any(|(member, tail)| tail.next_slot_serial > member.superblock.geometry.slot_count)
    }

    /// The groups of a store of which one member, by its place in the table, is to be retired.
    pub(crate) fn groups_to_retire(&self, member: usize) -> StoreGroups {
        let superblocks = self.members.iter().map(|one| &one.superblock);
        let newest = superblocks.max_by_key(|one| one.generation);
        let mut table = newest.expect("an open store has a member").clone();
        table.retired.insert(member as u16);
        let there = self.members.iter().zip(&self.tails);
        let there = there.filter(|(member, _)| member.is_there());
        let (members, tails): (Vec<OpenMember>, Vec<StoreTail>) = there
            .map(|(member, tail)| (member.clone(), StoreTail::of(member, tail)))
            .unzip();
        let machines = (self.machines(), self.clock());
        StoreGroups::of(&members, tails, &table, machines)
    }

    /// Reads and writes of these members, which yield to whoever records on their disks.
    pub(crate) fn io_over(&self, members: &[OpenMember]) -> Result<MemberIo, RecordError> {
        let io = access::io(members, Mode::Record, self.machines(), self.clock())?;
        if members.iter().any(|member| member.simulated.is_some()) {
            return Ok(io);
        }
        let there = members.iter().filter(|member| member.is_there());
        let targets = there.map(|member| (&member.target, Some(Path::new(&member.name))));
        Ok(io.yielding_to(RecordersBeside::under(targets, &Roots::default())))
    }

    /// The `slots_begun` of each superblock before copies are written: as before a recording, which
    /// the member that is to be retired has nothing of.
    pub(crate) fn slots_begun_to_retire(&self, member: usize) -> Vec<u64> {
        let begun = self.slots_begun_at_start(false).into_iter();
        let begun = begun
            .zip(&self.members)
            .map(|(begun, one)| match one.index() == member {
                true => one.superblock.slots_begun,
                false => begun,
            });
        begun.collect()
    }

    /// Makes a member a retired one, on all members that are there. `ends` has the places in the
    /// table of the members on which copies were written, and the slots of their end marks.
    ///
    /// # Errors
    /// The same as of [`Store::renew_superblocks`].
    pub(crate) fn tell_retired(
        &mut self,
        member: usize,
        ends: &[(usize, u64)],
    ) -> Result<(), RecordError> {
        let end_of = |one: &OpenMember| {
            let mut ends = ends.iter();
            ends.find(|(member, _)| *member == one.index())
                .map(|(_, slot)| *slot)
        };
        let slots_begun = self
            .members
            .iter()
            .map(|one| end_of(one).map_or(one.superblock.slots_begun, |slot| slot + 1));
        let slots_begun: Vec<u64> = slots_begun.collect();
        let have_end = self.members.iter().map(|one| end_of(one).is_some());
        let have_end: Vec<bool> = have_end.collect();
        for one in &mut self.members {
            one.superblock.retired.insert(member as u16);
            one.superblock.behind.remove(&(member as u16));
        }
        let renewal = match ends.is_empty() {
            true => Renewal::AtRest,
            false => Renewal::Ended(&have_end),
        };
        // That of the member comes last, and it may be one that takes no writes any more.
        let was_left_alone = !self.left_alone.insert(member);
        let renewed = self.renew_superblocks(&slots_begun, renewal);
        if !was_left_alone {
            self.left_alone.remove(&member);
        }
        renewed?;
        self.tell_itself(member)
    }

    /// Writes the superblock of a member that was retired, if it is there.
    fn tell_itself(&mut self, member: usize) -> Result<(), RecordError> {
        let generations = self.members.iter().map(|one| one.superblock.generation);
        let generation = generations.max().unwrap_or(0);
        let mut io = self.io()?;
        let mut members = self.members.iter_mut().enumerate();
        let Some((at, own)) = members.find(|(_, one)| one.index() == member) else {
            return Ok(());
        };
        own.superblock.generation = generation;
        let written = superblocks::write_some(&mut io, &[(at, &own.name, &own.superblock)]);
        if let Err(error) = written {
            let note = format!(
                "{} does not know that it was retired, because it could not be written: {error}. \
                 The other members know",
                own.name
            );
            self.notes.push(note);
        }
        Ok(())
    }

    /// Makes durable what is on the members that stay.
    ///
    /// # Errors
    /// [`RecordError::Request`] if one cannot be flushed; [`RecordError::Engine`].
    pub(crate) fn flush_staying(&self, member: usize) -> Result<(), RecordError> {
        let members = self.members.iter().enumerate();
        let staying = members.filter(|(_, one)| one.index() != member);
        let names: Vec<(usize, &str)> = staying.map(|(at, one)| (at, one.name.as_str())).collect();
        superblocks::write_blocks(&mut self.io()?, &names, &[])
    }
}

/// What is to be said of a retired member where not all that it had can be read; none where it can.
pub(super) fn retired_words(retired: Missing, computed: &Computed) -> Option<String> {
    let bytes = computed.beyond_bytes.get(&retired.index)?;
    Some(format!(
        "member {} was retired, and of {} that it had too many copies are lost: `sustain verify` \
         names the bytes",
        retired.index + 1,
        Size(*bytes)
    ))
}
