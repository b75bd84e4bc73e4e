//! Writes the superblocks of members while the recording runs, one copy after the other: where pins
//! change, and where members fall behind or have caught up.

use sustain_disk::clock::Timestamp;
use sustain_disk::engine::{Operation, Request, Vector, Vectors};

use super::{RecordFeed, RequestPurpose};
use crate::format::{BLOCK_BYTES, Superblock};
use crate::recorder::inlet::Inlet;
use crate::recorder::member::MemberWriter;
use crate::recorder::renewing::Renewing;
use crate::store::{Store, first_sequence_above};

/// Copies A and C, then B and D: so a whole one is on the member at every instant.
const COPIES: [u32; 4] = [0, 2, 1, 3];

impl<I: Inlet> RecordFeed<I> {
    /// Takes over the superblocks as they are on the members by now.
    pub fn know_superblocks(&mut self, store: &Store) {
        for (member, open) in self.members.iter_mut().zip(&store.members) {
            member.know_superblock(open.superblock.clone());
            // What was to be written before was older.
            member.renewing = None;
        }
        self.note_behind();
    }

    /// Lets the store know what pins there are, for the superblocks behind this recording. An end
    /// whose time has not come stays open only where another recording follows.
    pub fn update_superblocks(&self, store: &mut Store) {
        let end_sequence = first_sequence_above(self.next_sequence.saturating_sub(1));
        for (member, open) in self.members.iter().zip(&mut store.members) {
            let known = member.superblock_to_be();
            open.superblock.generation = open.superblock.generation.max(known.generation);
            open.superblock.pins = known.pins.clone();
            open.superblock.pins_numbered = known.pins_numbered;
            open.superblock.behind.clone_from(&known.behind);
            if !self.is_cut {
                for pin in &mut open.superblock.pins {
                    *pin = pin.closed_at(member.slots_begun(), end_sequence);
                }
            }
        }
    }

    /// Begins the write of the next copy of a superblock, if one is due. It is durable when it
    /// completes.
    pub(super) fn begin_superblock(&mut self, queue: usize, now: Timestamp) -> Option<Request> {
        self.members[queue].renewing.as_ref()?;
        if !self.may_make_durable(queue) {
            return None;
        }
        let mut buffer = self.controls[queue].take()?;
        let renewing = self.members[queue].renewing.as_mut()?;
        let copy = COPIES[renewing.copies];
        renewing.is_in_flight = true;
        let superblock = &renewing.superblock;
        buffer.bytes_mut()[..BLOCK_BYTES].copy_from_slice(&superblock.encode(copy));
        let request = Request {
            operation: Operation::Write,
            offset_bytes: superblock.geometry.superblock_offsets()[copy as usize],
            vectors: Vectors::One(Vector::new(buffer, 0, BLOCK_BYTES)),
            durable: true,
            ..Request::flush(queue)
        };
        Some(self.enter(request, RequestPurpose::Superblock, now))
    }

    /// Notes that a copy of a superblock is durable, or that its member has failed.
    pub(super) fn superblock_written(&mut self, queue: usize, has_failed: bool) {
        let member = &mut self.members[queue];
        let Some(mut renewing) = member.renewing.take() else {
            return;
        };
        if has_failed || !member.works() {
            return;
        }
        renewing.is_in_flight = false;
        if !std::mem::take(&mut renewing.is_outdated) {
            renewing.copies += 1;
        }
        match renewing.copies < COPIES.len() {
            true => member.renewing = Some(renewing),
            false => member.know_superblock(renewing.superblock),
        }
    }
}

impl MemberWriter {
    /// The superblock that it has, or that it will have when it has answered.
    pub(super) fn superblock_to_be(&self) -> &Superblock {
        let renewing = self.renewing.as_ref();
        renewing.map_or(&self.setup.superblock, |one| &one.superblock)
    }

    /// Whether its superblock is to tell what is so from now on: it works, and may be written.
    pub(super) fn renews_superblock(&self) -> bool {
        self.works() && !self.setup.is_left_alone
    }

    /// Begins to write this superblock, as a newer one, in the place of the one that it has, or
    /// would have had.
    pub(super) fn renew_superblock(&mut self, superblock: Superblock) {
        let generation = superblock.generation.saturating_add(1);
        // A copy of one before this may be on its way to a member that is slow.
        let is_in_flight = self.renewing.as_ref().is_some_and(|one| one.is_in_flight);
        self.renewing = Some(Renewing {
            superblock: Superblock {
                generation,
                ..superblock
            },
            copies: 0,
            is_in_flight,
            is_outdated: is_in_flight,
        });
    }
}
