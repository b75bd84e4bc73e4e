//! What is wanted of a stream.

use std::ops::Range as Span;

/// The range of a stream that is wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Range {
    /// Everything that can be read.
    All,
    /// These bytes, counted from the start of the stream.
    Bytes(Span<u64>),
    /// What arrived from one time up to another, in nanoseconds since 1970, by the times that the
    /// stream's source gave. In a framed stream these are the frames that began to arrive then; in
    /// others whole appends, and so a little more. If the times step, it may lie in several
    /// stretches.
    Time(Span<i64>),
    /// The frames with these numbers, from the first byte of the first to the last byte of the
    /// last. The first frame of a stream is number 0.
    Frames(Span<u64>),
}
