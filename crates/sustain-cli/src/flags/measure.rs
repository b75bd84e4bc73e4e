//! The flags of `sustain measure`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use sustain::disk::units::{parse_duration, parse_rate, parse_size};
use sustain::measure::{At, parse_at};

use super::LayoutFlag;
use super::effect::EffectFlags;
use super::shared::{DirectionFlags, OutputFlags, RequestFlags, SafetyFlags};

const EXAMPLES: &str = "\
Examples:
  sustain measure . --report sustain.html
      A scratch file here; what this disk sustains, with pictures.
  sustain measure /data1 /data2 --rate 200MB/s --time 2h
      Does it hold? Exit code 0 if so, 1 if not.
  sustain measure /dev/sdb /dev/sdc --read
      Two disks at once, read only.
  sustain measure /dev/sdb --write --destroy /dev/sdb
      Writes to the raw disk; everything on it is lost.
  sustain measure /dev/sdb --at 95% --profile profile.json
      Near the end of a disk; what sustain profile found there is no fall of the rate.
  sustain measure /data --effect=both --victim /home --report effect.html
      What recording on /data does to everything else, direct against buffered.
  sustain measure sim:machines/demo.toml
      A simulated machine, in a moment.

Sizes take kB, MB, GB (powers of 10) and KiB, MiB, GiB (powers of 2), rates the same with /s.
Exit codes: 0 done; 1 the work failed, the flush after it too, or --rate was not held or could not be
decided; 2 usage or refused target;
130 interrupted, with the result of what was done.";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct MeasureFlags {
    /// Block device, partition, file, directory (a scratch file in it), null:, or
    /// sim:MACHINE.toml[:DISK].
    #[arg(required = true, value_name = "TARGET")]
    pub(crate) targets: Vec<String>,
    #[command(flatten)]
    pub(crate) direction: DirectionFlags,
    #[command(flatten)]
    pub(crate) setting: SettingFlags,
    /// End after this time [default: 30s, or 10m with --until-steady, or none with --bytes].
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    pub(crate) time: Option<u64>,
    /// End after these bytes on each target, in whole records.
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    pub(crate) bytes: Option<u64>,
    /// End as soon as every target is steady.
    #[arg(long)]
    pub(crate) until_steady: bool,
    /// Use this much of each target and start again at its beginning [default: 4GiB at most
    /// of files that are written, else the whole target, a block device once].
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    pub(crate) size: Option<u64>,
    /// Where on each target to begin: a part of what is used of it, as 50%, or a size.
    #[arg(long, value_name = "PERCENT|SIZE", value_parser = parse_at)]
    pub(crate) at: Option<At>,
    /// What sustain profile --json wrote of these targets: whether the rate is steady is judged with
    /// the effect of the position taken out.
    #[arg(long, value_name = "FILE")]
    pub(crate) profile: Option<PathBuf>,
    /// A source of this rate over all targets: does it hold?
    #[arg(long, value_name = "RATE", value_parser = parse_rate)]
    pub(crate) rate: Option<f64>,
    /// The memory that a recorder would have.
    #[arg(long, value_name = "SIZE", default_value = "512MiB", value_parser = parse_size)]
    pub(crate) buffer: u64,
    /// Length of an interval, in time or in bytes.
    #[arg(long, value_name = "TIME|SIZE", default_value = "1s")]
    pub(crate) interval: String,
    /// Leave out the paced run at the recommended rate.
    #[arg(long)]
    pub(crate) no_confirm: bool,
    #[command(flatten)]
    pub(crate) effect: EffectFlags,
    /// Print a line per interval as the 1998 disk writing test did; one per 20 MiB.
    #[arg(long, value_enum)]
    pub(crate) log: Option<LogFlag>,
    #[command(flatten)]
    pub(crate) safety: SafetyFlags,
    #[command(flatten)]
    pub(crate) output: OutputFlags,
    /// Seed of data and simulated machines.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) seed: u64,
}

/// One way to use the targets: what two settings that are compared may differ in.
#[derive(Debug, Clone, Args)]
pub(crate) struct SettingFlags {
    #[command(flatten)]
    pub(crate) request: RequestFlags,
    /// Drivers, each a thread with targets of its own [default: as many as the work needs].
    #[arg(long, value_name = "N")]
    pub(crate) threads: Option<u32>,
    /// How several targets are used: each for itself, in chunks over all (RAID 0), or one after
    /// the other.
    #[arg(long, value_enum, default_value_t = LayoutFlag::Independent)]
    pub(crate) layout: LayoutFlag,
    /// Bytes on one target before the next takes over; with --layout stripe [default: 1MiB].
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    pub(crate) chunk: Option<u64>,
    /// Bytes that nothing can shrink, a few of them new for each write; every byte new, as from a
    /// source, at the price of CPU time (rewritten); or zeros for the curious.
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
