//! The experiments: each asks the load generator for runs, judges what came, and returns one
//! document of `sustain-document`.
//!
//! [`mod@measure`] says what targets sustain, [`mod@diagnose`] which limits they share,
//! [`mod@profile`] how the rate depends on the position, [`mod@sweep`] which settings are best,
//! [`mod@compare`] whether two runs or settings differ, and [`mod@effect`] what a load does to the
//! rest of the system. Disks are driven by `sustain-load`, and what was measured is judged by
//! `sustain-statistics`. Nothing here prints: events are sent to an observer.
//!
//! ```
//! use sustain_experiments::diagnose::{DiagnosePlan, diagnose};
//! use sustain_host::Roots;
//! use sustain_load::Stop;
//!
//! // Four simulated disks behind a limit that they share.
//! let machine = concat!("sim:", env!("CARGO_MANIFEST_DIR"), "/../../machines/demo.toml");
//! let plan = DiagnosePlan::new([machine]);
//! let result = diagnose(&plan, &Roots::default(), &Stop::default(), &mut |_event| {})?;
//! assert_eq!(result.walls.len(), 1);
//! assert_eq!(result.walls[0].members.len(), 4);
//! # Ok::<(), sustain_experiments::error::MeasureError>(())
//! ```

#![forbid(unsafe_code)]

pub mod compare;
pub mod diagnose;
pub mod effect;
pub mod error;
mod figures;
pub mod measure;
pub mod memory_copy;
mod others;
pub mod profile;
pub mod steady_words;
pub mod sweep;
mod ways;
