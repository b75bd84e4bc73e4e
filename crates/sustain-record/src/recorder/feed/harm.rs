//! What is lost with members whose files were deleted or cut off: what was durable there, unless
//! parity covers it. The board shows it.

use sustain_disk::clock::Timestamp;

use super::RecordFeed;
use crate::recorder::inlet::Inlet;
use crate::recorder::member::MemberWriter;
use crate::recorder::parity::{GROUP_AGE_NS_MAX, HarmedMember};

/// For so long groups that had a part there may be on their way to be covered.
const UNDECIDED_NS_MAX: u64 = 2 * GROUP_AGE_NS_MAX;

impl<I: Inlet> RecordFeed<I> {
    /// Notes how far the streams had come when a member was harmed.
    pub(super) fn note_harmed(&mut self, queue: usize, now: Timestamp) {
        let streams = 0..self.ledgers.len();
        let harmed = HarmedMember {
            at: now,
            offered_bytes: streams.map(|stream| self.offered_bytes(stream)).collect(),
        };
        if let Some(protection) = &mut self.protection {
            protection.harmed.insert(queue, harmed);
        }
    }

    /// Payload that was durable on a member and is lost with its file, at most.
    pub(super) fn lost_with(&self, queue: usize, now: Timestamp) -> u64 {
        let lost_bytes = self.members[queue].lost_bytes;
        match lost_bytes > 0 && self.is_covered(queue, now) {
            true => 0,
            false => lost_bytes,
        }
    }

    /// The same of a stream, with all members.
    pub(super) fn lost_of_stream(&self, stream: usize, now: Timestamp) -> u64 {
        let members = self.members.iter().enumerate();
        let lost = members.filter(|(queue, member)| {
            member.lost_stream_bytes[stream] > 0 && !self.is_covered(*queue, now)
        });
        lost.map(|(_, member)| member.lost_stream_bytes[stream])
            .sum()
    }

    /// Whether parity replaces what was on a harmed member, or is about to.
    fn is_covered(&self, queue: usize, now: Timestamp) -> bool {
        let Some(protection) = &self.protection else {
            return false;
        };
        let Some(harmed) = protection.harmed.get(&queue) else {
            return false;
        };
        // When all members are closed or have failed, nothing becomes covered any more.
        let is_undecided = now.since_ns(harmed.at) < UNDECIDED_NS_MAX
            && self.members.iter().any(MemberWriter::works);
        let mut streams = harmed.offered_bytes.iter().enumerate();
        is_undecided && !self.has_lost_too_many()
            || streams.all(|(stream, offered_bytes)| {
                let protected = self.protected(stream);
                protected.is_some_and(|(_, settled_bytes)| settled_bytes >= *offered_bytes)
            })
    }
}
