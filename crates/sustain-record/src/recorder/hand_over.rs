//! What happens between two recordings that follow each other without a break: what their
//! superblocks tell of the end of the one and the begin of the other, and with what the other one
//! begins.

use sustain_disk::clock::Timestamp;
use uuid::Uuid;

use super::feed::{RecordFeed, RecordSetup};
use super::inlet::Inlet;
use crate::opening::durable_end_slot;
use crate::store::{OpenMember, Renewal, Store};

/// Goes from a recording that has ended to the one that follows it.
pub struct HandOver {
    setup: RecordSetup,
    slots_begun: Vec<u64>,
    /// For each member with a durable end mark of the recording that has ended, the slots that this
    /// one had begun.
    ended_slots: Vec<Option<u64>>,
    /// The recording that the superblocks tell of as the last one that began.
    recording: u32,
    /// What each superblock told of the last end before: whether it was the last thing on its
    /// member, and its slot.
    ends_before: Vec<(bool, Option<u64>)>,
    /// Members that the next recording does without, with the reasons.
    lost: Vec<(usize, String)>,
}

impl HandOver {
    /// From a recording that has ended on this store to one with this id.
    pub fn of<I: Inlet>(
        feed: &RecordFeed<I>,
        store: &Store,
        recording_id: Uuid,
        now: Timestamp,
    ) -> HandOver {
        let setup = feed.following(recording_id, now);
        let slots_begun = feed.slots_begun_by_following();
        let before = feed.slots_begun();
        // Where nothing more fits, nothing more is said to have begun.
        let has_room = slots_begun != before;
        let ended = before.into_iter().zip(feed.have_end());
        HandOver {
            recording: match has_room {
                true => setup.recording,
                false => feed.setup().recording,
            },
            ended_slots: ended
                .map(|(slots, has_end)| has_end.then_some(slots))
                .collect(),
            ends_before: store.members.iter().map(end_before).collect(),
            lost: feed.failed_members(),
            slots_begun,
            setup,
        }
    }

    /// The `slots_begun` of each superblock now.
    pub fn slots_begun(&self) -> &[u64] {
        &self.slots_begun
    }

    /// What the superblocks have to tell now.
    pub fn renewal(&self) -> Renewal<'_> {
        Renewal::GoesOn(&self.ended_slots, self.recording)
    }

    /// The members that had failed before. Nothing more is asked of them.
    pub fn left_out(&self) -> Vec<usize> {
        self.lost.iter().map(|(member, _)| *member).collect()
    }

    /// Begins the next recording, without the members whose superblocks could not be written, which
    /// are given with the reasons.
    pub fn begin<I: Inlet>(
        mut self,
        mut feed: RecordFeed<I>,
        lost: Vec<(usize, String)>,
    ) -> RecordFeed<I> {
        self.lost.extend(lost);
        let ends = self.ended_slots.iter().zip(self.ends_before);
        for (member, (ended, (has_ended, end_slot))) in self.setup.members.iter_mut().zip(ends) {
            member.follows_end = ended.is_some() || has_ended;
            member.end_slot = ended.and_then(|slots| slots.checked_sub(1)).or(end_slot);
        }
        feed.inlet_mut().begin_next();
        let mut next = feed.follow(self.setup);
        for (member, words) in self.lost {
            next.leave_out(member, words);
        }
        next
    }
}

fn end_before(member: &OpenMember) -> (bool, Option<u64>) {
    let superblock = &member.superblock;
    (superblock.has_ended, durable_end_slot(superblock))
}
