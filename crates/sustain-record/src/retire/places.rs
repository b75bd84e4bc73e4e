//! Chooses the members that get copies of an append. Pure.

use std::collections::BTreeSet;

use super::lanes::{CopyLane, choose};
use super::moving::{Moving, MovingData, MovingParity};
use crate::rebuilt::{CopiedPart, is_of_copies};

/// Where copies of an append go, each with its number in the group.
pub(super) type Places = Vec<(usize, usize)>;

/// The members that got parity of a group just now, one parity of which comes behind the other.
#[derive(Default)]
pub(super) struct JustPlaced {
    group: u64,
    members: BTreeSet<usize>,
}

impl JustPlaced {
    /// Those of this group.
    fn of(&mut self, group: u64) -> &mut BTreeSet<usize> {
        if self.group != group {
            *self = JustPlaced {
                group,
                members: BTreeSet::new(),
            };
        }
        &mut self.members
    }
}

impl Moving<'_> {
    /// Lanes for the copies of an append of data that are not there yet, and their numbers; or how
    /// many there would have to be.
    pub(super) fn places_of_data(
        &self,
        lanes: &[CopyLane],
        data: &MovingData,
    ) -> Result<Places, usize> {
        let group = self.found.group(data.group);
        let is_there = |number: &usize| group.is_some_and(|group| group.has_parity(*number));
        let numbers: Vec<usize> = (0..usize::from(data.copies))
            .filter(|number| !is_there(number))
            .collect();
        let holders = self.holders(data.part());
        let lanes = choose(lanes, data.copy_bytes(), numbers.len(), |member| {
            holders.contains(&member)
        });
        let lanes = lanes.ok_or(numbers.len())?;
        Ok(lanes.into_iter().zip(numbers).collect())
    }

    /// The same for an append of parity. One is enough on a member that has nothing else of its
    /// group.
    pub(super) fn places_of_parity(
        &self,
        lanes: &[CopyLane],
        moving: &MovingParity,
        placed: &mut JustPlaced,
    ) -> Result<Places, usize> {
        let lacking = &moving.lacking;
        let (bytes, number) = (lacking.append_bytes(), lacking.number);
        if self.has_elsewhere(moving) {
            return Ok(Places::new());
        }
        let mut holders = self.holders(moving.part());
        holders.remove(&self.member);
        let placed = placed.of(lacking.group);
        let mut beside: BTreeSet<usize> = holders.union(placed).copied().collect();
        for entry in &lacking.list.entries {
            beside.insert(usize::from(entry.member));
            if is_of_copies(lacking.group) {
                let data = CopiedPart::Data(entry.member, entry.place);
                beside.extend(self.holders(data));
            }
        }
        for other in 0..usize::from(lacking.list.parities) {
            let part = CopiedPart::Parity(lacking.group, other);
            beside.extend(self.holders(part));
        }
        let apart = choose(lanes, bytes, 1, |member| beside.contains(&member));
        if let Some(chosen) = apart {
            placed.extend(chosen.iter().map(|lane| lanes[*lane].member));
            let lanes = chosen;
            return Ok(lanes.into_iter().map(|lane| (lane, number)).collect());
        }
        if is_of_copies(lacking.group) {
            return Err(1);
        }
        let copies = usize::from(moving.copies).saturating_sub(holders.len());
        let lanes = choose(lanes, bytes, copies, |member| holders.contains(&member));
        let lanes = lanes.ok_or(copies)?;
        Ok(lanes.into_iter().map(|lane| (lane, number)).collect())
    }
}
