//! The flags of `sustain profile`.

use clap::Args;
use sustain::disk::units::{parse_duration, parse_size};

use super::shared::{OutputFlags, RequestFlags, SafetyFlags};

const EXAMPLES: &str = "\
Examples:
  sustain profile /dev/sdb
      Reads samples all over a disk: its zones, bad spots, the mean and the least rate.
  sustain profile /dev/sdb /dev/sdc --budget 10m --report profile.html --json profile.json
      Two disks, each alone and both at once: where a limit that they share binds. With a picture.
  sustain profile /dev/sdb --write --destroy /dev/sdb
      Writes the samples; what lies there is lost.
  sustain profile sim:machines/demo.toml --budget 30m
      A simulated machine with four disks, in a moment.

A place is visited twice, a third time if it was slow in either, and up to six times as long as
chance may explain that it was slow in all. Slow in every visit, beyond chance, is a bad spot;
slow in most, or in all but no more than chance explains, is uncertain; slow in fewer is a passing
disturbance. Ctrl-C concludes from what was measured until then.
`sustain measure --profile FILE` and `sustain record --profile FILE` take what --json wrote.
Exit codes: 0 done; 1 requests failed; 2 usage or refused target; 130 interrupted, with the result
of what was done.";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ProfileFlags {
    /// Block device, partition, file, directory (a scratch file in it), or
    /// sim:MACHINE.toml[:DISK].
    #[arg(required = true, value_name = "TARGET")]
    pub(crate) targets: Vec<String>,
    /// Write; the default where nothing can be harmed (directories, --new-file, sim:). With --read,
    /// both are done.
    #[arg(long)]
    pub(crate) write: bool,
    /// Read; the default on block devices and existing files.
    #[arg(long)]
    pub(crate) read: bool,
    /// All that measuring may take, once files are written; more time finds narrower zones.
    #[arg(long, value_name = "TIME", default_value = "2m", value_parser = parse_duration)]
    pub(crate) budget: u64,
    #[command(flatten)]
    pub(crate) request: RequestFlags,
    /// Look at this much of each target, from its start [default: 4GiB at most of files, else
    /// the whole target].
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    pub(crate) size: Option<u64>,
    #[command(flatten)]
    pub(crate) safety: SafetyFlags,
    #[command(flatten)]
    pub(crate) output: OutputFlags,
    /// Seed of data and simulated machines.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) seed: u64,
}
