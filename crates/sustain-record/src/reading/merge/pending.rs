//! The ranges of one stream that have been found and not handed over. They do not overlap. It is
//! pure, and only the merge uses it. Of two appends for one range, whole data with its frame marks
//! wins over data without, that over a gap, and a gap over damage.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use super::{CheckedPart, Ready};
use crate::format::{BLOCK_BYTES, Gap, PIECE_BYTES, crc32c};
use crate::reading::bytes::SharedBytes;
use crate::reading::part::{HoleReason, Origin, StreamPart};

/// The part of a stream that is not handed over yet.
#[derive(Debug)]
pub(super) struct Pending {
    /// Everything below this is handed over.
    done_bytes: u64,
    /// What is missing below this will not come any more.
    settled_bytes: u64,
    /// Entries by their start, all at or above `done_bytes`.
    entries: BTreeMap<u64, Entry>,
    /// Gaps of frames without a byte, by place.
    counted: BTreeMap<u64, Gap>,
    last_counted: Option<u64>,
    /// Starts of data that came since [`Pending::hold`].
    fresh: Vec<u64>,
}

#[derive(Debug)]
struct Entry {
    end_bytes: u64,
    what: RangeState,
}

/// What is known of a range.
#[derive(Debug, Clone)]
enum RangeState {
    Data {
        stored: Stored,
        origin: Arc<Origin>,
        /// Offset in the payload of its append at which it begins.
        start: u32,
    },
    Gap(Gap),
    Lost(HoleReason, Option<Arc<Origin>>),
}

/// Where waiting data is stored.
#[derive(Debug, Clone)]
pub(super) enum Stored {
    /// It is in a read buffer, which must not be held for long.
    Passing(SharedBytes),
    /// It is in a copy.
    Held(SharedBytes),
    /// It is on its member only.
    Elsewhere,
}

/// The next item to hand over.
#[derive(Debug)]
pub(super) struct Waiting {
    length_bytes: u64,
    what: RangeState,
}

/// Data of a stream that is on its member only: it was found to be whole, and dropped from memory.
#[derive(Debug, Clone)]
pub struct Elsewhere {
    /// Offset of the first byte in its stream.
    pub offset_bytes: u64,
    /// The append that it belongs to.
    pub origin: Arc<Origin>,
    /// The range in the append's payload.
    pub range: Range<u32>,
}

impl Elsewhere {
    /// The range on the member that must be read for [`Elsewhere::check`].
    pub fn on_member(&self) -> Range<u64> {
        let pieces = self.pieces();
        let payload = self.origin.offset_bytes + BLOCK_BYTES as u64;
        payload + u64::from(pieces.start)..payload + u64::from(pieces.end)
    }

    /// Returns the bytes as parts where their checksums are still right, and holes where they are
    /// not. `read` is `None` if they could not be read.
    pub fn check(&self, read: Option<&SharedBytes>) -> Vec<StreamPart> {
        let pieces = self.pieces();
        let mut parts = Vec::new();
        for start in pieces.clone().step_by(PIECE_BYTES) {
            let end = pieces.end.min(start.saturating_add(PIECE_BYTES as u32));
            let of_piece = (start - pieces.start) as usize..(end - pieces.start) as usize;
            let kept = start.max(self.range.start)..end.min(self.range.end);
            let offset_bytes = self.offset_bytes + u64::from(kept.start - self.range.start);
            let checksum = self.origin.descriptor.checksums[start as usize / PIECE_BYTES];
            let piece = read.filter(|read| {
                let piece = read.get(of_piece.clone());
                piece.is_some_and(|piece| crc32c(piece) == checksum)
            });
            parts.push(match piece {
                Some(read) => StreamPart::Data {
                    offset_bytes,
                    bytes: read.slice(
                        (kept.start - pieces.start) as usize..(kept.end - pieces.start) as usize,
                    ),
                    origin: Arc::clone(&self.origin),
                },
                None => StreamPart::Hole {
                    offset_bytes,
                    length_bytes: u64::from(kept.end - kept.start),
                    why: HoleReason::Damaged {
                        member: self.origin.member,
                        offset_bytes: self.on_member().start + of_piece.start as u64,
                    },
                    origin: Some(Arc::clone(&self.origin)),
                },
            });
        }
        parts
    }

    /// The pieces with a checksum each that cover the range.
    fn pieces(&self) -> Range<u32> {
        let piece_bytes = PIECE_BYTES as u32;
        let start = self.range.start - self.range.start % piece_bytes;
        let end = u64::from(self.range.end).next_multiple_of(u64::from(piece_bytes));
        start..end.min(u64::from(self.origin.descriptor.payload_bytes)) as u32
    }
}

impl Pending {
    pub(super) fn new(start_bytes: u64) -> Pending {
        Pending {
            done_bytes: start_bytes,
            settled_bytes: start_bytes,
            entries: BTreeMap::new(),
            counted: BTreeMap::new(),
            last_counted: None,
            fresh: Vec::new(),
        }
    }

    pub(super) fn done_bytes(&self) -> u64 {
        self.done_bytes
    }

    /// The end of everything that was found.
    pub(super) fn end_bytes(&self) -> u64 {
        let last = self.entries.last_key_value();
        last.map_or(self.done_bytes, |(_, entry)| entry.end_bytes)
    }

    /// Takes note that nothing below this will come any more.
    pub(super) fn settle(&mut self, settled_bytes: u64) {
        self.settled_bytes = self.settled_bytes.max(settled_bytes);
    }

    /// Takes in the gap and the payload of an append of this stream.
    pub(super) fn insert_append(&mut self, append: &CheckedPart) {
        let descriptor = &append.origin.descriptor;
        let base = descriptor.stream_offset_bytes;
        if let Some(gap) = descriptor.gap {
            self.insert_gap(base, gap);
        }
        let mut at = 0;
        for (damaged, why) in &append.damaged {
            self.insert_data(append, at..damaged.start);
            let range = base + u64::from(damaged.start)..base + u64::from(damaged.end);
            let origin = Some(Arc::clone(&append.origin));
            self.insert(range, &RangeState::Lost(*why, origin));
            at = damaged.end;
        }
        self.insert_data(append, at..descriptor.payload_bytes);
    }

    /// The next item that is certain: whole data that follows what is done, or anything that is
    /// settled. Where an append was only half written, another one with the same data, and its
    /// marks, may follow.
    pub(super) fn pop(&mut self) -> Option<(u64, Waiting)> {
        let start = self.done_bytes;
        if let Some(entry) = self.counted.first_entry().filter(|e| *e.key() <= start) {
            self.last_counted = Some(*entry.key());
            let what = RangeState::Gap(entry.remove());
            let waiting = Waiting {
                length_bytes: 0,
                what,
            };
            return Some((start, waiting));
        }
        let first = self.entries.first_key_value();
        let what = match first {
            Some((at, entry)) if *at == start => {
                if !entry.what.is_best() && entry.end_bytes > self.settled_bytes {
                    return None;
                }
                let (_, entry) = self.entries.pop_first()?;
                self.done_bytes = entry.end_bytes;
                entry.what
            }
            later => {
                let known = later.map_or(u64::MAX, |(at, _)| *at);
                let end = known.min(self.settled_bytes);
                if end <= start {
                    return None;
                }
                self.done_bytes = end;
                RangeState::Lost(HoleReason::Missing, None)
            }
        };
        let waiting = Waiting {
            length_bytes: self.done_bytes - start,
            what,
        };
        Some((start, waiting))
    }

    /// Lets go of the read buffers of what has to wait: it is copied as long as `room_bytes`
    /// allows. Returns how much was copied.
    pub(super) fn hold(&mut self, room_bytes: u64) -> u64 {
        let mut held_bytes = 0;
        for start in std::mem::take(&mut self.fresh) {
            let Some(entry) = self.entries.get_mut(&start) else {
                continue;
            };
            if let RangeState::Data { stored, .. } = &mut entry.what
                && let Stored::Passing(bytes) = stored
            {
                let length_bytes = bytes.len() as u64;
                *stored = if held_bytes + length_bytes <= room_bytes {
                    held_bytes += length_bytes;
                    Stored::Held(bytes.detached())
                } else {
                    Stored::Elsewhere
                };
            }
        }
        held_bytes
    }

    /// Takes in a gap that ends at this byte of the stream.
    pub(super) fn insert_gap(&mut self, end_bytes: u64, gap: Gap) {
        if gap.bytes > 0 {
            self.insert(end_bytes - gap.bytes..end_bytes, &RangeState::Gap(gap));
        } else if end_bytes >= self.done_bytes && self.last_counted != Some(end_bytes) {
            self.counted.insert(end_bytes, gap);
        }
    }

    fn insert_data(&mut self, append: &CheckedPart, range: Range<u32>) {
        if range.is_empty() {
            return;
        }
        let base = append.origin.descriptor.stream_offset_bytes;
        let what = RangeState::Data {
            stored: Stored::Passing(
                append
                    .payload
                    .slice(range.start as usize..range.end as usize),
            ),
            origin: Arc::clone(&append.origin),
            start: range.start,
        };
        self.insert(
            base + u64::from(range.start)..base + u64::from(range.end),
            &what,
        );
    }

    /// Enters what is known of a range, where nothing better is known.
    fn insert(&mut self, range: Range<u64>, what: &RangeState) {
        let mut at = range.start.max(self.done_bytes);
        while at < range.end {
            let Some((start, entry)) = self.overlapping(at, range.end) else {
                self.put(at..range.end, what.part(&range, &(at..range.end)));
                return;
            };
            let end = entry.end_bytes;
            if entry.what.rank() >= what.rank() {
                if at < start {
                    self.put(at..start, what.part(&range, &(at..start)));
                }
                at = end;
                continue;
            }
            // The better entry takes the place. What reaches beyond it on either side stays.
            let Some(Entry { what: old, .. }) = self.entries.remove(&start) else {
                return;
            };
            if start < at {
                self.put(start..at, old.part(&(start..end), &(start..at)));
            }
            if range.end < end {
                self.put(range.end..end, old.part(&(start..end), &(range.end..end)));
            }
        }
    }

    fn put(&mut self, range: Range<u64>, what: RangeState) {
        if matches!(what, RangeState::Data { .. }) {
            self.fresh.push(range.start);
        }
        let end_bytes = range.end;
        self.entries.insert(range.start, Entry { end_bytes, what });
    }

    /// The first entry that reaches into a range.
    fn overlapping(&self, start: u64, end: u64) -> Option<(u64, &Entry)> {
        let before = self.entries.range(..=start).next_back();
        before
            .filter(|(_, entry)| entry.end_bytes > start)
            .or_else(|| self.entries.range(start..end).next())
            .map(|(at, entry)| (*at, entry))
    }
}

impl RangeState {
    /// Whether nothing better can come.
    fn is_best(&self) -> bool {
        matches!(self, RangeState::Data { origin, .. } if origin.marks.is_some())
    }

    fn rank(&self) -> u8 {
        match self {
            RangeState::Data { .. } if self.is_best() => 3,
            RangeState::Data { .. } => 2,
            RangeState::Gap(_) => 1,
            RangeState::Lost(..) => 0,
        }
    }

    /// What is known of a part of `whole`. Frames that were lost count where the gap ends.
    fn part(&self, whole: &Range<u64>, part: &Range<u64>) -> RangeState {
        let skip = part.start - whole.start;
        match self {
            RangeState::Data {
                stored,
                origin,
                start,
            } => {
                let cut = skip as usize..(part.end - whole.start) as usize;
                let stored = match stored {
                    Stored::Passing(bytes) => Stored::Passing(bytes.slice(cut)),
                    Stored::Held(bytes) => Stored::Held(bytes.slice(cut)),
                    Stored::Elsewhere => Stored::Elsewhere,
                };
                RangeState::Data {
                    stored,
                    origin: Arc::clone(origin),
                    start: start + skip as u32,
                }
            }
            RangeState::Gap(gap) => RangeState::Gap(*gap),
            RangeState::Lost(why, origin) => RangeState::Lost(*why, origin.clone()),
        }
    }
}

impl Waiting {
    /// The bytes of it that the merge itself holds.
    pub(super) fn held_bytes(&self) -> u64 {
        match &self.what {
            RangeState::Data {
                stored: Stored::Held(bytes),
                ..
            } => bytes.len() as u64,
            _ => 0,
        }
    }

    pub(super) fn into_ready(self, stream: u16, offset_bytes: u64) -> Ready {
        let length_bytes = self.length_bytes;
        let part = match self.what {
            RangeState::Data {
                stored: Stored::Elsewhere,
                origin,
                start,
            } => {
                let range = start..start + length_bytes as u32;
                let elsewhere = Elsewhere {
                    offset_bytes,
                    origin,
                    range,
                };
                return Ready::Elsewhere(stream, elsewhere);
            }
            RangeState::Data {
                stored: Stored::Passing(bytes) | Stored::Held(bytes),
                origin,
                ..
            } => StreamPart::Data {
                offset_bytes,
                bytes,
                origin,
            },
            RangeState::Gap(gap) => StreamPart::Gap {
                offset_bytes,
                length_bytes,
                reason: gap.reason,
                first_time_ns: gap.first_time_ns,
                last_time_ns: gap.last_time_ns,
                frames: gap.frames,
            },
            RangeState::Lost(why, origin) => StreamPart::Hole {
                offset_bytes,
                length_bytes,
                why,
                origin,
            },
        };
        Ready::Part(stream, part)
    }
}
