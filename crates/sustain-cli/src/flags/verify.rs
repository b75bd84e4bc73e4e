//! The flags of `sustain verify`, as typed.

use std::path::PathBuf;

use clap::Args;

const EXAMPLES: &str = "\
Examples:
  sustain verify /data1 /data2
      Reads all that is recorded and says what of it is damaged or missing.
  sustain verify /dev/sdb1 /dev/sdc1 --json verify.json
      The same, and every flaw with its place for a script.

What is missing behind the last mark of what was durable, in a recording that a crash has ended, is
named with its length and is no fault. As long as its end is open, the members cannot tell whether
the crash took it or whether it was damaged since: `sustain recover` soon after a crash writes down
what is there, and what is damaged later is a fault.

Nothing is written to the members. Exit codes: 0 nothing is damaged or missing that was durable, or
that `sustain recover` found whole; 1 some of it is; 2 usage, or what was named is no member of a
store; 130 interrupted, with what was found so far.";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct VerifyFlags {
    /// Members of one store, in any order: block devices, files, or directories that hold one.
    #[arg(required = true, value_name = "MEMBER")]
    pub(crate) members: Vec<String>,
    /// Write the result as JSON; - is standard output.
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
}
