//! The flags of `sustain recover`, as typed.

use std::path::PathBuf;

use clap::Args;

const EXAMPLES: &str = "\
Examples:
  sustain recover /data1 /data2
      After a crash: says what is there, and writes down that the recording has ended.

It is never needed: list, extract and verify find the same without it, and the next recording begins
behind what is there. It saves them the search for the end. No recorded byte is changed.
Exit codes: 0 done; 1 a member could not be read or written; 2 usage, a refused member, or not all
members of the store.";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct RecoverFlags {
    /// All members of one store, in any order: block devices, files, or directories that hold one.
    #[arg(required = true, value_name = "MEMBER")]
    pub(crate) members: Vec<String>,
    /// Write the result as JSON; - is standard output.
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
}
