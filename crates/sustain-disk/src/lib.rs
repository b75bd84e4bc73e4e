//! Drives disks: target -> layout -> queue -> engine -> completion -> meter.
//!
//! This crate knows no other one of the project. All unsafe code of the project is here, in
//! [`buffer`], [`engine`] and [`target`]. Measuring and recording both drive disks through
//! [`driver::Driver`], so that the same path is measured as is recorded on.
//!
//! ```
//! use std::path::Path;
//!
//! use sustain_disk::simulated::MachineFile;
//! use sustain_disk::units::{Size, parse_size};
//!
//! // A machine of one disk, to be driven as a real one is.
//! let text = r#"
//!     [[disk]]
//!     name = "sda"
//!     capacity = "1TB"
//!     read = "105MB/s"
//! "#;
//! let machine = MachineFile::parse(text, Path::new("one.toml"))?;
//! let disk = &machine.disks[0];
//! assert_eq!(Size(disk.capacity_bytes).to_string(), "1 TB");
//! assert_eq!(parse_size("64KiB"), Ok(65_536));
//! # Ok::<(), sustain_disk::simulated::MachineFileError>(())
//! ```

pub mod buffer;
pub mod clock;
pub mod data;
pub mod driver;
pub mod engine;
pub mod error;
pub mod layout;
pub mod meter;
mod nvme;
mod scsi;
pub mod simulated;
pub mod target;
pub mod units;
