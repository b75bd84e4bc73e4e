//! The flags of `sustain diagnose`.

use clap::Args;
use sustain::disk::units::{parse_duration, parse_size};

use super::help::{self, group};
use super::number::parse_number;
use super::shared::{OutputFlags, RequestFlags, SafetyFlags};

const EXAMPLES: &str = "\
Examples:
  sustain diagnose /dev/sdb /dev/sdc /dev/sdd /dev/sde
      Reads four disks: each alone, all together, and the combinations that the results call for.
  sustain diagnose /data1 /data2 --write --report walls.html
      Writes scratch files on two file systems, and also draws the answer as an HTML report.
  sustain diagnose /dev/sdb /dev/sdc /dev/sdd --matrix all --report table.html
      Also reads every combination of the three, and shows them as a table.
  sustain diagnose sim:machines/demo.toml
      A simulated machine with four disks; takes a moment.

A wall is a limit that two or more targets share: a port, an expander, a controller, a link, the
memory, or this program itself. Ctrl-C ends the measurement early; the answer then rests on what
was measured. Exit codes: 0 done; 1 requests failed, or the readings differ too much to tell
anything; 2 usage error or refused target; 130 interrupted, with the result of what was done.";

const OUTPUT: &str = "\
What the output means:
  measured, predicted
      The rate of these targets at the same time, and the rate that the walls predict for them.
  alone, together
      The rate of each target by itself, and that of all at once, as a part of the sum.
  Wall
      A limit that several targets share: who shares it, its rate, where it is by the topology of
      the machine, and how sure that is.
  shares
      How the targets divided the limit among them.
  expected, measured (in the advice)
      The rate that the walls predict for an arrangement, and the rate that a run of it reached.";

#[derive(Debug, Args)]
#[command(after_help = help::short("diagnose", EXAMPLES))]
#[command(after_long_help = help::whole(EXAMPLES, OUTPUT))]
#[command(next_help_heading = group::WHAT)]
pub(crate) struct DiagnoseFlags {
    /// Two or more block devices, partitions, files, directories (a scratch file in each), or
    /// sim:MACHINE.toml for all disks of a simulated machine.
    #[arg(help_heading = None::<&str>)]
    #[arg(required = true, value_name = "TARGET")]
    pub(crate) targets: Vec<String>,
    /// Write. The default where nothing can be harmed: directories, --new-file, sim:.
    #[arg(long)]
    pub(crate) write: bool,
    /// Read. The default on block devices and existing files. With --matrix, both directions can be
    /// asked for.
    #[arg(long)]
    pub(crate) read: bool,
    /// Measure these combinations of targets as well, and show them as a table: `all`, or a list
    /// such as sdb,sdc,sdb+sdc. With --read and --write the table has a column for each.
    #[arg(long, value_name = "all|LIST")]
    pub(crate) matrix: Option<String>,
    /// How long each combination of targets is measured. Longer runs have less noise.
    #[arg(help_heading = group::HOW_LONG)]
    #[arg(long, value_name = "TIME", default_value = "3s", value_parser = parse_duration)]
    pub(crate) time_per_run: u64,
    #[command(flatten)]
    pub(crate) request: RequestFlags,
    /// Use only this much of each target, from its start, again and again [default: at most 4GiB
    /// of files, else the whole target].
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
