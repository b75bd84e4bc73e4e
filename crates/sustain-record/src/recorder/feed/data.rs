//! Appends of data on their way: to a member, from a failed member to another, or into a gap if
//! there is no other.

use sustain_disk::clock::Timestamp;
use sustain_disk::driver::Ending;
use sustain_disk::engine::{Completion, Operation, Request, Vectors};

use super::duty::member_offset;
use super::{RecordFeed, RequestPurpose};
use crate::format::{AppendPlace, Descriptor, crc32c};
use crate::recorder::filled::{Filled, PayloadMemory};
use crate::recorder::frame_meter::FrameMeter;
use crate::recorder::inlet::{Inlet, Polled};
use crate::recorder::ledger::LedgerEntry;
use crate::recorder::member::{MemberState, MemberWriter, Unflushed};
use crate::recorder::scatter::{ScatterCandidate, choose};
use crate::recorder::write::{self, PayloadView};

/// An append whose write has completed.
pub(super) struct Written {
    pub(super) filled: Filled,
    pub(super) place: AppendPlace,
    pub(super) sequence: u64,
    /// Whether these bytes are lost if this write failed.
    pub(super) is_sole: bool,
    pub(super) has_failed: bool,
}

impl<I: Inlet> RecordFeed<I> {
    /// Begins the write of the next append, if it is for this member.
    pub(super) fn begin_data(&mut self, queue: usize, now: Timestamp) -> Option<Request> {
        if let Some(request) = self.begin_account(queue, now) {
            return Some(request);
        }
        if let Some(request) = self.begin_parity(queue, now) {
            return Some(request);
        }
        self.drop_what_is_done();
        let bytes = self.pending.front()?.append_bytes();
        // A member that does not answer gets nothing, unless there is no other.
        let mut members = self.members.iter().enumerate();
        let takes_slow =
            !members.any(|(index, member)| member.is_ready_for(bytes) && !self.is_hedged(index));
        let candidates = self.members.iter().enumerate().map(|(index, member)| {
            let candidate = member.candidate(bytes, takes_slow);
            let is_open =
                candidate.is_open && self.may_append(member) && self.may_join_group(index, now);
            let is_open = is_open && (takes_slow || !self.is_hedged(index));
            ScatterCandidate {
                is_open,
                ..candidate
            }
        });
        match choose(candidates, u64::from(bytes), self.setup.window) {
            Some(chosen) if chosen == queue => {
                let filled = self.pending.pop_front()?;
                Some(self.place(queue, filled, now))
            }
            Some(_) => {
                // The member that was chosen must be asked, whatever it waits for.
                self.has_changed = true;
                None
            }
            None => {
                self.note_held_up(bytes, now);
                self.end_if_out_of_room(bytes, now);
                None
            }
        }
    }

    /// Drops copies whose append has become durable while they waited for their turn.
    fn drop_what_is_done(&mut self) {
        let ledgers = &self.ledgers;
        let is_done =
            |first: &Filled| ledgers[usize::from(first.stream)].has_for_good(first.start_bytes());
        while self.pending.front().is_some_and(is_done) {
            let first = self.pending.pop_front();
            if let Some((stream, memory)) = first.and_then(|one| Some((one.stream, one.memory?))) {
                self.inlet.give_back(stream, memory);
            }
        }
    }

    /// Ends the recording when no member can ever take an append of `bytes`, unless it outlasts the
    /// pins that keep all of them. Behind its last byte only a pin that is being freed is waited
    /// for.
    fn end_if_out_of_room(&mut self, bytes: u32, now: Timestamp) {
        let is_freed = || self.members.iter().any(MemberWriter::is_getting_room);
        let may_come = self.ending.is_none() || self.pinning.is_changing() || is_freed();
        let waits = may_come && self.may_outlast_pins();
        if !self.can_ever_take(bytes) && !waits {
            self.end_without_room(now);
        }
    }

    /// Whether some member has space for an append of `bytes`, whatever it waits for.
    fn can_ever_take(&self, bytes: u32) -> bool {
        let has_hope = |member: &MemberWriter| {
            member.state == MemberState::Active && member.has_room_for_data(bytes)
        };
        self.members.iter().any(has_hope) && !self.lacks_protected_room()
    }

    /// Whether it goes on without space on any member, because freeing a pin gives some.
    fn may_outlast_pins(&self) -> bool {
        let gets_some = |member: &MemberWriter| member.works() && member.has_last_slot();
        self.setup.ring && self.setup.outlasts_pins && self.members.iter().any(gets_some)
    }

    /// Whether what was accepted waits until a pin is freed.
    pub(super) fn waits_for_pins(&self) -> bool {
        let first = self.pending.front().map(Filled::append_bytes);
        self.may_outlast_pins() && first.is_some_and(|bytes| !self.can_ever_take(bytes))
    }

    /// Whether pins leave no space, or left none when it ended.
    pub(super) fn is_left_nothing(&self) -> bool {
        let keeps_all =
            |member: &MemberWriter| member.state != MemberState::Failed && member.has_last_slot();
        let has_ended_so =
            || self.is_out_of_room && self.setup.ring && self.members.iter().any(keeps_all);
        self.waits_for_pins() || has_ended_so()
    }

    /// Gives up everything that was accepted and not written, and accounts for it as gaps.
    pub(super) fn end_without_room(&mut self, now: Timestamp) {
        // One that is left alone takes nothing, and is no room that has become full.
        let takes_any = |member: &MemberWriter| member.works() && !member.setup.is_left_alone;
        let all_failed = !self.members.iter().any(takes_any);
        let ending = match self.ending {
            _ if all_failed => Ending::Error,
            // It had gone on without space, until its sources ended.
            Some(ending) if self.may_outlast_pins() => ending,
            _ => Ending::Full,
        };
        self.ending = None;
        self.is_out_of_room = true;
        self.end(ending, now);
        while let Some(filled) = self.pending.pop_front() {
            self.give_up(filled);
        }
        // Appends that are there already belong into the same accounts.
        self.give_up_late(now);
    }

    /// Gives up appends that come in after the end of the recording. They were accepted before, and
    /// are lost.
    pub(super) fn give_up_late(&mut self, now: Timestamp) {
        while !self.is_inlet_empty && self.is_out_of_room {
            match self.inlet.poll(now) {
                Polled::Append(filled) => self.give_up(filled),
                Polled::Nothing(at) => {
                    self.inlet_at = at;
                    return;
                }
                Polled::Ended(_) => {
                    self.is_inlet_empty = true;
                    self.has_changed = true;
                }
                Polled::Cut => self.end_by_cut(now),
            }
        }
    }

    /// Begins to write the account of a gap, if this member can hold it.
    fn begin_account(&mut self, queue: usize, now: Timestamp) -> Option<Request> {
        let ledgers = &self.ledgers;
        self.accounts.retain(|account| {
            !ledgers[usize::from(account.stream)].has_for_good(account.start_bytes())
        });
        // The accounts of other streams have to wait for data of those streams that comes before
        // them.
        let is_next = |account: &Filled| {
            let ledger = &self.ledgers[usize::from(account.stream)];
            account.start_bytes() <= ledger.next_offset_bytes()
        };
        let index = self.accounts.iter().position(is_next)?;
        let bytes = self.accounts[index].append_bytes();
        let takes = |member: &MemberWriter| {
            member.works() && member.start.is_some() && member.has_room_for_account(bytes)
        };
        // As with data, a member that does not answer gets no account, unless there is no other.
        let others = || self.members.iter().filter(|member| !member.is_slow);
        let member = &self.members[queue];
        let is_open = takes(member) && (!member.is_slow || !others().any(takes));
        if is_open && self.may_append(member) && member.may_begin_slot_for(bytes) {
            let buffer = self.controls[queue].take()?;
            let mut account = self.accounts.remove(index)?;
            account.memory = Some(PayloadMemory::Own(buffer));
            return Some(self.place(queue, account, now));
        }
        let has_hope = |member: &MemberWriter| {
            // A member that was full before its start cannot hold anything.
            let may_begin = member.start.is_some() || member.state == MemberState::Active;
            member.works() && may_begin && member.has_room_for_account(bytes)
        };
        if !self.members.iter().any(has_hope) {
            self.account_in_result_only(now);
        }
        None
    }

    /// No member can hold an account, so only the result will have it. End marks still count the
    /// frames, so they must know the times between which the frames may lie.
    pub(super) fn account_in_result_only(&mut self, now: Timestamp) {
        let now_ns = self.setup.unix_clock.unix_ns(now);
        let mut accounts = Vec::from(std::mem::take(&mut self.accounts));
        accounts.sort_by_key(|account| (account.stream, account.start_bytes()));
        for mut account in accounts {
            let ledger = &self.ledgers[usize::from(account.stream)];
            if account.start_bytes() > ledger.next_offset_bytes() {
                // Data of its stream that comes before it still waits.
                self.accounts.push_back(account);
            } else {
                self.enter_in_ledger(&mut account);
                let ledger = &mut self.ledgers[usize::from(account.stream)];
                let times_ns = account.times_ns();
                times_ns.for_each(|time_ns| ledger.add_time(time_ns, now_ns));
            }
        }
    }

    /// Enters an append into its stream's ledger, unless it was there before.
    fn enter_in_ledger(&mut self, filled: &mut Filled) {
        let start_bytes = filled.start_bytes();
        let ledger = &mut self.ledgers[usize::from(filled.stream)];
        if start_bytes >= ledger.next_offset_bytes() {
            let lost_frames = filled.gap.map_or(0, |gap| gap.frames);
            filled.first_frame = Some(ledger.frames() + lost_frames);
            let entry = LedgerEntry {
                start_bytes,
                end_bytes: filled.end_bytes(),
                gap_bytes: filled.gap.map_or(0, |gap| gap.bytes),
                frames: filled.frames_begun + lost_frames,
            };
            ledger.hand_out(entry);
            if let Some(protection) = &mut self.protection {
                protection.ledgers[usize::from(filled.stream)].hand_out(entry);
            }
            let meter = &mut self.frame_meters[usize::from(filled.stream)];
            if meter.is_some() || !filled.marks.is_empty() {
                let start_ns = self.setup.unix_clock.unix_ns(self.setup.start);
                let meter = meter.get_or_insert_with(|| Box::new(FrameMeter::new(start_ns)));
                meter.enter(filled);
            }
        }
    }

    /// Builds the write that puts an append on a member.
    fn place(&mut self, queue: usize, mut filled: Filled, now: Timestamp) -> Request {
        let bytes = filled.append_bytes();
        let sequence = self.take_sequence();
        let made_time_ns = self.setup.unix_clock.unix_ns(now);
        let group = self.choose_group(queue, bytes, now);
        let place = self.members[queue].take_place(bytes, sequence, made_time_ns);
        self.enter_in_ledger(&mut filled);
        self.members[queue].stream_bytes[usize::from(filled.stream)] +=
            u64::from(filled.payload_bytes);
        let ledger = &mut self.ledgers[usize::from(filled.stream)];
        filled
            .times_ns()
            .for_each(|time_ns| ledger.add_time(time_ns, made_time_ns));
        let mut descriptor = Descriptor {
            stream: filled.stream,
            gap: filled.gap,
            stream_offset_bytes: filled.stream_offset_bytes,
            payload_bytes: filled.payload_bytes,
            marks_bytes: filled.marks.len() as u32,
            marks_crc: crc32c(&filled.marks),
            first_frame: filled.first_frame.unwrap_or(0),
            first_time_ns: filled.first_time_ns,
            last_time_ns: filled.last_time_ns,
            checksums: std::mem::take(&mut filled.checksums),
            parity_group: group.map_or(0, |group| group.of(sequence)),
            ..self.descriptor(queue, place, bytes, sequence, made_time_ns)
        };
        if !descriptor.has_room_for_drifts() {
            descriptor.drifts.clear();
        }
        self.members[queue].previous = Some(place);
        let is_lent = matches!(filled.memory, Some(PayloadMemory::Lent(_)));
        let vectors = match filled.memory.take() {
            Some(memory) => write::compose(memory, &descriptor, &filled.marks),
            None => Vectors::None,
        };
        if let Some(group) = group {
            self.join_group(group, (&descriptor, queue), &filled, &vectors, now);
        }
        // The checksums are kept in case the append must go to another member.
        filled.checksums = descriptor.checksums;
        self.data_in_flight += 1;
        let data = RequestPurpose::Data {
            payload: PayloadView::of(&vectors, filled.payload_bytes),
            filled,
            place,
            sequence,
            is_sole: true,
            is_lent,
        };
        let request = Request {
            operation: Operation::Write,
            offset_bytes: member_offset(&self.members[queue], place),
            vectors,
            durable: self.setup.durability.each,
            ..Request::flush(queue)
        };
        self.enter(request, data, now)
    }

    /// Finishes the write of an append.
    pub(super) fn landed(&mut self, queue: usize, written: Written, completion: Completion) {
        let Written {
            mut filled,
            place,
            sequence,
            mut is_sole,
            has_failed,
        } = written;
        self.data_in_flight -= 1;
        let bytes = filled.append_bytes();
        self.members[queue].landed(place, bytes);
        if !is_sole && !has_failed && self.members[queue].works() {
            is_sole = self.take_back_copy(&filled);
        }
        if is_sole {
            let now = completion.completed_at;
            self.end_waits_since = self.end_waits_since.max(now);
        }
        let is_account = filled.payload_bytes == 0;
        let mut memory = write::take_apart(completion.request.vectors, is_account);
        let has_landed = !has_failed && self.members[queue].works();
        // The buffer of an account belongs to this member, wherever the account goes next.
        if let Some(memory) = memory.take_if(|_| is_account || has_landed) {
            self.give_back(queue, filled.stream, memory);
        }
        if !has_landed {
            filled.memory = memory;
            self.not_landed(queue, filled, is_sole);
            self.part_lost(sequence, completion.completed_at);
            return;
        }
        let (submitted_at, now) = (completion.submitted_at, completion.completed_at);
        let start_ns = self.setup.start;
        let stream = usize::from(filled.stream);
        let member = &mut self.members[queue];
        member.rate.completed(
            submitted_at.since_ns(start_ns),
            now.since_ns(start_ns),
            u64::from(bytes),
        );
        member.written_bytes += u64::from(filled.payload_bytes);
        if is_sole {
            self.written_latency[stream].record(
                now.since_ns(filled.accepted_at),
                now.since_ns(start_ns),
                filled.stream_offset_bytes,
            );
        }
        if self.setup.durability.each {
            let member = &mut self.members[queue];
            member.made_durable(sequence, place);
            member.durable_stream_bytes[stream] += u64::from(filled.payload_bytes);
            self.durable(stream, filled.start_bytes(), filled.begun_at, now);
            self.part_durable(sequence, now);
            return;
        }
        let one = Unflushed::of_data(&filled, sequence, place, is_sole);
        self.members[queue].wrote(one, bytes, now);
    }

    /// Deals with an append that is not on its member, because the member has failed or the kernel
    /// could not write it.
    fn not_landed(&mut self, queue: usize, mut filled: Filled, is_sole: bool) {
        if !is_sole {
            self.give_back_lent(&mut filled);
        } else if self.members[queue].works() && filled.payload_bytes > 0 {
            // Another member would not do better.
            self.give_up(filled);
        } else {
            self.send_elsewhere(filled);
        }
    }

    /// Sends an append to another member: its own has failed, but it is still in memory.
    fn send_elsewhere(&mut self, mut filled: Filled) {
        if self.has_other(filled.stream, filled.start_bytes()) {
            self.give_back_lent(&mut filled);
        } else if filled.payload_bytes == 0 {
            self.accounts.push_front(filled);
        } else if self.is_out_of_room {
            self.give_up(filled);
        } else {
            self.pending.push_front(filled);
        }
    }

    /// Gives back lent memory of an append that is on no member.
    pub(super) fn give_back_lent(&mut self, filled: &mut Filled) {
        if let Some(memory) = filled.memory.take() {
            self.inlet.give_back(filled.stream, memory);
        }
    }

    /// Notes that an append is durable.
    pub(super) fn durable(
        &mut self,
        stream: usize,
        start_bytes: u64,
        begun_at: Timestamp,
        now: Timestamp,
    ) {
        let watermark_bytes = self.ledgers[stream].watermark_bytes();
        if !self.ledgers[stream].durable(start_bytes) {
            return;
        }
        if let Some(meter) = &mut self.frame_meters[stream] {
            let settled_bytes = self.ledgers[stream].watermark_bytes();
            meter.settled(settled_bytes, self.setup.unix_clock.unix_ns(now));
        }
        self.durable_latency[stream].record(
            now.since_ns(begun_at),
            now.since_ns(self.setup.start),
            watermark_bytes,
        );
    }
}
