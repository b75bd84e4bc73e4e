//! What can be computed of missing members of a store that is opened again and again: while it is
//! recorded to, only what came since is looked for.

use std::sync::Arc;

use crate::error::RecordError;
use crate::format::Superblock;
use crate::rebuilt::{Crashed, LookedState, RebuiltLook, computed};
use crate::store::groups::StoreGroups;
use crate::store::{Missing, OpenMember, Store};

const WHY: &str = "a member is missing, and what came lately is computed from the others";

impl Store {
    /// What can be computed of the members that are not there, with those that were known when the
    /// store was opened before.
    pub(super) fn rebuilt_now(
        &mut self,
        table: &Superblock,
        groups: &StoreGroups,
        known: Vec<OpenMember>,
    ) -> Result<Vec<OpenMember>, RecordError> {
        let mut looks = known.iter().filter_map(|one| one.rebuilt.as_ref()?.look());
        let Some(look) = looks.next().cloned() else {
            return self.look_for_rebuilt(table, groups);
        };
        let state = self.looked_state();
        let goes_on = state.was_written && state.there == look.state.there;
        if look.is_still(&state) || goes_on && look.is_young(self.clock.now()) {
            return Ok(known);
        }
        match look.may_be_followed(&state) {
            true => self.follow(&look, table, groups, &known),
            false => self.look_for_rebuilt(table, groups),
        }
    }

    /// Looks for what came since a look.
    fn follow(
        &self,
        last: &RebuiltLook,
        table: &Superblock,
        groups: &StoreGroups,
        known: &[OpenMember],
    ) -> Result<Vec<OpenMember>, RecordError> {
        let begun_at = self.clock.now();
        let newer = groups.find_behind(last.seen_sequence, WHY)?;
        let newer = computed(&newer, &self.are_there(), &Crashed::default());
        let look = Arc::new(RebuiltLook {
            computed: Arc::new(last.computed.followed_by(&newer)),
            state: self.looked_state(),
            seen_sequence: self.seen_sequence(),
            ended_at: self.clock.now(),
            took_ns: self.clock.now().since_ns(begun_at),
            whole_appends: last.whole_appends,
        });
        let mut rebuilt = Vec::new();
        for missing in self.not_there() {
            let Some(geometry) = groups.geometry(missing.index) else {
                continue;
            };
            let mut known = known.iter();
            let before = known.find(|one| one.index() == missing.index);
            let pins = before.map_or(Vec::new(), |one| one.superblock.pins.clone());
            rebuilt.extend(self.rebuilt(table, missing, (geometry, pins), &look));
        }
        Ok(rebuilt)
    }

    /// The members that are missing, and those that were retired.
    pub(super) fn not_there(&self) -> Vec<Missing> {
        self.missing.iter().chain(&self.retired).copied().collect()
    }

    /// By the place in the table, whether a member is there.
    pub(super) fn are_there(&self) -> Vec<bool> {
        let mut are_there = vec![false; self.member_count()];
        let there = self.members.iter().filter(|member| member.is_there());
        there.for_each(|member| are_there[member.index()] = true);
        are_there
    }

    /// What the members that are there are like. None of the others has been added yet.
    pub(super) fn looked_state(&self) -> LookedState {
        let members = self.members.iter();
        let there = members.map(|one| (one.index(), one.superblock.pins.clone()));
        let generations = self.members.iter().map(|one| one.superblock.generation);
        LookedState {
            there: there.collect(),
            generation: generations.max().unwrap_or(0),
            was_written: self.was_written,
        }
    }

    /// The largest sequence up to which all appends were found on every member that is there.
    pub(super) fn seen_sequence(&self) -> u64 {
        let sequences = self.tails.iter().map(|tail| tail.max_sequence);
        sequences.min().unwrap_or(0)
    }
}
