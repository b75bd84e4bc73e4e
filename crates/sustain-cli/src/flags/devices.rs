//! The flags of `sustain devices`, as typed.

use std::path::PathBuf;

use clap::Args;

use super::help;

const EXAMPLES: &str = "\
Examples:
  sustain devices
      All disks: how they are connected, at which rates, and whether they may be written.
  sustain devices /dev/md0 /data
      Only the disks under these.
  sustain devices --json devices.json
      The same as JSON.

Nothing is opened or written, and no privileges are needed. What the system does not reveal is
left out. Exit codes: 0 done; 2 usage error, or something that is not a device.";

const OUTPUT: &str = "\
What the output means:
  a rate beside a link
      What the link carries in one direction after line encoding.
  scheduler, cache, requests up to
      How the kernel orders requests, whether the disk says that it caches writes, and the longest
      request that it takes.
  memory (with --memory)
      Bytes copied per second by one processor and by all of them. A disk's transfer past the page
      cache takes half of what a copy of as many bytes takes.
  may be written, must not be written
      Whether measure, sweep and create would agree to write to the disk, and why.";

#[derive(Debug, Args)]
#[command(after_help = help::short("devices", EXAMPLES))]
#[command(after_long_help = help::whole(EXAMPLES, OUTPUT))]
pub(crate) struct DevicesFlags {
    /// Only the disks under these: block devices, partitions, arrays, volumes, or files and
    /// directories; all disks if none is named.
    #[arg(value_name = "DEVICE")]
    pub(crate) devices: Vec<String>,
    /// Measure for a second or two how fast this machine copies memory: all that disks move crosses
    /// the memory.
    #[arg(long)]
    pub(crate) memory: bool,
    /// Write the devices as JSON to this file; - is standard output.
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
}
