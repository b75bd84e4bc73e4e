//! Appends join groups here when they are placed, and the parity of groups that close is placed
//! like data. What is lost with a member may be covered by its group.

use sustain_disk::clock::Timestamp;
use sustain_disk::engine::{Completion, Operation, Request, Vectors};

use super::duty::member_offset;
use super::groups::GroupChoice;
use super::parity_room::ParityPlaces;
use super::{RecordFeed, RequestPurpose};
use crate::format::{AppendPlace, CONTROL_STREAM, Descriptor, GroupEntry, Kind, crc32c};
use crate::recorder::filled::{Filled, PayloadMemory};
use crate::recorder::inlet::Inlet;
use crate::recorder::member::{MemberState, MemberWriter, Unflushed};
use crate::recorder::parity::{
    GROUP_AGE_NS_MAX, GroupChange, GroupStretch, GroupSums, ParityAppend,
};
use crate::recorder::scatter::{ScatterCandidate, choose};
use crate::recorder::write;

/// A group closes when its first append is a quarter of the interval of flushes old, so that its
/// parity is flushed with the data, or soon after.
const INTERVAL_PART: u64 = 4;

impl<I: Inlet> RecordFeed<I> {
    /// Adds an append to the group that was chosen for it.
    pub(super) fn join_group(
        &mut self,
        choice: GroupChoice,
        (descriptor, queue): (&Descriptor, usize),
        filled: &Filled,
        vectors: &Vectors,
        now: Timestamp,
    ) {
        self.note_waiting_parity(now);
        let wanted = self.wanted_width(now);
        let Some(protection) = &mut self.protection else {
            return;
        };
        let group = choice.of(descriptor.sequence);
        if choice.open.is_none() {
            let memory = protection.memory.take(choice.parities);
            let Some(memory) = memory else {
                return;
            };
            let sums = GroupSums::new(memory, protection.setup.parities, now);
            protection.sums.insert(group, sums);
        }
        let entry = GroupEntry {
            member: self.setup.members[queue].superblock.member_index,
            place: descriptor.place,
            append_bytes: descriptor.append_bytes,
            sequence: descriptor.sequence,
            descriptor_crc: Descriptor::checksum_in(vectors.as_slice()[0].bytes()),
        };
        if let Some(sums) = protection.sums.get_mut(&group) {
            sums.add(entry, vectors);
        }
        let stretch = GroupStretch {
            stream: filled.stream,
            start_bytes: filled.start_bytes(),
            begun_at: filled.begun_at,
        };
        protection.stretches.insert(descriptor.sequence, stretch);
        protection
            .groups
            .join(choice.open, queue, descriptor.sequence);
        let width = protection.groups.width(group);
        if width >= protection.widths.next(wanted) {
            protection.widths.count(wanted, width);
            self.close_group(group, now);
        }
    }

    /// Turns the sums of an open group into parity that waits for members.
    pub(super) fn close_group(&mut self, group: u64, now: Timestamp) {
        let Some(protection) = &mut self.protection else {
            return;
        };
        protection.groups.close(group);
        let Some(sums) = protection.sums.remove(&group) else {
            return;
        };
        let parities = sums.into_parities(group);
        let mut changes = Vec::new();
        for number in parities.len()..protection.setup.parities {
            changes.extend(protection.groups.miss_parity(group, number));
        }
        protection.waiting.extend(parities);
        self.take_changes(changes, now);
    }

    /// Closes groups that have waited for long enough, and all where nothing more comes.
    pub(super) fn close_due_groups(&mut self, now: Timestamp) {
        let Some(protection) = &self.protection else {
            return;
        };
        let nothing_comes = self.ending.is_some() && self.is_inlet_empty && self.pending.is_empty();
        let most_ns = self.group_age_ns_max();
        let sums = protection.sums.iter();
        let due = sums.filter(|(_, sums)| nothing_comes || now.since_ns(sums.begun_at) >= most_ns);
        let due: Vec<u64> = due.map(|(group, _)| *group).collect();
        due.into_iter()
            .for_each(|group| self.close_group(group, now));
    }

    /// When the next group closes by its age.
    pub(super) fn groups_close_at(&self) -> Option<Timestamp> {
        let sums = self.protection.as_ref()?.sums.values();
        let begun_at = sums.map(|sums| sums.begun_at).min()?;
        Some(begun_at + self.group_age_ns_max())
    }

    /// The age at which a group closes, if it was not full before.
    pub(super) fn group_age_ns_max(&self) -> u64 {
        (self.setup.durability.interval_ns / INTERVAL_PART).min(GROUP_AGE_NS_MAX)
    }

    /// Begins the write of parity, if some is for this member.
    pub(super) fn begin_parity(&mut self, queue: usize, now: Timestamp) -> Option<Request> {
        let mut index = 0;
        // Much of it may wait, and most is of one length.
        let mut known = (0, Vec::new());
        let room = self.parity_room(self.group_parities(now));
        let places = room.map(|room| room.places);
        while let Some(parity) = self.waiting_parity(index) {
            let (group, bytes) = (parity.group, parity.append_bytes());
            if known.0 != bytes {
                known = (bytes, self.parity_candidates(bytes));
            }
            match self.choose_for_parity((group, bytes), &known.1, places.as_ref()) {
                Some(chosen) if chosen == queue => {
                    let parity = self.protection.as_mut()?.waiting.remove(index)?;
                    return Some(self.place_parity(queue, parity, now));
                }
                Some(_) => self.has_changed = true,
                None if !self.has_place_for_parity(group, bytes) => {
                    self.miss_parity(index, now);
                    continue;
                }
                None => {}
            }
            index += 1;
        }
        None
    }

    /// The member that is to have parity of a group next.
    fn choose_for_parity(
        &self,
        (group, bytes): (u64, u32),
        candidates: &[ScatterCandidate],
        places: Option<&ParityPlaces>,
    ) -> Option<usize> {
        let window = self.setup.window;
        let candidates = candidates.iter().enumerate().map(|(index, candidate)| {
            let is_reserved = || places.is_some_and(|places| places.is_reserved(index, group));
            // What is reserved is looked at last: that takes the longest.
            let is_open = candidate.has_room(u64::from(bytes), window)
                && !self.is_of_group(group, index)
                && !is_reserved();
            ScatterCandidate {
                is_open,
                ..*candidate
            }
        });
        choose(candidates, u64::from(bytes), self.setup.window)
    }

    /// How the members stand to parity of a group that has nothing on them.
    fn parity_candidates(&self, bytes: u32) -> Vec<ScatterCandidate> {
        let candidate = |member: &MemberWriter| {
            let candidate = member.parity_candidate(bytes);
            ScatterCandidate {
                is_open: candidate.is_open && self.may_append(member),
                ..candidate
            }
        };
        self.members.iter().map(candidate).collect()
    }

    fn waiting_parity(&self, index: usize) -> Option<&ParityAppend> {
        self.protection.as_ref()?.waiting.get(index)
    }

    fn is_of_group(&self, group: u64, member: usize) -> bool {
        let protection = self.protection.as_ref();
        protection.is_some_and(|one| one.groups.has_part_on(group, member))
    }

    /// The longest parity that may be placed next on this member.
    pub(super) fn waiting_parity_bytes(&self, queue: usize) -> Option<u32> {
        let waiting = self.protection.as_ref()?.waiting.iter();
        let of_others = waiting.filter(|parity| !self.is_of_group(parity.group, queue));
        of_others.map(ParityAppend::append_bytes).max()
    }

    /// Whether a member outside a group may still take parity of it.
    fn has_place_for_parity(&self, group: u64, bytes: u32) -> bool {
        let mut members = self.members.iter().enumerate();
        members.any(|(index, member)| {
            let is_outside = !self.is_of_group(group, index);
            let takes = member.state == MemberState::Active;
            takes && is_outside && member.has_room_for_parity(bytes)
        })
    }

    /// Gives up parity that no member can take.
    fn miss_parity(&mut self, index: usize, now: Timestamp) {
        let Some(protection) = &mut self.protection else {
            return;
        };
        let Some(parity) = protection.waiting.remove(index) else {
            return;
        };
        let groups = &mut protection.groups;
        let changes = groups.miss_parity(parity.group, parity.number);
        if let Some(memory) = parity.memory {
            protection.memory.give(memory);
        }
        self.take_changes(changes, now);
    }

    /// Builds the write that puts parity on a member.
    fn place_parity(&mut self, queue: usize, mut parity: ParityAppend, now: Timestamp) -> Request {
        let bytes = parity.append_bytes();
        let sequence = self.take_sequence();
        let made_time_ns = self.setup.unix_clock.unix_ns(now);
        let place = self.members[queue].take_place(bytes, sequence, made_time_ns);
        let mut descriptor = Descriptor {
            kind: Kind::Parity,
            stream: CONTROL_STREAM,
            payload_bytes: parity.payload_bytes,
            marks_bytes: parity.list.len() as u32,
            marks_crc: crc32c(&parity.list),
            checksums: parity.checksums.clone(),
            parity_group: parity.group,
            parity_role: parity.number as u16 + 1,
            ..self.descriptor(queue, place, bytes, sequence, made_time_ns)
        };
        if !descriptor.has_room_for_drifts() {
            descriptor.drifts.clear();
        }
        self.members[queue].previous = Some(place);
        let memory = parity.memory.take();
        let vectors = memory.map_or(Vectors::None, |memory| {
            write::compose(PayloadMemory::Own(memory), &descriptor, &parity.list)
        });
        if let Some(protection) = &mut self.protection {
            let groups = &mut protection.groups;
            groups.place_parity(parity.group, parity.number, queue, sequence);
        }
        self.data_in_flight += 1;
        let request = Request {
            operation: Operation::Write,
            offset_bytes: member_offset(&self.members[queue], place),
            vectors,
            durable: self.setup.durability.each,
            ..Request::flush(queue)
        };
        let purpose = RequestPurpose::Parity {
            parity,
            place,
            sequence,
        };
        self.enter(request, purpose, now)
    }

    /// Finishes the write of parity.
    pub(super) fn parity_landed(
        &mut self,
        queue: usize,
        (mut parity, place, sequence): (ParityAppend, AppendPlace, u64),
        has_failed: bool,
        completion: Completion,
    ) {
        let (submitted_at, now) = (completion.submitted_at, completion.completed_at);
        let bytes = parity.append_bytes();
        self.data_in_flight -= 1;
        self.end_waits_since = self.end_waits_since.max(now);
        let start_ns = self.setup.start;
        let member = &mut self.members[queue];
        member.landed(place, bytes);
        let memory = match write::take_apart(completion.request.vectors, true) {
            Some(PayloadMemory::Own(memory)) => Some(memory),
            _ => None,
        };
        if has_failed || !member.works() {
            if let Some(protection) = &mut self.protection {
                parity.memory = memory;
                let groups = &mut protection.groups;
                groups.take_parity_back(parity.group, parity.number);
                protection.waiting.push_front(parity);
            }
            return;
        }
        member.rate.completed(
            submitted_at.since_ns(start_ns),
            now.since_ns(start_ns),
            u64::from(bytes),
        );
        if let (Some(memory), Some(protection)) = (memory, &mut self.protection) {
            protection.memory.give(memory);
        }
        if self.setup.durability.each {
            self.members[queue].made_durable(sequence, place);
            self.part_durable(sequence, now);
        } else {
            let one = Unflushed::of_parity(sequence, place, now);
            self.members[queue].wrote(one, bytes, now);
        }
    }

    /// How much payload of a stream is protected, and the watermark of that, if there is parity.
    pub(in crate::recorder) fn protected(&self, stream: usize) -> Option<(u64, u64)> {
        let ledger = self.protection.as_ref()?.ledgers.get(stream)?;
        // As with what is durable: nothing counts before all starts are on their members.
        Some(match self.watermark_bytes(stream) {
            0 => (0, 0),
            _ if self.has_lost_too_many() => (0, 0),
            _ => (ledger.durable_bytes(), ledger.watermark_bytes()),
        })
    }

    /// Whether more members have failed than parity replaces.
    pub(super) fn has_lost_too_many(&self) -> bool {
        let failed = self.members.iter();
        let failed = failed.filter(|member| member.state == MemberState::Failed);
        let parities = self.setup.parity.map_or(0, |parity| parity.parities);
        failed.count() > parities
    }

    /// How much payload of all streams is protected; none without parity, and where members have
    /// failed: what was on them may be taken for protected, and is not there.
    pub(super) fn protected_bytes(&self) -> Option<u64> {
        let failed = |member: &MemberWriter| member.state == MemberState::Failed;
        if self.protection.is_none() || self.members.iter().any(failed) {
            return None;
        }
        let streams = 0..self.ledgers.len();
        let protected = streams.map(|stream| self.protected(stream).map(|(bytes, _)| bytes));
        protected.sum()
    }

    /// Notes that an append is durable, if it is in a group.
    pub(super) fn part_durable(&mut self, sequence: u64, now: Timestamp) {
        if let Some(protection) = &mut self.protection {
            let changes = protection.groups.durable(sequence);
            self.take_changes(changes, now);
        }
    }

    /// Notes that an append will not become durable on its member, if it is in a group.
    pub(super) fn part_lost(&mut self, sequence: u64, now: Timestamp) {
        if let Some(protection) = &mut self.protection {
            let changes = protection.groups.lose(sequence);
            self.take_changes(changes, now);
        }
    }

    /// What a failed member had not made durable may be covered. Returns it if it is in no group.
    pub(super) fn keep_uncertain(&mut self, one: Unflushed, now: Timestamp) -> Option<Unflushed> {
        let sequence = one.sequence;
        // It was told to be durable already, while it waited on a slow member.
        if self.ledgers[usize::from(one.stream)].has_for_good(one.start_bytes) {
            self.part_lost(sequence, now);
            return None;
        }
        match &mut self.protection {
            Some(protection) if protection.groups.has(sequence) => {
                protection.uncertain.insert(sequence, one);
                self.part_lost(sequence, now);
                None
            }
            _ => Some(one),
        }
    }

    /// Closes the open groups that have appends on a member that has failed, while what was on its
    /// way there is in the sums.
    pub(super) fn fail_in_groups(&mut self, queue: usize, now: Timestamp) {
        let Some(protection) = &self.protection else {
            return;
        };
        let groups = &protection.groups;
        let open = groups
            .open()
            .filter(|group| groups.has_part_on(*group, queue));
        let open: Vec<u64> = open.collect();
        open.into_iter()
            .for_each(|group| self.close_group(group, now));
        if let Some(protection) = &mut self.protection {
            let changes = protection.groups.fail(queue);
            self.take_changes(changes, now);
        }
    }

    /// Takes what follows from an event of a group.
    pub(super) fn take_changes(&mut self, changes: Vec<GroupChange>, now: Timestamp) {
        for change in changes {
            let Some(protection) = &mut self.protection else {
                return;
            };
            match change {
                GroupChange::Covered(sequence) => {
                    protection.uncertain.remove(&sequence);
                    if let Some(one) = protection.stretches.get(&sequence).copied() {
                        let stream = usize::from(one.stream);
                        self.durable(stream, one.start_bytes, one.begun_at, now);
                    }
                }
                GroupChange::Protected(sequence) => {
                    if let Some(one) = protection.stretches.get(&sequence) {
                        protection.ledgers[usize::from(one.stream)].durable(one.start_bytes);
                    }
                }
                GroupChange::Lost(sequence) => {
                    if let Some(one) = protection.uncertain.remove(&sequence) {
                        self.lose_uncertain(one);
                    }
                }
            }
        }
        if let Some(protection) = &mut self.protection {
            for sequence in protection.groups.take_decided() {
                protection.stretches.remove(&sequence);
            }
        }
        self.has_changed = true;
    }
}
