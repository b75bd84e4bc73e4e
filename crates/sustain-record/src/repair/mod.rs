//! Rebuilds what a lost member of a store with parity had onto a new one, for `sustain repair`. It
//! keeps no state but what it has written, so it can be interrupted and goes on.

pub(crate) mod append;
mod beside;
mod complete;
mod copy;
mod draft;
mod hole;
mod known_next;
mod lost_appends;
mod marks;
pub(crate) mod old_members;
mod parity_queue;
mod protected_slots;
mod replacement_writer;
mod slot_order;
mod tally;
#[cfg(test)]
mod tests;
mod turns;

use sustain_document::setting::ACCEPT_LOSS;
use sustain_host::Roots;
use sustain_targets::{SimulatedDisk, Stop};
use uuid::Uuid;

pub use self::beside::{RecordingBeside, SETTLED_AFTER_NS};
use self::copy::SlotCopy;
use self::old_members::OldMembers;
use self::replacement_writer::ReplacementWriter;
pub use self::tally::RepairTally;
use crate::error::RecordError;
use crate::member_io::QueuedWrites;
use crate::reading::verify::Checkable;
use crate::store::{CreateEvent, Missing, Onto, Replacement, Store};
use crate::walk::AppendIdentity;

const WHY: &str = "a member is rebuilt from the others";

/// Events while a member is rebuilt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RepairEvent {
    /// A note for the user. Notes come before anything is written.
    Note(String),
    /// So many slots of so many are written.
    Written {
        /// Slots so far.
        slots_done: u64,
        /// All of them.
        slots_all: u64,
    },
}

/// A member that was rebuilt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repaired {
    /// Its place in the table of members, from 0.
    pub member: usize,
    /// Its UUID: that of the member whose place it takes.
    pub uuid: Uuid,
    /// The name as typed.
    pub name: String,
    /// What was written, and what could not be.
    pub tally: RepairTally,
    /// The members that are missing still.
    pub still_missing: Vec<Missing>,
    /// The numbers of the recordings that were begun, and of which nothing was on the others: what
    /// the lost member had of them is lost with it.
    pub unseen_recordings: Vec<u32>,
}

/// How far a repair has come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Repair {
    /// The member is one of the store again.
    Complete(Repaired),
    /// Beside a recording all is on the member that could be, or the store was changed meanwhile.
    /// The member is not complete before the same call is made once more, over the store opened
    /// again, when nobody writes to it.
    SoFar,
}

impl Store {
    /// Makes sure that a member can be rebuilt onto a new one, and prepares that, so that nobody
    /// waits in vain for what comes then.
    ///
    /// # Errors
    /// Those of [`Store::repair_onto`] before anything is rebuilt.
    pub fn prepare_onto(
        &mut self,
        onto: &Onto,
        beside: Option<RecordingBeside>,
        (roots, stop): (&Roots, &Stop),
        observer: &mut dyn FnMut(RepairEvent),
    ) -> Result<(), RecordError> {
        self.prepared(onto, beside, (roots, stop), observer)?;
        Ok(())
    }

    /// Rebuilds a missing member onto a new one. The store must be open for reading. `beside` is
    /// the recording that goes on meanwhile, if there is one.
    ///
    /// # Errors
    /// [`RecordError::Usage`], [`RecordError::Target`] and [`RecordError::Member`] before anything
    /// is written; [`RecordError::Request`] and [`RecordError::Silent`] if the new member cannot be
    /// written; [`RecordError::Interrupted`] if `stop` says so: the same call goes on then.
    pub fn repair_onto(
        &mut self,
        onto: &Onto,
        beside: Option<RecordingBeside>,
        (roots, stop): (&Roots, &Stop),
        observer: &mut dyn FnMut(RepairEvent),
    ) -> Result<Repair, RecordError> {
        let replacement = self.prepared(onto, beside, (roots, stop), observer)?;
        self.repair_with(replacement, beside, stop, observer)
    }

    fn prepared(
        &mut self,
        onto: &Onto,
        beside: Option<RecordingBeside>,
        (roots, stop): (&Roots, &Stop),
        observer: &mut dyn FnMut(RepairEvent),
    ) -> Result<Replacement, RecordError> {
        self.check_repairable(beside)?;
        self.check_loss(onto)?;
        let mut prepares = |event| {
            if let CreateEvent::Note(note) = event {
                observer(RepairEvent::Note(note));
            }
        };
        self.replacement(onto, roots, stop, &mut prepares)
    }

    /// The same onto a disk of a simulated machine, where nothing is recorded meanwhile.
    ///
    /// # Errors
    /// The same as of [`Store::repair_onto`].
    pub fn repair_onto_simulated(
        &mut self,
        disk: &SimulatedDisk,
        stop: &Stop,
        observer: &mut dyn FnMut(RepairEvent),
    ) -> Result<Repair, RecordError> {
        self.check_repairable(None)?;
        let replacement = self.replacement_on(disk)?;
        self.repair_with(replacement, None, stop, observer)
    }

    fn check_repairable(&mut self, beside: Option<RecordingBeside>) -> Result<(), RecordError> {
        if beside.is_none() && self.is_recorded_to() != Some(false) {
            return Err(RecordError::Usage(
                "the store is being recorded to: repair it when the recording has ended".to_owned(),
            ));
        }
        Ok(())
    }

    /// Refuses to begin where more members are missing than parity replaces: most likely some were
    /// not named.
    fn check_loss(&mut self, onto: &Onto) -> Result<(), RecordError> {
        if onto.name.is_empty() {
            return Err(RecordError::Usage("the new member has no name".to_owned()));
        }
        let groups = self.members.iter().find_map(|member| member.groups.clone());
        let (Some(groups), missing) = (groups, self.not_given().len()) else {
            return Ok(());
        };
        // All parity may have been on the members that are lost: starts tell of it, too.
        let asked = self.recordings()?.into_iter();
        let asked = asked.filter_map(|recording| recording.parities).max();
        let parities = groups.find(WHY)?.parities().max(self.parities());
        let parities = parities.max(asked.unwrap_or(0));
        if onto.accept_loss || missing <= usize::from(parities) {
            return Ok(());
        }
        Err(RecordError::Usage(format!(
            "{missing} members of the store were not named, and parity replaces {parities}: name \
             all that are there. If so many are lost, some of what they had is, too: with \
             {ACCEPT_LOSS} the rest is rebuilt"
        )))
    }

    fn repair_with(
        &mut self,
        mut replacement: Replacement,
        beside: Option<RecordingBeside>,
        stop: &Stop,
        observer: &mut dyn FnMut(RepairEvent),
    ) -> Result<Repair, RecordError> {
        let groups = self.members.iter().find_map(|member| member.groups.clone());
        let groups = groups.expect("a store with a replacement has parity");
        let found = groups.find(WHY)?;
        let recordings = self.recordings()?;
        let superblock = &replacement.superblock;
        let (member, uuid) = (usize::from(superblock.member_index), superblock.member);
        let mut writer = ReplacementWriter {
            position: self.members.len(),
            identity: AppendIdentity::of(superblock),
            member,
            course: superblock.course(),
            is_continued: replacement.is_continued,
            has_all_of_its_own: replacement.is_continued && !superblock.is_being_repaired,
            slots_begun: superblock.slots_begun,
            writes: QueuedWrites::of(self.members.len(), &replacement.name),
        };
        let from = OldMembers::new(self, (groups, found), beside);
        let io = replacement.io_beside(self)?;
        let mut copy = SlotCopy::new(io, from, &recordings, &mut writer);
        let behind = copy.run(&mut |slots_done, slots_all| {
            observer(RepairEvent::Written {
                slots_done,
                slots_all,
            });
            stop.reason().is_none()
        })?;
        let (tally, end_slot) = (copy.tally, copy.end_slot());
        // What is under way when it is interrupted need not be done again.
        copy.flush()?;
        let Some(behind) = behind else {
            return Err(RecordError::Interrupted(format!(
                "interrupted before all was on {}: the same command goes on where it ended",
                replacement.name
            )));
        };
        // What was read ahead in vain may be in flight, and the members are looked at again.
        drop(copy);
        if beside.is_some() {
            return Ok(Repair::SoFar);
        }
        if self.was_recorded_to_since()? {
            return Ok(Repair::SoFar);
        }
        let superblock = &mut replacement.superblock;
        superblock.slots_begun = behind.max(superblock.slots_begun);
        superblock.repaired_slots = behind;
        superblock.is_being_repaired = false;
        // Members that are older than any other seem to lack something.
        let was_raised = replacement.is_continued;
        superblock.generation = superblock.generation.saturating_sub(was_raised.into());
        superblock.has_ended = end_slot.is_some_and(|slot| slot + 1 == superblock.slots_begun);
        superblock.end_slot = end_slot;
        replacement.write_superblock(self)?;
        let still_missing = self.not_given().into_iter();
        let recordings = self.recordings()?;
        Ok(Repair::Complete(Repaired {
            unseen_recordings: Checkable::of(self, &recordings).unseen_recordings(),
            member,
            uuid,
            name: replacement.name,
            tally,
            still_missing: still_missing
                .filter(|missing| missing.index != member)
                .collect(),
        }))
    }
}
