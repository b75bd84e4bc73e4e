//! The flags of `sustain control`, as typed.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::help;

const EXAMPLES: &str = "\
Examples:
  sustain control /run/left.control mark 'door opened'
      Keeps these words in the recording, with their time and how far each stream had come.
  sustain control /run/left.control status
      The state of the recording.
  sustain control /run/left.control pin --from -30s --to +10s
      Keeps this stretch of a ring from being overwritten, while the ring goes on.
  sustain control /run/left.control pin -30s..+10s
      The same.
  sustain control /run/left.control split
      Ends this recording and begins the next one, without losing a byte between.
  sustain extract store/ --around 'door opened' --before 10s --after 5s -o door.raw
      What was recorded around the mark.
  printf '{\"command\":\"pause\"}\\n' | socat - UNIX-CONNECT:/run/left.control
      The protocol is a line of JSON each way; docs/control.md describes it.

Exit codes: 0 it was done; 1 the recorder refused it, ended before it answered, or did not answer in
time; 2 usage error, no recording listens on this socket (there is no such socket, or its recorder
was killed), or you may not use it.";

const OUTPUT: &str = "\
What the output means:
  status
      The state of each stream and member, as the lines of --status have it: what the source
      offered, what is durable, what was lost.
  rate
      What came in and went out over the last second, and what waits for members.
  split
      The number of the recording that has ended, all of it durable, and of the one that runs.
  mark
      The number and the time of the mark, and the byte at which each stream was.
  pin
      The number of the pin, and from when to when all that arrives is kept. If a part of what was
      asked for is gone, it says so.";

#[derive(Debug, Args)]
#[command(after_help = help::short("control", EXAMPLES))]
#[command(after_long_help = help::whole(EXAMPLES, OUTPUT))]
pub(crate) struct ControlFlags {
    /// The socket that `sustain record --control SOCKET` has made.
    #[arg(value_name = "SOCKET")]
    pub(crate) socket: PathBuf,
    /// What the recording is to do.
    #[arg(value_enum, value_name = "COMMAND")]
    pub(crate) command: CommandWord,
    /// The text of a mark, 1 to 1000 bytes in one line; the number of the pin to free; or what is
    /// to be pinned, as -30s..+10s.
    #[arg(required_if_eq("command", "mark"))]
    #[arg(value_name = "TEXT|N|FROM..TO", allow_hyphen_values = true)]
    pub(crate) text: Option<String>,
    /// With unpin, the number of the pin, in the form of `sustain unpin`.
    #[arg(long, value_name = "N", conflicts_with = "text")]
    pub(crate) pin: Option<String>,
    /// With pin, the beginning of what is kept: -30s for so long before now, or a time such as
    /// 2026-03-01T10:00:00Z.
    #[arg(
        long,
        value_name = "TIME",
        allow_hyphen_values = true,
        alias = "from-time",
        conflicts_with = "around"
    )]
    pub(crate) from: Option<String>,
    /// With pin, its end, which may lie in the future: +10s for so long from now, or in the same
    /// forms [default: now].
    #[arg(
        long,
        value_name = "TIME",
        allow_hyphen_values = true,
        alias = "to-time",
        requires = "from"
    )]
    pub(crate) to: Option<String>,
    /// With pin, keep what arrives around a mark of this recording: its number, or its text if only
    /// one has it.
    #[arg(long, value_name = "MARK")]
    pub(crate) around: Option<String>,
    /// How long before the mark it begins [default: 10s].
    #[arg(
        long,
        value_name = "TIME",
        requires = "around",
        allow_hyphen_values = true
    )]
    pub(crate) before: Option<String>,
    /// How long after the mark it ends [default: 10s].
    #[arg(
        long,
        value_name = "TIME",
        requires = "around",
        allow_hyphen_values = true
    )]
    pub(crate) after: Option<String>,
    /// Print the answer as it came: one line of JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum CommandWord {
    /// Tell the state of the recording.
    Status,
    /// Tell the rates over the last second.
    Rate,
    /// Stop reading from the sources; what a source that cannot wait sends meanwhile is lost and
    /// recorded as a gap.
    Pause,
    /// Go on reading from the sources.
    Resume,
    /// End the recording and begin the next one in the same store, without losing a byte between.
    Split,
    /// End the recording after everything read so far is written, as the first Ctrl-C does.
    Stop,
    /// Keep a text in the recording, with its time.
    Mark,
    /// Keep a stretch of a ring from being overwritten, while the ring goes on in what is left.
    Pin,
    /// Free what the pin of this number keeps, so that the ring may overwrite it.
    Unpin,
}
