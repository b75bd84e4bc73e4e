//! The members of a store that are missing, where parity protects what they had: they are added to
//! the members that are there, to be read through these.

mod crashed;
mod displaced_members;
mod followed;
mod lacking_members;
mod pins;

use std::sync::Arc;

use sustain_disk::target::{Target, TargetKind};
use sustain_disk::units::Size;

use super::groups::{StoreGroups, StoreTail};
use super::member_checks::check_size;
use super::retired::retired_words;
use super::{Missing, Mode, OpenMember, Store};
use crate::error::RecordError;
use crate::format::{BLOCK_BYTES, Geometry, Pin, Superblock};
use crate::opening::{Opening, Recording};
use crate::rebuilt::{Computed, Crashed, RebuiltLook, RebuiltMember, Source, computed};
use crate::walk::AppendIdentity;

impl Store {
    /// The members that were not given and are not retired, whether or not what they had can be
    /// computed.
    pub fn not_given(&self) -> Vec<Missing> {
        let rebuilt = self.members.iter().filter(|member| !member.is_there());
        let rebuilt = rebuilt.filter(|member| !self.is_retired(member.index()));
        let rebuilt = rebuilt.map(|member| Missing {
            index: member.index(),
            member: member.superblock.member,
        });
        let mut all: Vec<Missing> = self.missing.iter().copied().chain(rebuilt).collect();
        all.sort_by_key(|missing| missing.index);
        all
    }

    /// Refuses members that have become smaller and so lost their end, which nothing can be written
    /// to.
    ///
    /// # Errors
    /// The error names the first one, and the way to rebuild it.
    pub fn check_sizes(&self) -> Result<(), RecordError> {
        let mut there = self.members.iter().filter(|member| member.is_there());
        there.try_for_each(check_size)
    }

    /// Prepares a store with parity for reading what its members lack. `known` are the members that
    /// were added when it was opened before.
    pub(super) fn use_parity(&mut self, known: Vec<OpenMember>) -> Result<(), RecordError> {
        let Some(table) = self.table_of_parity().filter(|_| self.mode == Mode::Read) else {
            return Ok(());
        };
        let groups = Arc::new(self.groups_of(&table));
        self.add_rebuilt(&table, &groups, known)?;
        for member in &mut self.members {
            member.groups = Some(Arc::clone(&groups));
        }
        Ok(())
    }

    /// The newest superblock that tells of parity, if the store has ever had any.
    fn table_of_parity(&self) -> Option<Superblock> {
        let tables = self.members.iter().map(|member| &member.superblock);
        let with_parity = tables.filter(|table| table.has_parity());
        with_parity.max_by_key(|table| table.generation).cloned()
    }

    /// The groups on the members that are there.
    fn groups_of(&self, table: &Superblock) -> StoreGroups {
        let tails = self.members.iter().zip(&self.tails);
        let tails = tails.map(|(member, tail)| StoreTail::of(member, tail));
        let machines = (self.machines.as_slice(), &self.clock);
        StoreGroups::of(&self.members, tails.collect(), table, machines)
    }

    /// Adds what can be computed of the members that are missing. `known` are those that were added
    /// when the store was opened before.
    fn add_rebuilt(
        &mut self,
        table: &Superblock,
        groups: &StoreGroups,
        known: Vec<OpenMember>,
    ) -> Result<(), RecordError> {
        if self.missing.is_empty() && self.retired.is_empty() {
            return Ok(());
        }
        let rebuilt = self.rebuilt_now(table, groups, known)?;
        if rebuilt.is_empty() {
            return Ok(());
        }
        let is_rebuilt =
            |missing: &Missing| rebuilt.iter().any(|member| member.index() == missing.index);
        self.missing.retain(|missing| !is_rebuilt(missing));
        let opened = self.openings.drain(..);
        let mut all: Vec<(OpenMember, Opening)> = self.members.drain(..).zip(opened).collect();
        all.extend(rebuilt.into_iter().map(|member| {
            let opening = Opening::new(&member.superblock);
            (member, opening)
        }));
        all.sort_by_key(|(member, _)| member.index());
        (self.members, self.openings) = all.into_iter().unzip();
        self.tails = self.ask(Opening::tail)?;
        Ok(())
    }

    /// Looks through the members that are there for what they tell of the missing ones.
    fn look_for_rebuilt(
        &mut self,
        table: &Superblock,
        groups: &StoreGroups,
    ) -> Result<Vec<OpenMember>, RecordError> {
        let why = match self.missing.len() {
            0 => "a member was retired, and what it had is read from copies".to_owned(),
            1 => "a member is missing, and is computed from the others".to_owned(),
            count => format!("{count} members are missing, and are computed from the others"),
        };
        let begun_at = self.clock.now();
        let found = groups.find(&why)?;
        let computed = Arc::new(computed(&found, &self.are_there(), &Crashed::default()));
        let look = Arc::new(RebuiltLook {
            state: self.looked_state(),
            seen_sequence: self.seen_sequence(),
            ended_at: self.clock.now(),
            took_ns: self.clock.now().since_ns(begun_at),
            whole_appends: computed.appends(),
            computed,
        });
        let mut rebuilt = Vec::new();
        for missing in self.not_there() {
            let Some(geometry) = groups.geometry(missing.index) else {
                continue;
            };
            let pins = self.pins_of_missing(missing, (geometry, &[]), &found)?;
            let pins = pins.table(&[], geometry.slot_count);
            if let Some(member) = self.rebuilt(table, missing, (geometry, pins), &look) {
                let words = match self.is_retired(missing.index) {
                    true => retired_words(missing, &look.computed),
                    false => Some(self.rebuilt_words(missing, &look.computed)),
                };
                self.notes.extend(words);
                rebuilt.push(member);
            }
        }
        Ok(rebuilt)
    }

    /// A missing member, if anything of it can be computed.
    fn rebuilt(
        &self,
        table: &Superblock,
        missing: Missing,
        (geometry, pins): (Geometry, Vec<Pin>),
        look: &Arc<RebuiltLook>,
    ) -> Option<OpenMember> {
        let identity = AppendIdentity {
            store: self.id,
            member: missing.member,
            geometry,
        };
        let sources = self.members.iter().map(source_of);
        let identity = (identity, &pins[..]);
        let computed = &look.computed;
        let rebuilt = RebuiltMember::new(identity, sources.collect(), computed, missing.index)
            .found_by(Arc::clone(look));
        let newest_serial = rebuilt.newest_serial()?;
        let whence = match self.is_retired(missing.index) {
            true => "retired",
            false => "computed from the others",
        };
        let name = format!("member {} ({whence})", missing.index + 1);
        Some(OpenMember {
            target: Target {
                name: name.clone(),
                kind: TargetKind::Simulated,
                file: None,
                capacity_bytes: Some(geometry.member_bytes),
                alignment_bytes: BLOCK_BYTES as u32,
                device: None,
                lock: None,
            },
            name,
            simulated: None,
            passthrough: None,
            groups: None,
            superblock: Superblock {
                member: missing.member,
                member_index: missing.index as u16,
                geometry,
                has_ended: false,
                end_slot: None,
                slots_begun: newest_serial.saturating_add(1),
                pins,
                first_recording: 0,
                ..table.clone()
            },
            rebuilt: Some(Arc::new(rebuilt)),
        })
    }

    fn rebuilt_words(&self, missing: Missing, computed: &Computed) -> String {
        let Missing { index, member } = missing;
        let beyond = match computed.beyond_bytes.get(&index) {
            None => String::new(),
            Some(bytes) => format!(
                ". Of at least {} this is not possible, because more of their groups is missing \
                 than parity replaces: `sustain verify` names the bytes, of which `sustain list` \
                 counts only a part",
                Size(*bytes)
            ),
        };
        format!(
            "member {} of {} is missing (UUID {member}): what it had is computed from the others, \
             where parity protects it{beyond}",
            index + 1,
            self.member_count()
        )
    }

    /// End marks are not computed. Of a recording that has one elsewhere, what is computed goes as
    /// far as the member went.
    pub(super) fn note_ends_of_rebuilt(&self, recordings: &mut [Recording]) {
        for member in &self.members {
            let ended = recordings
                .iter_mut()
                .filter(|recording| !recording.open_end);
            let extents =
                ended.filter_map(|recording| recording.per_member[member.index()].as_mut());
            for extent in extents.filter(|extent| member.is_computed_at(extent.last.slot_serial)) {
                extent.has_end = true;
            }
        }
    }
}

/// A member that is there, to compute others from.
fn source_of(member: &OpenMember) -> Source {
    Source {
        member: member.index(),
        target: member.target.clone(),
        simulated: member.simulated,
    }
}
