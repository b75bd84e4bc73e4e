//! Tells whether two runs differ: two saved measurements (`compare`), or two settings measured in
//! turn until the answer is known (`trial`). Statistics -> rows -> answer -> result; only `trial`
//! touches a disk.

mod comparison_words;
mod conclude;
mod limit;
mod rows;
#[cfg(test)]
pub(crate) mod sample;
mod trial;
mod work;

pub use conclude::{ComparePlan, compare};
pub use trial::{TrialPlan, TrialSetting, rehearse_trial, trial};
