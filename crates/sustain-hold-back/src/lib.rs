//! Holds other programs back from the disks of a recording while it needs them, where the kernel
//! gives nobody priority. Control groups that use these disks get a limit that falls when the
//! recorder's backlog grows, and rises again when it shrinks. Called by `sustain-record`, and only
//! where the user has asked for it by name.
//!
//! It only tightens limits, never those that someone else has set meanwhile, and it puts back what
//! was there: at the end; by a process that survives the recorder if the recorder is killed; at the
//! next start if both were.
//!
//! ```
//! use sustain_hold_back::{HoldBack, HoldBackSetup};
//! use sustain_host::Roots;
//!
//! // What would be held back on this machine, without doing it.
//! let setup = HoldBackSetup {
//!     devices: vec![("sda".to_owned(), (8, 0))],
//!     target_bytes: 64 << 20,
//!     directory: "/run/sustain".into(),
//! };
//! match HoldBack::rehearse(&setup, &Roots::default()) {
//!     Ok(result) => println!("{} groups use sda", result.groups.len()),
//!     Err(refusal) => println!("nobody is held back: {refusal}"),
//! }
//! ```
#![forbid(unsafe_code)]

mod allotment;
mod controller;
mod error;
mod hold_back;
mod journal;
mod limiter;
mod supervisor;

pub use error::HoldBackError;
pub use hold_back::{HoldBack, HoldBackSetup};
pub use supervisor::{SupervisorCommand, supervise};
