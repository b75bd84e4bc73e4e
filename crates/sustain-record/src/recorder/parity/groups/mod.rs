//! Which appends protect each other. A group is some appends of data and some of parity, all on
//! different members. It is pure: appends join, become durable, or are lost with their members,
//! and what follows from that for others comes out.
//!
//! An append of data that was lost with its member, or waits on a *hedged* one, is *covered* when
//! all that is needed to compute it is durable. A group is *protected* when it can be read although
//! as many members are gone as it has appends of parity, those that failed meanwhile included.

use std::collections::{BTreeMap, BTreeSet};

#[cfg(test)]
mod tests;

/// What follows from an event for an append of data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::recorder) enum GroupChange {
    /// It can be computed from what is durable.
    Covered(u64),
    /// It and all of its group is protected.
    Protected(u64),
    /// It is lost: it will not become durable, and cannot be computed.
    Lost(u64),
}

/// Where an append of data joined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::recorder) struct GroupPosition {
    /// The group, by the sequence of the append that joined it first.
    pub(in crate::recorder) group: u64,
    /// How many joined before.
    pub(in crate::recorder) position: usize,
}

/// How an append of a group stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PartStanding {
    /// It may become durable.
    Pending,
    Durable,
    /// Its member has failed, or never took it.
    Lost,
    /// It is parity for which there was no place: nothing is gone, and nothing protects.
    NeverMade,
}

#[derive(Debug, Clone, Copy)]
struct DataPart {
    member: usize,
    sequence: u64,
    standing: PartStanding,
    /// Whether it was told that it is covered, or lost.
    is_told: bool,
}

#[derive(Debug, Clone, Copy)]
struct ParityPart {
    placed: Option<(usize, u64)>,
    standing: PartStanding,
}

#[derive(Debug, Clone)]
struct Group {
    data: Vec<DataPart>,
    parities: Vec<ParityPart>,
}

/// All groups of which some append is neither durable nor lost.
#[derive(Debug, Clone)]
pub(in crate::recorder) struct Groups {
    parities: usize,
    groups: BTreeMap<u64, Group>,
    /// Those that are open. There may be many others, whose appends are not flushed.
    open: BTreeSet<u64>,
    /// Appends of data of groups that are decided, until that is taken.
    decided: Vec<u64>,
    /// The group of each append that is in one.
    group_of: BTreeMap<u64, u64>,
    /// What lies on these is not there to compute anything from.
    failed: BTreeSet<usize>,
    /// What waits on these need not be waited for where it can be computed.
    hedged: BTreeSet<usize>,
    /// Whether nothing may be told yet but what is lost.
    is_held: bool,
}

impl Groups {
    /// No groups yet. Each is to have so many appends of parity.
    pub(in crate::recorder) fn new(parities: usize) -> Groups {
        Groups {
            parities,
            groups: BTreeMap::new(),
            open: BTreeSet::new(),
            decided: Vec::new(),
            group_of: BTreeMap::new(),
            failed: BTreeSet::new(),
            hedged: BTreeSet::new(),
            is_held: false,
        }
    }

    /// The open groups, the oldest first.
    pub(in crate::recorder) fn open(&self) -> impl Iterator<Item = u64> {
        self.open.iter().copied()
    }

    /// The groups of which something is neither durable nor lost, the oldest first.
    pub(in crate::recorder) fn undecided(&self) -> impl Iterator<Item = u64> {
        self.groups.keys().copied()
    }

    /// Whether more is to come of a group: it is open, or some of it is on its way to one of these
    /// members, or waits for one of those that may take it.
    pub(in crate::recorder) fn is_waited_for(
        &self,
        id: u64,
        answers: &dyn Fn(usize) -> bool,
        may_take: &dyn Fn(usize) -> bool,
        members: usize,
    ) -> bool {
        let Some(group) = self.groups.get(&id) else {
            return false;
        };
        let is_pending = |standing: PartStanding| standing == PartStanding::Pending;
        let mut data = group.data.iter();
        let mut parities = group.parities.iter();
        self.open.contains(&id)
            || data.any(|part| is_pending(part.standing) && answers(part.member))
            || parities.any(|part| {
                is_pending(part.standing)
                    && match part.placed {
                        Some((member, _)) => answers(member),
                        None => (0..members).any(|one| may_take(one) && !self.has_part_on(id, one)),
                    }
            })
    }

    /// The open groups that have no append on this member, the oldest first.
    pub(in crate::recorder) fn open_without(&self, member: usize) -> impl Iterator<Item = u64> {
        self.open()
            .filter(move |group| !self.has_part_on(*group, member))
    }

    /// Whether a group has an append on this member.
    pub(in crate::recorder) fn has_part_on(&self, group: u64, member: usize) -> bool {
        self.groups.get(&group).is_some_and(|group| {
            let of_data = group.data.iter().map(|part| part.member);
            let placed = group.parities.iter().filter_map(|part| part.placed);
            of_data
                .chain(placed.map(|(on, _)| on))
                .any(|on| on == member)
        })
    }

    /// How many appends of data a group has.
    pub(in crate::recorder) fn width(&self, group: u64) -> usize {
        self.groups.get(&group).map_or(0, |group| group.data.len())
    }

    /// Whether an append is in a group of which not all is decided.
    pub(in crate::recorder) fn has(&self, sequence: u64) -> bool {
        self.group_of.contains_key(&sequence)
    }

    /// The appends of data of groups that were decided since this was asked last.
    pub(in crate::recorder) fn take_decided(&mut self) -> Vec<u64> {
        std::mem::take(&mut self.decided)
    }

    /// Lets an append of data on this member join an open group, or begin one.
    pub(in crate::recorder) fn join(
        &mut self,
        group: Option<u64>,
        member: usize,
        sequence: u64,
    ) -> GroupPosition {
        let id = group.unwrap_or(sequence);
        self.open.insert(id);
        let group = self.groups.entry(id).or_insert_with(|| Group {
            data: Vec::new(),
            parities: Vec::new(),
        });
        group.data.push(DataPart {
            member,
            sequence,
            standing: PartStanding::Pending,
            is_told: false,
        });
        self.group_of.insert(sequence, id);
        GroupPosition {
            group: id,
            position: group.data.len() - 1,
        }
    }

    /// Closes a group: nothing joins it any more, and its parity is known.
    pub(in crate::recorder) fn close(&mut self, id: u64) {
        let was_open = self.open.remove(&id);
        if let Some(group) = self.groups.get_mut(&id).filter(|_| was_open) {
            group.parities = vec![
                ParityPart {
                    placed: None,
                    standing: PartStanding::Pending,
                };
                self.parities
            ];
        }
    }

    /// Notes that parity of a closed group, from 0, is on its way to this member.
    pub(in crate::recorder) fn place_parity(
        &mut self,
        group: u64,
        number: usize,
        member: usize,
        sequence: u64,
    ) {
        if let Some(part) = self.parity_mut(group, number) {
            part.placed = Some((member, sequence));
            self.group_of.insert(sequence, group);
        }
    }

    /// Notes that parity was not written, and waits for a member again.
    pub(in crate::recorder) fn take_parity_back(&mut self, group: u64, number: usize) {
        let placed = self
            .parity_mut(group, number)
            .and_then(|part| part.placed.take());
        if let Some((_, sequence)) = placed {
            self.group_of.remove(&sequence);
        }
    }

    /// Notes that there will be no such parity: the members that could have it have failed, or
    /// there is no place for it. Each member that has failed, and has nothing of the group, stands
    /// for one that is lost with it; what is missing beyond that was never made.
    pub(in crate::recorder) fn miss_parity(&mut self, id: u64, number: usize) -> Vec<GroupChange> {
        let outside = self
            .failed
            .iter()
            .filter(|member| !self.has_part_on(id, **member));
        let outside = outside.count();
        if let Some(group) = self.groups.get_mut(&id) {
            let is_missed =
                |part: &&ParityPart| part.placed.is_none() && part.standing == PartStanding::Lost;
            let missed = group.parities.iter().filter(is_missed).count();
            if let Some(part) = group.parities.get_mut(number) {
                part.standing = match missed < outside {
                    true => PartStanding::Lost,
                    false => PartStanding::NeverMade,
                };
            }
        }
        self.settle(id)
    }

    /// Notes that an append, of data or parity, is durable on its member.
    pub(in crate::recorder) fn durable(&mut self, sequence: u64) -> Vec<GroupChange> {
        self.stands(sequence, PartStanding::Durable)
    }

    /// Notes that an append, of data or parity, will not become durable: its member has failed.
    pub(in crate::recorder) fn lose(&mut self, sequence: u64) -> Vec<GroupChange> {
        self.stands(sequence, PartStanding::Lost)
    }

    /// Notes that a member has failed. What is under way on it may still come back, and is told by
    /// itself; but nothing on it helps others any more.
    pub(in crate::recorder) fn fail(&mut self, member: usize) -> Vec<GroupChange> {
        self.failed.insert(member);
        self.settle_all()
    }

    /// Notes that a member keeps what it was given for long: its appends are covered where they can
    /// be computed, although they may become durable.
    pub(in crate::recorder) fn hedge(&mut self, member: usize) -> Vec<GroupChange> {
        self.hedged.insert(member);
        self.settle_all()
    }

    /// Notes that a member goes on as usual.
    pub(in crate::recorder) fn end_hedge(&mut self, member: usize) {
        self.hedged.remove(&member);
    }

    /// Whether a member is hedged.
    pub(in crate::recorder) fn is_hedged(&self, member: usize) -> bool {
        self.hedged.contains(&member)
    }

    /// Tells nothing but what is lost until it is released.
    pub(in crate::recorder) fn hold(&mut self) {
        self.is_held = true;
    }

    /// Whether it is held.
    pub(in crate::recorder) fn is_held(&self) -> bool {
        self.is_held
    }

    /// Tells what is so by now.
    pub(in crate::recorder) fn release(&mut self) -> Vec<GroupChange> {
        self.is_held = false;
        self.settle_all()
    }

    /// Whether an append that waits on this member was told to be covered.
    pub(in crate::recorder) fn owes(&self, member: usize) -> bool {
        let is_owed = |part: &DataPart| {
            part.member == member && part.is_told && part.standing == PartStanding::Pending
        };
        let mut groups = self.groups.values();
        groups.any(|group| group.data.iter().any(is_owed))
    }

    fn settle_all(&mut self) -> Vec<GroupChange> {
        let groups: Vec<u64> = self.groups.keys().copied().collect();
        groups
            .into_iter()
            .flat_map(|group| self.settle(group))
            .collect()
    }

    fn stands(&mut self, sequence: u64, standing: PartStanding) -> Vec<GroupChange> {
        let Some(id) = self.group_of.get(&sequence).copied() else {
            return Vec::new();
        };
        let Some(group) = self.groups.get_mut(&id) else {
            return Vec::new();
        };
        for part in &mut group.data {
            if part.sequence == sequence && part.standing == PartStanding::Pending {
                part.standing = standing;
            }
        }
        for part in &mut group.parities {
            let is_it = part.placed.is_some_and(|(_, own)| own == sequence);
            if is_it && part.standing == PartStanding::Pending {
                part.standing = standing;
            }
        }
        self.settle(id)
    }

    fn parity_mut(&mut self, group: u64, number: usize) -> Option<&mut ParityPart> {
        self.groups.get_mut(&group)?.parities.get_mut(number)
    }

    /// Finds what follows for a group. One that is decided as a whole is forgotten.
    fn settle(&mut self, id: u64) -> Vec<GroupChange> {
        let is_open = self.open.contains(&id);
        let Some(group) = self.groups.get_mut(&id).filter(|_| !is_open) else {
            return Vec::new();
        };
        let is_held = self.is_held;
        let mut changes = group.told(&self.failed, &self.hedged, is_held);
        if group.is_decided() && !is_held {
            if group.is_protected(&self.failed) {
                let all = group.data.iter();
                changes.extend(all.map(|part| GroupChange::Protected(part.sequence)));
            }
            let data = group.data.iter().map(|part| part.sequence);
            let placed = group.parities.iter().filter_map(|part| part.placed);
            for sequence in data.clone().chain(placed.map(|(_, sequence)| sequence)) {
                self.group_of.remove(&sequence);
            }
            self.decided.extend(data);
            self.groups.remove(&id);
        }
        changes
    }
}

impl Group {
    /// Tells which appends of data are covered now, or lost.
    fn told(
        &mut self,
        failed: &BTreeSet<usize>,
        hedged: &BTreeSet<usize>,
        is_held: bool,
    ) -> Vec<GroupChange> {
        let durable = self.parities_that(failed, |one| one == PartStanding::Durable);
        let pending = self.parities_that(failed, |one| one == PartStanding::Pending);
        let absent = self.data_that(|part| !part.helps(failed));
        let is_computable = absent <= durable && !is_held;
        let gone = self.data_that(|part| !part.helps(failed) && !part.may_help(failed));
        let mut changes = Vec::new();
        for part in self.data.iter_mut().filter(|part| !part.is_told) {
            let change = match part.standing {
                PartStanding::Lost if is_computable => GroupChange::Covered(part.sequence),
                PartStanding::Pending if is_computable && hedged.contains(&part.member) => {
                    GroupChange::Covered(part.sequence)
                }
                PartStanding::Lost if gone > durable + pending => GroupChange::Lost(part.sequence),
                _ => continue,
            };
            part.is_told = true;
            changes.push(change);
        }
        changes
    }

    fn data_that(&self, is_so: impl Fn(&DataPart) -> bool) -> usize {
        self.data.iter().filter(|part| is_so(part)).count()
    }

    /// How many appends of parity that stand so are not on failed members.
    fn parities_that(
        &self,
        failed: &BTreeSet<usize>,
        is_so: impl Fn(PartStanding) -> bool,
    ) -> usize {
        let is_left = |part: &ParityPart| part.placed.is_none_or(|(on, _)| !failed.contains(&on));
        let parities = self.parities.iter();
        parities
            .filter(|part| is_so(part.standing) && is_left(part))
            .count()
    }

    fn is_decided(&self) -> bool {
        let data = self.data.iter().map(|part| part.standing);
        let mut all = data.chain(self.parities.iter().map(|part| part.standing));
        all.all(|standing| standing != PartStanding::Pending)
    }

    fn is_protected(&self, failed: &BTreeSet<usize>) -> bool {
        let durable = self.parities_that(failed, |one| one == PartStanding::Durable);
        let mut parities = self.parities.iter();
        self.data_that(|part| !part.helps(failed)) <= durable
            && parities.all(|part| part.standing != PartStanding::NeverMade)
            && !self.lacks_on_working(failed)
    }

    /// Whether something is lost that was to lie on a member that works. The members that may be
    /// gone come on top of that.
    fn lacks_on_working(&self, failed: &BTreeSet<usize>) -> bool {
        let data = self.data.iter().map(|part| (part.member, part.standing));
        let placed = |part: &ParityPart| Some((part.placed?.0, part.standing));
        let mut all = data.chain(self.parities.iter().filter_map(placed));
        all.any(|(member, standing)| standing == PartStanding::Lost && !failed.contains(&member))
    }
}

impl DataPart {
    /// Whether it is there to compute others from.
    fn helps(&self, failed: &BTreeSet<usize>) -> bool {
        self.standing == PartStanding::Durable && !failed.contains(&self.member)
    }

    /// Whether it may be so later.
    fn may_help(&self, failed: &BTreeSet<usize>) -> bool {
        self.standing == PartStanding::Pending && !failed.contains(&self.member)
    }
}
