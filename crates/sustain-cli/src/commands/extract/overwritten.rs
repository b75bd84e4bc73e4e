//! Tells what a ring overwrites while it is read back from damage, as `verify` does. It never calls
//! a loss harmless that the members still have.

use std::ops::Range;

use sustain::record::reading::part::{HoleReason, StreamPart};
use sustain::record::reading::verify::{Checkable, RemainingFrom, left_by_now};
use sustain::record::store::Store;

use super::selection::Selection;

/// The most times that the members are opened again, with a pause for what is in flight.
const LOOKS_MAX: u32 = 30;
const PAUSE_NS: u64 = 50_000_000;

/// The ring that a stream is read back from, if it is one.
pub(super) struct OverwrittenRing<'a> {
    store: &'a Store,
    selection: &'a Selection<'a>,
    /// Where the rest of the stream begins, as far as is known.
    left: RemainingFrom,
    looks_left: u32,
    has_settled: bool,
}

impl<'a> OverwrittenRing<'a> {
    pub(super) fn new(store: &'a Store, selection: &'a Selection<'a>) -> OverwrittenRing<'a> {
        OverwrittenRing {
            store,
            selection,
            left: RemainingFrom::default(),
            looks_left: LOOKS_MAX,
            has_settled: false,
        }
    }

    /// The part as it is by now. What was overwritten before or meanwhile does not count as a hole.
    pub(super) fn split(&mut self, part: StreamPart) -> Vec<StreamPart> {
        let (offset_bytes, end_bytes) = (part.offset_bytes(), part.end_bytes());
        let StreamPart::Hole { why, origin, .. } = &part else {
            return vec![part];
        };
        let known_bytes = match why {
            HoleReason::WrittenOver => self.selection.stream.readable_from_bytes,
            _ => 0,
        };
        if known_bytes < end_bytes {
            self.look(|left| left.from_bytes >= end_bytes);
        }
        let left_bytes = self.left.from_bytes.max(known_bytes);
        let before_bytes = left_bytes.clamp(offset_bytes, end_bytes);
        let mut parts = Vec::new();
        if before_bytes > offset_bytes {
            parts.push(StreamPart::Overwritten {
                offset_bytes,
                length_bytes: before_bytes - offset_bytes,
            });
        }
        if before_bytes < end_bytes {
            parts.push(StreamPart::Hole {
                offset_bytes: before_bytes,
                length_bytes: end_bytes - before_bytes,
                why: *why,
                origin: origin.clone(),
            });
        }
        parts
    }

    /// Whether the rest of the stream begins behind a part, and nothing is left before.
    pub(super) fn begins_behind(&mut self, part: &StreamPart) -> bool {
        if matches!(part, StreamPart::Overwritten { .. }) && !self.has_settled {
            // A write that was in flight when this was read may have cut into what follows, too.
            self.has_settled = true;
            self.pause();
            self.look_once();
        }
        part.offset_bytes() < self.left.from_bytes
    }

    /// Returns how many of these lost frames were overwritten meanwhile. They are the first of
    /// them.
    pub(super) fn overwritten_of(&mut self, numbers: &Range<u64>) -> u64 {
        self.look(|left| left.from_frame >= numbers.end);
        let before = self.left.from_frame.clamp(numbers.start, numbers.end);
        before - numbers.start
    }

    /// The number of the oldest frame that may be left.
    pub(super) fn oldest_frame(&self) -> u64 {
        self.left.from_frame
    }

    fn pause(&self) {
        let clock = self.store.clock();
        clock.wait_until(clock.now() + PAUSE_NS);
    }

    /// Looks how far the ring has come, until that is far enough or it does not go on.
    fn look(&mut self, is_enough: impl Fn(&RemainingFrom) -> bool) {
        while !is_enough(&self.left) && self.looks_left > 0 {
            self.looks_left -= 1;
            if !self.look_once() {
                return;
            }
            if !is_enough(&self.left) {
                self.pause();
            }
        }
    }

    /// Looks once. Returns whether the ring has gone on since the store was opened.
    fn look_once(&mut self) -> bool {
        let Selection {
            recording, number, ..
        } = *self.selection;
        let store = Checkable::of(self.store, std::slice::from_ref(recording));
        let Some(left) = left_by_now(store, recording, number) else {
            return false;
        };
        if left.from_bytes > self.left.from_bytes {
            self.left = left;
        }
        true
    }
}
