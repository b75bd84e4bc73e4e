//! The account of one stream: how far it was handed out to members, and how far it is durable. It
//! is pure, and there is one ledger per stream.
//!
//! The watermark never passes a byte whose write and flush are not complete: the ledger keeps each
//! stretch that was handed out until it learns that the stretch is durable.

use std::collections::BTreeMap;

use crate::format::{ClockDrift, Position};

/// The account of one stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ledger {
    /// End of what was handed out.
    next_offset_bytes: u64,
    /// Frames begun in it.
    frames: u64,
    /// Bytes lost before they reached a medium, in what was handed out.
    gap_bytes: u64,
    /// Payload handed out.
    recorded_bytes: u64,
    /// Each stretch that is not durable, by its start.
    undurable: BTreeMap<u64, Undurable>,
    /// The same for stretches that are durable behind one that is not, if they have a gap.
    durable_ahead: BTreeMap<u64, u64>,
    /// How much of what lies below the watermark is gap.
    settled_gap_bytes: u64,
    /// The drift of what was handed out.
    drift: ClockDrift,
}

/// A stretch that is not durable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Undurable {
    /// How much of it is gap.
    gap_bytes: u64,
    /// Frames that begin before it.
    frames_before: u64,
}

/// One append in a ledger.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LedgerEntry {
    /// The offset at which it begins, with its gap.
    pub start_bytes: u64,
    /// Where it ends.
    pub end_bytes: u64,
    /// How much of it is gap.
    pub gap_bytes: u64,
    /// Frames that begin in it.
    pub frames: u64,
}

impl Default for Ledger {
    fn default() -> Ledger {
        Ledger {
            next_offset_bytes: 0,
            frames: 0,
            gap_bytes: 0,
            recorded_bytes: 0,
            undurable: BTreeMap::new(),
            durable_ahead: BTreeMap::new(),
            settled_gap_bytes: 0,
            drift: ClockDrift::NONE,
        }
    }
}

impl Ledger {
    /// Enters an append that is handed to a member for the first time.
    ///
    /// # Panics
    /// If it does not follow what was handed out before.
    pub fn hand_out(&mut self, stretch: LedgerEntry) {
        assert_eq!(
            stretch.start_bytes, self.next_offset_bytes,
            "a stream is handed out in order"
        );
        let undurable = Undurable {
            gap_bytes: stretch.gap_bytes,
            frames_before: self.frames,
        };
        self.undurable.insert(stretch.start_bytes, undurable);
        self.next_offset_bytes = stretch.end_bytes;
        self.frames += stretch.frames;
        self.gap_bytes += stretch.gap_bytes;
        self.recorded_bytes += stretch.end_bytes - stretch.start_bytes - stretch.gap_bytes;
    }

    /// Turns the payload of the append that begins at `start_bytes` into a gap: it was handed out
    /// and could not be written.
    pub fn lose(&mut self, start_bytes: u64, payload_bytes: u64) {
        self.gap_bytes += payload_bytes;
        self.recorded_bytes -= payload_bytes;
        if let Some(undurable) = self.undurable.get_mut(&start_bytes) {
            undurable.gap_bytes += payload_bytes;
        }
    }

    /// Divides what begins at `start_bytes` into two stretches that have an account each. The
    /// second begins at `at_bytes`, behind so many frames of the first.
    pub fn divide(&mut self, start_bytes: u64, at_bytes: u64, frames: u64) {
        let Some(first) = self.undurable.get_mut(&start_bytes) else {
            return;
        };
        let first_bytes = at_bytes - start_bytes;
        let second = Undurable {
            gap_bytes: first.gap_bytes - first_bytes,
            frames_before: first.frames_before + frames,
        };
        first.gap_bytes = first_bytes;
        self.undurable.insert(at_bytes, second);
    }

    /// Notes that the append that begins at `start_bytes` is durable. Returns whether that is new,
    /// because the append may lie on two members.
    pub fn durable(&mut self, start_bytes: u64) -> bool {
        let Some(durable) = self.undurable.remove(&start_bytes) else {
            return false;
        };
        if durable.gap_bytes > 0 {
            self.durable_ahead.insert(start_bytes, durable.gap_bytes);
        }
        let watermark_bytes = self.watermark_bytes();
        while let Some(first) = self.durable_ahead.first_entry()
            && *first.key() < watermark_bytes
        {
            self.settled_gap_bytes += first.remove();
        }
        true
    }

    /// Whether the append that begins at `start_bytes` was handed out and is durable.
    pub fn has_for_good(&self, start_bytes: u64) -> bool {
        start_bytes < self.next_offset_bytes && !self.undurable.contains_key(&start_bytes)
    }

    /// The watermark: below it every byte is durable, or is a gap whose account is durable.
    pub fn watermark_bytes(&self) -> u64 {
        self.undurable
            .first_key_value()
            .map_or(self.next_offset_bytes, |(start, _)| *start)
    }

    /// Frames that begin below the watermark.
    pub fn settled_frames(&self) -> u64 {
        self.undurable
            .first_key_value()
            .map_or(self.frames, |(_, first)| first.frames_before)
    }

    /// Payload below the watermark: every byte of it is durable.
    pub fn durable_bytes(&self) -> u64 {
        self.watermark_bytes() - self.settled_gap_bytes
    }

    /// End of what was handed out.
    pub fn next_offset_bytes(&self) -> u64 {
        self.next_offset_bytes
    }

    /// Payload that was handed out and not given up.
    pub fn recorded_bytes(&self) -> u64 {
        self.recorded_bytes
    }

    /// Bytes lost before they reached a medium.
    pub fn gap_bytes(&self) -> u64 {
        self.gap_bytes
    }

    /// Frames begun.
    pub fn frames(&self) -> u64 {
        self.frames
    }

    /// Notes a time in an append whose descriptor is made at `made_time_ns`.
    pub fn add_time(&mut self, time_ns: i64, made_time_ns: i64) {
        self.drift.add_time(time_ns, made_time_ns);
    }

    /// The drift: how far the times in what was handed out differ from the recorder's clock.
    pub fn drift(&self) -> ClockDrift {
        self.drift
    }

    /// Returns the position for a descriptor. `member_bytes` is the member's own count.
    pub fn position(&self, member_bytes: u64) -> Position {
        Position {
            next_offset_bytes: self.next_offset_bytes,
            settled_offset_bytes: self.watermark_bytes(),
            frames: self.frames,
            gap_bytes: self.gap_bytes,
            member_bytes,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hand_out(ledger: &mut Ledger, start_bytes: u64, end_bytes: u64, gap_bytes: u64) {
        ledger.hand_out(LedgerEntry {
            start_bytes,
            end_bytes,
            gap_bytes,
            frames: 1,
        });
    }

    #[test]
    fn the_watermark_waits_for_the_first_that_is_not_durable() {
        let mut ledger = Ledger::default();
        hand_out(&mut ledger, 0, 100, 0);
        hand_out(&mut ledger, 100, 250, 50);
        hand_out(&mut ledger, 250, 300, 0);
        ledger.durable(100);
        ledger.durable(250);
        assert_eq!((ledger.watermark_bytes(), ledger.durable_bytes()), (0, 0));
        ledger.durable(0);
        assert_eq!(ledger.watermark_bytes(), 300);
        assert_eq!(ledger.durable_bytes(), 250, "a gap is not durable data");
        assert_eq!((ledger.recorded_bytes(), ledger.gap_bytes()), (250, 50));
    }

    #[test]
    fn frames_are_settled_when_all_before_them_is_durable() {
        let mut ledger = Ledger::default();
        assert_eq!(ledger.settled_frames(), 0);
        hand_out(&mut ledger, 0, 100, 0);
        hand_out(&mut ledger, 100, 200, 0);
        hand_out(&mut ledger, 200, 300, 0);
        ledger.durable(100);
        assert_eq!(ledger.settled_frames(), 0);
        ledger.durable(0);
        assert_eq!(ledger.settled_frames(), 2);
        ledger.durable(200);
        assert_eq!((ledger.settled_frames(), ledger.frames()), (3, 3));
    }

    #[test]
    fn what_is_lost_after_being_handed_out_becomes_gap() {
        let mut ledger = Ledger::default();
        hand_out(&mut ledger, 0, 100, 20);
        ledger.lose(0, 80);
        assert_eq!(
            ledger.watermark_bytes(),
            0,
            "its account is still to be written"
        );
        assert_eq!((ledger.recorded_bytes(), ledger.gap_bytes()), (0, 100));
        ledger.durable(0);
        assert_eq!((ledger.watermark_bytes(), ledger.durable_bytes()), (100, 0));
    }

    #[test]
    fn the_watermark_waits_for_each_account_of_what_was_lost() {
        let mut ledger = Ledger::default();
        hand_out(&mut ledger, 0, 100, 20);
        ledger.lose(0, 80);
        ledger.divide(0, 20, 1);
        ledger.durable(20);
        assert_eq!((ledger.watermark_bytes(), ledger.durable_bytes()), (0, 0));
        ledger.durable(0);
        assert_eq!((ledger.watermark_bytes(), ledger.durable_bytes()), (100, 0));
        assert_eq!((ledger.recorded_bytes(), ledger.gap_bytes()), (0, 100));
    }

    #[test]
    #[should_panic(expected = "in order")]
    fn a_stream_has_no_unaccounted_bytes() {
        hand_out(&mut Ledger::default(), 10, 20, 0);
    }
}
