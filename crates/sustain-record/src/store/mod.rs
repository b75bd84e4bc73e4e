//! Stores: creating them, finding and opening their members, and listing what they hold. The
//! recorder and the readers begin here. Nothing is written to a member that the guard has not
//! checked.

mod absences;
mod access;
mod add;
mod anew;
mod answering;
mod apart;
mod begun_member;
mod bounded;
mod candidate;
mod create;
mod degraded;
mod groups;
mod holes;
mod member;
mod member_checks;
#[cfg(test)]
mod mounted_file_system;
mod open;
mod parity;
mod path;
mod pin_tables;
mod pins;
mod prewrite;
mod read_members;
mod rebuilt;
mod renewal;
mod repair_claim;
mod replacement;
mod retired;
mod scan;
mod slot_heads;
pub(crate) mod superblocks;
mod tables;
mod torn;
mod wipe;

use std::collections::BTreeSet;
use std::fmt;
use std::path::Path;

use sustain_disk::clock::Clock;
use sustain_disk::engine::SharedMachine;
use sustain_disk::target::{Target, is_being_written};
use sustain_document::setting::{ADD, DESTROY, RING};
use sustain_host::Roots;
use sustain_targets::RecordersBeside;
use uuid::Uuid;

use crate::error::RecordError;
use crate::format::Geometry;
use crate::member_io::{MemberIo, ReadOrder};
use crate::opening::{Apart, Asked, MemberTail, Opening, Recording, merge};

pub use crate::member_io::on_long_wait;
pub use add::{AddPlan, add, add_simulated};
pub use answering::{check_answering, check_takes_writes, write_within_bound};
pub use create::{CreateEvent, CreatePlan, Created, CreatedMember, create, create_simulated};
pub use groups::StoreGroups;
pub use member::OpenMember;
use member::takes_blocks;
#[cfg(test)]
pub(crate) use mounted_file_system::MountedFileSystem;
pub use pins::StorePin;
pub(crate) use pins::{FREE_SLOTS_MIN, next_slot};
pub use renewal::Renewal;
pub(crate) use renewal::slots_begun_for;
pub use repair_claim::RepairClaim;
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
    /// For recording. All members must be there, but for [`Store::open_degraded`], pass the guard,
    /// and are locked against other recorders.
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
    /// The others of which nothing can be computed. A store that is open for recording has none, or
    /// those that are missing in [`Store::open_degraded`].
    pub missing: Vec<Missing>,
    /// Those that were retired, which nobody misses. Where anything of them is read, it comes from
    /// the copies that others have.
    retired: Vec<Missing>,
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
    /// The same of what pins keep.
    has_looked_for_pins: bool,
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
        let is_written = self.is_being_written();
        (is_written == self.was_written).then_some(is_written)
    }

    /// Whether somebody records to the store by now, or changes it in another way.
    pub fn is_being_written(&self) -> bool {
        let mut members = self.members.iter();
        members.any(|member| is_written(&member.target))
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
        let mut by_index = vec![None; self.member_count()];
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

    /// How many members are in the table of the store, missing and retired ones included.
    pub fn member_count(&self) -> usize {
        let tables = self.members.iter();
        let lengths = tables.map(|member| member.superblock.members.len());
        lengths.max().unwrap_or(0)
    }

    /// The number that the next recording gets. Where members are missing, it lies above all that
    /// were begun before: a crash may have left one of these on the missing members alone.
    pub fn next_recording(&self) -> u32 {
        let numbers = self.tails.iter().map(|tail| tail.max_recording);
        let members = self.members.iter().filter(|_| !self.missing.is_empty());
        let begun = members.map(|member| member.superblock.recordings_begun);
        numbers.chain(begun).max().unwrap_or(0).saturating_add(1)
    }

    /// The first sequence of the next recording. It lies above all sequences that were found, and
    /// above those that a crash may have destroyed, or that only missing members may have.
    pub fn first_sequence(&self) -> u64 {
        let sequences = self.tails.iter().map(|tail| tail.max_sequence);
        let first = first_sequence_above(sequences.max().unwrap_or(0));
        if self.missing.is_empty() {
            return first;
        }
        // Each recording that only those may have began two steps higher, and has less than one.
        let found = self.tails.iter().map(|tail| tail.max_recording).max();
        let unknown = self.next_recording() - found.unwrap_or(0);
        first_sequence_above(first.saturating_add(2 * u64::from(unknown) * SEQUENCE_STEP))
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
        match self.is_full() {
            true => Err(self.full()),
            false => Ok(()),
        }
    }

    /// Fails if as few members as this, of those that may be recorded to, have slots left beyond
    /// those that are kept for parity. Nothing could be protected, so nothing would be recorded.
    pub(crate) fn require_room_for_groups(
        &self,
        parities: usize,
        kept_slots: impl Fn(&Geometry) -> u64,
    ) -> Result<(), RecordError> {
        let members = self.members.iter().zip(&self.tails);
        let taking = members.filter(|(member, _)| !self.is_left_alone(member));
        let has_room = |member: &OpenMember, tail: &MemberTail| {
            let geometry = &member.superblock.geometry;
            tail.next_slot_serial + kept_slots(geometry) < geometry.slot_count
        };
        let has_room: Vec<bool> = taking
            .map(|(member, tail)| has_room(member, tail))
            .collect();
        let with_room = has_room.iter().filter(|one| **one).count();
        // Where as few as this are left at all, it goes on without full protection.
        match has_room.len() > parities && with_room <= parities {
            true => Err(self.full()),
            false => Ok(()),
        }
    }

    fn full(&self) -> RecordError {
        let names: Vec<&str> = self.members.iter().map(|one| one.name.as_str()).collect();
        RecordError::Usage(format!(
            "the store on {} is full, so nothing was read or recorded: use {} to overwrite its \
             oldest data; or make it larger with `sustain create` and {}; or create another store; \
             or, once you have extracted what you need, make this one anew, which deletes all that \
             is in it, with `sustain create {}` and {} for each member",
            names.join(" and "),
            RING.the(),
            ADD.the(),
            names.join(" "),
            DESTROY.the()
        ))
    }

    /// Opens single reads and writes of the members, addressed by their index in `members`.
    ///
    /// # Errors
    /// [`RecordError`] if the system has no engine or memory for it.
    pub fn io(&self) -> Result<MemberIo, RecordError> {
        access::io(&self.members, self.mode, &self.machines, &self.clock)
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

fn is_full(member: &OpenMember, tail: &MemberTail) -> bool {
    tail.next_slot_serial >= member.superblock.geometry.slot_count
}
