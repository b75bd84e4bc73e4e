//! Writes the copies: a recording of its own, which has no streams. So whoever is interrupted
//! leaves what a crash leaves of any recording, and copies that are whole count at once.

use sustain_disk::clock::UnixClock;
use uuid::Uuid;

use super::lanes::CopyLane;
use crate::error::RecordError;
use crate::format::{
    AppendPlace, CONTROL_STREAM, Descriptor, EndNote, Kind, StartNote, append_bytes_for, crc32c,
};
use crate::member_io::{MemberIo, QueuedWrites};
use crate::opening::{MemberTail, durable_end_slot};
use crate::repair::append::DraftAppend;
use crate::store::{OpenMember, Store};
use crate::walk::AppendIdentity;

/// A member is flushed when so many slots on it are not, as the format demands of recorders.
const UNFLUSHED_SLOTS_MAX: u64 = 8;

/// A parity, or a copy, that is to be written.
pub(super) struct CopyToWrite<'a> {
    pub(super) group: u64,
    /// Its number in the group, from 0.
    pub(super) number: usize,
    pub(super) payload: &'a [u8],
    /// The list of the group, encoded.
    pub(super) list: &'a [u8],
}

/// What is written on one member.
struct LaneWriter {
    lane: CopyLane,
    identity: AppendIdentity,
    writes: QueuedWrites,
    previous: Option<AppendPlace>,
    start: Option<AppendPlace>,
    /// The sequence of the newest append, and of the newest that is durable.
    newest_sequence: u64,
    flushed_sequence: u64,
    /// The first slot that is not flushed as a whole.
    unflushed_from_slot: u64,
}

/// Writes a recording of copies.
pub(super) struct CopiesWriter {
    lanes: Vec<LaneWriter>,
    recording: u32,
    recording_id: Uuid,
    next_sequence: u64,
    made_time_ns: i64,
}

impl CopiesWriter {
    /// Writes to these lanes of a store that is open for recording.
    pub(super) fn new(store: &Store, lanes: Vec<CopyLane>) -> CopiesWriter {
        let now_ns = UnixClock::read(store.clock()).unix_ns(store.clock().now());
        let lasts = store.tails.iter().filter_map(|tail| tail.last.as_ref());
        let last_ns = lasts.map(|last| last.made_time_ns).max();
        let writers = lanes.into_iter().filter_map(|lane| {
            let (member, tail) = of_lane(store, &lane)?;
            Some(LaneWriter {
                identity: member.identity(),
                writes: QueuedWrites::of(lane.position, &member.name),
                previous: tail.last.as_ref().map(|last| last.place),
                start: None,
                newest_sequence: 0,
                flushed_sequence: 0,
                unflushed_from_slot: 0,
                lane,
            })
        });
        CopiesWriter {
            lanes: writers.collect(),
            recording: store.next_recording(),
            recording_id: Uuid::new_v4(),
            next_sequence: store.first_sequence(),
            made_time_ns: now_ns.max(last_ns.unwrap_or(now_ns)),
        }
    }

    /// The number of the recording.
    pub(super) fn recording(&self) -> u32 {
        self.recording
    }

    /// What is free still.
    pub(super) fn lanes(&self) -> Vec<CopyLane> {
        self.lanes.iter().map(|one| one.lane.clone()).collect()
    }

    /// Writes the starts and makes them durable, before anything else is written.
    pub(super) fn start(
        &mut self,
        io: &mut MemberIo,
        store: &Store,
        member: usize,
    ) -> Result<(), RecordError> {
        for at in 0..self.lanes.len() {
            let note = self.start_note(store, &self.lanes[at].lane, member);
            self.append(io, at, Kind::Start, &note.to_json(), (0, 0, &[]))?;
        }
        self.flush(io)
    }

    fn start_note(&self, store: &Store, lane: &CopyLane, member: usize) -> StartNote {
        let found = of_lane(store, lane);
        let superblock = found.map(|(member, _)| &member.superblock);
        let previous_start = found.and_then(|(_, tail)| tail.start);
        StartNote {
            started_ns: self.made_time_ns,
            tool: concat!("sustain ", env!("CARGO_PKG_VERSION")).to_owned(),
            ring: false,
            parities: 0,
            streams: Vec::new(),
            previous_start: previous_start.map(Into::into),
            follows_end: superblock.map(|superblock| superblock.has_ended),
            end_slot: superblock.and_then(durable_end_slot),
            copies_of: Some(member as u16),
            absent: Vec::new(),
            earlier: Vec::new(),
        }
    }

    /// Writes a copy to a lane. Returns the bytes that it takes there.
    pub(super) fn copy(
        &mut self,
        io: &mut MemberIo,
        at: usize,
        copy: &CopyToWrite<'_>,
    ) -> Result<u64, RecordError> {
        let of_group = (copy.group, copy.number as u16 + 1, copy.list);
        self.append(io, at, Kind::Parity, copy.payload, of_group)
    }

    /// Makes everything durable, then writes the end marks and makes those durable. Returns, for
    /// each lane, the place of its member in the table, and the slot of its end mark.
    pub(super) fn end(&mut self, io: &mut MemberIo) -> Result<Vec<(usize, u64)>, RecordError> {
        self.flush(io)?;
        let note = EndNote {
            ended: "retired".to_owned(),
            streams: Vec::new(),
            torn: Vec::new(),
            follows_end: None,
            start_was_whole: None,
            protected_bytes: None,
        };
        let note = note.to_json();
        for at in 0..self.lanes.len() {
            self.append(io, at, Kind::End, &note, (0, 0, &[]))?;
        }
        self.flush(io)?;
        let ends = self.lanes.iter().filter_map(|one| {
            let end = one.previous?;
            Some((one.lane.member, end.slot_serial))
        });
        Ok(ends.collect())
    }

    fn flush(&mut self, io: &mut MemberIo) -> Result<(), RecordError> {
        self.lanes.iter_mut().try_for_each(|lane| lane.flush(io))
    }

    fn append(
        &mut self,
        io: &mut MemberIo,
        at: usize,
        kind: Kind,
        payload: &[u8],
        (parity_group, parity_role, marks): (u64, u16, &[u8]),
    ) -> Result<u64, RecordError> {
        let sequence = self.next_sequence;
        self.next_sequence += 1;
        let writer = &mut self.lanes[at];
        let append_bytes = append_bytes_for(payload.len() as u32, marks.len() as u32);
        let place = writer.lane.take(append_bytes);
        let place = place.expect("a lane is chosen where an append fits");
        if place.slot_serial >= writer.unflushed_from_slot + UNFLUSHED_SLOTS_MAX {
            writer.flush(io)?;
            writer.unflushed_from_slot = place.slot_serial;
        }
        if kind == Kind::Start {
            writer.start = Some(place);
        }
        let descriptor = Descriptor {
            kind,
            store: writer.identity.store,
            member: writer.identity.member,
            place,
            append_bytes,
            sequence,
            recording: self.recording,
            recording_id: self.recording_id,
            stream: CONTROL_STREAM,
            gap: None,
            stream_offset_bytes: 0,
            payload_bytes: payload.len() as u32,
            marks_bytes: marks.len() as u32,
            marks_crc: crc32c(marks),
            first_time_ns: self.made_time_ns,
            last_time_ns: self.made_time_ns,
            made_time_ns: self.made_time_ns,
            previous: writer.previous,
            start: writer.start,
            flushed_sequence: writer.flushed_sequence,
            parity_group,
            parity_role,
            first_frame: 0,
            positions: Vec::new(),
            checksums: Vec::new(),
            drifts: Vec::new(),
        };
        let append = DraftAppend::of(descriptor, payload, marks);
        writer.previous = Some(place);
        writer.newest_sequence = sequence;
        let offset_bytes = writer.identity.geometry.offset_of(place);
        writer.writes.write(io, offset_bytes, append.bytes)?;
        Ok(u64::from(append_bytes))
    }
}

impl LaneWriter {
    fn flush(&mut self, io: &mut MemberIo) -> Result<(), RecordError> {
        self.writes.flush(io)?;
        self.flushed_sequence = self.newest_sequence;
        Ok(())
    }
}

/// The member of a lane, and where it ended.
fn of_lane<'a>(store: &'a Store, lane: &CopyLane) -> Option<(&'a OpenMember, &'a MemberTail)> {
    let mut members = store.members.iter().zip(&store.tails);
    members.find(|(member, _)| member.index() == lane.member)
}
