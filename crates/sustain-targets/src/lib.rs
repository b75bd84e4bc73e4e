//! Opens targets under the guard and monitors the system: the part that measuring and recording
//! share, above the disks and the host. It decides neither what is written nor what follows from
//! it.
//!
//! ```
//! use sustain_targets::{Stop, TargetName};
//!
//! // What a name means decides whether a disk is opened at all.
//! assert_eq!(TargetName::parse("null:")?, TargetName::Null);
//! assert!(TargetName::parse("").is_err());
//!
//! // One wish to end, which every thread of a job hears.
//! let stop = Stop::default();
//! let of_another_thread = stop.clone();
//! of_another_thread.interrupt();
//! assert!(stop.reason().is_some());
//! # Ok::<(), sustain_targets::OpenError>(())
//! ```

#![forbid(unsafe_code)]

mod beneath;
mod capacity;
mod counted_once;
mod devices;
mod error;
mod guard;
mod io_priority;
mod machines;
mod monitor;
mod name;
mod need;
mod open;
mod others;
mod passthrough;
mod places;
#[cfg(test)]
mod sample;
mod stop;
mod writers;

pub use capacity::{
    Fitted, Growing, check_memory, fit_free_space, has_all_blocks, usual_buffer_bytes,
};
pub use counted_once::{Counted, CountedTarget, counted};
pub use devices::{SharedDisk, devices_under, neighbour_cautions, shared_disks, whole_disks};
pub use error::OpenError;
pub use guard::{Permission, check_destroy, check_distinct, folder_of, inspect};
pub use io_priority::{io_priority_of, io_priority_within};
pub use machines::{Machines, SimulatedDisk};
pub use monitor::{Idle, Monitor};
pub use name::{TargetName, shell_argument};
pub use need::{PublishedNeed, RecordersBeside, check_runtime_directory, runtime_directory};
pub use open::{
    CreatedFiles, is_new, open_under_guard, refuse_missing_device, rehearse_under_guard,
};
pub use others::{others_bytes_per_s, others_deeds, others_words};
pub use passthrough::{block_device_of_generic, open_passthrough};
pub use places::{Bottom, bottoms, place_on_disk};
pub use stop::{Hold, Stop};
