//! The flags of `sustain sweep`.

use clap::Args;
use sustain::disk::units::{parse_duration, parse_size};
use sustain::measure::sweep::{Values, parse_counts, parse_sizes};

use super::choices::{EngineFlag, LayoutFlag, MdFlag, PathFlag};
use super::help::{self, group};
use super::number::parse_number;
use super::shared::{OutputFlags, SafetyFlags};

const EXAMPLES: &str = "\
Examples:
  sustain sweep /data
      Record sizes and depths on a scratch file there: the best, and the cheapest within 2 %.
  sustain sweep /dev/sdb /dev/sdc --read --engine io_uring,libaio,threads --budget 5m
      Which engine, record size and depth read two disks best, in five minutes.
  sustain sweep /data --report sweep.html
      The first example with a report: a curve for each setting, and record size by depth as a map.
  sustain sweep /dev/nvme0n1 --read --path direct,buffered,passthrough --budget 2m
      What the page cache and the block layer cost in rate and in CPU time.
  sustain sweep --place /mnt/sdb1 --place /dev/sdb2 --write --destroy /dev/sdb2
      What the file system on /mnt/sdb1 costs at each record size and depth, beside the bare
      partition on the same disk. What is on /dev/sdb2 is lost.
  sustain sweep sim:machines/demo.toml --layout independent,stripe --chunk 64KiB..4MiB --order all \
      --record-size 1MiB --depth 8
      Layouts, chunks and orders on a simulated machine with four disks; takes a moment.
  sustain sweep /dev/sdb /dev/sdc --read --md raid0 --chunk 64KiB..4MiB --order all \
      --record-size 1MiB --depth 8 --destroy /dev/sdb --destroy /dev/sdc
      Linux software RAID (md) beside the program's own layouts. What is on the disks is lost.

Lists are separated by commas. A range such as 4KiB..16MiB or 1..64 takes every doubling. All
settings are measured in turn, in several rounds, forwards and then backwards, so that a drift of
the machine affects all of them alike. Ctrl-C ends the sweep early; the answer then rests on what
was measured. The file of --json is complete after each measurement. Exit codes: 0 done; 1
requests failed; 2 usage error or refused target; 130 interrupted, with the result of what was
done.";

const OUTPUT: &str = "\
What the output means:
  record size, depth, ...
      The settings that differ. What is the same for all of them stands above
      the table.
  rate, ± 95 %
      The mean rate of all runs of the setting, and half the width of its 95 %
      confidence interval, in per cent of the mean.
  spread
      How far its runs lie apart: their standard deviation, in per cent of the
      mean.
  against best
      How far its rate is from that of the best setting. \"noise\" means that
      chance alone may explain the difference; \"measured once\", that nothing is
      known of its noise.
  p99.9
      Of 1000 requests, 999 took no longer than this.
  runs
      How often the setting was measured.";

#[derive(Debug, Args)]
#[command(after_help = help::short("sweep", EXAMPLES))]
#[command(after_long_help = help::whole(EXAMPLES, OUTPUT))]
#[command(next_help_heading = group::WHAT)]
pub(crate) struct SweepFlags {
    /// Block device, partition, file, directory (a scratch file in it), null:, or
    /// sim:MACHINE.toml[:DISK].
    #[arg(help_heading = None::<&str>)]
    #[arg(required_unless_present = "place", value_name = "TARGET")]
    pub(crate) targets: Vec<String>,
    /// Instead of TARGET, once for each of several places on one disk, such as a directory and the
    /// partition beside it: each setting is measured on each of them.
    #[arg(long, value_name = "TARGET", conflicts_with = "targets")]
    pub(crate) place: Vec<String>,
    /// Write. The default where nothing can be harmed: directories, --new-file, null:, sim:.
    /// Together with --read, both are swept.
    #[arg(long)]
    pub(crate) write: bool,
    /// Read. The default on block devices and existing files.
    #[arg(long)]
    pub(crate) read: bool,
    /// How requests are issued. auto takes the best engine that this system allows.
    #[arg(help_heading = group::HOW)]
    #[arg(
        long,
        value_enum,
        value_delimiter = ',',
        value_name = "LIST",
        default_value = "auto"
    )]
    pub(crate) engine: Vec<EngineFlag>,
    /// The I/O path: past the page cache (direct), through it (buffered), or past the block layer
    /// too, by NVMe or SCSI commands (passthrough).
    #[arg(help_heading = group::HOW, hide_short_help = true)]
    #[arg(
        long,
        value_enum,
        value_delimiter = ',',
        value_name = "LIST",
        default_value = "direct"
    )]
    pub(crate) path: Vec<PathFlag>,
    /// Bytes per request.
    #[arg(help_heading = group::HOW)]
    #[arg(long, value_name = "SIZES", default_value = "64KiB..4MiB", value_parser = parse_sizes)]
    pub(crate) record_size: Values,
    /// Number of requests kept in flight on each target.
    #[arg(help_heading = group::HOW)]
    #[arg(long, value_name = "COUNTS", default_value = "1..32", value_parser = parse_counts)]
    pub(crate) depth: Values,
    /// How several targets are used: each with its own queue, one record to each in turn by one
    /// thread, in chunks over all of them as RAID 0, or one after the other. In turns a slow target
    /// slows all [default: independent; with --md all but turns].
    #[arg(help_heading = group::HOW)]
    #[arg(long, value_enum, value_delimiter = ',', value_name = "LIST")]
    pub(crate) layout: Vec<LayoutFlag>,
    /// Also measure Linux software RAID (md): mdadm builds an array over the targets for each round
    /// and stops it afterwards. It writes superblocks, so every target must be named by --destroy,
    /// even for reading. On simulated disks a stripe is measured in which each chunk is one
    /// request.
    #[arg(help_heading = group::HOW, hide_short_help = true)]
    #[arg(long, value_enum, value_name = "LEVEL")]
    pub(crate) md: Option<MdFlag>,
    /// With --layout stripe and --md: bytes on one target before the next takes over [default:
    /// 1MiB].
    #[arg(help_heading = group::HOW, hide_short_help = true)]
    #[arg(long, value_name = "SIZES", value_parser = parse_sizes)]
    pub(crate) chunk: Option<Values>,
    /// The orders of the targets to try, with all layouts but independent: all, or the names of all
    /// targets separated by commas, once for each order [default: the order in which they are
    /// named].
    #[arg(help_heading = group::HOW, hide_short_help = true)]
    #[arg(long, value_name = "all|LIST")]
    pub(crate) order: Vec<String>,
    /// How long a setting is measured each time. Longer measurements have less noise.
    #[arg(help_heading = group::HOW_LONG)]
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = parse_duration)]
    pub(crate) time_per_point: u64,
    /// How often each setting is measured.
    #[arg(help_heading = group::HOW_LONG, hide_short_help = true)]
    #[arg(long, value_name = "N", default_value_t = 4)]
    #[arg(value_parser = parse_number::<u32>, allow_negative_numbers = true)]
    pub(crate) rounds: u32,
    /// The time that measuring may take, after files are prewritten. If it is too short for all
    /// settings, a coarse selection comes first, then what lies around the best of it [default: as
    /// long as it takes].
    #[arg(help_heading = group::HOW_LONG)]
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    pub(crate) budget: Option<u64>,
    /// Use only this much of each target, from its start, again and again [default: at most 4GiB
    /// of files, else the whole target].
    #[arg(help_heading = group::WHAT)]
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    pub(crate) size: Option<u64>,
    #[command(flatten)]
    pub(crate) safety: SafetyFlags,
    #[command(flatten)]
    pub(crate) output: OutputFlags,
    /// Seed for the data, for simulated machines and for the order of the measurements.
    #[arg(help_heading = group::RARE, hide_short_help = true)]
    #[arg(long, value_name = "N", default_value_t = 0)]
    #[arg(value_parser = parse_number::<u64>, allow_negative_numbers = true)]
    pub(crate) seed: u64,
}
