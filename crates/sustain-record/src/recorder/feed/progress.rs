//! What the feed tells of itself, for the board and the result: how far streams have come, what
//! waits, and what became of members.

use sustain_disk::clock::Timestamp;
use sustain_disk::meter::LatencyMeter;

use super::{Flying, HANGS_NS, RecordFeed, RequestPurpose, SHORT_SHOWN_NS, WAITS_NS};
use crate::recorder::filled::Filled;
use crate::recorder::inlet::Inlet;
use crate::recorder::member::{MemberWriter, Slowness};

impl<I: Inlet> RecordFeed<I> {
    /// Below this every byte of the stream is on the medium for good, or its loss is.
    pub(in crate::recorder) fn watermark_bytes(&self, stream: usize) -> u64 {
        if self.members.iter().any(MemberWriter::owes_start) {
            0
        } else {
            self.ledgers[stream].watermark_bytes()
        }
    }

    /// Bytes of the stream below that which are on the medium for good.
    pub(in crate::recorder) fn durable_bytes(&self, stream: usize) -> u64 {
        match self.watermark_bytes(stream) {
            0 => 0,
            _ => self.ledgers[stream].durable_bytes(),
        }
    }

    /// Bytes that the source has offered, whatever became of them: also those that wait behind the
    /// appends that were polled.
    pub(in crate::recorder) fn offered_bytes(&self, stream: usize) -> u64 {
        let waiting = self
            .pending
            .iter()
            .chain(&self.accounts)
            .filter(|filled| usize::from(filled.stream) == stream)
            .map(Filled::end_bytes);
        waiting
            .max()
            .unwrap_or(0)
            .max(self.ledgers[stream].next_offset_bytes())
            .max(self.inlet.offered(stream).bytes)
    }

    /// Bytes that are known to be lost by now. A source's loss is told with its next append, which
    /// may wait as long as the buffer takes to drain; so what the source says itself counts too.
    pub(in crate::recorder) fn gap_bytes(&self, stream: usize) -> u64 {
        let accounted_bytes = self.ledgers[stream].gap_bytes();
        accounted_bytes.max(self.inlet.offered(stream).lost_bytes)
    }

    /// Share of the buffer that waits for members, from 0 to 1.
    pub(in crate::recorder) fn buffer_fill(&self) -> f64 {
        self.inlet.buffer_fill()
    }

    /// Whether a source has found no memory in the last second. A small buffer is full before
    /// anything in it is old, so the age of what waits does not tell; and it is full at times,
    /// while the rates that are shown are those of seconds.
    pub(in crate::recorder) fn was_buffer_short(&self, now: Timestamp) -> bool {
        self.short_at
            .is_some_and(|at| now.since_ns(at) <= SHORT_SHOWN_NS)
    }

    pub(in crate::recorder) fn is_buffer_short(&self) -> bool {
        self.buffer_fill() >= 1.0 || self.found_no_memory_bytes() > self.board_lost_bytes
    }

    pub(in crate::recorder) fn found_no_memory_bytes(&self) -> u64 {
        let streams = 0..self.setup.streams.len();
        let lost = streams.map(|stream| self.inlet.offered(stream).without_memory_bytes);
        lost.sum()
    }

    /// Whether appends wait for members, not only for this thread to look at them.
    pub(in crate::recorder) fn has_backlog(&self, now: Timestamp) -> bool {
        let is_as_old = |filled: &Filled, age_ns| now.since_ns(filled.accepted_at) >= age_ns;
        let hangs = |flying: &Flying| match &flying.purpose {
            RequestPurpose::Data { filled, .. } => is_as_old(filled, HANGS_NS),
            RequestPurpose::Control { .. }
            | RequestPurpose::Parity { .. }
            | RequestPurpose::Flush
            | RequestPurpose::Superblock
            | RequestPurpose::Abandoned { .. } => false,
        };
        let oldest = self.pending.front();
        oldest.is_some_and(|filled| is_as_old(filled, WAITS_NS))
            || self.in_flight.values().any(hangs)
    }
}

impl<I: Inlet> RecordFeed<I> {
    /// Slots begun on each member, as superblocks say it.
    pub fn slots_begun(&self) -> Vec<u64> {
        self.members.iter().map(MemberWriter::slots_begun).collect()
    }

    /// Whether each member has its end mark, durable.
    pub fn have_end(&self) -> Vec<bool> {
        self.members.iter().map(|member| member.has_end).collect()
    }

    /// Whether requests may be under way on a member: they have not returned, or it was given up.
    pub fn is_under_way(&self, queue: usize) -> bool {
        let mut in_flight = self.in_flight.values();
        self.members[queue].is_given_up || in_flight.any(|one| one.queue == queue)
    }

    /// How often members have kept their requests for long.
    pub fn slowness(&self) -> Vec<Slowness> {
        self.members.iter().map(|member| member.slowness).collect()
    }

    /// From handing over to the write's completion, per stream; taken.
    pub fn take_written_latency(&mut self) -> Vec<LatencyMeter> {
        std::mem::take(&mut self.written_latency)
    }

    /// From the first byte to durability, per stream; taken.
    pub fn take_durable_latency(&mut self) -> Vec<LatencyMeter> {
        std::mem::take(&mut self.durable_latency)
    }
}
