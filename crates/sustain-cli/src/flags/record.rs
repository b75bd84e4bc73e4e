//! The flags of `sustain record`, as typed.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use sustain::disk::units::{parse_duration, parse_size};
use sustain::record::source::SourceSpec;
use sustain::record::source::framing::Framing;

use super::EngineFlag;

const EXAMPLES: &str = "\
Examples:
  camera | sustain record /dev/sdb1 /dev/sdc1 --frames jpeg
      Standard input into a stream named main, over both disks.
  sustain record store/ --from /run/left.fifo --stream left --from /run/right.fifo --stream right
      Two streams at once; a directory gets a store of its own, if it has none.
  sustain record /dev/sdb1 --ring --on-full drop --status status.json
      For ever, over the oldest data; what must be lost is lost by name.
  sustain record store/ --from test:500MB/s,frame=1MB..2MB --time 60s
      A trial with a source that checks itself.

The first Ctrl-C ends the recording in order: all that was read is written, and what lies in the
sources' pipes at that moment, but nothing that comes later. A member that keeps a request for 5 s is
slow: the others take what there is, and what is on its way to it, until it has returned. At the end
it is waited for until for 30 s nothing has come nearer to the end; then it is given up, by name.

Exit codes: 0 all is recorded; 1 bytes were lost, the store became full or a member failed; 2 usage,
a refused member, or a store that was full before; 130 on a second Ctrl-C.";

/// What `--durable` may say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DurableFlag {
    /// Every write.
    Each,
    /// What is older than this, in nanoseconds.
    Interval(u64),
}

fn parse_durable(text: &str) -> Result<DurableFlag, String> {
    if text == "each" {
        return Ok(DurableFlag::Each);
    }
    match parse_duration(text) {
        Ok(0) => Err("an interval must be longer than nothing; for every write: each".to_owned()),
        Ok(interval_ns) => Ok(DurableFlag::Interval(interval_ns)),
        Err(error) => Err(format!("{error}; or: each")),
    }
}

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct RecordFlags {
    /// The members of a store, in any order; or a directory, which gets a store if it has none.
    #[arg(required = true, value_name = "MEMBER")]
    pub(crate) members: Vec<String>,
    /// Where a stream comes from: - (standard input), a file, a FIFO, or
    /// test:RATE[,frame=SIZE..SIZE]; once for each stream [default: -].
    #[arg(long, value_name = "SOURCE")]
    pub(crate) from: Vec<SourceSpecArgument>,
    /// The stream's name, once for each --from, in the same order [default: main].
    #[arg(long, value_name = "NAME")]
    pub(crate) stream: Vec<String>,
    /// How frames are told apart: none, lines, length-prefixed (4 bytes, little-endian, then the
    /// body; length-prefixed-be: big-endian) or jpeg; once for all streams, or once for each.
    #[arg(long, value_name = "FRAMING")]
    pub(crate) frames: Vec<Framing>,
    /// Overwrite the store's oldest data when it is full.
    #[arg(long)]
    pub(crate) ring: bool,
    /// When the buffer is full: let the source wait, or lose what comes. With drop the machine is
    /// not watched beforehand (see --json) if a source is sending already.
    #[arg(long, value_enum, default_value_t = OnFullFlag::Block)]
    pub(crate) on_full: OnFullFlag,
    /// Memory between sources and members.
    #[arg(long, value_name = "SIZE", default_value = "512MiB", value_parser = parse_size)]
    pub(crate) buffer: u64,
    /// What is older than this is on the medium for good; each: every write is.
    #[arg(long, value_name = "TIME|each", default_value = "1s", value_parser = parse_durable)]
    pub(crate) durable: DurableFlag,
    /// Appends kept in flight on each member.
    #[arg(long, value_name = "N", default_value_t = 8)]
    pub(crate) depth: u32,
    /// How requests are issued; auto takes the best that this system allows.
    #[arg(long, value_enum, default_value_t = EngineFlag::Auto)]
    pub(crate) engine: EngineFlag,
    /// End after this time.
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    pub(crate) time: Option<u64>,
    /// End each stream after so many bytes.
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    pub(crate) bytes: Option<u64>,
    /// Size of a store that is made in a directory [default: 10GiB].
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    pub(crate) size: Option<u64>,
    /// What sustain profile --write --json wrote of all members: the forecast knows then what their
    /// inner zones give, and warns if that is less than the sources offer.
    #[arg(long, value_name = "FILE")]
    pub(crate) profile: Option<PathBuf>,
    /// Write how it stands, as a line of JSON a second and at each flush; - is standard error.
    #[arg(long, value_name = "FILE")]
    pub(crate) status: Option<PathBuf>,
    /// Write the result as JSON; - is standard output. For it the idle machine is watched for a
    /// second before the first byte and a second after the last.
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
    /// Write a report with pictures: one file that opens offline. The machine is watched as for
    /// --json.
    #[arg(long, value_name = "FILE")]
    pub(crate) report: Option<PathBuf>,
    /// Say what would be done, and do nothing.
    #[arg(long)]
    pub(crate) dry_run: bool,
}

/// A source with the words it was typed in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SourceSpecArgument {
    pub(crate) typed: String,
    pub(crate) source: SourceSpec,
}

impl std::str::FromStr for SourceSpecArgument {
    type Err = sustain::record::source::SourceError;

    fn from_str(text: &str) -> Result<SourceSpecArgument, Self::Err> {
        Ok(SourceSpecArgument {
            typed: text.to_owned(),
            source: text.parse()?,
        })
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum OnFullFlag {
    Block,
    Drop,
}
