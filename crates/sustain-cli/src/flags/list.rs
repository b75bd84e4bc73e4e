//! The flags of `sustain list`, as typed.

use std::path::PathBuf;

use clap::Args;

use super::help;
use super::number::parse_number;

const EXAMPLES: &str = "\
Examples:
  sustain list /data1 /data2
      The recordings of this store, and how much of each is lost.
  sustain list -v /data1 /data2
      Where each recording lies on each member, as well.
  sustain list /data1 /data2 --frames --stream left > frames.csv
      Where each frame of a stream begins; `sustain extract --help` has the columns.
  sustain list /dev/sdb1 --json list.json
      One member is enough. What lies on the others is listed as missing.

Nothing is written to the members. Exit codes: 0 done; 1 a member could not be read; 2 usage
error, or something that is not a member of a store.";

const OUTPUT: &str = "\
What the output means:
  recording, started
      Its number in the store, and when it began, in UTC.
  ended
      source: the source ended; time, bytes: what was asked for is reached; full: the store is full;
      signal: Ctrl-C or `control stop`; split: the next recording went on; failed: it could not
      go on; running: it is being recorded; open end: a crash or a kill; recovered: sustain
      recover has noted where such a recording ends.
  parity
      How many members may be lost without loss of what was protected. Left out if no recording has
      any.
  bytes, frames
      The length of each stream. What is lost or missing is counted in it.
  lost
      Bytes that the sources sent and that were not recorded. The recording says how many, where
      and why.
  missing
      Bytes that were recorded on members, or parts of members, that are not here.
  pin
      A stretch of a ring that is not overwritten: its number, from when to when, and the space that
      it takes, in whole slots; and when the first and the last byte arrived that are found of it.
      `sustain unpin` frees it.
  on MEMBER: device bytes
      With -v: where the recording's data begins and ends on that member, as byte offsets; the
      end is the first byte that is not its own. If the member is a directory, they are offsets in
      its file sustain.store. In a ring that has come round, the data goes on from the last slot
      to the first.";

#[derive(Debug, Args)]
#[command(after_help = help::short("list", EXAMPLES))]
#[command(after_long_help = help::whole(EXAMPLES, OUTPUT))]
pub(crate) struct ListFlags {
    /// Members of one store, in any order: block devices, files, or directories that hold one.
    #[arg(required = true, value_name = "MEMBER")]
    pub(crate) members: Vec<String>,
    /// Show where each recording begins and ends on each member, too.
    #[arg(short, long)]
    pub(crate) verbose: bool,
    /// Instead of the list, write an index of a stream's frames as CSV to standard output: number,
    /// time and length of each, and where it begins. This reads the whole stream.
    #[arg(long, conflicts_with_all = ["verbose", "json"])]
    pub(crate) frames: bool,
    /// With --frames, the recording's number [default: the newest].
    #[arg(long, value_name = "N", requires = "frames")]
    #[arg(value_parser = parse_number::<u32>, allow_negative_numbers = true)]
    pub(crate) recording: Option<u32>,
    /// With --frames, the stream's name [default: the only one].
    #[arg(long, value_name = "NAME", requires = "frames")]
    pub(crate) stream: Option<String>,
    /// Write the list as JSON to this file; - is standard output.
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
}
