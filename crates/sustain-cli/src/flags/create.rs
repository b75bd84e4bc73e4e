//! The flags of `sustain create`, as typed.

use std::path::PathBuf;

use clap::Args;
use sustain::disk::units::parse_size;

const EXAMPLES: &str = "\
Examples:
  sustain create /data1 /data2 --size 100GiB
      A file in each directory, together one store.
  sustain create /dev/sdb1 /dev/sdc1 --destroy /dev/sdb1 --destroy /dev/sdc1
      Whole partitions; everything on them is lost.
  sustain create /data1 --dry-run
      Only says what would be made and destroyed.

Sizes take kB, MB, GB (powers of 10) and KiB, MiB, GiB (powers of 2).
Exit codes: 0 the store is made; 1 it could not be written; 2 usage or refused member; 130
interrupted, and new files are removed.";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct CreateFlags {
    /// Block devices, partitions, files; of a directory the file sustain.store in it.
    #[arg(required = true, value_name = "MEMBER")]
    pub(crate) members: Vec<String>,
    /// Size of each file; devices are used as a whole [default: 10GiB for new files, else what
    /// they have].
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    pub(crate) size: Option<u64>,
    /// Size of the slots that members are divided into: a power of two from 64KiB to 16MiB.
    #[arg(long, value_name = "SIZE", default_value = "8MiB", value_parser = parse_size)]
    pub(crate) slot: u64,
    /// Do not write files once beforehand: the first recording is slower then.
    #[arg(long)]
    pub(crate) no_prewrite: bool,
    /// What is on this member may be destroyed; as typed, once for each.
    #[arg(long, value_name = "NAME")]
    pub(crate) destroy: Vec<String>,
    /// Say what would be made, written and destroyed, and do nothing.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Write the result as JSON; - is standard output.
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
}
