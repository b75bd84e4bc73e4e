//! The flags of `sustain measure`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use sustain::disk::units::{parse_duration, parse_rate, parse_size};
use sustain::measure::{At, parse_at};

use super::choices::LayoutFlag;
use super::effect::EffectFlags;
use super::help::{self, group};
use super::number::parse_number;
use super::shared::{DirectionFlags, OutputFlags, RequestFlags, SafetyFlags};

const EXAMPLES: &str = "\
Examples:
  sustain measure . --report sustain.html
      What the disk under this directory sustains, by a scratch file, with a report.
  sustain measure /data1 /data2 --rate 200MB/s --time 2h
      Do the disks take 200 MB/s for two hours? Exit code 0 if so, 1 if not.
  sustain measure /dev/sdb /dev/sdc --read
      Reads two disks at once.
  sustain measure /dev/sdb --write --destroy /dev/sdb
      Writes to the raw disk. Everything on it is lost.
  sustain measure /dev/sdb --at 95% --profile profile.json
      Near the end of a disk, where it is slower. sustain profile has found how much slower, so
      that this does not count as a rate that falls.
  sustain measure /dev/sdb /dev/sdc /dev/sdd --read --layout turns --depth 4 \
      --order /dev/sdb,/dev/sdd,/dev/sdc
      One thread feeds the disks in turns, in this order, with 4 requests in flight on each.
  sustain measure /data --effect=both --victim /home --report effect.html
      What writing to /data does to other programs, direct compared with buffered.
  sustain measure sim:machines/demo.toml
      A simulated machine; takes a moment.
  sustain measure /data --read-back
      How fast one can record on /data while somebody reads the recording, and how fast it can be
      read alone.

Sizes take kB, MB, GB (powers of 10) and KiB, MiB, GiB (powers of 2); rates take the same with /s.
Exit codes: 0 done; 1 requests or the closing flush failed, --rate was not held, or the run
could not tell whether it was; 2 usage error or refused target; 130 interrupted, with the result
of what was done.";

const OUTPUT: &str = "\
What the output means:
  rate
      All bytes of a target, divided by the time that it worked. \"together\" is all targets while
      all of them worked.
  sustained
      The rate once it was steady, with half the width of its 95 % confidence interval; \"not
      reached\" if it was never steady.
  p50, p99.9, max
      The time from the submission of a request to its completion: half of the requests took no
      longer than p50, and 999 of 1000 no longer than p99.9. max is the longest of all. With --rate,
      the time counts from when the request was due, so that waiting for a disk that falls behind is
      included.
  ended
      Why the target was done: the time or the bytes that were asked for, the end of the device,
      steady, an error, or an interruption.
  part, depth (while it runs)
      The target's share of all bytes, and its requests in flight.
  A stream can be recorded at ...
      The rate to plan a recording with, and the buffer to give it (record --buffer). How much of
      that buffer is needed follows from the periods in which the disks were slower than this rate.
      A paced run, which writes at this rate as a source would, confirms both.";

#[derive(Debug, Args)]
#[command(after_help = help::short("measure", EXAMPLES))]
#[command(after_long_help = help::whole(EXAMPLES, OUTPUT))]
#[command(next_help_heading = group::WHAT)]
pub(crate) struct MeasureFlags {
    /// Block device, partition, file, directory (a scratch file in it), null:, or
    /// sim:MACHINE.toml[:DISK] for a simulated machine.
    #[arg(help_heading = None::<&str>)]
    #[arg(required = true, value_name = "TARGET")]
    pub(crate) targets: Vec<String>,
    #[command(flatten)]
    pub(crate) direction: DirectionFlags,
    #[command(flatten)]
    pub(crate) setting: SettingFlags,
    /// Write or read at this rate, over all targets together, as a source that does not wait, and
    /// tell whether the targets held it.
    #[arg(help_heading = group::HOW)]
    #[arg(long, value_name = "RATE", value_parser = parse_rate)]
    pub(crate) rate: Option<f64>,
    /// End after this time [default: 30s, or 10m with --until-steady, or none with --bytes].
    #[arg(help_heading = group::HOW_LONG)]
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    pub(crate) time: Option<u64>,
    /// End after this many bytes on each target, in whole records.
    #[arg(help_heading = group::HOW_LONG, hide_short_help = true)]
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    pub(crate) bytes: Option<u64>,
    /// End as soon as the rate of every target is steady.
    #[arg(help_heading = group::HOW_LONG, hide_short_help = true)]
    #[arg(long)]
    pub(crate) until_steady: bool,
    /// Use only this much of each target, from its start, again and again [default: the whole
    /// target, but at most 4GiB of a file that is written; a block device is gone over only once].
    #[arg(help_heading = group::WHAT)]
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    pub(crate) size: Option<u64>,
    /// Where to begin on each target: a percentage of the part that is used, or an offset.
    #[arg(help_heading = group::WHAT, hide_short_help = true)]
    #[arg(long, value_name = "PERCENT|SIZE", value_parser = parse_at)]
    pub(crate) at: Option<At>,
    #[command(flatten)]
    pub(crate) safety: SafetyFlags,
    #[command(flatten)]
    pub(crate) output: OutputFlags,
    /// A result of sustain profile --json for these targets: the rate is then judged with the
    /// effect of the position removed.
    #[arg(help_heading = group::RARE, hide_short_help = true)]
    #[arg(long, value_name = "FILE")]
    pub(crate) profile: Option<PathBuf>,
    /// The buffer that the recorder will have: the rate is recommended for this one [default:
    /// 512MiB, or a quarter of the memory if that is less].
    #[arg(help_heading = group::RARE, hide_short_help = true)]
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    pub(crate) buffer: Option<u64>,
    /// Length of the intervals in the result, in time or in bytes.
    #[arg(help_heading = group::RARE, hide_short_help = true)]
    #[arg(long, value_name = "TIME|SIZE", default_value = "1s")]
    pub(crate) interval: String,
    /// Do not confirm the recommended rate by a paced run.
    #[arg(help_heading = group::RARE, hide_short_help = true)]
    #[arg(long)]
    pub(crate) no_confirm: bool,
    /// Then also measure how fast the targets are written while what was written is read back, with
    /// as many requests in flight for reading as for writing, and how fast it is read alone. This
    /// takes three times as long.
    #[arg(help_heading = group::HOW, hide_short_help = true)]
    #[arg(long)]
    pub(crate) read_back: bool,
    #[command(flatten)]
    pub(crate) effect: EffectFlags,
    /// Print a line for each 20 MiB, in the format of dskwtst, the disk writing test of 1998, for
    /// scripts that parse it.
    #[arg(help_heading = group::RARE, hide_short_help = true)]
    #[arg(long, value_enum)]
    pub(crate) log: Option<LogFlag>,
    /// Seed for the data and for simulated machines.
    #[arg(help_heading = group::RARE, hide_short_help = true)]
    #[arg(long, value_name = "N", default_value_t = 0)]
    #[arg(value_parser = parse_number::<u64>, allow_negative_numbers = true)]
    pub(crate) seed: u64,
}

/// One way to use the targets: what two settings that are compared may differ in.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = group::HOW)]
pub(crate) struct SettingFlags {
    #[command(flatten)]
    pub(crate) request: RequestFlags,
    /// Number of threads that drive the targets [default: as many as the work needs].
    #[arg(hide_short_help = true)]
    #[arg(long, value_name = "N")]
    #[arg(value_parser = parse_number::<u32>, allow_negative_numbers = true)]
    pub(crate) threads: Option<u32>,
    /// How several targets are used: each with its own queue, one record to each in turn by one
    /// thread, in chunks over all of them as RAID 0, or one after the other. In turns all of them
    /// wait while the one whose turn it is has its full --depth in flight: a slow target slows all.
    #[arg(hide_short_help = true)]
    #[arg(long, value_enum, default_value_t = LayoutFlag::Independent)]
    pub(crate) layout: LayoutFlag,
    /// With --layout turns, stripe and span: the names of all targets, separated by commas, in the
    /// order in which they are used [default: the order in which they are named].
    #[arg(hide_short_help = true)]
    #[arg(long, value_name = "LIST")]
    pub(crate) order: Option<String>,
    /// With --layout stripe: bytes on one target before the next takes over [default: 1MiB].
    #[arg(hide_short_help = true)]
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    pub(crate) chunk: Option<u64>,
    /// The bytes to write. fresh: incompressible, of which a little changes from write to write.
    /// rewritten: incompressible, and every byte is new in each write, which takes CPU time. zero:
    /// zeros.
    #[arg(hide_short_help = true)]
    #[arg(long, value_enum, default_value_t = DataFlag::Fresh)]
    pub(crate) data: DataFlag,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum DataFlag {
    Fresh,
    Rewritten,
    Zero,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogFlag {
    Dskwtst,
}
