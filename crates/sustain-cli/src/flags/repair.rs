//! The flags of `sustain repair`, as typed.

use std::path::PathBuf;

use clap::Args;

use super::help::{self, group};

const EXAMPLES: &str = "\
Examples:
  sustain repair /data1 /data2 /data4 --onto /data5
      The third of four members is lost: what it had is computed from the others and written to
      /data5, which is a member in its place from then on.
  sustain repair /dev/sdb1 /dev/sdd1 --onto /dev/sde1 --destroy /dev/sde1
      The same with partitions. Everything on /dev/sde1 is lost.
  sustain repair /data1 /data3 /data4 --onto /data2
      /data2 failed and works again, was put back to an earlier state, or has bad blocks: what it
      lacks or what is damaged there is put back, and all else on it stays.
  sustain repair /data1 /data2 /data4
      There is no new disk: what the lost member had is copied to the others, where they have room,
      and the store goes on without it, as after `sustain retire`. It does not come back: use
      --dry-run first, or --onto if the disk may return.

To replace a member that still works, leave it out. The members that are there are only read. If
the command is interrupted, the same command goes on where it ended. Beside a recording that goes on
without the lost member it rebuilds what it can, gives way to the recorder whenever data has to
wait, and does the rest when the recording has ended. Exit codes: 0 all that the
lost member had is on the new one; 1 some of it is lost, because more is missing than parity
replaces, or a member could not be read or written; 2 usage error or refused member; 130
interrupted.";

const OUTPUT: &str = "\
What the output means:
  data, parity
      What is on the new member now: appends of data that were computed from the others, and
      appends of parity that were made again.
  lost
      Appends of data of which more members are missing than parity replaces. `sustain verify`
      names the bytes.";

#[derive(Debug, Args)]
#[command(after_help = help::short("repair", EXAMPLES))]
#[command(after_long_help = help::whole(EXAMPLES, OUTPUT))]
pub(crate) struct RepairFlags {
    /// The members of one store that are there: block devices, files, or directories that hold one.
    #[arg(required = true, value_name = "MEMBER")]
    pub(crate) members: Vec<String>,
    /// The new member: a block device, a file, or a directory for a file in it. It must be as large
    /// as the lost one. Without it, what the lost member had is copied to the others.
    #[arg(long, value_name = "NEW")]
    pub(crate) onto: Option<String>,
    /// Allow the content of the new member to be destroyed. Repeat it exactly as you typed it.
    #[arg(help_heading = group::SAFETY)]
    #[arg(long, value_name = "NEW", requires = "onto")]
    pub(crate) destroy: Vec<String>,
    /// Allow the new member to be on one disk with another, for a trial: they fail together.
    #[arg(help_heading = group::SAFETY, hide_short_help = true)]
    #[arg(long, requires = "onto")]
    pub(crate) same_disk: bool,
    /// Go on although more members are missing than parity replaces: the rest is rebuilt.
    #[arg(help_heading = group::SAFETY, hide_short_help = true)]
    #[arg(long)]
    pub(crate) accept_loss: bool,
    /// Only say what would be copied to the others without a new member, and whether there is room.
    #[arg(help_heading = group::SAFETY)]
    #[arg(long, conflicts_with_all = ["onto", "json"])]
    pub(crate) dry_run: bool,
    /// Write the result as JSON to this file; - is standard output.
    #[arg(help_heading = group::OUTPUT)]
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
}
