//! Finds the members on which missing stretches of a stream lay, by what these members miss. Pure.

use std::collections::BTreeSet;
use std::ops::Range;

use super::super::on_member::LostTally;
use super::{Account, LostPlace};

impl Account<'_> {
    /// Where a missing stretch lay. What adjoins may have been on several members: then it is
    /// divided where one of them tells of its own neighbours.
    pub(super) fn claim_lost(
        &mut self,
        number: u16,
        missing: Range<u64>,
    ) -> Vec<(Range<u64>, LostPlace)> {
        let place = self.claim_one(number, &missing);
        if place.is_some() {
            return vec![(missing, place)];
        }
        if let Some(claimed) = self.claim_all(number, &missing) {
            return claimed;
        }
        let tallies = self.members.iter().flat_map(|on_member| &on_member.lost);
        let ends = tallies
            .filter(|lost| lost.stream == number)
            .flat_map(|lost| [lost.handed_out.start, lost.handed_out.end]);
        let mut cuts: BTreeSet<u64> = ends
            .filter(|cut| missing.start < *cut && *cut < missing.end)
            .collect();
        cuts.insert(missing.end);
        let mut from = missing.start;
        let mut claimed = Vec::new();
        for to in cuts {
            let place = self.claim_one(number, &(from..to));
            claimed.push((from..to, place));
            from = to;
        }
        claimed
    }

    /// Divides a missing stretch among the members, if what they miss there is just as much. They
    /// are taken in the order in which they went on: members get their appends in turn.
    fn claim_all(
        &mut self,
        number: u16,
        missing: &Range<u64>,
    ) -> Option<Vec<(Range<u64>, LostPlace)>> {
        let members = self.members.iter().enumerate();
        let mut tallies: Vec<(usize, &LostTally)> = members
            .flat_map(|(member, on_member)| on_member.lost.iter().map(move |lost| (member, lost)))
            .collect();
        tallies.sort_by_key(|(_, lost)| lost.handed_out.end);
        let mut from = missing.start;
        let mut claimed = Vec::new();
        for (member, lost) in tallies {
            let stretch = from..from.saturating_add(lost.bytes);
            if stretch.end <= missing.end && lost.may_have(number, &stretch) {
                let place = (self.names.in_scope[member].0, Some(lost.offset_bytes()));
                from = stretch.end;
                claimed.push((stretch, Some(place)));
            }
        }
        if from < missing.end {
            return None;
        }
        for (stretch, _) in &claimed {
            self.claim_one(number, stretch);
        }
        Some(claimed)
    }

    /// Where a missing stretch lay, if just so much of the stream is missed on some member, or if
    /// only one member has missed so much there: in a ring a part of it may be told apart.
    fn claim_one(&mut self, number: u16, missing: &Range<u64>) -> LostPlace {
        let bytes = missing.end - missing.start;
        let members = self.members.iter().enumerate();
        let tallies = members.flat_map(|(member, on_member)| {
            let lost = on_member.lost.iter().enumerate();
            lost.map(move |(place, lost)| (member, place, lost))
        });
        // Of several the one that is the first to have gone on: the others may have the next.
        let fitting = tallies
            .filter(|(_, _, lost)| lost.bytes == bytes && lost.may_have(number, missing))
            .min_by_key(|(_, _, lost)| lost.handed_out.end)
            .map(|(member, place, _)| (member, place));
        if let Some((member, place)) = fitting {
            let lost = self.members[member].lost.remove(place);
            return Some((self.names.in_scope[member].0, Some(lost.offset_bytes())));
        }
        let members = self.members.iter_mut().zip(&self.names.in_scope);
        let mut able = members.filter(|(on_member, _)| on_member.may_have_lost(number, missing));
        match (able.next(), able.next()) {
            (Some((on_member, (index, _))), None) => {
                Some((*index, on_member.claim(number, missing)))
            }
            _ => None,
        }
    }
}
