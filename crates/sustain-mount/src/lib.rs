//! Mounts a store by FUSE: its recordings are directories, its streams are files, and so is each
//! frame. Nothing can be written.
//!
//! ```no_run
//! use sustain_host::Roots;
//! use sustain_mount::{MountPlan, mount};
//! use sustain_record::store::{Mode, Store};
//! use sustain_targets::Stop;
//!
//! let plan = MountPlan::new(["store"], "/mnt/store");
//! let store = Store::open(&plan.members, Mode::Read, &Roots::default())?;
//! let mounted = mount(&plan, store, |words| eprintln!("{words}"))?;
//! mounted.serve(&Stop::default(), |words| eprintln!("{words}"))?;
//! # Ok::<(), sustain_mount::MountError>(())
//! ```
//!
//! What a file returns has passed its checksums. What is lost is an error, or zeros where that is
//! asked for. While a recorder is at the store, files grow as far as their bytes are durable.

#![forbid(unsafe_code)]

mod attributes;
mod contents;
mod cursor;
mod error;
mod file_system;
mod frames;
mod lock;
mod mounted;
mod names;
mod node;
mod plan;
mod point;
mod shelf;
#[cfg(test)]
mod tests;
mod view;

pub use error::MountError;
pub use mounted::{MountedStore, SPLIT_BYTES_MIN, check, mount};
pub use plan::MountPlan;
pub use shelf::LossReading;
