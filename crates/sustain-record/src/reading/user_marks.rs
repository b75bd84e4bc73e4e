//! Finds the marks that users set in a recording, without reading its data: by bisection over each
//! member's slots for the append of a mark, which is read by itself. A recording of terabytes with
//! a few marks takes a few hundred reads of one block.

use std::collections::HashMap;
use std::ops::Range;

use sustain_document::control::UserMark;

use super::scope::Scope;
use crate::error::RecordError;
use crate::format::{
    AppendPlace, BLOCK_BYTES, Descriptor, Kind, MARKS_FRAMING, payload_range, verify_payload,
};
use crate::member_io::MemberIo;
use crate::opening::{Recording, StreamSummary};
use crate::store::Store;
use crate::walk::Head;

/// Behind a descriptor that is damaged the next one is looked for within so many bytes.
const SEARCH_BYTES: u64 = 2 << 20;

/// The marks of a recording, as far as they can be read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FoundMarks {
    /// Those that were found, in the order of their numbers.
    pub marks: Vec<UserMark>,
    /// Marks that were set, found or not.
    pub made: u64,
}

impl StreamSummary {
    /// Whether it is the stream of a recording's marks.
    pub fn is_marks(&self) -> bool {
        self.framing.as_deref() == Some(MARKS_FRAMING)
    }
}

/// Finds the newest marks of a recording, at most so many.
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
    let first = stream.readable_from_frame.max(made.saturating_sub(at_most));
    let marks = find(&Scope::of_store(store, recording), number, first..made)?;
    Ok(FoundMarks { marks, made })
}

/// Finds the marks with these numbers, counted from 0, in a stream of marks.
fn find(scope: &Scope, stream: u16, frames: Range<u64>) -> Result<Vec<UserMark>, RecordError> {
    if frames.is_empty() {
        return Ok(Vec::new());
    }
    let mut finder = MarkFinder {
        scope,
        stream,
        io: scope.open_io()?,
        known: HashMap::new(),
    };
    let found = frames.filter_map(|frame| finder.mark(frame)).collect();
    finder.io.check_engine()?;
    Ok(found)
}

/// Looks for marks, and remembers what it has learned of slots.
struct MarkFinder<'a> {
    scope: &'a Scope,
    stream: u16,
    io: MemberIo,
    /// By member and serial of a slot, how many marks were set before its first append; `None`
    /// where that cannot be read.
    known: HashMap<(usize, u64), Option<u64>>,
}

impl MarkFinder<'_> {
    fn mark(&mut self, frame: u64) -> Option<UserMark> {
        (0..self.scope.members.len()).find_map(|member| {
            let serial = self.slot_of(member, frame);
            self.mark_in(member, serial, frame)
        })
    }

    /// The last slot before whose first append no more than these marks were set: if the next mark
    /// lies on this member, it lies there.
    fn slot_of(&mut self, member: usize, frame: u64) -> u64 {
        let slots = &self.scope.members[member].slots;
        let (mut low, mut high) = (slots.start, slots.end);
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            let known = (low + 1..=middle).rev();
            let known: Option<(u64, u64)> = known
                .into_iter()
                .find_map(|serial| Some((serial, self.marks_before(member, serial)?)));
            match known {
                Some((serial, count)) if count <= frame => low = serial,
                Some((serial, _)) => high = serial,
                None => high = middle,
            }
        }
        low
    }

    fn marks_before(&mut self, member: usize, serial: u64) -> Option<u64> {
        if let Some(known) = self.known.get(&(member, serial)) {
            return *known;
        }
        let place = AppendPlace {
            slot_serial: serial,
            slot_offset_bytes: 0,
        };
        let first = self.descriptor(member, place);
        let count = first.map(|first| first.position_before(usize::from(self.stream)).frames);
        self.known.insert((member, serial), count);
        count
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

    /// The mark with this number, if it lies in this slot.
    fn mark_in(&mut self, member: usize, serial: u64, frame: u64) -> Option<UserMark> {
        let slot_bytes = self.scope.members[member].identity.geometry.slot_bytes;
        let mut place = AppendPlace {
            slot_serial: serial,
            slot_offset_bytes: 0,
        };
        while place.slot_offset_bytes < slot_bytes {
            let Some(descriptor) = self.descriptor(member, place) else {
                place = self.next_behind(member, place)?;
                continue;
            };
            let is_it = descriptor.kind == Kind::Data
                && descriptor.stream == self.stream
                && descriptor.first_frame == frame
                && descriptor.payload_bytes > 0;
            if is_it && let Some(mark) = self.read(member, &descriptor) {
                return Some(mark).filter(|mark| mark.number == frame + 1);
            }
            place.slot_offset_bytes += descriptor.append_bytes;
        }
        None
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

    fn read(&mut self, member: usize, descriptor: &Descriptor) -> Option<UserMark> {
        let geometry = self.scope.members[member].identity.geometry;
        let range = payload_range(descriptor);
        let offset_bytes = geometry.offset_of(descriptor.place) + range.start as u64;
        let payload = self.io.read(member, offset_bytes, range.len()).ok()?;
        let is_whole = verify_payload(descriptor, &payload).is_empty();
        is_whole.then(|| serde_json::from_slice(&payload).ok())?
    }
}
