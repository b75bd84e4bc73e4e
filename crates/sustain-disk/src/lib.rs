//! Drives disks: target -> layout -> queue -> engine -> completion -> meter.
//!
//! This crate knows no other one of the project. All unsafe code of the project is here, in
//! [`buffer`], [`engine`] and [`target`]. Measuring and recording both drive disks through
//! [`driver::Driver`], so that the same path is measured as is recorded on.

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
