//! The frames of a synthetic stream: sizes drawn evenly from a range, and where each frame begins,
//! without counting up from the first one. `Synthetic` and the recorder call it. The frames for a
//! seed must never change.
//!
//! Frames come in pairs: as much as the first is above the smallest size, the second is below the
//! largest. So either size is drawn evenly, and all pairs are equally long.

use std::ops::RangeInclusive;

use super::FRAME_BYTES_MAX;
use super::content::{self, random, seed_for};
use crate::format::MarkKind;
use crate::source::framing::FrameMark;

/// The frames of one stream, numbered from 0. They touch each other.
#[derive(Debug, Clone)]
pub struct Frames {
    smallest_bytes: u64,
    largest_bytes: u64,
    seed: u64,
}

impl Frames {
    /// Draws the sizes of frames from `frame_bytes` by the seed of the stream.
    ///
    /// # Panics
    /// If the range is empty, begins at 0 or ends above [`FRAME_BYTES_MAX`].
    pub fn new(frame_bytes: RangeInclusive<u64>, stream_seed: u64) -> Frames {
        let (smallest_bytes, largest_bytes) = frame_bytes.into_inner();
        assert!(
            0 < smallest_bytes
                && smallest_bytes <= largest_bytes
                && largest_bytes <= FRAME_BYTES_MAX,
            "frame sizes are out of bounds: {smallest_bytes}..={largest_bytes}"
        );
        Frames {
            smallest_bytes,
            largest_bytes,
            seed: seed_for(stream_seed, content::FRAMES),
        }
    }

    /// The size of a frame in bytes.
    pub fn size_bytes(&self, frame: u64) -> u64 {
        let first_bytes = self.first_of_pair_bytes(frame / 2);
        if frame.is_multiple_of(2) {
            first_bytes
        } else {
            self.pair_bytes() - first_bytes
        }
    }

    /// Returns where a frame begins in the stream, or [`u64::MAX`] if that is too far away to
    /// count.
    pub fn start_bytes(&self, frame: u64) -> u64 {
        let pairs_bytes = (frame / 2).saturating_mul(self.pair_bytes());
        if frame.is_multiple_of(2) {
            pairs_bytes
        } else {
            pairs_bytes.saturating_add(self.first_of_pair_bytes(frame / 2))
        }
    }

    /// The frame that has the byte at this position.
    pub fn containing(&self, position_bytes: u64) -> u64 {
        let pair = position_bytes / self.pair_bytes();
        let in_second = position_bytes % self.pair_bytes() >= self.first_of_pair_bytes(pair);
        // A pair has at least two bytes, so this does not overflow.
        2 * pair + u64::from(in_second)
    }

    /// Returns the first boundary between frames at or behind a position; 0 is one.
    pub(super) fn end_at_or_behind(&self, position_bytes: u64) -> u64 {
        match position_bytes.checked_sub(1) {
            Some(last_byte) => self.start_bytes(self.containing(last_byte).saturating_add(1)),
            None => 0,
        }
    }

    /// Appends the marks of `length_bytes` of the stream from `position_bytes` on, as a
    /// [`Framer`](crate::source::framing::Framer) would for these bytes.
    pub fn marks(&self, position_bytes: u64, length_bytes: usize, marks: &mut Vec<FrameMark>) {
        if length_bytes == 0 {
            return;
        }
        let mut frame = self.containing(position_bytes);
        if self.start_bytes(frame) == position_bytes {
            marks.push(FrameMark {
                offset: 0,
                kind: MarkKind::Begin,
            });
        }
        loop {
            frame = frame.saturating_add(1);
            let start_bytes = self.start_bytes(frame);
            let distance_bytes = start_bytes - position_bytes;
            // Beyond the last position there is no frame to mark.
            if distance_bytes > length_bytes as u64 || start_bytes == u64::MAX {
                return;
            }
            // The distance is at most `length_bytes`, so it fits.
            let offset = distance_bytes as usize;
            let kind = if offset == length_bytes {
                MarkKind::End
            } else {
                MarkKind::EndAndBegin
            };
            marks.push(FrameMark { offset, kind });
        }
    }

    fn pair_bytes(&self) -> u64 {
        self.smallest_bytes + self.largest_bytes
    }

    fn first_of_pair_bytes(&self, pair: u64) -> u64 {
        let sizes = u128::from(self.largest_bytes - self.smallest_bytes) + 1;
        // The upper half of the product spreads 64 random bits over the sizes. It favours one size
        // over another by less than one in 2^24.
        let above = (u128::from(random(self.seed, pair)) * sizes) >> 64;
        self.smallest_bytes + above as u64
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_frames_of_a_seed_never_change() {
        let frames = Frames::new(1_000_000..=2_000_000, 7);
        let sizes: Vec<u64> = (0..6).map(|frame| frames.size_bytes(frame)).collect();
        assert_eq!(
            sizes,
            [
                1_627_626, 1_372_374, 1_652_375, 1_347_625, 1_654_800, 1_345_200
            ]
        );
    }

    #[test]
    fn every_size_of_the_range_comes_about_as_often() {
        let frames = Frames::new(11..=20, 1);
        let mut counts = [[0u32; 10]; 2];
        for frame in 0..20_000 {
            let size = frames.size_bytes(frame) as usize;
            counts[frame as usize % 2][size - 11] += 1;
        }
        // Each size is expected 1000 times; six standard deviations are 180.
        let even = |count: &u32| count.abs_diff(1000) < 180;
        assert!(counts.iter().flatten().all(even), "{counts:?}");
    }

    #[test]
    fn frames_of_one_size_are_all_of_it() {
        let frames = Frames::new(4096..=4096, 1);
        assert_eq!(frames.start_bytes(1001), 1001 * 4096);
        assert_eq!(frames.containing(4095), 0);
        assert_eq!(frames.containing(4096), 1);
    }

    #[test]
    fn marks_touch_and_a_begin_waits_for_its_byte() {
        let frames = Frames::new(100..=100, 1);
        let marks = |position, length| {
            let mut marks = Vec::new();
            frames.marks(position, length, &mut marks);
            let pairs: Vec<_> = marks.iter().map(|mark| (mark.offset, mark.kind)).collect();
            pairs
        };
        use MarkKind::{Begin, End, EndAndBegin};
        assert_eq!(marks(0, 0), []);
        assert_eq!(marks(0, 1), [(0, Begin)]);
        assert_eq!(marks(1, 98), []);
        assert_eq!(marks(1, 99), [(99, End)]);
        assert_eq!(marks(50, 151), [(50, EndAndBegin), (150, EndAndBegin)]);
        assert_eq!(marks(100, 100), [(0, Begin), (100, End)]);
    }

    #[test]
    fn the_end_of_all_positions_is_answered() {
        let frames = Frames::new(1..=FRAME_BYTES_MAX, 1);
        let last = frames.containing(u64::MAX);
        assert!(frames.start_bytes(last) < u64::MAX);
        assert_eq!(frames.start_bytes(u64::MAX), u64::MAX);
        assert!(frames.end_at_or_behind(u64::MAX) > u64::MAX - (1 << 41));
        let tiny = Frames::new(1..=1, 1);
        assert_eq!(tiny.containing(u64::MAX), u64::MAX);
        assert_eq!(tiny.end_at_or_behind(u64::MAX), u64::MAX);
    }

    proptest! {
        #[test]
        fn starts_are_the_sums_of_the_sizes(
            seed: u64,
            smallest in 1u64..1 << 40,
            spread: prop::sample::Index,
            from in 0u64..1 << 20,
        ) {
            let largest = smallest + spread.index(((1 << 40) - smallest) as usize + 1) as u64;
            let frames = Frames::new(smallest..=largest, seed);
            let mut start = frames.start_bytes(from);
            for frame in from..from + 20 {
                let size = frames.size_bytes(frame);
                prop_assert!((smallest..=largest).contains(&size));
                prop_assert_eq!(frames.start_bytes(frame), start);
                prop_assert_eq!(frames.containing(start), frame);
                start += size;
                prop_assert_eq!(frames.containing(start - 1), frame);
                prop_assert_eq!(frames.end_at_or_behind(start), start);
                prop_assert_eq!(frames.end_at_or_behind(start - size + 1), start);
            }
        }

        #[test]
        fn marks_in_pieces_are_those_of_the_sizes(
            seed: u64, from in 0u64..1000, piece_sizes in prop::collection::vec(1usize..60, 1..50),
        ) {
            let frames = Frames::new(1..=40, seed);
            let start = frames.start_bytes(from);
            let (mut position, mut begins, mut ends) = (start, Vec::new(), Vec::new());
            for length in piece_sizes {
                let mut marks = Vec::new();
                frames.marks(position, length, &mut marks);
                for mark in marks {
                    let at = position + mark.offset as u64;
                    if mark.kind != MarkKind::Begin {
                        ends.push(at);
                    }
                    if mark.kind != MarkKind::End {
                        prop_assert!(mark.offset < length);
                        begins.push(at);
                    }
                }
                position += length as u64;
            }
            let starts = || (from..).map(|frame| frames.start_bytes(frame));
            let begins_expected: Vec<u64> = starts().take_while(|at| *at < position).collect();
            let ends_expected: Vec<u64> =
                starts().skip(1).take_while(|at| *at <= position).collect();
            prop_assert_eq!(begins, begins_expected);
            prop_assert_eq!(ends, ends_expected);
        }
    }
}
