//! The flags of `sustain sweep`.

use clap::Args;
use sustain::disk::units::{parse_duration, parse_size};
use sustain::measure::sweep::{Values, parse_counts, parse_sizes};

use super::shared::{OutputFlags, SafetyFlags};
use super::{EngineFlag, LayoutFlag, MdFlag, PathFlag};

const EXAMPLES: &str = "\
Examples:
  sustain sweep /data
      Record sizes and depths on a scratch file there: the best, and the cheapest as good.
  sustain sweep /dev/sdb /dev/sdc --read --engine io_uring,libaio,threads --budget 5m
      Which engine, record size and depth read two disks best, in five minutes.
  sustain sweep /data --report sweep.html
      With pictures: a curve for each axis, record size by depth as a map.
  sustain sweep /dev/nvme0n1 --read --path direct,buffered,passthrough --budget 2m
      What the page cache and the block layer cost, in rate and in CPU time.
  sustain sweep sim:machines/demo.toml --layout independent,stripe --chunk 64KiB..4MiB --order all \
      --record-size 1MiB --depth 8
      Layouts, chunks and orders of a simulated machine with four disks, in a moment.
  sustain sweep /dev/sdb /dev/sdc --read --md raid0 --chunk 64KiB..4MiB --order all \
      --record-size 1MiB --depth 8 --destroy /dev/sdb --destroy /dev/sdc
      Arrays of two disks beside our own stripe, their own queues, and one after the other; what is
      on the disks is lost.

Lists have commas, ranges double: 4KiB..16MiB, 1..64. Settings are measured in turn, again and
again, each pair of rounds forwards and backwards, so that what changes meanwhile touches all alike.
Ctrl-C concludes from what was measured until then; the file of --json has it after each point.
Exit codes: 0 done; 1 the work failed; 2 usage or refused target; 130 interrupted, with the result
of what was done.";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct SweepFlags {
    /// Block device, partition, file, directory (a scratch file in it), null:, or
    /// sim:MACHINE.toml[:DISK].
    #[arg(required = true, value_name = "TARGET")]
    pub(crate) targets: Vec<String>,
    /// Write; the default where nothing can be harmed (directories, --new-file, null:, sim:). With
    /// --read, both are swept.
    #[arg(long)]
    pub(crate) write: bool,
    /// Read; the default on block devices and existing files.
    #[arg(long)]
    pub(crate) read: bool,
    /// How requests are issued; auto takes the best that this system allows.
    #[arg(
        long,
        value_enum,
        value_delimiter = ',',
        value_name = "LIST",
        default_value = "auto"
    )]
    pub(crate) engine: Vec<EngineFlag>,
    /// Past the page cache (direct), through it (buffered), or by NVMe commands past the block
    /// layer too (passthrough).
    #[arg(
        long,
        value_enum,
        value_delimiter = ',',
        value_name = "LIST",
        default_value = "direct"
    )]
    pub(crate) path: Vec<PathFlag>,
    /// Bytes per request.
    #[arg(long, value_name = "SIZES", default_value = "64KiB..4MiB", value_parser = parse_sizes)]
    pub(crate) record_size: Values,
    /// Requests kept in flight on each target.
    #[arg(long, value_name = "COUNTS", default_value = "1..32", value_parser = parse_counts)]
    pub(crate) depth: Values,
    /// How several targets are used: each for itself, in chunks over all (RAID 0), or one after
    /// the other [default: independent; with --md all].
    #[arg(long, value_enum, value_delimiter = ',', value_name = "LIST")]
    pub(crate) layout: Vec<LayoutFlag>,
    /// Also arrays of the kernel's, built with mdadm over the targets once a round, and stopped
    /// again. Superblocks are written, so every target must be named by --destroy, to read as well.
    /// Of simulated disks: stripes of which each chunk is a request.
    #[arg(long, value_enum, value_name = "LEVEL")]
    pub(crate) md: Option<MdFlag>,
    /// Bytes on one target before the next takes over; with --layout stripe and --md [default:
    /// 1MiB].
    #[arg(long, value_name = "SIZES", value_parser = parse_sizes)]
    pub(crate) chunk: Option<Values>,
    /// The order of the targets: all, or the names of all of them with commas, once for each order
    /// to be tried [default: as given].
    #[arg(long, value_name = "all|LIST")]
    pub(crate) order: Vec<String>,
    /// How long a setting is measured each time; longer points scatter less.
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = parse_duration)]
    pub(crate) time_per_point: u64,
    /// How often each setting is measured.
    #[arg(long, value_name = "N", default_value_t = 4)]
    pub(crate) rounds: u32,
    /// All that measuring may take, once files are written: if it is too short for all settings, a
    /// coarse look comes first, then what lies around the best [default: as long as it takes].
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    pub(crate) budget: Option<u64>,
    /// Use this much of each target, from its start, again and again [default: 4GiB at most of
    /// files, else the whole target].
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    pub(crate) size: Option<u64>,
    #[command(flatten)]
    pub(crate) safety: SafetyFlags,
    #[command(flatten)]
    pub(crate) output: OutputFlags,
    /// Seed of data, of simulated machines and of the order of the points.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) seed: u64,
}
