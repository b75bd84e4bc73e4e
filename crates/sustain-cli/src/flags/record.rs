//! The flags of `sustain record`, as typed.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use sustain::disk::units::{Size, parse_duration, parse_size};
use sustain::record::APPEND_BYTES_LEAST;
use sustain::record::format::SLOT_BYTES_MAX;
use sustain::record::source::SourceSpec;
use sustain::record::source::framing::Framing;

use super::choices::{EngineFlag, PathFlag};
use super::help::{self, group};
use super::number::parse_number;

const EXAMPLES: &str = "\
Examples:
  camera | sustain record /dev/sdb1 /dev/sdc1 --frames jpeg
      Standard input becomes a stream named main, spread over both disks.
  sustain record store/ --from /run/left.fifo --stream left --from /run/right.fifo --stream right
      Two streams at once. A store is created in the directory if it has none.
  sustain record /dev/sdb1 --ring --on-full drop --status status.json
      Runs for ever and overwrites the oldest data. What the disk cannot take becomes a named gap.
  sustain record store/ --from /run/left.fifo --control /run/left.control
      sustain control /run/left.control mark 'door opened' keeps these words with their time.
  sustain record /data1 /data2 /data3 --degraded
      One of three members of a store with parity may be missing: the others take what comes.
  sustain record store/ --from test:500MB/s,frame=1MB..2MB --time 60s
      A trial with a synthetic source whose bytes can be checked.

The first Ctrl-C ends the recording cleanly: everything read so far is written, and so is what
lies in the pipes of the sources at that moment. A member that has not answered a request for 5 s
counts as slow. Until it answers, new data goes to the other members, and what was on its way to
it is written to them as well. At the end the recorder waits for slow members until nothing has
completed for 30 s, then gives them up and names them. The result is complete then, but while the
file system of such a member is frozen, the kernel keeps the process until it is thawed. SIGUSR1
prints the status line at once, as a line that stays.

Exit codes: 0 everything is recorded; 1 bytes were lost, the store became full or a member failed;
2 usage error, a refused member, or a store that was full from the start; 130 on a second Ctrl-C.";

/// What `--durable` may say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DurableFlag {
    /// Every write.
    Each,
    /// What is older than this, in nanoseconds.
    Interval(u64),
}

/// A flush takes a good disk about so long. A bound below that would be promised and never hold.
const DURABLE_NS_MIN: u64 = 1_000_000;

fn parse_durable(text: &str) -> Result<DurableFlag, String> {
    if text == "each" {
        return Ok(DurableFlag::Each);
    }
    match parse_duration(text) {
        Ok(0) => Err(
            "the time must be more than 0s; `each` makes every write durable by itself".to_owned(),
        ),
        Ok(interval_ns) if interval_ns < DURABLE_NS_MIN => Err(
            "an interval shorter than 1 ms would ask for a flush with nearly every write, which \
             takes longer on most disks: give at least 1ms, or `each` to make every write durable \
             by itself"
                .to_owned(),
        ),
        Ok(interval_ns) => Ok(DurableFlag::Interval(interval_ns)),
        Err(error) => Err(format!("{error}; or: each")),
    }
}

const OUTPUT: &str = "\
What the output means:
  share first
      What the recorder has taken for itself: the I/O priority of its requests,
      the CPU priority (nice) of its threads, and how much of --buffer is locked
      in memory. What it may not have is named with the privilege that it would
      need, and the recording goes on without it. The end of the line says
      whether the I/O schedulers of the disks heed priorities: mq-deadline and
      bfq do, none and kyber do not. With --hold-back others it also says whether
      other programs can be held back; the last lines of the recording then say
      which were, and how far.
  in, out
      The rate at which the sources gave bytes, and the members took them, over
      the last second.
  buffer
      How much of --buffer is filled with bytes that wait for the members.
  nothing lost
      Or LOST, with the number of bytes that were lost so far.
  full in
      When the store will be full if this goes on.
  limit
      What limits the recording: the source, the members, pins that keep all of
      a ring, or, by its name, a single member that is much slower than the
      others. Other programs that use the members' disks are named with it.
  PAUSED by a command
      Nothing is taken from the sources until `sustain control SOCKET resume`.
  slowest append
      The longest time so far that writing one append to a member took.
  frames/s, from one frame to the next, missing, late (at the end)
      Of a stream with frames: how many came each second, how large they were, the
      longest time from one to the next, and how long each took until it, and all
      before it, was durable. With --frame-rate also the frames that came late, and
      then in quick succession (late), and those that a pause owes and that did not
      come so (missing), with their numbers and times. The time of a frame is when
      the recorder read its first byte.
  durable within (at the end)
      Of 1000 appends, 999 took no longer than this until their bytes were on the
      medium, where a power cut cannot take them.";

#[derive(Debug, Args)]
#[command(after_help = help::short("record", EXAMPLES))]
#[command(after_long_help = help::whole(EXAMPLES, OUTPUT))]
#[command(next_help_heading = group::WHAT_TO_RECORD)]
pub(crate) struct RecordFlags {
    /// The members of a store, in any order; or a directory, in which a store is created if it has
    /// none.
    #[arg(help_heading = None::<&str>)]
    #[arg(required = true, value_name = "MEMBER")]
    pub(crate) members: Vec<String>,
    /// The source of a stream: - for standard input, a file, a FIFO, or
    /// test:RATE[,frame=SIZE..SIZE] for a synthetic source; once for each stream [default: -].
    #[arg(long, value_name = "SOURCE")]
    pub(crate) from: Vec<SourceSpecArgument>,
    /// The name of a stream, once for each --from, in the same order [default: main].
    #[arg(long, value_name = "NAME")]
    pub(crate) stream: Vec<String>,
    /// How frames are told apart: none, lines, length-prefixed (4 bytes of length, little-endian,
    /// before each frame; length-prefixed-be is big-endian) or jpeg. Once for all streams, or once
    /// for each.
    #[arg(long, value_name = "FRAMING")]
    pub(crate) frames: Vec<Framing>,
    /// The frames per second that a source promises, once for all streams or once for each: frames
    /// that are missing or late are named in the result.
    #[arg(long, value_name = "R", value_parser = parse_frame_rate, allow_negative_numbers = true)]
    pub(crate) frame_rate: Vec<f64>,
    /// Let each frame begin at a block of 4 KiB of the disk, in an append of its own, so that it
    /// can be read from there past the page cache.
    #[arg(long)]
    pub(crate) align_frames: bool,
    /// Overwrite the store's oldest data when it is full.
    #[arg(long)]
    pub(crate) ring: bool,
    /// What to do when the buffer in memory is full: let the source wait (block), or lose what
    /// comes and note it as a gap (drop). When the store is full, the recording ends, unless --ring
    /// is given, and what was read and has no place any more is lost. Where pins keep all of a
    /// ring, the recording ends, too (block), or what comes is lost until one is freed (drop).
    #[arg(help_heading = group::HOW)]
    #[arg(long, value_enum, default_value_t = OnFullFlag::Block)]
    pub(crate) on_full: OnFullFlag,
    /// Memory for bytes that the members have not taken yet [default: 512MiB, or a quarter
    /// of the memory if that is less].
    #[arg(help_heading = group::HOW, hide_short_help = true)]
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    pub(crate) buffer: Option<u64>,
    /// How many members may be lost without loss of data: 0, 1 or 2 [default: what the store was
    /// created with].
    #[arg(help_heading = group::HOW)]
    #[arg(long, value_name = "N")]
    pub(crate) parity: Option<u16>,
    /// Bytes that are written to a member at a time, from 256KiB to 16MiB and at most a slot
    /// [default: what --sweep found best, or else 1MiB].
    #[arg(help_heading = group::HOW, hide_short_help = true)]
    #[arg(long, value_name = "SIZE", value_parser = parse_append_size)]
    pub(crate) append_size: Option<u32>,
    /// About how long data may take to become durable, on disks that keep up; each makes every
    /// write durable by itself.
    #[arg(help_heading = group::HOW)]
    #[arg(long, value_name = "TIME|each", default_value = "1s", value_parser = parse_durable)]
    pub(crate) durable: DurableFlag,
    /// Number of appends kept in flight on each member.
    #[arg(help_heading = group::HOW, hide_short_help = true)]
    #[arg(long, value_name = "N", default_value_t = 8)]
    #[arg(value_parser = parse_number::<u32>, allow_negative_numbers = true)]
    pub(crate) depth: u32,
    /// How requests are issued. auto takes the best engine that this system allows.
    #[arg(help_heading = group::HOW, hide_short_help = true)]
    #[arg(long, value_enum, default_value_t = EngineFlag::Auto)]
    pub(crate) engine: EngineFlag,
    /// Whether I/O bypasses the page cache (direct), goes through it (buffered) or bypasses the
    /// block layer, too, by NVMe or SCSI commands (passthrough).
    #[arg(help_heading = group::HOW, hide_short_help = true)]
    #[arg(long, value_enum, default_value_t = PathFlag::Direct)]
    pub(crate) path: PathFlag,
    /// How the recorder shares the machine with other programs. first takes the highest disk and
    /// CPU priority that it is allowed, and locks its buffer in memory; fair leaves these as they
    /// are. What it got, and whether the disks heed it, is printed first.
    #[arg(help_heading = group::HOW)]
    #[arg(long, value_enum, default_value_t = ShareFlag::First)]
    pub(crate) share: ShareFlag,
    /// Hold other programs back while data waits for the disks. It is for disks on which the kernel
    /// gives nobody priority: control groups that use them get I/O limits, the lower the more data
    /// waits. Their own limits are put back at the end, whatever ends the recording.
    #[arg(help_heading = group::HOW, hide_short_help = true)]
    #[arg(long, value_enum, value_name = "WHOM")]
    pub(crate) hold_back: Option<HoldBackFlag>,
    /// Make a unix socket here, over which the recording can be commanded while it runs: status,
    /// rate, pause, resume, split, stop, mark, pin and unpin, sent with `sustain control`. Only
    /// root and the user who records may use it. The socket is removed when the recording ends.
    #[arg(help_heading = group::HOW)]
    #[arg(long, value_name = "SOCKET")]
    pub(crate) control: Option<PathBuf>,
    /// End after this time; pauses count, and so do all the recordings that `split` makes.
    #[arg(help_heading = group::HOW_LONG)]
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    pub(crate) time: Option<u64>,
    /// End each stream after this many bytes, counted anew in each recording of a `split`.
    #[arg(help_heading = group::HOW_LONG, hide_short_help = true)]
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    pub(crate) bytes: Option<u64>,
    /// Size of a store that is created in a directory [default: 10GiB, but at most half of the free
    /// space].
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    pub(crate) size: Option<u64>,
    /// Record although members are missing, as many as parity replaces: the others take all, and
    /// the missing ones can be used again later. Members that are named and are not there count as
    /// missing.
    #[arg(help_heading = group::SAFETY)]
    #[arg(long)]
    pub(crate) degraded: bool,
    /// Only say what would be done.
    #[arg(help_heading = group::SAFETY)]
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Write the status to this file, a line of JSON each second and at each flush; - is standard
    /// error.
    #[arg(help_heading = group::OUTPUT)]
    #[arg(long, value_name = "FILE")]
    pub(crate) status: Option<PathBuf>,
    /// Write the result as JSON to this file; - is standard output. The idle machine is then
    /// watched for a second before the first byte, unless a source is sending already, and a
    /// second after the last.
    #[arg(help_heading = group::OUTPUT)]
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
    /// Write an HTML report with charts: one file that opens offline. The idle machine is watched
    /// as for --json.
    #[arg(help_heading = group::OUTPUT)]
    #[arg(long, value_name = "FILE")]
    pub(crate) report: Option<PathBuf>,
    /// A result of sustain profile --write --json for all members. "full in" then takes the slower
    /// inner zones of disks into account, and a line warns if the members will become slower than
    /// the sources.
    #[arg(help_heading = group::RARE, hide_short_help = true)]
    #[arg(long, value_name = "FILE")]
    pub(crate) profile: Option<PathBuf>,
    /// A result of sustain sweep --write --record-size --json on all members: appends get the
    /// record size that it found best.
    #[arg(help_heading = group::RARE, hide_short_help = true)]
    #[arg(long, value_name = "FILE", conflicts_with = "append_size")]
    pub(crate) sweep: Option<PathBuf>,
}

/// The size of appends.
fn parse_append_size(text: &str) -> Result<u32, String> {
    const BLOCK_BYTES: u64 = 4096;
    let range = u64::from(APPEND_BYTES_LEAST)..=u64::from(SLOT_BYTES_MAX);
    let bytes = parse_size(text).map_err(|error| error.to_string())?;
    match u32::try_from(bytes) {
        Ok(found) if range.contains(&bytes) && bytes.is_multiple_of(BLOCK_BYTES) => Ok(found),
        _ => Err(format!(
            "an append takes from 256KiB to 16MiB, in whole blocks of 4KiB, and {} is not such a \
             size: give one such as 4MiB",
            Size(bytes)
        )),
    }
}

/// Frames per second. The time of a frame is that of the read which brought it, so that more frames
/// than this cannot be told from each other.
fn parse_frame_rate(text: &str) -> Result<f64, String> {
    const LEAST: f64 = 0.001;
    const MOST: f64 = 10_000.0;
    match text.parse::<f64>() {
        Ok(rate) if (LEAST..=MOST).contains(&rate) => Ok(rate),
        Ok(_) => Err(format!(
            "a frame rate goes from {LEAST} to {MOST} frames per second; leave the flag out where \
             there is no fixed rate"
        )),
        Err(_) => Err("give the frames per second as a number, such as 30 or 29.97".to_owned()),
    }
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

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ShareFlag {
    First,
    Fair,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum HoldBackFlag {
    Others,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_rate_that_no_source_has_is_refused() {
        for text in ["0", "-0", "-25", "1e-9", "10001", "1e300", "inf", "NaN"] {
            let error = parse_frame_rate(text).unwrap_err();
            assert!(error.contains("from 0.001 to 10000"), "{text}: {error}");
        }
        for text in ["", "30fps", "30/1", "fast"] {
            assert!(
                parse_frame_rate(text).unwrap_err().contains("29.97"),
                "{text}"
            );
        }
        assert_eq!(parse_frame_rate("29.97"), Ok(29.97));
    }

    #[test]
    fn a_size_that_no_append_may_have_is_refused() {
        for text in ["0", "255KiB", "17MiB", "1000000B", "1e30GB"] {
            let error = parse_append_size(text).unwrap_err();
            assert!(error.contains("iB"), "{text}: {error}");
        }
        assert_eq!(parse_append_size("256KiB"), Ok(256 << 10));
        assert_eq!(parse_append_size("16MiB"), Ok(16 << 20));
    }

    #[test]
    fn an_interval_in_which_no_disk_makes_anything_durable_is_refused() {
        for text in ["1ns", "999us"] {
            let error = parse_durable(text).unwrap_err();
            assert!(error.contains("at least 1ms"), "{text}: {error}");
        }
        assert_eq!(parse_durable("1ms"), Ok(DurableFlag::Interval(1_000_000)));
        assert_eq!(parse_durable("each"), Ok(DurableFlag::Each));
    }
}
