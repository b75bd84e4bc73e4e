//! A zone: positions next to each other that have one rate.

/// A stretch of one rate, as parts of the target.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct FittedZone {
    pub(super) from: f64,
    pub(super) to: f64,
    pub(super) rate: f64,
    pub(super) places: usize,
}
