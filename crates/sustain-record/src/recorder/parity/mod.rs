//! Parity while it is recorded: which appends protect each other, and the sums over them.
//!
//! ```text
//! an append is placed -> joins a group -> its bytes are added to the sums of the group
//! the group closes    -> the sums become appends of parity -> placed on other members
//! each of them is durable, or lost with its member -> Groups tell what is covered and protected
//! ```

mod groups;
mod sums;
mod width;

use std::collections::{BTreeMap, VecDeque};

use sustain_disk::clock::Timestamp;
use sustain_disk::error::Error;

pub(in crate::recorder) use groups::{GroupChange, Groups};
pub(in crate::recorder) use sums::{GroupSums, ParityAppend, SumPool};
pub(in crate::recorder) use width::{WholeWidths, width_at_full_rate};

use super::ledger::Ledger;
use super::member::Unflushed;
use crate::format::{BLOCK_BYTES, GroupList, append_bytes_for};

/// Groups that are open at a time. A member that is in all of them waits until one closes, so this
/// is how far a fast member may be ahead of a slow one.
pub(in crate::recorder) const OPEN_GROUPS_MAX: usize = 8;
/// A group closes at this age, or before: who repairs a store beside a recording relies on that
/// nothing joins an older one.
pub(crate) const GROUP_AGE_NS_MAX: u64 = 5_000_000_000;
/// Memory for sums that wait for members, beside those of open groups.
const WAITING_BYTES_MAX: usize = 64 << 20;
/// No more of them wait, however short they are: all are looked through for each write.
const WAITING_MAX: usize = 64;

/// How a recording is protected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ParitySetup {
    /// Appends of parity of each group, from 1.
    pub parities: usize,
    /// The longest append of data, in bytes.
    pub append_bytes: u32,
}

impl ParitySetup {
    /// The bytes that an append of parity may take on a member beyond the data that it protects.
    pub const AROUND_BYTES: u32 = 2 * BLOCK_BYTES as u32;

    /// The longest append of parity.
    pub(in crate::recorder) fn parity_bytes(&self) -> u32 {
        let list_bytes = GroupList::bytes_of(GroupList::ENTRIES_MAX) as u32;
        append_bytes_for(self.append_bytes, list_bytes)
    }

    /// Memory for the sums of all groups that are open or wait.
    ///
    /// # Errors
    /// [`Error::Memory`].
    pub(in crate::recorder) fn memory(&self) -> Result<SumPool, Error> {
        let length_bytes = self.parity_bytes() as usize;
        let waiting = (WAITING_BYTES_MAX / length_bytes + 1).min(WAITING_MAX);
        SumPool::new(self.parities * (OPEN_GROUPS_MAX + waiting), length_bytes)
    }

    /// Slots that a member keeps free of data, so that the parity of all that is open finds a place
    /// when the store is full.
    pub(in crate::recorder) fn kept_slots(&self, slot_bytes: u32, slot_count: u64) -> u64 {
        let in_slot = (slot_bytes / self.parity_bytes()).max(1) as usize;
        let slots = OPEN_GROUPS_MAX.div_ceil(in_slot) as u64 + 1;
        slots.min(slot_count / 4)
    }
}

/// No more groups are open or have parity that waits.
pub(in crate::recorder) const OUTSTANDING_GROUPS_MAX: u64 = (OPEN_GROUPS_MAX + WAITING_MAX) as u64;

/// What an append of data in a group accounts for.
#[derive(Debug, Clone, Copy)]
pub(in crate::recorder) struct GroupStretch {
    pub(in crate::recorder) stream: u16,
    pub(in crate::recorder) start_bytes: u64,
    pub(in crate::recorder) begun_at: Timestamp,
}

/// A member of which what was durable is gone.
#[derive(Debug, Clone)]
pub(in crate::recorder) struct HarmedMember {
    pub(in crate::recorder) at: Timestamp,
    /// How much of each stream had been offered by then: nothing behind it was on the member.
    pub(in crate::recorder) offered_bytes: Vec<u64>,
}

/// The parity of a recording.
pub(in crate::recorder) struct Protection {
    pub(in crate::recorder) setup: ParitySetup,
    pub(in crate::recorder) groups: Groups,
    /// Of the open groups.
    pub(in crate::recorder) sums: BTreeMap<u64, GroupSums>,
    /// Parity that waits for a member.
    pub(in crate::recorder) waiting: VecDeque<ParityAppend>,
    pub(in crate::recorder) memory: SumPool,
    /// Of the groups that close because they are full.
    pub(in crate::recorder) widths: WholeWidths,
    /// Groups are narrower until then, because they hold up fast members.
    pub(in crate::recorder) narrow_until: Option<Timestamp>,
    /// What appends of data account for whose groups are not decided, by their sequence.
    pub(in crate::recorder) stretches: BTreeMap<u64, GroupStretch>,
    /// Members whose files were deleted or cut off.
    pub(in crate::recorder) harmed: BTreeMap<usize, HarmedMember>,
    /// Appends whose members have failed before a flush, and that may be covered all the same.
    pub(in crate::recorder) uncertain: BTreeMap<u64, Unflushed>,
    /// When members that were hedged had caught up last.
    pub(in crate::recorder) caught_up: BTreeMap<usize, Timestamp>,
    /// How far each stream is protected.
    pub(in crate::recorder) ledgers: Vec<Ledger>,
}

impl Protection {
    pub(in crate::recorder) fn new(
        setup: ParitySetup,
        memory: SumPool,
        streams: usize,
    ) -> Protection {
        Protection {
            setup,
            groups: Groups::new(setup.parities),
            sums: BTreeMap::new(),
            waiting: VecDeque::new(),
            memory,
            widths: WholeWidths::default(),
            narrow_until: None,
            stretches: BTreeMap::new(),
            harmed: BTreeMap::new(),
            uncertain: BTreeMap::new(),
            caught_up: BTreeMap::new(),
            ledgers: vec![Ledger::default(); streams],
        }
    }

    /// Whether nothing more becomes of it than requests that are in flight.
    pub(in crate::recorder) fn is_idle(&self) -> bool {
        self.sums.is_empty()
            && self.waiting.is_empty()
            && self.uncertain.is_empty()
            && !self.groups.is_held()
    }

    /// The bytes at this place of a stream have become a gap, which has an account of its own.
    pub(in crate::recorder) fn forget(&mut self, stream: u16, start_bytes: u64) {
        let is_it = |one: &GroupStretch| one.stream == stream && one.start_bytes == start_bytes;
        self.stretches.retain(|_, one| !is_it(one));
    }
}
