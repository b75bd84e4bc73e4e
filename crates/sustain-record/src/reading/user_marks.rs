//! Finds the marks that users set in a recording, without reading its data: by bisection over each
//! member's slots for the one with a mark, of which only that mark and the descriptors are read. A
//! recording of terabytes with a few marks takes a few hundred reads of one block.

use std::collections::{BTreeMap, HashMap};
use std::convert::Infallible;
use std::ops::Range;

use sustain_document::control::UserMark;

use super::scope::Scope;
use crate::error::RecordError;
use crate::format::{
    AppendPlace, BLOCK_BYTES, Descriptor, Kind, MARKS_FRAMING, Position, payload_range,
    verify_payload,
};
use crate::member_io::MemberIo;
use crate::opening::{Recording, StreamSummary};
use crate::store::Store;
use crate::walk::{Head, divide};

/// Behind a descriptor that is damaged the next one is looked for within so many bytes.
const SEARCH_BYTES: u64 = 2 << 20;

/// So many slots are looked through at most for a mark that was placed late: those of a minute at a
/// gigabyte a second.
const LATER_SLOTS_MAX: u64 = 8192;

/// So many marks are looked for at most, found or not.
const LOOKED_FOR_MAX: usize = 1 << 20;

/// The marks of a recording, as far as they can be read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FoundMarks {
    /// Those that were found, in the order of their numbers.
    pub marks: Vec<UserMark>,
    /// Marks that were set, found or not.
    pub made: u64,
    /// The first so many marks lay in what a ring has overwritten.
    pub overwritten_first: u64,
    /// Marks behind these that were looked for and are not there, by their numbers from 1.
    pub missing: BTreeMap<u64, MarkLoss>,
}

/// Why a mark is not there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MarkLoss {
    /// A ring has overwritten it.
    Overwritten,
    /// No member took it: the store was full, or its members had failed.
    NotKept,
    /// It is damaged, was not durable when a crash came, or is on a member that is not there.
    NotFound,
}

impl FoundMarks {
    /// How many marks are not there for this reason, as far as they were looked for.
    pub fn missing_count(&self, loss: MarkLoss) -> u64 {
        let missing = self.missing.values().filter(|one| **one == loss).count() as u64;
        match loss {
            MarkLoss::Overwritten => missing + self.overwritten_first,
            MarkLoss::NotKept | MarkLoss::NotFound => missing,
        }
    }

    /// Why the mark of this number is not there; `None` if it is, or was not looked for.
    pub fn loss_of(&self, number: u64) -> Option<MarkLoss> {
        if (1..=self.overwritten_first).contains(&number) {
            return Some(MarkLoss::Overwritten);
        }
        self.missing.get(&number).copied()
    }
}

impl StreamSummary {
    /// Whether it is the stream of a recording's marks.
    pub fn is_marks(&self) -> bool {
        self.framing.as_deref() == Some(MARKS_FRAMING)
    }
}

/// Finds the newest marks of a recording, at most so many. Those that are not there do not count.
///
/// # Errors
/// If the members cannot be driven. What cannot be read is left out.
pub fn find_marks(
    store: &Store,
    recording: &Recording,
    at_most: u64,
) -> Result<FoundMarks, RecordError> {
    let mut streams = (0_u16..).zip(&recording.streams);
    let Some((number, stream)) = streams.find(|(_, stream)| stream.is_marks()) else {
        return Ok(FoundMarks::default());
    };
    let made = stream.frames;
    let first = stream.readable_from_frame.min(made);
    let mut found = FoundMarks {
        made,
        overwritten_first: first,
        ..FoundMarks::default()
    };
    if first == made {
        return Ok(found);
    }
    let scope = Scope::of_store(store, recording);
    let mut finder = MarkFinder {
        io: scope.open_io()?,
        scope: &scope,
        stream: number,
        // Of a store that was full to the last block, only the end mark counts what was lost.
        may_be_unreported: stream.gap_bytes > 0 && stream.hole_bytes == 0,
        may_be_overwritten: recording.ring,
        may_go_on: recording.open_end && store.is_recorded_to() != Some(false),
        known: HashMap::new(),
        appends: HashMap::new(),
    };
    for frame in (first..made).rev().take(LOOKED_FOR_MAX) {
        if found.marks.len() as u64 >= at_most {
            break;
        }
        match finder.mark(frame) {
            Ok(mark) => found.marks.push(mark),
            Err(loss) => {
                found.missing.insert(frame + 1, loss);
            }
        }
    }
    found.marks.reverse();
    finder.io.check_engine()?;
    Ok(found)
}

/// Looks for marks, and remembers what it has learned of slots.
struct MarkFinder<'a> {
    scope: &'a Scope,
    stream: u16,
    io: MemberIo,
    /// Whether marks may have been lost without an account on a member.
    may_be_unreported: bool,
    may_be_overwritten: bool,
    /// Whether a recorder may overwrite slots while marks are looked for.
    may_go_on: bool,
    /// By member and serial of a slot, how far the marks had come before its first append; `None`
    /// where that cannot be read.
    known: HashMap<(usize, u64), Option<Position>>,
    /// By member and serial of a slot, the appends of marks in it.
    appends: HashMap<(usize, u64), Vec<MarkAppend>>,
}

/// An append of the stream of marks. It has one mark, or tells of lost ones, or both.
#[derive(Debug, Clone)]
struct MarkAppend {
    place: AppendPlace,
    /// The mark in it, counted from 0.
    frame: Option<u64>,
    /// Marks that were lost before it.
    lost: Range<u64>,
}

impl MarkFinder<'_> {
    /// The mark with this number, counted from 0, or why it is not there.
    fn mark(&mut self, frame: u64) -> Result<UserMark, MarkLoss> {
        let (mut is_lost, mut is_before) = (false, false);
        let all = self.scope.members.iter().enumerate();
        let with_part = all.filter(|(_, member)| !member.slots.is_empty());
        let members: Vec<usize> = with_part.map(|(member, _)| member).collect();
        for member in members.iter().copied() {
            let serial = self.slot_of(member, frame);
            if let Some(mark) = self.mark_in(member, serial, frame, &mut is_lost) {
                return Ok(mark);
            }
            is_before |= self.is_before_oldest(member, frame);
        }
        // Where a member had not answered or had failed, another one took the mark, or what tells
        // of its loss, some slots behind.
        for member in members {
            for serial in self.later_slots(member, frame) {
                if let Some(mark) = self.mark_in(member, serial, frame, &mut is_lost) {
                    return Ok(mark);
                }
            }
        }
        Err(match (is_lost, is_before && self.may_be_overwritten) {
            (true, _) => MarkLoss::NotKept,
            (false, true) => MarkLoss::Overwritten,
            (false, false) if self.may_be_unreported => MarkLoss::NotKept,
            (false, false) => MarkLoss::NotFound,
        })
    }

    /// Whether the mark was set before all that is there on a member. While it is recorded to, a
    /// ring may have overwritten the oldest slots since they were found.
    fn is_before_oldest(&mut self, member: usize, frame: u64) -> bool {
        let of_scope = &self.scope.members[member];
        let oldest = of_scope.slots.start;
        let passed_over_max = match self.may_go_on {
            true => LATER_SLOTS_MAX,
            false => 0,
        };
        let following = of_scope.course.following(oldest, passed_over_max);
        let mut serials = std::iter::once(oldest)
            .chain(following.take_while(|serial| *serial < of_scope.slots.end));
        let before = serials.find_map(|serial| self.marks_before(member, serial));
        before.is_some_and(|before| before > frame)
    }

    /// The mark with this number, if it is whole in this slot, and whether the slot tells that it
    /// was lost.
    fn mark_in(
        &mut self,
        member: usize,
        serial: u64,
        frame: u64,
        is_lost: &mut bool,
    ) -> Option<UserMark> {
        let appends = self.appends_in(member, serial);
        *is_lost |= appends.iter().any(|append| append.lost.contains(&frame));
        let places = appends.iter().filter(|append| append.frame == Some(frame));
        let places: Vec<AppendPlace> = places.map(|append| append.place).collect();
        places
            .into_iter()
            .find_map(|place| self.read(member, place))
            .filter(|mark| mark.number == frame + 1)
    }

    /// The slots behind that of [`MarkFinder::slot_of`] that were begun before the mark was
    /// settled: nothing of it lies behind these.
    fn later_slots(&mut self, member: usize, frame: u64) -> Vec<u64> {
        let of_scope = &self.scope.members[member];
        let found = self.slot_of(member, frame);
        let following = of_scope.course.following(found, LATER_SLOTS_MAX);
        let mut later = Vec::new();
        let mut end_bytes = None;
        for serial in following.take_while(|serial| *serial < of_scope.slots.end) {
            if let Some(position) = self.position_before(member, serial) {
                let end_bytes = *end_bytes.get_or_insert(position.next_offset_bytes);
                if position.settled_offset_bytes >= end_bytes {
                    break;
                }
            }
            later.push(serial);
        }
        later
    }

    /// The last slot before whose first append no more than these marks were set: if the next mark
    /// lies on this member, it lies there.
    fn slot_of(&mut self, member: usize, frame: u64) -> u64 {
        let of_scope = &self.scope.members[member];
        let count = |serial| Ok::<_, Infallible>(self.marks_before(member, serial));
        let is_before = |count: &u64| *count <= frame;
        let Ok(divided) = divide(&of_scope.course, &of_scope.slots, count, is_before);
        divided.slot
    }

    fn marks_before(&mut self, member: usize, serial: u64) -> Option<u64> {
        Some(self.position_before(member, serial)?.frames)
    }

    fn position_before(&mut self, member: usize, serial: u64) -> Option<Position> {
        if let Some(known) = self.known.get(&(member, serial)) {
            return *known;
        }
        let place = AppendPlace {
            slot_serial: serial,
            slot_offset_bytes: 0,
        };
        let first = self.descriptor(member, place);
        let position = first.map(|first| first.position_before(usize::from(self.stream)));
        self.known.insert((member, serial), position);
        position
    }

    /// The descriptor of an append of this recording.
    fn descriptor(&mut self, member: usize, place: AppendPlace) -> Option<Box<Descriptor>> {
        let identity = &self.scope.members[member].identity;
        let offset_bytes = identity.geometry.offset_of(place);
        let block = self.io.read(member, offset_bytes, BLOCK_BYTES).ok()?;
        match identity.head_at(place, &block)? {
            Head::Append(descriptor, _) if descriptor.recording_id == self.scope.recording_id => {
                Some(descriptor)
            }
            Head::Append(..) | Head::Skip(_) => None,
        }
    }

    /// The appends of marks in this slot.
    fn appends_in(&mut self, member: usize, serial: u64) -> &[MarkAppend] {
        let is_known = self.appends.contains_key(&(member, serial));
        if !is_known {
            let found = self.look_in(member, serial);
            self.appends.insert((member, serial), found);
        }
        let found = self.appends.get(&(member, serial));
        found.map_or(&[], Vec::as_slice)
    }

    fn look_in(&mut self, member: usize, serial: u64) -> Vec<MarkAppend> {
        let slot_bytes = self.scope.members[member].identity.geometry.slot_bytes;
        let mut found = Vec::new();
        let mut place = AppendPlace {
            slot_serial: serial,
            slot_offset_bytes: 0,
        };
        while place.slot_offset_bytes < slot_bytes {
            let Some(descriptor) = self.descriptor(member, place) else {
                let Some(next) = self.next_behind(member, place) else {
                    break;
                };
                place = next;
                continue;
            };
            if descriptor.kind == Kind::Data && descriptor.stream == self.stream {
                let first = descriptor.first_frame;
                let lost = descriptor.gap.map_or(0, |gap| gap.frames);
                found.push(MarkAppend {
                    place,
                    frame: (descriptor.payload_bytes > 0).then_some(first),
                    lost: first.saturating_sub(lost)..first,
                });
            }
            place.slot_offset_bytes += descriptor.append_bytes;
        }
        found
    }

    /// The place of the next append behind a block that begins none.
    fn next_behind(&mut self, member: usize, place: AppendPlace) -> Option<AppendPlace> {
        let identity = &self.scope.members[member].identity;
        let block = BLOCK_BYTES as u32;
        let start = place.slot_offset_bytes + block;
        let end = u64::from(identity.geometry.slot_bytes).min(u64::from(start) + SEARCH_BYTES);
        let at = |slot_offset_bytes| AppendPlace {
            slot_offset_bytes,
            ..place
        };
        let length = end.saturating_sub(u64::from(start)) as usize;
        let offset_bytes = identity.geometry.offset_of(at(start));
        let bytes = self.io.read(member, offset_bytes, length).ok()?;
        let mut places = (start..)
            .step_by(BLOCK_BYTES)
            .zip(bytes.chunks(BLOCK_BYTES));
        let found = places.find(|(offset, bytes)| identity.head_at(at(*offset), bytes).is_some());
        found.map(|(offset, _)| at(offset))
    }

    fn read(&mut self, member: usize, place: AppendPlace) -> Option<UserMark> {
        let descriptor = self.descriptor(member, place)?;
        let geometry = self.scope.members[member].identity.geometry;
        let range = payload_range(&descriptor);
        let offset_bytes = geometry.offset_of(place) + range.start as u64;
        let payload = self.io.read(member, offset_bytes, range.len()).ok()?;
        let is_whole = verify_payload(&descriptor, &payload).is_empty();
        is_whole.then(|| serde_json::from_slice(&payload).ok())?
    }
}
