//! Puts back what is damaged on members that are there, for `sustain scrub`.
//!
//! It writes nothing but what lay in a place, byte for byte: an append whose checksums, and the
//! checksum that the list of its group names, were right when it was computed. Everything else is
//! left as it is. So a scrub that is interrupted, or meets further damage, costs nothing.

mod damaged;

use sustain_disk::engine::Operation;
use sustain_disk::error::{IoFault, RequestError};
use sustain_targets::Stop;
use uuid::Uuid;

use self::damaged::DamagedAppends;
use crate::error::RecordError;
use crate::reading::verify::VerifyResult;
use crate::store::{OpenMember, Store};

/// A member on which something was put back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScrubbedMember {
    /// Its place in the table of members, from 0.
    pub member: usize,
    /// Its UUID.
    pub uuid: Uuid,
    /// The name as typed.
    pub name: String,
    /// Appends that were put back.
    pub appends: u64,
    /// Their bytes.
    pub bytes: u64,
}

impl Store {
    /// Puts back the appends that `checked` names as damaged, on a store that is open for
    /// recording. `read` is the same store, open for reading, as it was checked. `observer` is told
    /// the bytes of each append that was written. Where `stop` says so it ends early, and the same
    /// call goes on.
    ///
    /// # Errors
    /// [`RecordError::Usage`] if somebody recorded to the store since it was checked;
    /// [`RecordError::Request`] if a member cannot be written; [`RecordError::Silent`],
    /// [`RecordError::Engine`].
    pub fn scrub(
        &mut self,
        read: &Store,
        checked: &VerifyResult,
        stop: &Stop,
        observer: &mut dyn FnMut(u64),
    ) -> Result<Vec<ScrubbedMember>, RecordError> {
        self.check_is_as_read(read)?;
        let Some(groups) = read.members.iter().find_map(|one| one.groups.clone()) else {
            return Ok(Vec::new());
        };
        let damaged = DamagedAppends::find(&groups, checked, &read.members)?;
        let mut io = self.io()?;
        let mut scrubbed: Vec<ScrubbedMember> = self.members.iter().map(nothing_yet).collect();
        for append in &damaged.appends {
            if stop.reason().is_some() {
                break;
            }
            let position = |member| self.members.iter().position(|one| one.index() == member);
            let Some(member) = position(append.member) else {
                continue;
            };
            let Some(bytes) = damaged.compute(append, &mut io, &position)? else {
                continue;
            };
            let written = io.write(member, append.offset_bytes, &bytes);
            io.check_engine()?;
            let place = (Operation::Write, append.offset_bytes);
            written.map_err(|fault| self.failed(member, place, fault))?;
            scrubbed[member].appends += 1;
            scrubbed[member].bytes += bytes.len() as u64;
            observer(bytes.len() as u64);
        }
        let is_written = |member: &usize| scrubbed[*member].appends > 0;
        let written: Vec<usize> = (0..scrubbed.len()).filter(is_written).collect();
        let flushed = io.flush_all(&written);
        io.check_engine()?;
        for (member, flushed) in written.into_iter().zip(flushed) {
            flushed.map_err(|fault| self.failed(member, (Operation::Flush, 0), fault))?;
        }
        scrubbed.retain(|one| one.appends > 0);
        Ok(scrubbed)
    }

    fn failed(
        &self,
        member: usize,
        (operation, offset_bytes): (Operation, u64),
        fault: IoFault,
    ) -> RecordError {
        RecordError::Request(RequestError {
            target: self.members[member].name.clone(),
            operation,
            offset_bytes,
            fault,
        })
    }
}

fn nothing_yet(member: &OpenMember) -> ScrubbedMember {
    ScrubbedMember {
        member: member.index(),
        uuid: member.superblock.member,
        name: member.name.clone(),
        appends: 0,
        bytes: 0,
    }
}
