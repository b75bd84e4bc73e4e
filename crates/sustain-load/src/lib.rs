//! The load generator: opens targets under the guard, prepares them, drives them in phases, and
//! collects what was done.
//!
//! Every experiment runs over it. [`plan`] says what is asked, [`session`] opens the targets,
//! [`watched`] watches the system beside the work, [`prepared`] prepares the targets and runs
//! phases on them, and [`phase`] starts the drivers together and merges their reports into one
//! series for each target. What a series means is none of its concern: that is for the experiments,
//! with the pure functions of `sustain-statistics`.
//!
//! ```
//! use std::time::Duration;
//! use sustain_host::Roots;
//! use sustain_load::plan::LoadPlan;
//! use sustain_load::session::Session;
//!
//! // The four disks of a simulated machine.
//! let machine = concat!("sim:", env!("CARGO_MANIFEST_DIR"), "/../../machines/demo.toml");
//! let plan = LoadPlan::new([machine]).with_time(Duration::from_secs(5));
//! plan.check()?;
//! let session = Session::open(&plan, &Roots::default())?;
//! assert_eq!(session.targets.len(), 4);
//! # Ok::<(), sustain_load::error::LoadError>(())
//! ```

#![forbid(unsafe_code)]

mod capacity;
mod closing_flush;
pub mod collect;
pub mod error;
pub mod event;
mod feed;
mod flush;
mod job;
mod lap;
pub mod observer;
pub mod open_target;
pub mod order;
mod pacer;
pub mod phase;
pub mod plan;
mod positions;
pub mod prepared;
pub mod rehearsal;
pub mod series;
pub mod session;
pub mod setup;
pub mod watched;

pub use sustain_targets::{Stop, usual_buffer_bytes};
