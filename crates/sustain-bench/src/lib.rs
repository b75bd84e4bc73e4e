//! Measures disks and judges the result: plan -> session -> phases -> series -> verdict -> result.
//!
//! Disks are driven through `sustain-disk`, and what was measured is judged by
//! `sustain-statistics`. The worker never prints: it sends [`event`]s and returns one document of
//! `sustain-document`.

#![forbid(unsafe_code)]

mod active;
pub mod backlog;
mod common_cause;
pub mod compare;
mod conclude;
mod confirm;
pub mod diagnose;
pub mod effect;
pub mod error;
mod figures;
mod held;
pub mod plan;
mod position;
pub mod profile;
mod recommendation;
mod remarks;
mod rewritten;
pub mod rhythm;
pub mod run;
pub mod sweep;

pub use sustain_session::Stop;
