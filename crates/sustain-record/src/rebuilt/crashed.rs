//! What a crash took from members that are there, and what they lack for another reason. Pure.

use std::collections::{BTreeMap, BTreeSet};

/// The recordings that a crash has ended, recovered ones included: it has taken from all members
/// what was not durable of them. To put that in would hide what a ring has left there of the lap
/// before, and what recovering has found lost would be there again, and not all of it.
///
/// What was durable is another matter: no crash takes it, so the member has failed or an earlier
/// state of it was put back. And what a member lacks that was behind before the crash was told to
/// be durable as soon as it could be computed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Crashed {
    /// The numbers of the recordings.
    pub(crate) recordings: Vec<u32>,
    /// The members that were behind, by their places in the table, and from which recording on.
    pub(crate) behind: BTreeMap<u16, u32>,
    /// The sequences of the appends of these recordings that are known to have been durable.
    pub(crate) durable: BTreeSet<u64>,
}

impl Crashed {
    /// Whether it counts as the work of the crash that this member lacks an append, or parity of
    /// it.
    pub(super) fn took(&self, recording: u32, member: u16, sequence: u64) -> bool {
        let behind_from = self.behind.get(&member);
        let was_behind = behind_from.is_some_and(|from| recording >= *from);
        self.recordings.contains(&recording) && !was_behind && !self.durable.contains(&sequence)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crash_took_nothing_that_a_member_lacks_since_it_was_behind_and_nothing_durable() {
        let crashed = Crashed {
            recordings: vec![3, 5],
            behind: [(1, 5)].into(),
            durable: [70].into(),
        };
        assert!(crashed.took(5, 0, 71) && crashed.took(3, 1, 71));
        assert!(!crashed.took(5, 1, 71));
        assert!(!crashed.took(5, 0, 70) && !crashed.took(3, 1, 70));
        assert!(!crashed.took(4, 0, 71), "no crash has ended that");
    }
}
