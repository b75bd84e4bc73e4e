//! Measures two settings in turn (ABBA BAAB) until their difference is known. After each pair it
//! looks at intervals that hold at all looks together. A run is a point of a sweep. plan -> open ->
//! run -> conclude -> the document of `compare`.

mod conclude;
mod open;
mod plan;
mod run;
mod sides;
#[cfg(test)]
mod tests;

pub use open::rehearse_trial;
pub use plan::{TrialPlan, TrialSetting};
pub use run::trial;

/// What the two settings are called.
const LETTERS: [&str; 2] = ["A", "B"];
/// A difference is not believed before so many pairs, because a few pairs may agree by chance.
const PAIRS_MIN: usize = 4;
