//! What a repair has to know of a recording that goes on meanwhile.
//!
//! The recorder writes nothing on a member that it has given up, so all that lies there can be
//! computed while it goes on with the others. What is not settled is parity: a group of which no
//! list is found may be open still, and parity that is made of a part of it would be another one
//! than the recorder makes. So only groups that are old enough count, and no end mark is put before
//! the recording has ended: then the rest is made.

use crate::error::RecordError;
use crate::recorder::GROUP_AGE_NS_MAX;
use crate::store::Store;

/// After so long nothing joins a group any more that had begun before.
pub const SETTLED_AFTER_NS: u64 = GROUP_AGE_NS_MAX + 1_000_000_000;

/// A recording that goes on while a member is rebuilt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecordingBeside {
    /// Its number.
    pub recording: u32,
    /// Nothing joins a group any more of which the appends that are found have no larger sequence.
    pub settled_sequence: u64,
}

impl Store {
    /// The recording that goes on, of a store that is open for reading; none if none does. Its
    /// groups are settled after [`SETTLED_AFTER_NS`]: the store is to be opened again then.
    ///
    /// # Errors
    /// [`RecordError::Usage`] for a ring, whose groups are overwritten while they are read, and
    /// those of [`Store::recordings`].
    pub fn recording_beside(&mut self) -> Result<Option<RecordingBeside>, RecordError> {
        if self.is_recorded_to() == Some(false) {
            return Ok(None);
        }
        let recordings = self.recordings()?;
        let Some(newest) = recordings.first() else {
            return Ok(None);
        };
        if newest.ring {
            return Err(RecordError::Usage(
                "the store is being recorded to in a ring, which overwrites what is read here: \
                 repair it when the recording has ended"
                    .to_owned(),
            ));
        }
        let lasts = self.tails.iter().filter_map(|tail| tail.last.as_ref());
        Ok(Some(RecordingBeside {
            recording: newest.number,
            settled_sequence: lasts.map(|last| last.sequence).max().unwrap_or(0),
        }))
    }
}
