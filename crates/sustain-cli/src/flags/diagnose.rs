//! The flags of `sustain diagnose`.

use std::path::PathBuf;

use clap::Args;
use sustain::disk::units::{parse_duration, parse_size};

use super::{EngineFlag, PathFlag};

const EXAMPLES: &str = "\
Examples:
  sustain diagnose /dev/sdb /dev/sdc /dev/sdd /dev/sde
      Reads four disks alone, together and in the subsets that the answers call for.
  sustain diagnose /data1 /data2 --write --report walls.html
      Writes scratch files on two file systems; the answer with pictures.
  sustain diagnose sim:machines/demo.toml
      A simulated machine with four disks, in a moment.

A wall is a limit that two or more targets share: a port, an expander, a controller, a link, the
memory, or this program itself. Ctrl-C concludes from what was measured until then.
Exit codes: 0 done; 1 the work failed, or the readings differ too much to tell anything; 2 usage or
refused target; 130 interrupted, with the result of what was done.";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct DiagnoseFlags {
    /// Two or more block devices, partitions, files, directories (a scratch file in each), or
    /// sim:MACHINE.toml for all disks of a simulated machine.
    #[arg(required = true, value_name = "TARGET")]
    pub(crate) targets: Vec<String>,
    /// Write; the default where nothing can be harmed (directories, new files, sim:).
    #[arg(long, conflicts_with = "read")]
    pub(crate) write: bool,
    /// Read; the default on block devices and existing files.
    #[arg(long)]
    pub(crate) read: bool,
    /// How long each subset is measured; longer runs scatter less.
    #[arg(long, value_name = "TIME", default_value = "3s", value_parser = parse_duration)]
    pub(crate) time_per_run: u64,
    /// Bytes per request.
    #[arg(long, value_name = "SIZE", default_value = "1MiB", value_parser = parse_size)]
    pub(crate) record_size: u64,
    /// Requests kept in flight on each target.
    #[arg(long, value_name = "N", default_value_t = 8)]
    pub(crate) depth: u32,
    /// How requests are issued; auto takes the best that this system allows.
    #[arg(long, value_enum, default_value_t = EngineFlag::Auto)]
    pub(crate) engine: EngineFlag,
    /// Past the page cache (direct) or through it (buffered).
    #[arg(long, value_enum, default_value_t = PathFlag::Direct)]
    pub(crate) path: PathFlag,
    /// Use this much of each target, from its start, again and again [default: 4GiB for new files,
    /// else the whole target].
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    pub(crate) size: Option<u64>,
    /// Do not write files once before the clock starts.
    #[arg(long)]
    pub(crate) no_prewrite: bool,
    /// What is on this target may be destroyed; as typed, once for each.
    #[arg(long, value_name = "NAME")]
    pub(crate) destroy: Vec<String>,
    /// Say what would be done, written and destroyed, and do nothing.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Write the result as JSON; - is standard output.
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
    /// Write a report with pictures: one file that opens offline.
    #[arg(long, value_name = "FILE")]
    pub(crate) report: Option<PathBuf>,
    /// Seed of data and simulated machines.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) seed: u64,
}
