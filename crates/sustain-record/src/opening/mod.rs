//! What is on the members of a store, found out by reading as little as possible. Pure: it names the
//! ranges that it needs and is told what lies there; the store does the reading.
//!
//! Every answer is computed from the facts learned so far, from its beginning. Where a fact is
//! missing, the answer is what must be read first; then one asks again. It must come to an end and
//! never panic whatever lies on the medium, and take what cannot be read for nothing.

mod catalog;
mod chapters;
mod facts;
mod search;
mod tail;
#[cfg(test)]
pub(crate) mod tests;

pub use catalog::{Apart, Extent, Recording, StreamSummary, merge};
pub use chapters::Chapter;
pub use facts::Need;
pub use tail::Tail;

use sustain_disk::error::Errno;
use sustain_disk::units::Size;

use crate::format::Superblock;
use crate::walk::Identity;
use facts::Facts;

/// How many slots in a row are looked at before none is believed to follow; also how far beyond the
/// newest slot a crash may have left something.
pub(crate) const PATIENCE_SLOTS: u64 = 16;

/// Of what a recorder has left, nothing is read more than a few times: what begins somewhere, what a
/// slot has of one lap or another, a note. So nothing takes more reading than so many times the
/// member, and some more for small ones, unless it was forged.
const READ_MEMBERS_MAX: u64 = 8;
const READ_BYTES_MIN: u64 = 16 << 20;

/// What can be found out, or what must be read before.
pub type Asked<T> = Result<T, Vec<Need>>;

/// One member that is being opened.
#[derive(Debug)]
pub struct Opening {
    facts: Facts,
    /// What the superblock hints.
    slots_begun: u64,
    tail: Option<Tail>,
    /// The newest recordings, as far as they are known.
    chapters: Vec<Chapter>,
}

impl Opening {
    /// Of the member with this superblock.
    pub fn new(superblock: &Superblock) -> Opening {
        Opening {
            facts: Facts::new(Identity::of(superblock)),
            slots_begun: superblock.slots_begun,
            tail: None,
            chapters: Vec::new(),
        }
    }

    /// Where the member's content ends, and where the next recording begins.
    ///
    /// # Errors
    /// What must be read first: give each to [`Opening::answer`], then ask again.
    pub fn tail(&mut self) -> Asked<Tail> {
        if let Some(tail) = &self.tail {
            return Ok(tail.clone());
        }
        let tail = tail::tail(&self.facts, self.slots_begun)?;
        self.tail = Some(tail.clone());
        Ok(tail)
    }

    /// The recordings on this member, newest first.
    ///
    /// # Errors
    /// As [`Opening::tail`].
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
            let chapter = chapters::chapter(&self.facts, &tail, &last)?;
            self.chapters.push(chapter);
        }
    }

    /// Why nothing more should be read of it, if it leads round in circles.
    pub fn is_endless(&self) -> Option<String> {
        let read_bytes = self.facts.learned_bytes();
        let most_bytes = READ_MEMBERS_MAX.saturating_mul(self.facts.member_bytes());
        (read_bytes > most_bytes.saturating_add(READ_BYTES_MIN)).then(|| {
            format!(
                "finding out what is on it has taken {} of reading, and it holds {}: what lies there \
                 leads round in circles, which no recorder leaves. Leave it out to read what is on \
                 others",
                Size(read_bytes),
                Size(self.facts.member_bytes())
            )
        })
    }

    /// Takes the bytes of a range that was needed, or why they could not be read.
    pub fn answer(&mut self, need: &Need, bytes: Result<&[u8], Errno>) {
        self.facts.learn(need, bytes);
    }
}
