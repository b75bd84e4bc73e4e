//! The flags of `sustain unpin`, as typed.

use std::path::PathBuf;

use clap::Args;

use super::help;
use super::number::parse_number;

const EXAMPLES: &str = "\
Examples:
  sustain unpin /data1 /data2 --pin 3
      The next recording with --ring may overwrite what pin 3 has kept.
  sustain control /run/left.control unpin 3
      The same while the store is recorded to.

`sustain list` shows the pins of a store. Nothing but the notes about pins in the superblocks is
written, and if it is interrupted the pin is freed or kept as it was, on all members. Exit codes: 0
done; 1 a member could not be read or written; 2 usage error, there is no such pin, a refused
member, some members of the store were not named, or somebody records to it.";

const OUTPUT: &str = "\
What the output means:
  may overwrite
      How much of the ring is free again. What other pins also keep is not.";

#[derive(Debug, Args)]
#[command(after_help = help::short("unpin", EXAMPLES))]
#[command(after_long_help = help::whole(EXAMPLES, OUTPUT))]
pub(crate) struct UnpinFlags {
    /// All members of one store, in any order: block devices, files, or directories that hold one.
    #[arg(required = true, value_name = "MEMBER")]
    pub(crate) members: Vec<String>,
    /// The number of the pin, as `sustain list` shows it; a number behind the members means the
    /// same.
    #[arg(long, value_name = "N")]
    #[arg(value_parser = parse_number::<u32>, allow_negative_numbers = true)]
    pub(crate) pin: Option<u32>,
    /// Write the result as JSON to this file; - is standard output.
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
}
