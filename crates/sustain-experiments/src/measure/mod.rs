//! Measures what targets sustain: plan -> run -> verdict -> recommendation -> confirmed by paced
//! runs -> result.

mod active;
mod backlog;
mod coming;
mod common_cause;
mod conclude;
mod confirm;
mod dips;
mod measure_run;
pub mod measurement_words;
pub(crate) mod media;
mod paced_outcome;
pub mod plan;
mod position;
mod read_back;
mod recommendation;
mod remarks;
mod rewritten;
mod rhythm;
pub mod run;
mod statements;
pub mod verdicts;
