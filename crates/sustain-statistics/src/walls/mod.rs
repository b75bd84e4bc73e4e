//! Finds the limits that several targets share ("walls") from the rates of subsets of them. Called
//! by `diagnose`, which measures; nothing here touches a disk, a clock or a random number.
//!
//! All decisions are made on sums. How a limit is shared among its members (equally, by queue
//! depth, by slot) differs between machines, but the sum that leaves a saturated limit does not.
//! docs/walls.md has the rules, thresholds and costs, and says where the search fails.

mod contradict;
mod drift;
mod edges;
mod evidence;
mod find;
mod finish;
mod kind;
mod members;
mod model;
mod predict;
mod reading;
mod recheck;
mod reconsider;
mod scan;
mod scatter;
mod search;
mod siblings;
mod types;
mod windows;

pub use find::{expected_readings, find};
pub use model::{Model, SumLimit};
pub use reading::SubsetReading;
pub use reconsider::{FALLING_TARGETS_MAX, PAIRS_OF_MAX, TARGETS_MAX};
pub use types::{
    AllTogether, Ask, Findings, FoundWall, Halt, MeasuredSubset, MemberShare, PredictedSubset,
    Probe, SearchBasis, SearchStep, SubsetDrift, TooNoisy, Unexplained, WallKind, WallState,
    WeakestEvidence,
};
