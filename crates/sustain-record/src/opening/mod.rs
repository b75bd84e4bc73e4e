//! Finds out what is on the members of a store, reading as little as possible. It is pure: it names
//! the ranges that it needs and is given their bytes; the store does the reading.
//!
//! Every answer is computed anew from the facts learned so far. Where a fact is missing, the answer
//! is what must be read first, and then the caller asks again. This must come to an end and never
//! panic whatever lies on the medium, and what cannot be read counts as empty.

mod boundary;
mod catalog;
mod chapters;
mod durable;
mod facts;
mod lost_marks;
mod pinned;
mod recording;
mod search;
mod tail;
#[cfg(test)]
pub(crate) mod tests;

pub use catalog::{Apart, merge};
pub use chapters::Chapter;
pub(crate) use durable::{durable_beginning, was_durable, was_durable_in_part};
pub use facts::Need;
pub use lost_marks::EndDurability;
pub(crate) use lost_marks::MARK_IS_UNKNOWN;
pub use pinned::{Kept, PinBegin, merge_pinned};
pub use recording::{Recording, StreamExtent, StreamSummary};
pub use tail::MemberTail;

use std::collections::HashMap;

use sustain_disk::error::IoFault;
use sustain_disk::units::Size;

use crate::format::{Descriptor, Pin, Superblock};
use crate::walk::{AppendIdentity, divide};
use facts::MemberEvidence;
use lost_marks::LastEnded;

/// Slots in a row that are looked at before none is believed to follow. A crash can have left
/// something this far behind the newest slot.
pub(crate) const PATIENCE_SLOTS: u64 = 16;

/// The slot of the last end mark that became durable on a member, as its superblock tells, where
/// nothing can have been written over it since.
pub(crate) fn durable_end_slot(superblock: &Superblock) -> Option<u64> {
    if superblock.has_ended {
        return superblock.slots_begun.checked_sub(1);
    }
    // In a ring, recordings that were cut off before their starts were durable may have come so far
    // without a trace: nothing else is written before. `recover` may have been cut off, too, while
    // it wrote its mark behind that.
    let lap = superblock.geometry.slot_count;
    let is_kept = |slot: &u64| slot.saturating_add(lap) > superblock.slots_begun;
    superblock.end_slot.filter(is_kept)
}

/// Nothing that a recorder has left is read more than a few times: what begins at a place, what a
/// slot has of one lap or another, a note. So unless a member was forged, no question takes more
/// reading than this many times the member, and some more for small ones.
const READ_MEMBERS_MAX: u64 = 8;
const READ_BYTES_MIN: u64 = 16 << 20;

/// An answer, or what must be read before it can be given.
pub type Asked<T> = Result<T, Vec<Need>>;

/// One member that is being opened.
#[derive(Debug)]
pub struct Opening {
    facts: MemberEvidence,
    /// The hint in the superblock.
    slots_begun: u64,
    ended: LastEnded,
    pins: Vec<Pin>,
    /// What pins keep of recordings, by their numbers, as far as it is known.
    pinned: HashMap<u32, Vec<Chapter>>,
    tail: Option<MemberTail>,
    /// The newest recordings, as far as they are known.
    chapters: Vec<Chapter>,
}

impl Opening {
    /// Begins to open the member with this superblock.
    pub fn new(superblock: &Superblock) -> Opening {
        Opening {
            facts: MemberEvidence::new(AppendIdentity::of(superblock), superblock.course())
                .beginning_with(superblock.first_recording),
            pins: superblock.pins.clone(),
            pinned: HashMap::new(),
            slots_begun: superblock.slots_begun,
            ended: LastEnded {
                has_ended: superblock.has_ended,
                end_slot: durable_end_slot(superblock),
            },
            tail: None,
            chapters: Vec::new(),
        }
    }

    /// Returns where the member's content ends, and where the next recording begins.
    ///
    /// # Errors
    /// What must be read first: give each to [`Opening::answer`], then ask again.
    pub fn tail(&mut self) -> Asked<MemberTail> {
        if let Some(tail) = &self.tail {
            return Ok(tail.clone());
        }
        let tail = tail::tail(&self.facts, self.slots_begun, self.ended.has_ended)?;
        self.tail = Some(tail.clone());
        Ok(tail)
    }

    /// Returns the recordings on this member, newest first.
    ///
    /// # Errors
    /// The same as of [`Opening::tail`].
    pub fn chapters(&mut self) -> Asked<Vec<Chapter>> {
        let tail = self.tail()?;
        loop {
            let next = match self.chapters.last() {
                Some(newer) => newer.before.clone(),
                None => tail.last.clone(),
            };
            let Some(last) = next else {
                return Ok(self.chapters.clone());
            };
            let chapter = chapters::chapter(&self.facts, &tail, &last, &self.chapters, self.ended)?;
            self.chapters.push(chapter);
        }
    }

    /// Takes note of a pin that the superblock does not tell of.
    pub fn enter_pin(&mut self, pin: Pin) {
        self.pins.push(pin);
    }

    /// Returns what a pin keeps of recordings on this member, newest first; nothing if there is no
    /// such pin here.
    ///
    /// # Errors
    /// The same as of [`Opening::tail`].
    pub fn pinned(&mut self, number: u32) -> Asked<Vec<Chapter>> {
        let tail = self.tail()?;
        let mut chapters = self.pinned.remove(&number).unwrap_or_default();
        let mut pins = self.pins.iter().filter(|pin| pin.is_set());
        if let Some(pin) = pins.find(|pin| pin.number == number) {
            let answer = pinned::chapters(&self.facts, &tail, *pin, &mut chapters);
            self.pinned.insert(number, chapters.clone());
            answer?;
        }
        Ok(chapters)
    }

    /// Returns the last slot that is known to have been begun by this time, or the oldest that can
    /// be there: what is kept from there on lacks nothing.
    ///
    /// # Errors
    /// The same as of [`Opening::tail`].
    pub fn slot_at(&mut self, time_ns: i64) -> Asked<u64> {
        let tail = self.tail()?;
        let end = tail.next_slot_serial;
        let slots = end.saturating_sub(self.facts.slot_count())..end;
        let begun = |serial| self.facts.descriptor(facts::slot_start(serial));
        let is_begun = |first: &&Descriptor| first.made_time_ns <= time_ns;
        Ok(divide(self.facts.course(), &slots, begun, is_begun)?.slot)
    }

    /// Why nothing more should be read of the member, if its links lead round in circles.
    pub fn is_endless(&self) -> Option<String> {
        let read_bytes = self.facts.learned_bytes();
        let most_bytes = READ_MEMBERS_MAX.saturating_mul(self.facts.member_bytes());
        (read_bytes > most_bytes.saturating_add(READ_BYTES_MIN)).then(|| {
            format!(
                "{} were read to find its recordings, but it holds only {}: its content leads \
                 round in circles, which no recorder writes. Leave it out to read the other \
                 members",
                Size(read_bytes),
                Size(self.facts.member_bytes())
            )
        })
    }

    /// Takes the bytes of a range that was needed, or the reason why they could not be read.
    pub fn answer(&mut self, need: &Need, bytes: Result<&[u8], IoFault>) {
        self.facts.learn(need, bytes);
    }
}
