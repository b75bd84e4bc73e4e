//! The flags of `sustain retire`, as typed.

use std::path::PathBuf;

use clap::Args;

use super::help::{self, group};

const EXAMPLES: &str = "\
Examples:
  sustain retire /data1 /data2 /data3 /data4 --member /data2
      Copies what /data2 has to the other three. From then on they are the store.
  sustain retire /dev/sdb1 /dev/sdd1 /dev/sde1 --member 2
      The same where the second of four members is lost: what it had is computed by parity.

The copies protect as much as before: with parity 1, each append of the member that goes is copied
to two others, and with parity 2 to three. In a store without parity there is one copy. The
whole store is checked first, and what the member has is read twice, to find out whether the others
have room. Nobody may record to the store meanwhile. Until the end the member is one of the store
as before; if the command is interrupted, nothing is lost, and the same command goes on where it
ended. Nothing on the member itself is deleted.

Where a ring has gone round, there is no room for copies. Leave the member out there and record over
the others, with --degraded, until the ring has gone over all that it has: then nothing has to be
copied. Not yet: a store with pins. Exit codes: 0 the member can be taken away; 1 so it can, but
something that it had is lost, as the result says; or a member could not be read or written; 2 usage
error, no room, or refused member; 130 interrupted.";

const OUTPUT: &str = "\
What the output means:
  copied
      Appends of data and of parity that other members have copies of now, each counted once.
  written
      The bytes that all copies of them take.
  lost
      Bytes that could neither be read nor computed. They are refused without --accept-loss.";

#[derive(Debug, Args)]
#[command(after_help = help::short("retire", EXAMPLES))]
#[command(after_long_help = help::whole(EXAMPLES, OUTPUT))]
pub(crate) struct RetireFlags {
    /// The members of one store: block devices, files, or directories that hold one.
    #[arg(required = true, value_name = "MEMBER")]
    pub(crate) members: Vec<String>,
    /// The member that is to go: its name, or, if it is lost, its number in the store or its UUID.
    #[arg(long, value_name = "OLD", required = true)]
    pub(crate) member: String,
    /// Go on although some of what the member has can neither be read nor computed.
    #[arg(help_heading = group::SAFETY, hide_short_help = true)]
    #[arg(long)]
    pub(crate) accept_loss: bool,
    /// Only say what would be copied, and whether there is room. Everything is read for that once.
    #[arg(help_heading = group::SAFETY)]
    #[arg(long, conflicts_with = "json")]
    pub(crate) dry_run: bool,
    /// Write the result as JSON to this file; - is standard output.
    #[arg(help_heading = group::OUTPUT)]
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
}
