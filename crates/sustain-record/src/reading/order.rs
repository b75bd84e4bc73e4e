//! What is read in one go: streams, and where to begin on each member.

use super::merge::Wanted;

/// The default bound on what is held in memory while it waits within streams.
pub const HOLD_BYTES_MAX: u64 = 256 << 20;

/// The request for some streams, and how to read them.
#[derive(Debug, Clone)]
pub struct PartOrder {
    /// The streams to return.
    pub wanted: Vec<Wanted>,
    /// The first slot to read on each member of the scope.
    pub first_slots: Vec<u64>,
    /// How far to read ahead; `None` for as far as is useful.
    pub reads_ahead: Option<usize>,
    /// The bound on what may be held while it waits within streams.
    pub hold_bytes_max: u64,
}
