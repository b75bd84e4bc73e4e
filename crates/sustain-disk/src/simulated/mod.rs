//! Simulated machines: disks, the limits that their data passes, and their faults, in virtual time.
//! The simulated engine drives a [`Machine`]; planning, teaching and tests use machines directly.
//! Nothing here may read a real clock, start a thread, or draw a number that the seed does not fix.

mod cache;
mod disk;
mod fault;
mod fluid;
mod machine;
mod machine_file;
mod medium;
mod noise;
mod pages;
mod read_ahead;
mod request;
mod rotation;
mod sharing;
mod stall;
mod survival;
mod timetable;
mod transfer;
mod zone;

pub use fault::{FaultDescription, FaultKind};
pub use machine::{Machine, SimulatedDiskFacts};
pub use machine_file::{
    CacheDescription, DiskDescription, LimitDescription, LimitRates, MachineFile, MachineFileError,
    SharingRule, SlowDescription, StallDescription, parse_target,
};
pub use medium::Medium;
pub use request::{SimulatedCompletion, SimulatedOperation, SimulatedRequest};
