//! The experiments: each asks the load generator for runs, judges what came, and returns one
//! document of `sustain-document`.
//!
//! [`mod@measure`] says what targets sustain, [`mod@diagnose`] which limits they share,
//! [`mod@profile`] how the rate depends on the position, [`mod@sweep`] which settings are best,
//! [`mod@compare`] whether two runs or settings differ, and [`mod@effect`] what a load does to the
//! rest of the system. Disks are driven by `sustain-load`, and what was measured is judged by
//! `sustain-statistics`. Nothing here prints: events are sent to an observer.

#![forbid(unsafe_code)]

pub mod compare;
pub mod diagnose;
pub mod effect;
pub mod error;
mod figures;
pub mod measure;
mod others;
pub mod profile;
pub mod steady_words;
pub mod sweep;
