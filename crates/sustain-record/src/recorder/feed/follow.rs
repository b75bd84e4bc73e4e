//! Where one recording ends and the next one begins without a break: what the next one takes over
//! of the members, and of the sources' side.

use std::sync::Arc;

use sustain_disk::clock::Timestamp;
use sustain_disk::driver::Ending;
use sustain_disk::error::Error;
use uuid::Uuid;

use super::memory::FeedMemory;
use super::{RecordFeed, RecordSetup, standing};
use crate::format::{EarlierNote, StreamNote};
use crate::recorder::earlier::Earlier;
use crate::recorder::frame_meter::FrameMeter;
use crate::recorder::inlet::Inlet;
use crate::recorder::member::{MemberSetup, MemberState, MemberWriter};
use crate::store::{first_sequence_above, slots_begun_for};

impl<I: Inlet> RecordFeed<I> {
    /// Whether the sources go on in another recording.
    pub fn is_cut(&self) -> bool {
        self.is_cut
    }

    /// The set-up of the recording that follows this one on the same members: behind all that this
    /// one has written.
    pub fn following(&self, recording_id: Uuid, start: Timestamp) -> RecordSetup {
        let before = &self.setup;
        let mut earlier = before.earlier.clone();
        if before.ring {
            earlier.retain(|one| one.is_left(&self.members));
            earlier.push(just_ended(before, &self.members));
        }
        RecordSetup {
            members: self.members.iter().map(following_on).collect(),
            recording: before.recording.saturating_add(1),
            recording_id,
            first_sequence: first_sequence_above(self.next_sequence.saturating_sub(1)),
            earlier,
            start,
            ..before.clone()
        }
    }

    /// The `slots_begun` of each superblock before the recording that follows writes anything.
    pub fn slots_begun_by_following(&self) -> Vec<u64> {
        let members = self.members.iter();
        let slots = members.map(|member| {
            if member.setup.is_left_alone {
                return member.slots_begun();
            }
            let slot_count = member.setup.geometry.slot_count;
            match member.next_slot() {
                Some(next) => slots_begun_for(next, slot_count, self.setup.ring),
                None => member.slots_begun(),
            }
        });
        slots.collect()
    }

    /// The members that the recording that follows does without, with the reasons.
    pub(in crate::recorder) fn failed_members(&self) -> Vec<(usize, String)> {
        let errors = self.errors.iter().enumerate();
        errors
            .filter_map(|(member, error)| Some((member, error.clone()?)))
            .collect()
    }

    /// The recorder of the recording that follows this one, of which it takes over the sources'
    /// side, the board, the memory for marks and parity, the rates of frames that were declared,
    /// and when the last frames came.
    pub(in crate::recorder) fn follow(self, setup: RecordSetup) -> RecordFeed<I> {
        let (board, inlet) = (Arc::clone(&self.board), self.inlet);
        let start_ns = setup.unix_clock.unix_ns(setup.start);
        // A member that still has some of it takes no part in the next recording.
        let memory = FeedMemory {
            controls: self.controls,
            sums: self.protection.map(|protection| protection.memory),
        };
        let mut next = RecordFeed::with_memory(setup, inlet, board, memory);
        next.frame_meters = self.frame_meters;
        let meters = next.frame_meters.iter_mut().flatten();
        meters.for_each(|meter| meter.begin_at(start_ns));
        next.pinning = self.pinning.following();
        next.declare_frame_rates(&self.declared_frames_per_s);
        let mut first = standing::first(&next.setup);
        for (shown, member) in first.members.iter_mut().zip(&next.members) {
            shown.free_bytes = member.free_bytes();
        }
        next.board.begin_next(first);
        next
    }

    /// What the frames of each stream were like; none of a stream without frames.
    pub fn take_frame_meters(&mut self) -> Vec<Option<Box<FrameMeter>>> {
        let meters = self.frame_meters.iter();
        let following = meters.map(|meter| meter.as_ref().map(|one| Box::new(one.following())));
        let following = following.collect();
        let mut meters = std::mem::replace(&mut self.frame_meters, following);
        meters.iter_mut().flatten().for_each(|meter| meter.finish());
        let told = meters.into_iter();
        told.map(|meter| meter.filter(|meter| meter.has_figures()))
            .collect()
    }

    /// Whether some member takes anything of a recording that is about to begin.
    pub fn takes_anything(&self) -> bool {
        let following = self.slots_begun_by_following();
        let slots = self.slots_begun().into_iter().zip(following);
        let mut members = slots.zip(&self.errors);
        members.any(|((before, behind), error)| before != behind && error.is_none())
    }

    /// No engine is there for a recording that is about to begin: it does without all members.
    pub fn leave_all_out(&mut self, words: &str) {
        for queue in 0..self.members.len() {
            if self.errors[queue].is_none() {
                self.leave_out(queue, words.to_owned());
            }
        }
    }

    /// Ends a recording that cannot begin, because no member takes anything: all that the sources
    /// hand over is lost.
    pub fn end_unbegun(&mut self, now: Timestamp) {
        self.end_without_room(now);
    }

    /// Notes that the engine broke in the middle of the recording, so that nothing more of it came
    /// to any member.
    pub(in crate::recorder) fn note_undriven(&mut self, error: &Error) {
        self.ending = Some(Ending::Error);
        let words = error.to_string();
        for own in self.errors.iter_mut().filter(|own| own.is_none()) {
            *own = Some(words.clone());
        }
        let errors = self.errors.clone();
        self.board.write(|standing| {
            for (member, error) in standing.members.iter_mut().zip(errors) {
                member.state = MemberState::Failed;
                member.error = error;
            }
        });
    }
}

fn following_on(member: &MemberWriter) -> MemberSetup {
    MemberSetup {
        next_slot_serial: member.next_slot().unwrap_or(member.slots_begun()),
        previous: member.previous,
        previous_start: member.start.or(member.setup.previous_start),
        ..member.setup.clone()
    }
}

/// A recording that has just ended on these members.
fn just_ended(setup: &RecordSetup, members: &[MemberWriter]) -> Earlier {
    let streams = setup.streams.iter().map(|stream| StreamNote {
        name: stream.name.clone(),
        framing: stream.framing.clone(),
        source: None,
    });
    let slots = members.iter().map(|member| {
        let last = member.previous.filter(|_| member.start.is_some())?;
        Some((member.setup.next_slot_serial, last.slot_serial))
    });
    Earlier {
        note: EarlierNote {
            id: setup.recording_id,
            number: setup.recording,
            started_ns: setup.unix_clock.unix_ns(setup.start),
            ring: setup.ring,
            streams: streams.collect(),
            absent: setup.absent.clone(),
        },
        slots: slots.collect(),
    }
}
