//! The flags of `sustain mount`, as typed.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use sustain::disk::units::parse_size;

use super::help;

const EXAMPLES: &str = "\
Examples:
  sustain mount /data1 /data2 /mnt/store
      Recordings as directories and streams as files, until fusermount3 -u /mnt/store.
  sustain mount store/ view/ --foreground
      The same until Ctrl-C.
  sustain mount /dev/sdb1 /mnt/store --holes zeros --split 1GB
      Zeros for lost bytes, and each stream as files of 1 GB.

Nothing is written to the members, and nothing can be written to the mount. What a file returns has
passed its checksums. Only the user who mounts it can read it. Users other than root need the
program fusermount3. Exit codes: 0 mounted, and with --foreground unmounted cleanly; 1 the mount
failed; 2 usage error, a directory that cannot be mounted at, or something that is not a member of a
store.";

const OUTPUT: &str = "\
What is in the mount:
  recording-N/recording.json
      What sustain list --json tells of recording N.
  recording-N/STREAM
      All bytes of the stream. Where some are lost, reading fails with an I/O error (EIO). It grows
      while the recording goes on. With --split a directory of files.
  recording-N/STREAM.frames/
      Directories of a thousand frames, each with one file for each frame.
  pin-P/recording-N/
      The same of what pin P of a ring keeps: what arrived in the time that was pinned.";

#[derive(Debug, Args)]
#[command(after_help = help::short("mount", EXAMPLES))]
#[command(after_long_help = help::whole(EXAMPLES, OUTPUT))]
pub(crate) struct MountFlags {
    /// Members of one store, in any order: block devices, files, or directories that hold one.
    #[arg(required = true, value_name = "MEMBER")]
    pub(crate) members: Vec<String>,
    /// The empty directory to mount at.
    #[arg(required = true, value_name = "DIR")]
    pub(crate) directory: PathBuf,
    /// Stay in the foreground and unmount on Ctrl-C, instead of going to the background once it is
    /// mounted.
    #[arg(long)]
    pub(crate) foreground: bool,
    /// What reading lost bytes gives: an error, or zeros. What a ring has overwritten is an error
    /// all the same.
    #[arg(long, value_enum, default_value = "eio")]
    pub(crate) holes: MountHolesFlag,
    /// Show each stream as files of this size, at least 1MB.
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    pub(crate) split: Option<u64>,
    /// Say on standard output when it is mounted, then let go of the terminal.
    #[arg(long, hide = true)]
    pub(crate) detach: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum MountHolesFlag {
    /// The error EIO, as of a bad disk.
    Eio,
    /// Zeros of the same length.
    Zeros,
}
