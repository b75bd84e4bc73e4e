//! Drives disks: target -> layout -> queue -> engine -> completion -> meter.
//!
//! The lowest crate of the house: it knows no other. All unsafe code of the project is here, in
//! [`buffer`], [`engine`] and [`target`]. Measuring and recording both drive disks through
//! [`driver::Driver`], so that what is measured is what is recorded.

pub mod buffer;
pub mod clock;
pub mod data;
pub mod driver;
pub mod engine;
pub mod error;
pub mod layout;
pub mod meter;
mod nvme;
pub mod simulated;
pub mod target;
pub mod units;
