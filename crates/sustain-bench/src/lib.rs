//! Measures disks and judges the result: plan -> session -> phases -> series -> verdict -> result.
//!
//! Only [`run`] and [`mod@diagnose`] touch a disk, through `sustain-disk`; [`judge`] and [`walls`]
//! are pure. The worker never prints: it sends [`event`]s and returns one document of
//! `sustain-document`.

#![forbid(unsafe_code)]

mod active;
pub mod backlog;
mod capacity;
mod closing_flush;
mod collect;
mod common_cause;
pub mod compare;
mod conclude;
mod confirm;
pub mod diagnose;
pub mod effect;
pub mod error;
pub mod event;
mod feed;
mod figures;
mod flush;
mod held;
mod job;
pub mod judge;
mod lap;
mod observer;
mod pacer;
mod phase;
pub mod plan;
mod position;
pub mod profile;
mod recommendation;
mod remarks;
mod rewritten;
pub mod rhythm;
pub mod run;
mod series;
mod session;
mod setup;
mod stage;
pub mod sweep;
pub mod walls;

pub use sustain_session::Stop;
