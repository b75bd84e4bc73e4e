//! Members whose place another one had when some of what is on the store was recorded.

use std::collections::BTreeSet;

use sustain_document::setting::{DESTROY, ONTO};

use crate::error::RecordError;
use crate::rebuilt::FoundGroups;
use crate::store::{Missing, OpenMember, Store};

impl Store {
    /// Leaves out members that have something else where the others say that they were given an
    /// append, if parity replaces all that is missing then. Returns whether any was left out.
    pub(super) fn leave_out_displaced(&mut self, found: &FoundGroups) -> Result<bool, RecordError> {
        let missing = self.not_given().len();
        let all_missing = missing + found.displaced.len();
        if found.displaced.is_empty() || all_missing > usize::from(found.parities()) {
            return Ok(false);
        }
        for member in &self.members {
            if found.displaced.contains(&member.index()) {
                self.notes.push(displaced_words(&member.name));
            }
        }
        let is_left =
            |member: &OpenMember| member.is_there() && !found.displaced.contains(&member.index());
        let missing = self.members.iter().filter(|member| !is_left(member));
        let missing = missing.filter(|member| !self.is_retired(member.index()));
        let missing: Vec<Missing> = missing
            .map(|member| Missing {
                index: member.index(),
                member: member.superblock.member,
            })
            .collect();
        self.missing.extend(missing);
        let left: BTreeSet<usize> = (0..self.members.len())
            .filter(|position| is_left(&self.members[*position]))
            .collect();
        keep(&mut self.members, &left);
        keep(&mut self.tails, &left);
        keep(&mut self.openings, &left);
        self.has_looked_for_lacking = false;
        self.use_parity(Vec::new())?;
        Ok(true)
    }
}

/// Keeps what is at these positions.
fn keep<T>(all: &mut Vec<T>, positions: &BTreeSet<usize>) {
    let mut position = 0;
    all.retain(|_| {
        position += 1;
        positions.contains(&(position - 1))
    });
}

fn displaced_words(name: &str) -> String {
    format!(
        "{name} is left out, and what it had is computed from the others: they tell of appends in \
         its place that are not on it. Another member was used as the same one since, perhaps one \
         that {name} had replaced. Use that one no more, and make {name} anew by `sustain repair` \
         with the other members, {} and {}",
        ONTO.to(name),
        DESTROY.to(name)
    )
}
