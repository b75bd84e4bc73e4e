//! The flags of `sustain scrub`, as typed.

use std::path::PathBuf;

use clap::Args;

use super::help::{self, group};

const EXAMPLES: &str = "\
Examples:
  sustain scrub /data1 /data2 /data3 /data4
      Reads everything. What is damaged on a member, or cannot be read there, is computed from the
      others and written to its place again.
  sustain scrub /dev/sdb1 /dev/sdc1 /dev/sdd1 --json scrub.json
      The same with partitions, with the result as JSON.

All members must be there, and nobody may record to the store meanwhile. If the command is
interrupted, the store is as good as before, and the same command goes on. Exit codes: 0 nothing is
damaged now; 1 something is damaged still, as the result says; 2 usage error or refused member; 130
interrupted.";

const OUTPUT: &str = "\
What the output means:
  bad
      Places that the check at the beginning found damaged, as `sustain verify` would list them.
  written again
      Whole slots of a member: what is whole in them is written as it was.
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
