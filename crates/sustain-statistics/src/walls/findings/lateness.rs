//! Tells which walls may be of disks that miss revolutions, and not of their members. Such a disk
//! takes what comes late after a whole turn: it keeps its rate, or it loses about half of it, and
//! any two that get in each other's way look like a limit of these two. Called for the confidence.

use crate::walls::model::common;
use crate::walls::search::WallSearch;

/// A target is held back if it has this many times its rate alone,
const HELD_BACK: f64 = 1.06;
/// and has lost a turn from this on.
const A_TURN: f64 = 1.8;
/// More members than this do not get in each other's way all at once by chance.
const MEMBERS_MAX: usize = 3;
/// A sum below this part of that of fewer members has fallen.
const FALLEN: f64 = 0.96;

impl WallSearch<'_> {
    /// Whether all that is held back in the runs of a few members alone is held back to about a
    /// half or less. A limit that is overloaded a little holds back a little.
    pub(super) fn holds_back_by_turns(&self, members: &[usize]) -> bool {
        let ratios = self.within(members).flat_map(|(set, rates)| {
            let alone = |member: &usize| self.evidence.alone(*member);
            let ratios = set.iter().zip(rates);
            ratios.map(move |(member, rate)| alone(member) / rate.max(f64::MIN_POSITIVE))
        });
        let mut held_back = ratios.filter(|ratio| *ratio > HELD_BACK).peekable();
        members.len() <= MEMBERS_MAX
            && held_back.peek().is_some()
            && held_back.all(|ratio| ratio > A_TURN)
    }

    /// Whether the sum of these members falls only when all of them run, so that a member more
    /// might have been needed for it, or one less.
    pub(super) fn falls_only_with_all(&self, members: &[usize]) -> bool {
        let falls = |set: &[usize], sum: f64| {
            let of_one = set.iter().map(|one| self.evidence.alone(*one));
            let smaller = self
                .within(set)
                .filter(|(other, _)| other.len() < set.len());
            let of_fewer = smaller.map(|(_, rates)| rates.iter().sum());
            of_one
                .chain(of_fewer)
                .any(|fewer: f64| sum < fewer * FALLEN)
        };
        let mut fewer = self.within(members);
        !fewer.any(|(set, rates)| set.len() < members.len() && falls(set, rates.iter().sum()))
    }

    /// The readings of two or more of these members and of no other target.
    fn within<'b>(
        &'b self,
        members: &'b [usize],
    ) -> impl Iterator<Item = (&'b [usize], &'b [f64])> {
        let runs = self.evidence.runs.iter();
        let runs =
            runs.filter(|run| run.set.len() > 1 && common(&run.set, members) == run.set.len());
        runs.map(|run| (run.set.as_slice(), run.rates.as_slice()))
    }
}
