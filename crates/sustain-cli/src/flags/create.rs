//! The flags of `sustain create`, as typed.

use std::path::PathBuf;

use clap::Args;
use sustain::disk::units::parse_size;

use super::help::{self, group};

const EXAMPLES: &str = "\
Examples:
  sustain create /data1 /data2 --size 100GiB
      One store of two files, one in each directory.
  sustain create /dev/sdb1 /dev/sdc1 --destroy /dev/sdb1 --destroy /dev/sdc1
      One store of two partitions. Everything on them is lost.
  sustain create /data1 /data2 --add /data3
      Makes the store larger by a file in a third directory. Its recordings stay as they are.
  sustain create /data1 --dry-run
      Only says what would be created and destroyed.

Sizes take kB, MB, GB (powers of 10) and KiB, MiB, GiB (powers of 2).
Exit codes: 0 the store is ready; 1 it could not be written; 2 usage error or refused member;
130 interrupted, and new files are removed.";

const OUTPUT: &str = "\
What the output means:
  store
      The identity that all members share, and how much can be recorded on them together.
  slots
      The pieces into which members are divided. A ring overwrites the oldest slot.";

#[derive(Debug, Args)]
#[command(after_help = help::short("create", EXAMPLES))]
#[command(after_long_help = help::whole(EXAMPLES, OUTPUT))]
#[command(next_help_heading = group::WHAT_TO_CREATE)]
pub(crate) struct CreateFlags {
    /// Block devices, partitions or files. A directory stands for the file sustain.store in it.
    #[arg(help_heading = None::<&str>)]
    #[arg(required = true, value_name = "MEMBER")]
    pub(crate) members: Vec<String>,
    /// Size of each file; devices are used whole [default: the size that they have; for new files
    /// 10GiB, but together at most half of the free space].
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    pub(crate) size: Option<u64>,
    /// Size of the slots into which members are divided: a power of two from 64KiB to 16MiB.
    #[arg(help_heading = group::HOW, hide_short_help = true)]
    #[arg(long, value_name = "SIZE", default_value = "8MiB", value_parser = parse_size)]
    pub(crate) slot: u64,
    /// How many members may be lost without loss of data: 0, 1 or 2. Each group of appends gets as
    /// many of parity, on other members.
    #[arg(help_heading = group::HOW)]
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) parity: u16,
    /// Add this block device, file or directory to the store that has the given members, all of
    /// them. What was recorded stays where it is. Can be given several times.
    #[arg(help_heading = group::HOW)]
    #[arg(conflicts_with_all = ["slot", "parity"])]
    #[arg(long, value_name = "MEMBER")]
    pub(crate) add: Vec<String>,
    /// Allow members on one disk although there is parity, for a trial: they fail together.
    #[arg(help_heading = group::SAFETY, hide_short_help = true)]
    #[arg(long)]
    pub(crate) same_disk: bool,
    /// Do not write files once from end to end. The first recording is slower then.
    #[arg(help_heading = group::HOW, hide_short_help = true)]
    #[arg(long)]
    pub(crate) no_prewrite: bool,
    /// Allow the content of this member to be destroyed. Repeat the member exactly as you typed it,
    /// once for each member.
    #[arg(help_heading = group::SAFETY)]
    #[arg(long, value_name = "NAME")]
    pub(crate) destroy: Vec<String>,
    /// Only say what would be created, written and destroyed.
    #[arg(help_heading = group::SAFETY)]
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Write the result as JSON to this file; - is standard output.
    #[arg(help_heading = group::OUTPUT)]
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
}
