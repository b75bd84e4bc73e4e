//! Completes a store after a crash, for `sustain recover`: it writes the missing end mark, and
//! superblocks that are whole and up to date. Nothing depends on it, because readers find the same
//! without it.

mod losses;

use std::collections::BTreeMap;

use sustain_disk::clock::UnixClock;

use crate::error::RecordError;
use crate::format::{
    AppendPlace, BLOCK_BYTES, CONTROL_STREAM, ClockDrift, Descriptor, EndNote, Kind,
    PieceChecksums, Position, STREAMS_MAX, StreamTotal, Superblock, TornNote, append_bytes_for,
    crc32c, encode_append,
};
use crate::member_io::ReadOrder;
use crate::opening::{MemberTail, Recording};
use crate::reading::bytes::SharedBytes;
use crate::reading::examine::{Slot, examine};
use crate::store::{OpenMember, Renewal, Store, next_slot, superblocks};

/// What `recover` has written.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Recovered {
    /// The recording that was given an end mark.
    pub recording: Option<u32>,
    /// The names of the members on which the end mark was written.
    pub marked: Vec<String>,
    /// Whether superblocks were damaged or not up to date, and have been renewed.
    pub superblocks_renewed: bool,
    /// Number of start and end marks that were durable and are lost. `verify` calls them bad.
    pub lost_marks: u64,
    /// Bytes that were recorded, and that are on no member any more or cannot be read, as far as
    /// that shows without reading all. Where a ring has gone round, a recording that seems to lack
    /// some is read, and damaged bytes of it count, too. `verify` calls them bad.
    pub lost_bytes: u64,
    /// Those of `lost_bytes` that are no unreadable blocks behind what was durable, by the numbers
    /// of their recording and their stream.
    pub holes: BTreeMap<u32, BTreeMap<u16, u64>>,
    /// Notes for the user.
    pub notes: Vec<String>,
}

impl Store {
    /// Gives the newest recording an end mark if it has none, and renews superblocks that are
    /// damaged or not up to date. `recordings` comes from [`Store::recordings`], and the store must
    /// be open for recording. Where nothing is to be done, nothing is written. `observer` is told
    /// the bytes of each stretch that had to be read.
    ///
    /// # Errors
    /// [`RecordError::Request`] if a member cannot be read or written; [`RecordError::Engine`].
    pub fn recover(
        &mut self,
        recordings: &[Recording],
        observer: &mut dyn FnMut(u64),
    ) -> Result<Recovered, RecordError> {
        let mut recovered = Recovered::default();
        let mut slots_begun: Vec<u64> = self.members.iter().map(begun_as_hinted).collect();
        for ((begun, tail), member) in slots_begun.iter_mut().zip(&self.tails).zip(&self.members) {
            if !self.is_left_alone(member) {
                *begun = (*begun).max(tail.newest_serial.map_or(0, |newest| newest + 1));
            }
        }
        let mut have_end = vec![false; self.members.len()];
        if recordings.first().is_some_and(|newest| newest.open_end) {
            // The end mark will promise what is found whole now, so it must be durable before.
            self.flush()?;
        }
        let tail = self.report_losses(recordings, &mut recovered, observer)?;
        let mut newest_first = recordings.iter();
        if let (Some(newest), Some(tail)) = (newest_first.next(), tail) {
            let starts = self.whole_starts()?;
            let marks = self.marks_for(newest, &starts, tail.torn, &mut recovered.notes);
            self.write_marks(&marks)?;
            for mark in &marks {
                have_end[mark.member] = true;
                slots_begun[mark.member] = mark.descriptor.place.slot_serial + 1;
                recovered
                    .marked
                    .push(self.members[mark.member].name.clone());
            }
            recovered.recording = (!marks.is_empty()).then_some(newest.number);
        }
        for older in newest_first.filter(|recording| recording.open_end) {
            recovered.notes.push(format!(
                "recording {} has an open end, and other recordings follow it, so there is no \
                 place for an end mark. It can be read all the same",
                older.number
            ));
        }
        let hinted: Vec<u64> = self.members.iter().map(begun_as_hinted).collect();
        if hinted != slots_begun || !self.has_whole_superblocks()? {
            let renewal = match recovered.marked.is_empty() {
                true => Renewal::AtRest,
                false => Renewal::Ended(&have_end),
            };
            self.renew_superblocks(&slots_begun, renewal)?;
            recovered.superblocks_renewed = true;
        }
        Ok(recovered)
    }

    /// The end marks to write: one for each member that holds part of the recording and has a free
    /// slot.
    fn marks_for(
        &self,
        recording: &Recording,
        whole_starts: &[bool],
        torn: Vec<TornNote>,
        notes: &mut Vec<String>,
    ) -> Vec<EndMark> {
        let note = end_note(recording, torn);
        let now_ns = UnixClock::read(self.clock()).unix_ns(self.clock().now());
        let mut sequence = self.first_sequence();
        let mut marks = Vec::new();
        let members = self.members.iter().zip(&self.tails).enumerate();
        // Behind the end mark of one that lacks something, nobody would look for that.
        for (index, (member, tail)) in members.filter(|(_, (one, _))| !self.is_left_alone(one)) {
            let is_of_recording = |last: &&Descriptor| last.recording_id == recording.id;
            let Some(last) = tail.last.as_ref().filter(is_of_recording) else {
                continue;
            };
            let slot_count = member.superblock.geometry.slot_count;
            let serial = next_slot(member, tail).unwrap_or(u64::MAX);
            let lap_before =
                |start: AppendPlace| start.slot_serial.saturating_add(slot_count) <= serial;
            let is_free = serial < slot_count
                || recording.ring && !last.start.is_some_and(lap_before) && serial < u64::MAX - 1;
            if !is_free {
                notes.push(format!(
                    "{}: it is full and has no slot for an end mark. Recording {} can be read \
                     all the same",
                    member.name, recording.number
                ));
                continue;
            }
            let place = AppendPlace {
                slot_serial: serial,
                slot_offset_bytes: 0,
            };
            let made_time_ns = now_ns.max(last.made_time_ns);
            let note = EndNote {
                follows_end: has_lost_end(recording, member).then_some(true),
                start_was_whole: Some(whole_starts[index]),
                ..note.clone()
            };
            let note = note.to_json();
            let mark = EndMark {
                member: index,
                descriptor: end_descriptor(recording, last, place, sequence, made_time_ns, &note),
                payload: note,
            };
            marks.push(mark);
            sequence = sequence.saturating_add(1);
        }
        marks
    }

    /// By member, whether the newest start there is whole. Of a recording without bytes nothing
    /// else tells later whether a crash or something else has damaged it.
    fn whole_starts(&self) -> Result<Vec<bool>, RecordError> {
        let mut io = self.io()?;
        let mut is_whole = |(index, (member, tail)): (usize, (&OpenMember, &MemberTail))| {
            let Some(start) = tail.start else {
                return false;
            };
            let identity = member.identity();
            let slot_start = AppendPlace {
                slot_offset_bytes: 0,
                ..start
            };
            let offset_bytes = identity.geometry.offset_of(slot_start);
            let slot_bytes = identity.geometry.slot_bytes as usize;
            let Ok(bytes) = io.read(index, offset_bytes, slot_bytes) else {
                return false;
            };
            let slot = Slot {
                member: index,
                serial: start.slot_serial,
                bytes: &SharedBytes::from(bytes),
                unreadable: &[],
                restored_at_bytes: &[],
            };
            let found = examine(&identity, slot).into_iter();
            let mut starts = found.filter(|found| found.origin.descriptor.place == start);
            starts.any(|found| found.damaged.is_empty() && found.origin.sealed)
        };
        let members = self.members.iter().zip(&self.tails).enumerate();
        let whole = members.map(&mut is_whole).collect();
        io.check_engine()?;
        Ok(whole)
    }

    /// Flushes all members, because an end mark follows a flush of everything that it accounts for.
    fn flush(&self) -> Result<(), RecordError> {
        superblocks::write_blocks(&mut self.io()?, &self.names(), &[])
    }

    fn write_marks(&self, marks: &[EndMark]) -> Result<(), RecordError> {
        if marks.is_empty() {
            return Ok(());
        }
        let mut io = self.io()?;
        let blocks: Vec<(usize, u64, Vec<u8>)> = marks
            .iter()
            .map(|mark| {
                let geometry = &self.members[mark.member].superblock.geometry;
                let offset_bytes = geometry.offset_of(mark.descriptor.place);
                let bytes = encode_append(&mark.descriptor, &mark.payload, &[]);
                (mark.member, offset_bytes, bytes)
            })
            .collect();
        superblocks::write_blocks(&mut io, &self.names(), &blocks)
    }

    fn names(&self) -> Vec<(usize, &str)> {
        let members = self.members.iter().enumerate();
        members
            .map(|(index, member)| (index, member.name.as_str()))
            .collect()
    }

    /// Whether all four copies on every member are valid and of one generation.
    fn has_whole_superblocks(&self) -> Result<bool, RecordError> {
        let mut io = self.io()?;
        let mut orders = Vec::new();
        let members = self.members.iter().enumerate();
        for (member, open) in members.filter(|(_, open)| !self.is_left_alone(open)) {
            let offsets = open.superblock.geometry.superblock_offsets();
            orders.extend(offsets.map(|offset_bytes| ReadOrder {
                member,
                offset_bytes,
                length_bytes: BLOCK_BYTES,
            }));
        }
        let blocks = io.read_all(&orders);
        io.check_engine()?;
        let is_whole = |(order, block): (&ReadOrder, Result<Vec<u8>, _>)| {
            let newest = &self.members[order.member].superblock;
            block.is_ok_and(|block| Superblock::decode(&block).as_ref() == Ok(newest))
        };
        Ok(orders.iter().zip(blocks).all(is_whole))
    }
}

fn begun_as_hinted(member: &OpenMember) -> u64 {
    member.superblock.slots_begun
}

/// Whether an end mark of it was durable on a member and is not found.
fn has_lost_end(recording: &Recording, member: &OpenMember) -> bool {
    let extent = recording.per_member.get(member.index()).copied().flatten();
    extent.is_some_and(|extent| extent.lost_end.is_some())
}

/// An end mark for one member.
struct EndMark {
    /// Its index in the store's `members`.
    member: usize,
    descriptor: Descriptor,
    payload: Vec<u8>,
}

/// The end of each stream as a reader finds it, and what is torn before it.
fn end_note(recording: &Recording, torn: Vec<TornNote>) -> EndNote {
    let streams = recording
        .streams
        .iter()
        .take(STREAMS_MAX)
        .map(|stream| StreamTotal {
            offered: stream.offered_bytes,
            recorded: stream.recorded_bytes,
            gap_bytes: stream.gap_bytes,
            frames: stream.frames,
        });
    EndNote {
        ended: EndNote::RECOVERED.to_owned(),
        streams: streams.collect(),
        torn,
        follows_end: None,
        start_was_whole: None,
        protected_bytes: None,
    }
}

fn end_descriptor(
    recording: &Recording,
    last: &Descriptor,
    place: AppendPlace,
    sequence: u64,
    made_time_ns: i64,
    note: &[u8],
) -> Descriptor {
    let mut checksums = PieceChecksums::new();
    checksums.push(note);
    let positions = recording
        .streams
        .iter()
        .enumerate()
        .map(|(number, stream)| Position {
            next_offset_bytes: stream.offered_bytes,
            // Nothing more comes, so bytes that are missing below this are lost.
            settled_offset_bytes: stream.offered_bytes,
            frames: stream.frames,
            gap_bytes: stream.gap_bytes,
            member_bytes: last
                .positions
                .get(number)
                .map_or(0, |position| position.member_bytes),
        });
    let drifts: Option<Vec<ClockDrift>> = recording
        .streams
        .iter()
        .map(|stream| stream.drift)
        .collect();
    let mut end = Descriptor {
        kind: Kind::End,
        place,
        append_bytes: append_bytes_for(note.len() as u32, 0),
        sequence,
        stream: CONTROL_STREAM,
        gap: None,
        stream_offset_bytes: 0,
        payload_bytes: note.len() as u32,
        marks_bytes: 0,
        marks_crc: crc32c(&[]),
        first_time_ns: made_time_ns,
        last_time_ns: made_time_ns,
        made_time_ns,
        previous: Some(last.place),
        flushed_sequence: last.sequence,
        parity_group: 0,
        parity_role: 0,
        first_frame: 0,
        positions: positions.collect(),
        checksums: checksums.take(),
        drifts: drifts.unwrap_or_default(),
        ..last.clone()
    };
    if !end.has_room_for_drifts() {
        end.drifts.clear();
    }
    end
}

#[cfg(test)]
mod tests {
    use sustain_disk::engine::Operation;

    use super::*;
    use crate::format::{Geometry, SLOT_BYTES_MIN, SlotCourse};
    use crate::member_io::GIVEN_UP_AFTER_NS;
    use crate::reading::pump::{MemberReads, Pump, ReadWindow};
    use crate::store::superblocks::tests::{CAPACITY_BYTES, patchy_engine};

    /// Reads the first slots of both members, as what is torn is read. Returns how long that took.
    fn read_both(silent: Option<Operation>) -> (Result<(), RecordError>, u64) {
        let (engine, clock) = patchy_engine(silent);
        let reads = |(member, name): (usize, &str)| MemberReads {
            member,
            name: name.to_owned(),
            geometry: Geometry::of_member(CAPACITY_BYTES, SLOT_BYTES_MIN).unwrap(),
            course: SlotCourse::new(4, &[]),
            slots: 0..4,
        };
        let members: Vec<MemberReads> = ["slow", "silent"]
            .into_iter()
            .enumerate()
            .map(reads)
            .collect();
        let window = ReadWindow::for_members(&members, None).unwrap();
        let begun_at = clock.now();
        let patience_ns = Some(GIVEN_UP_AFTER_NS);
        let mut pump = Pump::new(engine, clock.clone(), window, members, patience_ns).unwrap();
        let mut read = || {
            for member in [0, 1] {
                while pump.next(member)?.is_some() {}
            }
            Ok(())
        };
        let mut has_read = read();
        if has_read.is_err() {
            has_read = read();
        }
        (has_read, clock.now().since_ns(begun_at))
    }

    #[test]
    fn a_member_that_never_answers_is_given_up_and_named_when_its_tail_is_read() {
        let (read, waited_ns) = read_both(Some(Operation::Read));
        let error = read.unwrap_err();
        assert!(matches!(error, RecordError::Silent(_)), "{error}");
        let told = error.to_string();
        assert!(told.starts_with("read on silent at byte "), "{told}");
        assert!(waited_ns >= GIVEN_UP_AFTER_NS, "{waited_ns} ns");
    }

    #[test]
    fn a_member_that_takes_long_is_read_all_the_same() {
        let (read, waited_ns) = read_both(None);
        read.unwrap();
        assert!(waited_ns > 0, "it took long");
    }
}
