//! The flags of `sustain profile`.

use clap::Args;
use sustain::disk::units::{parse_duration, parse_size};

use super::help::{self, group};
use super::number::parse_number;
use super::shared::{OutputFlags, RequestFlags, SafetyFlags};

const EXAMPLES: &str = "\
Examples:
  sustain profile /dev/sdb
      Reads samples all over a disk: zones, bad spots, the mean and the lowest rate.
  sustain profile /dev/sdb /dev/sdc --budget 10m --report profile.html --json profile.json
      Two disks, each alone and both at once: this shows where a limit that they share binds.
  sustain profile /dev/sdb --write --destroy /dev/sdb
      Writes the samples. What was there is lost.
  sustain profile sim:machines/demo.toml --budget 30m
      A simulated machine with four disks; takes a moment.

Each place is visited twice, and a third time if it was slow in either visit. If it was slow every
time and this may still be chance, it is visited again, up to six times. A place that was slow in
every visit, more often than chance explains, is a bad spot. One that was slow in most visits, or in
all of them but perhaps by chance, is uncertain. Anything else was a passing disturbance. At the
end, longer runs without a break show whether the rates last; if they do not, the answer is lowered
to what was held. A slow place that fits between two samples is not seen: the answer says how wide
it could be, and which --budget looks closer. Ctrl-C ends the measurement early; the result then
covers what was measured.
`sustain measure --profile FILE` and `sustain record --profile FILE` use the file that --json
wrote. Exit codes: 0 done; 1 requests failed; 2 usage error or refused target; 130 interrupted,
with the result of what was done.";

const OUTPUT: &str = "\
What the output means:
  from, to, width, rate
      A zone: a range of positions with the same rate. A rotating disk is slower on its inner
      tracks than on its outer ones. The bar compares the zone's rate with that of the fastest zone.
  all at once
      The same with all targets working at once: each at the same percentage of its capacity, not at
      the same byte. It shows where a limit that they share binds.
  bad spot
      A place that was slow in every visit, more often than chance explains.
  slow places shorter than ...
      What could lie between two samples without being seen.";

#[derive(Debug, Args)]
#[command(after_help = help::short("profile", EXAMPLES))]
#[command(after_long_help = help::whole(EXAMPLES, OUTPUT))]
#[command(next_help_heading = group::WHAT)]
pub(crate) struct ProfileFlags {
    /// Block device, partition, file, directory (a scratch file in it), or
    /// sim:MACHINE.toml[:DISK].
    #[arg(help_heading = None::<&str>)]
    #[arg(required = true, value_name = "TARGET")]
    pub(crate) targets: Vec<String>,
    /// Write. The default where nothing can be harmed: directories, --new-file, sim:. Together with
    /// --read, both are done.
    #[arg(long)]
    pub(crate) write: bool,
    /// Read. The default on block devices and existing files.
    #[arg(long)]
    pub(crate) read: bool,
    /// The time that measuring may take, after files are prewritten. More time finds narrower
    /// zones and slow places.
    #[arg(help_heading = group::HOW_LONG)]
    #[arg(long, value_name = "TIME", default_value = "2m", value_parser = parse_duration)]
    pub(crate) budget: u64,
    #[command(flatten)]
    pub(crate) request: RequestFlags,
    /// Use only this much of each target, from its start [default: at most 4GiB of files, else
    /// the whole target].
    #[arg(help_heading = group::WHAT)]
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    pub(crate) size: Option<u64>,
    #[command(flatten)]
    pub(crate) safety: SafetyFlags,
    #[command(flatten)]
    pub(crate) output: OutputFlags,
    /// Seed for the data and for simulated machines.
    #[arg(help_heading = group::RARE, hide_short_help = true)]
    #[arg(long, value_name = "N", default_value_t = 0)]
    #[arg(value_parser = parse_number::<u64>, allow_negative_numbers = true)]
    pub(crate) seed: u64,
}
