//! The flags of `sustain recover`, as typed.

use std::path::PathBuf;

use clap::Args;

use super::help;

const EXAMPLES: &str = "\
Examples:
  sustain recover /data1 /data2
      After a crash: says what is there, and notes on the members that the recording has ended.

It is never required: list, extract and verify find the same bytes without it, and the next
recording begins after them. It saves them the search for the end, and lets verify recognise
later damage. No recorded byte is changed, except in a ring: the mark takes the place of the
oldest slot of each member, as the next data would have done. Exit codes: 0 done (recover does not
look for damage: use `sustain verify`); 1 a start or an end mark that had been durable is missing,
or a member could not be read or written; 2 usage error, a refused member, or some members of the
store were not named.";

const OUTPUT: &str = "\
What the output means:
  recording, stream
      How many bytes of each stream are there, and how many of them are lost or missing.
  ended
      Why the recording ended, where its end mark tells.
  had an open end
      A crash or a kill ended the recording. Its end is now noted on the members.";

#[derive(Debug, Args)]
#[command(after_help = help::short("recover", EXAMPLES))]
#[command(after_long_help = help::whole(EXAMPLES, OUTPUT))]
pub(crate) struct RecoverFlags {
    /// All members of one store, in any order: block devices, files, or directories that hold one.
    #[arg(required = true, value_name = "MEMBER")]
    pub(crate) members: Vec<String>,
    /// Write the result as JSON to this file; - is standard output.
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
}
