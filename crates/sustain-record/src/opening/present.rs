//! What of a recording is there, by what the members tell without being read.

use super::{Recording, StreamSummary};

impl Recording {
    /// When the first and the last of its bytes arrived that are there, in nanoseconds since 1970;
    /// none if none are.
    pub fn arrival_ns(&self) -> Option<(i64, i64)> {
        let is_pinned = self.pin.is_some();
        let there = self.streams.iter();
        let there = there.filter(|stream| stream.has_any_left(is_pinned));
        let times = there.map(|stream| {
            let last_ns = stream.last_time_ns;
            (stream.first_time_ns.unwrap_or(last_ns), last_ns)
        });
        times.reduce(|all, one| (all.0.min(one.0), all.1.max(one.1)))
    }

    /// Whether bytes of it are missing that its appends call durable.
    pub(crate) fn lacks_durable(&self) -> bool {
        self.streams.iter().any(|stream| {
            let unsettled_bytes = stream.offered_bytes.saturating_sub(stream.settled_bytes);
            stream.absent_bytes > unsettled_bytes
        })
    }
}

impl StreamSummary {
    /// Whether a byte of it is there that can be read: neither overwritten nor lost, nor on a
    /// member that is not there. What a missing member had is counted over the whole recording, so
    /// for the part of it that a pin keeps, what is found on another member decides.
    fn has_any_left(&self, is_pinned: bool) -> bool {
        let left_bytes = self.offered_bytes.saturating_sub(self.readable_from_bytes);
        let gap_bytes = self.gap_bytes.saturating_sub(self.readable_from_gap_bytes);
        let hole_bytes = if is_pinned { 0 } else { self.hole_bytes };
        left_bytes > gap_bytes.saturating_add(hole_bytes)
    }
}
