//! Simulated machines: disks, the limits their data passes, and their troubles, in virtual time.
//! The simulated engine drives a [`Machine`]; planning, teaching and tests use it as they are.
//! Nothing here may ask a real clock, start a thread, or draw a number that the seed does not fix.

mod cache;
mod disk;
mod fault;
mod fluid;
mod machine;
mod machine_file;
mod medium;
mod noise;
mod pages;
mod rotation;
mod sharing;
mod stall;
mod survival;
mod timetable;
mod transfer;
mod zone;

pub use fault::FaultKind;
pub use machine::{DiskFacts, Machine, SimulatedCompletion, SimulatedOperation, SimulatedRequest};
pub use machine_file::{
    CacheDescription, DiskDescription, FaultDescription, LimitDescription, LimitRates, MachineFile,
    MachineFileError, Share, SlowDescription, StallDescription, parse_target,
};
pub use medium::Medium;
