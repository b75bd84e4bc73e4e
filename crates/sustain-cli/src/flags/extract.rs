//! The flags of `sustain extract`, as typed.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use sustain::disk::units::{parse_duration, parse_size};
use sustain::record::document::{TimeTextError, time_ns_of_text};

use super::help::{self, group};
use super::number::parse_number;

const EXAMPLES: &str = "\
Examples:
  sustain extract /data1 /data2 -o camera.mjpg
      The only stream of the newest recording.
  sustain extract /data1 --recording 3 --stream left --from-frame 100 --to-frame 200 -o frames/
      A hundred frames, one file for each.
  sustain extract /data1 --from-time 2026-03-01T10:00:00Z --to-time 2026-03-01T10:05:00Z | player
      Five minutes of a stream, passed to another program.
  sustain extract /data1 --from-time -5m -o last.mjpg
      The last five minutes of the recording.
  sustain extract /data1 --around 'door opened' --before 10s --after 5s -o door.raw
      What arrived around a mark that somebody has set during the recording.
  sustain extract /data1 --pin 2 --stream left -o frames/
      What pin 2 keeps of a stream, although the ring has gone round since.
  sustain extract /data1 -o camera.mjpg --index camera.csv
      And where each of its frames begins, in the stream and on the disk.
  sustain extract /data1 --holes fill -o image.raw
      Lost bytes become zeros, so that every other byte keeps its place.

A pin keeps whole slots, which also have some of what came before its time and behind it: a
range such as --from-time gets that, too. What --pin gives of a recording ends where the pin ends,
and a pin whose time has not come to its end gives what is durable so far. Where the source gave
times by a clock that differs from this machine's by more than a second, all that the pin keeps is
given.

The end of a range is exclusive. The time of a byte or frame is when the recorder read it, by the
clock of the machine that recorded (a program that records with the library may give times of its
own). If that clock was set during the recording, a time range may consist of several parts of the
stream. What is lost in a range, or was overwritten by a ring, is named. A time of +10s counts from
the beginning of the recording, and one of -5m back from the arrival of its last byte, whichever
stream that is of. Nothing is written to the members. Exit codes: 0 done; 1 bytes are lost and
--holes does not say what to do, or the output could not be written or was closed before its end;
2 usage error, or something that is not a member of a store; 130 interrupted.";

const OUTPUT: &str = "\
What the output means:
  written
      The bytes or frames that were written: those found whole and, with --holes fill, the zeros
      in the place of lost ones.
  are lost, cannot be read
      Bytes of the range that were never recorded, and those that are damaged or on a member that
      is not here. --holes says what is written in their place.
  are gone, overwritten
      A ring has written newer data in their place.
The columns of --index:
  frame, frames
      The frame's number, from 0. A line for lost frames has the first of them, and how many.
  time
      When the recorder read its first byte, in UTC.
  length_bytes
      Its length; if it is not whole, up to its first byte that is not there. Of length-prefixed
      frames the four bytes of the length count. Files of -o DIR/ have only what follows them.
  stream_offset_bytes
      Where it begins in the stream.
  member, device_offset_bytes, adjacent_bytes
      On which member and at which byte of the device or file it begins, and how many of its bytes
      follow each other there: if fewer than its length, the rest is in other appends.
  state
      whole; cut (the stream or the range ends within it); gap (lost before it reached a member);
      hole (missing or damaged); overwritten (by a ring).";

#[derive(Debug, Args)]
#[command(after_help = help::short("extract", EXAMPLES))]
#[command(after_long_help = help::whole(EXAMPLES, OUTPUT))]
#[command(next_help_heading = group::WHAT_TO_READ)]
pub(crate) struct ExtractFlags {
    /// Members of one store, in any order: block devices, files, or directories that hold one.
    #[arg(help_heading = None::<&str>)]
    #[arg(required = true, value_name = "MEMBER")]
    pub(crate) members: Vec<String>,
    /// The recording's number [default: the newest].
    #[arg(long, value_name = "N")]
    #[arg(value_parser = parse_number::<u32>, allow_negative_numbers = true)]
    pub(crate) recording: Option<u32>,
    /// Read what this pin keeps of a ring, as `sustain list` numbers it. Without a range, that is
    /// what arrived in the time for which it was set, in whole frames, or in whole appends of a
    /// stream without frames.
    #[arg(long, value_name = "N")]
    #[arg(value_parser = parse_number::<u32>, allow_negative_numbers = true)]
    pub(crate) pin: Option<u32>,
    /// The stream's name [default: the only one].
    #[arg(long, value_name = "NAME")]
    pub(crate) stream: Option<String>,
    /// Start of the byte range; lost bytes are counted, too [default: 0].
    #[arg(long, value_name = "SIZE", value_parser = parse_size, conflicts_with_all = [
        "from_time", "to_time", "from_frame", "to_frame",
    ])]
    pub(crate) from_byte: Option<u64>,
    /// End of the byte range, exclusive [default: the end of the stream].
    #[arg(long, value_name = "SIZE", value_parser = parse_size, conflicts_with_all = [
        "from_time", "to_time", "from_frame", "to_frame",
    ])]
    pub(crate) to_byte: Option<u64>,
    /// Start of the time range: a time such as 2026-03-01T10:00:00Z or 2026-03-01T11:00:00+01:00,
    /// +10s from the recording's beginning, or -5m before its end.
    #[arg(long, value_name = "TIME", value_parser = parse_moment, conflicts_with_all = [
        "from_frame", "to_frame",
    ], allow_hyphen_values = true, alias = "from")]
    pub(crate) from_time: Option<MomentFlag>,
    /// End of the time range, exclusive; in the same forms.
    #[arg(long, value_name = "TIME", value_parser = parse_moment, conflicts_with_all = [
        "from_frame", "to_frame",
    ], allow_hyphen_values = true, alias = "to")]
    pub(crate) to_time: Option<MomentFlag>,
    /// What was recorded around a mark: its number, or its text if only one has it. `sustain list`
    /// shows the marks of `sustain control SOCKET mark`.
    #[arg(long, value_name = "MARK", conflicts_with_all = [
        "from_byte", "to_byte", "from_time", "to_time", "from_frame", "to_frame",
    ])]
    pub(crate) around: Option<String>,
    /// How long before the mark the range begins.
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = parse_duration)]
    #[arg(requires = "around", allow_hyphen_values = true)]
    pub(crate) before: u64,
    /// How long after the mark it ends.
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = parse_duration)]
    #[arg(requires = "around", allow_hyphen_values = true)]
    pub(crate) after: u64,
    /// Start of the frame range; frames are counted from 0.
    #[arg(long, value_name = "N")]
    #[arg(value_parser = parse_number::<u64>, allow_negative_numbers = true)]
    pub(crate) from_frame: Option<u64>,
    /// End of the frame range, exclusive.
    #[arg(long, value_name = "N")]
    #[arg(value_parser = parse_number::<u64>, allow_negative_numbers = true)]
    pub(crate) to_frame: Option<u64>,
    /// What to write in place of lost bytes: zeros (fill), or nothing (skip) [default: end at the
    /// first lost byte, with exit code 1].
    #[arg(help_heading = group::HOW)]
    #[arg(long, value_enum)]
    pub(crate) holes: Option<HolesFlag>,
    /// The file to create, or a directory for one file per frame; - is standard output [default:
    /// -].
    #[arg(help_heading = group::OUTPUT)]
    #[arg(short, long, value_name = "FILE|DIR/")]
    pub(crate) output: Option<PathBuf>,
    /// Write an index of the frames as CSV to this new file: for each frame its number, time and
    /// length, and where it begins in the stream and on a member. - is standard output.
    #[arg(help_heading = group::OUTPUT)]
    #[arg(long, value_name = "FILE")]
    pub(crate) index: Option<PathBuf>,
    /// Write what was extracted and what is lost as JSON to this file; - is standard output.
    #[arg(help_heading = group::OUTPUT)]
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum HolesFlag {
    /// Zeros of the same length.
    Fill,
    /// Nothing: what follows moves forward.
    Skip,
}

/// A moment as typed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MomentFlag {
    /// Nanoseconds since 1970.
    At(i64),
    /// Nanoseconds from the recording's beginning.
    FromBeginning(u64),
    /// Nanoseconds before its end.
    BeforeEnd(u64),
}

fn parse_moment(text: &str) -> Result<MomentFlag, String> {
    let duration = |typed| parse_duration(typed).map_err(|error| error.to_string());
    if let Some(typed) = text.strip_prefix('+') {
        return duration(typed).map(MomentFlag::FromBeginning);
    }
    if let Some(typed) = text.strip_prefix('-') {
        return duration(typed).map(MomentFlag::BeforeEnd);
    }
    parse_time(text).map(MomentFlag::At)
}

/// Nanoseconds since 1970.
fn parse_time(text: &str) -> Result<i64, String> {
    let words = |why| match why {
        TimeTextError::NotATime => {
            "write it with its zone, as 2026-03-01T10:00:00Z or 2026-03-01T11:00:00.5+01:00, or as \
             +10s from the recording's beginning or -5m before its end"
        }
        TimeTextError::OutOfRange => {
            "nothing recorded has such a time: times go from 1677-09-22 to 2262-04-11; leave the \
             flag out for all that there is on that side"
        }
    };
    time_ns_of_text(text).map_err(|why| words(why).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_may_count_from_the_beginning_or_the_end() {
        assert_eq!(
            parse_moment("+1.5s"),
            Ok(MomentFlag::FromBeginning(1_500_000_000))
        );
        assert_eq!(
            parse_moment("-5m"),
            Ok(MomentFlag::BeforeEnd(300_000_000_000))
        );
        assert_eq!(
            parse_moment("1970-01-01T00:00:01Z"),
            Ok(MomentFlag::At(1_000_000_000))
        );
        for text in [
            "+",
            "-",
            "+-5s",
            "--5s",
            "+5",
            "-1e400s",
            "5s",
            "+2026-01-01T00:00:00Z",
        ] {
            assert!(parse_moment(text).is_err(), "{text}");
        }
    }

    #[test]
    fn times_have_a_zone_and_nanoseconds() {
        assert_eq!(parse_time("1970-01-01T00:00:01.5Z"), Ok(1_500_000_000));
        assert_eq!(parse_time("1970-01-01T01:00:00+01:00"), Ok(0));
        assert_eq!(parse_time("1969-12-31T23:59:59.999999999Z"), Ok(-1));
        for text in ["", "10:00", "1970-01-01T00:00:01", "yesterday"] {
            assert!(parse_time(text).unwrap_err().contains("zone"), "{text}");
        }
        for text in [
            "2300-01-01T00:00:00Z",
            "1600-01-01T00:00:00Z",
            "10000-01-01T00:00:00Z",
        ] {
            let told = parse_time(text).unwrap_err();
            assert!(
                told.contains("to 2262-04-11") && !told.contains("zone"),
                "{told}"
            );
        }
    }
}
