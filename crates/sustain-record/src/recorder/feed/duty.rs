//! The control records and flushes of a member: its start, its end mark, and the flushes between
//! them. The feed asks for them before it asks for data.

use sustain_disk::clock::Timestamp;
use sustain_disk::engine::{Operation, Request};
use uuid::Uuid;

use super::{CONTROL_BYTES, RecordFeed, RecordSetup, RequestPurpose};
use crate::format::{
    AppendPlace, CONTROL_STREAM, Descriptor, EndNote, Kind, PieceChecksums, PlaceNote, StartNote,
    StreamNote, StreamTotal, append_bytes_for, crc32c, payload_room,
};
use crate::recorder::filled::Filled;
use crate::recorder::inlet::Inlet;
use crate::recorder::ledger::Ledger;
use crate::recorder::member::{MemberSetup, MemberState, MemberWriter};
use crate::recorder::parity::Protection;
use crate::recorder::write;
use crate::recorder::{earlier, recording_end};

impl<I: Inlet> RecordFeed<I> {
    /// Begins what this member needs next besides data, if anything.
    pub(super) fn begin_duty(&mut self, queue: usize, now: Timestamp) -> Option<Request> {
        if let Some(request) = self.begin_superblock(queue, now) {
            return Some(request);
        }
        if self.members[queue].needs_start(self.waiting_bytes(queue))
            && self.may_make_durable(queue)
            && let Some(request) = self.begin_start(queue, now)
        {
            return Some(request);
        }
        if self.is_flush_due(queue, now) {
            self.members[queue].begin_flush();
            return Some(self.enter(Request::flush(queue), RequestPurpose::Flush, now));
        }
        if self.is_end_due(queue) {
            // The superblocks at the end would make a file that was cut off long again.
            if self.is_harmed(queue, now) {
                return None;
            }
            if self.members[queue].setup.is_left_alone {
                self.close_member(queue);
                return None;
            }
            let note = self.end_note();
            let request = self.begin_control(queue, Kind::End, &note, now);
            if request.is_none() {
                // A member without space for an end mark ends without one; the others have it.
                self.close_member(queue);
            }
            return request;
        }
        None
    }

    /// The longest of the appends that may be placed next on this member. For one that it can never
    /// take beside a start, starts would be repeated without end.
    fn waiting_bytes(&self, queue: usize) -> Option<u32> {
        let account = self.accounts.front().map(Filled::append_bytes);
        let data = self.pending.front().map(Filled::append_bytes);
        let data = data.filter(|bytes| self.members[queue].has_room_for_data(*bytes));
        let parity = self.waiting_parity_bytes(queue);
        let parity = parity.filter(|bytes| self.members[queue].has_room_for_parity(*bytes));
        account.max(data).max(parity)
    }

    fn begin_start(&mut self, queue: usize, now: Timestamp) -> Option<Request> {
        if !self.members[queue].begin_slot_for_start() {
            return None;
        }
        let mut start = start_note(&self.setup, &self.members[queue].setup);
        let room_bytes = payload_room(start_room_bytes(self.slot_bytes()) as usize);
        earlier::add_earlier(&self.setup.earlier, &self.members, &mut start, room_bytes);
        let note = start.to_json();
        let request = self.begin_control(queue, Kind::Start, &note, now);
        if request.is_none() && !self.members[queue].has_room_for_start(note.len()) {
            self.members[queue].state = MemberState::Full;
        }
        request
    }

    fn slot_bytes(&self) -> u32 {
        let geometries = self.members.iter().map(|member| &member.setup.geometry);
        geometries
            .map(|geometry| geometry.slot_bytes)
            .min()
            .unwrap_or(0)
    }

    fn is_flush_due(&self, queue: usize, now: Timestamp) -> bool {
        let member = &self.members[queue];
        let Some(since) = member.unflushed_since else {
            return false;
        };
        let is_last = self.is_drained() && member.in_flight == 0;
        let is_due = is_last
            || now >= since + self.setup.durability.interval_ns / 2
            || member.unflushed_bytes >= self.setup.durability.bytes
            || member.needs_flush_for_slots();
        is_due && self.may_make_durable(queue)
    }

    /// Whether a flush, a start or an end mark may begin.
    pub(super) fn may_make_durable(&self, queue: usize) -> bool {
        self.members[queue].may_make_durable(self.setup.durability.each)
    }

    /// Whether appends of data may begin. Where each is durable by itself, the rule for flushes
    /// applies.
    pub(super) fn may_append(&self, member: &MemberWriter) -> bool {
        let is_each_durable = self.setup.durability.each;
        let waits = is_each_durable && member.setup.shares_errors;
        !waits || member.may_make_durable(is_each_durable)
    }

    /// Whether all data is in flight or further.
    fn is_drained(&self) -> bool {
        // The sources learn late that the members are full, and may have handed over more since.
        let has_all = self.ending.is_some() && self.is_inlet_empty;
        let is_protected = self.protection.as_ref().is_none_or(Protection::is_idle);
        has_all && self.pending.is_empty() && self.accounts.is_empty() && is_protected
    }

    fn is_end_due(&self, queue: usize) -> bool {
        let is_quiet = |member: &MemberWriter| {
            if member.works() {
                member.has_begun() && member.is_quiet()
            } else {
                member.flushing.is_none()
            }
        };
        self.is_drained()
            && !self.pinning.is_changing()
            && self.data_in_flight == 0
            // A superblock may still be on its way to a member that does not answer.
            && self.may_make_durable(queue)
            && self.members.iter().all(is_quiet)
    }

    fn end_note(&self) -> Vec<u8> {
        let ended = self
            .ending
            .map_or("", |ending| recording_end(ending, self.is_cut()).name());
        let streams = self.ledgers.iter().map(|ledger| StreamTotal {
            offered: ledger.next_offset_bytes(),
            recorded: ledger.recorded_bytes(),
            gap_bytes: ledger.gap_bytes(),
            frames: ledger.frames(),
        });
        EndNote {
            ended: ended.to_owned(),
            streams: streams.collect(),
            torn: Vec::new(),
            follows_end: None,
            start_was_whole: None,
            protected_bytes: self.protected_bytes(),
        }
        .to_json()
    }

    /// Begins the write of a start or an end mark, if it fits. It is durable when it completes.
    fn begin_control(
        &mut self,
        queue: usize,
        kind: Kind,
        note: &[u8],
        now: Timestamp,
    ) -> Option<Request> {
        let bytes = append_bytes_for(note.len() as u32, 0);
        if !self.members[queue].has_room_for_mark(bytes) {
            return None;
        }
        let buffer = self.controls[queue].take()?;
        let mut checksums = PieceChecksums::new();
        checksums.push(note);
        let sequence = self.take_sequence();
        let now_ns = self.setup.unix_clock.unix_ns(now);
        let place = self.members[queue].take_place(bytes, sequence, now_ns);
        let own_start = (kind == Kind::Start).then_some(place);
        let member = &self.members[queue];
        let mut descriptor = Descriptor {
            kind,
            stream: CONTROL_STREAM,
            payload_bytes: note.len() as u32,
            checksums: checksums.take(),
            first_time_ns: now_ns,
            last_time_ns: now_ns,
            start: own_start.or(member.start),
            ..self.descriptor(queue, place, bytes, sequence, now_ns)
        };
        if !descriptor.has_room_for_drifts() {
            descriptor.drifts.clear();
        }
        self.members[queue].previous = Some(place);
        self.members[queue].marking = Some(kind);
        let memory = write::with_payload(buffer, note);
        let vectors = write::compose(memory, &descriptor, &[]);
        let request = Request {
            operation: Operation::Write,
            offset_bytes: member_offset(&self.members[queue], place),
            vectors,
            durable: true,
            ..Request::flush(queue)
        };
        let mark = RequestPurpose::Control {
            kind,
            place,
            bytes,
            sequence,
        };
        Some(self.enter(request, mark, now))
    }

    /// Makes a descriptor with the fields that all kinds have in common.
    pub(super) fn descriptor(
        &self,
        queue: usize,
        place: AppendPlace,
        append_bytes: u32,
        sequence: u64,
        made_time_ns: i64,
    ) -> Descriptor {
        let member = &self.members[queue];
        let positions = self
            .ledgers
            .iter()
            .zip(&member.stream_bytes)
            .map(|(ledger, member_bytes)| ledger.position(*member_bytes))
            .collect();
        let recording_id: Uuid = self.setup.recording_id;
        Descriptor {
            kind: Kind::Data,
            store: self.setup.store,
            member: member.setup.uuid,
            place,
            append_bytes,
            sequence,
            recording: self.setup.recording,
            recording_id,
            stream: 0,
            gap: None,
            stream_offset_bytes: 0,
            payload_bytes: 0,
            marks_bytes: 0,
            marks_crc: crc32c(&[]),
            first_time_ns: made_time_ns,
            last_time_ns: made_time_ns,
            made_time_ns,
            previous: member.previous,
            start: member.start,
            flushed_sequence: member.flushed_sequence(),
            parity_group: 0,
            parity_role: 0,
            first_frame: 0,
            positions,
            checksums: Vec::new(),
            drifts: self.ledgers.iter().map(Ledger::drift).collect(),
        }
    }

    /// Notes that a start or an end mark is on the medium, or that its member has failed.
    pub(super) fn marked(&mut self, queue: usize, kind: Kind, place: AppendPlace, sequence: u64) {
        let member = &mut self.members[queue];
        member.marking = None;
        if !member.works() {
            return;
        }
        member.made_durable(sequence, place);
        match kind {
            Kind::End => {
                member.has_end = true;
                self.close_member(queue);
            }
            Kind::Start | Kind::Data | Kind::Parity => {
                member.start = Some(place);
                self.board.note_begun();
            }
        }
    }

    fn close_member(&mut self, queue: usize) {
        self.members[queue].state = MemberState::Closed;
        self.has_changed = true;
    }

    /// Notes that a flush is complete, or has failed.
    pub(super) fn flushed(&mut self, queue: usize, now: Timestamp, is_ok: bool) {
        let flushed = self.members[queue].flushing.take().unwrap_or_default();
        if !is_ok {
            let flushed = flushed.into_iter();
            flushed.for_each(|one| self.lose_written(one, now));
            return;
        }
        for one in flushed {
            let member = &mut self.members[queue];
            member.made_durable(one.sequence, one.place);
            if !one.is_parity() {
                let stream = usize::from(one.stream);
                member.durable_stream_bytes[stream] += u64::from(one.payload_bytes);
                self.durable(stream, one.start_bytes, one.begun_at, now);
            }
            self.part_durable(one.sequence, now);
        }
        self.flushes += 1;
        self.show(now, true);
    }
}

/// The most that a start may take on a member with slots of this size.
pub(in crate::recorder) fn start_room_bytes(slot_bytes: u32) -> u32 {
    (slot_bytes / 2).min(CONTROL_BYTES as u32)
}

/// The most that a start takes on a member with this set-up, if it names no earlier recordings.
pub(in crate::recorder) fn start_bytes_max(setup: &RecordSetup) -> u32 {
    let farthest = AppendPlace {
        slot_serial: u64::MAX,
        slot_offset_bytes: u32::MAX,
    };
    let start = StartNote {
        previous_start: Some(farthest.into()),
        follows_end: Some(false),
        end_slot: Some(u64::MAX),
        ..start_note(setup, &setup.members[0])
    };
    append_bytes_for(start.to_json().len() as u32, 0)
}

fn start_note(setup: &RecordSetup, member: &MemberSetup) -> StartNote {
    let streams = setup.streams.iter().map(|stream| StreamNote {
        name: stream.name.clone(),
        framing: stream.framing.clone(),
        source: stream.source.clone(),
    });
    StartNote {
        started_ns: setup.unix_clock.unix_ns(setup.start),
        tool: setup.tool.clone(),
        ring: setup.ring,
        parities: setup
            .parity
            .as_ref()
            .map_or(0, |parity| parity.parities as u16),
        streams: streams.collect(),
        previous_start: member.previous_start.map(PlaceNote::from),
        follows_end: Some(member.follows_end),
        end_slot: member.end_slot,
        copies_of: None,
        absent: setup.absent.clone(),
        earlier: Vec::new(),
    }
}

/// The offset of a place on its member.
pub(super) fn member_offset(member: &MemberWriter, place: AppendPlace) -> u64 {
    member.setup.geometry.offset_of(place)
}
