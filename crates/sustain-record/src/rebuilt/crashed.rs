//! What a crash took from members that are there, and what they lack for another reason. Pure.

use std::collections::BTreeSet;

/// The recordings that a crash has ended, recovered ones included: it has taken from all members
/// what was not durable of them. To put that in would hide what a ring has left there of the lap
/// before, and what recovering has found lost would be there again, and not all of it.
///
/// What a member lacks that was behind before the crash is another matter: it was told to be
/// durable as soon as it could be computed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Crashed {
    /// The numbers of the recordings.
    pub(crate) recordings: Vec<u32>,
    /// The members that were behind, by their places in the table.
    pub(crate) behind: BTreeSet<u16>,
}

impl Crashed {
    /// Whether what this member lacks of a recording counts as the work of the crash.
    pub(super) fn took(&self, recording: u32, member: u16) -> bool {
        self.recordings.contains(&recording) && !self.behind.contains(&member)
    }
}
