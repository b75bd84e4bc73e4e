//! What of a recording is there, by what the members tell without being read.

use super::{Chapter, Recording, StreamSummary};
use crate::format::Descriptor;

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

/// The append from which on nothing was overwritten on any member, if anything was.
pub(super) fn first_readable<'a>(chapters: &[&'a Chapter]) -> Option<&'a Descriptor> {
    let overwritten = || chapters.iter().filter(|chapter| chapter.is_overwritten);
    // A pin keeps what came before its time, too, up to the beginning of a slot. If that is not
    // there, a crash has taken it, and what the other members have in the pin's time is kept.
    let is_torn = |chapter: &&&Chapter| {
        let in_time = chapter.first_in_time.as_ref();
        in_time.is_some_and(|in_time| in_time.place == chapter.first.place)
    };
    if overwritten().any(|chapter| is_torn(&chapter)) {
        let in_time = chapters.iter();
        let in_time = in_time.filter_map(|chapter| chapter.first_in_time.as_ref());
        return in_time.min_by_key(|first| first.sequence);
    }
    // What lies before the youngest of the oldest appends is on some members, but not on all.
    let firsts = overwritten().map(|chapter| &chapter.first);
    firsts.max_by_key(|first| first.sequence)
}
