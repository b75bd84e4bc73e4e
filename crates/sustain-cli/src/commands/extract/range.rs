//! The range of a stream that the flags ask for. What lies outside the stream is refused or
//! reported, never guessed at. It is pure.

use sustain::record::document::time_text;
use sustain::record::opening::{Recording, StreamSummary};
use sustain::record::reading::readable::pinned_time;
use sustain::record::reading::stream::Range;
use sustain::record::source::framing::Framing;
use sustain::record::store::StorePin;

use crate::flags::extract::{ExtractFlags, MomentFlag};
use crate::usage_error::UsageError;

/// Whether the flags ask for no range.
pub(super) fn is_all(flags: &ExtractFlags) -> bool {
    flags.from_frame.is_none()
        && flags.to_frame.is_none()
        && flags.from_time.is_none()
        && flags.to_time.is_none()
        && flags.around.is_none()
        && flags.from_byte.is_none()
        && flags.to_byte.is_none()
}

/// Returns the range that the flags ask for. Notes for the user are added to `notices`.
pub(super) fn of(
    flags: &ExtractFlags,
    recording: &Recording,
    stream: &StreamSummary,
    notices: &mut Vec<String>,
) -> Result<Range, UsageError> {
    if flags.from_frame.is_some() || flags.to_frame.is_some() {
        return frames(stream, flags.from_frame, flags.to_frame, notices);
    }
    if flags.from_time.is_some() || flags.to_time.is_some() {
        let moment = |typed: Option<MomentFlag>, flag| {
            typed
                .map(|typed| moment(typed, flag, recording))
                .transpose()
        };
        let from = moment(flags.from_time, "--from-time")?;
        return time(stream, from, moment(flags.to_time, "--to-time")?);
    }
    if flags.from_byte.is_some() || flags.to_byte.is_some() {
        return bytes(stream, flags.from_byte, flags.to_byte, notices);
    }
    let readable_bytes = stream.readable_from_bytes;
    if readable_bytes == 0 || flags.pin.is_some() {
        return Ok(rest(stream));
    }
    let frame = match stream.readable_from_frame {
        0 => String::new(),
        count => format!(" (frame {count})"),
    };
    notices.push(format!(
        "the stream is readable from byte {readable_bytes}{frame} on, and is written from there: \
         earlier bytes are overwritten, all or in part. To have what is left of them as well, \
         extract with --from-byte 0 --holes fill -o FILE"
    ));
    Ok(rest(stream))
}

/// All that can be read of a stream.
fn rest(stream: &StreamSummary) -> Range {
    match stream.readable_from_bytes {
        0 => Range::All,
        readable_bytes => Range::Bytes(readable_bytes..u64::MAX),
    }
}

/// The time for which a pin was set. It was told by the recorder's clock; where the source has
/// another one, nothing tells which of its times these are, and all that is kept is wanted.
pub(super) fn of_pin(
    pin: &StorePin,
    stream: &StreamSummary,
    notices: &mut Vec<String>,
) -> Result<Range, UsageError> {
    let (number, name) = (pin.number, &stream.name);
    if pin.is_open {
        notices.push(format!(
            "pin {number} is set for a time until {}, which was not reached yet: what is durable \
             of it so far is read",
            time_text(pin.to_time_ns)
        ));
    }
    if let Some(pinned) = pinned_time(pin, stream) {
        return time(stream, Some(pinned.start), Some(pinned.end));
    }
    notices.push(format!(
        "the times of the stream {name} are not those of the clock by which pin {number} was set: \
         all that the pin keeps of it is given, which may begin before what was pinned and end \
         behind it"
    ));
    Ok(match has_frames(stream) {
        // What is kept may begin within a frame.
        true => Range::Frames(stream.readable_from_frame..u64::MAX),
        false => rest(stream),
    })
}

fn bytes(
    stream: &StreamSummary,
    from: Option<u64>,
    to: Option<u64>,
    notices: &mut Vec<String>,
) -> Result<Range, UsageError> {
    let length = stream.offered_bytes;
    let (start, end) = (from.unwrap_or(0), to.unwrap_or(u64::MAX));
    if start > length {
        return Err(UsageError(format!(
            "--from-byte {start} is beyond the end: the stream {} has {length} bytes",
            stream.name
        )));
    }
    check_order(start < end, "--from-byte", "--to-byte")?;
    if to.is_some_and(|end| end > length) {
        notices.push(format!(
            "the stream ends at byte {length}, before --to-byte {end}"
        ));
    }
    Ok(Range::Bytes(start..end))
}

/// A moment in nanoseconds since 1970, by the recorder's clock where it counts from the beginning
/// of a recording. Its end is when the last byte arrived, because a recording may be closed long
/// after that.
fn moment(typed: MomentFlag, flag: &str, recording: &Recording) -> Result<i64, UsageError> {
    let saturated = |ns: u64| i64::try_from(ns).unwrap_or(i64::MAX);
    let streams = recording.streams.iter().filter(|stream| !stream.is_marks());
    let streams = streams.filter(|stream| stream.offered_bytes > 0);
    let found = match typed {
        MomentFlag::At(time_ns) => return Ok(time_ns),
        MomentFlag::FromBeginning(ns) => recording
            .started_ns
            .map(|start_ns| start_ns.saturating_add(saturated(ns))),
        MomentFlag::BeforeEnd(ns) => streams
            .map(|stream| stream.last_time_ns)
            .max()
            .map(|end_ns| end_ns.saturating_sub(saturated(ns))),
    };
    found.ok_or_else(|| {
        let (number, what) = match typed {
            MomentFlag::BeforeEnd(_) => (recording.number, "no byte of it arrived"),
            _ => (recording.number, "none of its starts can be read"),
        };
        UsageError(format!(
            "{flag} cannot be counted in recording {number}, because {what}: give the time itself, \
             as 2026-03-01T10:00:00Z"
        ))
    })
}

/// The range of time from one moment up to another.
pub(super) fn time(
    stream: &StreamSummary,
    from: Option<i64>,
    to: Option<i64>,
) -> Result<Range, UsageError> {
    let (start, end) = (from.unwrap_or(i64::MIN), to.unwrap_or(i64::MAX));
    check_order(start < end, "--from-time", "--to-time")?;
    if stream.offered_bytes == 0 {
        return Err(UsageError(format!("the stream {} is empty", stream.name)));
    }
    Ok(Range::Time(start..end))
}

/// The error for a time in which nothing of a stream arrived.
pub(super) fn nothing_then(stream: &StreamSummary) -> UsageError {
    UsageError(format!(
        "nothing of the stream {} arrived in that time: its bytes arrived from {} to {}",
        stream.name,
        stream
            .first_time_ns
            .map_or_else(|| "an unknown time".to_owned(), time_text),
        time_text(stream.last_time_ns)
    ))
}

/// Says what a ring has overwritten of a range of frames or of time, or what the pin does not keep
/// from which it is read. `oldest` is the number of the oldest frame that may be left.
pub(super) fn overwritten_words(
    range: &Range,
    stream: &StreamSummary,
    pin: Option<u32>,
    oldest: u64,
) -> String {
    if let Some(pin) = pin {
        let before = match (range, stream.first_time_ns) {
            (Range::Time(_), Some(first_ns)) => {
                format!("that arrived before {}", time_text(first_ns))
            }
            (Range::Time(_), None) => "of the beginning of that time".to_owned(),
            _ => format!("before frame {oldest}"),
        };
        return format!("pin {pin} keeps nothing {before}");
    }
    let left = if oldest < stream.frames {
        format!("the oldest frame that is left is number {oldest}")
    } else {
        "no frame behind them is left".to_owned()
    };
    match range {
        Range::Frames(span) if span.start < oldest => {
            let (first, last) = (span.start, span.end.min(oldest) - 1);
            let frames = if first == last {
                format!("frame {first}")
            } else {
                format!("frames {first} to {last}")
            };
            format!("the ring has overwritten {frames}: {left}")
        }
        Range::All | Range::Bytes(_) | Range::Frames(_) => {
            format!("meanwhile the ring has overwritten the first {oldest} frames: {left}")
        }
        Range::Time(_) => {
            let oldest = match stream.first_time_ns {
                Some(first_ns) => format!("what arrived before {}", time_text(first_ns)),
                None => "the beginning of that time".to_owned(),
            };
            format!("the ring has overwritten {oldest}")
        }
    }
}

fn frames(
    stream: &StreamSummary,
    from: Option<u64>,
    to: Option<u64>,
    notices: &mut Vec<String>,
) -> Result<Range, UsageError> {
    let name = &stream.name;
    if !has_frames(stream) {
        return Err(UsageError(format!(
            "the stream {name} has no frames: use --from-byte and --to-byte, or --from-time and \
             --to-time"
        )));
    }
    let (start, end) = (from.unwrap_or(0), to.unwrap_or(u64::MAX));
    check_order(start < end, "--from-frame", "--to-frame")?;
    if start >= stream.frames {
        return Err(UsageError(format!(
            "--from-frame {start} is beyond the end: the stream {name} has {} frames, counted \
             from 0",
            stream.frames
        )));
    }
    if to.is_some_and(|end| end > stream.frames) {
        notices.push(format!(
            "the stream has {} frames, counted from 0, and ends before --to-frame {end}",
            stream.frames
        ));
    }
    Ok(Range::Frames(start..end))
}

fn check_order(is_ordered: bool, from: &str, to: &str) -> Result<(), UsageError> {
    if is_ordered {
        return Ok(());
    }
    Err(UsageError(format!(
        "{from} must be before {to}: there is nothing between them"
    )))
}

/// How the frames of a stream are told apart.
pub(super) fn framing(stream: &StreamSummary) -> Framing {
    let name = stream.framing.as_deref();
    name.and_then(|name| name.parse().ok())
        .unwrap_or(Framing::None)
}

/// Whether a stream has frames. A source may mark frames without any framing of its bytes.
pub(super) fn has_frames(stream: &StreamSummary) -> bool {
    framing(stream) != Framing::None || stream.frames > 0
}
