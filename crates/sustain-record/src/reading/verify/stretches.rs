//! ByteStretches of bytes that were found in any order, each byte counted once. Pure.

use std::collections::BTreeMap;
use std::ops::Range;

/// ByteStretches, none of which touches another, by where they begin.
#[derive(Default)]
pub(super) struct ByteStretches(BTreeMap<u64, u64>);

impl ByteStretches {
    /// Adds a stretch, which may lie over others.
    pub(super) fn add(&mut self, range: Range<u64>) {
        let Range { mut start, mut end } = range;
        if start >= end {
            return;
        }
        while let Some((from, to)) = self.0.range(..=end).next_back() {
            let (from, to) = (*from, *to);
            if to < start {
                break;
            }
            self.0.remove(&from);
            start = start.min(from);
            end = end.max(to);
        }
        self.0.insert(start, end);
    }

    /// How many bytes lie in them.
    pub(super) fn bytes(&self) -> u64 {
        self.0.iter().map(|(from, to)| to - from).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_byte_counts_once_whatever_the_order() {
        let ranges = [0..4, 8..12, 2..6, 20..20, 12..14, 3..5, 30..31, 6..8];
        for first in 0..ranges.len() {
            let mut stretches = ByteStretches::default();
            let rotated = ranges.iter().cycle().skip(first).take(ranges.len());
            rotated.for_each(|range| stretches.add(range.clone()));
            assert_eq!(stretches.bytes(), 15, "from {first}");
            let left: Vec<_> = stretches.0.into_iter().collect();
            assert_eq!(left, [(0, 14), (30, 31)], "from {first}");
        }
    }
}
