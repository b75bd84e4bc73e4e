//! The flags of `sustain scrub`, as typed.

use std::path::PathBuf;

use clap::Args;

use super::help::{self, group};

const EXAMPLES: &str = "\
Examples:
  sustain scrub /data1 /data2 /data3 /data4
      Reads everything. Each append that is damaged, or cannot be read, is computed from the others
      of its group and written to its place again, byte for byte.
  sustain scrub /dev/sdb1 /dev/sdc1 /dev/sdd1 --json scrub.json
      The same with partitions, with the result as JSON.

All members must be there, and nobody may record to the store meanwhile. Nothing else is written
than what lay in a place before. So if the command is interrupted, the store is at least as good as
before, and the same command goes on. What it cannot put back: starts and end marks, and parity
whose first block is damaged. `sustain repair` onto the member itself makes these again. Exit codes:
0 nothing is damaged now; 1 something is damaged still, as the result says; 2 usage error or refused
member; 130 interrupted.";

const OUTPUT: &str = "\
What the output means:
  bad
      Places that the check at the beginning found damaged, as `sustain verify` would list them.
  put back
      Appends of a member that were written to their places again.
  recording, ok, not ok
      What a check of everything says afterwards: `sustain verify --help` has the words.";

#[derive(Debug, Args)]
#[command(after_help = help::short("scrub", EXAMPLES))]
#[command(after_long_help = help::whole(EXAMPLES, OUTPUT))]
pub(crate) struct ScrubFlags {
    /// All members of one store with parity: block devices, files, or directories that hold one.
    #[arg(required = true, value_name = "MEMBER")]
    pub(crate) members: Vec<String>,
    /// Write the result as JSON to this file; - is standard output.
    #[arg(help_heading = group::OUTPUT)]
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
}
