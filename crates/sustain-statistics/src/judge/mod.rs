//! Judges a finished or running series: whether it is steady, at which rate, what came before, and
//! which rate may be recorded. The run calls it, and so does everything that judges saved
//! intervals again. All functions are pure and work on slices: nothing here reads a clock, a disk
//! or a file.

pub mod batch_means;
pub mod burst;
pub mod conventional;
pub mod curve;
pub mod fallen;
pub mod growth;
pub mod knee;
pub mod meeting;
pub mod places;
mod position;
pub mod recommend;
pub mod rounds;
#[cfg(any(test, feature = "samples"))]
pub mod series;
pub mod steady;
pub mod student;
#[cfg(test)]
mod tests;
pub mod worst;

/// Bytes completed in one stretch of a run. A slice of them is in time order; lengths may
/// differ.
/// Time between the end of one and the start of the next is taken as time without a byte.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
    /// Seconds since the start of the run.
    pub start_s: f64,
    /// Seconds since the start of the run, not before `start_s`.
    pub end_s: f64,
    /// Bytes completed between the two.
    pub bytes: u64,
}

/// Whether a run comes back to positions where it has been before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Revisits {
    /// `Some(n)`: the run starts at position 0 and wraps after `n` bytes, so that its position is
    /// the bytes completed modulo `n`. `None`: one pass, no position is seen twice.
    pub lap_bytes: Option<u64>,
}
