//! What rings have overwritten on the members of a store, and what pins keep of it. Pure.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// What rings have overwritten: on a member, all below a sequence, but for recordings that have
/// nothing there, because they came before the member was added to the store or because it was
/// missing in them, and for what pins keep.
#[derive(Debug, Clone, Default)]
pub(crate) struct Overwritten {
    members: Vec<OnMember>,
    /// Below this sequence rings may have overwritten anything on a member, parity too.
    passed_to: u64,
    /// By the numbers of recordings, the members that were missing in each.
    absent: BTreeMap<u32, BTreeSet<usize>>,
    /// By the numbers of pins, the sequences that each keeps on all members.
    kept: BTreeMap<u32, Range<u64>>,
}

/// What a ring has overwritten on a member.
#[derive(Debug, Clone, Copy)]
struct OnMember {
    /// Its place in the table of members.
    member: usize,
    /// The number of the first recording that may have had anything there.
    first_recording: u32,
    /// All below this sequence is overwritten.
    sequence: u64,
}

impl Overwritten {
    /// Notes a member in the table on which this recording is the first that may have had anything,
    /// and all below this sequence is overwritten.
    pub(crate) fn note(&mut self, member: usize, first_recording: u32, sequence: u64) {
        self.members.push(OnMember {
            member,
            first_recording,
            sequence,
        });
    }

    /// Notes a member on which a ring has passed all below this sequence.
    pub(crate) fn note_passed(&mut self, sequence: u64) {
        self.passed_to = self.passed_to.max(sequence);
    }

    /// From this sequence on no ring has overwritten anything, parity included; 0 if none has.
    pub(crate) fn passed_to_sequence(&self) -> u64 {
        self.passed_to
    }

    /// Notes the members in the table that were missing in a recording.
    pub(crate) fn note_absent(&mut self, recording: u32, members: &[u16]) {
        let absent = self.absent.entry(recording).or_default();
        absent.extend(members.iter().copied().map(usize::from));
    }

    /// Whether a member was missing in a recording, as far as starts are read: where a ring has
    /// overwritten anything.
    pub(crate) fn was_absent(&self, recording: u32, member: usize) -> bool {
        let absent = self.absent.get(&recording);
        absent.is_some_and(|absent| absent.contains(&member))
    }

    /// Notes what a pin keeps on a member.
    pub(crate) fn note_kept(&mut self, pin: u32, sequences: Range<u64>) {
        let kept = self.kept.entry(pin).or_insert(0..u64::MAX);
        kept.start = kept.start.max(sequences.start);
        kept.end = kept.end.min(sequences.end);
    }

    /// Below this sequence something of a recording is overwritten on a member, and no pin keeps
    /// it; 0 if nothing is.
    pub(crate) fn whole_from_sequence(&self, recording: u32) -> u64 {
        let had_part = |one: &&OnMember| {
            one.first_recording <= recording && !self.was_absent(recording, one.member)
        };
        let members = self.members.iter().filter(had_part);
        members.map(|one| one.sequence).max().unwrap_or(0)
    }

    /// Whether an append of a recording is neither overwritten nor of a time of which other members
    /// have overwritten something.
    pub(crate) fn leaves(&self, recording: u32, sequence: u64) -> bool {
        sequence >= self.whole_from_sequence(recording) || self.is_kept(sequence)
    }

    /// Whether pins keep an append on all members.
    pub(crate) fn is_kept(&self, sequence: u64) -> bool {
        self.kept.values().any(|kept| kept.contains(&sequence))
    }

    /// Whether a ring has overwritten anything.
    pub(crate) fn is_any(&self) -> bool {
        !self.members.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_all_members_keep_is_left_below_what_rings_have_overwritten() {
        let mut overwritten = Overwritten::default();
        assert!(overwritten.leaves(1, 0));
        overwritten.note(0, 0, 500);
        overwritten.note(1, 3, 700);
        // Where a ring has passed parity alone, all data is left.
        overwritten.note_passed(900);
        assert_eq!(overwritten.passed_to_sequence(), 900);
        assert!(!overwritten.leaves(1, 499) && overwritten.leaves(1, 500));
        assert!(!overwritten.leaves(3, 500) && overwritten.leaves(3, 700));
        overwritten.note_kept(1, 100..200);
        overwritten.note_kept(1, 120..220);
        overwritten.note_kept(2, 300..310);
        let is_left = [99, 119, 120, 199, 200, 300, 310].map(|one| overwritten.leaves(1, one));
        assert_eq!(is_left, [false, false, true, true, false, true, false]);
    }

    #[test]
    fn nothing_is_overwritten_on_a_member_of_a_recording_in_which_it_was_missing() {
        let mut overwritten = Overwritten::default();
        overwritten.note(0, 0, 100);
        overwritten.note(2, 0, 500);
        overwritten.note_absent(1, &[2]);
        overwritten.note_absent(2, &[]);
        assert!(overwritten.was_absent(1, 2) && !overwritten.was_absent(2, 2));
        assert!(!overwritten.leaves(1, 99) && overwritten.leaves(1, 100));
        assert!(!overwritten.leaves(2, 499) && overwritten.leaves(2, 500));
    }
}
