//! Finds the limits that several targets share ("walls") from the rates of subsets of them. Called
//! by `diagnose`, which measures; nothing here touches a disk, a clock or a random number.
//!
//! All decisions are made on sums. How a limit is shared among its members (equally, by queue
//! depth, by slot) differs between machines, but the sum that leaves a saturated limit does not.
//! docs/walls.md has the rules, thresholds and costs, and says where the search fails.
//!
//! `find` is the way from the first reading to the findings. `evidence` has what was measured and
//! whether it can be believed, `search` narrows a loss down to a wall and its members, and
//! `findings` names its kind, tests it by a prediction and weighs another explanation.

mod evidence;
mod expected;
mod find;
mod findings;
mod model;
mod reading;
mod search;
mod types;

pub use expected::expected_readings;
pub use find::find;
pub use findings::CONFIDENCE_IN_DOUBT;
pub use findings::reconsider::{FALLING_TARGETS_MAX, PAIRS_OF_MAX, TARGETS_MAX};
pub use model::{Model, SumLimit};
pub use reading::SubsetReading;
pub use types::{
    AllTogether, Ask, Findings, FoundWall, Halt, MeasuredSubset, MemberShare, PredictedSubset,
    Probe, SearchBasis, SearchStep, SubsetDrift, TooNoisy, Unexplained, WallKind, WallState,
    WeakestEvidence,
};
