//! Rates of many points that were measured in turn, a few times each, while the disks changed:
//! which of them differ by more than the noise explains. `sweep` calls it; a point there is one
//! combination of settings.

mod judgement;
mod noise;

pub use judgement::{Difference, Estimate, Judgement, PointReading, RoundDrift};
