//! Takes a member out of a store without loss, for `sustain retire`, and for `sustain repair` where
//! no new member takes the place of a lost one: what it has, or had, is copied to the others.
//!
//! Nothing moves. Every append of data gets copies on so many members that one is left whatever is
//! lost, and so does the parity that groups have there. Then the superblocks say that the member
//! is retired, and readers find the copies where they would look for it. Until that instant it is
//! a member as before; whoever is interrupted goes on with the same command.

mod copies_writer;
mod lanes;
mod moving;
mod places;
mod retirement;
mod tally;

use sustain_document::setting::ONTO;
use sustain_targets::Stop;

use self::retirement::Retirement;
pub use self::tally::{RehearsedRetirement, RetireTally, Retired};
use crate::error::RecordError;
use crate::format::Pin;
use crate::opening::Recording;
use crate::store::{OpenMember, Store};

impl Store {
    /// Retires a member of a store, by its place in the table. The store was opened by
    /// [`Store::open_to_retire`], and `read` is the same, open for reading, with its recordings.
    /// `observer` is told how
    /// many slots of how many were read; all of them are read twice.
    ///
    /// # Errors
    /// [`RecordError::Usage`] before anything is written where the others cannot take it;
    /// [`RecordError::Request`], [`RecordError::Silent`]; [`RecordError::Interrupted`] if `stop`
    /// says so: the same call goes on then.
    pub fn retire(
        &mut self,
        (read, recordings): (&Store, &[Recording]),
        (member, accept_loss): (usize, bool),
        stop: &Stop,
        observer: &mut dyn FnMut(u64, u64),
    ) -> Result<Retired, RecordError> {
        let retirement = self.retirement(read, member)?;
        retirement.run(self, (recordings, accept_loss), (stop, observer))
    }

    /// Finds out what [`Store::retire`] would do, and writes nothing. All slots are read once.
    ///
    /// # Errors
    /// The same as before anything is written.
    pub fn rehearse_retirement(
        &self,
        (read, recordings): (&Store, &[Recording]),
        (member, accept_loss): (usize, bool),
        stop: &Stop,
        observer: &mut dyn FnMut(u64, u64),
    ) -> Result<RehearsedRetirement, RecordError> {
        let retirement = self.retirement(read, member)?;
        retirement.rehearse(self, (recordings, accept_loss), (stop, observer))
    }

    fn retirement<'a>(
        &self,
        read: &'a Store,
        member: usize,
    ) -> Result<Retirement<'a>, RecordError> {
        self.check_is_as_read(read)?;
        self.check_retirable(read, member)?;
        Retirement::of(self, read, member)
    }

    /// Refuses what would have to be copied in another way.
    fn check_retirable(&self, read: &Store, member: usize) -> Result<(), RecordError> {
        let superblocks = || self.members.iter().map(|member| &member.superblock);
        if superblocks().any(|superblock| superblock.pins.iter().any(Pin::is_set)) {
            return Err(RecordError::Usage(
                "the store has pins, and what only a pin keeps cannot be copied yet. A lost member \
                 can be rebuilt onto a new one, which has its pins as well. Otherwise extract what \
                 they keep, free them with `sustain unpin`, which needs all members, and retire \
                 the member then"
                    .to_owned(),
            ));
        }
        let mut staying = self.members.iter().filter(|one| one.index() != member);
        if let Some(lacking) = staying.find(|one| self.is_left_alone(one)) {
            return Err(lacks_something(&lacking.name));
        }
        let lacks = |one: &&OpenMember| one.is_there() && one.rebuilt.is_some();
        let mut lacking = read.members.iter().filter(lacks);
        if let Some(lacking) = lacking.find(|one| one.index() != member) {
            return Err(lacks_something(&lacking.name));
        }
        Ok(())
    }
}

/// What a member lacks can be computed from the others only as long as nothing is written behind
/// its end.
fn lacks_something(name: &str) -> RecordError {
    RecordError::Usage(format!(
        "{name} does not have all that it was given: repair it first, with the other members and \
         {}",
        ONTO.to(name)
    ))
}
