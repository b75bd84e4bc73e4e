//! A superblock on its way to its member.

use crate::format::Superblock;

/// A superblock that is being written to its member, one copy after the other.
#[derive(Debug)]
pub(super) struct Renewing {
    pub(super) superblock: Superblock,
    /// How many copies are durable.
    pub(super) copies: usize,
    pub(super) is_in_flight: bool,
    /// The copy in flight is of the superblock before this one, and none of these.
    pub(super) is_outdated: bool,
}
