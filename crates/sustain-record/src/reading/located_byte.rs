//! A place in a stream by its bytes and its frames.

/// A byte of a stream, and how many of its frames have begun before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct LocatedByte {
    pub(super) bytes: u64,
    pub(super) frames: u64,
}
