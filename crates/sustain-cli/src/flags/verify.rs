//! The flags of `sustain verify`, as typed.

use std::path::PathBuf;

use clap::Args;

const EXAMPLES: &str = "\
Examples:
  sustain verify /data1 /data2
      Reads all that is recorded and says what of it is damaged or missing.
  sustain verify /dev/sdb1 /dev/sdc1 --json verify.json
      The same, and every flaw with its place for a script.

What a crash took before it was durable is named with its length and is no fault, as far as the
members tell: the mark that counts is that of the last append that is there.

Nothing is written to the members. Exit codes: 0 every byte is accounted for; 1 some of what was
durable is damaged or missing; 2 usage, or what was named is no member of a store; 130 interrupted,
with what was found so far.";

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
