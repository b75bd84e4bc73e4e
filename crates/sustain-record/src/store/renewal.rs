//! Superblocks are renewed when a recording begins and when it ends.

use std::collections::BTreeSet;

use sustain_disk::error::RequestError;

use super::{Store, pins, superblocks};
use crate::error::RecordError;
use crate::member_io::{MemberIo, MemberStep, StepsEnd, StepsPatience};
use crate::opening::durable_end_slot;

/// When the superblocks of a store are renewed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Renewal<'a> {
    /// Before a recording writes anything.
    Begins,
    /// When one recording has ended and the next one begins without a break: says of each member
    /// how many slots were begun by the one that ended, if its end mark is durable, and the number
    /// of the next one.
    GoesOn(&'a [Option<u64>], u32),
    /// When the end marks of the last recording are durable. Says of each member whether it has
    /// one; what the superblocks of the others say of the last end stays as it is.
    Ended(&'a [bool]),
    /// At any other time. What the superblocks say of the last end stays as it is.
    AtRest,
}

impl Store {
    /// Returns the `slots_begun` of each superblock before the next recording writes anything, for
    /// [`Store::renew_superblocks`]: the recording's first slot on each member counts as begun. So
    /// whoever opens the store after a crash knows that there may be leftovers, even if none of the
    /// recording's starts survived. A full member has no such slot, unless a ring overwrites it;
    /// its oldest slot must not seem to be the first.
    pub fn slots_begun_at_start(&self, ring: bool) -> Vec<u64> {
        let members = self.members.iter().zip(&self.tails);
        members
            .map(|(member, tail)| {
                if self.is_left_alone(member) {
                    return member.superblock.slots_begun;
                }
                let slot_count = member.superblock.geometry.slot_count;
                match pins::next_slot(member, tail) {
                    Some(next) => slots_begun_for(next, slot_count, ring),
                    None => tail.next_slot_serial,
                }
            })
            .collect()
    }

    /// Renews the superblocks of all members but those on which nothing may be recorded: two
    /// copies, a flush, the other two, a flush.
    /// `slots_begun` says for each member how many slot serials have been begun: at the start of a
    /// recording [`Store::slots_begun_at_start`], at its end one more than the newest serial.
    ///
    /// # Errors
    /// [`RecordError::Request`] if a member cannot be written; [`RecordError::Engine`].
    ///
    /// # Panics
    /// If `slots_begun` does not have one number for each member.
    pub fn renew_superblocks(
        &mut self,
        slots_begun: &[u64],
        renewal: Renewal<'_>,
    ) -> Result<(), RecordError> {
        self.renew_superblocks_but(slots_begun, renewal, &[])
    }

    /// Does the same on all members but these, too: of those that have failed, nothing more is
    /// asked.
    ///
    /// # Errors
    /// The same as of [`Store::renew_superblocks`].
    ///
    /// # Panics
    /// The same as of [`Store::renew_superblocks`].
    pub fn renew_superblocks_but(
        &mut self,
        slots_begun: &[u64],
        renewal: Renewal<'_>,
        left_out: &[usize],
    ) -> Result<(), RecordError> {
        let mut io = self.io()?;
        self.set_hints(slots_begun, renewal);
        let members = self.members.iter().enumerate();
        let members = members.filter(|(at, member)| {
            let is_left_out = left_out.contains(at) || self.is_left_alone(member);
            !is_left_out
        });
        let members = members.map(|(at, member)| (at, member.name.as_str(), &member.superblock));
        superblocks::write_some(&mut io, &members.collect::<Vec<_>>())
    }

    /// Does the same as [`Store::renew_superblocks`], over `io`, but does not wait for a member for
    /// ever. Returns the members that did not answer, each with a sentence that names the request.
    /// They stay locked as long as the process lives, because requests in flight on them may still
    /// be written.
    ///
    /// # Errors
    /// The same as of [`Store::renew_superblocks`].
    pub(crate) fn renew_superblocks_within(
        &mut self,
        io: MemberIo,
        (slots_begun, renewal): (&[u64], Renewal<'_>),
        patience: StepsPatience,
    ) -> Result<Vec<(usize, String)>, RecordError> {
        self.set_hints(slots_begun, renewal);
        let (silent, failed) = self.write_within(io, &[], patience)?;
        match failed.into_iter().next() {
            None => Ok(silent),
            Some((_, error)) => Err(error.into()),
        }
    }

    /// Does the same when one recording has ended and the next one begins, on all members but
    /// these. Returns also the members that could not be written: the next recording does without
    /// them.
    ///
    /// # Errors
    /// [`RecordError::Engine`].
    pub(crate) fn go_on_within(
        &mut self,
        io: MemberIo,
        (slots_begun, renewal): (&[u64], Renewal<'_>),
        left_out: &[usize],
        patience: StepsPatience,
    ) -> Result<Vec<(usize, String)>, RecordError> {
        self.set_hints(slots_begun, renewal);
        let (mut lost, failed) = self.write_within(io, left_out, patience)?;
        let failed = failed.into_iter();
        lost.extend(failed.map(|(member, error)| (member, error.to_string())));
        Ok(lost)
    }

    /// Writes the superblocks of all members but these. Returns the members that did not answer,
    /// with what is to be said of that, and those that could not be written.
    #[allow(
        clippy::type_complexity,
        reason = "members with words, and with errors"
    )]
    fn write_within(
        &self,
        io: MemberIo,
        left_out: &[usize],
        patience: StepsPatience,
    ) -> Result<(Vec<(usize, String)>, Vec<(usize, RequestError)>), RecordError> {
        let members = self.members.iter().enumerate();
        let steps: Vec<Vec<MemberStep>> = members
            .map(
                |(index, member)| match left_out.contains(&index) || self.is_left_alone(member) {
                    true => Vec::new(),
                    false => superblocks::steps(&member.superblock),
                },
            )
            .collect();
        let ends = io.take_steps(&steps, patience);
        let (mut silent, mut failed) = (Vec::new(), Vec::new());
        for (index, member) in self.members.iter().enumerate() {
            let name = &member.name;
            match ends.as_ref().map(|ends| ends[index]) {
                Ok(StepsEnd::Done) => {}
                Ok(StepsEnd::Failed { step, errno }) => {
                    let (operation, offset_bytes) = steps[index][step].name();
                    let error = RequestError {
                        target: name.clone(),
                        operation,
                        offset_bytes,
                        fault: errno,
                    };
                    failed.push((index, error));
                }
                Ok(StepsEnd::Silent { step, waited_ns }) => {
                    let (operation, offset_bytes) = steps[index][step].name();
                    let seconds = waited_ns as f64 / 1e9;
                    let what = format!(
                        "{operation} of the superblock on {name} at byte {offset_bytes} has not \
                         returned for {seconds:.0} s, and {name} was given up"
                    );
                    silent.push((index, what));
                    std::mem::forget(member.target.lock.clone());
                }
                Err(_) => std::mem::forget(member.target.lock.clone()),
            }
        }
        ends?;
        Ok((silent, failed))
    }

    /// The members that are known by now to lack nothing behind their ends: all that are not left
    /// alone, before a recording begins, and those with an end mark behind one.
    fn caught_up(&self, renewal: Renewal<'_>) -> BTreeSet<u16> {
        let members = self.members.iter().enumerate();
        let caught_up = members.filter(|(index, member)| match renewal {
            Renewal::Begins => !self.is_left_alone(member),
            Renewal::GoesOn(ended_slots, _) => ended_slots[*index].is_some(),
            Renewal::Ended(have_end) => have_end[*index],
            Renewal::AtRest => false,
        });
        let caught_up = caught_up.map(|(_, member)| member.superblock.member_index);
        caught_up.collect()
    }

    fn set_hints(&mut self, slots_begun: &[u64], renewal: Renewal<'_>) {
        assert_eq!(slots_begun.len(), self.members.len(), "one for each member");
        let recording = self.next_recording();
        // One that has failed before is no older than the others from here on.
        let generations = self.members.iter().map(|one| one.superblock.generation);
        let generation = generations.max().unwrap_or(0).saturating_add(1);
        let caught_up = self.caught_up(renewal);
        for (index, (member, slots_begun)) in self.members.iter_mut().zip(slots_begun).enumerate() {
            // It stays older than the others, which tells everybody that it lacks something.
            if self.left_alone.contains(&member.index()) {
                continue;
            }
            let superblock = &mut member.superblock;
            superblock.end_slot = durable_end_slot(superblock);
            superblock.generation = generation;
            superblock
                .behind
                .retain(|member| !caught_up.contains(member));
            let begins_slot =
                std::mem::replace(&mut superblock.slots_begun, *slots_begun) != *slots_begun;
            // On a full member nothing will be written, and its last end stays the last.
            superblock.has_ended &= !begins_slot;
            match renewal {
                Renewal::Begins => superblock.recordings_begun = recording,
                Renewal::GoesOn(ended_slots, recording) => {
                    superblock.recordings_begun = recording;
                    if let Some(ended) = ended_slots[index] {
                        superblock.end_slot = ended.checked_sub(1);
                        // A full member has nothing of the next one, and its last end stays so.
                        superblock.has_ended = ended == *slots_begun;
                    }
                }
                Renewal::Ended(have_end) if have_end[index] => {
                    superblock.has_ended = true;
                    superblock.end_slot = slots_begun.checked_sub(1);
                }
                Renewal::Ended(_) | Renewal::AtRest => {}
            }
        }
    }
}

/// The slots that are begun when a recording has begun in this slot, if the member has it.
pub(crate) fn slots_begun_for(next_slot_serial: u64, slot_count: u64, ring: bool) -> u64 {
    let is_full = !ring && next_slot_serial >= slot_count;
    next_slot_serial.saturating_add(u64::from(!is_full))
}
