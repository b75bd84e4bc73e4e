//! Stores: creating them, finding and opening their members, and listing what they hold. The
//! recorder and the readers begin here. Nothing is written to a member that the guard has not
//! checked.

mod answering;
mod bounded;
mod candidate;
mod create;
mod groups;
mod holes;
mod member;
#[cfg(test)]
mod mounted_file_system;
mod open;
mod parity;
mod path;
mod pin_tables;
mod pins;
mod prewrite;
mod rebuilt;
mod replacement;
mod scan;
pub(crate) mod superblocks;
mod wipe;

use std::collections::BTreeSet;
use std::fmt;
use std::path::Path;

use sustain_disk::clock::Clock;
use sustain_disk::engine::SharedMachine;
use sustain_disk::error::RequestError;
use sustain_disk::target::{Target, is_being_written};
use sustain_document::setting::{DESTROY, RING};
use sustain_host::Roots;
use sustain_targets::RecordersBeside;
use uuid::Uuid;

use crate::error::RecordError;
use crate::member_io::{MemberIo, MemberStep, ReadOrder, StepsEnd, StepsPatience};
use crate::opening::{Apart, Asked, MemberTail, Opening, Recording, durable_end_slot, merge};

pub use crate::member_io::on_long_wait;
pub use answering::{check_answering, check_takes_writes, write_within_bound};
pub use create::{CreateEvent, CreatePlan, Created, CreatedMember, create, create_simulated};
pub use groups::StoreGroups;
pub use member::OpenMember;
use member::takes_blocks;
#[cfg(test)]
pub(crate) use mounted_file_system::MountedFileSystem;
pub use pins::StorePin;
pub(crate) use pins::{FREE_SLOTS_MIN, next_slot};
pub use replacement::Onto;
pub(crate) use replacement::Replacement;

/// The name of a member's file in a directory that is given as a member.
pub const FILE_NAME: &str = "sustain.store";

/// A new recording begins at a multiple of this sequence, because a crash may have destroyed
/// appends with larger sequences than those that are left.
pub(crate) const SEQUENCE_STEP: u64 = 1 << 20;

/// The purpose for which a store is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// For reading. Any members are enough, nothing is locked and nothing is written.
    Read,
    /// For recording. All members must be there, pass the guard, and are locked against other
    /// recorders.
    Record,
}

/// A member that belongs to the store and was not given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Missing {
    /// Its place in the table of members, from 0.
    pub index: usize,
    /// Its UUID.
    pub member: Uuid,
}

/// An open store. Files that are open for recording stay locked as long as it lives.
pub struct Store {
    /// UUID of the store.
    pub id: Uuid,
    /// The size of all slots.
    pub slot_bytes: u32,
    /// The members that were given, and those that were not and can be computed from them, in the
    /// order of the table of members.
    pub members: Vec<OpenMember>,
    /// The others of which nothing can be computed. A store that is open for recording has none.
    pub missing: Vec<Missing>,
    /// Members that were given, and do not have all yet of the ones whose place they take.
    unfinished: Vec<OpenMember>,
    /// The place where each of `members` ends, in the same order.
    pub tails: Vec<MemberTail>,
    /// Notes for the user.
    pub notes: Vec<String>,
    mode: Mode,
    /// Whether someone had a member locked before anything of it was read.
    was_written: bool,
    /// Whether it was looked for what members lack that are there.
    has_looked_for_lacking: bool,
    /// Members that lack what an earlier recording gave them, by their places in the table. A store
    /// that is open for reading has what it knows of them with its members.
    left_alone: BTreeSet<usize>,
    /// Whether a member lacks what others call durable, as far as that had to be known.
    lacks_durable: bool,
    machines: Vec<SharedMachine>,
    clock: Clock,
    openings: Vec<Opening>,
    bytes_read: u64,
}

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
    /// Who records on the disks of the members that were found.
    pub fn recorders_beside(&self) -> RecordersBeside {
        let members = self.members.iter();
        let targets = members.map(|member| (&member.target, Some(Path::new(&member.name))));
        RecordersBeside::under(targets, &Roots::default())
    }

    /// Whether a recorder is at the newest recording, of a store that was opened for reading.
    /// `None` if one began or ended meanwhile, so that what was read may be older.
    pub fn is_recorded_to(&self) -> Option<bool> {
        let mut members = self.members.iter();
        let is_written = members.any(|member| is_written(&member.target));
        (is_written == self.was_written).then_some(is_written)
    }

    /// Returns all recordings of which anything was left when the store was opened, newest first.
    ///
    /// # Errors
    /// [`RecordError::RecordedApart`] if parts of the store have recorded by themselves;
    /// [`RecordError::Member`] for a member that would have to be read over and over;
    /// [`RecordError::Engine`]. Blocks that cannot be read count as empty.
    pub fn recordings(&mut self) -> Result<Vec<Recording>, RecordError> {
        let chapters = self.ask(Opening::chapters)?;
        let merged = merge(&self.by_index(chapters));
        let mut recordings = merged.map_err(|apart| self.recorded_apart(apart))?;
        if self.add_what_members_lack(&recordings)? {
            return self.recordings();
        }
        self.note_ends_of_rebuilt(&mut recordings);
        Ok(recordings)
    }

    /// Sorts what the members that are there tell by their places in the table of members.
    fn by_index<T: Clone>(&self, found: Vec<T>) -> Vec<Option<T>> {
        let mut by_index = vec![None; self.members.len() + self.missing.len()];
        for (member, found) in self.members.iter().zip(found) {
            by_index[member.index()] = Some(found);
        }
        by_index
    }

    fn recorded_apart(&self, apart: Apart) -> RecordError {
        RecordError::RecordedApart {
            recording: apart.recording,
            first: self.name_of(apart.first),
            second: self.name_of(apart.second),
        }
    }

    /// The number that the next recording gets.
    pub fn next_recording(&self) -> u32 {
        let numbers = self.tails.iter().map(|tail| tail.max_recording);
        numbers.max().unwrap_or(0).saturating_add(1)
    }

    /// The first sequence of the next recording. It lies above all sequences that were found, and
    /// above those that a crash may have destroyed.
    pub fn first_sequence(&self) -> u64 {
        let sequences = self.tails.iter().map(|tail| tail.max_sequence);
        first_sequence_above(sequences.max().unwrap_or(0))
    }

    /// Whether every slot of every member has been used. Then only a ring can be recorded.
    pub fn is_full(&self) -> bool {
        let mut members = self.members.iter().zip(&self.tails);
        members.all(|(member, tail)| is_full(member, tail))
    }

    /// Fails if a recording could not even write its start on any member. Everything it read would
    /// be lost, with no account of it on any member.
    pub(crate) fn require_room(&self, ring: bool) -> Result<(), RecordError> {
        if ring {
            return self.require_room_beside_pins();
        }
        if !self.is_full() {
            return Ok(());
        }
        let names: Vec<&str> = self.members.iter().map(|one| one.name.as_str()).collect();
        Err(RecordError::Usage(format!(
            "the store on {} is full, so nothing was read or recorded: use {} to overwrite its \
             oldest data; or create another store; or, once you have extracted what you need, make \
             this one anew, which deletes all that is in it, with `sustain create {}` and {} for \
             each member",
            names.join(" and "),
            RING.the(),
            names.join(" "),
            DESTROY.the()
        )))
    }

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

    /// Renews the superblocks of all members: two copies, a flush, the other two, a flush.
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
        let mut io = self.io()?;
        self.set_hints(slots_begun, renewal);
        let members: Vec<_> = self
            .members
            .iter()
            .map(|member| (member.name.as_str(), &member.superblock))
            .collect();
        superblocks::write(&mut io, &members)
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
            .map(|(index, member)| match left_out.contains(&index) {
                true => Vec::new(),
                false => superblocks::steps(&member.superblock),
            })
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

    fn set_hints(&mut self, slots_begun: &[u64], renewal: Renewal<'_>) {
        assert_eq!(slots_begun.len(), self.members.len(), "one for each member");
        let recording = self.next_recording();
        // One that has failed before is no older than the others from here on.
        let generations = self.members.iter().map(|one| one.superblock.generation);
        let generation = generations.max().unwrap_or(0).saturating_add(1);
        for (index, (member, slots_begun)) in self.members.iter_mut().zip(slots_begun).enumerate() {
            let superblock = &mut member.superblock;
            superblock.end_slot = durable_end_slot(superblock);
            superblock.generation = generation;
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

    /// Opens single reads and writes of the members, addressed by their index in `members`.
    ///
    /// # Errors
    /// [`RecordError`] if the system has no engine or memory for it.
    pub fn io(&self) -> Result<MemberIo, RecordError> {
        open::io(&self.members, self.mode, &self.machines, &self.clock)
    }

    /// The simulated machines of the members, if they are simulated.
    pub fn machines(&self) -> &[SharedMachine] {
        &self.machines
    }

    /// The clock: real, unless the members are simulated.
    pub fn clock(&self) -> &Clock {
        &self.clock
    }

    /// The bytes that were read of all members so far, to open the store and list what it holds.
    pub fn bytes_read(&self) -> u64 {
        self.bytes_read
    }

    /// The name of a member in messages: as typed, or else its place in the table of members.
    pub(crate) fn name_of(&self, index: usize) -> String {
        let found = self.members.iter().find(|member| member.index() == index);
        found.map_or_else(|| format!("member {index}"), |member| member.name.clone())
    }

    /// Asks all members one question, and reads what they need for the answer.
    fn ask<T>(
        &mut self,
        question: impl Fn(&mut Opening) -> Asked<T>,
    ) -> Result<Vec<T>, RecordError> {
        let mut io = self.io()?;
        let mut answers: Vec<Option<T>> = self.openings.iter().map(|_| None).collect();
        loop {
            let (mut askers, mut orders) = (Vec::new(), Vec::new());
            for (member, answer) in answers.iter_mut().enumerate() {
                if answer.is_some() {
                    continue;
                }
                if let Some(why) = self.openings[member].is_endless() {
                    return Err(RecordError::member(&self.members[member].name, why));
                }
                match question(&mut self.openings[member]) {
                    Ok(found) => *answer = Some(found),
                    Err(needs) => {
                        orders.extend(needs.iter().map(|need| ReadOrder {
                            member,
                            offset_bytes: need.offset_bytes,
                            length_bytes: need.length_bytes,
                        }));
                        askers.extend(needs.into_iter().map(|need| (member, need)));
                    }
                }
            }
            if orders.is_empty() {
                break;
            }
            let read = io.read_all(&orders);
            io.check_engine()?;
            self.bytes_read += read
                .iter()
                .flatten()
                .map(|read| read.len() as u64)
                .sum::<u64>();
            for ((member, need), bytes) in askers.iter().zip(&read) {
                self.openings[*member].answer(need, bytes.as_deref().map_err(|errno| *errno));
            }
        }
        Ok(answers.into_iter().flatten().collect())
    }
}

/// Whether another program has locked what is written. All files that are recorded to are locked.
fn is_written(target: &Target) -> bool {
    target.lock.is_none() && target.file.as_ref().is_some_and(is_being_written)
}

impl fmt::Debug for Store {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Store")
            .field("id", &self.id)
            .field("members", &self.members)
            .field("missing", &self.missing)
            .finish_non_exhaustive()
    }
}

/// The first sequence of a recording on a store whose largest one is this.
pub(crate) fn first_sequence_above(max_sequence: u64) -> u64 {
    let above = max_sequence.saturating_add(1);
    above
        .checked_next_multiple_of(SEQUENCE_STEP)
        .unwrap_or(u64::MAX)
}

/// The slots that are begun when a recording has begun in this slot, if the member has it.
pub(crate) fn slots_begun_for(next_slot_serial: u64, slot_count: u64, ring: bool) -> u64 {
    let is_full = !ring && next_slot_serial >= slot_count;
    next_slot_serial.saturating_add(u64::from(!is_full))
}

fn is_full(member: &OpenMember, tail: &MemberTail) -> bool {
    tail.next_slot_serial >= member.superblock.geometry.slot_count
}
