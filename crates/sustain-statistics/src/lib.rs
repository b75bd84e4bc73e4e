//! What can be concluded from rates alone: whether a series of them is steady and which rate it
//! sustains ([`judge`]), whether two runs differ ([`ratio`]) or many settings ([`points`]), and
//! which limits several disks share ([`walls`]).
//!
//! Everything here is a pure function of numbers. Nothing reads a clock, a disk, a file or a random
//! number, so every rule is tested on series and machines whose truth is known. The load generator
//! judges its running series with it, and the experiments draw their conclusions with it.
//!
//! ```
//! use sustain_statistics::judge::{Revisits, Step, steady};
//!
//! // A minute at 100 MB/s, in steps of a second.
//! let steps: Vec<Step> = (0..60)
//!     .map(|second| Step {
//!         start_s: f64::from(second),
//!         end_s: f64::from(second + 1),
//!         bytes: 100_000_000,
//!     })
//!     .collect();
//! let verdict = steady::judge(&steps, Revisits::default());
//! assert!(verdict.reached);
//! ```

#![forbid(unsafe_code)]

pub mod judge;
mod median;
pub mod points;
pub mod ratio;
pub mod walls;

pub use median::median;
