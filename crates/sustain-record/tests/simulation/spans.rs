//! Sets of bytes as ranges that do not touch.

use std::collections::BTreeMap;
use std::ops::Range;

/// A set of positions.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Spans(BTreeMap<u64, u64>);

impl Spans {
    pub fn add(&mut self, range: Range<u64>) {
        if range.is_empty() {
            return;
        }
        let (mut start, mut end) = (range.start, range.end);
        let touching: Vec<u64> = self
            .0
            .range(..=end)
            .rev()
            .take_while(|(_, last)| **last >= start)
            .map(|(first, _)| *first)
            .collect();
        for first in touching {
            let last = self.0.remove(&first).unwrap();
            start = start.min(first);
            end = end.max(last);
        }
        self.0.insert(start, end);
    }

    pub fn add_all(&mut self, others: &Spans) {
        others
            .0
            .iter()
            .for_each(|(start, end)| self.add(*start..*end));
    }

    pub fn remove(&mut self, range: Range<u64>) {
        if range.is_empty() {
            return;
        }
        let cut: Vec<(u64, u64)> = self
            .0
            .range(..range.end)
            .rev()
            .take_while(|(_, last)| **last > range.start)
            .map(|(first, last)| (*first, *last))
            .collect();
        for (first, last) in cut {
            self.0.remove(&first);
            if first < range.start {
                self.0.insert(first, range.start);
            }
            if range.end < last {
                self.0.insert(range.end, last);
            }
        }
    }

    pub fn has(&self, position: u64) -> bool {
        let before = self.0.range(..=position).next_back();
        before.is_some_and(|(_, last)| *last > position)
    }

    pub fn covers(&self, range: Range<u64>) -> bool {
        let before = self.0.range(..=range.start).next_back();
        range.is_empty() || before.is_some_and(|(_, last)| *last >= range.end)
    }

    /// The first range that is here and not there.
    pub fn first_outside(&self, others: &Spans) -> Option<Range<u64>> {
        let mut rest = self.clone();
        others
            .0
            .iter()
            .for_each(|(start, end)| rest.remove(*start..*end));
        rest.0.first_key_value().map(|(start, end)| *start..*end)
    }

    pub fn bytes(&self) -> u64 {
        self.0.iter().map(|(start, end)| end - start).sum()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
