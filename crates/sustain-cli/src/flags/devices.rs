//! The flags of `sustain devices`, as typed.

use std::path::PathBuf;

use clap::Args;

const EXAMPLES: &str = "\
Examples:
  sustain devices
      All disks: how they hang together, at which rates, and whether they may be written.
  sustain devices /dev/md0 /data
      Only the disks under these.
  sustain devices --json devices.json
      The same for programs.

Nothing is opened or written; no rights are needed. What the system does not tell is left open.
Exit codes: 0 done; 2 usage, or what was named is no device.";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct DevicesFlags {
    /// Only the disks under these: block devices, partitions, RAID, volumes, or anything that lies
    /// on a file system; all disks if none is named.
    #[arg(value_name = "DEVICE")]
    pub(crate) devices: Vec<String>,
    /// Write the devices as JSON; - is standard output.
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
}
