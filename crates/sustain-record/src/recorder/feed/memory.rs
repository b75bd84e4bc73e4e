//! The memory of a recorder beside that of its sources.

use sustain_disk::buffer::BufferPool;
use sustain_disk::error::Error;

use super::{CONTROL_BYTES, CONTROLS_PER_MEMBER, RecordSetup};
use crate::recorder::parity::SumPool;

/// The recorder's own memory, which the recording that follows takes over.
pub(super) struct FeedMemory {
    /// For marks, of each member.
    pub(super) controls: Vec<BufferPool>,
    /// For parity, if there is any.
    pub(super) sums: Option<SumPool>,
}

impl FeedMemory {
    /// # Errors
    /// [`Error::Memory`].
    pub(super) fn new(setup: &RecordSetup) -> Result<FeedMemory, Error> {
        let members = setup.members.iter();
        let controls = members.map(|_| BufferPool::new(CONTROLS_PER_MEMBER, CONTROL_BYTES));
        Ok(FeedMemory {
            controls: controls.collect::<Result<_, Error>>()?,
            sums: setup.parity.map(|parity| parity.memory()).transpose()?,
        })
    }
}
