//! Names the places of flaws. Pure.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::Discrepancy;
use crate::format::{AppendPlace, Geometry};
use crate::opening::Recording;
use crate::reading::scope::Scope;
use crate::rebuilt::{CopiedParities, FoundGroups, RebuiltMember};

/// Names and geometries of the members, by their index in the store and in the scope.
pub(super) struct Names {
    by_index: BTreeMap<usize, String>,
    pub(super) in_scope: Vec<(usize, Geometry)>,
    /// Members, by their index in the store, of which this was computed from others, now or when
    /// they were repaired.
    computed: BTreeSet<usize>,
    /// What is computed now of members that are not there, or not all of them, by the same index.
    rebuilt: BTreeMap<usize, Arc<RebuiltMember>>,
    /// The groups of the store, if they were looked for.
    groups: Option<Arc<FoundGroups>>,
    recording: u32,
}

impl Names {
    pub(super) fn of(recording: &Recording, scope: &Scope) -> Names {
        debug_assert_eq!(
            recording.id, scope.recording_id,
            "a scope is of its recording"
        );
        let members = scope.members.iter();
        Names {
            by_index: members
                .clone()
                .map(|member| (member.index, member.name.clone()))
                .collect(),
            in_scope: members
                .map(|member| (member.index, member.identity.geometry))
                .collect(),
            computed: scope
                .members
                .iter()
                .filter(|member| member.is_computed)
                .map(|member| member.index)
                .collect(),
            rebuilt: scope
                .members
                .iter()
                .filter_map(|member| Some((member.index, member.rebuilt.clone()?)))
                .collect(),
            groups: scope.groups.as_ref().and_then(|groups| groups.known()),
            recording: recording.number,
        }
    }

    /// Whether an append of a group is on no member, and was computed from others now. Where its
    /// member was retired, enough copies are as good as it was.
    pub(super) fn is_absent(&self, index: usize, place: AppendPlace, group: u64) -> bool {
        let rebuilt = self.rebuilt.get(&index);
        let is_computed = rebuilt.is_some_and(|rebuilt| rebuilt.computes(place));
        let groups = self.groups.as_ref();
        let is_copied = || groups.is_some_and(|one| one.has_enough_copies(index, place, group));
        is_computed && !is_copied()
    }

    /// Whether an append of a retired member is protected by its copies, and by no group.
    pub(super) fn is_protected_by_copies(
        &self,
        index: usize,
        place: AppendPlace,
        group: u64,
    ) -> bool {
        let groups = self.groups.as_ref();
        groups.is_some_and(|one| one.is_protected_by_copies(index, place, group))
    }

    /// What was copied of the parity of a group from a member that was retired.
    pub(super) fn copied_parities(&self, group: u64) -> Option<CopiedParities> {
        let groups = self.groups.as_ref()?;
        groups.copied_parities(group, self.recording)
    }

    /// Whether this was computed from others, now or when the member was repaired.
    pub(super) fn is_computed(&self, index: usize) -> bool {
        self.computed.contains(&index)
    }

    /// A flaw on a member, by its index in the store, and what is lost by it: the stream, and from
    /// which byte to which.
    pub(super) fn bad_of(
        &self,
        member: Option<usize>,
        offset_bytes: Option<u64>,
        lost: Option<(u16, u64, u64)>,
        why: String,
    ) -> Discrepancy {
        let name = |index: usize| self.by_index.get(&index).cloned();
        Discrepancy {
            member: member.and_then(name),
            offset_bytes,
            pin: None,
            recording: Some(self.recording),
            stream: lost.map(|(stream, _, _)| stream),
            from_byte: lost.map(|(_, from, _)| from),
            to_byte: lost.map(|(_, _, to)| to),
            why,
        }
    }
}
