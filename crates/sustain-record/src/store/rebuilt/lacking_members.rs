//! Members of a store with parity that are there and lack what they were given last: they failed
//! while they were recorded to, or an earlier state of them was put back. What they lack is
//! computed from the others, and read as if they had it.

use std::sync::Arc;

use sustain_document::setting::ONTO;

use super::crashed::WHY;
use super::source_of;
use crate::error::RecordError;
use crate::format::Kind;
use crate::opening::{MemberTail, Opening, Recording, StreamExtent};
use crate::rebuilt::{Crashed, FoundGroups, RebuiltMember, computed};
use crate::store::{OpenMember, Store, is_full};

impl Store {
    /// Adds what members lack, if these recordings show that some may. Returns whether anything was
    /// added.
    pub(in crate::store) fn add_what_members_lack(
        &mut self,
        recordings: &[Recording],
    ) -> Result<bool, RecordError> {
        let Some((found, crashed)) = self.look_for_lacking(recordings)? else {
            return Ok(false);
        };
        if self.leave_out_displaced(&found)? {
            return Ok(true);
        }
        let old = self.old_without_parity(recordings, &found, &crashed);
        let lacking = found.members_that_lack(&crashed);
        let old = old.into_iter().filter(|member| !lacking.contains(member));
        let members = old.filter_map(|old| self.members.iter().find(|one| one.index() == old));
        let notes = members.map(|member| {
            format!(
                "{} has an old state: parity that it was given since is not there, so that some of \
                 what was recorded is protected against fewer losses. `sustain repair` with the \
                 other members and {} makes it again",
                member.name,
                ONTO.to(&member.name)
            )
        });
        let notes: Vec<String> = notes.collect();
        self.notes.extend(notes);
        self.add_lacking(&found, &crashed)
    }

    /// Whether members may lack something of what pins keep that was not looked for yet.
    pub(in crate::store) fn may_look_for_pins(&self) -> bool {
        let has_groups = self.members.iter().any(|member| member.groups.is_some());
        has_groups && !self.was_written && !self.has_looked_for_pins
    }

    /// Adds what members lack of what pins keep.
    pub(in crate::store) fn add_what_pin_lacks(&mut self) -> Result<(), RecordError> {
        self.has_looked_for_pins = true;
        let groups = self.members.iter().find_map(|member| member.groups.clone());
        let Some(groups) = groups else {
            return Ok(());
        };
        let recordings = self.recordings()?;
        let found = groups.find(WHY)?;
        let crashed = self.crashed(&recordings, &groups, &found)?;
        self.add_lacking(&found, &crashed)?;
        Ok(())
    }

    /// Returns whether anything was added.
    fn add_lacking(&mut self, found: &FoundGroups, crashed: &Crashed) -> Result<bool, RecordError> {
        let mut lacking = found.members_that_lack(crashed);
        lacking.extend(found.members_with_gone_slots(crashed));
        if lacking.is_empty() {
            return Ok(false);
        }
        let computed = computed(found, &self.are_there(), crashed);
        let sources: Vec<&OpenMember> = self
            .members
            .iter()
            .filter(|member| member.rebuilt.is_none())
            .collect();
        let sources: Vec<_> = sources.into_iter().map(source_of).collect();
        let generations = self
            .members
            .iter()
            .map(|member| member.superblock.generation);
        let newest_generation = generations.max().unwrap_or(0);
        let mut has_changed = false;
        for position in 0..self.members.len() {
            let member = &self.members[position];
            let index = member.index();
            if member.rebuilt.is_some() || !lacking.contains(&index) {
                continue;
            }
            let own = sources.iter().position(|source| source.member == index);
            let last = self.tails[position].last.as_ref().map(|last| {
                let start_bytes = member.superblock.geometry.offset_of(last.place);
                (last.place, start_bytes + u64::from(last.append_bytes))
            });
            let is_old = member.superblock.generation < newest_generation;
            // An old state does not know where it was given what a pin keeps.
            let pins = match is_old {
                true => self.pins_of_old(position, found)?,
                false => member.superblock.pins.clone(),
            };
            let identity = (member.identity(), &pins[..]);
            let rebuilt = RebuiltMember::new(identity, sources.clone(), &computed, index);
            let (Some(newest_serial), Some(own)) = (rebuilt.newest_serial(), own) else {
                continue;
            };
            let slots_begun = member.superblock.slots_begun.max(newest_serial + 1);
            self.notes.push(format!(
                "{} does not have all that it was given: the rest is computed from the others, \
                 where parity protects it",
                member.name
            ));
            let member = &mut self.members[position];
            member.rebuilt = Some(Arc::new(rebuilt.beside_own(own, last)));
            let superblock = &mut member.superblock;
            superblock.slots_begun = slots_begun;
            superblock.pins = pins;
            // What an old state tells of its last end says nothing of what came since.
            if is_old {
                superblock.has_ended = false;
                superblock.end_slot = None;
            }
            self.openings[position] = Opening::new(&member.superblock);
            has_changed = true;
        }
        if has_changed {
            self.tails = self.ask(Opening::tail)?;
        }
        Ok(has_changed)
    }

    /// Looks for the groups and for what crashes took, once, if members may lack anything.
    fn look_for_lacking(
        &mut self,
        recordings: &[Recording],
    ) -> Result<Option<(Arc<FoundGroups>, Crashed)>, RecordError> {
        let Some(groups) = self.members.iter().find_map(|member| member.groups.clone()) else {
            return Ok(None);
        };
        // Whoever gave a member up that does not answer keeps the store locked behind the end of
        // its recording, for as long as the kernel keeps its requests.
        let is_running = self.was_written && recordings.iter().any(|one| one.open_end);
        if self.has_looked_for_lacking || is_running {
            return Ok(None);
        }
        self.has_looked_for_lacking = true;
        self.found_of_lacking(recordings, &groups)
    }

    /// Finds the members that lack what an earlier recording gave them, before another one begins.
    /// They get nothing of it: it would lie where that is to be read, as computed from the others.
    pub(in crate::store) fn leave_alone_what_lacks(&mut self) -> Result<(), RecordError> {
        let Some(table) = self.table_of_parity() else {
            return Ok(());
        };
        // Where its parts have recorded apart, nothing of what would come could be read.
        let recordings = self.recordings()?;
        let groups = self.groups_of(&table);
        let Some((found, crashed)) = self.found_of_lacking(&recordings, &groups)? else {
            return Ok(());
        };
        self.left_alone = found.members_that_lack(&crashed);
        self.left_alone.extend(&found.displaced);
        self.left_alone
            .extend(self.old_without_parity(&recordings, &found, &crashed));
        let are_replaced = self.left_alone.len() <= usize::from(self.parities());
        let why = match are_replaced {
            true => "so that this can still be computed from the others",
            false => "so that what can be computed of this from the others still can be",
        };
        for member in &self.members {
            if self.left_alone.contains(&member.index()) {
                self.notes.push(format!(
                    "{} does not have all that an earlier recording gave it. Nothing is recorded \
                     on it, {why}. To use it again, repair it: `sustain repair` with the other \
                     members and {}",
                    member.name,
                    ONTO.to(&member.name)
                ));
            }
        }
        if !are_replaced {
            self.notes.push(self.few_left_words());
        }
        Ok(())
    }

    /// What to say where more members lack something than parity replaces.
    fn few_left_words(&self) -> String {
        let taking = self.members.len() - self.left_alone.len();
        let goes_to = match taking {
            1 => "one member alone, and nothing protects it".to_owned(),
            2 => "the 2 others, and is protected from the loss of one at most".to_owned(),
            taking => format!("the {taking} others"),
        };
        format!(
            "{} of the {} members lack something, and parity replaces only {}, so some of it may \
             be lost: `sustain verify` tells what. What is recorded now goes to {goes_to}",
            self.left_alone.len(),
            self.members.len(),
            self.parities()
        )
    }

    /// The members with an old state that may lack parity. No list names the members of parity, so
    /// what does not come from an old state is not told from parity that was never made.
    fn old_without_parity(
        &self,
        recordings: &[Recording],
        found: &FoundGroups,
        crashed: &Crashed,
    ) -> Vec<usize> {
        let generations = self.members.iter().map(|one| one.superblock.generation);
        let newest = generations.max().unwrap_or(0);
        let members = self.members.iter().zip(&self.tails);
        let old = members.filter(|(member, _)| member.superblock.generation < newest);
        let old = old.filter(|(member, tail)| !got_nothing_since(member, tail, recordings));
        let absent_in = |index: usize| {
            let absent = recordings.iter().filter(|one| one.was_absent(index));
            absent.map(|one| one.number).collect()
        };
        let lacking = old.filter(|(member, tail)| {
            let index = member.index();
            found.may_lack_parity((index, tail.max_sequence), &absent_in(index), crashed)
        });
        lacking.map(|(member, _)| member.index()).collect()
    }

    /// Whether there is any member on which nothing may be recorded.
    pub(crate) fn leaves_any_alone(&self) -> bool {
        !self.left_alone.is_empty()
    }

    /// Whether nothing may be recorded on a member, because it lacks what it was given before.
    pub(crate) fn is_left_alone(&self, member: &OpenMember) -> bool {
        self.left_alone.contains(&member.index())
    }

    /// Whether some member that is there may lack a part of one of these recordings: it has no end
    /// mark of one that has ended, has lost the beginning of one, is older than the others, or was
    /// behind; or bytes of one are on no member.
    pub(super) fn may_lack(&self, recordings: &[Recording]) -> bool {
        let there = || {
            self.members
                .iter()
                .filter(|member| member.rebuilt.is_none())
        };
        let generations = there().map(|member| member.superblock.generation);
        let newest = generations.max().unwrap_or(0);
        let is_old = |member: &OpenMember| member.superblock.generation < newest;
        let extents = |recording: &Recording| {
            let extent = |member: &OpenMember| {
                let extent = recording
                    .per_member
                    .get(member.index())
                    .copied()
                    .flatten()?;
                Some((extent, member.is_computed_at(extent.first.slot_serial)))
            };
            there().filter_map(extent).collect::<Vec<_>>()
        };
        let lacks_end = |(extent, _): &(StreamExtent, bool)| !extent.has_end;
        // What was computed before may lack a start.
        let lacks_beginning = |(extent, is_computed): &(StreamExtent, bool)| {
            extent.lost_first.is_some() && !is_computed
        };
        let mut ended = recordings
            .iter()
            .filter(|recording| !recording.is_crashed());
        let lacks_any = |recording: &Recording| {
            let extents = extents(recording);
            let mut lacking = extents.iter();
            lacking.any(|one| lacks_end(one) || lacks_beginning(one)) || recording.lacks_durable()
        };
        let is_behind = |member: &OpenMember| {
            let mut superblocks = self.members.iter().map(|member| &member.superblock);
            superblocks.any(|one| one.behind.contains(&member.superblock.member_index))
        };
        there().any(|member| is_old(member) || is_behind(member)) || ended.any(lacks_any)
    }
}

/// Whether nothing can have been given to a member behind its last append: that is an end mark in
/// its last slot, and no ring came later.
fn got_nothing_since(member: &OpenMember, tail: &MemberTail, recordings: &[Recording]) -> bool {
    let Some(last) = tail.last.as_ref().filter(|last| last.kind == Kind::End) else {
        return false;
    };
    let is_later_ring = |one: &Recording| one.ring && one.number > last.recording;
    is_full(member, tail) && !recordings.iter().any(is_later_ring)
}
