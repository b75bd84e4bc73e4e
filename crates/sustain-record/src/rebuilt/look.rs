//! One look through the members that are there for what can be computed of the others, and how far
//! it came. A recording that goes on is followed from there, so not all is looked through again.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use sustain_disk::clock::Timestamp;

use super::groups::{BrokenGroup, Computed};
use crate::format::{AppendPlace, Pin};

/// Looking takes at most one part in so many of the time.
const REST_PARTS: u64 = 20;
/// What was found by following is kept besides what a whole look has found until it is more than
/// that, and more than so many appends. In a ring, much of it is overwritten by then.
const FOLLOWED_MIN: usize = 10_000;

/// What a look has found.
#[derive(Debug)]
pub(crate) struct RebuiltLook {
    pub(crate) computed: Arc<Computed>,
    /// What the members that are there were like.
    pub(crate) state: LookedState,
    /// All appends up to this sequence were seen, on all members that are there.
    pub(crate) seen_sequence: u64,
    pub(crate) ended_at: Timestamp,
    pub(crate) took_ns: u64,
    /// Appends that the last look through everything had found.
    pub(crate) whole_appends: usize,
}

/// What tells whether a look can be followed on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LookedState {
    /// The places in the table of the members that are there, and the pins on each.
    pub(crate) there: Vec<(usize, Vec<Pin>)>,
    /// The newest generation of their superblocks.
    pub(crate) generation: u64,
    /// Whether the store was written to.
    pub(crate) was_written: bool,
}

impl RebuiltLook {
    /// Whether nothing can have come since.
    pub(crate) fn is_still(&self, state: &LookedState) -> bool {
        self.state == *state && !state.was_written
    }

    /// Whether what came since is all that has changed, and is worth following.
    pub(crate) fn may_be_followed(&self, state: &LookedState) -> bool {
        let found = self.computed.appends();
        let is_long = found > FOLLOWED_MIN && found / 2 > self.whole_appends;
        state.was_written && state.there == self.state.there && !is_long
    }

    /// Whether it is too soon to look again.
    pub(crate) fn is_young(&self, now: Timestamp) -> bool {
        now.since_ns(self.ended_at) < self.took_ns.saturating_mul(REST_PARTS - 1)
    }
}

impl Computed {
    /// How many appends can be computed.
    pub(crate) fn appends(&self) -> usize {
        self.lost.values().map(Vec::len).sum()
    }

    /// The same with what a later look has found.
    pub(crate) fn followed_by(&self, newer: &Computed) -> Computed {
        let mut all = Computed {
            beyond_bytes: self.beyond_bytes.clone(),
            ..Computed::default()
        };
        let mut groups: Vec<BrokenGroup> = Vec::new();
        let mut added: BTreeSet<(usize, AppendPlace, u64)> = BTreeSet::new();
        for part in [newer, self] {
            let mut places: HashMap<usize, usize> = HashMap::new();
            for (member, appends) in &part.lost {
                for (group, position, entry) in appends {
                    if !added.insert((*member, entry.place, entry.sequence)) {
                        continue;
                    }
                    let place = *places.entry(*group).or_insert_with(|| {
                        groups.push(part.groups[*group].clone());
                        groups.len() - 1
                    });
                    let of_member = all.lost.entry(*member).or_default();
                    of_member.push((place, *position, *entry));
                }
            }
        }
        all.groups = Arc::new(groups);
        all
    }
}
