//! Merges the appends of many members into the parts of streams. It is the core of reading, and
//! pure: the pipeline pushes what the members hold, in slot order, and takes the parts. It never
//! returns a byte whose checksum was not right, and never closes up a hole.
//!
//! Members are merged by sequence: an append is looked at when the next append of every member is
//! known, unless the member is at its end. So a member that is ahead waits and is not read further.
//! What still waits within a stream lies behind a range that is lost or was written again later,
//! until a position settles it. It is held in copies up to a bound. Beyond that only its place is
//! kept, and it is read again when its turn has come.

mod pending;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

pub use pending::Elsewhere;
use pending::Pending;

use super::bytes::SharedBytes;
use super::part::{HoleReason, Origin, StreamPart};
use crate::format::{Descriptor, Gap, GapReason, Kind, Position};

/// The most contradictions that are kept. More of them say nothing new.
const CONTRADICTIONS_MAX: usize = 100;

/// An append that was found, and which parts of it are whole.
#[derive(Debug, Clone)]
pub struct CheckedPart {
    /// Where it was found, and its descriptor and marks.
    pub origin: Arc<Origin>,
    /// The payload. Where it is damaged it may hold anything.
    pub payload: SharedBytes,
    /// The damaged parts of the payload, apart from each other and in order, from its start.
    pub damaged: Vec<(Range<u32>, HoleReason)>,
}

/// The request for one stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wanted {
    /// Number of the stream.
    pub stream: u16,
    /// The first byte to be returned.
    pub from_bytes: u64,
    /// Below this the ring has overwritten the stream.
    pub readable_from_bytes: u64,
    /// Bytes that were offered, if the recording has an end mark.
    pub offered_bytes: Option<u64>,
    /// Bytes that were durable before reading began, while it is recorded to: what is not found of
    /// them is lost, even if nothing at all is found.
    pub durable_bytes: u64,
    /// Whether the recording ended because its store was full, and all that was recorded of it was
    /// kept: then the sums in its end mark tell which bytes behind all data were never recorded.
    pub has_filled_store: bool,
}

/// An item that the merge returns.
#[derive(Debug, Clone)]
pub enum Ready {
    /// The next part of a stream.
    Part(u16, StreamPart),
    /// Bytes that had to be dropped from memory: they are the next part of their stream, once they
    /// have been read again and checked. See [`Elsewhere::check`].
    Elsewhere(u16, Elsewhere),
}

/// Merges the appends of one recording.
#[derive(Debug)]
pub struct Merge {
    members: Vec<Member>,
    streams: Vec<Stream>,
    ready: VecDeque<Ready>,
    /// The most bytes that may be held while they wait within streams.
    hold_bytes_max: u64,
    held_bytes: u64,
    is_finished: bool,
    contradictions: Vec<Contradiction>,
}

#[derive(Debug, Default)]
struct Member {
    queue: VecDeque<CheckedPart>,
    is_at_end: bool,
}

#[derive(Debug)]
struct Stream {
    number: u16,
    pending: Pending,
    offered_bytes: Option<u64>,
    /// The farthest byte that any descriptor names.
    known_bytes: u64,
    /// The position in the descriptor before.
    position: Position,
    /// The position in the descriptor of the last append with data, of whatever stream.
    data_position: Position,
    /// Whether an account behind that one tells of a gap of this stream that lies before it.
    has_older_gap: bool,
    has_filled_store: bool,
}

/// A descriptor that takes back what one of a smaller sequence said of a stream.
#[derive(Debug, Clone)]
pub struct Contradiction {
    /// The stream.
    pub stream: u16,
    /// The append of the descriptor.
    pub origin: Arc<Origin>,
}

impl Merge {
    /// Makes a merge of `member_count` members that returns the streams that are `wanted`, and
    /// holds at most `hold_bytes_max` of what must wait.
    pub fn new(member_count: usize, wanted: &[Wanted], hold_bytes_max: u64) -> Merge {
        let mut ready = VecDeque::new();
        let streams = wanted
            .iter()
            .map(|wanted| {
                let start = wanted.from_bytes.max(wanted.readable_from_bytes);
                if start > wanted.from_bytes {
                    let overwritten = StreamPart::Overwritten {
                        offset_bytes: wanted.from_bytes,
                        length_bytes: start - wanted.from_bytes,
                    };
                    ready.push_back(Ready::Part(wanted.stream, overwritten));
                }
                Stream {
                    number: wanted.stream,
                    pending: Pending::new(start),
                    offered_bytes: wanted.offered_bytes,
                    known_bytes: start.max(wanted.durable_bytes),
                    position: Position::default(),
                    data_position: Position::default(),
                    has_older_gap: false,
                    has_filled_store: wanted.has_filled_store,
                }
            })
            .collect();
        Merge {
            members: (0..member_count).map(|_| Member::default()).collect(),
            streams,
            ready,
            hold_bytes_max,
            held_bytes: 0,
            is_finished: false,
            contradictions: Vec::new(),
        }
    }

    /// Takes the next append of a member, in slot order.
    pub fn push(&mut self, member: usize, append: CheckedPart) {
        self.members[member].queue.push_back(append);
        self.advance();
    }

    /// Takes note that a member has no more: it is at its end, missing, or has failed.
    pub fn end_member(&mut self, member: usize) {
        self.members[member].is_at_end = true;
        self.advance();
    }

    /// A member whose next append, or end, is needed to go on; `None` when all are at their end.
    pub fn needs(&self) -> Option<usize> {
        self.members.iter().position(Member::is_wanted)
    }

    /// Returns the next part of some stream, if one is ready.
    pub fn next_ready(&mut self) -> Option<Ready> {
        self.ready.pop_front()
    }

    /// Descriptors that contradict each other, as far as they were kept.
    pub fn contradictions(&self) -> &[Contradiction] {
        &self.contradictions
    }

    /// Bytes that are held while they wait.
    pub fn held_bytes(&self) -> u64 {
        self.held_bytes
    }

    fn advance(&mut self) {
        while self.needs().is_none() {
            let first = self
                .members
                .iter()
                .enumerate()
                .filter_map(|(index, member)| {
                    let append = member.queue.front()?;
                    Some((append.origin.descriptor.sequence, index))
                })
                .min();
            let Some((_, index)) = first else {
                self.finish();
                return;
            };
            let append = self.members[index].queue.pop_front();
            append.into_iter().for_each(|append| self.take(&append));
        }
    }

    /// Takes the append that is next in sequence.
    fn take(&mut self, append: &CheckedPart) {
        let descriptor = &append.origin.descriptor;
        for index in 0..self.streams.len() {
            let stream = &mut self.streams[index];
            if descriptor.kind == Kind::Data && descriptor.stream == stream.number {
                stream.pending.insert_append(append);
                let known_bytes = stream.data_position.next_offset_bytes;
                stream.has_older_gap |=
                    descriptor.payload_bytes == 0 && descriptor.stream_offset_bytes <= known_bytes;
            }
            if let Some(position) = descriptor.positions.get(usize::from(stream.number)) {
                stream.known_bytes = stream.known_bytes.max(position.next_offset_bytes);
                stream.pending.settle(position.settled_offset_bytes);
                // Parity and starts that were made again for a lost member repeat what an append
                // before them told.
                if matches!(descriptor.kind, Kind::Data | Kind::End) {
                    let room = CONTRADICTIONS_MAX - self.contradictions.len();
                    if falls(&stream.position, position) && room > 0 {
                        self.contradictions.push(Contradiction {
                            stream: stream.number,
                            origin: Arc::clone(&append.origin),
                        });
                    }
                    stream.position = *position;
                }
                if descriptor.kind == Kind::Data && descriptor.payload_bytes > 0 {
                    stream.data_position = *position;
                    stream.has_older_gap = false;
                }
                if descriptor.kind == Kind::End
                    && stream.has_filled_store
                    && !stream.has_older_gap
                    && let Some(gap) = unfound_gap(&stream.data_position, position, descriptor)
                {
                    stream.pending.insert_gap(position.next_offset_bytes, gap);
                }
            }
            self.drain(index);
        }
    }

    /// Hands over what is certain of a stream, and copies what waits, so that no read buffer is
    /// held.
    fn drain(&mut self, index: usize) {
        let stream = &mut self.streams[index];
        while let Some((offset_bytes, waiting)) = stream.pending.pop() {
            self.held_bytes -= waiting.held_bytes();
            self.ready
                .push_back(waiting.into_ready(stream.number, offset_bytes));
        }
        let room_bytes = self.hold_bytes_max.saturating_sub(self.held_bytes);
        self.held_bytes += stream.pending.hold(room_bytes);
    }

    /// Ends the merge when all members are at their end. What has not come is lost.
    fn finish(&mut self) {
        if self.is_finished {
            return;
        }
        self.is_finished = true;
        for index in 0..self.streams.len() {
            let stream = &mut self.streams[index];
            let end_bytes = stream.offered_bytes.unwrap_or(0).max(stream.known_bytes);
            stream
                .pending
                .settle(end_bytes.max(stream.pending.end_bytes()));
            self.drain(index);
            let stream = &self.streams[index];
            if stream.offered_bytes.is_none() {
                let offset_bytes = stream.pending.done_bytes();
                let open = StreamPart::OpenEnd { offset_bytes };
                self.ready.push_back(Ready::Part(stream.number, open));
            }
        }
    }
}

impl Member {
    fn is_wanted(&self) -> bool {
        !self.is_at_end && self.queue.is_empty()
    }
}

/// The gap between the last append with data, which told the position `before`, and the end of a
/// stream, as the end mark tells it: if all that came between the two was lost. Its own account may
/// be on no member any more. In a full store it has a place, but parity of it has none.
fn unfound_gap(before: &Position, end: &Position, mark: &Descriptor) -> Option<Gap> {
    let came_bytes = end
        .next_offset_bytes
        .checked_sub(before.next_offset_bytes)?;
    let lost_bytes = end.gap_bytes.checked_sub(before.gap_bytes)?;
    (lost_bytes > 0 && came_bytes == lost_bytes).then_some(Gap {
        bytes: lost_bytes,
        frames: 0,
        reason: GapReason::NoRoom,
        first_time_ns: mark.made_time_ns,
        last_time_ns: mark.made_time_ns,
    })
}

/// Whether a stream seems to have gone back, which it never does.
fn falls(before: &Position, now: &Position) -> bool {
    now.next_offset_bytes < before.next_offset_bytes
        || now.settled_offset_bytes < before.settled_offset_bytes
        || now.frames < before.frames
        || now.gap_bytes < before.gap_bytes
}
